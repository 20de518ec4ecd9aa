package policy

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/framework"
)

// The form of policies that is read and written.
const (
	APIVersion = "descheduler/v1alpha2"
	// Kind is that of the descheduler of Kubernetes, which Print writes.
	Kind = "DeschedulerPolicy"
	// KindConfiguration is that of Koordinator, of the same version.
	KindConfiguration = "DeschedulerConfiguration"
)

// A Policy is what a file says, with all defaults filled in. It is made by Load and
// not changed after that.
type Policy struct {
	// Profiles run in this order. Names are unique.
	Profiles []Profile
	// NodeSelector selects the nodes that are looked at; never nil.
	NodeSelector labels.Selector
	Limits       Limits
	// NodeOrder is that of the scheduler. Empty: what the queues of Narwhal say, and otherwise
	// LeastAllocated.
	NodeOrder framework.NodeOrder
	// GracePeriodSeconds goes with evictions; nil is the pod's own.
	GracePeriodSeconds *int64
	// FailureEvents asks for an event of each pod whose eviction failed.
	FailureEvents bool
	// Metrics are the sources of measured use, each at most once.
	Metrics []MetricsProvider
	// Settings are those of the process. Flags go before them.
	Settings Settings
}

// Limits bound evictions. Nil and zero are no limit.
type Limits struct {
	// PerNode, PerNamespace, PerWorkload and Total count evictions of one cycle, of
	// all plugins and profiles.
	PerNode, PerNamespace, Total *int
	PerWorkload                  *int
	InFlight                     InFlight
	WorkloadRate                 Rate
	CoolDown                     CoolDown
}

// InFlight bounds evictions whose pod has not ended, and migrations that have not.
type InFlight struct {
	Total, PerNode, PerNamespace, PerWorkload *int
}

// A Rate is at most Max evictions in any Window. Both are zero, or neither is.
type Rate struct {
	Max    int
	Window time.Duration
}

// CoolDown is how long a workload whose replacement came back to the same node is not
// evicted from there: Initial the first time, then twice as long each time, Max at
// most. Zero is never.
type CoolDown struct {
	Initial, Max time.Duration
}

// The default of CoolDown.
const (
	DefaultCoolDown    = 10 * time.Minute
	DefaultCoolDownMax = 2 * time.Hour
)

// A Profile is a set of plugins with arguments.
type Profile struct {
	Name string
	// NodeSelector selects among the nodes of the policy; never nil.
	NodeSelector labels.Selector
	// Plugins are those enabled at each point, in order. Evict has exactly one, sort at
	// most one.
	Plugins map[framework.Point][]string
	// Args has an entry for each enabled plugin: what Definition.Args returns, filled
	// and validated, or nil where the plugin has no arguments.
	Args map[string]any
	// Limit is how many evictions a plugin may have in a cycle. Others have no limit.
	Limit map[string]int
}

// Enables says whether a profile enables a plugin at a point.
func (p *Policy) Enables(plugin string, at framework.Point) bool {
	return slices.ContainsFunc(p.Profiles, func(of Profile) bool { return slices.Contains(of.Plugins[at], plugin) })
}

// Enabled lists the plugins that are enabled anywhere, each once, by point and order.
func (p *Profile) Enabled() []string {
	var names []string
	seen := map[string]bool{}
	for _, point := range framework.Points() {
		for _, name := range p.Plugins[point] {
			if !seen[name] {
				seen[name] = true
				names = append(names, name)
			}
		}
	}
	return names
}

// Source is where measured use comes from.
type Source string

// The sources there are.
const (
	KubernetesMetrics Source = "KubernetesMetrics"
	Prometheus        Source = "Prometheus"
)

// A MetricsProvider is a source of measured use.
type MetricsProvider struct {
	Source Source
	// URL is that of Prometheus.
	URL string
	// SecretNamespace and SecretName name the secret whose key prometheusAuthToken is
	// the token for it; empty: the token of the pod's own account.
	SecretNamespace, SecretName string
}
