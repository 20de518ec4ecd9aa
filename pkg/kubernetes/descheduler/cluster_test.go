package descheduler

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/framework"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/frameworktest/places"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/policy"
)

// start is the time at which tests begin.
var start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// newNode makes a node that is ready.
func newNode(name string, edits ...func(*v1.Node)) *v1.Node {
	n := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"name": name}}}
	n.Status.Conditions = []v1.NodeCondition{{Type: v1.NodeReady, Status: v1.ConditionTrue}}
	n.Status.Allocatable = v1.ResourceList{v1.ResourcePods: resource.MustParse("100k")}
	for _, edit := range edits {
		edit(n)
	}
	return n
}

func notReady(n *v1.Node) { n.Status.Conditions[0].Status = v1.ConditionUnknown }

// newPod makes a running pod of a workload; an empty workload is none.
func newPod(namespace, name, node, workload string, edits ...func(*v1.Pod)) *v1.Pod {
	p := &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: name, UID: types.UID("uid-" + namespace + "-" + name),
			CreationTimestamp: metav1.NewTime(start.Add(-time.Hour)), Labels: map[string]string{"app": workload},
		},
		Spec:   v1.PodSpec{NodeName: node},
		Status: v1.PodStatus{Phase: v1.PodRunning, Conditions: []v1.PodCondition{{Type: v1.PodReady, Status: v1.ConditionTrue}}},
	}
	if workload != "" {
		controller := true
		p.OwnerReferences = []metav1.OwnerReference{{Kind: "ReplicaSet", Name: workload, Controller: &controller}}
	}
	for _, edit := range edits {
		edit(p)
	}
	return p
}

func createdAt(at time.Time) func(*v1.Pod) {
	return func(p *v1.Pod) { p.CreationTimestamp = metav1.NewTime(at.Truncate(time.Second)) }
}

// A scripted plugin does what its functions say, at all points.
type scripted struct {
	name       string
	handle     framework.Handle // of the instance built last
	deschedule func(ctx context.Context, h framework.Handle, nodes []*v1.Node) error
	balance    func(ctx context.Context, h framework.Handle, nodes []*v1.Node) error
	filter     func(pod *v1.Pod) error
	pre        func(pod *v1.Pod) error
	evict      func(ctx context.Context, pod *v1.Pod, o framework.EvictOptions) error
	preSort    func(nodes []*v1.Node) []*v1.Node
	less       func(a, b *v1.Pod) bool
	run        func(ctx context.Context, h framework.Handle) error
	budgetless bool
	repeats    bool
	takeBack   func(context.Context, framework.Handle, func(framework.Asker) bool) error
}

func (s *scripted) Name() string         { return s.name }
func (s *scripted) IgnoresBudgets() bool { return s.budgetless }
func (s *scripted) Repeats() bool        { return s.repeats }

// An instance is a scripted plugin in one profile.
type instance struct {
	*scripted
	handle framework.Handle
}

func (i instance) Deschedule(ctx context.Context, nodes []*v1.Node) *framework.Status {
	if i.deschedule == nil {
		return nil
	}
	return &framework.Status{Err: i.deschedule(ctx, i.handle, nodes)}
}

func (i instance) Balance(ctx context.Context, nodes []*v1.Node) *framework.Status {
	if i.balance == nil {
		return nil
	}
	return &framework.Status{Err: i.balance(ctx, i.handle, nodes)}
}

func (i instance) Run(ctx context.Context) error { return i.run(ctx, i.handle) }

func (s *scripted) Filter(pod *v1.Pod) error {
	if s.filter == nil {
		return nil
	}
	return s.filter(pod)
}

func (s *scripted) PreEvictionFilter(pod *v1.Pod) error {
	if s.pre == nil {
		return nil
	}
	return s.pre(pod)
}

func (s *scripted) EvictPod(ctx context.Context, pod *v1.Pod, o framework.EvictOptions) error {
	if s.evict == nil {
		return nil
	}
	return s.evict(ctx, pod, o)
}

func (s *scripted) PreSort(nodes []*v1.Node) []*v1.Node { return s.preSort(nodes) }
func (s *scripted) Less(a, b *v1.Pod) bool              { return s.less(a, b) }

// evictAll is a plugin that wants to have every pod evicted, node by node, and obeys.
func evictAll(ctx context.Context, h framework.Handle, nodes []*v1.Node) error {
	for _, n := range nodes {
		pods := h.Snapshot().PodsOn(n.Name)
		slices.SortFunc(pods, func(a, b *v1.Pod) int {
			if h.Less(a, b) {
				return -1
			}
			return 1
		})
		for _, p := range pods {
			if !h.Evictor().Filter(p) {
				continue
			}
			err := h.Evictor().EvictPod(ctx, p, framework.EvictOptions{Reason: "all go"})
			switch framework.StopAfter(err) {
			case framework.StopPlugin:
				if err != nil {
					return nil
				}
			case framework.StopNode:
				continue
			}
		}
	}
	return nil
}

// A world is a cluster in memory, and a descheduler for it.
type world struct {
	t       testing.TB
	nodes   []*v1.Node
	pods    []*v1.Pod
	objects framework.Objects // the rest
	clock   *clocktesting.FakeClock
	options Options
	policy  *policy.Policy
	plugins []*scripted
	wrap    func(instance) framework.Plugin // nil: as it is
	d       *Descheduler
	evicted []string // by the evict plugin, as namespace/name
}

// newWorld has nodes a, b and c, and one profile of the plugin All, which evicts all pods.
func newWorld(t testing.TB, pods ...*v1.Pod) *world {
	w := &world{
		t: t, pods: pods, clock: clocktesting.NewFakeClock(start),
		nodes: []*v1.Node{newNode("a"), newNode("b"), newNode("c")},
		policy: &policy.Policy{
			NodeSelector: labels.Everything(),
			Profiles:     []policy.Profile{profileOf("p", framework.Deschedule, "All")},
		},
	}
	w.options = Options{
		Clock: w.clock, Landing: places.New(t), ControllerLanding: places.New(t),
		Objects: func() (framework.Objects, error) {
			o := w.objects
			o.Nodes, o.Pods = w.nodes, w.pods
			return o, nil
		},
	}
	w.plugins = []*scripted{
		{name: "All", deschedule: evictAll, balance: evictAll},
		{name: "Evict", evict: func(_ context.Context, pod *v1.Pod, _ framework.EvictOptions) error {
			w.evicted = append(w.evicted, pod.Namespace+"/"+pod.Name)
			return nil
		}},
	}
	return w
}

// profileOf is a profile with one plugin at one point, besides the evict plugin.
func profileOf(name string, point framework.Point, plugin string) policy.Profile {
	return policy.Profile{
		Name: name, NodeSelector: labels.Everything(),
		Plugins: map[framework.Point][]string{point: {plugin}, framework.Evict: {"Evict"}},
	}
}

// plugin finds a scripted plugin.
func (w *world) plugin(name string) *scripted {
	for _, p := range w.plugins {
		if p.name == name {
			return p
		}
	}
	w.t.Fatalf("no plugin %s", name)
	return nil
}

func (w *world) registry() *framework.Registry {
	r := &framework.Registry{}
	for _, p := range w.plugins {
		assert.NilError(w.t, r.Register(framework.Definition{
			Name: p.name, Points: framework.Points(), TakeBack: p.takeBack,
			New: func(_ context.Context, _ any, h framework.Handle) (framework.Plugin, error) {
				p.handle = h
				if w.wrap != nil {
					return w.wrap(instance{p, h}), nil
				}
				return instance{p, h}, nil
			},
		}))
	}
	return r
}

// build makes the descheduler; later calls return the same one.
func (w *world) build() *Descheduler {
	w.t.Helper()
	if w.d == nil {
		d, err := New(w.t.Context(), w.policy, w.registry(), w.options)
		assert.NilError(w.t, err)
		w.d = d
	}
	return w.d
}

// cycle runs one cycle that must have no failures, and returns the pods that it evicted.
func (w *world) cycle() []string {
	w.t.Helper()
	before := len(w.evicted)
	_, err := w.build().Cycle(w.t.Context())
	assert.NilError(w.t, err)
	return slices.Clone(w.evicted[before:])
}

// remove takes pods out of the cluster, as when they have ended.
func (w *world) remove(names ...string) {
	w.pods = slices.DeleteFunc(slices.Clone(w.pods), func(p *v1.Pod) bool { return slices.Contains(names, p.Namespace+"/"+p.Name) })
}

// rooms is a Landing in which every node takes so many pods. The node where a pod ran is
// taken last.
type rooms struct {
	snapshot *framework.Snapshot
	most     int
	booked   map[string]int
}

func (r *rooms) Fits(pod *v1.Pod, node string) error {
	n := r.booked[node]
	for _, other := range r.snapshot.PodsOn(node) {
		if other.UID != pod.UID {
			n++
		}
	}
	if n >= r.most {
		return errors.New("full")
	}
	return nil
}

func (r *rooms) Place(pod *v1.Pod, choice framework.Choice) (framework.Place, error) {
	unsuited := framework.Refusals{}
	for _, own := range []bool{false, true} {
		for _, n := range r.snapshot.Nodes() {
			if own != (n.Name == pod.Spec.NodeName) || r.Fits(pod, n.Name) != nil {
				continue
			}
			if unsuited[n.Name] = choice.Accepts(n.Name); unsuited[n.Name] == nil {
				return framework.Place{Node: n.Name}, nil
			}
		}
	}
	if len(unsuited) > 0 {
		return framework.Place{}, unsuited.Unsuited()
	}
	return framework.Place{}, errors.New("all nodes are full")
}

func (r *rooms) Book(_ *v1.Pod, node string) error {
	r.booked[node]++
	return nil
}

// CheckedBy implements framework.NamedLanding: rooms stand for the core.
func (r *rooms) CheckedBy() string { return checkedByCore }

// withRooms gives each cycle a landing of nodes that take so many pods.
func (w *world) withRooms(most int) {
	w.options.Landing = func(s *framework.Snapshot) (framework.Landing, error) {
		return &rooms{s, most, map[string]int{}}, nil
	}
}

// podsOf makes n pods of a workload on a node: team/<workload>-<node>-0 and so on.
func podsOf(n int, node, workload string) []*v1.Pod {
	var pods []*v1.Pod
	for i := range n {
		pods = append(pods, newPod("team", fmt.Sprintf("%s-%s-%d", workload, node, i), node, workload))
	}
	return pods
}
