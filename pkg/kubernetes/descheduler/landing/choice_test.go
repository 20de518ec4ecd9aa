package landing

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	batch "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/framework"
	ft "github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/frameworktest"
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
				assert.DeepEqual(t, to, c.want)
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

// TestNodesWithoutAPlaceAreNotNamed: a choice may refuse nodes where the filters would not have the pod. Those
// are not among the nodes where it has a place, and without any other one it would run nowhere.
func TestNodesWithoutAPlaceAreNotNamed(t *testing.T) {
	tainted := nodes(3)
	for _, n := range tainted[1:] {
		n.Spec.Taints = []v1.Taint{{Key: "k", Effect: v1.TaintEffectNoSchedule}}
	}
	p := pod("p", "a", 1, foreign)
	cl := cluster(t, ours, tainted, p)
	none := framework.Choice{Accept: func(string) error { return errors.New("is hot") }}
	_, err := cl.Place(p, none)
	assert.Error(t, err, "no node helps where its replacement can run: 1 node: is hot")
	unsuited, is := errors.AsType[*framework.UnsuitedError](err)
	assert.Assert(t, is)
	assert.DeepEqual(t, unsuited.Nodes, []string{"a"})

	tainted[0] = tainted[0].DeepCopy()
	tainted[0].Spec.Taints = tainted[1].Spec.Taints
	_, err = cluster(t, ours, tainted, p).Place(p, none)
	assert.Error(t, err, "refused on 3 nodes: node(s) had untolerated taint(s) (3 nodes)")
}

// TestReplacementsAreMadeWhileTheirPodsEnd: the next pod is placed while all that were evicted hold their
// room, and takes it only where there is no other. The pod of a StatefulSet waits for the end, and so does that of
// a Job which wants it.
func TestReplacementsAreMadeWhileTheirPodsEnd(t *testing.T) {
	for _, c := range []struct {
		name, kind string
		policy     *batch.PodReplacementPolicy
		first      string
	}{
		{"a ReplicaSet", "ReplicaSet", nil, "b"},
		{"a StatefulSet", "StatefulSet", nil, "a"},
		{"a Job", "Job", nil, "b"},
		{"a Job that replaces what ends", "Job", new(batch.TerminatingOrFailed), "b"},
		{"a Job that replaces what has failed", "Job", new(batch.Failed), "a"},
	} {
		t.Run(c.name, func(t *testing.T) {
			of := func(p *v1.Pod) { p.OwnerReferences[0].Kind = c.kind }
			one, two := pod("one", "a", 1, of), pod("two", "a", 1, of)
			cl := cluster(t, ours, nodes(2))
			job := &batch.Job{ObjectMeta: metav1.ObjectMeta{Namespace: one.Namespace, Name: "set"}, Spec: batch.JobSpec{PodReplacementPolicy: c.policy}}
			cl.Sync(framework.NewSnapshot(framework.Objects{
				Nodes: nodes(2), Pods: []*v1.Pod{one, two, pod("rest", "b", 1)}, Jobs: []*batch.Job{job},
			}, time.Unix(1_000_000, 0)))
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

// TestScoresOfOthers: a pod of another scheduler goes to the node with the highest score of kube-scheduler, and stays if that will
// not do.
func TestScoresOfOthers(t *testing.T) {
	b := pod("rest", "b", 3)
	for _, c := range []struct {
		name   string
		edit   func(*v1.Pod)
		packs  bool
		refuse string
		want   string
		err    string
	}{
		{name: "least is requested there", want: "c"},
		{name: "most is requested there", packs: true, want: "b"},
		{name: "what it prefers counts more", edit: ft.Prefers(v1.LabelHostname, "b", 5), want: "b"},
		{name: "and will not do", edit: ft.Prefers(v1.LabelHostname, "b", 5), refuse: "b", err: "node b, where its replacement may run, is another one"},
		{name: "and is its own", edit: ft.Prefers(v1.LabelHostname, "a", 5), refuse: "a", err: "its replacement may come back to node a"},
		{name: "its own node, if that will do", edit: ft.Prefers(v1.LabelHostname, "a", 5), want: "a"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := pod("web", "a", 1)
			p.Spec.SchedulerName = v1.DefaultSchedulerName
			if c.edit != nil {
				c.edit(p)
			}
			cl := scored(t, nodes(3), p, b, pod("small", "a", 1))
			cl.PackOthers(c.packs)
			cl.Sync(snapshot(nodes(3), p, b, pod("small", "a", 1)))
			choice := framework.Choice{Accept: func(node string) error {
				if node == c.refuse {
					return errOther
				}
				return nil
			}}
			to, err := cl.Place(p, choice)
			if c.err != "" {
				assert.Error(t, err, c.err)
				return
			}
			assert.NilError(t, err)
			assert.DeepEqual(t, to, framework.Place{Node: c.want, Open: true})
			assert.NilError(t, cl.Book(p, to.Node))
			assert.DeepEqual(t, cl.Bookings(), []framework.Booking{{Pod: p, Node: c.want}})
		})
	}
}

// TestEqualNodes: kube-scheduler takes any of the nodes with the highest score, so all of them have to do, and for the
// next pod also where the last one went to another of them than it is booked.
func TestEqualNodes(t *testing.T) {
	one, two := pod("one", "a", 1), pod("two", "a", 1)
	for _, p := range []*v1.Pod{one, two} {
		p.Spec.SchedulerName = v1.DefaultSchedulerName
		p.OwnerReferences[0].Name = p.Name
	}
	but := func(nodes ...string) framework.Choice {
		return framework.Choice{Accept: func(node string) error {
			if slices.Contains(nodes, node) {
				return errOther
			}
			return nil
		}}
	}
	cl := scored(t, nodes(3), one, two, pod("rest", "a", 1))
	_, err := cl.Place(one, but("a", "c"))
	assert.Error(t, err, "node c, where its replacement may run, is another one")
	to, err := cl.Place(one, but("a"))
	assert.NilError(t, err)
	assert.DeepEqual(t, to, framework.Place{Node: "b", Equals: []string{"c"}, Open: true})
	assert.NilError(t, cl.Book(one, to.Node))

	_, err = cl.Place(two, but("a", "b"))
	assert.Error(t, err, "node b, where its replacement may run, is another one")
	to, err = cl.Place(two, but("a"))
	assert.NilError(t, err)
	assert.DeepEqual(t, to, framework.Place{Node: "c", Open: true})
	cl.Sync(snapshot(nodes(3), two, pod("rest", "b", 1), pod("more", "a", 1)))
	to, err = cl.Place(two, but("a", "b"))
	assert.NilError(t, err, "what was booked in the cycle before is forgotten")
	assert.Equal(t, to.Node, "c")
}

// TestManyNodesForOthers: in a cluster of ten times as many nodes as are scored, a pod of another scheduler finds the only node with
// room, wherever that is, and where many have room few are looked at.
func TestManyNodesForOthers(t *testing.T) {
	many := nodes(1000)
	for i, n := range many {
		n.Name = fmt.Sprintf("n%04d", i)
		n.Labels[v1.LabelHostname] = n.Name
	}
	p := pod("web", many[0].Name, 1)
	p.Spec.SchedulerName = v1.DefaultSchedulerName
	full := []*v1.Pod{p}
	for i, n := range many[1:] {
		if i != 900 {
			full = append(full, pod(fmt.Sprint("full", i), n.Name, 4))
		}
	}
	asked := map[string]bool{}
	elsewhere := framework.Choice{Accept: func(node string) error {
		if asked[node] = true; node == many[0].Name {
			return errOther
		}
		return nil
	}}
	to, err := scored(t, many, full...).Place(p, elsewhere)
	assert.NilError(t, err)
	assert.DeepEqual(t, to, framework.Place{Node: many[900+1].Name, Open: true})

	clear(asked)
	_, err = scored(t, many, p).Place(p, elsewhere)
	assert.NilError(t, err)
	assert.Assert(t, len(asked) <= 102, "%d nodes are looked at", len(asked))
}
