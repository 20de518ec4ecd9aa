package oracle

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
)

type gen struct {
	*rand.Rand
	o options
}

// options narrow what is random.
type options struct {
	plugins []string // nil: all
	one     bool     // one plugin
	simple  bool     // no limits, budgets, waiting or ending pods
	big     bool
	dense   bool // fewer protections, more rules between pods
	stale   bool // budgets whose status is of an older spec
}

func (g gen) p(percent int) bool { return g.IntN(100) < percent }

func pick[T any](g gen, of ...T) T { return of[g.IntN(len(of))] }

func some[T any](g gen, n int, of ...T) []T {
	of = slices.Clone(of)
	g.Shuffle(len(of), func(i, j int) { of[i], of[j] = of[j], of[i] })
	return of[:min(n, len(of))]
}

const (
	gpu = "example.com/gpu"
	nic = "example.com/nic"
)

func ptr[T any](v T) *T { return &v }

func (g gen) node(i int) *v1.Node {
	name := fmt.Sprint("n", i)
	n := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name), Labels: map[string]string{v1.LabelHostname: name}}}
	if !g.p(7) {
		n.Labels["zone"] = pick(g, "a", "b", "c")
	}
	n.Labels["disk"] = pick(g, "ssd", "hdd")
	n.Labels["pool"] = pick(g, "x", "x", "x", "y")
	a := v1.ResourceList{
		v1.ResourceCPU:    *resource.NewMilliQuantity(int64(pick(g, 2000, 4000, 4000, 8000)), resource.DecimalSI),
		v1.ResourceMemory: *resource.NewQuantity(int64(pick(g, 8, 16, 16, 32))<<30, resource.BinarySI),
		v1.ResourcePods:   *resource.NewQuantity(int64(pick(g, 110, 110, 6, 4)), resource.DecimalSI),
	}
	if g.p(70) {
		a[v1.ResourceEphemeralStorage] = *resource.NewQuantity(int64(pick(g, 10, 20))<<30, resource.BinarySI)
	}
	if g.p(40) {
		a[gpu] = *resource.NewQuantity(int64(pick(g, 1, 2, 4)), resource.DecimalSI)
	}
	if g.p(30) {
		a[nic] = *resource.NewQuantity(2, resource.DecimalSI)
	}
	n.Status.Allocatable, n.Status.Capacity = a, a
	ready := v1.ConditionTrue
	if g.p(7) {
		ready = pick(g, v1.ConditionFalse, v1.ConditionUnknown)
		n.Spec.Taints = append(n.Spec.Taints, v1.Taint{Key: "node.kubernetes.io/not-ready", Effect: v1.TaintEffectNoSchedule})
	}
	n.Status.Conditions = []v1.NodeCondition{{Type: v1.NodeReady, Status: ready}}
	if g.p(10) {
		n.Spec.Unschedulable = true
		if g.p(50) {
			n.Spec.Taints = append(n.Spec.Taints, v1.Taint{Key: "node.kubernetes.io/unschedulable", Effect: v1.TaintEffectNoSchedule})
		}
	}
	if g.p(25) {
		n.Spec.Taints = append(n.Spec.Taints, v1.Taint{Key: pick(g, "ded", "odd"), Value: pick(g, "", "v"), Effect: pick(g, v1.TaintEffectNoSchedule, v1.TaintEffectNoSchedule, v1.TaintEffectPreferNoSchedule, v1.TaintEffectNoExecute)})
	}
	return n
}

func selectApp(app string) *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}}
}

// a workload makes pods that are alike.
func (g gen) template(i int) *v1.Pod {
	ns := pick(g, "a", "a", "b", "c")
	kind := pick(g, "ReplicaSet", "ReplicaSet", "ReplicaSet", "StatefulSet", "Job", "DaemonSet", "")
	if g.o.dense {
		kind = "ReplicaSet"
	}
	app := fmt.Sprint("w", i)
	p := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: app, Labels: map[string]string{"app": app, "tier": pick(g, "web", "db")}, Annotations: map[string]string{}}}
	if kind != "" {
		p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: kind, Name: app, UID: types.UID(ns + kind + app), Controller: ptr(true)}}
	}
	p.Spec.SchedulerName = pick(g, "narwhal", "narwhal", "default-scheduler")
	req := v1.ResourceList{}
	if !g.p(15) {
		req[v1.ResourceCPU] = *resource.NewMilliQuantity(int64(pick(g, 100, 500, 1000, 1500)), resource.DecimalSI)
	}
	if !g.p(15) {
		req[v1.ResourceMemory] = *resource.NewQuantity(int64(pick(g, 1, 2, 4))<<30, resource.BinarySI)
	}
	if g.p(15) {
		req[v1.ResourceEphemeralStorage] = *resource.NewQuantity(int64(pick(g, 1, 4))<<30, resource.BinarySI)
	}
	if g.p(12) {
		req[gpu] = *resource.NewQuantity(1, resource.DecimalSI)
	}
	if g.p(8) {
		req[nic] = *resource.NewQuantity(1, resource.DecimalSI)
	}
	lim := v1.ResourceList{}
	for _, k := range []v1.ResourceName{gpu, nic} {
		if q, ok := req[k]; ok {
			lim[k] = q
		}
	}
	p.Spec.Containers = []v1.Container{{Name: "main", Image: pick(g, "i1", "i2"), Resources: v1.ResourceRequirements{Requests: req, Limits: lim}}}
	if g.p(10) {
		p.Spec.Containers = append(p.Spec.Containers, v1.Container{Name: "side", Image: "i9", Resources: v1.ResourceRequirements{Requests: v1.ResourceList{v1.ResourceCPU: *resource.NewMilliQuantity(300, resource.DecimalSI)}}})
	}
	if g.p(12) {
		always := v1.ContainerRestartPolicyAlways
		for i := range 1 + g.IntN(2) {
			c := v1.Container{Name: fmt.Sprint("init", i), Image: "i3", Resources: v1.ResourceRequirements{Requests: v1.ResourceList{
				v1.ResourceCPU: *resource.NewMilliQuantity(int64(pick(g, 100, 1200, 2000)), resource.DecimalSI)}}}
			if g.p(40) {
				c.RestartPolicy = &always
			}
			p.Spec.InitContainers = append(p.Spec.InitContainers, c)
		}
	}
	if g.p(5) {
		p.Spec.Overhead = v1.ResourceList{v1.ResourceMemory: *resource.NewQuantity(1<<30, resource.BinarySI)}
	}
	if g.p(30) {
		p.Spec.Priority = ptr(int32(pick(g, 0, 50, 100, 1000, 5000, 2000000000)))
	}
	if g.p(3) {
		p.Spec.PriorityClassName = "system-node-critical"
		p.Spec.Priority = ptr(int32(2000001000))
	}
	if g.p(25) {
		p.Spec.Tolerations = append(p.Spec.Tolerations, v1.Toleration{Key: pick(g, "ded", "odd"), Operator: v1.TolerationOpExists})
	}
	if g.p(5) {
		p.Spec.Tolerations = append(p.Spec.Tolerations, v1.Toleration{Key: "ded", Operator: v1.TolerationOpEqual, Value: "v", Effect: v1.TaintEffectNoSchedule})
	}
	if g.p(3) {
		p.Spec.Tolerations = append(p.Spec.Tolerations, v1.Toleration{Operator: v1.TolerationOpExists})
	}
	if g.p(10) {
		p.Spec.NodeSelector = map[string]string{"disk": pick(g, "ssd", "hdd")}
	}
	aff := &v1.Affinity{}
	if g.p(20) {
		aff.NodeAffinity = &v1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{{MatchExpressions: []v1.NodeSelectorRequirement{
			pick(g, v1.NodeSelectorRequirement{Key: "disk", Operator: v1.NodeSelectorOpIn, Values: []string{"ssd"}},
				v1.NodeSelectorRequirement{Key: "zone", Operator: v1.NodeSelectorOpIn, Values: []string{"a", "b"}},
				v1.NodeSelectorRequirement{Key: "zone", Operator: v1.NodeSelectorOpNotIn, Values: []string{"c"}},
				v1.NodeSelectorRequirement{Key: "zone", Operator: v1.NodeSelectorOpExists})}}}}}
	}
	if r := aff.NodeAffinity; r != nil && g.p(20) { // one or the other
		terms := &r.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms
		*terms = append(*terms, v1.NodeSelectorTerm{MatchExpressions: []v1.NodeSelectorRequirement{{Key: "pool", Operator: v1.NodeSelectorOpIn, Values: []string{"y"}}, {Key: "disk", Operator: v1.NodeSelectorOpIn, Values: []string{"ssd"}}}})
	}
	if g.p(15) {
		if aff.NodeAffinity == nil {
			aff.NodeAffinity = &v1.NodeAffinity{}
		}
		for range 1 + g.IntN(2) {
			aff.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution = append(aff.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution, v1.PreferredSchedulingTerm{Weight: int32(1 + g.IntN(20)),
				Preference: v1.NodeSelectorTerm{MatchExpressions: []v1.NodeSelectorRequirement{{Key: pick(g, "zone", "disk"), Operator: v1.NodeSelectorOpIn, Values: []string{pick(g, "a", "b", "ssd")}}}}})
		}
	}
	if g.p(20) || g.o.dense && g.p(40) {
		t := v1.PodAffinityTerm{LabelSelector: selectApp(pick(g, app, app, fmt.Sprint("w", g.IntN(4)))), TopologyKey: pick(g, v1.LabelHostname, v1.LabelHostname, "zone")}
		if g.p(20) {
			t.LabelSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"tier": "db"}}
		}
		if g.p(15) {
			t.Namespaces = []string{"a", "b"}
		} else if g.p(15) {
			t.NamespaceSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"team": "x"}}
		}
		aff.PodAntiAffinity = &v1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []v1.PodAffinityTerm{t}}
		if g.p(20) {
			two := &aff.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution
			*two = append(*two, v1.PodAffinityTerm{LabelSelector: selectApp(fmt.Sprint("w", g.IntN(4))), TopologyKey: pick(g, "zone", "disk", "pool")})
		}
	}
	if g.p(6) {
		aff.PodAffinity = &v1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []v1.PodAffinityTerm{{LabelSelector: selectApp(pick(g, app, fmt.Sprint("w", g.IntN(4)))), TopologyKey: "zone"}}}
	}
	if aff.NodeAffinity != nil || aff.PodAntiAffinity != nil || aff.PodAffinity != nil {
		p.Spec.Affinity = aff
	}
	if g.p(25) || g.o.dense && g.p(50) {
		for range 1 + g.IntN(5)/4 {
			c := v1.TopologySpreadConstraint{MaxSkew: int32(1 + g.IntN(2)), TopologyKey: pick(g, "zone", "zone", v1.LabelHostname), WhenUnsatisfiable: pick(g, v1.DoNotSchedule, v1.DoNotSchedule, v1.ScheduleAnyway), LabelSelector: selectApp(app)}
			if g.p(15) {
				c.NodeTaintsPolicy = ptr(v1.NodeInclusionPolicyHonor)
			}
			if g.p(10) {
				c.NodeAffinityPolicy = ptr(v1.NodeInclusionPolicyIgnore)
			}
			if len(p.Spec.TopologySpreadConstraints) == 0 || p.Spec.TopologySpreadConstraints[0].TopologyKey != c.TopologyKey {
				p.Spec.TopologySpreadConstraints = append(p.Spec.TopologySpreadConstraints, c)
			}
		}
	}
	if g.p(6) {
		p.Spec.Volumes = append(p.Spec.Volumes, pick(g, v1.Volume{Name: "v", VolumeSource: v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{}}},
			v1.Volume{Name: "v", VolumeSource: v1.VolumeSource{HostPath: &v1.HostPathVolumeSource{Path: "/x"}}},
			v1.Volume{Name: "v", VolumeSource: v1.VolumeSource{ConfigMap: &v1.ConfigMapVolumeSource{}}}))
	}
	if g.p(8) {
		p.Spec.Volumes = append(p.Spec.Volumes, v1.Volume{Name: "d", VolumeSource: v1.VolumeSource{PersistentVolumeClaim: &v1.PersistentVolumeClaimVolumeSource{ClaimName: pick(g, "fast", "slow")}}})
	}
	if g.p(4) {
		p.Spec.Containers[0].Ports = []v1.ContainerPort{{ContainerPort: 80, HostPort: 80, Protocol: v1.ProtocolTCP}}
	}
	return p
}

const (
	noEvict   = "descheduler.alpha.kubernetes.io/prefer-no-eviction"
	mayEvict  = "descheduler.alpha.kubernetes.io/evict"
	costOwn   = "descheduler.narwhal-scheduler.io/eviction-cost"
	costOther = "scheduling.koordinator.sh/eviction-cost"
)

func (g gen) pod(template *v1.Pod, i int, node string) *v1.Pod {
	p := template.DeepCopy()
	p.Name = fmt.Sprint(template.Name, "-", i)
	p.UID = types.UID("u-" + p.Namespace + p.Name)
	p.Spec.NodeName = node
	at := metav1.NewTime(start.Add(-time.Duration(pick(g, 5, 50, 500, 5000)) * time.Minute).Add(-time.Duration(g.IntN(60)) * time.Second))
	p.CreationTimestamp, p.Status.StartTime = at, &at
	p.Status.Phase = v1.PodRunning
	ready := v1.ConditionTrue
	if g.p(10) {
		ready = v1.ConditionFalse
	}
	p.Status.Conditions = []v1.PodCondition{{Type: v1.PodReady, Status: ready, LastTransitionTime: at}}
	cs := v1.ContainerStatus{Name: "main", State: v1.ContainerState{Running: &v1.ContainerStateRunning{}}}
	if g.p(25) {
		cs.RestartCount = int32(g.IntN(15))
	}
	switch k := g.IntN(100); {
	case k < 5:
		cs.State = v1.ContainerState{Waiting: &v1.ContainerStateWaiting{Reason: pick(g, "CrashLoopBackOff", "ImagePullBackOff")}}
		p.Status.Conditions[0].Status = v1.ConditionFalse
	case k < 12:
		p.Status.Phase = v1.PodFailed
		p.Status.Reason = pick(g, "", "Evicted", "NodeLost")
		cs.State = v1.ContainerState{Terminated: &v1.ContainerStateTerminated{ExitCode: int32(pick(g, 1, 137)), Reason: pick(g, "Error", "OOMKilled")}}
		p.Status.Conditions[0].Status = v1.ConditionFalse
	case k < 15:
		p.Status.Phase = v1.PodSucceeded
		cs.State = v1.ContainerState{Terminated: &v1.ContainerStateTerminated{ExitCode: 0, Reason: "Completed"}}
		p.Status.Conditions[0].Status = v1.ConditionFalse
	case k < 17:
		p.Status.Phase = v1.PodPending
		p.Status.Conditions[0].Status = v1.ConditionFalse
		cs.State = v1.ContainerState{Waiting: &v1.ContainerStateWaiting{Reason: "ContainerCreating"}}
	}
	p.Status.ContainerStatuses = []v1.ContainerStatus{cs}
	if g.p(4) && !g.o.simple {
		gone := metav1.NewTime(start.Add(-10 * time.Second))
		p.DeletionTimestamp = &gone
		p.Finalizers = []string{"x"}
	}
	if g.p(2) {
		p.Annotations[v1.MirrorPodAnnotationKey] = "x"
	}
	if g.p(2) {
		p.Annotations["kubernetes.io/config.source"] = pick(g, "file", "http", "api")
	}
	if g.p(5) {
		p.Annotations[noEvict] = ""
	}
	if g.p(3) {
		p.Annotations[mayEvict] = "true"
	}
	if g.p(5) {
		p.Annotations[pick(g, costOwn, costOther)] = pick(g, "2147483647", "5", "-3", "x")
	}
	return p
}

func (g gen) names() *names {
	switch g.IntN(8) {
	case 0:
		return &names{Include: some(g, 1+g.IntN(2), "a", "b", "c")}
	case 1:
		return &names{Exclude: some(g, 1, "a", "b", "c")}
	}
	return nil
}

func (g gen) labels() *metav1.LabelSelector {
	if g.p(12) {
		return pick(g, &metav1.LabelSelector{MatchLabels: map[string]string{"tier": "web"}},
			&metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "app", Operator: metav1.LabelSelectorOpNotIn, Values: []string{"w0"}}}})
	}
	return nil
}

func (g gen) args(name string) (a args) {
	switch name {
	case lifeTime:
		a.Namespaces, a.LabelSelector = g.names(), g.labels()
		if g.p(10) {
			a.OwnerKinds = pick(g, &names{Include: []string{"ReplicaSet", "Job"}}, &names{Exclude: []string{"Job"}})
		}
		if g.p(75) {
			a.MaxPodLifeTimeSeconds = ptr(pick(g, 1800, 20000, 200000))
		}
		if g.p(30) || a.MaxPodLifeTimeSeconds == nil {
			a.States = some(g, 1+g.IntN(3), "Running", "Pending", "Failed", "Succeeded", "CrashLoopBackOff", "NodeLost", "Error", "Completed", "ImagePullBackOff")
		}
		if g.p(8) {
			a.ExitCodes = []int32{137}
		}
		if g.p(8) {
			a.Conditions = []condition{{Type: "Ready", Status: "False", Since: pick(g, nil, ptr(1800))}}
		}
	case failed:
		a.Namespaces, a.LabelSelector = g.names(), g.labels()
		if g.p(20) {
			a.ExcludeOwnerKinds = []string{"Job"}
		}
		if g.p(50) {
			a.MinPodLifetimeSeconds = ptr(pick(g, 0, 600, 20000))
		}
		if g.p(20) {
			a.Reasons = some(g, 1+g.IntN(2), "Evicted", "NodeLost", "OOMKilled", "Error")
		}
		if g.p(15) {
			a.ExitCodes = []int32{pick(g, int32(1), 137)}
		}
	case restarts:
		a.Namespaces, a.LabelSelector = g.names(), g.labels()
		a.PodRestartThreshold = int32(pick(g, 1, 5, 10))
		if g.p(20) {
			a.States = pick(g, []string{"Running"}, []string{"CrashLoopBackOff"})
		}
	case taints:
		a.Namespaces, a.LabelSelector = g.names(), g.labels()
		a.IncludePreferNoSchedule = g.p(40)
		if g.p(15) {
			a.ExcludedTaints = []string{pick(g, "ded", "odd=v")}
		} else if g.p(15) {
			a.IncludedTaints = []string{pick(g, "ded", "odd=v", "ded=v")}
		}
	case affinity:
		a.Namespaces, a.LabelSelector = g.names(), g.labels()
		a.NodeAffinityType = pick(g, []string{"requiredDuringSchedulingIgnoredDuringExecution"}, []string{"preferredDuringSchedulingIgnoredDuringExecution"},
			[]string{"requiredDuringSchedulingIgnoredDuringExecution", "preferredDuringSchedulingIgnoredDuringExecution"})
	case apart:
		a.Namespaces, a.LabelSelector = g.names(), g.labels()
	case duplicates:
		a.Namespaces = g.names()
		if g.p(10) {
			a.ExcludeOwnerKinds = []string{"StatefulSet"}
		}
	case low, high:
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
	case spread:
		a.Namespaces, a.LabelSelector = g.names(), g.labels()
		if g.p(40) {
			a.Constraints = []string{"DoNotSchedule", "ScheduleAnyway"}
		}
	}
	return
}

func (g gen) evictor() (e evictorArgs) {
	if g.o.dense && g.p(80) {
		e.NodeFit = g.p(30)
		return
	}
	if g.p(15) {
		e.LabelSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"tier": "web"}}
	}
	if g.p(10) {
		e.NamespaceLabelSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"team": "x"}}
	}
	if g.p(25) {
		e.PriorityThreshold = pick(g, map[string]any{"value": 100}, map[string]any{"name": "top"}, map[string]any{"name": "mid"}, map[string]any{"value": 5000}, map[string]any{"name": "none"})
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
		e.EvictLocal, e.EvictDaemon, e.EvictCritical, e.IgnorePvc, e.IgnoreNoPDB, e.EvictFailedBare = g.p(30), g.p(30), g.p(25), g.p(40), g.p(15), g.p(60)
	} else if g.p(60) {
		pp := map[string]any{}
		if off := some(g, g.IntN(4), "PodsWithLocalStorage", "DaemonSetPods", "SystemCriticalPods", "FailedBarePods"); len(off) > 0 {
			pp["defaultDisabled"] = off
		}
		if on := some(g, g.IntN(3), "PodsWithPVC", "PodsWithoutPDB", "PodsWithResourceClaims"); len(on) > 0 {
			pp["extraEnabled"] = on
			if slices.Contains(on, "PodsWithPVC") && g.p(60) {
				pp["config"] = map[string]any{"PodsWithPVC": map[string]any{"protectedStorageClasses": []any{map[string]any{"name": "fast"}}}}
			}
		}
		if len(pp) > 0 {
			e.PodProtections = pp
		}
	}
	return
}

var all = []string{lifeTime, failed, restarts, taints, affinity, apart, duplicates, low, high, spread}

func (g gen) world() world {
	w := world{core: g.p(50)}
	scale := 1
	if g.o.big {
		scale = 3
	}
	for i := range scale * (2 + g.IntN(5)) {
		w.o.Nodes = append(w.o.Nodes, g.node(i))
	}
	w.o.Namespaces, w.o.PriorityClasses = namespaces(), classes()
	w.o.Claims, _ = claims()
	m := newModel(&w)
	crowd := 1 + g.IntN(len(w.o.Nodes)) // nodes that get most of the pods
	for i := range scale * (1 + g.IntN(6)) {
		t := g.template(i)
		replicas := 1 + g.IntN(5)
		if g.o.big {
			replicas = pick(g, 2, 5, 10, 20)
			if g.p(15) { // small ones, as many as a node takes
				replicas, t.Spec.Containers[0].Resources = 140, v1.ResourceRequirements{}
				t.Spec.InitContainers = nil
			}
		}
		for j := range replicas {
			n := w.o.Nodes[g.IntN(len(w.o.Nodes))]
			if g.p(70) {
				n = w.o.Nodes[g.IntN(crowd)]
			}
			p := g.pod(t, j, n.Name)
			if g.p(4) && !g.o.simple && w.core { // it waits
				p.Spec.NodeName, p.Status, p.DeletionTimestamp = "", v1.PodStatus{Phase: v1.PodPending}, nil
			} else if !m.room(p, n) {
				continue
			}
			w.o.Pods = append(w.o.Pods, p)
			m.add(p)
		}
	}
	w.s = g.settings()
	if !g.o.simple || g.p(0) {
		apps := map[string]bool{}
		for _, p := range w.o.Pods {
			apps[p.Namespace+"/"+p.Labels["app"]] = true
		}
		for i, app := range slices.Sorted(maps.Keys(apps)) {
			for j := range 2 {
				if !g.p(25 - 15*j) {
					continue
				}
				ns := app[:1]
				b := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: fmt.Sprint("b", i, "-", j), UID: types.UID(fmt.Sprint("b", i, j)), Generation: 1}, Spec: policyv1.PodDisruptionBudgetSpec{Selector: selectApp(app[2:])}}
				if g.p(20) {
					b.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"tier": "web"}}
				}
				if g.p(6) {
					b.Spec.Selector = pick(g, &metav1.LabelSelector{}, nil)
				}
				v := pick(g, intstr.FromInt(1), intstr.FromInt(2), intstr.FromString("30%"), intstr.FromString("50%"), intstr.FromInt(0))
				if g.p(50) {
					b.Spec.MaxUnavailable = &v
				} else {
					b.Spec.MinAvailable = &v
				}
				if g.p(40) {
					b.Spec.UnhealthyPodEvictionPolicy = ptr(pick(g, policyv1.IfHealthyBudget, policyv1.AlwaysAllow))
				}
				w.o.Budgets = append(w.o.Budgets, b)
			}
		}
		for _, b := range w.o.Budgets {
			fill(b, w.o.Pods)
			if g.p(4) && g.o.stale {
				b.Generation = 2
			}
		}
	}
	return w
}

// fill is what the disruption controller writes.
func fill(b *policyv1.PodDisruptionBudget, pods []*v1.Pod) {
	var expected, healthy int
	for _, p := range pods {
		if !matches(b.Spec.Selector, p.Labels) || p.Namespace != b.Namespace || ended(p) || p.DeletionTimestamp != nil {
			continue
		}
		expected++
		if isReady(p) {
			healthy++
		}
	}
	var desired int
	if b.Spec.MaxUnavailable != nil {
		n, _ := intstr.GetScaledValueFromIntOrPercent(b.Spec.MaxUnavailable, expected, true)
		desired = max(0, expected-n)
	} else {
		desired, _ = intstr.GetScaledValueFromIntOrPercent(b.Spec.MinAvailable, expected, true)
	}
	allowed := max(0, healthy-desired)
	if expected <= 0 {
		allowed = 0
	}
	b.Status = policyv1.PodDisruptionBudgetStatus{ObservedGeneration: b.Generation, DisruptionsAllowed: int32(allowed), CurrentHealthy: int32(healthy), DesiredHealthy: int32(desired), ExpectedPods: int32(expected)}
}

func (g gen) settings() settings {
	s := settings{Total: -1, PerNode: -1, PerNS: -1, PerWL: -1, FTotal: -1, FNode: -1, FNS: -1, FWL: -1, CoolDown: -1}
	if !g.o.simple && !(g.o.dense && g.p(60)) {
		for _, n := range []*int{&s.Total, &s.PerNode, &s.PerNS, &s.PerWL, &s.FTotal, &s.FNode, &s.FNS, &s.FWL} {
			if g.p(12) {
				*n = pick(g, 1, 1, 2, 3, 0)
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
	names := g.o.plugins
	if names == nil {
		names = all
	}
	for i := range count {
		p := profile{Name: fmt.Sprint("p", i), Evictor: g.evictor()}
		if g.p(4) {
			p.NoEvictor, p.Evictor = true, evictorArgs{}
		}
		if g.p(10) && !g.o.simple {
			p.NodeSelector = map[string]string{"pool": "x"}
		}
		k := 1 + g.IntN(4)
		if g.o.one {
			k = 1
		}
		for _, name := range some(g, k, names...) {
			pl := plugin{Name: name, Args: g.args(name)}
			if g.p(10) && !g.o.simple {
				pl.Limit = 1 + g.IntN(2)
			}
			p.Plugins = append(p.Plugins, pl)
		}
		s.Profiles = append(s.Profiles, p)
	}
	return s
}
