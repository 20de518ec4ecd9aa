package descheduler

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
	"gotest.tools/v3/assert"
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
		close(hang)
		time.Sleep(flightMax / 2)
		synctest.Wait()
		assert.Equal(t, calls, 1, "the eviction is in flight")
		assert.Equal(t, len(overdue()), 0)
		assert.NilError(t, stop())
	})
}
