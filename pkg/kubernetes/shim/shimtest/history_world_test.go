package shimtest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	policy "k8s.io/api/policy/v1"
	scheduling "k8s.io/api/scheduling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	clienttesting "k8s.io/client-go/testing"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/feasibility"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/shim"
)

// historyConfigs are the configurations that a history goes through. The last is wrong.
var historyConfigs = []string{
	"partitions: [{name: default, preemption: {preemption_start_delay: 1s}, queues: [{name: root, queues: [{name: a}, {name: b}]}]}]",
	"partitions: [{name: default, queues: [{name: root, queues: [{name: a, resources: {max: {vcore: 4}}}, {name: b, resources: {guaranteed: {vcore: 2}}}]}]}]",
	"partitions: [{name: default, nodesortpolicy: {type: binpacking}, queues: [{name: root, queues: [{name: a}]}]}]",
	"nonsense",
}

// A historyWorld is a cluster to which things happen.
type historyWorld struct {
	tb      *probe
	genuine bool // the filters of kube-scheduler
	api     *API
	m       *MockScheduler
	config  string

	mu      sync.Mutex        // guards what follows: faults run in the goroutines of requests
	step    int               // counts how often it was waited until all is done
	made    int               // pods, so that each has a UID of its own
	touched map[string]int    // nodes, with the step in which they changed last
	told    map[string]bool   // UIDs of pods of which was said why they wait
	unfair  bool              // conditions of victims cannot be written
	wrong   []string          // laws that were broken while a step ran
	gangs   map[string]bool   // applications that had a member of a task group
	apps    map[string]string // application of a pod, as it was stated first, by UID
}

func newHistoryWorld(tb *probe, genuine bool) *historyWorld {
	w := &historyWorld{
		tb: tb, genuine: genuine, api: NewAPI(), config: historyConfigs[0],
		touched: map[string]int{}, told: map[string]bool{}, apps: map[string]string{}, gangs: map[string]bool{},
	}
	w.api.Serve(PodGroupResource.GroupVersion(), PodGroupResource.Resource)
	for _, namespace := range []string{metav1.NamespaceDefault, "other"} {
		w.api.must(w.api.tracker.Add(NewDaemonSet(namespace, "agents")))
	}
	w.api.PrependReactor("delete", "pods", w.checkVictim)
	w.start()
	return w
}

// start starts a scheduler on what the API server has.
func (w *historyWorld) start() {
	o := Options{API: w.api, Queues: w.config}
	stand := NewFeasibility()
	stand.OnReserve = w.checkPlacement
	stand.OnPreBind = func(*v1.Pod, string) error { time.Sleep(20 * time.Second); return nil }
	stand.Conflict = w.refuses
	o.Shim.Feasibility = slowOnly{stand}
	if w.genuine {
		o.Feasibility = func(ctx context.Context, client kubernetes.Interface, factory informers.SharedInformerFactory) (shim.Feasibility, error) {
			c, err := feasibility.New(ctx, client, factory, feasibility.Options{Workers: 1})
			return witness{c, w}, err
		}
	}
	w.m = New(w.tb, o)
	w.m.Feasibility = stand
	w.m.Start()
}

// slowOnly makes ready only what has volumes.
type slowOnly struct{ *Feasibility }

func (s slowOnly) PreBind(ctx context.Context, pod *v1.Pod, node string) error {
	if len(pod.Spec.Volumes) == 0 {
		return nil
	}
	return s.Feasibility.PreBind(ctx, pod, node)
}

// A witness sees which nodes are chosen.
type witness struct {
	*feasibility.Checker
	w *historyWorld
}

func (x witness) Reserve(ctx context.Context, pod *v1.Pod, node string) error {
	if err := x.Checker.Reserve(ctx, pod, node); err != nil {
		return err
	}
	return x.w.checkPlacement(pod, node)
}

func (w *historyWorld) play(s historyStep) {
	for _, v := range historyVerbs {
		if v.name == s.verb {
			v.do(w, s)
			return
		}
	}
	w.tb.Fatalf("verb %q is not known", s.verb)
}

var (
	nodeResource      = v1.SchemeGroupVersion.WithResource("nodes")
	namespaceResource = v1.SchemeGroupVersion.WithResource("namespaces")
	classResource     = scheduling.SchemeGroupVersion.WithResource("priorityclasses")
	budgetResource    = policy.SchemeGroupVersion.WithResource("poddisruptionbudgets")
)

func (w *historyWorld) node(name string) *v1.Node {
	object, err := w.api.tracker.Get(nodeResource, "", name)
	if err != nil {
		return nil
	}
	return object.(*v1.Node)
}

// pod is a pod by its number, nil if there is none.
func (w *historyWorld) pod(number int) *v1.Pod {
	pod, err := w.api.pod(namespaceOf(number), podName(number))
	if err != nil {
		return nil
	}
	return pod
}

func (w *historyWorld) pods() []v1.Pod {
	list, err := w.api.CoreV1().Pods(metav1.NamespaceAll).List(context.Background(), metav1.ListOptions{})
	w.api.must(err)
	return list.Items
}

func nodeName(number int) string { return fmt.Sprint("node-", number%4) }
func podName(number int) string  { return fmt.Sprint("pod-", number) }

// namespaceOf spreads pods over two namespaces.
func namespaceOf(number int) string {
	if number%4 == 3 {
		return "other"
	}
	return metav1.NamespaceDefault
}

// set adds an object or replaces it.
func (w *historyWorld) set(resource schema.GroupVersionResource, object runtime.Object, namespace string) {
	if w.api.tracker.Update(resource, object, namespace) != nil {
		w.api.must(w.api.tracker.Create(resource, object, namespace))
	}
}

// touch notes that a node changes.
func (w *historyWorld) touch(node string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.touched[node] = w.step
}

// note notes the application of a pod that is made.
func (w *historyWorld) note(pod *v1.Pod) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.apps[string(pod.UID)] = pod.Labels["applicationId"]
}

// changePod changes a pod if there is one.
func (w *historyWorld) changePod(number int, change func(*v1.Pod)) {
	w.api.changing.Lock()
	defer w.api.changing.Unlock()
	if pod := w.pod(number); pod != nil {
		pod = pod.DeepCopy()
		change(pod)
		_ = w.api.tracker.Update(podResource, pod, pod.Namespace)
	}
}

func (w *historyWorld) changeNode(number int, change func(*v1.Node)) {
	if node := w.node(nodeName(number)); node != nil {
		w.touch(node.Name)
		node = node.DeepCopy()
		change(node)
		w.api.must(w.api.tracker.Update(nodeResource, node, ""))
	}
}

func cpuOf(units int) v1.ResourceList {
	return v1.ResourceList{v1.ResourceCPU: *resource.NewQuantity(int64(units), resource.DecimalSI)}
}

func (w *historyWorld) addNode(s historyStep) {
	if w.node(nodeName(s.a)) == nil {
		w.touch(nodeName(s.a))
		w.set(nodeResource, NewNode(nodeName(s.a), fmt.Sprintf("cpu=%d pods=%d", 2+s.b%4*2, 3+s.c%8)), "")
	}
}

func (w *historyWorld) removeNode(s historyStep) {
	if w.node(nodeName(s.a)) != nil {
		w.touch(nodeName(s.a))
		w.api.must(w.api.tracker.Delete(nodeResource, "", nodeName(s.a)))
	}
}

func (w *historyWorld) cordon(s historyStep) {
	w.changeNode(s.a, func(n *v1.Node) { n.Spec.Unschedulable = !n.Spec.Unschedulable })
}

func (w *historyWorld) taint(s historyStep) {
	w.changeNode(s.a, func(n *v1.Node) {
		if n.Spec.Taints != nil {
			n.Spec.Taints = nil
			return
		}
		n.Spec.Taints = []v1.Taint{{Key: "broken", Effect: v1.TaintEffectNoSchedule}}
	})
}

func (w *historyWorld) resizeNode(s historyStep) {
	w.changeNode(s.a, func(n *v1.Node) { n.Status.Allocatable[v1.ResourceCPU] = cpuOf(1 + s.b%8)[v1.ResourceCPU] })
}

func (w *historyWorld) budget(s historyStep) {
	budget := &policy.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: fmt.Sprint("budget-", s.a%2)},
		Spec:       policy.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"applicationId": fmt.Sprint("app-", s.a%3)}}},
		Status:     policy.PodDisruptionBudgetStatus{DisruptionsAllowed: int32(s.b % 3)},
	}
	if s.b == 15 {
		_ = w.api.tracker.Delete(budgetResource, budget.Namespace, budget.Name)
		return
	}
	w.set(budgetResource, budget, budget.Namespace)
}

func (w *historyWorld) class(s historyStep) {
	class := &scheduling.PriorityClass{
		ObjectMeta: metav1.ObjectMeta{Name: "class", Annotations: map[string]string{"yunikorn.apache.org/allow-preemption": fmt.Sprint(s.a%2 == 0)}}, Value: 10,
	}
	w.set(classResource, class, "")
}

// namespace adds or removes the second namespace. One with pods in it may go, as the
// informers of pods and namespaces are not in step.
func (w *historyWorld) namespace(s historyStep) {
	if s.b%3 == 0 {
		_ = w.api.tracker.Delete(namespaceResource, "", "other")
		return
	}
	w.set(namespaceResource, &v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "other"}}, "")
}

func (w *historyWorld) configure(s historyStep) {
	next := historyConfigs[s.b%len(historyConfigs)]
	if err := w.m.Configure(shim.Configuration{Queues: next}, nil, nil); err == nil {
		w.config = next
	}
}

func (w *historyWorld) wait(s historyStep) { time.Sleep(time.Duration(1+s.b*s.b) * time.Second / 3) }

// restart ends the scheduler and starts another one.
func (w *historyWorld) restart(historyStep) {
	w.noteTold()
	w.m.Stop()
	w.start()
}

// historyFailures are the errors of bindings.
var historyFailures = []error{
	apierrors.NewTooManyRequests("busy", 1), context.DeadlineExceeded, apierrors.NewInternalError(errors.New("the server broke")),
	apierrors.NewForbidden(schema.GroupResource{Resource: "pods/binding"}, "pod", errors.New("a webhook refuses it")),
}

// faults has requests fail in some way until the next such step. What fails depends on the
// pod and not on the order of requests.
func (w *historyWorld) faults(s historyStep) {
	tried := map[string]int{}
	f := Faults{}
	if s.a < 9 {
		f.Bind = func(pod *v1.Pod, node string) (bool, error) {
			if tried[pod.Name]++; tried[pod.Name] > 1+s.b%4 {
				return true, nil
			}
			return w.failBinding(s, pod, node)
		}
	}
	failing := func(is bool) func(string) error {
		if !is {
			return nil
		}
		return func(string) error { return historyFailures[2] }
	}
	f.Get, f.Delete, f.Patch = failing(s.c%4 == 1), failing(s.c/4%4 == 1), failing(s.c/16%8 == 1)
	w.mu.Lock()
	w.unfair = w.unfair || f.Patch != nil
	w.mu.Unlock()
	w.api.Fail(f)
}

// failBinding is how one binding fails.
func (w *historyWorld) failBinding(s historyStep, pod *v1.Pod, node string) (carriedOut bool, err error) {
	number := 0
	_, _ = fmt.Sscanf(pod.Name, "pod-%d", &number)
	at := historyStep{"", number, s.b, s.c}
	switch s.a {
	case 0, 1, 2, 3:
		return s.b%2 == 0 && s.a == 1 || s.a == 2, historyFailures[s.a]
	case 4:
		w.endPod(at)
	case 5:
		w.deletePod(at)
	case 6:
		w.recreatePod(at)
	case 7:
		w.bindPod(at)
	case 8:
		w.touch(node)
		_ = w.api.tracker.Delete(nodeResource, "", node)
		return true, nil
	}
	return s.b%2 == 0, historyFailures[1]
}

// checkVictim is asked before a pod is deleted: one that the scheduler deletes has a
// condition that says why.
func (w *historyWorld) checkVictim(action clienttesting.Action) (bool, runtime.Object, error) {
	request := action.(clienttesting.DeleteActionImpl)
	w.mu.Lock()
	defer w.mu.Unlock()
	if p := request.DeleteOptions.Preconditions; p == nil || p.UID == nil || w.unfair {
		return false, nil, nil
	}
	pod, err := w.api.pod(request.Namespace, request.Name)
	// What ends with its gang is no victim, whether its place is taken or the gang took too long.
	if err != nil || w.gangs[pod.Labels["applicationId"]] {
		return false, nil, nil
	}
	for _, c := range pod.Status.Conditions {
		if c.Type == v1.DisruptionTarget && c.Status == v1.ConditionTrue {
			return false, nil, nil
		}
	}
	w.wrong = append(w.wrong, fmt.Sprintf("victim %s has no condition", pod.Name))
	return false, nil, nil
}

var _ testing.TB = (*probe)(nil)
