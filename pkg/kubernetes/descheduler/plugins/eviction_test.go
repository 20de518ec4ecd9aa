package plugins_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	v1 "k8s.io/api/core/v1"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/framework"
	ft "github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/frameworktest"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/plugins/eviction"
)

// cluster has two nodes and three pods in two namespaces on each.
func cluster() framework.Objects {
	return framework.Objects{
		Nodes: []*v1.Node{ft.Node("n1", "", ""), ft.Node("n2", "", "")},
		Pods: []*v1.Pod{
			ft.Pod("a/p1", "n1", "cpu=100m", ft.Owned("ReplicaSet/x")),
			ft.Pod("a/p2", "n1", "cpu=100m", ft.Owned("ReplicaSet/x")),
			ft.Pod("b/p3", "n1", "cpu=100m", ft.Owned("ReplicaSet/y")),
			ft.Pod("a/p4", "n2", "cpu=50m", ft.Owned("ReplicaSet/x")),
			ft.Pod("a/p5", "n2", "cpu=50m", ft.Owned("ReplicaSet/z")),
			ft.Pod("b/p6", "n2", "cpu=50m", ft.Owned("ReplicaSet/y")),
		},
	}
}

// A limit ends the questions that it answers, and no others: D-EV-4, which for
// namespaces was left open, and D-EV-5.
func TestLimitsEndQuestions(t *testing.T) {
	for name, c := range map[string]struct {
		limits ft.Limits
		asked  []string
	}{
		"none":      {ft.Limits{}, []string{"a/p1", "a/p2", "b/p3", "a/p4", "a/p5", "b/p6"}},
		"node":      {ft.Limits{PerNode: 1}, []string{"a/p1", "a/p2", "a/p4", "a/p5"}},
		"namespace": {ft.Limits{PerNamespace: 1}, []string{"a/p1", "a/p2", "b/p3", "b/p6"}},
		"workload":  {ft.Limits{PerWorkload: 1}, []string{"a/p1", "a/p2", "b/p3", "a/p5", "b/p6"}},
		"total":     {ft.Limits{Total: 2}, []string{"a/p1", "a/p2", "b/p3"}},
	} {
		t.Run(name, func(t *testing.T) {
			h := ft.NewHandle(t, cluster(), ft.Options{Limits: c.limits})
			run := eviction.Start(t.Context(), h, "Test")
			for range 2 { // what is known stays known
				for _, node := range h.Snapshot().Nodes() {
					for _, pod := range run.PodsOn(node.Name) {
						run.Evict(pod, "because")
					}
				}
			}
			assert.DeepEqual(t, h.Asked(), c.asked)
			assert.Equal(t, run.Stopped(), name == "total")
			assert.Assert(t, run.Status() == nil)
		})
	}
}

func TestRefusals(t *testing.T) {
	first := true
	refuse := func(pod *v1.Pod) error {
		switch pod.Name {
		case "p1":
			return &framework.RefusedError{By: "budget", Reason: "none left", Err: errors.New("429")}
		case "p2":
			return errors.New("no connection")
		case "p3":
			if first {
				first = false
				return &framework.RefusedError{By: "fit", Reason: "nowhere"}
			}
		}
		return nil
	}
	h := ft.NewHandle(t, cluster(), ft.Options{Refuse: refuse})
	run := eviction.Start(t.Context(), h, "Test")
	for range 2 {
		for _, pod := range h.Snapshot().PodsOn("n1") {
			run.Evict(pod, "because")
		}
	}
	assert.DeepEqual(t, h.Asked(), []string{"a/p1", "a/p2", "b/p3", "b/p3"}) // only the last may have another answer
	assert.DeepEqual(t, h.Evicted(), []string{"b/p3"})
	assert.Error(t, run.Status().Err, "pod a/p2: no connection")
}

func TestMoveSeesReplacements(t *testing.T) {
	h := ft.NewHandle(t, cluster(), ft.Options{})
	run := eviction.Start(t.Context(), h, "Test")
	pod := h.Snapshot().PodsOn("n1")[2]
	anywhere := func(string) error { return nil }
	// The other pod of y is on n2, so the replacement would come back.
	assert.Assert(t, !run.Move(pod, "because", anywhere))
	assert.DeepEqual(t, h.Declined(), []string{"b/p3: Test: its replacement would come back to node n1"})
	assert.Assert(t, !run.Move(h.Snapshot().PodsOn("n1")[0], "because", func(node string) error { return errors.New("not " + node) }))
	assert.Equal(t, h.Declined()[1], "a/p1: Test: node n2, where its replacement would run, not n2")
	assert.Assert(t, run.Move(h.Snapshot().PodsOn("n1")[0], "because", anywhere))
	assert.DeepEqual(t, h.Moves(), []string{"a/p1 n1 -> n2"})
	assert.Equal(t, len(run.PodsOn("n1")), 2)
	stand := run.PodsOn("n2")[3]
	assert.Equal(t, stand.Spec.NodeName, "n2")
	assert.Assert(t, !run.Removable(stand) && !run.Evict(stand, "because"))
	assert.Equal(t, len(run.Pods()), 6)
	assert.Equal(t, len(eviction.Start(t.Context(), h, "Next").PodsOn("n2")), 4)
}

// An openHandle has a landing of which the scheduler prefers two nodes equally.
type openHandle struct{ *ft.Handle }

func (h openHandle) Landing() framework.Landing { return openLanding{h.Handle.Landing()} }

type openLanding struct{ framework.Landing }

func (l openLanding) Place(pod *v1.Pod, choice framework.Choice) (framework.Place, error) {
	to, err := l.Landing.Place(pod, choice)
	to.Equals = []string{"n3"}
	return to, err
}

// TestMoveSurely: where the scheduler may take one of several nodes, nothing is asked for until Move does, which names all of them.
func TestMoveSurely(t *testing.T) {
	anywhere := func(string) error { return nil }
	h := ft.NewHandle(t, cluster(), ft.Options{})
	pod := h.Snapshot().PodsOn("n1")[0]
	run := eviction.Start(t.Context(), openHandle{h}, "Test")
	moved, open := run.MoveSurely(pod, "because", anywhere)
	assert.Assert(t, !moved && open)
	assert.Equal(t, len(h.Asked())+len(h.Declined()), 0)
	assert.Assert(t, run.Move(pod, "because", anywhere))
	assert.DeepEqual(t, h.Evictions()[0].Options.Nodes, []string{"n2", "n3"})

	h = ft.NewHandle(t, cluster(), ft.Options{})
	moved, open = eviction.Start(t.Context(), h, "Test").MoveSurely(pod, "because", anywhere)
	assert.Assert(t, moved && !open)
}

func TestContextEndsQuestions(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	h := ft.NewHandle(t, cluster(), ft.Options{})
	run := eviction.Start(ctx, h, "Test")
	cancel()
	assert.Assert(t, !run.Evict(h.Snapshot().Pods()[0], "because"))
	assert.ErrorIs(t, run.Status().Err, context.Canceled)
}

// TestErrorsBeyondErrorsMax has ten times as many pods fail as a status names, which says how many
// more there are.
func TestErrorsBeyondErrorsMax(t *testing.T) {
	objects := framework.Objects{Nodes: []*v1.Node{ft.Node("n1", "", "")}}
	for i := range 100 {
		objects.Pods = append(objects.Pods, ft.Pod(fmt.Sprintf("a/p%02d", i), "n1", "cpu=1m", ft.Owned("ReplicaSet/x")))
	}
	h := ft.NewHandle(t, objects, ft.Options{Refuse: func(*v1.Pod) error { return errors.New("no connection") }})
	run := eviction.Start(t.Context(), h, "Test")
	for _, pod := range h.Snapshot().PodsOn("n1") {
		run.Evict(pod, "because")
	}
	lines := strings.Split(run.Status().Err.Error(), "\n")
	assert.Equal(t, len(lines), 11)
	assert.Equal(t, lines[9], "pod a/p09: no connection")
	assert.Equal(t, lines[10], "90 pods more have errors")
}
