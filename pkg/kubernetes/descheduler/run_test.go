package descheduler

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/utils/clock"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/framework"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/frameworktest/places"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/policy"
)

// journal notes what happens at which second.
type journal struct {
	mu    sync.Mutex
	begin time.Time
	lines []string
}

func (j *journal) note(what string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.lines = append(j.lines, fmt.Sprintf("%ds %s", int(time.Since(j.begin).Seconds()), what))
}

func (j *journal) take() []string {
	j.mu.Lock()
	defer j.mu.Unlock()
	lines := j.lines
	j.lines = nil
	return lines
}

// live is a world under the time of a bubble of synctest.
func live(t *testing.T, pods ...*v1.Pod) (*world, *journal) {
	w := newWorld(t, pods...)
	t.Cleanup(func() { time.Sleep(places.EndingMax) })
	w.options.Clock = clock.RealClock{}
	return w, &journal{begin: time.Now()}
}

// run starts a descheduler; stop ends it and returns what Run returned.
func (w *world) run() (stop func() error) {
	ctx, cancel := context.WithCancel(w.t.Context())
	ended := make(chan error, 1)
	d := w.build()
	go func() { ended <- d.Run(ctx) }()
	return func() error {
		cancel()
		return <-ended
	}
}

// TestIntervalBeginsAtTheEnd is D-CYC-1: the wait starts after a cycle ended.
func TestIntervalBeginsAtTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, j := live(t)
		w.options.Interval = 10 * time.Second
		w.options.Reported = func(r *Report) { j.note(fmt.Sprint("report ", r.Cycle)) }
		w.plugin("All").deschedule = func(context.Context, framework.Handle, []*v1.Node) error {
			timer := w.options.Clock.NewTimer(3 * time.Second)
			<-timer.C()
			return nil
		}
		stop := w.run()
		time.Sleep(30 * time.Second)
		synctest.Wait()
		assert.NilError(t, stop())
		assert.DeepEqual(t, j.take(), []string{"3s report 1", "16s report 2", "29s report 3"})
	})
}

func TestIntervalZeroIsOneCycle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, _ := live(t, podsOf(1, "a", "web")...)
		w.policy.Profiles = append(w.policy.Profiles, profileOf("q", framework.Controller, "All"))
		w.plugin("All").run = func(context.Context, framework.Handle) error { panic("is not started") }
		assert.NilError(t, w.build().Run(t.Context()))
		assert.Equal(t, len(w.evicted), 1)
		w.plugin("All").deschedule = func(context.Context, framework.Handle, []*v1.Node) error { return errors.New("no luck") }
		assert.ErrorContains(t, w.d.Run(t.Context()), "no luck")
	})
}

// TestControllersRestart: one that fails or panics is started again, after a wait that
// doubles up to a bound, and again the least after a long run.
func TestControllersRestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, j := live(t)
		w.options.Interval = time.Hour
		w.policy.Profiles = []policy.Profile{profileOf("p", framework.Controller, "All")}
		starts := 0
		w.plugin("All").run = func(ctx context.Context, _ framework.Handle) error {
			j.note("start")
			switch starts++; {
			case starts == 12:
				timer := time.NewTimer(restartMax)
				select {
				case <-ctx.Done():
				case <-timer.C:
				}
			case starts == 14:
				<-ctx.Done()
				j.note("stop")
				return nil
			case starts%2 == 0:
				panic("a fault")
			}
			return errors.New("no luck")
		}
		stop := w.run()
		time.Sleep(3000 * time.Second)
		synctest.Wait()
		assert.NilError(t, stop())
		assert.DeepEqual(t, j.take(), []string{
			"0s start", "1s start", "3s start", "7s start", "15s start", "31s start", "63s start", "127s start", "255s start",
			"511s start", "811s start", "1111s start", "1412s start", "1414s start", "3000s stop",
		})
	})
}

// TestControllersThatReturnAreStartedAgain: nothing else would say that what they do is not done any more.
func TestControllersThatReturnAreStartedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, j := live(t)
		w.options.Interval = time.Hour
		w.policy.Profiles = []policy.Profile{profileOf("p", framework.Controller, "All")}
		w.plugin("All").run = func(context.Context, framework.Handle) error { j.note("start"); return nil }
		stop := w.run()
		time.Sleep(2 * time.Second)
		synctest.Wait()
		assert.DeepEqual(t, w.d.Troubles(), []string{"controller p/All failed: it returned, and is to run until its context ends"})
		assert.NilError(t, stop())
		assert.DeepEqual(t, j.take(), []string{"0s start", "1s start"})
		assert.Equal(t, len(w.d.Troubles()), 0)
	})
}

// TestReloadWhileRunning: controllers of the old policy have ended before those of the new
// one start, and a cycle begins at once.
func TestReloadWhileRunning(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, j := live(t)
		w.options.Interval = time.Hour
		w.options.Reported = func(r *Report) { j.note(fmt.Sprint("report ", r.Cycle)) }
		w.policy.Profiles = []policy.Profile{profileOf("p", framework.Controller, "All")}
		w.plugin("All").run = func(ctx context.Context, h framework.Handle) error {
			j.note("start " + h.ProfileName())
			<-ctx.Done()
			j.note("stop " + h.ProfileName())
			return nil
		}
		stop := w.run()
		time.Sleep(time.Minute)
		synctest.Wait()
		j.take()
		next := *w.policy
		next.Profiles = []policy.Profile{profileOf("q", framework.Controller, "All")}
		assert.NilError(t, w.d.Reload(t.Context(), &next))
		synctest.Wait()
		lines := j.take()
		assert.Equal(t, lines[0], "60s stop p")
		assert.Equal(t, len(lines), 3)
		assert.NilError(t, stop())
		assert.DeepEqual(t, j.take(), []string{"60s stop q"})
	})
}

// TestRunWithInformers: nothing runs before the informers are filled, and the objects of a
// cycle are theirs.
func TestRunWithInformers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, j := live(t)
		objects := []runtime.Object{newPod("team", "p", "a", "web"), budget("web", "web", 3)}
		for _, n := range w.nodes {
			objects = append(objects, n)
		}
		client := fake.NewClientset(objects...)
		w.options.Objects = nil
		w.options.Client = client
		w.options.Informers = informers.NewSharedInformerFactory(client, 0)
		w.options.Interval = time.Minute
		w.policy.Profiles = append(w.policy.Profiles, profileOf("q", framework.Controller, "All"))
		w.plugin("All").run = func(ctx context.Context, h framework.Handle) error {
			j.note(fmt.Sprint("controller sees ", len(h.Snapshot().Pods()), " pods"))
			<-ctx.Done()
			return nil
		}
		var reports []*Report
		w.options.Reported = func(r *Report) { reports = append(reports, r) }
		stop := w.run()
		time.Sleep(30 * time.Second)
		synctest.Wait()
		assert.NilError(t, stop())
		w.options.Informers.Shutdown()
		assert.Equal(t, len(j.take()), 1)
		assert.Equal(t, len(reports), 1)
		assert.Equal(t, reports[0].Nodes, 3)
		assert.Equal(t, *reports[0].Evictions[0].BudgetLeft, 2)
	})
}

func TestRunEndsWithTheContext(t *testing.T) {
	w := newWorld(t)
	client := fake.NewClientset()
	w.options.Informers = informers.NewSharedInformerFactory(client, 0)
	w.options.Informers.Core().V1().Pods().Informer()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	assert.ErrorIs(t, w.build().Run(ctx), context.Canceled)
	_, err := New(t.Context(), w.policy, w.registry(), Options{Landing: w.options.Landing})
	assert.Error(t, err, "neither informers nor another source of objects")
	_, err = New(t.Context(), w.policy, w.registry(), Options{})
	assert.Error(t, err, "nothing says where pods would run")
}

// TestSnapshotOfAController: a fresh one at each call, and that of the cycle for a plugin
// which the cycle calls.
func TestSnapshotOfAController(t *testing.T) {
	w := newWorld(t, podsOf(2, "a", "web")...)
	w.withRooms(5)
	w.options.ControllerLanding = w.options.Landing
	w.policy.Profiles = []policy.Profile{profileOf("p", framework.Controller, "All")}
	w.build()
	h := w.plugin("All").handle
	first := h.Snapshot()
	assert.Equal(t, len(first.Pods()), 2)
	assert.NilError(t, h.Evictor().EvictPod(t.Context(), w.pods[0], framework.EvictOptions{}))
	assert.Equal(t, len(first.Pods()), 1)
	second := h.Snapshot()
	assert.Assert(t, first != second)
	assert.Equal(t, len(second.Pods()), 1) // its eviction is in flight
	report, err := w.d.Cycle(t.Context())
	assert.NilError(t, err)
	assert.Assert(t, report.Evictions[0].Controller)

	w = newWorld(t, podsOf(2, "a", "web")...)
	w.policy.Profiles[0].Plugins[framework.Controller] = []string{"All"}
	w.plugin("All").deschedule = func(_ context.Context, h framework.Handle, _ []*v1.Node) error {
		assert.Equal(t, h.Snapshot(), w.d.view.Load().snapshot)
		return nil
	}
	w.cycle()
	assert.Assert(t, w.plugin("All").handle.Snapshot() != w.d.view.Load().snapshot)

	w = newWorld(t)
	w.options.ControllerLanding = nil
	w.policy.Profiles = []policy.Profile{profileOf("p", framework.Controller, "All")}
	_, err = New(t.Context(), w.policy, w.registry(), w.options)
	assert.Error(t, err, "profile p: plugin All: is a controller, and there is no landing for controllers")
}

// TestControllerWithoutACluster: it sees nothing, so it does nothing.
func TestControllerWithoutACluster(t *testing.T) {
	w := newWorld(t, podsOf(2, "a", "web")...)
	w.options.Objects = func() (framework.Objects, error) { return framework.Objects{}, errors.New("no list") }
	w.policy.Profiles = []policy.Profile{profileOf("p", framework.Controller, "All")}
	w.build()
	assert.Equal(t, len(w.plugin("All").handle.Snapshot().Pods()), 0)
	_, err := w.plugin("All").handle.Landing().Place(w.pods[0], framework.Choice{})
	assert.ErrorIs(t, err, framework.ErrUnknownPod)
}
