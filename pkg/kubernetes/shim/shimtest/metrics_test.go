package shimtest_test

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"gotest.tools/v3/assert"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/shim"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/shim/shimtest"
)

// scrape is what metrics say, by name and labels: numbers, and of histograms the count.
func scrape(t *testing.T, metrics *shim.Metrics) map[string]float64 {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	assert.NilError(t, registry.Register(metrics))
	families, err := registry.Gather()
	assert.NilError(t, err)
	found := map[string]float64{}
	for _, f := range families {
		for _, one := range f.GetMetric() {
			name := f.GetName()
			for _, label := range one.GetLabel() {
				name += " " + label.GetValue()
			}
			switch f.GetType() {
			case dto.MetricType_HISTOGRAM:
				found[name] = float64(one.GetHistogram().GetSampleCount())
				found[name+" sum"] = one.GetHistogram().GetSampleSum()
			case dto.MetricType_GAUGE:
				found[name] = one.GetGauge().GetValue()
			default:
				found[name] = one.GetCounter().GetValue()
			}
		}
	}
	return found
}

// Bindings count with what came of them, and with the time since the pod could be scheduled; evictions that a budget refuses,
// and what waits, count too.
func TestMetrics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		counts := shim.NewMetrics()
		m := shimtest.New(t, shimtest.Options{Shim: shim.Options{Metrics: counts}})
		m.Start()
		m.AddPod("web", "cpu=1")
		m.AddPod("gated", "cpu=1", shimtest.Gated)
		m.Advance(10 * time.Second)
		m.AddNode("node-1", "cpu=2")
		m.Advance(time.Second)
		m.ChangePod("gated", func(p *v1.Pod) { p.Spec.SchedulingGates = nil })
		m.Advance(time.Second)
		got := scrape(t, counts)
		assert.Equal(t, got["narwhal_bindings_total bound"], 2.0)
		assert.Equal(t, got["narwhal_pod_bound_seconds"], 2.0)
		assert.Assert(t, got["narwhal_pod_bound_seconds sum"] >= 10 && got["narwhal_pod_bound_seconds sum"] < 11, "%v", got)
		for _, queue := range []string{"core", "prepare", "bind", "evict", "status", "events"} {
			length, there := got["narwhal_shim_queue_length "+queue]
			assert.Assert(t, there && length == 0, queue)
		}

		refusals := 2
		m.API.Fail(shimtest.Faults{
			Bind: func(*v1.Pod, string) (bool, error) { return false, apierrors.NewBadRequest("no") },
			Delete: func(string) error {
				if refusals--; refusals >= 0 {
					return apierrors.NewTooManyRequests("a budget", 1)
				}
				return nil
			},
		})
		m.AddPod("urgent", "cpu=1", shimtest.Priority(9), shimtest.Application("urgent"))
		m.Advance(5 * time.Second)
		got = scrape(t, counts)
		assert.Equal(t, got["narwhal_evictions_refused_total"], 2.0)
		m.AddNode("node-2", "cpu=2")
		m.Advance(time.Second)
		assert.Assert(t, scrape(t, counts)["narwhal_bindings_total failed"] >= 1)
	})
}

// The page of Kubernetes names every metric, and the alerts ask for such as there are.
func TestMetricsAreDocumented(t *testing.T) {
	page, err := os.ReadFile("../../../../docs/kubernetes.md")
	assert.NilError(t, err)
	alerts, err := os.ReadFile("../../../../docs/grafana/alerts.yaml")
	assert.NilError(t, err)
	_, asked, _ := strings.Cut(string(alerts), "- name: narwhal-kubernetes")
	wanted := regexp.MustCompile(`narwhal_\w+`).FindAllString(asked, -1)
	assert.Assert(t, len(wanted) > 0)
	descriptions := make(chan *prometheus.Desc, 100)
	shim.NewMetrics().Describe(descriptions)
	close(descriptions)
	for d := range descriptions {
		_, name, _ := strings.Cut(d.String(), `fqName: "`)
		name, _, _ = strings.Cut(name, `"`)
		assert.Assert(t, strings.Contains(string(page), "| `"+name+"` |"), name)
		wanted = slices.DeleteFunc(wanted, func(s string) bool { return s == name })
	}
	assert.Equal(t, len(wanted), 0, "%v", wanted)
}
