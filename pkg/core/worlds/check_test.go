package worlds

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/core/preemptor"
	"github.com/narwhal-scheduler/narwhal/pkg/internal/scenario"
)

// brokenBy counts how often a law is broken in so many worlds without rules of their own.
func brokenBy(law string, lie lie, worlds uint64) (broken int) {
	for seed := range worlds {
		w := newRestWorld(seed)
		w.Rules, w.Recreate = nil, false
		for i := range w.Pods {
			w.Pods[i].Requires = ""
		}
		failures, _ := failuresOf(w, lie)
		for _, f := range failures {
			if f.Law == law {
				broken++
			}
		}
	}
	return broken
}

// TestLawsNotice shows that the laws can be broken: the resource manager gives
// answers of which the oracle does not know.
func TestLawsNotice(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it is long")
	}
	refused := errors.New("refused")
	simulations := func(o *api.Options) {
		o.Simulate = func(api.AllocationKey, api.NodeID, []api.AllocationKey, []api.AllocationKey) error {
			return refused
		}
	}
	placements := func(o *api.Options) {
		promised := false
		o.Simulate = func(api.AllocationKey, api.NodeID, []api.AllocationKey, []api.AllocationKey) error {
			promised = true
			return nil
		}
		o.Feasible = func(api.AllocationKey, api.NodeID, bool) error { return map[bool]error{true: refused}[promised] }
	}
	everything := func(o *api.Options) {
		o.SelectVictims = func(_ api.AllocationKey, _ api.NodeID, candidates []api.AllocationKey, _ []bool) ([]api.AllocationKey, error) {
			return candidates, nil
		}
	}
	assert.Assert(t, brokenBy(lawFeasible, simulations, 80) > 3, "nothing is evicted, and the law says nothing")
	assert.Assert(t, brokenBy(lawPlacement, placements, 80) > 3, "victims end for nothing, and the law says nothing")
	assert.Assert(t, brokenBy(lawLeast, everything, 600) > 0, "all candidates are victims, and the law says nothing")
}

// oneNode is a world with a node and pods, which run there unless they are asks.
func oneNode(cores int, queues []queue, pods ...pod) *world {
	w := &world{Queues: queues, Nodes: []node{{Name: "n1", Capacity: amounts{cores}}}, Pods: pods}
	for i := range w.Pods {
		if p := &w.Pods[i]; !strings.HasPrefix(p.Key, "p") {
			p.Node = "n1"
		}
	}
	return w
}

// victimsOf are the victims that the oracle finds for the last pod, which is an ask.
func victimsOf(w *world, t preemptor.Trigger) string {
	g := &game{w: w, on: map[string]string{}}
	for _, p := range w.Pods {
		if p.Node != "" {
			g.on[p.Key] = p.Node
		}
	}
	o := g.oracle()
	place, ok := o.place(&w.Pods[len(w.Pods)-1], &w.Nodes[0], t)
	if !ok {
		return "impossible"
	}
	victims, ok := o.victims(&place)
	if !ok {
		return "none"
	}
	return keysOf(victims)
}

// TestOracle compares the oracle with cases that were worked out by hand.
func TestOracle(t *testing.T) {
	t.Parallel()
	pod := func(key, queue string, cores, priority int) pod {
		return pod{Key: key, Queue: queue, Amounts: amounts{cores}, Priority: priority}
	}
	guaranteed := func(a, b int) []queue {
		return []queue{{Name: "a", Guaranteed: amounts{a}}, {Name: "b", Guaranteed: amounts{b}}}
	}
	full := guaranteed(0, 4)
	// b is guaranteed 4 and uses 7. Of 2 with priority 0 and 3 with priority 1, the
	// 3 are enough, and both are too much.
	assert.Equal(t, victimsOf(oneNode(7, full, pod("b1", "b", 2, 0), pod("b2", "b", 3, 1), pod("b3", "b", 2, 20), pod("p", "a", 3, 10)), preemptor.Priority), "b2")
	assert.Equal(t, victimsOf(oneNode(7, full, pod("b1", "b", 2, 0), pod("b2", "b", 3, 1), pod("b3", "b", 2, 20), pod("p", "a", 4, 10)), preemptor.Priority), "none")
	// The guarantee takes from an equal priority, and not beyond the guarantee of a.
	assert.Equal(t, victimsOf(oneNode(4, guaranteed(2, 0), pod("b1", "b", 2, 0), pod("b2", "b", 2, 1), pod("p", "a", 2, 0)), preemptor.Guarantee), "b1")
	assert.Equal(t, victimsOf(oneNode(4, guaranteed(2, 0), pod("b1", "b", 2, 0), pod("b2", "b", 2, 0), pod("p", "a", 3, 0)), preemptor.Guarantee), "none")
	assert.Equal(t, victimsOf(oneNode(4, guaranteed(2, 0), pod("b1", "b", 2, 0), pod("b2", "b", 2, 0), pod("p", "a", 2, 0)), preemptor.Priority), "none")
	// Budgets count together, and only where they are hard.
	w := oneNode(4, guaranteed(0, 0), pod("b1", "b", 2, 0), pod("b2", "b", 2, 0), pod("p", "a", 4, 1))
	w.Budgets = []budget{{Name: "x", Allowed: 1, Members: []string{"b1", "b2"}}}
	assert.Equal(t, victimsOf(w, preemptor.Priority), "b1 b2")
	w.Policy = preemptor.HardBudgets
	assert.Equal(t, victimsOf(w, preemptor.Priority), "none")
	// A conflict makes a victim, a need keeps one, and a refusal excludes the node.
	w = oneNode(4, guaranteed(0, 0), pod("b1", "b", 2, 0), pod("b2", "b", 2, 0), pod("p", "a", 2, 1))
	w.Rules = []rule{{"conflict", "p", "b2"}}
	assert.Equal(t, victimsOf(w, preemptor.Priority), "b2")
	w.Rules = []rule{{"need", "p", "b1"}}
	assert.Equal(t, victimsOf(w, preemptor.Priority), "b2")
	w.Rules = []rule{{"refuse", "p", "n1"}}
	assert.Equal(t, victimsOf(w, preemptor.Priority), "impossible")
	// An offset of the queue counts outside of it, and a fence hides what is inside.
	w = oneNode(2, []queue{{Name: "a", Offset: 1}, {Name: "b"}}, pod("b1", "b", 2, 0), pod("p", "a", 2, 0))
	assert.Equal(t, victimsOf(w, preemptor.Priority), "b1")
	w.Queues[0] = queue{Name: "a", Fence: true}
	w.Pods[1].Priority = 9
	assert.Equal(t, victimsOf(w, preemptor.Priority), "none")
	w.Queues[0] = queue{Name: "a", Policy: api.PreemptionFence}
	assert.Equal(t, victimsOf(w, preemptor.Priority), "none")
	// An ask that requires the node takes an equal priority.
	w = oneNode(2, guaranteed(0, 2), pod("b1", "b", 2, 0), pod("p", "a", 1, 0))
	w.Pods[1].Requires = "n1"
	assert.Equal(t, victimsOf(w, preemptor.RequiredNode), "b1")
}

// TestTextsOfWorlds plays worlds as the scenarios that are printed of them. All that is placed and
// evicted is the same, or reproductions would show something else.
func TestTextsOfWorlds(t *testing.T) {
	t.Parallel()
	compared := 0
	for seed := range short(300) {
		w := newWorld(seed)
		if w.Denied || w.KeepsForeign || w.ReserveMax > 0 || len(w.Changes) > 0 || w.Classes || w.Several || w.Paced {
			continue // a scenario says nothing of it
		}
		w.Reserve, w.Answers = true, answersAll
		g, _ := play(w, nil)
		out, err := scenario.Play(g.script.String() + "----\n")
		assert.NilError(t, err, "seed %d:\n%s", seed, g.script.String())
		var played, logged []string
		for line := range strings.Lines(out) {
			words := strings.Fields(line)
			if len(words) > 2 && (words[0] == "placed" && w.pod(words[1]).Node == "" || words[0] == "released" && words[2] == "PREEMPTED_BY_SCHEDULER:") {
				played = append(played, words[0]+" "+words[1])
			}
		}
		for _, line := range g.log {
			if words := strings.Fields(line); words[1] == "placed" || words[1] == "released" && words[3] == "on" {
				logged = append(logged, words[1]+" "+words[2])
			}
		}
		assert.Assert(t, slices.Equal(played, logged), "seed %d:\n%s%v\n%s", seed, g.script.String(), strings.Join(g.log, "\n"), out)
		compared += len(played)
	}
	assert.Assert(t, testing.Short() || compared > 50, "%d", compared)
}

// TestWorldsThatFailed plays worlds of other seeds than TestWorlds in which a law was
// broken once.
func TestWorldsThatFailed(t *testing.T) {
	t.Parallel()
	for _, seed := range []uint64{
		9738,                // a required node and the limit of a user
		41583,               // a quorum and the quota of its queue
		53992,               // the member of a gang that waited already when room was made
		78396,               // a whole gang that waited already when room was made
		90729,               // an agent that needs a pod which another agent of its node would end
		105987,              // the member of a placeholder that is a victim
		110276,              // an ask that is to take the place of a placeholder, and goes
		135597,              // a quorum of applications that have not run
		143898,              // a required node and a limit that holds its ask back at first
		207233,              // members of a gang behind placeholders that wait too
		208295,              // an agent that a pod of another scheduler conflicts with
		242372,              // an agent that would end what another one of its node needs, for which room is made
		318294,              // a more important ask that was refused elsewhere
		318623,              // the member of a gang that comes later and is to run in room made for another
		334881,              // a queue beyond its max while budgets keep some and others are evicted
		356672,              // an ask that waits for quota and needs what is being released
		415108,              // an application that backs off as soon as one ask fails
		440427,              // a member of a gang that has a node reserved when a placeholder is open again
		518917,              // a more important ask that comes where an agent waits for quota
		540563,              // a more important ask that waits for the limit of a group
		607712,              // an agent whose plan frees quota for another one
		656224,              // victims for quota of an ask that waits no more
		672317,              // a victim that appears when the room kept for it is taken
		725617,              // a victim for quota that an ask for another node needs
		768691,              // a queue that gives back what an agent needs
		913380,              // an agent that comes later than one that is too large
		1140248,             // an agent that needs one pod and conflicts with two
		1405183,             // a member of a gang that has taken the place of an equal before that of a placeholder
		1350310,             // a more important ask that shares a max and is too large for every node
		1153422,             // an ask that needs one pod and conflicts with one that a guarantee keeps
		1313559,             // a more important agent of the same fence
		1365684,             // an agent of another node that comes between two nominations
		1066677,             // room kept for a member of a gang whose placeholder ends on another node
		1252869,             // a gang that its queue refuses
		2009865,             // two agents that waited when room was made for a third, of which one fits beside that
		2207586,             // a placeholder whose member loses the place that it was to take elsewhere
		2242531,             // an agent that comes later, is too young, and has the place of an equal ask
		972437,              // a restart with room in one rack, whose nodes come one after the other
		2078611528,          // a node that shrinks while questions pause, and is kept for an agent
		2078616552,          // victims of which one does not end, and others on another node
		2078626315,          // a less important ask beside one that is refused no more, without a word of it
		2100006549,          // an ask that needs one which is placed right after the first attempt for it
		2078637867,          // a member that has the place of a placeholder which is beyond a limit
		largeWorlds + 1554,  // an ask that is nominated elsewhere, beside room that is kept for a less important one
		largeWorlds + 23527, // an agent that takes room made by a guarantee, which a nomination by priority comes behind
	} {
		failures, _ := failuresOf(newRestWorld(seed), nil)
		assert.Equal(t, len(failures), 0, "seed %d: %v", seed, failures)
	}
	for _, seed := range []uint64{
		712428,  // a member of a group that runs, and a less important ask that had its room
		855314,  // members that need each other
		865380,  // a claim, and a more important ask that shares the limit of a user
		926616,  // a member that starts elsewhere than where its room is
		1116865, // a member that comes late to its subgroup
		1119359, // room of a group that is refused
		1128034, // a node that leaves the domain of a group
		1235962, // a less important member in room of another one, evicted for others again and again
		1492449, // a member that was placed before the one that it needs
		1623705, // a pod of another scheduler that ends for one of two agents
		1871068, // a node that leaves the domain of a subgroup while its application backs off
	} {
		failures, _ := failuresOf(newWorld(seed), nil)
		assert.Equal(t, len(failures), 0, "seed %d: %v", seed, failures)
	}
}
