package descheduler

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
	"gotest.tools/v3/assert"
	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/events"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/framework"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/policy"
)

// elsewhere calls a function in a goroutine that has nothing around it, and waits.
func elsewhere(f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	<-done
}

// TestPanicsKeepOnePod: whatever panics over the eviction of a pod, also in a goroutine that a plugin
// began, is an error of that pod, is told, and counts for no limit.
func TestPanicsKeepOnePod(t *testing.T) {
	fault := func(pod *v1.Pod) error {
		if pod.Name == "web-a-0" {
			panic("a fault")
		}
		return nil
	}
	for name, install := range map[string]func(w *world){
		"evict": func(w *world) {
			w.plugin("Evict").evict = func(_ context.Context, p *v1.Pod, _ framework.EvictOptions) error { return fault(p) }
		},
		"a filter":              func(w *world) { w.plugin("All").filter = fault },
		"a filter of evictions": func(w *world) { w.plugin("All").pre = fault },
	} {
		t.Run(name, func(t *testing.T) {
			three := 3
			w := newWorld(t, podsOf(4, "a", "web")...)
			core, log := observer.New(zap.ErrorLevel)
			w.options.Log = zap.New(core)
			w.policy.Limits.Total = &three
			w.policy.Profiles[0].Plugins[framework.Filter] = []string{"All"}
			w.policy.Profiles[0].Plugins[framework.PreEvictionFilter] = []string{"All"}
			install(w)
			w.plugin("All").deschedule = func(ctx context.Context, h framework.Handle, _ []*v1.Node) error {
				elsewhere(func() {
					assert.Check(t, !h.Evictor().Filter(nil) && !h.Evictor().Evict(ctx, nil, framework.EvictOptions{}))
					assert.Check(t, errors.Is(h.Evictor().EvictPod(ctx, nil, framework.EvictOptions{}), errNoPod))
					for _, pod := range w.pods {
						err := h.Evictor().EvictPod(ctx, pod, framework.EvictOptions{})
						assert.Check(t, (err != nil) == (pod.Name == "web-a-0"), "%s: %v", pod.Name, err)
					}
				})
				return nil
			}
			report, err := w.build().Cycle(t.Context())
			assert.NilError(t, err)
			assert.Equal(t, len(report.Evictions), 3)
			assert.Equal(t, report.Kept[Failed], 1)
			assert.Assert(t, strings.Contains(w.d.Why("team", "web-a-0").String(), "failed: panic: a fault"), w.d.Why("team", "web-a-0").String())
			assert.Equal(t, log.FilterMessage("eviction failed").FilterFieldKey("stack").Len(), 1)
		})
	}
}

// TestTextsOfPluginsThatAreNone: whatever bytes a plugin gives as a reason, a pod is evicted or kept, and
// what is told is text.
func TestTextsOfPluginsThatAreNone(t *testing.T) {
	wrong := strings.Repeat("\x80", 10*reasonMax)
	w := newWorld(t, podsOf(4, "a", "web")...)
	recorder := events.NewFakeRecorder(10)
	w.options.Recorder, w.options.Metrics = recorder, NewMetrics(prometheus.NewRegistry())
	w.policy.FailureEvents = true
	answers := []error{
		&framework.RefusedError{By: wrong, Reason: wrong, Err: errors.New(wrong)},
		&framework.LimitError{Scope: framework.Scope(wrong), Name: wrong}, errors.New(wrong), nil,
	}
	w.plugin("Evict").evict = func(_ context.Context, pod *v1.Pod, _ framework.EvictOptions) error {
		return answers[pod.Name[len(pod.Name)-1]-'0']
	}
	w.plugin("All").deschedule = func(ctx context.Context, h framework.Handle, _ []*v1.Node) error {
		for _, pod := range w.pods {
			_ = h.Evictor().EvictPod(ctx, pod, framework.EvictOptions{Reason: wrong})
		}
		return nil
	}
	report, err := w.build().Cycle(t.Context())
	assert.NilError(t, err)
	assert.Equal(t, len(report.Evictions), 1)
	written := texts(recorder)
	assert.Equal(t, len(written), 4)
	for _, line := range written {
		assert.Assert(t, utf8.ValidString(line) && !strings.Contains(line, "  "), "%q", line)
	}
}

// TestWhatAPluginLeavesRunning: with the context of its call it evicts nothing after that. An eviction
// that began in one cycle and fails in the next gives that one no room.
func TestWhatAPluginLeavesRunning(t *testing.T) {
	one := 1
	w := newWorld(t, podsOf(4, "a", "web")...)
	w.policy.Limits.Total = &one
	begun, fail, failed := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	w.plugin("Evict").evict = func(_ context.Context, pod *v1.Pod, _ framework.EvictOptions) error {
		if pod.Name == "web-a-0" {
			close(begun)
			<-fail
			return errors.New("no luck")
		}
		w.evicted = append(w.evicted, pod.Name)
		return nil
	}
	var left context.Context
	cycle := 0
	w.plugin("All").deschedule = func(ctx context.Context, h framework.Handle, _ []*v1.Node) error {
		evict := func(i int) error { return h.Evictor().EvictPod(ctx, w.pods[i], framework.EvictOptions{}) }
		if cycle++; cycle == 1 {
			left = ctx
			go func() { failed <- h.Evictor().EvictPod(context.Background(), w.pods[0], framework.EvictOptions{}) }()
			<-begun
			return nil
		}
		assert.ErrorIs(t, h.Evictor().EvictPod(left, w.pods[3], framework.EvictOptions{}), context.Canceled)
		assert.NilError(t, evict(1))
		close(fail)
		assert.ErrorContains(t, <-failed, "no luck")
		assert.ErrorContains(t, evict(2), "limit of 1 eviction in a cycle")
		return nil
	}
	w.cycle()
	w.cycle()
	assert.DeepEqual(t, w.evicted, []string{"web-a-1"})
}

// A stubborn plugin does not come back from where it is called.
type stubborn struct {
	instance
	hang func()
}

func (s stubborn) InFlight() []*v1.Pod {
	s.hang()
	return nil
}

func (s stubborn) Repeats() bool { panic("a fault of Repeats") }

// TestPluginsThatHangElsewhereAreTold: at whatever point a plugin does not answer, and where a
// controller goes on after its policy was replaced, the log says so.
func TestPluginsThatHangElsewhereAreTold(t *testing.T) {
	for name, c := range map[string]struct {
		install func(w *world, hang func())
		plugin  string
	}{
		"pre-sort": {func(w *world, hang func()) {
			w.plugins = append(w.plugins, &scripted{name: "Order", preSort: func(nodes []*v1.Node) []*v1.Node { hang(); return nodes }})
			w.policy.Profiles[0].Plugins[framework.PreSort] = []string{"Order"}
		}, "Order"},
		"evictions in flight": {func(w *world, hang func()) {
			w.wrap = func(i instance) framework.Plugin {
				if i.name == "Evict" {
					return stubborn{i, hang}
				}
				return i
			}
		}, "Evict"},
		"controller": {func(w *world, hang func()) {
			w.policy.Profiles = []policy.Profile{profileOf("p", framework.Controller, "All")}
			w.plugin("All").run = func(ctx context.Context, _ framework.Handle) error { <-ctx.Done(); hang(); return nil }
		}, "All"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, _ := live(t, podsOf(1, "a", "web")...)
				core, logs := observer.New(zap.WarnLevel)
				w.options.Log, w.options.Interval = zap.New(core), time.Second
				free := make(chan struct{})
				c.install(w, func() { <-free })
				stop := w.run()
				synctest.Wait()
				if name == "controller" {
					assert.NilError(t, w.d.Reload(t.Context(), w.policy))
				}
				time.Sleep(overdueFirst - time.Second)
				synctest.Wait()
				assert.Equal(t, logs.Len(), 0)
				time.Sleep(2 * time.Second)
				synctest.Wait()
				assert.Equal(t, logs.FilterMessage("plugin has not answered").FilterField(zap.String("plugin", c.plugin)).Len(), 1)
				close(free)
				assert.NilError(t, stop())
			})
		})
	}
}

// TestPluginsThatHangOrPanicWhenBuilt: the first is told, the second is an error of the policy.
func TestPluginsThatHangOrPanicWhenBuilt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, _ := live(t)
		core, logs := observer.New(zap.WarnLevel)
		w.options.Log = zap.New(core)
		w.policy.Profiles[0] = profileOf("p", framework.Balance, "All")
		w.wrap = func(i instance) framework.Plugin {
			if i.name == "All" {
				time.Sleep(overdueFirst + 1) // in virtual time
				return stubborn{i, nil}
			}
			return i
		}
		_, err := New(t.Context(), w.policy, w.registry(), w.options)
		assert.ErrorContains(t, err, "plugin All at balance: panic: a fault of Repeats")
		assert.Equal(t, logs.FilterMessage("plugin has not answered").Len(), 1)
	})
}
