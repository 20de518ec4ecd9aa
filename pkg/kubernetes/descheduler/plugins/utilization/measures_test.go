package utilization

import (
	"testing"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/framework"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/policy"
)

// TestMeasures: which source of measured use arguments need, and which argument says so.
func TestMeasures(t *testing.T) {
	for _, c := range []struct {
		of               policy.Measuring
		source, argument string
	}{
		{&LowArgs{}, "", "metricsUtilization"},
		{&LowArgs{MetricsUtilization: &MetricsUtilization{Source: framework.KubernetesMetrics}}, framework.KubernetesMetrics, "metricsUtilization"},
		{&LowArgs{MetricsUtilization: &MetricsUtilization{MetricsServer: true}}, framework.KubernetesMetrics, "metricsUtilization"},
		{&LowArgs{MetricsUtilization: &MetricsUtilization{Source: framework.Prometheus, Prometheus: &PrometheusQuery{Query: "x"}}}, framework.Prometheus, "metricsUtilization"},
		{&LoadArgs{}, framework.KubernetesMetrics, ""},
		{&LoadArgs{Paused: true}, "", ""},
	} {
		source, argument := c.of.Measures()
		assert.Equal(t, source, c.source)
		assert.Equal(t, argument, c.argument)
	}
}
