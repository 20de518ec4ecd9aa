package utilization

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/plugins/selection"
)

// Defaults of LowNodeLoad.
const (
	expirationSeconds = 180
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
	errs := []error{a.EvictableNamespaces.Validate("evictableNamespaces")}
	if a.NumberOfNodes < 0 {
		errs = append(errs, errors.New("numberOfNodes: it is negative"))
	}
	if e := a.NodeMetricExpirationSeconds; e != nil && (*e <= 0 || *e > int64(365*24*time.Hour/time.Second)) {
		errs = append(errs, errors.New("nodeMetricExpirationSeconds: it is not positive, or more than a year"))
	}
	if d := a.DetectorCacheTimeout; d != nil && d.Duration <= 0 {
		errs = append(errs, errors.New("detectorCacheTimeout: it is not positive"))
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
	names := map[string]bool{}
	for _, p := range pools {
		if names[p.Name] {
			errs = append(errs, fmt.Errorf("nodePools: there are two with the name %q", p.Name))
		}
		names[p.Name] = true
		errs = append(errs, p.validate())
	}
	return errors.Join(errs...)
}

// pools are all pools: the values at the top are the first one.
func (a *LoadArgs) pools() []NodePool {
	var pools []NodePool
	if len(a.LowThresholds)+len(a.HighThresholds)+len(a.ProdLowThresholds)+len(a.ProdHighThresholds) > 0 {
		pools = append(pools, NodePool{NodeSelector: a.NodeSelector, PoolThresholds: a.PoolThresholds})
	}
	return append(pools, a.NodePools...)
}

func (p NodePool) validate() error {
	_, err := metav1.LabelSelectorAsSelector(p.NodeSelector)
	errs := []error{
		err,
		p.LowThresholds.validate("lowThresholds"), p.HighThresholds.validate("highThresholds"),
		p.ProdLowThresholds.validate("prodLowThresholds"), p.ProdHighThresholds.validate("prodHighThresholds"),
		notAbove(p.LowThresholds, p.HighThresholds, [2]string{"lowThresholds", "highThresholds"}, p.UseDeviationThresholds),
		notAbove(p.ProdLowThresholds, p.ProdHighThresholds, [2]string{"prodLowThresholds", "prodHighThresholds"}, p.UseDeviationThresholds),
	}
	if len(p.HighThresholds)+len(p.ProdHighThresholds) == 0 {
		errs = append(errs, errors.New("highThresholds must be set"))
	}
	for _, name := range slices.Sorted(maps.Keys(p.ResourceWeights)) {
		if w := p.ResourceWeights[name]; w < 0 || w > 100 {
			errs = append(errs, fmt.Errorf("resourceWeights: %s of %d is not between 0 and 100", name, w))
		}
	}
	if c := p.AnomalyCondition; c != nil && c.Timeout != nil && c.Timeout.Duration <= 0 {
		errs = append(errs, errors.New("anomalyCondition.timeout: it is not positive"))
	}
	if err := errors.Join(errs...); err != nil && p.Name != "" {
		return fmt.Errorf("nodePools, %s: %w", p.Name, err)
	}
	return errors.Join(errs...)
}
