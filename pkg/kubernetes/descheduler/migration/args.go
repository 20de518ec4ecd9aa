package migration

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/narwhal-scheduler/narwhal/pkg/internal/yamltree"
)

// Policy is a way to end a pod.
type Policy string

// The ways.
const (
	// ByEviction asks the eviction API, which keeps disruption budgets.
	ByEviction Policy = "Eviction"
	// ByDelete deletes the pod with its grace period.
	ByDelete Policy = "Delete"
	// BySoftEviction asks what owns the pod, with an annotation, and waits.
	BySoftEviction Policy = "SoftEviction"
)

// Gate is a check of arbitration that can be left out.
type Gate string

// The gates.
const (
	GateUnavailable       Gate = "MaxUnavailablePerWorkload"
	GateWorkload          Gate = "MaxMigratingPerWorkload"
	GateNode              Gate = "MaxMigratingPerNode"
	GateNamespace         Gate = "MaxMigratingPerNamespace"
	GateGlobal            Gate = "MaxMigratingGlobally"
	GateExpectedReplicas  Gate = "ExpectedReplicas"
	GatePVC               Gate = "PVC"
	GateBarePods          Gate = "BarePods"
	GateLocalStorage      Gate = "LocalStorage"
	GateSystemCritical    Gate = "SystemCritical"
	GatePriorityThreshold Gate = "PriorityThreshold"
	GateLabelSelector     Gate = "LabelSelector"
	GateNamespaces        Gate = "Namespaces"
	GateNodeFit           Gate = "NodeFit"
)

var gates = []Gate{
	GateUnavailable, GateWorkload, GateNode, GateNamespace, GateGlobal, GateExpectedReplicas, GatePVC, GateBarePods,
	GateLocalStorage, GateSystemCritical, GatePriorityThreshold, GateLabelSelector, GateNamespaces, GateNodeFit,
}

// Args are the arguments of the plugin, with the keys of the policy.
type Args struct {
	metav1.TypeMeta `json:",inline"`

	DryRun                  bool `json:"dryRun"`
	MaxConcurrentReconciles int  `json:"maxConcurrentReconciles"`

	EvictFailedBarePods     bool                  `json:"evictFailedBarePods"`
	EvictAllBarePods        bool                  `json:"evictAllBarePods"`
	EvictLocalStoragePods   bool                  `json:"evictLocalStoragePods"`
	EvictSystemCriticalPods bool                  `json:"evictSystemCriticalPods"`
	IgnorePVCPods           bool                  `json:"ignorePvcPods"`
	PriorityThreshold       *PriorityThreshold    `json:"priorityThreshold,omitempty"`
	LabelSelector           *metav1.LabelSelector `json:"labelSelector,omitempty"`
	Namespaces              *Namespaces           `json:"namespaces,omitempty"`
	NodeFit                 bool                  `json:"nodeFit"`
	NodeSelector            string                `json:"nodeSelector,omitempty"`
	SkipEvictionGates       []Gate                `json:"skipEvictionGates,omitempty"`

	MaxMigratingGlobally      *int                `json:"maxMigratingGlobally,omitempty"`
	MaxMigratingPerNode       *int                `json:"maxMigratingPerNode,omitempty"`
	MaxMigratingPerNamespace  *int                `json:"maxMigratingPerNamespace,omitempty"`
	MaxMigratingPerWorkload   *intstr.IntOrString `json:"maxMigratingPerWorkload,omitempty"`
	MaxUnavailablePerWorkload *intstr.IntOrString `json:"maxUnavailablePerWorkload,omitempty"`
	SkipCheckExpectedReplicas bool                `json:"skipCheckExpectedReplicas"`
	ObjectLimiters            ObjectLimiters      `json:"objectLimiters"`

	DefaultJobMode       Mode                  `json:"defaultJobMode"`
	DefaultJobTTL        metav1.Duration       `json:"defaultJobTTL"`
	SchedulerNames       []string              `json:"schedulerNames"`
	EvictQPS             PerSecond             `json:"evictQPS"`
	EvictBurst           int                   `json:"evictBurst"`
	EvictionPolicy       Policy                `json:"evictionPolicy"`
	DefaultDeleteOptions *metav1.DeleteOptions `json:"defaultDeleteOptions,omitempty"`
	ArbitrationArgs      ArbitrationArgs       `json:"arbitrationArgs"`

	// ReservationImage is the image of reservations. It has to do nothing until it is ended.
	ReservationImage string `json:"reservationImage"`
}

// PerSecond is how often something may happen in a second. It is written as a number, and read as a
// number or a text of one.
type PerSecond float64

// The bounds of PerSecond: one a day, and no bound that a cluster could notice.
const (
	slowest = 0.00001
	fastest = 1_000_000
)

// UnmarshalJSON implements json.Unmarshaler.
func (p *PerSecond) UnmarshalJSON(text []byte) error {
	var number json.Number // which takes both, and no NaN
	if json.Unmarshal(text, &number) != nil {
		return errNoRate
	}
	value, err := number.Float64()
	if err != nil {
		return errNoRate
	}
	*p = PerSecond(value)
	return nil
}

var errNoRate = errors.New("must be a number such as 10 or 0.5")

// validate says what is no rate.
func (p PerSecond) validate() string {
	switch {
	case !(p > 0):
		return fmt.Sprintf("must be above 0, not %g", float64(p))
	case p < slowest || p > fastest:
		return fmt.Sprintf("must be from 0.00001, about one a day, to 1000000, not %g", float64(p))
	}
	return ""
}

// PriorityThreshold is the priority below which pods are migrated, by value or by the name of
// its class.
type PriorityThreshold struct {
	Value *int32 `json:"value,omitempty"`
	Name  string `json:"name,omitempty"`
}

// Namespaces are those of pods that are migrated: all but some, or some.
type Namespaces struct {
	Include []string `json:"include,omitempty"`
	Exclude []string `json:"exclude,omitempty"`
}

// ObjectLimiters bound how often migrations begin.
type ObjectLimiters struct {
	Workload WorkloadLimiter `json:"workload"`
}

// WorkloadLimiter bounds the migrations of one workload that begin in a time; a duration of
// 0 is no bound. Without a maximum it is that of migrations at one time.
type WorkloadLimiter struct {
	Duration     metav1.Duration     `json:"duration"`
	MaxMigrating *intstr.IntOrString `json:"maxMigrating,omitempty"`
}

// ArbitrationArgs say how jobs are chosen that may begin.
type ArbitrationArgs struct {
	// Enabled false lets all jobs begin that may be migrated at all.
	Enabled  bool            `json:"enabled"`
	Interval metav1.Duration `json:"interval"`
}

// DefaultImage is the image of reservations.
const DefaultImage = "registry.k8s.io/pause:3.10"

// NewArgs returns the defaults.
func NewArgs() *Args {
	return &Args{
		MaxConcurrentReconciles: 1,
		MaxMigratingPerNode:     new(2),
		ObjectLimiters:          ObjectLimiters{WorkloadLimiter{Duration: metav1.Duration{Duration: 5 * time.Minute}}},
		DefaultJobMode:          ReservationFirst,
		DefaultJobTTL:           metav1.Duration{Duration: 5 * time.Minute},
		SchedulerNames:          []string{"narwhal"},
		EvictQPS:                10,
		EvictBurst:              1,
		EvictionPolicy:          ByEviction,
		ArbitrationArgs:         ArbitrationArgs{Enabled: true, Interval: metav1.Duration{Duration: 500 * time.Millisecond}},
		ReservationImage:        DefaultImage,
	}
}

// Validate returns all that is wrong with arguments.
func (a *Args) Validate() error {
	var all []error
	need := func(ok bool, format string, args ...any) {
		if !ok {
			all = append(all, fmt.Errorf(format, args...))
		}
	}
	need(a.MaxConcurrentReconciles > 0, "maxConcurrentReconciles: must be above 0, not %d", a.MaxConcurrentReconciles)
	for name, limit := range a.counts() {
		need(limit == nil || *limit >= 0, "%s: must be at least 0, not %d", name, ptr.Deref(limit, 0))
	}
	for name, limit := range a.shares() {
		if limit != nil {
			most, err := intstr.GetScaledValueFromIntOrPercent(limit, 100, false)
			need(err == nil, "%s: must be a number or a percentage, such as 2 or 10%%, not %q", name, limit.String())
			need(err != nil || most >= 0, "%s: must be at least 0, not %s", name, limit.String())
		}
	}
	for i, gate := range a.SkipEvictionGates {
		need(slices.Contains(gates, gate), "skipEvictionGates[%d]: %q is not known, %s", i, gate, instead(gate))
	}
	need(a.DefaultJobMode == ReservationFirst || a.DefaultJobMode == EvictDirectly,
		"defaultJobMode: %q is neither %s nor %s", a.DefaultJobMode, ReservationFirst, EvictDirectly)
	need(a.EvictionPolicy.known(), "evictionPolicy: %q is none of %s, %s, %s", a.EvictionPolicy, ByEviction, ByDelete, BySoftEviction)
	ttl, window, interval := a.DefaultJobTTL.Duration, a.ObjectLimiters.Workload.Duration.Duration, a.ArbitrationArgs.Interval.Duration
	need(ttl >= 0, "defaultJobTTL: must be at least 0s, not %s", ttl)
	need(window >= 0, "objectLimiters.workload.duration: must be at least 0s, not %s", window)
	need(interval > 0, "arbitrationArgs.interval: must be above 0s, not %s", interval)
	problem := a.EvictQPS.validate()
	need(problem == "", "evictQPS: %s", problem)
	need(a.EvictBurst > 0, "evictBurst: must be above 0, not %d", a.EvictBurst)
	need(a.DefaultJobMode != ReservationFirst || len(a.SchedulerNames) > 0, "schedulerNames: must not be empty where defaultJobMode is %s", ReservationFirst)
	for i, name := range a.SchedulerNames {
		need(name != "", "schedulerNames[%d]: must not be empty", i)
	}
	need(a.ReservationImage != "", "reservationImage: must not be empty")
	if a.Namespaces != nil {
		need(len(a.Namespaces.Include) == 0 || len(a.Namespaces.Exclude) == 0, "namespaces: only one of include and exclude can be set")
	}
	if t := a.PriorityThreshold; t != nil {
		need(t.Value == nil || t.Name == "", "priorityThreshold: only one of value and name can be set")
		need(t.Value == nil || *t.Value <= systemCritical, "priorityThreshold.value: must be at most %d, not %d", systemCritical, ptr.Deref(t.Value, 0))
	}
	if _, err := metav1.LabelSelectorAsSelector(a.LabelSelector); err != nil {
		all = append(all, fmt.Errorf("labelSelector: %w", err))
	}
	if _, err := metav1.ParseToLabelSelector(a.NodeSelector); err != nil {
		all = append(all, fmt.Errorf("nodeSelector: %w", err))
	}
	slices.SortStableFunc(all, byText)
	return errors.Join(all...)
}

// instead says which gate was probably meant, or which there are.
func instead(gate Gate) string {
	names := make([]string, len(gates))
	for i, g := range gates {
		names[i] = string(g)
	}
	return yamltree.Instead(string(gate), names)
}

func (a *Args) counts() map[string]*int {
	return map[string]*int{
		"maxMigratingGlobally": a.MaxMigratingGlobally, "maxMigratingPerNode": a.MaxMigratingPerNode,
		"maxMigratingPerNamespace": a.MaxMigratingPerNamespace,
	}
}

func (a *Args) shares() map[string]*intstr.IntOrString {
	return map[string]*intstr.IntOrString{
		"maxMigratingPerWorkload": a.MaxMigratingPerWorkload, "maxUnavailablePerWorkload": a.MaxUnavailablePerWorkload,
		"objectLimiters.workload.maxMigrating": a.ObjectLimiters.Workload.MaxMigrating,
	}
}

func (p Policy) known() bool { return p == ByEviction || p == ByDelete || p == BySoftEviction }

// skips says whether a check is left out.
func (a *Args) skips(gate Gate) bool { return slices.Contains(a.SkipEvictionGates, gate) }
