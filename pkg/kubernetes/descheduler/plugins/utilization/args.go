package utilization

import (
	"errors"
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/framework"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/plugins/selection"
)

// LowArgs say which nodes have too much in use, and which can take some of it.
type LowArgs struct {
	metav1.TypeMeta `json:",inline"`

	// UseDeviationThresholds makes thresholds distances from the mean of all nodes.
	UseDeviationThresholds bool `json:"useDeviationThresholds,omitempty"`
	// Thresholds: a node at or below all of them has room.
	Thresholds Thresholds `json:"thresholds"`
	// TargetThresholds: a node above one of them has too much.
	TargetThresholds Thresholds `json:"targetThresholds"`
	// NumberOfNodes is up to how many nodes with room nothing is done.
	NumberOfNodes int `json:"numberOfNodes,omitempty"`
	// MetricsUtilization asks for measured use in place of requests.
	MetricsUtilization *MetricsUtilization `json:"metricsUtilization,omitempty"`
	// EvictableNamespaces can exclude namespaces.
	EvictableNamespaces *selection.Names `json:"evictableNamespaces,omitempty"`
	// EvictionLimits bound the evictions of one call.
	EvictionLimits *EvictionLimits `json:"evictionLimits,omitempty"`
}

// HighArgs say which nodes have so little in use that they should be emptied.
type HighArgs struct {
	metav1.TypeMeta `json:",inline"`

	// Thresholds: a node at or below all of them is emptied.
	Thresholds Thresholds `json:"thresholds"`
	// NumberOfNodes is up to how many such nodes nothing is done.
	NumberOfNodes int `json:"numberOfNodes,omitempty"`
	// EvictionModes can be OnlyThresholdingResources.
	EvictionModes []string `json:"evictionModes,omitempty"`
	// EvictableNamespaces can exclude namespaces.
	EvictableNamespaces *selection.Names `json:"evictableNamespaces,omitempty"`
}

// OnlyThresholdingResources lets only pods go that request a resource with a threshold.
const OnlyThresholdingResources = "OnlyThresholdingResources"

// MetricsUtilization says where measured use comes from.
type MetricsUtilization struct {
	// MetricsServer is an old way to ask for KubernetesMetrics.
	MetricsServer bool `json:"metricsServer,omitempty"`
	// Source is KubernetesMetrics or Prometheus.
	Source string `json:"source,omitempty"`
	// Prometheus has the query.
	Prometheus *PrometheusQuery `json:"prometheus,omitempty"`
}

// PrometheusQuery is what Prometheus is asked: a vector with what part of each node, by
// the label instance, is in use.
type PrometheusQuery struct {
	Query string `json:"query,omitempty"`
}

// EvictionLimits bound the evictions of one call.
type EvictionLimits struct {
	Node *uint `json:"node,omitempty"`
}

func validateLow(a *LowArgs) error {
	errs := []error{
		a.EvictableNamespaces.ExcludeOnly("evictableNamespaces"), a.EvictableNamespaces.Namespaces("evictableNamespaces"),
		a.MetricsUtilization.validate(a.Thresholds),
	}
	errs = slices.Concat(errs, a.Thresholds.validate("thresholds"), a.TargetThresholds.validate("targetThresholds"))
	if len(a.Thresholds) == 0 || len(a.TargetThresholds) == 0 {
		errs = append(errs, errors.New("thresholds and targetThresholds must be set, such as {cpu: 20} and {cpu: 50}"))
	} else {
		errs = append(errs, notAbove(a.Thresholds, a.TargetThresholds, [2]string{"thresholds", "targetThresholds"}, a.UseDeviationThresholds)...)
	}
	if a.NumberOfNodes < 0 {
		errs = append(errs, fmt.Errorf("numberOfNodes: must be at least 0, not %d", a.NumberOfNodes))
	}
	return errors.Join(errs...)
}

func validateHigh(a *HighArgs) error {
	errs := []error{
		a.EvictableNamespaces.ExcludeOnly("evictableNamespaces"), a.EvictableNamespaces.Namespaces("evictableNamespaces"),
		errors.Join(a.Thresholds.validate("thresholds")...),
		selection.Listed("evictionModes", a.EvictionModes, []string{OnlyThresholdingResources}),
	}
	if len(a.Thresholds) == 0 {
		errs = append(errs, errors.New("thresholds must be set, such as {cpu: 20}"))
	}
	if a.NumberOfNodes < 0 {
		errs = append(errs, fmt.Errorf("numberOfNodes: must be at least 0, not %d", a.NumberOfNodes))
	}
	return errors.Join(errs...)
}

func (m *MetricsUtilization) validate(thresholds Thresholds) error {
	if m == nil {
		return nil
	}
	var errs []error
	_, asksQuery := thresholds[framework.MetricResource]
	switch {
	case m.Source == framework.KubernetesMetrics && m.MetricsServer:
		errs = append(errs, errors.New("metricsUtilization: metricsServer cannot be set together with source KubernetesMetrics"))
	case m.Source == framework.KubernetesMetrics && m.Prometheus != nil:
		errs = append(errs, errors.New("metricsUtilization: prometheus cannot be set together with source KubernetesMetrics"))
	case m.Source == framework.Prometheus && (m.Prometheus == nil || m.Prometheus.Query == ""):
		errs = append(errs, errors.New("metricsUtilization: prometheus.query must be set for source Prometheus"))
	case m.Source == framework.Prometheus && m.MetricsServer:
		errs = append(errs, errors.New("metricsUtilization: metricsServer cannot be set together with source Prometheus"))
	case m.Source == "" && !m.MetricsServer:
		errs = append(errs, errors.New("metricsUtilization: source must be set, to KubernetesMetrics or Prometheus"))
	}
	switch m.Source {
	case framework.Prometheus:
		if len(thresholds) != 1 || !asksQuery {
			errs = append(errs, fmt.Errorf("thresholds: with source Prometheus the only resource is %s", framework.MetricResource))
		}
	case framework.KubernetesMetrics, "":
		if asksQuery {
			errs = append(errs, fmt.Errorf("thresholds: %s needs source Prometheus", framework.MetricResource))
		}
	default:
		errs = append(errs, fmt.Errorf("metricsUtilization.source: %q is neither KubernetesMetrics nor Prometheus", m.Source))
	}
	return errors.Join(errs...)
}

// Measures implements policy.Measuring.
func (a *LowArgs) Measures() (source, argument string) {
	query, _ := a.MetricsUtilization.query()
	return query.Source, "metricsUtilization"
}

// query is what the plugin asks for; false where requests are counted.
func (m *MetricsUtilization) query() (framework.UsageQuery, bool) {
	switch {
	case m == nil:
		return framework.UsageQuery{}, false
	case m.Source == framework.Prometheus:
		return framework.UsageQuery{Source: m.Source, Query: m.Prometheus.Query}, true
	default:
		return framework.UsageQuery{Source: framework.KubernetesMetrics}, true
	}
}

// evictable selects pods by namespace.
func evictable(namespaces *selection.Names) func(*v1.Pod) bool {
	return func(pod *v1.Pod) bool { return namespaces.Has(pod.Namespace) }
}
