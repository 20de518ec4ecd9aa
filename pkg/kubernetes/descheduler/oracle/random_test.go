package oracle

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// options narrow what is random.
type options struct {
	plugins []string // nil is all
	one     bool     // one plugin
	simple  bool     // no limits, budgets, waiting or ending pods
	large   bool     // more nodes and pods
	dense   bool     // fewer protections, more rules between pods
}

// A source has the random numbers of one world.
type source struct {
	*rand.Rand
	o options
}

// random is the source of a seed. Tests have different streams.
func random(seed, stream uint64, o ...options) source {
	g := source{Rand: rand.New(rand.NewPCG(seed, stream))}
	if len(o) > 0 {
		g.o = o[0]
	}
	return g
}

// worlds makes the worlds of a stream.
func worlds(stream uint64, o options) generator {
	return func(seed uint64) world { return random(seed, stream, o).world() }
}

// p is true in so many of a hundred cases.
func (g source) p(percent int) bool { return g.IntN(100) < percent }

func pick[T any](g source, of ...T) T { return of[g.IntN(len(of))] }

// some are at most n different ones.
func some[T any](g source, n int, of ...T) []T {
	of = slices.Clone(of)
	g.Shuffle(len(of), func(i, j int) { of[i], of[j] = of[j], of[i] })
	return of[:min(n, len(of))]
}

const (
	gpu = "example.com/gpu"
	nic = "example.com/nic"
)

func milli(n int) resource.Quantity { return *resource.NewMilliQuantity(int64(n), resource.DecimalSI) }
func count(n int) resource.Quantity { return *resource.NewQuantity(int64(n), resource.DecimalSI) }
func gi(n int) resource.Quantity    { return *resource.NewQuantity(int64(n)<<30, resource.BinarySI) }

func (g source) node(i int) *v1.Node {
	name := fmt.Sprint("n", i)
	n := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name), Labels: map[string]string{v1.LabelHostname: name}}}
	if !g.p(7) {
		n.Labels["zone"] = pick(g, "a", "b", "c")
	}
	n.Labels["disk"] = pick(g, "ssd", "hdd")
	n.Labels["pool"] = pick(g, "x", "x", "x", "y")
	n.Status.Allocatable = g.allocatable()
	n.Status.Capacity = n.Status.Allocatable
	taint := func(key, value string, effect v1.TaintEffect) {
		n.Spec.Taints = append(n.Spec.Taints, v1.Taint{Key: key, Value: value, Effect: effect})
	}
	ready := v1.ConditionTrue
	if g.p(7) {
		ready = pick(g, v1.ConditionFalse, v1.ConditionUnknown)
		taint("node.kubernetes.io/not-ready", "", v1.TaintEffectNoSchedule)
	}
	n.Status.Conditions = []v1.NodeCondition{{Type: v1.NodeReady, Status: ready}}
	if g.p(10) {
		n.Spec.Unschedulable = true
		if g.p(50) {
			taint("node.kubernetes.io/unschedulable", "", v1.TaintEffectNoSchedule)
		}
	}
	if g.p(25) {
		taint(pick(g, "ded", "odd"), pick(g, "", "v"),
			pick(g, v1.TaintEffectNoSchedule, v1.TaintEffectNoSchedule, v1.TaintEffectPreferNoSchedule, v1.TaintEffectNoExecute))
	}
	return n
}

func (g source) allocatable() v1.ResourceList {
	a := v1.ResourceList{
		v1.ResourceCPU:    milli(pick(g, 2000, 4000, 4000, 8000)),
		v1.ResourceMemory: gi(pick(g, 8, 16, 16, 32)),
		v1.ResourcePods:   count(pick(g, 110, 110, 6, 4)),
	}
	if g.p(70) {
		a[v1.ResourceEphemeralStorage] = gi(pick(g, 10, 20))
	}
	if g.p(40) {
		a[gpu] = count(pick(g, 1, 2, 4))
	}
	if g.p(30) {
		a[nic] = count(2)
	}
	return a
}

// world makes a cluster and a policy.
func (g source) world() world {
	w := world{core: g.p(50)}
	scale := 1
	if g.o.large {
		scale = 3
	}
	for i := range scale * (2 + g.IntN(5)) {
		w.o.Nodes = append(w.o.Nodes, g.node(i))
	}
	w.o.Namespaces, w.o.PriorityClasses, w.o.Claims = namespaces(), classes(), claims()
	m := newModel(&w)
	crowd := w.o.Nodes[:1+g.IntN(len(w.o.Nodes))] // nodes that get most of the pods
	for i := range scale * (1 + g.IntN(6)) {
		t := g.template(i)
		for j := range g.replicas(t) {
			n := pick(g, w.o.Nodes...)
			if g.p(70) {
				n = pick(g, crowd...)
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
	if !g.o.simple {
		w.o.Budgets = g.budgets(w.o.Pods)
	}
	return w
}

func (g source) replicas(template *v1.Pod) int {
	if !g.o.large {
		return 1 + g.IntN(5)
	}
	if g.p(15) { // small ones, as many as a node takes
		template.Spec.Containers[0].Resources, template.Spec.InitContainers = v1.ResourceRequirements{}, nil
		return 140
	}
	return pick(g, 2, 5, 10, 20)
}

func (g source) budgets(pods []*v1.Pod) (of []*policyv1.PodDisruptionBudget) {
	apps := map[[2]string]bool{}
	for _, p := range pods {
		apps[[2]string{p.Namespace, p.Labels["app"]}] = true
	}
	for i, app := range slices.SortedFunc(maps.Keys(apps), func(a, b [2]string) int { return slices.Compare(a[:], b[:]) }) {
		for j := range 2 {
			if g.p(25 - 15*j) {
				b := g.budget(app[0], app[1])
				b.Name = fmt.Sprint("b", i, "-", j)
				b.UID = types.UID(b.Name)
				of = append(of, b)
			}
		}
	}
	for _, b := range of {
		fill(b, pods)
		if g.p(4) {
			b.Generation = 2 // the status is of an older spec
		}
	}
	return of
}

func (g source) budget(namespace, app string) *policyv1.PodDisruptionBudget {
	b := &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Generation: 1},
		Spec:       policyv1.PodDisruptionBudgetSpec{Selector: selectApp(app)},
	}
	if g.p(20) {
		b.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"tier": "web"}}
	}
	if g.p(6) {
		b.Spec.Selector = pick(g, &metav1.LabelSelector{}, nil)
	}
	v := pick(g, intstr.FromInt32(1), intstr.FromInt32(2), intstr.FromString("30%"), intstr.FromString("50%"), intstr.FromInt32(0))
	if g.p(50) {
		b.Spec.MaxUnavailable = &v
	} else {
		b.Spec.MinAvailable = &v
	}
	if g.p(40) {
		b.Spec.UnhealthyPodEvictionPolicy = new(pick(g, policyv1.IfHealthyBudget, policyv1.AlwaysAllow))
	}
	return b
}

func selectApp(app string) *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}}
}
