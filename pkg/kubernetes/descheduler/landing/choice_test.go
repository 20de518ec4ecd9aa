package landing

import (
	"errors"
	"testing"

	"gotest.tools/v3/assert"
	v1 "k8s.io/api/core/v1"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/framework"
)

// TestPluginsChoose: of the nodes where a pod of another scheduler fits, it goes to the first one that
// will do, and that may be another one than the scheduler takes. A pod of ours goes where our scheduler
// puts it, unless its place is reserved.
func TestPluginsChoose(t *testing.T) {
	only := func(names ...string) framework.Choice {
		return framework.Choice{Accept: func(node string) error {
			for _, name := range names {
				if node == name {
					return nil
				}
			}
			return errors.New("is hot")
		}}
	}
	reserved := func(c framework.Choice) framework.Choice {
		c.Reserved = true
		return c
	}
	for _, c := range []struct {
		name   string
		edit   func(*v1.Pod)
		choice framework.Choice
		want   framework.Place
		err    string
	}{
		{name: "another scheduler, any node", edit: foreign, want: framework.Place{Node: "c", Open: true}},
		{name: "another scheduler, some nodes", edit: foreign, choice: only("b", "d"), want: framework.Place{Node: "b", Open: true}},
		{name: "another scheduler, a full node", edit: foreign, choice: only("d"), err: "no node helps where its replacement can run: 3 nodes: is hot"},
		{name: "ours", want: framework.Place{Node: "c"}},
		{name: "ours, where it will not do", choice: only("b"), err: "node c, where its replacement would run, is hot"},
		{name: "ours, reserved", choice: reserved(only("b")), want: framework.Place{Node: "b"}},
		{name: "another scheduler, reserved", edit: foreign, choice: reserved(only("b")), want: framework.Place{Node: "b"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			edit := func(p *v1.Pod) {
				if c.edit != nil {
					c.edit(p)
				}
			}
			p := pod("p", "a", 1, edit)
			cl := cluster(t, ours, nodes(4), p, pod("q", "a", 2, edit), pod("r", "b", 2, edit), pod("s", "c", 1, edit), pod("full", "d", 4, edit))
			for range 2 { // and then from what is remembered
				to, err := cl.Place(p, c.choice)
				if c.err != "" {
					assert.Error(t, err, c.err)
					continue
				}
				assert.NilError(t, err)
				assert.Equal(t, to, c.want)
			}
			// What was asked of some nodes is no answer for others.
			to, err := cl.whereTo(p)
			assert.NilError(t, err)
			assert.Equal(t, to, "c")
			if c.want.Node != "" {
				assert.NilError(t, cl.Book(p, c.want.Node))
				assert.DeepEqual(t, cl.Bookings(), []framework.Booking{{Pod: p, Node: c.want.Node}})
			}
		})
	}
}

// TestReplacementsAreMadeWhileTheirPodsEnd: the next pod is placed while all that were evicted hold their
// room, and takes it only where there is no other. The pod of a StatefulSet waits for the end.
func TestReplacementsAreMadeWhileTheirPodsEnd(t *testing.T) {
	stateful := func(p *v1.Pod) { p.OwnerReferences[0].Kind = "StatefulSet" }
	for _, c := range []struct {
		name  string
		edit  func(*v1.Pod)
		first string
	}{{"a ReplicaSet", func(*v1.Pod) {}, "b"}, {"a StatefulSet", stateful, "a"}} {
		t.Run(c.name, func(t *testing.T) {
			one, two := pod("one", "a", 1, c.edit), pod("two", "a", 1, c.edit)
			cl := cluster(t, ours, nodes(2), one, two, pod("rest", "b", 1))
			node, err := cl.book(one)
			assert.NilError(t, err)
			assert.Equal(t, node, c.first)
		})
	}
	three, four := pod("three", "a", 2), pod("four", "a", 2)
	cl := cluster(t, ours, nodes(2), three, four, pod("rest", "b", 2))
	for _, want := range []string{"b", "a"} {
		p := map[string]*v1.Pod{"b": three, "a": four}[want]
		node, err := cl.book(p)
		assert.NilError(t, err)
		assert.Equal(t, node, want)
	}
}

// TestEndedPodsCanBeAskedAbout: a pod that has ended holds no room, and what takes its place needs some.
func TestEndedPodsCanBeAskedAbout(t *testing.T) {
	ended := pod("ended", "a", 1, func(p *v1.Pod) { p.Status.Phase = v1.PodFailed })
	cl := cluster(t, ours, nodes(2), ended, pod("full", "b", 4))
	node, err := cl.whereTo(ended)
	assert.NilError(t, err)
	assert.Equal(t, node, "a")
	assert.ErrorIs(t, cl.Book(ended, "a"), framework.ErrUnknownPod)
}
