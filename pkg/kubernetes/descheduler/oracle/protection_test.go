package oracle

import (
	"slices"
	"strconv"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// An opinion is what the model says. Where the documents are silent it is perhaps.
type opinion int

const (
	no opinion = iota
	perhaps
	yes
)

const (
	noEvict   = "descheduler.alpha.kubernetes.io/prefer-no-eviction"
	mayEvict  = "descheduler.alpha.kubernetes.io/evict"
	costOwn   = "descheduler.narwhal-scheduler.io/eviction-cost"
	costOther = "scheduling.koordinator.sh/eviction-cost"

	critical = 2000000000 // the least priority of pods of the system
)

// protection says whether a profile keeps a pod, and why.
func (m *model) protection(pr profile, p *v1.Pod, now time.Time) (opinion, string) {
	if costly(p) {
		return perhaps, "eviction cost" // the documents name two plugins only that read it
	}
	if pr.NoEvictor {
		return no, ""
	}
	e := pr.Evictor
	if e.NamespaceLabelSelector != nil {
		for _, n := range m.w.o.Namespaces {
			if n.Name == p.Namespace && !matches(e.NamespaceLabelSelector, n.Labels) {
				return yes, "namespace labels"
			}
		}
	}
	fit, why := m.nodeFit(e, p)
	if fit == yes {
		return fit, why
	}
	if _, ok := p.Annotations[mayEvict]; ok {
		if fit == perhaps || p.DeletionTimestamp != nil || p.Annotations[v1.MirrorPodAnnotationKey] != "" {
			return perhaps, why
		}
		return no, ""
	}
	unsure, reason := fit, why
	for _, rule := range []func() (opinion, string){
		func() (opinion, string) { return e.state(p) },
		func() (opinion, string) { return m.priority(e, p) },
		func() (opinion, string) { return m.kind(e, p) },
		func() (opinion, string) { return m.replicas(e, p) },
		func() (opinion, string) { return e.age(p, now) },
	} {
		o, why := rule()
		if o == yes {
			return o, why
		}
		if o == perhaps {
			unsure, reason = o, why
		}
	}
	return unsure, reason
}

// costly says whether the eviction cost of a pod is the greatest.
func costly(p *v1.Pod) bool {
	v, ok := p.Annotations[costOwn]
	if !ok {
		v = p.Annotations[costOther]
	}
	n, err := strconv.Atoi(v)
	return err == nil && n >= 1<<31-1
}

// nodeFit says whether a pod stays because it fits on no other node.
func (m *model) nodeFit(e evictorArgs, p *v1.Pod) (opinion, string) {
	if !e.NodeFit {
		return no, ""
	}
	s, err := labels.Parse(e.NodeSelector)
	if err != nil {
		panic(err)
	}
	for _, n := range m.nodes {
		if n.Name != p.Spec.NodeName && s.Matches(labels.Set(n.Labels)) && m.fits(p, n.Name) == "" {
			return no, ""
		}
	}
	if m.waits() {
		return perhaps, "nodeFit beside pods that wait"
	}
	if !returns(p) {
		return perhaps, "nodeFit of a pod without replacement"
	}
	return yes, "nodeFit"
}

// off says whether a protection that is on by default is switched off.
func (e evictorArgs) off(deprecated bool, protection string) bool {
	return deprecated || e.lists("defaultDisabled", protection)
}

// on says whether a protection that is off by default is switched on.
func (e evictorArgs) on(deprecated bool, protection string) bool {
	return deprecated || e.lists("extraEnabled", protection)
}

func (e evictorArgs) lists(list, protection string) bool {
	l, _ := e.PodProtections[list].([]string)
	return slices.Contains(l, protection)
}

// state is about what the annotations and the state of a pod say.
func (e evictorArgs) state(p *v1.Pod) (opinion, string) {
	if _, ok := p.Annotations[noEvict]; ok && e.NoEvictionPolicy == "Mandatory" {
		return yes, "prefers to stay"
	}
	if p.Annotations[v1.MirrorPodAnnotationKey] != "" {
		return yes, "mirror"
	}
	if s, ok := p.Annotations["kubernetes.io/config.source"]; ok && s != "api" {
		return yes, "static"
	}
	if p.DeletionTimestamp != nil {
		return yes, "ending"
	}
	return no, ""
}

// threshold is the priority from which on pods stay, and whether its class is unknown.
func (m *model) threshold(e evictorArgs) (int32, bool) {
	if v, ok := e.PriorityThreshold["value"]; ok {
		return int32(v.(int)), false
	}
	name, ok := e.PriorityThreshold["name"]
	if !ok {
		return critical, false
	}
	for _, c := range m.w.o.PriorityClasses {
		if c.Name == name {
			return c.Value, false
		}
	}
	return 0, true
}

func (m *model) priority(e evictorArgs, p *v1.Pod) (opinion, string) {
	priority := int32(0)
	if p.Spec.Priority != nil {
		priority = *p.Spec.Priority
	}
	threshold, unknown := m.threshold(e)
	above := unknown || priority >= threshold
	if e.off(e.EvictCritical, "SystemCriticalPods") {
		if above && e.PriorityThreshold != nil {
			return perhaps, "priority, with critical pods let go"
		}
		return no, ""
	}
	if priority >= critical || strings.HasPrefix(p.Spec.PriorityClassName, "system-") {
		return yes, "critical"
	}
	if above {
		return yes, "priority"
	}
	return no, ""
}

// kind is about the owner, the volumes, the budgets and the labels of a pod.
func (m *model) kind(e evictorArgs, p *v1.Pod) (opinion, string) {
	if len(p.OwnerReferences) == 0 && !(p.Status.Phase == v1.PodFailed && e.off(e.EvictFailedBare, "FailedBarePods")) {
		return yes, "bare"
	}
	claims := 0
	for _, v := range p.Spec.Volumes {
		if (v.EmptyDir != nil || v.HostPath != nil) && !e.off(e.EvictLocal, "PodsWithLocalStorage") {
			return yes, "local storage"
		}
		_, narrow := e.PodProtections["config"] // to claims of this class
		if c := v.PersistentVolumeClaim; c != nil && (!narrow || c.ClaimName == "fast") {
			claims++
		}
	}
	if kindIn(p, []string{"DaemonSet"}) && !e.off(e.EvictDaemon, "DaemonSetPods") {
		return yes, "daemon"
	}
	if claims > 0 && e.on(e.IgnorePvc, "PodsWithPVC") {
		return yes, "claim"
	}
	if e.on(e.IgnoreNoPDB, "PodsWithoutPDB") && len(budgetsOf(p, m.w.o.Budgets)) == 0 {
		return yes, "no budget"
	}
	if e.LabelSelector != nil && !matches(e.LabelSelector, p.Labels) {
		return yes, "labels"
	}
	return no, ""
}

// replicas is sure only where pods that have ended or are ending make no difference.
func (m *model) replicas(e evictorArgs, p *v1.Pod) (opinion, string) {
	if e.MinReplicas <= 1 || len(p.OwnerReferences) != 1 {
		return no, ""
	}
	least, most := 0, 0
	for _, q := range m.w.o.Pods {
		if workload(q) != workload(p) {
			continue
		}
		most++
		if m.pods[q.UID] != nil && !ended(q) && q.DeletionTimestamp == nil {
			least++
		}
	}
	if most < e.MinReplicas {
		return yes, "replicas"
	}
	if least < e.MinReplicas {
		return perhaps, "replicas"
	}
	return no, ""
}

func (e evictorArgs) age(p *v1.Pod, now time.Time) (opinion, string) {
	if e.MinPodAge == "" {
		return no, ""
	}
	least, err := time.ParseDuration(e.MinPodAge)
	if err != nil {
		panic(err)
	}
	if now.Sub(p.Status.StartTime.Time) < least {
		return yes, "young"
	}
	return no, ""
}
