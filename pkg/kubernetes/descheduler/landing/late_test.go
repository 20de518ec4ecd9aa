package landing

import (
	"slices"
	"testing"

	"gotest.tools/v3/assert"
	v1 "k8s.io/api/core/v1"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/framework"
	ft "github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/frameworktest"
)

// but is every node but some.
func but(nodes ...string) framework.Choice {
	return framework.Choice{Accept: func(node string) error {
		if slices.Contains(nodes, node) {
			return errOther
		}
		return nil
	}}
}

// theirs is a pod on node a that kube-scheduler places, of a workload of its own.
func theirs(name, kind string, cpu int64) *v1.Pod {
	p := pod(name, "a", cpu)
	p.Spec.SchedulerName = v1.DefaultSchedulerName
	p.OwnerReferences[0].Kind, p.OwnerReferences[0].Name = kind, name
	return p
}

// TestEarlyBeforeLate: the pod of a StatefulSet is made anew when the last one has ended. The replacement of a ReplicaSet, though its pod was evicted
// after that one, comes before it: where the other one is to run it finds all the room. So the other one must do
// with what is left, or the pod stays.
func TestEarlyBeforeLate(t *testing.T) {
	for _, c := range []struct {
		name string
		late int64
		may  framework.Choice // where the late one will do
		want string
		err  string
	}{
		// Node b has 3 of 4 processors free, node c has 2. Without the late one b is freer; beside it, c.
		{name: "both on b", late: 1, may: but("a"), want: "b"},
		{name: "the late one may go to c instead", late: 2, may: but("a"), want: "b"},
		{
			name: "the late one will not do on c", late: 2, may: but("a", "c"),
			err: "node b, where its replacement may run, has no room beside the replacement of another pod, which comes later",
		},
		{
			name: "the late one has no room any more", late: 3, may: but("a"),
			err: "node b, where its replacement may run, has no room beside the replacement of another pod, which comes later",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			late, early := theirs("late", "StatefulSet", c.late), theirs("early", "ReplicaSet", 1)
			cl := scored(t, nodes(3), late, early, pod("one", "b", 1), pod("two", "c", 2), pod("more", "a", 2))
			to, err := cl.Place(late, c.may)
			assert.NilError(t, err)
			assert.Equal(t, to.Node, "b")
			assert.NilError(t, cl.Book(late, to.Node))
			for range 2 { // all is as it was before the question
				to, err = cl.Place(early, but("a"))
				if c.err != "" {
					assert.Error(t, err, c.err)
					continue
				}
				assert.NilError(t, err)
				assert.Equal(t, to.Node, c.want)
			}
		})
	}
}

// TestLateOnesSwap: it makes no difference which of two late ones that are the same runs on which node. Without an early one the first
// is booked on b and the second on c; with one on b the first runs on c.
func TestLateOnesSwap(t *testing.T) {
	first, second, early := theirs("set-0", "StatefulSet", 2), theirs("set-1", "StatefulSet", 2), theirs("early", "ReplicaSet", 1)
	second.OwnerReferences = first.OwnerReferences
	cl := scored(t, nodes(3), first, second, early, pod("more", "a", 1))
	on := map[string]string{}
	for _, p := range []*v1.Pod{first, second} {
		to, err := cl.Place(p, framework.Choice{Accept: func(node string) error { // no two on one node
			for other, taken := range on {
				if other != p.Name && taken == node {
					return errOther
				}
			}
			return but("a").Accept(node)
		}})
		assert.NilError(t, err)
		on[p.Name] = to.Node
		assert.NilError(t, cl.Book(p, to.Node))
	}
	assert.DeepEqual(t, on, map[string]string{"set-0": "b", "set-1": "c"})
	_, err := cl.Place(early, but("a"))
	assert.NilError(t, err)
}

// TestLateOneWaitsForRoom: a late one for which there is no room beside the pods that end comes to the room of these.
func TestLateOneWaitsForRoom(t *testing.T) {
	late, early := theirs("late", "StatefulSet", 4), theirs("early", "ReplicaSet", 1)
	early.Spec.NodeName = "c"
	cl := scored(t, nodes(3), late, early, pod("two", "a", 2))
	to, err := cl.Place(late, but("a"))
	assert.NilError(t, err)
	assert.Equal(t, to.Node, "b")
	assert.NilError(t, cl.Book(late, to.Node))
	_, err = cl.Place(early, but("c"))
	assert.NilError(t, err, "the early one comes to b, and the late one to c")
	ended := pod("ended", "a", 1, func(p *v1.Pod) { p.Status.Phase = v1.PodFailed })
	ended.Spec.SchedulerName = v1.DefaultSchedulerName
	_, err = cl.Place(ended, framework.Choice{})
	assert.ErrorContains(t, err, "has no room beside the replacement of another pod", "a pod that holds no room makes none")
}

// TestTheFirstRoomIsTaken: a replacement that waits for room takes the first there is. Where several pods end for it, any of them may end
// first, so each node that gets room has to do; where one ends, only that node.
func TestTheFirstRoomIsTaken(t *testing.T) {
	for _, c := range []struct {
		name  string
		other bool // a pod of its own node ends too
		may   framework.Choice
		want  framework.Place
		err   string
	}{
		{name: "one pod ends", may: but("a"), want: framework.Place{Node: "b", Open: true}},
		{name: "it may come back", other: true, may: but("a"), err: "its replacement may come back to node a"},
		{name: "each node will do", other: true, may: but(), want: framework.Place{Node: "b", Equals: []string{"a"}, Open: true}},
	} {
		t.Run(c.name, func(t *testing.T) {
			waits, there, here := theirs("waits", "ReplicaSet", 1), theirs("there", "ReplicaSet", 3), theirs("here", "ReplicaSet", 2)
			there.Spec.NodeName = "b"
			cl := scored(t, nodes(2), waits, there, here, pod("full", "a", 1), pod("more", "b", 1))
			assert.NilError(t, cl.Book(there, ""))
			if c.other {
				assert.NilError(t, cl.Book(here, ""))
			}
			to, err := cl.Place(waits, c.may)
			if c.err != "" {
				assert.Error(t, err, c.err)
				return
			}
			assert.NilError(t, err)
			assert.DeepEqual(t, to, c.want)
		})
	}
}

// TestOneEndMakesRoomOnSeveralNodes: where one pod ends, and with it what kept a replacement from all nodes, that one chooses as ever.
func TestOneEndMakesRoomOnSeveralNodes(t *testing.T) {
	zone := nodes(2)
	for _, n := range zone {
		n.Labels["zone"] = "z"
	}
	waits, foe := theirs("waits", "ReplicaSet", 1), theirs("foe", "ReplicaSet", 1)
	foe.Labels = map[string]string{"app": "foe"}
	ft.Apart("app=foe", "zone")(waits)
	cl := scored(t, zone, waits, foe)
	assert.NilError(t, cl.Book(foe, ""))
	to, err := cl.Place(waits, but("a"))
	assert.NilError(t, err)
	assert.DeepEqual(t, to, framework.Place{Node: "b", Open: true})
}
