package feasibility

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"
	frameworkruntime "k8s.io/kubernetes/pkg/scheduler/framework/runtime"

	internalcache "k8s.io/kubernetes/pkg/scheduler/backend/cache"
)

// A history is what was set, kept in the plainest way, with which a Checker is compared.
type history struct {
	*rand.Rand
	nodes map[string]*v1.Node
	pods  map[string]*v1.Pod
	made  int
}

func newHistory(seed uint64) *history {
	return &history{
		Rand: rand.New(rand.NewPCG(seed, 1)), nodes: make(map[string]*v1.Node), pods: make(map[string]*v1.Pod),
	}
}

func (h *history) oneOf(texts ...string) string { return texts[h.IntN(len(texts))] }
func (h *history) nodeName() string             { return fmt.Sprintf("n%d", h.IntN(8)) }
func (h *history) app() string                  { return h.oneOf("a", "b", "c") }
func (h *history) topology() string {
	return h.oneOf(v1.LabelHostname, v1.LabelTopologyZone)
}

// node is one with a bit of everything that filters look at.
func (h *history) node() *v1.Node {
	node := aNode(h.nodeName(), h.oneOf("z1", "z2", "z3"), "disk="+h.oneOf("ssd", "hdd"))
	node.Status.Allocatable = amounts(h.oneOf("cpu=4 memory=8Gi pods=5", "cpu=2 memory=8Gi pods=9 example.com/gpu=2"))
	node.Spec.Unschedulable = h.IntN(12) == 0
	if h.IntN(6) == 0 {
		node.Spec.Taints = []v1.Taint{{Key: "k", Value: "v", Effect: v1.TaintEffectNoSchedule}}
	}
	return node
}

// pod is one with up to three of the things that filters look at.
func (h *history) pod() *v1.Pod {
	h.made++
	pod := aPod(fmt.Sprintf("p%d", h.made), labelled("app", h.app()), inNamespace(h.oneOf("team", "other")))
	for range h.IntN(4) {
		h.edits()[h.IntN(len(h.edits()))](pod)
	}
	return pod
}

func (h *history) edits() []func(*v1.Pod) {
	return []func(*v1.Pod){
		requests(h.oneOf("cpu=1", "cpu=500m memory=3Gi", "example.com/gpu=1")),
		hostPorts(int32(80 + h.IntN(3))),
		selecting("disk", h.oneOf("ssd", "hdd")),
		tolerating("k"),
		near("app", h.app(), h.topology()),
		apart("app", h.app(), h.topology()),
		spread("app", h.app(), h.topology()),
		disk(h.oneOf("d1", "d2")),
		onNodes(named(h.nodeName()), named(h.nodeName())),
		func(pod *v1.Pod) { pod.Labels["tier"] = h.oneOf("1", "2") },
		claiming(h.oneOf("shared", "once")),
		func(pod *v1.Pod) {
			near("app", h.app(), h.topology())(pod)
			h.widen(pod.Spec.Affinity.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution)
		},
		func(pod *v1.Pod) {
			apart("app", h.app(), h.topology())(pod)
			h.widen(pod.Spec.Affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution)
		},
		func(pod *v1.Pod) {
			spread("app", h.app(), h.topology())(pod)
			last := &pod.Spec.TopologySpreadConstraints[len(pod.Spec.TopologySpreadConstraints)-1]
			last.LabelSelector, last.MaxSkew = h.selector(), 2
			if h.IntN(3) == 0 {
				last.WhenUnsatisfiable = v1.ScheduleAnyway
			}
		},
	}
}

// widen gives a term another selector, or other namespaces.
func (h *history) widen(terms []v1.PodAffinityTerm) {
	switch h.IntN(4) {
	case 0:
		terms[0].Namespaces = []string{"team", "other"}
	case 1:
		terms[0].NamespaceSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"name": h.oneOf("team", "other")}}
	default:
		terms[0].LabelSelector = h.selector()
	}
}

// selector is one of every kind there is.
func (h *history) selector() *metav1.LabelSelector {
	expression := func(key string, operator metav1.LabelSelectorOperator, values ...string) *metav1.LabelSelector {
		return &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: key, Operator: operator, Values: values}}}
	}
	switch h.IntN(7) {
	case 0:
		return nil
	case 1:
		return &metav1.LabelSelector{}
	case 2:
		return expression("app", metav1.LabelSelectorOpIn, "a", h.app())
	case 3:
		return expression("tier", metav1.LabelSelectorOpExists)
	case 4:
		return expression("app", metav1.LabelSelectorOpNotIn, h.app())
	case 5:
		return expression("tier", metav1.LabelSelectorOpDoesNotExist)
	default:
		return &metav1.LabelSelector{MatchLabels: map[string]string{"app": h.app(), "tier": h.oneOf("1", "2")}}
	}
}

// step changes both sides in the same way.
func (h *history) step(c *Checker) {
	switch h.IntN(10) {
	case 0, 1:
		node := h.node()
		h.nodes[node.Name] = node
		c.SetNode(node)
	case 2:
		name := h.nodeName()
		delete(h.nodes, name)
		c.RemoveNode(name)
	case 3, 4, 5, 6, 7:
		pod := h.pod()
		pod.Spec.NodeName = h.nodeName()
		h.pods[pod.Name] = pod
		c.SetPod(pod)
	case 8:
		if old := h.anyPod(); old != nil { // the same pod again: moved, resized or terminating
			pod := old.DeepCopy()
			pod.Spec.NodeName = h.oneOf(pod.Spec.NodeName, h.nodeName())
			pod.Spec.Containers[0].Resources.Requests = v1.ResourceList{v1.ResourceCPU: resource.MustParse(h.oneOf("1", "100m"))}
			if h.IntN(2) == 0 {
				pod.DeletionTimestamp = &pod.CreationTimestamp
			}
			h.pods[pod.Name] = pod
			c.SetPod(pod)
		}
	default:
		if pod := h.anyPod(); pod != nil {
			delete(h.pods, pod.Name)
			c.RemovePod(pod)
		}
	}
}

// anyPod is one of those that run, in an order that does not depend on the map.
func (h *history) anyPod() *v1.Pod {
	if len(h.pods) == 0 {
		return nil
	}
	names := sortedNames(h.pods)
	return h.pods[names[h.IntN(len(names))]]
}

// rebuilt answers with the framework of kube-scheduler on its own snapshot of the same
// objects, made anew.
func (h *history) rebuilt(t *testing.T, c *Checker, pod *v1.Pod, nodes []string) []string {
	t.Helper()
	return rebuiltAnswers(t, c, pod, h.nodes, h.pods, nodes)
}

func rebuiltAnswers(t *testing.T, c *Checker, pod *v1.Pod, known map[string]*v1.Node, running map[string]*v1.Pod, nodes []string) []string {
	t.Helper()
	var objects []*v1.Node
	for _, node := range known {
		objects = append(objects, node)
	}
	var pods []*v1.Pod
	for _, p := range running {
		if known[p.Spec.NodeName] != nil { // that snapshot has no pods without a node
			pods = append(pods, p)
		}
	}
	snapshot := recounted{internalcache.NewSnapshot(pods, objects), running}
	profile, err := profileOf(Options{})
	if err != nil {
		t.Fatal(err)
	}
	registry := plugins.NewInTreeRegistry()
	devices := registry[names.DynamicResources]
	registry[names.DynamicResources] = func(ctx context.Context, args runtime.Object, handle fwk.Handle) (fwk.Plugin, error) {
		return devices(ctx, args, otherInformers{handle})
	}
	f, err := frameworkruntime.NewFramework(t.Context(), registry, profile,
		frameworkruntime.WithClientSet(c.framework.ClientSet()), frameworkruntime.WithInformerFactory(c.factory),
		frameworkruntime.WithSnapshotSharedLister(snapshot), frameworkruntime.WithSharedDRAManager(c.framework.SharedDRAManager()),
		frameworkruntime.WithSharedCSIManager(c.framework.SharedCSIManager()), frameworkruntime.WithParallelism(1))
	if err != nil {
		t.Fatal(err)
	}
	state := framework.NewCycleState()
	result, status, _ := f.RunPreFilterPlugins(t.Context(), state, pod)
	answers := make([]string, len(nodes))
	for i, name := range nodes {
		info, err := snapshot.Get(name)
		switch {
		case err != nil:
			answers[i] = answer(ErrUnknownNode)
		case !status.IsSuccess():
			answers[i] = answer(errorOf(status))
		case !result.AllNodes() && !result.NodeNames.Has(name):
			answers[i] = "never: node(s) are not those that the pod names"
		default:
			answers[i] = answer(errorOf(f.RunFilterPlugins(t.Context(), state, pod, info)))
		}
	}
	return answers
}

// recounted is a snapshot in which pods of unknown nodes still use their claims.
type recounted struct {
	*internalcache.Snapshot
	running map[string]*v1.Pod
}

func (r recounted) StorageInfos() fwk.StorageInfoLister { return r }

func (r recounted) IsPVCUsedByPods(key string) bool {
	for _, pod := range r.running {
		for _, volume := range pod.Spec.Volumes {
			if claim := volume.PersistentVolumeClaim; claim != nil && pod.Namespace+"/"+claim.ClaimName == key {
				return true
			}
		}
	}
	return false
}

func texts(answers []error) []string {
	all := make([]string, len(answers))
	for i, err := range answers {
		all[i] = answer(err)
	}
	return all
}

var twinNodes = []string{"n0", "n1", "n2", "n3", "n4", "n5", "n6", "n7"}

// twinChecker knows the claims that pods of histories name. One of them may be used by
// one pod at a time.
func twinChecker(t *testing.T) *Checker {
	t.Helper()
	var objects []runtime.Object
	for _, namespace := range []string{"team", "other"} {
		shared, once := boundClaim(namespace, "shared", v1.ReadWriteMany), boundClaim(namespace, "once", v1.ReadWriteOncePod)
		objects = append(objects, shared, boundVolume(shared), once, boundVolume(once),
			namespaceOf(namespace, map[string]string{"name": namespace}))
	}
	c, _ := newChecker(t, Options{Workers: 2}, objects...)
	return c
}

// TestAnswersAreThoseOfARebuiltSnapshot changes nodes and pods at random, and asks after
// each few changes.
func TestAnswersAreThoseOfARebuiltSnapshot(t *testing.T) {
	yes, no := 0, 0
	for seed := range uint64(20) {
		c, h := twinChecker(t), newHistory(seed)
		for step := range 120 {
			h.step(c)
			if step%4 != 0 {
				continue
			}
			pod := h.pod()
			got, want := texts(c.CheckNodes(pod, twinNodes)), h.rebuilt(t, c, pod, twinNodes)
			if !slices.Equal(got, want) {
				t.Fatalf("seed %d, step %d, pod %s:\n%q\nwant\n%q", seed, step, pod.Name, got, want)
			}
			for _, text := range got {
				if text == "yes" {
					yes++
				} else {
					no++
				}
			}
		}
	}
	if yes < 300 || no < 300 {
		t.Errorf("the histories show little: %d yes, %d no", yes, no)
	}
	t.Logf("%d yes, %d no", yes, no)
}

// TestCheckWithIsCheckAfterTheChange asks about nodes that are changed in thought, and
// compares with a rebuilt snapshot on which they are changed.
func TestCheckWithIsCheckAfterTheChange(t *testing.T) {
	yes, helped := 0, 0
	for seed := range uint64(20) {
		c, h := twinChecker(t), newHistory(seed+100)
		for step := range 160 {
			h.step(c)
			if step < 40 || step%4 != 0 {
				continue
			}
			pod, node := h.pod(), h.nodeName()
			add, remove := h.pickChange(node)
			changed := make(map[string]*v1.Pod)
			for name, p := range h.pods {
				if !slices.Contains(remove, p) {
					changed[name] = p
				}
			}
			for _, p := range add {
				changed[p.Name] = on(p, node)
			}
			before := answer(c.Check(pod, node))
			got := answer(c.CheckWith(pod, node, add, remove))
			want := rebuiltAnswers(t, c, pod, h.nodes, changed, []string{node})[0]
			if got != want {
				t.Fatalf("seed %d, step %d, pod %s on %s with %d added, %d removed: %s\nwant %s",
					seed, step, pod.Name, node, len(add), len(remove), got, want)
			}
			if after := answer(c.Check(pod, node)); after != before {
				t.Fatalf("seed %d, step %d: the question changed the answer from %s to %s", seed, step, before, after)
			}
			if got == "yes" {
				yes++
				if before != "yes" {
					helped++
				}
			}
		}
	}
	if yes < 50 || helped < 5 {
		t.Errorf("the histories show little: %d yes, of which %d were no before", yes, helped)
	}
	t.Logf("%d yes, of which %d were no before", yes, helped)
}

// pickChange picks up to two new pods and some pods of a node.
func (h *history) pickChange(node string) (add, remove []*v1.Pod) {
	for range h.IntN(3) {
		add = append(add, h.pod())
	}
	for _, name := range sortedNames(h.pods) {
		if pod := h.pods[name]; pod.Spec.NodeName == node && h.IntN(2) == 0 {
			remove = append(remove, pod)
		}
	}
	return add, remove
}

func sortedNames(pods map[string]*v1.Pod) []string {
	names := make([]string, 0, len(pods))
	for name := range pods {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// otherInformers has a plugin name no index of the pods that the checker has.
type otherInformers struct{ fwk.Handle }

func (a otherInformers) SharedInformerFactory() informers.SharedInformerFactory {
	return informers.NewSharedInformerFactory(a.ClientSet(), 0)
}
