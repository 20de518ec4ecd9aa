package utilization

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/framework"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/plugins/selection"
)

// Defaults of LowNodeLoad.
const (
	expirationSeconds = 180
	expirationMax     = 365 * 24 * 60 * 60 // seconds
	anomalyTimeout    = time.Minute
	abnormalitiesMin  = 5
	normalitiesMin    = 3
	detectorTimeout   = 5 * time.Minute
)

// LoadArgs say which nodes are loaded too much, as it is measured, and for how long.
type LoadArgs struct {
	metav1.TypeMeta `json:",inline"`

	// Paused does nothing.
	Paused bool `json:"paused,omitempty"`
	// DryRun decides and evicts nothing.
	DryRun bool `json:"dryRun,omitempty"`
	// NumberOfNodes is up to how many nodes with little load nothing is done.
	NumberOfNodes int `json:"numberOfNodes,omitempty"`
	// NodeMetricExpirationSeconds is the age above which a measured value is not used.
	NodeMetricExpirationSeconds *int64 `json:"nodeMetricExpirationSeconds,omitempty"`
	// EvictableNamespaces includes or excludes namespaces.
	EvictableNamespaces *selection.Names `json:"evictableNamespaces,omitempty"`
	// NodeSelector selects the nodes of the first pool.
	NodeSelector *metav1.LabelSelector `json:"nodeSelector,omitempty"`
	// PodSelectors select pods, each some. None: all pods.
	PodSelectors []PodSelector `json:"podSelectors,omitempty"`
	// NodeFit is read and has no effect: a pod is moved only if the scheduler would
	// place it where that helps.
	NodeFit *bool `json:"nodeFit,omitempty"`
	// The thresholds of the first pool.
	PoolThresholds `json:",inline"`
	// DetectorCacheTimeout is how long the state of a node is kept that is not seen. A
	// node that was seen in the last call is not forgotten, however long ago that was.
	DetectorCacheTimeout *metav1.Duration `json:"detectorCacheTimeout,omitempty"`
	// NodePools are further pools. A node gives pods away in the first of its pools in
	// which it is loaded too much.
	NodePools []NodePool `json:"nodePools,omitempty"`
}

// PodSelector selects pods.
type PodSelector struct {
	Name     string                `json:"name,omitempty"`
	Selector *metav1.LabelSelector `json:"selector,omitempty"`
}

// NodePool is nodes with thresholds of their own.
type NodePool struct {
	Name           string                `json:"name,omitempty"`
	NodeSelector   *metav1.LabelSelector `json:"nodeSelector,omitempty"`
	PoolThresholds `json:",inline"`
}

// PoolThresholds are the thresholds of a pool.
type PoolThresholds struct {
	// UseDeviationThresholds makes thresholds distances from the mean of the pool.
	UseDeviationThresholds bool `json:"useDeviationThresholds,omitempty"`
	// LowThresholds: a node at or below all of them has room.
	LowThresholds Thresholds `json:"lowThresholds,omitempty"`
	// HighThresholds: a node above one of them has too much.
	HighThresholds Thresholds `json:"highThresholds,omitempty"`
	// ProdLowThresholds and ProdHighThresholds are the same for pods in production.
	ProdLowThresholds  Thresholds `json:"prodLowThresholds,omitempty"`
	ProdHighThresholds Thresholds `json:"prodHighThresholds,omitempty"`
	// ResourceWeights say what matters more when nodes and pods are ordered.
	ResourceWeights map[v1.ResourceName]int64 `json:"resourceWeights,omitempty"`
	// AnomalyCondition is how long a node must have too much.
	AnomalyCondition *AnomalyCondition `json:"anomalyCondition,omitempty"`
}

// AnomalyCondition bounds how fast a node is found to be loaded, or not to be.
type AnomalyCondition struct {
	// Timeout ends the state of a loaded node.
	Timeout *metav1.Duration `json:"timeout,omitempty"`
	// ConsecutiveAbnormalities is at which observation in a row a node is loaded.
	ConsecutiveAbnormalities uint32 `json:"consecutiveAbnormalities,omitempty"`
	// ConsecutiveNormalities is at which other observation in a row it is not any more.
	ConsecutiveNormalities uint32 `json:"consecutiveNormalities,omitempty"`
}

// withDefaults fills in what is missing, each value by itself.
func (c *AnomalyCondition) withDefaults() AnomalyCondition {
	filled := AnomalyCondition{}
	if c != nil {
		filled = *c
	}
	if filled.Timeout == nil {
		filled.Timeout = &metav1.Duration{Duration: anomalyTimeout}
	}
	if filled.ConsecutiveAbnormalities == 0 {
		filled.ConsecutiveAbnormalities = abnormalitiesMin
	}
	if filled.ConsecutiveNormalities == 0 {
		filled.ConsecutiveNormalities = normalitiesMin
	}
	return filled
}

// LoadDefaults are the arguments of a policy that names none.
func LoadDefaults() any {
	expiration, fit := int64(expirationSeconds), true
	condition := (*AnomalyCondition)(nil).withDefaults()
	return &LoadArgs{
		NodeMetricExpirationSeconds: &expiration,
		NodeFit:                     &fit,
		DetectorCacheTimeout:        &metav1.Duration{Duration: detectorTimeout},
		PoolThresholds: PoolThresholds{
			ResourceWeights:  map[v1.ResourceName]int64{v1.ResourceCPU: 1, v1.ResourceMemory: 1},
			AnomalyCondition: &condition,
		},
	}
}

func validateLoad(a *LoadArgs) error {
	errs := []error{a.EvictableNamespaces.Validate("evictableNamespaces"), a.EvictableNamespaces.Namespaces("evictableNamespaces")}
	if a.NumberOfNodes < 0 {
		errs = append(errs, fmt.Errorf("numberOfNodes: must be at least 0, not %d", a.NumberOfNodes))
	}
	if e := a.NodeMetricExpirationSeconds; e != nil && (*e <= 0 || *e > expirationMax) {
		errs = append(errs, fmt.Errorf("nodeMetricExpirationSeconds: must be from 1 to %d, which is a year, not %d", expirationMax, *e))
	}
	if d := a.DetectorCacheTimeout; d != nil && d.Duration <= 0 {
		errs = append(errs, fmt.Errorf("detectorCacheTimeout: must be above 0s, not %s", d.Duration))
	}
	for i, s := range a.PodSelectors {
		if _, err := metav1.LabelSelectorAsSelector(s.Selector); err != nil {
			errs = append(errs, fmt.Errorf("podSelectors[%d]: %w", i, err))
		}
	}
	pools := a.pools()
	if len(pools) == 0 {
		errs = append(errs, errors.New("lowThresholds and highThresholds, or nodePools, must be set"))
	}
	if len(pools) > len(a.NodePools) {
		errs = append(errs, pools[0].validate()...)
	}
	return errors.Join(append(errs, a.validatePools()...)...)
}

// validatePools says what is wrong with the pools that have a name.
func (a *LoadArgs) validatePools() []error {
	var errs []error
	names := map[string]bool{}
	for i, p := range a.NodePools {
		if p.Name != "" && names[p.Name] {
			errs = append(errs, fmt.Errorf("nodePools[%d].name: %q is the name of another pool", i, p.Name))
		}
		names[p.Name] = true
		for _, err := range p.validate() {
			between := "."
			if key, _, ok := strings.Cut(err.Error(), ": "); !ok || strings.Contains(key, " ") {
				between = ": " // the text does not begin with a key
			}
			errs = append(errs, fmt.Errorf("nodePools[%d]%s%w", i, between, err))
		}
	}
	return errs
}

// Measures implements policy.Measuring: this plugin knows nothing else.
func (a *LoadArgs) Measures() (source, argument string) {
	if a.Paused {
		return "", ""
	}
	return framework.KubernetesMetrics, ""
}

// pools are all pools: the values at the top are the first one.
func (a *LoadArgs) pools() []NodePool {
	var pools []NodePool
	if len(a.LowThresholds)+len(a.HighThresholds)+len(a.ProdLowThresholds)+len(a.ProdHighThresholds) > 0 {
		pools = append(pools, NodePool{NodeSelector: a.NodeSelector, PoolThresholds: a.PoolThresholds})
	}
	return append(pools, a.NodePools...)
}

// validate says what is wrong with a pool, each error with the key below it.
func (p NodePool) validate() []error {
	var errs []error
	if _, err := metav1.LabelSelectorAsSelector(p.NodeSelector); err != nil {
		errs = append(errs, fmt.Errorf("nodeSelector: %w", err))
	}
	errs = slices.Concat(errs,
		p.LowThresholds.validate("lowThresholds"), p.HighThresholds.validate("highThresholds"),
		p.ProdLowThresholds.validate("prodLowThresholds"), p.ProdHighThresholds.validate("prodHighThresholds"),
		notAbove(p.LowThresholds, p.HighThresholds, [2]string{"lowThresholds", "highThresholds"}, p.UseDeviationThresholds),
		notAbove(p.ProdLowThresholds, p.ProdHighThresholds, [2]string{"prodLowThresholds", "prodHighThresholds"}, p.UseDeviationThresholds),
	)
	if len(p.HighThresholds)+len(p.ProdHighThresholds) == 0 {
		errs = append(errs, errors.New("highThresholds must be set"))
	}
	for _, name := range slices.Sorted(maps.Keys(p.ResourceWeights)) {
		if w := p.ResourceWeights[name]; w < 0 || w > 100 {
			errs = append(errs, fmt.Errorf("resourceWeights.%s: must be from 0 to 100, not %d", name, w))
		}
	}
	if c := p.AnomalyCondition; c != nil && c.Timeout != nil && c.Timeout.Duration <= 0 {
		errs = append(errs, fmt.Errorf("anomalyCondition.timeout: must be above 0s, not %s", c.Timeout.Duration))
	}
	return errs
}
