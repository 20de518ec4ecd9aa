package oracle

import (
	"encoding/json"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// names are lists of what is meant, or of what is not.
type names struct {
	Include []string `json:"include,omitempty"`
	Exclude []string `json:"exclude,omitempty"`
}

// A condition is an entry of the argument conditions of PodLifeTime.
type condition struct {
	Type   string `json:"type,omitempty"`
	Status string `json:"status,omitempty"`
	Reason string `json:"reason,omitempty"`
	Since  *int   `json:"minTimeSinceLastTransitionSeconds,omitempty"`
}

// args are the arguments of all plugins; each plugin has some of them.
type args struct {
	Namespaces              *names                `json:"namespaces,omitempty"`
	LabelSelector           *metav1.LabelSelector `json:"labelSelector,omitempty"`
	OwnerKinds              *names                `json:"ownerKinds,omitempty"`
	ExcludeOwnerKinds       []string              `json:"excludeOwnerKinds,omitempty"`
	MaxPodLifeTimeSeconds   *int                  `json:"maxPodLifeTimeSeconds,omitempty"`
	States                  []string              `json:"states,omitempty"`
	Conditions              []condition           `json:"conditions,omitempty"`
	ExitCodes               []int32               `json:"exitCodes,omitempty"`
	IncludingInitContainers bool                  `json:"includingInitContainers,omitempty"`
	MinPodLifetimeSeconds   *int                  `json:"minPodLifetimeSeconds,omitempty"`
	Reasons                 []string              `json:"reasons,omitempty"`
	PodRestartThreshold     int32                 `json:"podRestartThreshold,omitempty"`
	NodeAffinityType        []string              `json:"nodeAffinityType,omitempty"`
	IncludePreferNoSchedule bool                  `json:"includePreferNoSchedule,omitempty"`
	ExcludedTaints          []string              `json:"excludedTaints,omitempty"`
	IncludedTaints          []string              `json:"includedTaints,omitempty"`
	Constraints             []string              `json:"constraints,omitempty"`
	Thresholds              map[string]int        `json:"thresholds,omitempty"`
	TargetThresholds        map[string]int        `json:"targetThresholds,omitempty"`
	UseDeviationThresholds  bool                  `json:"useDeviationThresholds,omitempty"`
	NumberOfNodes           int                   `json:"numberOfNodes,omitempty"`
	EvictionModes           []string              `json:"evictionModes,omitempty"`
	EvictableNamespaces     *names                `json:"evictableNamespaces,omitempty"`
	EvictionLimits          map[string]int        `json:"evictionLimits,omitempty"`
}

// evictorArgs are the arguments of DefaultEvictor.
type evictorArgs struct {
	NodeSelector           string                `json:"nodeSelector,omitempty"`
	LabelSelector          *metav1.LabelSelector `json:"labelSelector,omitempty"`
	NamespaceLabelSelector *metav1.LabelSelector `json:"namespaceLabelSelector,omitempty"`
	PriorityThreshold      map[string]any        `json:"priorityThreshold,omitempty"`
	NodeFit                bool                  `json:"nodeFit,omitempty"`
	MinReplicas            int                   `json:"minReplicas,omitempty"`
	MinPodAge              string                `json:"minPodAge,omitempty"`
	NoEvictionPolicy       string                `json:"noEvictionPolicy,omitempty"`
	PodProtections         map[string]any        `json:"podProtections,omitempty"`
	EvictLocal             bool                  `json:"evictLocalStoragePods,omitempty"`
	EvictDaemon            bool                  `json:"evictDaemonSetPods,omitempty"`
	EvictCritical          bool                  `json:"evictSystemCriticalPods,omitempty"`
	IgnorePvc              bool                  `json:"ignorePvcPods,omitempty"`
	IgnoreNoPDB            bool                  `json:"ignorePodsWithoutPDB,omitempty"`
	EvictFailedBare        bool                  `json:"evictFailedBarePods,omitempty"`
}

// A plugin is one that a profile enables.
type plugin struct {
	Name  string
	Args  args
	Limit int // evictions of a cycle; 0 is no limit
}

// A profile is a part of a policy.
type profile struct {
	Name         string
	NodeSelector map[string]string
	Evictor      evictorArgs
	NoEvictor    bool
	Plugins      []plugin
}

// limits are numbers of evictions by scope; -1 is no limit.
type limits struct{ Total, Node, Namespace, Workload int }

var unlimited = limits{Total: -1, Node: -1, Namespace: -1, Workload: -1}

// each returns all limits, to be changed.
func (l *limits) each() []*int { return []*int{&l.Total, &l.Node, &l.Namespace, &l.Workload} }

// settings are a policy.
type settings struct {
	NodeSelector string
	Cycle        limits // evictions of a cycle
	InFlight     limits // evicted pods that have not ended
	RateMax      int    // evictions of a workload in RateWindow; 0 is no limit
	RateWindow   time.Duration
	CoolDown     time.Duration // the first one; -1 is the default
	Profiles     []profile
}

const (
	lifeTime   = "PodLifeTime"
	failed     = "RemoveFailedPods"
	restarts   = "RemovePodsHavingTooManyRestarts"
	taints     = "RemovePodsViolatingNodeTaints"
	affinity   = "RemovePodsViolatingNodeAffinity"
	apart      = "RemovePodsViolatingInterPodAntiAffinity"
	duplicates = "RemoveDuplicates"
	low        = "LowNodeUtilization"
	high       = "HighNodeUtilization"
	spread     = "RemovePodsViolatingTopologySpreadConstraint"
)

var allPlugins = []string{lifeTime, failed, restarts, taints, affinity, apart, duplicates, low, high, spread}

const (
	requiredAffinity  = "requiredDuringSchedulingIgnoredDuringExecution"
	preferredAffinity = "preferredDuringSchedulingIgnoredDuringExecution"
)

func atBalance(name string) bool {
	return name == duplicates || name == low || name == high || name == spread
}

// find returns the plugin of a profile with this name.
func (p profile) find(name string) (plugin, bool) {
	for _, pl := range p.Plugins {
		if pl.Name == name {
			return pl, true
		}
	}
	return plugin{}, false
}

// has says whether a name is meant; without lists each is.
func (n *names) has(name string) bool {
	if n == nil {
		return true
	}
	if len(n.Include) > 0 {
		return slices.Contains(n.Include, name)
	}
	return !slices.Contains(n.Exclude, name)
}

type object = map[string]any

// text is the file of the policy.
func (s settings) text() string {
	doc := object{"apiVersion": "descheduler/v1alpha2", "kind": "DeschedulerPolicy"}
	if s.NodeSelector != "" {
		doc["nodeSelector"] = s.NodeSelector
	}
	s.Cycle.write(doc, [4]string{"maxNoOfPodsToEvictTotal", "maxNoOfPodsToEvictPerNode", "maxNoOfPodsToEvictPerNamespace", "maxNoOfPodsToEvictPerWorkload"})
	limits, inFlight := object{}, object{}
	s.InFlight.write(inFlight, [4]string{"total", "perNode", "perNamespace", "perWorkload"})
	if len(inFlight) > 0 {
		limits["inFlight"] = inFlight
	}
	if s.RateMax > 0 {
		limits["workloadRate"] = object{"max": s.RateMax, "window": s.RateWindow.String()}
	}
	if s.CoolDown >= 0 {
		limits["coolDown"] = object{"initial": s.CoolDown.String()}
	}
	if len(limits) > 0 {
		doc["limits"] = limits
	}
	var profiles []any
	for _, p := range s.Profiles {
		profiles = append(profiles, p.object())
	}
	doc["profiles"] = profiles
	text, err := json.MarshalIndent(doc, "", " ")
	if err != nil {
		panic(err)
	}
	return string(text)
}

func (l limits) write(to object, keys [4]string) {
	for i, limit := range l.each() {
		if *limit >= 0 {
			to[keys[i]] = *limit
		}
	}
}

func (p profile) object() object {
	config := []any{}
	enabled := map[string][]string{}
	for _, pl := range p.Plugins {
		entry := object{"name": pl.Name, "args": pl.Args}
		if pl.Limit > 0 {
			entry["maxNoOfPodsToEvict"] = pl.Limit
		}
		config = append(config, entry)
		point := "deschedule"
		if atBalance(pl.Name) {
			point = "balance"
		}
		enabled[point] = append(enabled[point], pl.Name)
	}
	points := object{}
	for point, names := range enabled {
		points[point] = object{"enabled": names}
	}
	if p.NoEvictor {
		points["filter"] = object{"disabled": []string{"*"}}
		points["preevictionfilter"] = object{"disabled": []string{"DefaultEvictor"}}
	} else {
		config = append(config, object{"name": "DefaultEvictor", "args": p.Evictor})
	}
	of := object{"name": p.Name, "pluginConfig": config, "plugins": points}
	if p.NodeSelector != nil {
		of["nodeSelector"] = object{"matchLabels": p.NodeSelector}
	}
	return of
}
