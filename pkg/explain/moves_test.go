package explain_test

import (
	"fmt"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/explain"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// racks is a cluster of two racks of two nodes of 4 each, and a node of 2 in none. In each rack there is room for 4 in pieces of 1 and 3.
func racks(t *testing.T) *cluster {
	t.Helper()
	c := newCluster(t, api.Config{Root: api.QueueConfig{Name: "root", Parent: true, Queues: []api.QueueConfig{{Name: "batch"}, {Name: "web"}}}}, api.Options{})
	for i, rack := range []string{"r1", "r1", "r2", "r2"} {
		c.Apply(start, api.AddNode{ID: api.NodeID(fmt.Sprintf("n%d", i+1)), Capacity: resources.Amounts{4, 9}, Attributes: map[string]string{"rack": rack}})
	}
	c.Apply(start, api.AddNode{ID: "spare", Capacity: resources.Amounts{2, 9}})
	for i, size := range []int64{1, 3, 2, 2} {
		c.ask("batch", fmt.Sprintf("b%d", i+1), size, 1, on(fmt.Sprintf("n%d", i+1)))
	}
	c.settle(start)
	return c
}

// train asks for so many members of 3 that start together in one rack.
func train(c *cluster, least int) {
	for i := range least {
		c.ask("web", fmt.Sprintf("t%d", i+1), 3, 1, func(a *api.Allocation) {
			a.Tags = map[string]string{api.TagQuorum: "train", api.TagQuorumLeast: fmt.Sprint(least), api.TagQuorumRequire: "rack"}
		})
	}
	c.settle(start.Add(time.Second))
}

func tried(t *testing.T, c *cluster, key api.AllocationKey) *explain.Answer {
	t.Helper()
	a, err := explain.Ask(c.View(), c.kinds, "web", key)
	assert.NilError(t, err)
	a.Try(t.Context(), explain.Trial{Now: start.Add(time.Minute), Free: true})
	return a
}

// TestMovesOpenARack: a group that needs one rack runs in the rack from which the fewest have to move, and the one of two that is larger than
// what is free elsewhere stays.
func TestMovesOpenARack(t *testing.T) {
	c := racks(t)
	train(c, 2)
	a := tried(t, c, "t2")
	assert.DeepEqual(t, a.Moves, []explain.Move{{Key: "b3", Application: "batch", From: "n3", To: "spare"}, {Key: "b4", Application: "batch", From: "n4", To: "n1"}})
	assert.Equal(t, a.Opens, "r2")
	assert.Equal(t, a.Remedies.Nodes[len(a.Remedies.Nodes)-1], "b3 moves from n3 to spare and b4 moves from n4 to n1, which opens r2")
}

// TestWhatDoesNotMove: members of groups, what may run on its node only, and what is not to be preempted stay where they are; so does everything
// where more would have to move than a person may look through.
func TestWhatDoesNotMove(t *testing.T) {
	for name, change := range map[string]func(*api.Allocation){
		"in a group":        func(a *api.Allocation) { a.Tags = map[string]string{api.TagQuorum: "other", api.TagQuorumLeast: "1"} },
		"bound to its node": func(a *api.Allocation) { a.Required = a.Node },
		"not to be preempted": func(a *api.Allocation) {
			a.Preemptable = api.Preemptable{Stated: true, AllowOthers: true}
		},
		"anything else": func(*api.Allocation) {},
		"of a gang":     func(a *api.Allocation) { a.TaskGroup = "workers" },
	} {
		c := newCluster(t, api.Config{Root: api.QueueConfig{Name: "root", Parent: true, Queues: []api.QueueConfig{{Name: "batch"}, {Name: "web"}}}}, api.Options{})
		c.node("n1", 4, 9)
		c.node("n2", 2, 9)
		c.ask("batch", "b", 2, 1, on("n1"), change)
		c.ask("web", "w", 4, 1)
		c.settle(start)
		want := 0
		if name == "anything else" {
			want = 1
		}
		assert.Equal(t, len(tried(t, c, "w").Moves), want, name)
	}
	for _, small := range []int{8, 9} {
		c := newCluster(t, api.Config{Root: api.QueueConfig{Name: "root", Parent: true, Queues: []api.QueueConfig{{Name: "batch"}, {Name: "web"}}}}, api.Options{})
		c.node("n1", 10, 99)
		for i := range small {
			c.ask("batch", fmt.Sprintf("b%d", i), 1, 1, on("n1"))
		}
		c.ask("web", "w", 10, 1)
		c.settle(start)
		c.node("n2", 9, 99)
		c.settle(start)
		assert.Equal(t, len(tried(t, c, "w").Moves), small%9, "%d", small)
	}
}

// TestAGroupStartsAnew: a group that has lost a member for which there is no room may run as a whole elsewhere. What would help is more room in the
// rack to which it is bound, or that it ends and starts anew, where there is room for all of it.
func TestAGroupStartsAnew(t *testing.T) {
	for _, test := range []struct {
		name        string
		level       string
		runs, waits int64 // vcore of its members
		other       int64 // vcore of the node in the other rack
		least       string
		drains      bool // its own rack takes nothing new
		helps       []string
	}{
		{"in another rack", "rack", 2, 2, 4, "2", false, []string{"vcore=1 more becomes free on n1", "what runs of train ends, 1 member, and all start anew in rack r2"}},
		{"another rack is too small", "rack", 2, 2, 3, "2", false, []string{"vcore=1 more becomes free on n1"}},
		{"anywhere, in another way", "", 1, 3, 2, "2", false, []string{"vcore=1 more becomes free on n1", "what runs of train ends, 1 member, and all start anew"}},
		{"enough of it run", "", 1, 3, 2, "1", false, []string{"vcore=1 more becomes free on n1"}},
		{"only in another rack", "rack", 2, 2, 4, "2", true, []string{"in rack r1 a node is added with memory=1 vcore=2 free", "what runs of train ends, 1 member, and all start anew in rack r2"}},
		{"anywhere, and it is no use", "", 2, 3, 1, "2", false, []string{"vcore=2 more becomes free on n1"}},
	} {
		c := newCluster(t, api.Config{Root: api.QueueConfig{Name: "root", Parent: true, Queues: []api.QueueConfig{{Name: "web"}}}}, api.Options{})
		for node, vcore := range map[api.NodeID]int64{"n1": 3, "n2": 3, "n3": test.other} {
			c.Apply(start, api.AddNode{ID: node, Capacity: resources.Amounts{vcore, 9}, Attributes: map[string]string{"rack": map[bool]string{false: "r1", true: "r2"}[node == "n3"]}})
		}
		member := func(key string, vcore int64, change ...func(*api.Allocation)) {
			c.ask("web", key, vcore, 1, append(change, func(a *api.Allocation) {
				a.Tags = map[string]string{api.TagQuorum: "train", api.TagQuorumLeast: test.least, api.TagQuorumRequire: test.level}
			})...)
		}
		member("t1", test.runs, on("n1"))
		member("t2", 2, on("n2"))
		c.settle(start)
		c.Apply(start, api.RemoveNode{ID: "n2"})
		if test.drains {
			c.Apply(start, api.DrainNode{ID: "n1"})
		}
		member("t3", test.waits)
		c.settle(start.Add(2 * time.Minute))
		a := tried(t, c, "t3")
		assert.Equal(t, a.Reason == api.GroupBelow, test.least == "2", test.name)
		assert.DeepEqual(t, a.Remedies, explain.Remedies{Nodes: test.helps})
		assert.Equal(t, len(a.Moves), 0, test.name)
	}
}

// TestMovesForMany: for more asks that start together than may be guessed for nothing moves.
func TestMovesForMany(t *testing.T) {
	for _, least := range []int{100, 101} {
		c := newCluster(t, api.Config{Root: api.QueueConfig{Name: "root", Parent: true, Queues: []api.QueueConfig{{Name: "batch"}, {Name: "web"}}}}, api.Options{})
		c.node("n1", int64(least), 999)
		c.node("n2", 1, 1)
		c.ask("batch", "b", 1, 1, on("n1"))
		for i := range least {
			c.ask("web", fmt.Sprintf("w%d", i), 1, 2, func(a *api.Allocation) {
				a.Tags = map[string]string{api.TagQuorum: "many", api.TagQuorumLeast: fmt.Sprint(least)}
			})
		}
		c.settle(start)
		a := tried(t, c, "w0")
		assert.Equal(t, len(a.Moves), map[int]int{100: 1, 101: 0}[least], "%d: %s", least, a.Text())
	}
}
