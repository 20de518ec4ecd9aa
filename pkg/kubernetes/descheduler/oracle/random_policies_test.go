package oracle

import (
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// settings makes a policy.
func (g source) settings() settings {
	s := settings{Cycle: unlimited, InFlight: unlimited, CoolDown: -1}
	if !g.o.simple && !(g.o.dense && g.p(60)) {
		for _, limit := range slices.Concat(s.Cycle.each(), s.InFlight.each()) {
			if g.p(12) {
				*limit = pick(g, 1, 1, 2, 3, 0)
			}
		}
		if g.p(20) {
			s.RateMax, s.RateWindow = 1+g.IntN(2), pick(g, time.Minute, 10*time.Minute)
		}
		if g.p(8) {
			s.NodeSelector = "pool=x"
		}
		if g.p(30) {
			s.CoolDown = pick(g, 0, 2*time.Minute, 10*time.Minute)
		}
	}
	count := 1 + g.IntN(3)
	if g.o.one {
		count = 1
	}
	for i := range count {
		s.Profiles = append(s.Profiles, g.profile(fmt.Sprint("p", i)))
	}
	return s
}

func (g source) profile(name string) profile {
	p := profile{Name: name, Evictor: g.evictor()}
	if g.p(4) {
		p.NoEvictor, p.Evictor = true, evictorArgs{}
	}
	if g.p(10) && !g.o.simple {
		p.NodeSelector = map[string]string{"pool": "x"}
	}
	count := 1 + g.IntN(4)
	if g.o.one {
		count = 1
	}
	names := g.o.plugins
	if names == nil {
		names = allPlugins
	}
	for _, name := range some(g, count, names...) {
		pl := plugin{Name: name, Args: g.args(name)}
		if g.p(10) && !g.o.simple {
			pl.Limit = 1 + g.IntN(2)
		}
		p.Plugins = append(p.Plugins, pl)
	}
	return p
}

// args makes the arguments of a plugin.
func (g source) args(name string) (a args) {
	if name != duplicates && name != low && name != high {
		a.LabelSelector = g.labels()
	}
	if name != low && name != high {
		a.Namespaces = g.names()
	}
	switch name {
	case lifeTime:
		g.lifeTime(&a)
	case failed:
		g.failed(&a)
	case restarts:
		a.PodRestartThreshold = int32(pick(g, 1, 5, 10))
		if g.p(20) {
			a.States = pick(g, []string{"Running"}, []string{"CrashLoopBackOff"})
		}
	case taints:
		a.IncludePreferNoSchedule = g.p(40)
		if g.p(15) {
			a.ExcludedTaints = []string{pick(g, "ded", "odd=v")}
		} else if g.p(15) {
			a.IncludedTaints = []string{pick(g, "ded", "odd=v", "ded=v")}
		}
	case affinity:
		a.NodeAffinityType = pick(g, []string{requiredAffinity}, []string{preferredAffinity}, []string{requiredAffinity, preferredAffinity})
	case duplicates:
		if g.p(10) {
			a.ExcludeOwnerKinds = []string{"StatefulSet"}
		}
	case low, high:
		g.thresholds(name, &a)
	case spread:
		if g.p(40) {
			a.Constraints = []string{"DoNotSchedule", "ScheduleAnyway"}
		}
	}
	return a
}

// lifeTime makes arguments of PodLifeTime.
func (g source) lifeTime(a *args) {
	if g.p(10) {
		a.OwnerKinds = pick(g, &names{Include: []string{"ReplicaSet", "Job"}}, &names{Exclude: []string{"Job"}})
	}
	if g.p(75) {
		a.MaxPodLifeTimeSeconds = new(pick(g, 1800, 20000, 200000))
	}
	if g.p(30) || a.MaxPodLifeTimeSeconds == nil {
		a.States = some(g, 1+g.IntN(3), "Running", "Pending", "Failed", "Succeeded", "CrashLoopBackOff", "NodeLost", "Error", "Completed", "ImagePullBackOff")
	}
	if g.p(8) {
		a.ExitCodes = []int32{137}
	}
	if g.p(8) {
		a.Conditions = []condition{{Type: "Ready", Status: "False", Since: pick(g, nil, new(1800))}}
	}
}

// failed makes arguments of RemoveFailedPods.
func (g source) failed(a *args) {
	if g.p(20) {
		a.ExcludeOwnerKinds = []string{"Job"}
	}
	if g.p(50) {
		a.MinPodLifetimeSeconds = new(pick(g, 0, 600, 20000))
	}
	if g.p(20) {
		a.Reasons = some(g, 1+g.IntN(2), "Evicted", "NodeLost", "OOMKilled", "Error")
	}
	if g.p(15) {
		a.ExitCodes = []int32{pick(g, int32(1), 137)}
	}
}

// thresholds makes arguments of LowNodeUtilization and HighNodeUtilization.
func (g source) thresholds(name string, a *args) {
	th, tt := map[string]int{}, map[string]int{}
	for _, k := range some(g, 1+g.IntN(3), "cpu", "memory", "pods", "ephemeral-storage", gpu) {
		th[k] = pick(g, 10, 20, 30, 50)
		tt[k] = th[k] + pick(g, 0, 10, 20, 40)
	}
	if g.p(10) {
		a.NumberOfNodes = 1
	}
	if g.p(15) {
		a.EvictableNamespaces = &names{Exclude: []string{pick(g, "a", "b")}}
	}
	a.Thresholds = th
	if name == low {
		a.TargetThresholds = tt
		a.UseDeviationThresholds = g.p(20)
		if g.p(8) {
			a.EvictionLimits = map[string]int{"node": 1}
		}
	} else if g.p(25) {
		a.EvictionModes = []string{"OnlyThresholdingResources"}
	}
}

func (g source) names() *names {
	switch g.IntN(8) {
	case 0:
		return &names{Include: some(g, 1+g.IntN(2), "a", "b", "c")}
	case 1:
		return &names{Exclude: some(g, 1, "a", "b", "c")}
	}
	return nil
}

func (g source) labels() *metav1.LabelSelector {
	if g.p(12) {
		return pick(g, &metav1.LabelSelector{MatchLabels: map[string]string{"tier": "web"}},
			&metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "app", Operator: metav1.LabelSelectorOpNotIn, Values: []string{"w0"}}}})
	}
	return nil
}

func (g source) evictor() (e evictorArgs) {
	if g.o.dense && g.p(80) {
		e.NodeFit = g.p(30)
		return e
	}
	if g.p(15) {
		e.LabelSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"tier": "web"}}
	}
	if g.p(10) {
		e.NamespaceLabelSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"team": "x"}}
	}
	if g.p(25) {
		e.PriorityThreshold = pick(g, object{"value": 100}, object{"name": "top"}, object{"name": "mid"}, object{"value": 5000}, object{"name": "none"})
	}
	e.NodeFit = g.p(40)
	if e.NodeFit && g.p(25) {
		e.NodeSelector = "pool=x"
	}
	if g.p(25) {
		e.MinReplicas = 1 + g.IntN(3)
	}
	if g.p(15) {
		e.MinPodAge = pick(g, "30m", "2h")
	}
	if g.p(25) {
		e.NoEvictionPolicy = pick(g, "Preferred", "Mandatory")
	}
	if g.p(40) {
		e.EvictLocal, e.EvictDaemon, e.EvictCritical = g.p(30), g.p(30), g.p(25)
		e.IgnorePvc, e.IgnoreNoPDB, e.EvictFailedBare = g.p(40), g.p(15), g.p(60)
	} else if g.p(60) {
		e.PodProtections = g.protections()
	}
	return e
}

func (g source) protections() object {
	of := object{}
	if off := some(g, g.IntN(4), "PodsWithLocalStorage", "DaemonSetPods", "SystemCriticalPods", "FailedBarePods"); len(off) > 0 {
		of["defaultDisabled"] = off
	}
	on := some(g, g.IntN(3), "PodsWithPVC", "PodsWithoutPDB", "PodsWithResourceClaims")
	if len(on) > 0 {
		of["extraEnabled"] = on
	}
	if slices.Contains(on, "PodsWithPVC") && g.p(60) {
		of["config"] = object{"PodsWithPVC": object{"protectedStorageClasses": []any{object{"name": "fast"}}}}
	}
	if len(of) == 0 {
		return nil
	}
	return of
}
