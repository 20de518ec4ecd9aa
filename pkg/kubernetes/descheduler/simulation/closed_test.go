package simulation

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"

	"gotest.tools/v3/assert"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/framework"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/pods"
)

// clusters is how many random clusters are tried; the variable DESCHEDULER_CLUSTERS has
// more of them tried.
func clusters(t *testing.T) uint64 {
	n, err := strconv.ParseUint(os.Getenv("DESCHEDULER_CLUSTERS"), 10, 64)
	if err != nil {
		return 72
	}
	return n
}

// seeds are n seeds; the variable DESCHEDULER_SEED is the first one, so that a run tries others.
func seeds(t *testing.T, n uint64) []uint64 {
	first := uint64(0)
	if text := os.Getenv("DESCHEDULER_SEED"); text != "" {
		var err error
		first, err = strconv.ParseUint(text, 10, 64)
		assert.NilError(t, err)
	}
	list := make([]uint64, n)
	for i := range list {
		list[i] = first + uint64(i)
	}
	return list
}

// A scenario is what one random cluster is made of.
type scenario struct {
	seed   uint64
	calm   bool // nothing but the plugins and their filters decides
	policy string
}

// scenarioOf has each second cluster calm.
func scenarioOf(seed uint64) scenario {
	r := rand.New(rand.NewPCG(seed, 7))
	s := scenario{seed: seed, calm: seed%2 == 0}
	top, evictor := "", "{}"
	if !s.calm {
		top = randomLimits(r)
		evictor = []string{"{}", "{nodeFit: true}", "{minReplicas: 2}"}[r.IntN(3)]
	}
	s.policy = policyOf(top, evictor, randomChoices(r, seed)...)
	return s
}

// randomChoices are up to five plugins, of which no two have opposite goals.
func randomChoices(r *rand.Rand, seed uint64) (of []choice) {
	first := int(seed/2) % len(choices) // so that each is tried in both kinds of clusters
	for _, i := range append([]int{first}, r.Perm(len(choices))[:r.IntN(5)]...) {
		c := choices[i]
		if !slices.ContainsFunc(of, c.opposes) && !slices.Contains(of, c) {
			of = append(of, c)
		}
	}
	return of
}

// world is the cluster of a scenario; shuffled, lists are in another order.
func (s scenario) world(t *testing.T, shuffled bool) *world {
	r := rand.New(rand.NewPCG(s.seed, 3))
	queues := randomQueues(r, !s.calm)
	w := newWorld(t, s.objects(r, shuffled), queues, load(t, s.policy))
	w.allow()
	return w
}

// objects are those of a scenario.
func (s scenario) objects(r *rand.Rand, shuffled bool) framework.Objects {
	o := randomObjects(r)
	if s.calm {
		o.Budgets = nil
		for _, p := range o.Pods {
			delete(p.Annotations, pods.AnnotationTaskGroup)
			delete(p.Annotations, pods.AnnotationTaskGroups)
		}
	}
	if shuffled {
		r.Shuffle(len(o.Pods), func(i, j int) { o.Pods[i], o.Pods[j] = o.Pods[j], o.Pods[i] })
		r.Shuffle(len(o.Nodes), func(i, j int) { o.Nodes[i], o.Nodes[j] = o.Nodes[j], o.Nodes[i] })
		r.Shuffle(len(o.Budgets), func(i, j int) { o.Budgets[i], o.Budgets[j] = o.Budgets[j], o.Budgets[i] })
	}
	return o
}

// TestClosedLoop plays random clusters for some cycles: pods that are evicted run where the
// report says, and the next cycle begins. All laws hold in each cycle, a dry run says what
// the real one does, and the order of lists changes no byte of the report.
func TestClosedLoop(t *testing.T) {
	evictions := map[string]int{}
	for _, seed := range seeds(t, clusters(t)) {
		s := scenarioOf(seed)
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			for _, wrong := range s.play(t, evictions) {
				t.Error(wrong)
			}
			if t.Failed() {
				t.Log(s.policy)
			}
		})
	}
	t.Log(evictions)
	for _, c := range choices {
		if c.goal == "spread" && clusters(t) < 1000 {
			continue // a random cluster seldom breaks a spread and has the room to mend it
		}
		assert.Check(t, evictions[c.name] > 0, "%s evicted nothing", c.name)
	}
}

// TestClustersThatFailed plays random clusters in which a law was broken once: a limit divided what one
// plugin renewed, the replacements of one plugin loaded a node for another, and a plugin at balance
// made room for one before it.
func TestClustersThatFailed(t *testing.T) {
	for _, seed := range []uint64{553, 934, 1102, 3136} {
		for _, wrong := range scenarioOf(seed).play(t, map[string]int{}) {
			t.Errorf("%d: %s", seed, wrong)
		}
	}
}

// play returns what is wrong.
func (s scenario) play(t *testing.T, evictions map[string]int) []string {
	been, renewed := &route{nodes: map[string][]string{}}, map[types.UID]string{}
	return s.cycles(func(shuffled bool) *world { return s.world(t, shuffled) }, evictions, func(p played) []string {
		wrong := append(p.w.broken(p.report, p.before, p.w.objects), been.follow(p.report, p.before.Pods)...)
		if s.calm {
			wrong = append(wrong, restless(p.cycle, p.report, renewed)...)
		}
		renewed = renewals(p.report)
		return wrong
	})
}

// A played cycle is what was done to a world.
type played struct {
	w      *world // as it is now
	cycle  int
	before framework.Objects
	report *descheduler.Report
}

// cycles plays some cycles and returns what is wrong: what check says, and where a twin whose objects
// are shuffled, or a dry run of the first cycle, does something else.
func (s scenario) cycles(made func(shuffled bool) *world, evictions map[string]int, check func(played) []string) (wrong []string) {
	w, twin := made(false), made(true)
	for cycle := range 4 {
		before := w.objects
		before.Pods = slices.Clone(before.Pods)
		dry, _ := w.cycle(w.descheduler(true))
		report, text := w.cycle(w.d)
		_, other := twin.cycle(twin.d)
		if text != other {
			wrong = append(wrong, fmt.Sprintf("cycle %d: shuffled it is\n%s\nand not\n%s", cycle, other, text))
		}
		if cycle == 0 && len(dry.Evictions) != len(report.Evictions) {
			wrong = append(wrong, fmt.Sprintf("cycle %d: a dry run evicts %v and not %v", cycle, dry.Evictions, report.Evictions))
		}
		for _, e := range report.Evictions {
			evictions[e.Plugin]++
		}
		w.settle(report)
		twin.settle(report)
		for _, text := range check(played{w, cycle, before, report}) {
			wrong = append(wrong, fmt.Sprintf("cycle %d: %s", cycle, text))
		}
	}
	return wrong
}

// A route is from which nodes plugins have moved each pod and those that it replaces.
type route struct {
	nodes map[string][]string
}

// follow returns which pods were moved to a node from which they had been moved. A pod that
// was made anew because it was old or failed did not leave its node for the sake of the node.
func (t *route) follow(r *descheduler.Report, pods []*v1.Pod) (wrong []string) {
	all := byUID(pods)
	for _, e := range r.Evictions {
		p := all[e.UID]
		if !returns(p) || !slices.Contains(moving, e.Plugin) {
			continue
		}
		key := p.Annotations[slot]
		t.nodes[key] = append(t.nodes[key], e.From)
		if slices.Contains(t.nodes[key], e.To) {
			wrong = append(wrong, fmt.Sprintf("%s moves %s from %s back to %s", e.Plugin, e.Pod, e.From, e.To))
		}
	}
	return wrong
}

// renewals are the pods that are made in place of those that were evicted, and by which plugin. Where
// several plugins evicted, what one has done may be different from what it would do after the others.
func renewals(r *descheduler.Report) map[types.UID]string {
	made := map[types.UID]string{}
	for _, e := range r.Evictions {
		made[e.UID+"+"] = e.Plugin
		if e.Plugin != r.Evictions[0].Plugin {
			made[r.Evictions[0].UID+"+"] = "several"
		}
	}
	if len(r.Evictions) > 0 && made[r.Evictions[0].UID+"+"] == "several" {
		for uid := range made {
			made[uid] = "several"
		}
	}
	return made
}

// restless returns the evictions of a calm cluster that the cycle before should have done. A
// pod that another plugin had made anew in that cycle was not there, so a plugin at balance
// may move it now, and what comes after that may be due to it. The third cycle is the last one
// in which that can be.
func restless(cycle int, r *descheduler.Report, renewed map[types.UID]string) (wrong []string) {
	excused := false
	for _, e := range r.Evictions {
		by := renewed[e.UID]
		excused = excused || cycle < 3 && by != "" && by != e.Plugin && pointOf(e.Plugin) == "balance"
		if cycle > 0 && !excused {
			wrong = append(wrong, fmt.Sprintf("it wants %s of %s from %s to %s: %s", e.Pod, e.Plugin, e.From, e.To, e.Reason))
		}
	}
	return wrong
}
