package evictable

import (
	"errors"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/plugins/selection"
)

// HighestThreshold is the priority from which pods are critical for the system, and
// the highest threshold that can be set.
const HighestThreshold = 2_000_000_000

// What is done with pods that prefer not to be evicted.
const (
	Preferred = "Preferred" // they are evicted last
	Mandatory = "Mandatory" // they are not evicted
)

// Protections of pods. The first four are on by default.
const (
	PodsWithLocalStorage   = "PodsWithLocalStorage"
	DaemonSetPods          = "DaemonSetPods"
	SystemCriticalPods     = "SystemCriticalPods"
	FailedBarePods         = "FailedBarePods"
	PodsWithPVC            = "PodsWithPVC"
	PodsWithoutPDB         = "PodsWithoutPDB"
	PodsWithResourceClaims = "PodsWithResourceClaims"
)

var (
	onByDefault  = []string{PodsWithLocalStorage, DaemonSetPods, SystemCriticalPods, FailedBarePods}
	offByDefault = []string{PodsWithPVC, PodsWithoutPDB, PodsWithResourceClaims}
)

// Args of DefaultEvictor.
type Args struct {
	metav1.TypeMeta `json:",inline"`

	// NodeSelector selects the nodes that are looked at with NodeFit.
	NodeSelector string `json:"nodeSelector,omitempty"`
	// LabelSelector selects the pods that may be evicted.
	LabelSelector *metav1.LabelSelector `json:"labelSelector,omitempty"`
	// NamespaceLabelSelector selects the namespaces of pods that may be evicted.
	NamespaceLabelSelector *metav1.LabelSelector `json:"namespaceLabelSelector,omitempty"`
	// PriorityThreshold is above the priorities of pods that may be evicted. Nil is
	// HighestThreshold.
	PriorityThreshold *PriorityThreshold `json:"priorityThreshold,omitempty"`
	// NodeFit demands another node where the pod fits.
	NodeFit bool `json:"nodeFit,omitempty"`
	// MinReplicas is how many pods an owner must have. Zero and one are no demand.
	MinReplicas uint `json:"minReplicas,omitempty"`
	// MinPodAge is how long ago a pod must have started.
	MinPodAge *metav1.Duration `json:"minPodAge,omitempty"`
	// NoEvictionPolicy is Preferred or Mandatory.
	NoEvictionPolicy string `json:"noEvictionPolicy,omitempty"`
	// PodProtections switch protections.
	PodProtections PodProtections `json:"podProtections,omitzero"`

	// Deprecated: the same switches with a name each.
	EvictLocalStoragePods   bool `json:"evictLocalStoragePods,omitempty"`
	EvictDaemonSetPods      bool `json:"evictDaemonSetPods,omitempty"`
	EvictSystemCriticalPods bool `json:"evictSystemCriticalPods,omitempty"`
	IgnorePvcPods           bool `json:"ignorePvcPods,omitempty"`
	IgnorePodsWithoutPDB    bool `json:"ignorePodsWithoutPDB,omitempty"`
	EvictFailedBarePods     bool `json:"evictFailedBarePods,omitempty"`
}

// PriorityThreshold is a priority, or the name of a priority class.
type PriorityThreshold struct {
	Value *int32 `json:"value,omitempty"`
	Name  string `json:"name,omitempty"`
}

// PodProtections switch protections on and off.
type PodProtections struct {
	ExtraEnabled    []string           `json:"extraEnabled,omitempty"`
	DefaultDisabled []string           `json:"defaultDisabled,omitempty"`
	Config          *ProtectionsConfig `json:"config,omitempty"`
}

// ProtectionsConfig narrows protections.
type ProtectionsConfig struct {
	PodsWithPVC *PodsWithPVCConfig `json:"PodsWithPVC,omitempty"`
}

// PodsWithPVCConfig narrows PodsWithPVC to claims of storage classes. None: all claims.
type PodsWithPVCConfig struct {
	ProtectedStorageClasses []StorageClass `json:"protectedStorageClasses,omitempty"`
}

// StorageClass names one.
type StorageClass struct {
	Name string `json:"name"`
}

// DefaultArgs are the arguments of a policy that names none.
func DefaultArgs() any { return &Args{NoEvictionPolicy: Preferred} }

// Validate returns all that is wrong with arguments.
func Validate(a *Args) error {
	_, nodes := labels.Parse(a.NodeSelector)
	_, pods := metav1.LabelSelectorAsSelector(a.LabelSelector)
	_, namespaces := metav1.LabelSelectorAsSelector(a.NamespaceLabelSelector)
	errs := []error{
		named("nodeSelector", nodes), named("labelSelector", pods), named("namespaceLabelSelector", namespaces),
		a.PriorityThreshold.validate(),
		selection.Listed("podProtections.extraEnabled", a.PodProtections.ExtraEnabled, offByDefault),
		selection.Listed("podProtections.defaultDisabled", a.PodProtections.DefaultDisabled, onByDefault),
	}
	if a.NoEvictionPolicy != "" && a.NoEvictionPolicy != Preferred && a.NoEvictionPolicy != Mandatory {
		errs = append(errs, fmt.Errorf("noEvictionPolicy: %q is neither Preferred nor Mandatory", a.NoEvictionPolicy))
	}
	if a.MinPodAge != nil && a.MinPodAge.Duration < 0 {
		errs = append(errs, fmt.Errorf("minPodAge: must be at least 0s, not %s", a.MinPodAge.Duration))
	}
	if a.deprecated() && (len(a.PodProtections.ExtraEnabled) > 0 || len(a.PodProtections.DefaultDisabled) > 0) {
		errs = append(errs, errors.New("podProtections: cannot be set together with the deprecated switches "+
			"evictLocalStoragePods, evictDaemonSetPods, evictSystemCriticalPods, ignorePvcPods, ignorePodsWithoutPDB, evictFailedBarePods"))
	}
	for i, class := range a.PodProtections.storageClasses() {
		if class.Name == "" {
			errs = append(errs, fmt.Errorf("podProtections.config.PodsWithPVC.protectedStorageClasses[%d]: name is missing", i))
		}
	}
	return errors.Join(errs...)
}

func (t *PriorityThreshold) validate() error {
	switch {
	case t == nil:
		return nil
	case t.Value != nil && t.Name != "":
		return errors.New("priorityThreshold: only one of value and name can be set")
	case t.Value != nil && *t.Value > HighestThreshold:
		return fmt.Errorf("priorityThreshold.value: must be at most %d, not %d", HighestThreshold, *t.Value)
	}
	return nil
}

func named(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", what, err)
}

func (p PodProtections) storageClasses() []StorageClass {
	if p.Config == nil || p.Config.PodsWithPVC == nil {
		return nil
	}
	return p.Config.PodsWithPVC.ProtectedStorageClasses
}

func (a *Args) deprecated() bool {
	return a.EvictLocalStoragePods || a.EvictDaemonSetPods || a.EvictSystemCriticalPods ||
		a.IgnorePvcPods || a.IgnorePodsWithoutPDB || a.EvictFailedBarePods
}

// protects says whether a protection is on.
func (a *Args) protects(protection string) bool {
	switch {
	case slices.Contains(onByDefault, protection):
		off := map[string]bool{
			PodsWithLocalStorage: a.EvictLocalStoragePods,
			DaemonSetPods:        a.EvictDaemonSetPods,
			SystemCriticalPods:   a.EvictSystemCriticalPods,
			FailedBarePods:       a.EvictFailedBarePods,
		}
		return !off[protection] && !slices.Contains(a.PodProtections.DefaultDisabled, protection)
	case protection == PodsWithPVC && a.IgnorePvcPods, protection == PodsWithoutPDB && a.IgnorePodsWithoutPDB:
		return true
	default:
		return slices.Contains(a.PodProtections.ExtraEnabled, protection)
	}
}
