package oracle

import (
	ctx "context"
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
)

func context() ctx.Context { return ctx.Background() }

func ended(p *v1.Pod) bool {
	return p.Status.Phase == v1.PodSucceeded || p.Status.Phase == v1.PodFailed
}

func isReady(p *v1.Pod) bool {
	for _, c := range p.Status.Conditions {
		if c.Type == v1.PodReady {
			return c.Status == v1.ConditionTrue
		}
	}
	return false
}

func nodeReady(n *v1.Node) bool { return n.Status.Conditions[0].Status == v1.ConditionTrue }

func matches(s *metav1.LabelSelector, l map[string]string) bool {
	sel, err := metav1.LabelSelectorAsSelector(s)
	return err == nil && sel.Matches(labels.Set(l))
}

func id(p *v1.Pod) string { return p.Namespace + "/" + p.Name }

func workload(p *v1.Pod) string {
	if len(p.OwnerReferences) == 0 {
		return ""
	}
	return p.Namespace + "/" + p.OwnerReferences[0].Kind + "/" + p.OwnerReferences[0].Name
}

// returns: something makes the pod anew.
func returns(p *v1.Pod) bool { return workload(p) != "" && !ended(p) && p.DeletionTimestamp == nil }

// A model is the cluster as it is at one moment.
type model struct {
	w        *world
	nodes    map[string]*v1.Node
	pods     map[types.UID]*v1.Pod
	standIns map[types.UID]bool // replacements of this cycle
}

func newModel(w *world) *model {
	m := &model{w: w, nodes: map[string]*v1.Node{}, pods: map[types.UID]*v1.Pod{}, standIns: map[types.UID]bool{}}
	for _, n := range w.o.Nodes {
		m.nodes[n.Name] = n
	}
	for _, p := range w.o.Pods {
		m.add(p)
	}
	return m
}

func (m *model) add(p *v1.Pod) { m.pods[p.UID] = p }

// move takes a pod out and has its replacement stand on a node, if it names one.
func (m *model) move(p *v1.Pod, to string) {
	delete(m.pods, p.UID)
	if to == "" {
		return
	}
	r := p.DeepCopy()
	r.Name, r.UID, r.Spec.NodeName = p.Name+"r", p.UID+"r", to
	r.Status.Phase = v1.PodRunning
	m.add(r)
	m.standIns[r.UID] = true
}

func (m *model) on(node string) (of []*v1.Pod) {
	for _, p := range m.pods {
		if p.Spec.NodeName == node {
			of = append(of, p)
		}
	}
	return
}

func requests(p *v1.Pod) map[v1.ResourceName]int64 {
	sum := map[v1.ResourceName]int64{}
	for _, c := range p.Spec.Containers {
		for k, q := range c.Resources.Requests {
			sum[k] += q.MilliValue()
		}
	}
	side, most := map[v1.ResourceName]int64{}, map[v1.ResourceName]int64{}
	for _, c := range p.Spec.InitContainers {
		always := c.RestartPolicy != nil && *c.RestartPolicy == v1.ContainerRestartPolicyAlways
		for k, q := range c.Resources.Requests {
			if always {
				side[k] += q.MilliValue()
				sum[k] += q.MilliValue()
				most[k] = max(most[k], side[k])
			} else {
				most[k] = max(most[k], side[k]+q.MilliValue())
			}
		}
	}
	for k, v := range most {
		sum[k] = max(sum[k], v)
	}
	for k, q := range p.Spec.Overhead {
		sum[k] += q.MilliValue()
	}
	sum[v1.ResourcePods] = 1000
	return sum
}

func (m *model) used(node string) map[v1.ResourceName]int64 {
	sum := map[v1.ResourceName]int64{}
	for _, p := range m.on(node) {
		if !ended(p) {
			for k, v := range requests(p) {
				sum[k] += v
			}
		}
	}
	return sum
}

func (m *model) room(p *v1.Pod, n *v1.Node) bool {
	used := m.used(n.Name)
	for k, v := range requests(p) {
		if q := n.Status.Allocatable[k]; v > 0 && used[k]+v > q.MilliValue() {
			return false
		}
	}
	return true
}

func tolerates(p *v1.Pod, t v1.Taint) bool {
	for _, o := range p.Spec.Tolerations {
		if (o.Effect == "" || o.Effect == t.Effect) && (o.Key == "" && o.Operator == v1.TolerationOpExists || o.Key == t.Key && (o.Operator == v1.TolerationOpExists || o.Value == t.Value)) {
			return true
		}
	}
	return false
}

func expression(e v1.NodeSelectorRequirement, l map[string]string) bool {
	v, has := l[e.Key]
	switch e.Operator {
	case v1.NodeSelectorOpIn:
		return has && slices.Contains(e.Values, v)
	case v1.NodeSelectorOpNotIn:
		return !has || !slices.Contains(e.Values, v)
	case v1.NodeSelectorOpExists:
		return has
	}
	panic(e.Operator)
}

func term(t v1.NodeSelectorTerm, l map[string]string) bool {
	for _, e := range t.MatchExpressions {
		if !expression(e, l) {
			return false
		}
	}
	return true
}

func required(p *v1.Pod) *v1.NodeSelector {
	if a := p.Spec.Affinity; a != nil && a.NodeAffinity != nil {
		return a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution
	}
	return nil
}

func labelsAllow(p *v1.Pod, n *v1.Node) bool {
	for k, v := range p.Spec.NodeSelector {
		if n.Labels[k] != v {
			return false
		}
	}
	r := required(p)
	return r == nil || slices.ContainsFunc(r.NodeSelectorTerms, func(t v1.NodeSelectorTerm) bool { return term(t, n.Labels) })
}

func weight(p *v1.Pod, n *v1.Node) (sum int32) {
	if a := p.Spec.Affinity; a != nil && a.NodeAffinity != nil {
		for _, t := range a.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution {
			if term(t.Preference, n.Labels) {
				sum += t.Weight
			}
		}
	}
	return
}

func taintsAllow(p *v1.Pod, n *v1.Node) bool {
	for _, t := range n.Spec.Taints {
		if t.Effect != v1.TaintEffectPreferNoSchedule && !tolerates(p, t) {
			return false
		}
	}
	return true
}

func antiTerms(p *v1.Pod) []v1.PodAffinityTerm {
	if a := p.Spec.Affinity; a != nil && a.PodAntiAffinity != nil {
		return a.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution
	}
	return nil
}

func (m *model) selects(t v1.PodAffinityTerm, owner, other *v1.Pod) bool {
	in := slices.Contains(t.Namespaces, other.Namespace)
	if t.NamespaceSelector != nil {
		for _, n := range m.w.o.Namespaces {
			in = in || n.Name == other.Namespace && matches(t.NamespaceSelector, n.Labels)
		}
	}
	if len(t.Namespaces) == 0 && t.NamespaceSelector == nil {
		in = other.Namespace == owner.Namespace
	}
	return in && matches(t.LabelSelector, other.Labels)
}

func (m *model) domain(node, key string) (string, bool) {
	n := m.nodes[node]
	if n == nil {
		return "", false
	}
	v, ok := n.Labels[key]
	return v, ok
}

// against returns a pod because of which p may not be on a node: by the terms of p, or with
// both also by those of others. Ended pods do not count; one that is ending does.
func (m *model) against(p *v1.Pod, node string, both bool) *v1.Pod {
	var ending *v1.Pod // it goes by itself: told of where there is no other
	for _, q := range m.pods {
		if q.UID == p.UID || ended(q) || q.Spec.NodeName == "" {
			continue
		}
		hit := func(owner, other *v1.Pod) bool {
			for _, t := range antiTerms(owner) {
				a, ok := m.domain(node, t.TopologyKey)
				b, has := m.domain(q.Spec.NodeName, t.TopologyKey)
				if ok && has && a == b && m.selects(t, owner, other) {
					return true
				}
			}
			return false
		}
		if hit(p, q) || both && hit(q, p) {
			if q.DeletionTimestamp == nil {
				return q
			}
			ending = q
		}
	}
	return ending
}

func (m *model) affinityHolds(p *v1.Pod, node string) bool {
	a := p.Spec.Affinity
	if a == nil || a.PodAffinity == nil {
		return true
	}
	for _, t := range a.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution {
		d, ok := m.domain(node, t.TopologyKey)
		if !ok {
			return false
		}
		near, any := false, false
		for _, q := range m.pods {
			if q.UID == p.UID || ended(q) || q.Spec.NodeName == "" || !m.selects(t, p, q) {
				continue
			}
			if b, has := m.domain(q.Spec.NodeName, t.TopologyKey); has {
				any = true
				near = near || b == d
			}
		}
		if !near && (any || !m.selects(t, p, p)) {
			return false
		}
	}
	return true
}

// eligible says which nodes a spread constraint of a pod counts.
func eligible(p *v1.Pod, c v1.TopologySpreadConstraint, n *v1.Node) bool {
	if c.NodeAffinityPolicy == nil || *c.NodeAffinityPolicy == v1.NodeInclusionPolicyHonor {
		if !labelsAllow(p, n) {
			return false
		}
	}
	return c.NodeTaintsPolicy == nil || *c.NodeTaintsPolicy == v1.NodeInclusionPolicyIgnore || taintsAllow(p, n)
}

// counts are the pods that a constraint of a pod counts in each domain.
func (m *model) counts(p *v1.Pod, c v1.TopologySpreadConstraint, without types.UID, include func(*v1.Node) bool) map[string]int {
	counts := map[string]int{}
	for _, n := range m.nodes {
		d, ok := n.Labels[c.TopologyKey]
		if !ok || !eligible(p, c, n) || !include(n) {
			continue
		}
		counts[d] += 0
		for _, q := range m.on(n.Name) {
			if q.UID != without && !ended(q) && q.DeletionTimestamp == nil && q.Namespace == p.Namespace && matches(c.LabelSelector, q.Labels) {
				counts[d]++
			}
		}
	}
	return counts
}

func skew(counts map[string]int) (lo, hi int) {
	first := true
	for _, n := range counts {
		if first {
			lo, hi, first = n, n, false
		}
		lo, hi = min(lo, n), max(hi, n)
	}
	return
}

func (m *model) spreadHolds(p *v1.Pod, node string) bool {
	hard := 0
	for _, c := range p.Spec.TopologySpreadConstraints {
		if c.WhenUnsatisfiable == v1.DoNotSchedule {
			hard++
		}
	}
	for _, c := range p.Spec.TopologySpreadConstraints {
		if c.WhenUnsatisfiable != v1.DoNotSchedule {
			continue
		}
		d, ok := m.domain(node, c.TopologyKey)
		if !ok {
			return false
		}
		counts := m.counts(p, c, p.UID, func(n *v1.Node) bool { // nodes with all keys
			for _, o := range p.Spec.TopologySpreadConstraints {
				if _, ok := n.Labels[o.TopologyKey]; !ok && o.WhenUnsatisfiable == v1.DoNotSchedule {
					return false
				}
			}
			return true
		})
		lo, _ := skew(counts)
		self := 0
		if matches(c.LabelSelector, p.Labels) {
			self = 1
		}
		if counts[d]+self-lo > int(c.MaxSkew) {
			return false
		}
	}
	return true
}

// fits says why a pod may not be on a node, with itself gone from where it is.
func (m *model) fits(p *v1.Pod, node string) string {
	n := m.nodes[node]
	if n == nil {
		return "there is no such node"
	}
	was, had := m.pods[p.UID]
	delete(m.pods, p.UID)
	defer func() {
		if had {
			m.pods[p.UID] = was
		}
	}()
	if n.Spec.Unschedulable && (!m.w.core || !tolerates(p, v1.Taint{Key: "node.kubernetes.io/unschedulable", Effect: v1.TaintEffectNoSchedule})) {
		return "cordoned"
	}
	if !taintsAllow(p, n) {
		return "taint"
	}
	if !labelsAllow(p, n) {
		return "labels"
	}
	if !m.room(p, n) {
		return "room"
	}
	if q := m.against(p, node, true); q != nil {
		return "anti-affinity with " + id(q)
	}
	if !m.w.core {
		return ""
	}
	if !m.affinityHolds(p, node) {
		return "affinity to pods"
	}
	if !m.spreadHolds(p, node) {
		return "spread"
	}
	if len(p.Spec.Containers[0].Ports) > 0 {
		for _, q := range m.on(node) {
			if !ended(q) && len(q.Spec.Containers[0].Ports) > 0 {
				return "host port"
			}
		}
	}
	return ""
}

// processed are the nodes that a profile looks at.
func (m *model) processed(p profile, n *v1.Node) bool {
	if !nodeReady(n) {
		return false
	}
	if sel := m.w.s.NodeSelector; sel != "" {
		s, _ := labels.Parse(sel)
		if !s.Matches(labels.Set(n.Labels)) {
			return false
		}
	}
	return p.NodeSelector == nil || labels.SelectorFromSet(p.NodeSelector).Matches(labels.Set(n.Labels))
}

// An opinion of the model. Where the documents are silent it is perhaps.
type opinion int

const (
	no opinion = iota
	perhaps
	yes
)

// protection is what DefaultEvictor of a profile says.
func (m *model) protection(pr profile, p *v1.Pod, now time.Time) (opinion, string) {
	dear := false
	for _, a := range []string{costOwn, costOther} {
		if v, ok := p.Annotations[a]; ok {
			n, err := strconv.Atoi(v)
			dear = err == nil && n >= 1<<31-1
			break
		}
	}
	if pr.NoEvictor {
		if dear {
			return perhaps, "eviction cost"
		}
		return no, ""
	}
	if dear {
		if _, ok := p.Annotations[mayEvict]; ok {
			return perhaps, "eviction cost"
		}
		return perhaps, "eviction cost" // framework.EvictionCost says never, docs nothing
	}
	e := pr.Evictor
	maybe := ""
	if e.NamespaceLabelSelector != nil {
		for _, n := range m.w.o.Namespaces {
			if n.Name == p.Namespace && !matches(e.NamespaceLabelSelector, n.Labels) {
				return yes, "namespace labels"
			}
		}
	}
	if e.NodeFit {
		found := false
		for _, n := range m.nodes {
			s, _ := labels.Parse(e.NodeSelector)
			if n.Name != p.Spec.NodeName && s.Matches(labels.Set(n.Labels)) && m.fits(p, n.Name) == "" {
				found = true
			}
		}
		if !found {
			if m.waits() {
				maybe = "nodeFit beside pods that wait"
			} else if !returns(p) {
				maybe = "nodeFit of a pod without replacement"
			} else {
				return yes, "nodeFit"
			}
		}
	}
	if _, ok := p.Annotations[mayEvict]; ok {
		if maybe != "" || p.DeletionTimestamp != nil || p.Annotations[v1.MirrorPodAnnotationKey] != "" {
			return perhaps, maybe
		}
		return no, ""
	}
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
	has := func(list, what string) bool {
		l, _ := e.PodProtections[list].([]string)
		return slices.Contains(l, what)
	}
	off := func(old bool, what string) bool { return old || has("defaultDisabled", what) }
	on := func(old bool, what string) bool { return old || has("extraEnabled", what) }
	prio := int32(0)
	if p.Spec.Priority != nil {
		prio = *p.Spec.Priority
	}
	threshold, unknown := int32(2000000000), false
	if v, ok := e.PriorityThreshold["value"]; ok {
		threshold = int32(v.(int))
	} else if name, ok := e.PriorityThreshold["name"]; ok {
		unknown = true
		for _, c := range m.w.o.PriorityClasses {
			if c.Name == name {
				threshold, unknown = c.Value, false
			}
		}
	}
	above := unknown || prio >= threshold
	if !off(e.EvictCritical, "SystemCriticalPods") {
		if prio >= 2000000000 || strings.HasPrefix(p.Spec.PriorityClassName, "system-") {
			return yes, "critical"
		}
		if above {
			return yes, "priority"
		}
	} else if above && e.PriorityThreshold != nil {
		maybe = "priority, with critical pods let go"
	}
	if len(p.OwnerReferences) == 0 && !(p.Status.Phase == v1.PodFailed && off(e.EvictFailedBare, "FailedBarePods")) {
		return yes, "bare"
	}
	pvc, protectedPvc := false, false
	for _, v := range p.Spec.Volumes {
		if (v.EmptyDir != nil || v.HostPath != nil) && !off(e.EvictLocal, "PodsWithLocalStorage") {
			return yes, "local storage"
		}
		if v.PersistentVolumeClaim != nil {
			pvc = true
			protectedPvc = protectedPvc || v.PersistentVolumeClaim.ClaimName == "fast"
		}
	}
	if len(p.OwnerReferences) > 0 && p.OwnerReferences[0].Kind == "DaemonSet" && !off(e.EvictDaemon, "DaemonSetPods") {
		return yes, "daemon"
	}
	if _, narrow := e.PodProtections["config"]; narrow {
		pvc = protectedPvc
	}
	if pvc && on(e.IgnorePvc, "PodsWithPVC") {
		return yes, "claim"
	}
	if on(e.IgnoreNoPDB, "PodsWithoutPDB") && len(budgetsOf(p, m.w.o.Budgets)) == 0 {
		return yes, "no budget"
	}
	if e.LabelSelector != nil && !matches(e.LabelSelector, p.Labels) {
		return yes, "labels"
	}
	if e.MinReplicas > 1 && len(p.OwnerReferences) == 1 {
		least, most := 0, 0
		for _, q := range m.w.o.Pods {
			if workload(q) == workload(p) {
				most++
				if _, here := m.pods[q.UID]; here && !ended(q) && q.DeletionTimestamp == nil {
					least++
				}
			}
		}
		if most < e.MinReplicas {
			return yes, "replicas"
		}
		if least < e.MinReplicas {
			maybe = "replicas"
		}
	}
	if e.MinPodAge != "" {
		d, _ := time.ParseDuration(e.MinPodAge)
		if now.Sub(p.Status.StartTime.Time) < d {
			return yes, "young"
		}
	}
	if maybe != "" {
		return perhaps, maybe
	}
	return no, ""
}

func budgetsOf(p *v1.Pod, all []*policyv1.PodDisruptionBudget) (of []*policyv1.PodDisruptionBudget) {
	for _, b := range all {
		if b.Namespace == p.Namespace && matches(b.Spec.Selector, p.Labels) {
			of = append(of, b)
		}
	}
	return
}

// charge is what the API server does with the budgets of a pod: whether it lets the pod go,
// and which budget pays.
func charge(p *v1.Pod, all []*policyv1.PodDisruptionBudget) (bool, *policyv1.PodDisruptionBudget) {
	if ended(p) || p.Status.Phase == v1.PodPending || p.DeletionTimestamp != nil {
		return true, nil
	}
	of := budgetsOf(p, all)
	if len(of) == 0 {
		return true, nil
	}
	if len(of) > 1 {
		return false, nil
	}
	b := of[0]
	if !isReady(p) {
		if b.Spec.UnhealthyPodEvictionPolicy != nil && *b.Spec.UnhealthyPodEvictionPolicy == policyv1.AlwaysAllow {
			return true, nil
		}
		if b.Status.CurrentHealthy >= b.Status.DesiredHealthy && b.Status.DesiredHealthy > 0 {
			return true, nil
		}
	}
	if b.Status.ObservedGeneration < b.Generation || b.Status.DisruptionsAllowed <= 0 {
		return false, nil
	}
	return true, b
}

func reasonsOf(p *v1.Pod) (reasons []string, codes []int32) {
	for _, c := range p.Status.ContainerStatuses {
		if c.State.Waiting != nil {
			reasons = append(reasons, c.State.Waiting.Reason)
		}
		if c.State.Terminated != nil {
			reasons = append(reasons, c.State.Terminated.Reason)
			codes = append(codes, c.State.Terminated.ExitCode)
		}
	}
	return
}

func overlap[T comparable](a, b []T) bool {
	return slices.ContainsFunc(a, func(x T) bool { return slices.Contains(b, x) })
}

func taintListed(list []string, t v1.Taint) bool {
	return slices.Contains(list, t.Key) || slices.Contains(list, t.Key+"="+t.Value)
}

func (a args) taints(p *v1.Pod, n *v1.Node) bool {
	for _, t := range n.Spec.Taints {
		if t.Effect == v1.TaintEffectNoExecute || t.Effect == v1.TaintEffectPreferNoSchedule && !a.IncludePreferNoSchedule {
			continue
		}
		if taintListed(a.ExcludedTaints, t) || len(a.IncludedTaints) > 0 && !taintListed(a.IncludedTaints, t) {
			continue
		}
		if !tolerates(p, t) {
			return true
		}
	}
	return false
}

func (a args) selected(p *v1.Pod) bool {
	return a.Namespaces.has(p.Namespace) && (a.LabelSelector == nil || matches(a.LabelSelector, p.Labels))
}

func kindIn(p *v1.Pod, kinds []string) bool {
	return slices.ContainsFunc(p.OwnerReferences, func(o metav1.OwnerReference) bool { return slices.Contains(kinds, o.Kind) })
}

// waits says whether pods wait for a node.
func (m *model) waits() bool {
	for _, p := range m.pods {
		if p.Spec.NodeName == "" {
			return true
		}
	}
	return false
}

// wants says whether the rule of a plugin at deschedule holds for a pod.
func (m *model) wants(pl plugin, p *v1.Pod, now time.Time) opinion {
	a := pl.Args
	n := m.nodes[p.Spec.NodeName]
	if n == nil || !a.selected(p) {
		return no
	}
	age := now.Sub(p.CreationTimestamp.Time)
	reasons, codes := reasonsOf(p)
	switch pl.Name {
	case lifeTime:
		if a.OwnerKinds != nil {
			if len(a.OwnerKinds.Include) > 0 && !kindIn(p, a.OwnerKinds.Include) || kindIn(p, a.OwnerKinds.Exclude) {
				return no
			}
		}
		if a.MaxPodLifeTimeSeconds != nil && age <= time.Duration(*a.MaxPodLifeTimeSeconds)*time.Second {
			return no
		}
		if len(a.States) > 0 && !slices.Contains(a.States, string(p.Status.Phase)) && !slices.Contains(a.States, p.Status.Reason) && !overlap(a.States, reasons) {
			return no
		}
		if len(a.ExitCodes) > 0 && !overlap(a.ExitCodes, codes) {
			return no
		}
		if len(a.Conditions) > 0 && !slices.ContainsFunc(a.Conditions, func(c condition) bool {
			return slices.ContainsFunc(p.Status.Conditions, func(d v1.PodCondition) bool {
				return (c.Type == "" || c.Type == string(d.Type)) && (c.Status == "" || c.Status == string(d.Status)) && (c.Since == nil || now.Sub(d.LastTransitionTime.Time) >= time.Duration(*c.Since)*time.Second)
			})
		}) {
			return no
		}
		return yes
	case failed:
		least := 3600
		if a.MinPodLifetimeSeconds != nil {
			least = *a.MinPodLifetimeSeconds
		}
		if p.Status.Phase != v1.PodFailed || age <= time.Duration(least)*time.Second || kindIn(p, a.ExcludeOwnerKinds) {
			return no
		}
		if len(a.Reasons) > 0 && !slices.Contains(a.Reasons, p.Status.Reason) && !overlap(a.Reasons, reasons) || len(a.ExitCodes) > 0 && !overlap(a.ExitCodes, codes) {
			return no
		}
		return yes
	case restarts:
		var sum int32
		for _, c := range p.Status.ContainerStatuses {
			sum += c.RestartCount
		}
		if sum < a.PodRestartThreshold {
			return no
		}
		if len(a.States) > 0 && !slices.Contains(a.States, string(p.Status.Phase)) && !overlap(a.States, reasons) {
			return no
		}
		if ended(p) {
			return perhaps
		}
		return yes
	case taints:
		if !a.taints(p, n) {
			return no
		}
		if ended(p) {
			return perhaps
		}
		return yes
	case affinity:
		if slices.Contains(a.NodeAffinityType, "requiredDuringSchedulingIgnoredDuringExecution") && required(p) != nil && !labelsAllow(p, n) {
			if ended(p) {
				return perhaps
			}
			return yes
		}
		if slices.Contains(a.NodeAffinityType, "preferredDuringSchedulingIgnoredDuringExecution") {
			for _, o := range m.nodes {
				// a pod that nothing makes anew "goes without that question"
				if weight(p, o) > weight(p, n) && (!returns(p) || m.fits(p, o.Name) == "") {
					if ended(p) {
						return perhaps
					}
					return yes
				}
			}
		}
		return no
	case apart:
		q := m.against(p, n.Name, false)
		if q == nil {
			return no
		}
		if ended(p) || q.DeletionTimestamp != nil {
			return perhaps
		}
		return yes
	}
	panic(pl.Name)
}

// accepts says whether a node is better for a plugin at deschedule than that of the pod.
func (m *model) accepts(pl plugin, p *v1.Pod, to string) bool {
	n, from := m.nodes[to], m.nodes[p.Spec.NodeName]
	switch pl.Name {
	case taints:
		return !pl.Args.taints(p, n)
	case affinity:
		if slices.Contains(pl.Args.NodeAffinityType, "requiredDuringSchedulingIgnoredDuringExecution") && required(p) != nil && !labelsAllow(p, from) {
			return labelsAllow(p, n)
		}
		return weight(p, n) > weight(p, from)
	case apart:
		was := m.pods[p.UID]
		delete(m.pods, p.UID)
		defer func() { m.pods[p.UID] = was }()
		return m.against(p, to, false) == nil
	}
	return true
}

// over says whether a node uses more than percentages of a resource: of any with any, else of
// all.
func (m *model) above(node string, limits map[string]int) (some, every bool, names []string) {
	used := m.used(node)
	every = true
	for k, percent := range limits {
		all := m.nodes[node].Status.Allocatable[v1.ResourceName(k)]
		if used[v1.ResourceName(k)]*100 > int64(percent)*all.MilliValue() {
			some = true
			names = append(names, k)
		} else {
			every = false
		}
	}
	return
}

func (m *model) part(node, k string) *big.Rat {
	all := m.nodes[node].Status.Allocatable[v1.ResourceName(k)]
	if all.MilliValue() == 0 {
		return new(big.Rat)
	}
	return big.NewRat(m.used(node)[v1.ResourceName(k)], all.MilliValue())
}

func images(p *v1.Pod) string {
	var of []string
	for _, c := range p.Spec.Containers {
		of = append(of, c.Image)
	}
	return fmt.Sprint(of)
}
