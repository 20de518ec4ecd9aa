package worlds

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/internal/seeds"
)

// A smallWorld is one for which room must be made, and all that may happen to it. Evictions last 20 seconds, unless
// they are confirmed before.
type smallWorld struct {
	world   func() *world
	changes []change // without their moments
}

// gaps are how long after the one before a change comes: at once, so that nothing is decided in between; then, while
// room is made; when it was made; and when what does not end is overdue.
var gaps = []int{0, 1, 35, 125}

var (
	confirm = change{Verb: "confirm"}
	restart = change{Verb: "restart"}
)

func onNode(verb, node string, cores int) change {
	return change{Verb: verb, Node: node, Capacity: amounts{cores}}
}

func ofPod(verb, pod string) change { return change{Verb: verb, Pod: pod, Capacity: amounts{6}} }

// running is a pod that is there at the beginning, asking one that came ten minutes ago.
func running(key, queue, node string, cores, priority int) pod {
	return pod{Key: key, Queue: queue, Node: node, Amounts: amounts{cores}, Priority: priority, Grace: 20, Age: 20}
}

func asking(key, queue string, cores, priority int) pod {
	return pod{Key: key, Queue: queue, Amounts: amounts{cores}, Priority: priority, Grace: 20, Age: 10}
}

// coming is an ask that comes with a change, if that is chosen.
func coming(key, queue string, cores, priority int) pod {
	p := asking(key, queue, cores, priority)
	p.At, p.Age = math.MaxInt32, 0
	return p
}

func twoNodes(queues []queue, pods ...pod) *world {
	return &world{Queues: queues, Nodes: []node{{Name: "n1", Capacity: amounts{4}}, {Name: "n2", Capacity: amounts{4}}}, Pods: pods, Reserve: true}
}

var smallWorlds = map[string]smallWorld{
	"claim": {
		func() *world {
			return twoNodes([]queue{{Name: "a"}}, running("r1", "a", "n1", 2, 0), running("r2", "a", "n1", 2, 0), running("r3", "a", "n2", 3, 5),
				asking("p1", "a", 4, 5), coming("p2", "a", 2, 0), coming("p3", "a", 3, 10))
		},
		[]change{
			confirm, restart, onNode("drain", "n1", 0), onNode("undrain", "n1", 0), onNode("remove", "n1", 0), onNode("add", "n1", 4), onNode("resize", "n2", 8),
			ofPod("come", "p2"), ofPod("come", "p3"), ofPod("leave", "p1"), ofPod("become", "p1"), ofPod("fail", "p1"), ofPod("end", "r3"),
		},
	},
	"guarantee": {
		func() *world {
			return twoNodes([]queue{{Name: "a", Guaranteed: amounts{4}}, {Name: "b", Guaranteed: amounts{2}}}, running("r1", "b", "n1", 2, 0), running("r2", "b", "n1", 2, 0),
				running("r3", "b", "n2", 2, 0), running("r4", "a", "n2", 2, 0), asking("p1", "a", 2, 0), coming("p2", "b", 2, 0), coming("p3", "a", 2, 0))
		},
		[]change{
			confirm, restart, onNode("drain", "n1", 0), onNode("undrain", "n1", 0), onNode("remove", "n2", 0), onNode("resize", "n2", 6),
			ofPod("come", "p2"), ofPod("come", "p3"), ofPod("leave", "p1"), ofPod("become", "r4"), ofPod("fail", "p1"), ofPod("end", "r4"),
		},
	},
	"required": {
		func() *world {
			agent := asking("p1", "a", 2, 0)
			agent.Requires = "n1"
			return twoNodes([]queue{{Name: "a"}, {Name: "b", Guaranteed: amounts{4}}}, running("r1", "b", "n1", 2, 0), running("r2", "b", "n1", 2, 10), running("r3", "a", "n2", 2, 0),
				agent, coming("p2", "b", 2, 20), coming("p3", "a", 4, 5))
		},
		[]change{
			confirm, restart, onNode("drain", "n1", 0), onNode("undrain", "n1", 0), onNode("remove", "n1", 0), onNode("add", "n1", 4), onNode("resize", "n1", 6),
			ofPod("come", "p2"), ofPod("come", "p3"), ofPod("leave", "p1"), ofPod("become", "p1"), ofPod("fail", "p1"), ofPod("end", "r3"),
		},
	},
	"group": {
		func() *world {
			w := twoNodes([]queue{{Name: "a"}}, running("r1", "a", "n1", 2, 0), running("r2", "a", "n1", 2, 0), running("r3", "a", "n2", 3, 0),
				asking("p1", "a", 2, 5), asking("p2", "a", 2, 5), asking("p3", "a", 2, 5), coming("p4", "a", 2, 0))
			w.Quorums = map[string]int{"q": 2}
			for _, key := range []string{"p1", "p2", "p3"} {
				w.pod(key).Quorum = "q"
			}
			return w
		},
		[]change{
			confirm, restart, onNode("drain", "n1", 0), onNode("undrain", "n1", 0), onNode("remove", "n2", 0), onNode("add", "n2", 4), onNode("resize", "n2", 6),
			ofPod("come", "p4"), ofPod("fail", "p1"), ofPod("end", "p2"), ofPod("end", "r3"),
		},
	},
	"quota": {
		func() *world {
			w := twoNodes([]queue{{Name: "a"}, {Name: "b"}}, running("r1", "a", "n1", 2, 0), running("r2", "a", "n1", 2, 5), running("r3", "a", "n2", 2, 0), running("r4", "b", "n2", 2, 0),
				asking("p1", "b", 2, 5), coming("p2", "a", 2, 10), coming("p3", "b", 1, 0))
			w.Lowered = loweredMax{Queue: "a", Max: amounts{3}, At: 1, Delay: 1}
			return w
		},
		[]change{
			confirm, restart, onNode("drain", "n1", 0), onNode("undrain", "n1", 0), onNode("remove", "n2", 0), onNode("resize", "n2", 6),
			ofPod("come", "p2"), ofPod("come", "p3"), ofPod("leave", "p1"), ofPod("become", "r4"), ofPod("end", "r2"),
		},
	},
}

// at is the world with some of its changes, and how long after each other they come.
func (s *smallWorld) at(chosen, after []int) *world {
	w, at := s.world(), 0
	for i, number := range chosen {
		c := s.changes[number]
		at += after[i]
		c.At = at
		switch p := w.pod(c.Pod); c.Verb {
		case "come":
			p.At = min(p.At, at)
		case "end":
			p.Ends = max(at, 1)
		default:
			w.Changes = append(w.Changes, c)
		}
	}
	w.Pods = slices.DeleteFunc(w.Pods, func(p pod) bool { return p.At == math.MaxInt32 })
	slices.SortStableFunc(w.Pods, func(a, b pod) int { return a.At - b.At })
	return w
}

// everyList calls f with every list of so many numbers below a bound.
func everyList(length, below int, f func([]int)) {
	list := make([]int, length)
	for {
		f(list)
		i := length - 1
		for ; i >= 0 && list[i] == below-1; i-- {
			list[i] = 0
		}
		if i < 0 {
			return
		}
		list[i]++
	}
}

// every calls f with every way in which so many changes may come, one of the first of the gaps before each.
func (s *smallWorld) every(length, gapsUsed int, f func(w *world)) {
	everyList(length, len(s.changes), func(chosen []int) {
		everyList(length, gapsUsed, func(numbers []int) {
			after := make([]int, length)
			for i, n := range numbers {
				after[i] = gaps[n]
			}
			f(s.at(chosen, after))
		})
	})
}

// TestSmallWorlds plays everything that may happen in small worlds, up to a depth: claims, evictions, their confirmations, restarts and
// changes, in every order. It checks the laws of safety and of liveness of the random worlds. TORTURE plays longer lists.
func TestSmallWorlds(t *testing.T) {
	if testing.Short() {
		t.Skip("long, so make test-long plays it")
	}
	t.Parallel()
	_, _, torture := seeds.Torture(t)
	for _, name := range slices.Sorted(maps.Keys(smallWorlds)) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, played, told := smallWorlds[name], 0, 0
			broken := map[string]*world{}
			try := func(w *world) {
				failures, g := failuresOf(w, nil)
				played++
				told += min(1, len(g.evictions))
				for _, f := range failures {
					if broken[f.class()] == nil {
						broken[f.class()] = w
					}
				}
			}
			s.every(1, len(gaps), try)
			s.every(2, len(gaps), try)
			if torture {
				s.every(3, len(gaps), try)
				s.every(4, 2, try)
			}
			t.Logf("%d worlds, in %d of which room is made", played, told)
			assert.Assert(t, told > played/4, "too little happens to show anything")
			for class, w := range broken {
				w = reduce(w, class)
				failures, g := failuresOf(w, nil)
				t.Errorf("%s\n%s# What happened:\n# %s\n# %v", class, g.script.String(), strings.Join(g.log, "\n# "), failures)
			}
		})
	}
}

// confirmFirst confirms the first eviction that goes on.
func (g *game) confirmFirst() {
	for _, e := range g.evictions {
		if _, goesOn := g.confirms[e.Victim]; goesOn {
			g.confirm(e.Victim)
			return
		}
	}
}

// TestEveryList shows that none is left out.
func TestEveryList(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	everyList(3, 4, func(list []int) { seen[fmt.Sprint(list)] = true })
	assert.Equal(t, len(seen), 64)
	w := (&smallWorld{world: smallWorlds["claim"].world, changes: []change{restart, ofPod("come", "p3")}}).at([]int{1, 0}, []int{1, 35})
	assert.Equal(t, w.pod("p3").At, 1)
	assert.Equal(t, w.Changes[0].At, 36)
	assert.Assert(t, w.pod("p2") == nil, "it comes although that was not chosen")
	assert.Equal(t, w.pod("p1").Foreign, api.Own)
}
