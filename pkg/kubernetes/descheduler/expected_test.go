package descheduler

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/framework"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/policy"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/pods"
)

// oneRoom is a cluster in which pods of one processor, on a cordoned node, have one place elsewhere.
func oneRoom(t *testing.T, all ...*v1.Pod) *world {
	w := newWorld(t, all...)
	w.nodes = w.nodes[:2]
	for _, n := range w.nodes {
		n.Status.Allocatable[v1.ResourceCPU] = resource.MustParse("1")
	}
	w.nodes[0].Spec.Unschedulable = true
	return w
}

const noPlace = "would run nowhere: no node has room: requests pods=1 vcore=1000"

// TestPlacesOfControllersAreGivenOnce: neither a new snapshot nor another controller gives a place
// again before the replacement is there, and a cycle does not either.
func TestPlacesOfControllersAreGivenOnce(t *testing.T) {
	one, two := newPod("team", "one", "a", "web", requesting("1")), newPod("team", "two", "a", "api", requesting("1"))
	for name, others := range map[string]struct {
		before, after func(h, other framework.Handle)
	}{
		"a new snapshot":            {func(_, _ framework.Handle) {}, func(h, _ framework.Handle) { h.Snapshot() }},
		"another controller before": {func(_, other framework.Handle) { other.Snapshot() }, func(_, _ framework.Handle) {}},
		"another controller after":  {func(_, _ framework.Handle) {}, func(_, other framework.Handle) { other.Snapshot() }},
	} {
		t.Run(name, func(t *testing.T) {
			w := oneRoom(t, one, two)
			w.plugins = append(w.plugins, &scripted{name: "Other"})
			w.policy.Profiles = []policy.Profile{profileOf("p", framework.Controller, "All"), profileOf("q", framework.Controller, "Other")}
			w.build()
			h, other := w.plugin("All").handle, w.plugin("Other").handle
			h.Snapshot()
			others.before(h, other)
			assert.NilError(t, h.Evictor().EvictPod(t.Context(), one, framework.EvictOptions{}))
			w.remove("team/one") // no replacement is there yet
			others.after(h, other)
			for _, h := range []framework.Handle{h, other} {
				_, err := h.Landing().Place(two, framework.Choice{})
				assert.Assert(t, err != nil, "the place is given twice")
				assert.ErrorContains(t, h.Evictor().EvictPod(t.Context(), two, framework.EvictOptions{}), noPlace)
			}
			_, err := w.d.Cycle(t.Context())
			assert.NilError(t, err)
			assert.Equal(t, len(w.evicted), 1)
		})
	}
}

// TestPlacesAreKeptUntilTheReplacementIsThere: what ends the keeping of a place, and what does not.
func TestPlacesAreKeptUntilTheReplacementIsThere(t *testing.T) {
	one, two := newPod("team", "one", "a", "web", requesting("1")), newPod("team", "two", "a", "api", requesting("1"))
	ending := one.DeepCopy()
	ending.DeletionTimestamp = &metav1.Time{Time: start}
	reservation := newPod("team", "place", "c", "", func(p *v1.Pod) {
		p.Labels[pods.LabelReservation] = "job"
		p.Annotations = map[string]string{pods.AnnotationReservedFor: `{"pod":"` + string(one.UID) + `"}`}
	})
	for name, c := range map[string]struct {
		after time.Duration
		pods  []*v1.Pod
		kept  bool
	}{
		"it is gone":                     {5*time.Minute - 1, nil, true},
		"it has been gone for long":      {5 * time.Minute, nil, false},
		"it is ending for long":          {50 * time.Minute, []*v1.Pod{ending}, true},
		"its eviction came to nothing":   {10 * time.Minute, []*v1.Pod{one}, false},
		"a pod is there that was before": {time.Minute, []*v1.Pod{newPod("team", "old", "c", "web")}, true},
		"a replacement is there":         {time.Minute, []*v1.Pod{newPod("team", "new", "c", "web", createdAt(start))}, false},
		"one of another workload":        {time.Minute, []*v1.Pod{newPod("team", "new", "c", "db", createdAt(start))}, true},
		"a reservation is there":         {time.Minute, []*v1.Pod{one, reservation}, false},
	} {
		t.Run(name, func(t *testing.T) {
			w := oneRoom(t, one, two)
			w.policy.Profiles = []policy.Profile{profileOf("p", framework.Controller, "All")}
			w.build()
			h := w.plugin("All").handle
			assert.NilError(t, h.Evictor().EvictPod(t.Context(), one, framework.EvictOptions{}))
			w.clock.Step(c.after)
			w.pods = append([]*v1.Pod{two}, c.pods...)
			h.Snapshot()
			_, err := h.Landing().Place(two, framework.Choice{})
			assert.Equal(t, err != nil, c.kept, "%v", err)
		})
	}
}

// note notes an eviction and where its replacement is booked.
func (x *expected) note(now time.Time, pod *v1.Pod, node string) {
	x.hold(now, pod, node, x.made)
	x.keep(now, pod, node)
}

// TestAReplacementCountsOnce: each eviction of a workload has a replacement of its own, also where
// all of them are of one second, and when they come one after the other.
func TestAReplacementCountsOnce(t *testing.T) {
	x, old := &expected{}, podsOf(3, "a", "web")
	for _, p := range old {
		x.note(start, p, "b")
	}
	left := func() int {
		standIns, _ := x.after(0)
		return len(standIns)
	}
	var there []*v1.Pod
	for i := range old {
		x.observe(start, x.evictions, there, nil)
		x.observe(start, x.evictions, there, nil)
		assert.Equal(t, left(), 3-i)
		there = append(there, newPod("team", fmt.Sprint("new", i), "b", "web", createdAt(start)))
	}
	x.observe(start, x.evictions, there, nil)
	assert.Equal(t, left(), 0)

	x.note(start, newPod("team", "bare", "a", ""), "b")
	assert.Equal(t, left(), 0, "a pod that nothing makes anew")
}

// TestDryRunExpectsNothingOfTheCycleBefore: each cycle of a dry run says what a real one would do now.
func TestDryRunExpectsNothingOfTheCycleBefore(t *testing.T) {
	w := oneRoom(t, newPod("team", "one", "a", "web", requesting("1")), newPod("team", "two", "a", "api", requesting("1")))
	w.options.DryRun = true
	for range 3 {
		report, err := w.build().Cycle(t.Context())
		assert.NilError(t, err)
		assert.Equal(t, len(report.Evictions), 1)
		assert.Equal(t, report.Evictions[0].To, "b")
	}
}

// TestManyExpected: a thousand replacements that do not come are looked for in one look at the pods,
// and are forgotten.
func TestManyExpected(t *testing.T) {
	x := &expected{}
	for i := range 1000 {
		x.note(start, newPod("team", fmt.Sprint("p", i), "a", fmt.Sprint("w", i%10)), "b")
	}
	x.observe(start.Add(5*time.Minute-1), x.evictions, nil, []types.UID{"other"})
	standIns, made := x.after(990)
	assert.Equal(t, len(standIns), 10)
	assert.Equal(t, made, 1000)
	x.observe(start.Add(5*time.Minute), x.evictions, nil, nil)
	standIns, _ = x.after(0)
	assert.Equal(t, len(standIns), 0)
	assert.Assert(t, len(x.seen) == 0)
}

// TestSnapshotsAreSharedOutsideCycles: a filter that is a controller too makes one look at the cluster
// for many pods of the same time, and a fresh one later.
func TestSnapshotsAreSharedOutsideCycles(t *testing.T) {
	w := newWorld(t, podsOf(50, "a", "web")...)
	looks := 0
	objects := w.options.Objects
	w.options.Objects = func() (framework.Objects, error) { looks++; return objects() }
	w.plugins = append(w.plugins, &scripted{name: "Fit", pre: func(pod *v1.Pod) error {
		h := w.plugin("Fit").handle
		if h.Snapshot().WasEvicted(pod.UID) {
			return errors.New("it is gone")
		}
		_, err := h.Landing().Place(pod, framework.Choice{})
		return err
	}})
	w.policy.Profiles = []policy.Profile{profileOf("p", framework.Controller, "All")}
	w.policy.Profiles[0].Plugins[framework.PreEvictionFilter] = []string{"Fit"}
	w.policy.Profiles[0].Plugins[framework.Controller] = []string{"All", "Fit"}
	w.build()
	h := w.plugin("All").handle
	for _, p := range w.pods[:40] {
		assert.NilError(t, h.Evictor().EvictPod(t.Context(), p, framework.EvictOptions{}))
	}
	assert.Equal(t, looks, 2, "one of each controller")
	w.clock.Step(time.Second)
	assert.NilError(t, h.Evictor().EvictPod(t.Context(), w.pods[40], framework.EvictOptions{}))
	assert.Equal(t, looks, 3)
}
