package shim

import (
	"context"
	"testing"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"gotest.tools/v3/assert"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// countingFilters are filters that note which pods are counted where.
type countingFilters struct {
	noFilters
	on       map[types.UID]string
	reserved []string // what was counted when a node was reserved
}

func (f *countingFilters) SetPod(pod *v1.Pod)    { f.on[pod.UID] = pod.Spec.NodeName }
func (f *countingFilters) RemovePod(pod *v1.Pod) { delete(f.on, pod.UID) }

func (*countingFilters) Class(pod *v1.Pod) string { return "all of " + pod.Labels["app"] }

func (f *countingFilters) Reserve(_ context.Context, pod *v1.Pod, _ string) error {
	f.reserved = append(f.reserved, string(pod.UID)+" counts on "+f.on[pod.UID])
	return nil
}

// A pod that comes after a placement was decided, and before it is announced, is asked about as if it were announced, if that matters
// to it. The placement is not counted twice when it is announced, and no more when it comes to nothing.
func TestWhatComesAfterADecision(t *testing.T) {
	spread := func(name, app string) *v1.Pod {
		p := ourPod("")
		p.Name, p.UID = name, types.UID(name)
		p.Labels["app"] = app
		p.Spec.TopologySpreadConstraints = []v1.TopologySpreadConstraint{{
			MaxSkew: 1, TopologyKey: v1.LabelTopologyZone, WhenUnsatisfiable: v1.DoNotSchedule,
			LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}},
		}}
		return p
	}
	begin := func() (callback, *countingFilters) {
		filters := &countingFilters{on: map[types.UID]string{}}
		c := newCallback(t)
		c.feasible.Feasibility = filters
		for _, pod := range []*v1.Pod{spread("first", "web"), spread("second", "web"), spread("third", "web"), spread("other", "db")} {
			c.AddPod(pod)
		}
		c.PredicateClass("first")
		assert.Equal(t, len(c.TiedClasses("first", "node-1")), 0, "nothing else waits")
		return c, filters
	}

	c, filters := begin()
	c.PredicateClass("other")
	assert.Equal(t, len(filters.on), 0, "it does not matter to it")
	c.PredicateClass("second")
	assert.DeepEqual(t, filters.on, map[types.UID]string{"first": "node-1"})
	assert.NilError(t, c.UpdateAllocation(response("first", "node-1")))
	assert.DeepEqual(t, filters.reserved, []string{"first counts on "})
	assert.DeepEqual(t, filters.on, map[types.UID]string{"first": "node-1"})
	assert.DeepEqual(t, c.TiedClasses("second", "node-2"), []string(nil))
	c.PredicateClass("third")
	c.TiedClasses("second", "") // it is taken back
	assert.DeepEqual(t, filters.on, map[types.UID]string{"first": "node-1"})

	c, filters = begin()
	c.PredicateClass("second")
	c.DeletePod(spread("first", "web"))
	assert.Equal(t, len(filters.on)+len(c.decided.of), 0, "it has ended")

	c, filters = begin()
	c.PredicateClass("second")
	elsewhere := spread("first", "web")
	elsewhere.Spec.NodeName = "node-2"
	c.UpdatePod(spread("first", "web"), elsewhere)
	assert.DeepEqual(t, filters.on, map[types.UID]string{"first": "node-2"})
	assert.Equal(t, len(c.decided.of), 0, "it was bound elsewhere")
}

// response is the announcement of a placement.
func response(key, node string) *si.AllocationResponse {
	return &si.AllocationResponse{New: []*si.Allocation{{AllocationKey: key, ApplicationID: "app", NodeID: node}}}
}
