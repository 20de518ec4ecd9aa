package descheduler

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	v1 "k8s.io/api/core/v1"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/framework"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/frameworktest/places"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/policy"
)

// TestPlacesAreHeldWhileAnEvictionIsAsked: until the evict plugin has answered, no other controller is
// given the place, with a new snapshot or not; and then again if the pod was not evicted.
func TestPlacesAreHeldWhileAnEvictionIsAsked(t *testing.T) {
	for _, refused := range []error{nil, errors.New("the API server refuses"), framework.ErrGone} {
		t.Run(fmt.Sprint(refused), func(t *testing.T) {
			one, two := newPod("team", "one", "a", "web", requesting("1")), newPod("team", "two", "a", "api", requesting("1"))
			w := oneRoom(t, one, two)
			w.plugins = append(w.plugins, &scripted{name: "Other"})
			w.policy.Profiles = []policy.Profile{profileOf("p", framework.Controller, "All"), profileOf("q", framework.Controller, "Other")}
			asked := 0
			w.plugin("Evict").evict = func(_ context.Context, pod *v1.Pod, _ framework.EvictOptions) error {
				asked++
				other := w.plugin("Other").handle
				for range 2 {
					assert.ErrorContains(t, other.Evictor().EvictPod(t.Context(), two, framework.EvictOptions{}), noPlace)
					other.Snapshot()
				}
				return refused
			}
			w.build()
			h, other := w.plugin("All").handle, w.plugin("Other").handle
			other.Snapshot()
			err := h.Evictor().EvictPod(t.Context(), one, framework.EvictOptions{})
			if !errors.Is(refused, framework.ErrGone) {
				assert.ErrorIs(t, err, refused)
			}
			assert.Equal(t, asked, 1)
			other.Snapshot()
			_, err = other.Landing().Place(two, framework.Choice{})
			assert.Equal(t, err == nil, refused != nil, "%v", err)
		})
	}
}

// TestControllersAtOnce: however many controllers evict at the same time, with one landing or
// with one of each, no place is given twice, and none is left over.
func TestControllersAtOnce(t *testing.T) {
	const rooms = 5
	for name, c := range map[string]struct {
		rounds int
		choose func(*world)
	}{
		"one landing": {10, func(*world) {}},
		"one each": {2, func(w *world) {
			w.options.Landing = func(s *framework.Snapshot) (framework.Landing, error) { return places.New(t)(s) }
		}},
	} {
		t.Run(name, func(t *testing.T) {
			for range c.rounds {
				w := newWorld(t)
				w.nodes = w.nodes[:2]
				w.nodes[0].Spec.Unschedulable = true
				w.nodes[0].Status.Allocatable = processors(100)
				w.nodes[1].Status.Allocatable = processors(rooms)
				c.choose(w)
				assert.Equal(t, w.evictAtOnce(8, 3), int64(rooms))
			}
		})
	}
}

// evictAtOnce has so many controllers evict so many pods of node a each, at the same time, and returns
// how many were evicted.
func (w *world) evictAtOnce(controllers, each int) int64 {
	w.options.ControllerLanding = w.options.Landing
	w.policy.Profiles = nil
	for i := range controllers {
		plugin := fmt.Sprint("C", i)
		w.plugins = append(w.plugins, &scripted{name: plugin})
		w.policy.Profiles = append(w.policy.Profiles, profileOf(plugin, framework.Controller, plugin))
		for j := range each {
			w.pods = append(w.pods, newPod("team", fmt.Sprint("p", i, "-", j), "a", plugin, requesting("1")))
		}
	}
	var evicted atomic.Int64
	w.plugin("Evict").evict = func(context.Context, *v1.Pod, framework.EvictOptions) error {
		runtime.Gosched()
		evicted.Add(1)
		return nil
	}
	w.build()
	var all sync.WaitGroup
	for i := range controllers {
		h := w.plugin(fmt.Sprint("C", i)).handle
		all.Go(func() {
			for j := range each {
				h.Snapshot()
				_ = h.Evictor().EvictPod(w.t.Context(), w.pods[i*each+j], framework.EvictOptions{})
			}
		})
	}
	all.Wait()
	return evicted.Load()
}

// TestWhatIsExpected: a place is expected from the eviction on until the replacement is there, or the
// eviction came to nothing.
func TestWhatIsExpected(t *testing.T) {
	x, pod := &expected{}, newPod("team", "one", "a", "web")
	assert.Assert(t, x.hold(start, pod, "c", 0))
	assert.Assert(t, !x.hold(start, newPod("team", "two", "a", "api"), "b", 0), "counted before another one was held")
	later := start.Add(time.Minute)
	x.keep(later, pod, "c")
	x.keep(start, pod, "c") // it is not held any more
	x.drop(pod)
	standIns, made := x.after(0)
	assert.Equal(t, standIns[0].Spec.NodeName, "c")
	assert.Equal(t, made, 1)

	x.observe(start, x.evictions, []*v1.Pod{newPod("team", "new", "c", "web", createdAt(start))}, nil)
	standIns, _ = x.after(0)
	assert.Equal(t, len(standIns), 1, "a pod that was made before the eviction had come about")

	x.observe(start, 0, []*v1.Pod{pod}, nil)
	standIns, _ = x.after(0)
	assert.Equal(t, len(standIns), 1, "what was in flight was listed before the eviction came about")
	x.observe(start, 1, []*v1.Pod{pod}, nil)
	standIns, _ = x.after(0)
	assert.Equal(t, len(standIns), 0, "the eviction came to nothing")
}

// TestWhatIsOpen: what is held is looked for among those places of which the end is not known.
func TestWhatIsOpen(t *testing.T) {
	x, all := &expected{}, podsOf(4, "a", "web")
	for i, p := range all {
		assert.Assert(t, x.hold(start, p, "b", i))
	}
	assert.Equal(t, x.open, 4)
	x.keep(start, all[2], "b")
	x.drop(all[1])
	assert.Equal(t, x.open, 2)
	assert.Equal(t, x.held(all[0]), 0)
	assert.Equal(t, x.held(all[1]), -1)
	assert.Equal(t, x.held(all[2]), -1)
	assert.Equal(t, x.held(all[3]), 2)
	x.forget()
	assert.Equal(t, x.open, 0)
	x.keep(start, all[0], "b") // it ends after a cycle of a dry run has begun
	assert.Equal(t, x.evictions, 1)
}

// panicking is a landing that panics when a place is booked.
type panicking struct{ framework.Landing }

func (panicking) Book(*v1.Pod, string) error { panic("books") }

// TestLandingThatPanicsHoldsNothingForEver: the pod went, and its place is kept as any other one.
func TestLandingThatPanicsHoldsNothingForEver(t *testing.T) {
	w := newWorld(t, podsOf(1, "a", "web")...)
	w.withRooms(5)
	works := w.options.Landing
	w.options.Landing = func(s *framework.Snapshot) (framework.Landing, error) {
		l, err := works(s)
		return panicking{l}, err
	}
	_, err := w.build().Cycle(t.Context())
	assert.ErrorContains(t, err, "panic: books")
	x := &w.d.expected
	w.pods = nil
	for _, c := range []struct {
		after time.Duration
		left  int
	}{{0, 1}, {5 * time.Minute, 0}} {
		x.observe(start.Add(c.after), x.known(), nil, nil)
		standIns, _ := x.after(0)
		assert.Equal(t, len(standIns), c.left)
	}
}
