package descheduler

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"
	v1 "k8s.io/api/core/v1"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/framework"
)

// TestPluginsThatHangAreTold: an evict plugin that ignores its context keeps the cycle. The log and the
// metrics say so meanwhile, of it and of the plugin that called it, and no pod is evicted twice.
func TestPluginsThatHangAreTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, _ := live(t, podsOf(1, "a", "web")...)
		core, logs := observer.New(zap.WarnLevel)
		w.options.Log, w.options.Interval = zap.New(core), time.Second
		registry := prometheus.NewRegistry()
		w.options.Metrics = NewMetrics(registry)
		hang, calls := make(chan struct{}), 0
		w.plugin("Evict").evict = func(context.Context, *v1.Pod, framework.EvictOptions) error {
			calls++
			<-hang
			return nil
		}
		stop := w.run()
		overdue := func() map[string]float64 { // by plugin
			families, err := registry.Gather()
			assert.NilError(t, err)
			seconds := map[string]float64{}
			for _, family := range families {
				for _, m := range family.GetMetric() {
					if family.GetName() == "descheduler_strategy_overdue_seconds" {
						seconds[m.GetLabel()[1].GetValue()] = m.GetGauge().GetValue()
					}
				}
			}
			return seconds
		}
		time.Sleep(overdueFirst - 1)
		synctest.Wait()
		assert.Equal(t, logs.Len(), 0)
		time.Sleep(3 * overdueFirst)
		synctest.Wait()
		assert.Equal(t, logs.FilterMessage("plugin has not answered").Len(), 4) // after 5 and 10 minutes
		for _, plugin := range []string{"All", "Evict"} {
			assert.Equal(t, logs.FilterField(zap.String("plugin", plugin)).Len(), 2, plugin)
		}
		late := (2 * overdueFirst).Seconds()
		assert.DeepEqual(t, overdue(), map[string]float64{"All": late, "Evict": late})
		assert.ErrorContains(t, w.plugin("All").handle.Evictor().EvictPod(t.Context(), w.pods[0], framework.EvictOptions{}), "it is under way")
		assert.DeepEqual(t, w.d.Troubles(), []string{"p/All has not answered for 10m0s", "p/Evict has not answered for 10m0s"})
		close(hang)
		time.Sleep((10 * time.Minute) / 2)
		synctest.Wait()
		assert.Equal(t, calls, 1, "the eviction is in flight")
		assert.Equal(t, len(overdue()), 0)
		assert.Equal(t, len(w.d.Troubles()), 0)
		assert.NilError(t, stop())
	})
}

// TestLandingsThatHangAreTold: what says where pods would run is told under its own name, while it is
// made for a cycle or a controller and while it is asked.
func TestLandingsThatHangAreTold(t *testing.T) {
	for name, c := range map[string]struct {
		made   bool // it hangs while it is made
		point  framework.Point
		called []string
	}{
		"made for a cycle":      {true, framework.Deschedule, []string{"landing"}},
		"made for a controller": {true, framework.Controller, []string{"landing", "p/landing"}},
		"asked by a cycle":      {false, framework.Deschedule, []string{"p/All", "p/landing"}},
		"asked by a controller": {false, framework.Controller, []string{"p/landing"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, _ := live(t, podsOf(1, "a", "web")...)
				w.options.Interval = time.Hour
				hang := make(chan struct{})
				w.options.Landing = func(s *framework.Snapshot) (framework.Landing, error) {
					if c.made {
						<-hang
					}
					return hanging{hang}, nil
				}
				w.options.ControllerLanding = w.options.Landing
				w.policy.Profiles[0].Plugins = profileOf("p", c.point, "All").Plugins
				w.plugin("All").run = func(ctx context.Context, h framework.Handle) error {
					h.Snapshot()
					_ = h.Evictor().EvictPod(ctx, w.pods[0], framework.EvictOptions{})
					<-ctx.Done()
					return nil
				}
				stop := w.run()
				time.Sleep(overdueFirst + 1)
				synctest.Wait()
				var want []string
				for _, called := range c.called {
					want = append(want, called+" has not answered for 5m0s")
				}
				assert.Check(t, is.DeepEqual(w.d.Troubles(), want))
				close(hang)
				synctest.Wait()
				assert.Equal(t, len(w.d.Troubles()), 0)
				assert.NilError(t, stop())
			})
		})
	}
}

// A hanging landing answers when the channel is closed, that there is no place.
type hanging struct{ until chan struct{} }

func (h hanging) Place(*v1.Pod, framework.Choice) (framework.Place, error) {
	<-h.until
	return framework.Place{}, errors.New("full")
}

func (h hanging) Book(*v1.Pod, string) error {
	<-h.until
	return errors.New("full")
}
