package oracle

import (
	"math/big"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
)

// A model is the cluster at one moment of a cycle: pods that were evicted in the cycle are gone,
// and their replacements stand where the report says.
type model struct {
	w        *world
	nodes    map[string]*v1.Node
	pods     map[types.UID]*v1.Pod
	standIns map[types.UID]bool // replacements of this cycle
	inFlight map[types.UID]bool // pods that were evicted in cycles before and have not ended
}

func newModel(w *world, inFlight ...*v1.Pod) *model {
	m := &model{
		w: w, nodes: map[string]*v1.Node{}, pods: map[types.UID]*v1.Pod{},
		standIns: map[types.UID]bool{}, inFlight: map[types.UID]bool{},
	}
	for _, n := range w.o.Nodes {
		m.nodes[n.Name] = n
	}
	for _, p := range w.o.Pods {
		m.add(p)
	}
	for _, p := range inFlight {
		m.inFlight[p.UID] = true
	}
	return m
}

func (m *model) add(p *v1.Pod) { m.pods[p.UID] = p }

// move takes a pod out and puts its replacement on a node, if there is one.
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

// moveBack undoes move.
func (m *model) moveBack(p *v1.Pod) {
	delete(m.pods, p.UID+"r")
	delete(m.standIns, p.UID+"r")
	m.add(p)
}

// without calls a function while a pod is not in the cluster.
func (m *model) without(p *v1.Pod, call func()) {
	was, there := m.pods[p.UID]
	delete(m.pods, p.UID)
	call()
	if there {
		m.pods[p.UID] = was
	}
}

func (m *model) on(node string) (of []*v1.Pod) {
	for _, p := range m.pods {
		if p.Spec.NodeName == node {
			of = append(of, p)
		}
	}
	return of
}

// waits says whether pods wait for a node.
func (m *model) waits() bool { return len(m.on("")) > 0 }

type amounts map[v1.ResourceName]int64 // in thousandths

// requests are those of a pod as a scheduler counts them: of its containers, or of those that run
// before them if that is more; and the pod itself.
func requests(p *v1.Pod) amounts {
	sum := amounts{}
	for _, c := range p.Spec.Containers {
		for k, q := range c.Resources.Requests {
			sum[k] += q.MilliValue()
		}
	}
	side, most := amounts{}, amounts{}
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

// held is what pods hold on a node: those in flight do until they have ended.
func (m *model) held(node string) amounts { return m.sum(node, func(*v1.Pod) bool { return true }) }

// used is what a plugin sees in use on a node. Pods in flight leave it by themselves and do not count, so
// that no others are evicted in their place; the documents do not say so.
func (m *model) used(node string) amounts {
	return m.sum(node, func(p *v1.Pod) bool { return !m.inFlight[p.UID] })
}

func (m *model) sum(node string, counts func(*v1.Pod) bool) amounts {
	sum := amounts{}
	for _, p := range m.on(node) {
		if ended(p) || !counts(p) {
			continue
		}
		for k, v := range requests(p) {
			sum[k] += v
		}
	}
	return sum
}

// above says of which resources a node uses more than percentages, and whether of none.
func (m *model) above(node string, percentages map[string]int) (names []string, none bool) {
	used := m.used(node)
	for k, percent := range percentages {
		all := m.nodes[node].Status.Allocatable[v1.ResourceName(k)]
		if used[v1.ResourceName(k)]*100 > int64(percent)*all.MilliValue() {
			names = append(names, k)
		}
	}
	slices.Sort(names)
	return names, len(names) == 0
}

// part is how much of a resource a node uses.
func (m *model) part(node, k string) *big.Rat {
	all := m.nodes[node].Status.Allocatable[v1.ResourceName(k)]
	if all.MilliValue() == 0 {
		return new(big.Rat)
	}
	return big.NewRat(m.used(node)[v1.ResourceName(k)], all.MilliValue())
}

func (m *model) room(p *v1.Pod, n *v1.Node) bool {
	held := m.held(n.Name)
	for k, v := range requests(p) {
		if q := n.Status.Allocatable[k]; v > 0 && held[k]+v > q.MilliValue() {
			return false
		}
	}
	return true
}

// fits says why a pod may not be on a node, with itself gone from where it is; nothing if it may.
func (m *model) fits(p *v1.Pod, node string) string {
	n := m.nodes[node]
	if n == nil {
		return "there is no such node"
	}
	why := ""
	m.without(p, func() { why = m.refuses(p, n) })
	return why
}

var cordonTaint = v1.Taint{Key: "node.kubernetes.io/unschedulable", Effect: v1.TaintEffectNoSchedule}

func (m *model) refuses(p *v1.Pod, n *v1.Node) string {
	if n.Spec.Unschedulable && (!m.w.core || !tolerates(p, cordonTaint)) {
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
	if q := m.against(p, n.Name, true); q != nil {
		return "anti-affinity with " + id(q)
	}
	if !m.w.core {
		return ""
	}
	if !m.affinityHolds(p, n.Name) {
		return "affinity to pods"
	}
	if !m.spreadHolds(p, n.Name) {
		return "spread"
	}
	hasPort := func(q *v1.Pod) bool { return len(q.Spec.Containers[0].Ports) > 0 }
	if hasPort(p) && slices.ContainsFunc(m.on(n.Name), func(q *v1.Pod) bool { return hasPort(q) && !ended(q) }) {
		return "host port"
	}
	return ""
}

// processed says whether a profile looks at a node.
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
