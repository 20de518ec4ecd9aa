package descheduler

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
	"gotest.tools/v3/assert"
	v1 "k8s.io/api/core/v1"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/framework"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/policy"
)

// lateRoom is a Landing that has no place for pods of some workloads before another was
// booked.
type lateRoom struct {
	*rooms
	after map[string]string // by workload: the one whose booking makes room
	gone  map[string]bool
}

func (l *lateRoom) Place(pod *v1.Pod, choice framework.Choice) (framework.Place, error) {
	if other := l.after[pod.Labels["app"]]; other != "" && !l.gone[other] {
		return framework.Place{}, errors.New("not yet")
	}
	return l.rooms.Place(pod, choice)
}

func (l *lateRoom) Book(pod *v1.Pod, node string) error {
	l.gone[pod.Labels["app"]] = true
	return l.rooms.Book(pod, node)
}

// withLateRoom gives each cycle such a landing, and counts how often the plugin All runs.
func (w *world) withLateRoom(after map[string]string) (runs *int) {
	w.options.Landing = func(s *framework.Snapshot) (framework.Landing, error) {
		return &lateRoom{&rooms{s, 100, map[string]int{}}, after, map[string]bool{}}, nil
	}
	all, runs := w.plugin("All").deschedule, new(int)
	w.plugin("All").deschedule = func(ctx context.Context, h framework.Handle, nodes []*v1.Node) error {
		*runs++
		return all(ctx, h, nodes)
	}
	return runs
}

// TestLaterEvictionsMakeRoom: a pod without a place is asked for again when others have gone,
// also those of a plugin at balance, so that the next cycle has nothing left to do.
func TestLaterEvictionsMakeRoom(t *testing.T) {
	w := newWorld(t, newPod("team", "1", "a", "first"), newPod("team", "2", "a", "second"), newPod("team", "3", "b", "third"))
	runs := w.withLateRoom(map[string]string{"first": "second", "second": "third"})
	assert.DeepEqual(t, w.cycle(), []string{"team/3", "team/2", "team/1"})
	assert.Equal(t, *runs, 3)

	w = newWorld(t, newPod("team", "1", "a", "first"), newPod("team", "2", "b", "second"))
	runs = w.withLateRoom(map[string]string{"first": "second"})
	w.plugin("All").balance = func(ctx context.Context, h framework.Handle, _ []*v1.Node) error {
		return h.Evictor().EvictPod(ctx, w.pods[1], framework.EvictOptions{})
	}
	w.policy.Profiles[0].Plugins[framework.Deschedule] = nil
	w.policy.Profiles = append([]policy.Profile{profileOf("q", framework.Deschedule, "Only")}, profileOf("p", framework.Balance, "All"))
	asked := 0
	w.plugins = append(w.plugins, &scripted{name: "Only", deschedule: func(ctx context.Context, h framework.Handle, _ []*v1.Node) error {
		asked++
		_ = h.Evictor().EvictPod(ctx, w.pods[0], framework.EvictOptions{})
		return nil
	}})
	assert.DeepEqual(t, w.cycle(), []string{"team/2", "team/1"})
	assert.Equal(t, asked, 2)
	assert.Equal(t, *runs, 0)
}

// TestRoundsAreBounded: of a row of pods each of which has room when the next one has gone, a cycle evicts one when it runs the plugin first, and
// ten when it runs it again. The next cycle goes on.
func TestRoundsAreBounded(t *testing.T) {
	var row []*v1.Pod
	after := map[string]string{}
	for i := range 15 {
		row = append(row, newPod("team", fmt.Sprintf("%02d", i), "a", fmt.Sprint("app", i)))
		after[fmt.Sprint("app", i)] = fmt.Sprint("app", i+1)
	}
	delete(after, "app14")
	w := newWorld(t, row...)
	runs := w.withLateRoom(after)
	evicted := w.cycle()
	assert.Equal(t, len(evicted), 11)
	assert.Equal(t, *runs, 11)
	w.remove(evicted...)
	delete(after, "app3") // the one after it is gone
	assert.Equal(t, len(w.cycle()), 4)
}

// TestRoomForAFilter: a pod that a filter keeps since it fits on no other node is asked for again when
// others have gone. One that a filter keeps for another reason is not.
func TestRoomForAFilter(t *testing.T) {
	for _, c := range []struct {
		why  error
		runs int
	}{{fmt.Errorf("nodeFit: %w", framework.ErrNowhere), 2}, {errors.New("its namespace is not selected"), 1}} {
		w := newWorld(t, newPod("team", "1", "a", "first"), newPod("team", "2", "a", "second"))
		runs := w.withLateRoom(nil)
		gone := false
		w.plugin("All").pre = func(pod *v1.Pod) error {
			if pod.Name == "1" && !gone {
				return c.why
			}
			gone = gone || pod.Name == "2"
			return nil
		}
		w.policy.Profiles[0].Plugins[framework.PreEvictionFilter] = []string{"All"}
		evicted := w.cycle()
		assert.Equal(t, len(evicted), c.runs, "%v", evicted)
		assert.Equal(t, *runs, c.runs)
	}
}

// TestAskedAgainAtMost: a plugin that evicts one pod a call, and always finds another one
// without a place, is called a bounded number of times. One that failed is not called again.
func TestAskedAgainAtMost(t *testing.T) {
	w := newWorld(t, podsOf(1000, "a", "web")...)
	w.pods = append(w.pods, newPod("team", "never", "a", "first"))
	runs := w.withLateRoom(map[string]string{"first": "nothing"})
	next, fail := 0, false
	w.plugin("All").deschedule = func(ctx context.Context, h framework.Handle, _ []*v1.Node) error {
		*runs++
		_ = h.Evictor().EvictPod(ctx, w.pods[len(w.pods)-1], framework.EvictOptions{})
		next++
		err := h.Evictor().EvictPod(ctx, w.pods[next], framework.EvictOptions{})
		if fail {
			return errors.New("it failed")
		}
		return err
	}
	core, log := observer.New(zap.InfoLevel)
	w.options.Log = zap.New(core)
	w.cycle()
	assert.Equal(t, *runs, 11)
	again := func() int { return log.FilterField(zap.Int("rounds", 10)).Len() }
	assert.Equal(t, again(), 1)
	*runs, fail = 0, true
	_, err := w.build().Cycle(t.Context())
	assert.ErrorContains(t, err, "it failed")
	assert.Equal(t, *runs, 1)
	assert.Equal(t, again(), 1)
}

// TestRepeatedAtBalance: a plugin at balance runs again when a later one has evicted a pod, and
// then finds nothing more. One that does not say that it repeats, or that failed, runs once.
func TestRepeatedAtBalance(t *testing.T) {
	failure := errors.New("it failed")
	for name, c := range map[string]struct {
		repeats bool
		err     error
		want    []string
		runs    int
	}{
		"it repeats":         {true, nil, []string{"team/2", "team/1"}, 2},
		"it does not repeat": {false, nil, []string{"team/2"}, 1},
		"it failed":          {true, failure, []string{"team/2"}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, newPod("team", "1", "a", "first"), newPod("team", "2", "b", "second"))
			runs := 0
			of := func(pod int) func(context.Context, framework.Handle, []*v1.Node) error {
				return func(ctx context.Context, h framework.Handle, _ []*v1.Node) error {
					return h.Evictor().EvictPod(ctx, w.pods[pod], framework.EvictOptions{})
				}
			}
			w.plugin("All").balance = of(1)
			w.plugins = append(w.plugins, &scripted{name: "Before", repeats: c.repeats, balance: func(ctx context.Context, h framework.Handle, nodes []*v1.Node) error {
				runs++
				if h.Snapshot().WasEvicted(w.pods[1].UID) {
					return of(0)(ctx, h, nodes)
				}
				return c.err
			}})
			w.policy.Profiles = []policy.Profile{profileOf("q", framework.Balance, "Before"), profileOf("p", framework.Balance, "All")}
			_, err := w.build().Cycle(t.Context())
			assert.ErrorIs(t, err, c.err)
			assert.DeepEqual(t, w.evicted, c.want)
			assert.Equal(t, runs, c.runs)
		})
	}
}
