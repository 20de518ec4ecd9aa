package shimtest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"
	v1 "k8s.io/api/core/v1"
	policy "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/pods"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/shim"
	"github.com/narwhal-scheduler/narwhal/pkg/scheduler"
)

// Options say what is tested. The zero value works: one queue "root.default", every pod may
// run on every node, evictions may begin at once.
type Options struct {
	Scheduler scheduler.Config // a SettleDelay of zero is none
	Shim      shim.Options     // what is missing there is filled in
	Queues    string           // YAML of the partitions
	API       *API             // of another MockScheduler, for a restart
	// Feasibility makes what knows where pods may run; nil is one of type Feasibility.
	Feasibility func(ctx context.Context, client kubernetes.Interface, factory informers.SharedInformerFactory) (shim.Feasibility, error)
	// Preferences makes what knows where pods had better run; nil is nothing.
	Preferences func(factory informers.SharedInformerFactory) (shim.Preferences, error)
}

// A MockScheduler is the shim with the real scheduler core. The verbs belong to one
// goroutine, that of the test. Those with which the cluster changes go to the API server,
// so that the shim hears of them from its informers.
type MockScheduler struct {
	*scheduler.Scheduler
	*shim.Context
	API         *API
	Feasibility *Feasibility
	t           testing.TB
	factory     informers.SharedInformerFactory
	told        *recorder
	stopped     bool
}

// New makes a scheduler that has not started. It must be called inside a bubble of
// testing/synctest. It stops when the test ends.
func New(t testing.TB, options Options) *MockScheduler {
	t.Helper()
	if options.Scheduler.SettleDelay == 0 {
		options.Scheduler.SettleDelay = -1
	}
	options.Scheduler.EchoAdopted = true
	s, err := scheduler.New(options.Scheduler)
	if err != nil {
		t.Fatalf("shimtest: %v", err)
	}
	m := &MockScheduler{Scheduler: s, API: options.API, Feasibility: NewFeasibility(), t: t, told: new(recorder)}
	if m.API == nil {
		m.API = NewAPI()
	}
	o := options.Shim
	o.Client, o.Dynamic, o.Core, o.Recorder = m.API, m.API.Dynamic, s, m.told
	m.factory = shim.NewFactory(m.API)
	if options.Feasibility != nil {
		ctx, cancel := context.WithCancel(context.Background())
		t.Cleanup(func() {
			cancel()
			time.Sleep(2 * time.Second) // in virtual time: plugins look for the end once in a second
		})
		if o.Feasibility, err = options.Feasibility(ctx, m.API, m.factory); err != nil {
			t.Fatalf("shimtest: %v", err)
		}
	}
	if options.Preferences != nil {
		if o.Preferences, err = options.Preferences(m.factory); err != nil {
			t.Fatalf("shimtest: %v", err)
		}
	}
	if o.Feasibility == nil {
		o.Feasibility = m.Feasibility
	}
	if len(o.Rules.SchedulerNames) == 0 {
		o.Rules.SchedulerNames = []string{SchedulerName}
	}
	if o.Logger == nil {
		o.Logger = zap.NewNop()
	}
	o.Config.Queues = options.Queues
	if m.Context, err = shim.New(o); err != nil {
		t.Fatalf("shimtest: %v", err)
	}
	t.Cleanup(m.Stop)
	return m
}

// Start starts it, and waits until it has recovered.
func (m *MockScheduler) Start() {
	m.t.Helper()
	m.Begin()
	m.Settle()
}

// Begin is Start without waiting for what follows.
func (m *MockScheduler) Begin() {
	m.t.Helper()
	if err := m.StartFor(context.Background()); err != nil {
		m.t.Fatalf("shimtest: %v", err)
	}
}

// StartFor starts it, or says why that was not done before the context ended.
func (m *MockScheduler) StartFor(ctx context.Context) error { return m.Context.Start(ctx, m.factory) }

// Stop stops it, as the end of a process does. Bindings under way have half a minute to end.
func (m *MockScheduler) Stop() {
	if m.stopped {
		return
	}
	m.stopped = true
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	m.Context.Stop(ctx)
	m.Scheduler.Stop()
}

// Settle waits until nothing happens any more but for timers, and checks the books.
func (m *MockScheduler) Settle() {
	m.t.Helper()
	synctest.Wait()
	for _, partition := range m.Partitions() {
		if err := m.Verify(context.Background(), partition); err != nil {
			m.t.Fatalf("shimtest: books of partition %s: %v", partition, err)
		}
	}
}

// Advance lets virtual time pass.
func (m *MockScheduler) Advance(d time.Duration) {
	m.t.Helper()
	time.Sleep(d)
	m.Settle()
}

// Create makes objects.
func (m *MockScheduler) Create(objects ...runtime.Object) {
	m.t.Helper()
	for _, object := range objects {
		if accessor, err := meta.Accessor(object); err == nil {
			if created := accessor.GetCreationTimestamp(); created.IsZero() {
				accessor.SetCreationTimestamp(metav1.NewTime(time.Now().Truncate(time.Second)))
			}
			if _, group := object.(*unstructured.Unstructured); group {
				accessor.SetUID(types.UID(fmt.Sprint("uid-", accessor.GetName(), "-", time.Now().Unix())))
			}
		}
		m.Put(object)
	}
	m.Settle()
}

// AddNode makes a node.
func (m *MockScheduler) AddNode(name, amounts string) { m.t.Helper(); m.Create(NewNode(name, amounts)) }

// ChangeNode changes a node.
func (m *MockScheduler) ChangeNode(name string, change func(*v1.Node)) {
	m.t.Helper()
	nodes := m.API.CoreV1().Nodes()
	node, err := nodes.Get(context.Background(), name, metav1.GetOptions{})
	if err == nil {
		change(node)
		_, err = nodes.Update(context.Background(), node, metav1.UpdateOptions{})
	}
	m.check(err)
}

// RemoveNode deletes a node. Its pods stay.
func (m *MockScheduler) RemoveNode(name string) {
	m.t.Helper()
	m.check(m.API.CoreV1().Nodes().Delete(context.Background(), name, metav1.DeleteOptions{}))
}

// AddPod makes a pod.
func (m *MockScheduler) AddPod(name, amounts string, options ...PodOption) *v1.Pod {
	m.t.Helper()
	pod := NewPod(name, amounts, options...)
	m.Create(pod)
	return pod
}

// ChangePod changes a pod.
func (m *MockScheduler) ChangePod(name string, change func(*v1.Pod)) {
	m.t.Helper()
	m.check(m.API.change(m.Pod(name), change))
}

// DeletePod deletes a pod as a user does: one with a node is terminating from then on.
func (m *MockScheduler) DeletePod(name string) {
	m.t.Helper()
	m.check(m.API.CoreV1().Pods(metav1.NamespaceDefault).Delete(context.Background(), name, metav1.DeleteOptions{}))
}

// EndPod takes a pod out of the API server, as the kubelet does when it has ended.
func (m *MockScheduler) EndPod(name string) {
	m.t.Helper()
	m.check(m.API.tracker.Delete(podResource, metav1.NamespaceDefault, name))
}

// check ends a verb.
func (m *MockScheduler) check(err error) {
	m.t.Helper()
	if err != nil {
		m.t.Fatalf("shimtest: %v", err)
	}
	m.Settle()
}

// Pod is a pod as the API server has it. The test ends if there is none.
func (m *MockScheduler) Pod(name string) *v1.Pod {
	m.t.Helper()
	pod, err := m.API.pod(metav1.NamespaceDefault, name)
	if err != nil {
		m.t.Fatalf("shimtest: %v", err)
	}
	return pod
}

// A NodeState is a node as the core has it, amounts as text.
type NodeState struct {
	Capacity, Occupied, Available, Allocated string
	Schedulable                              bool
	Allocations, Foreign                     int // how many there are
}

// Node is a node as the core has it; nil if it is not known.
func (m *MockScheduler) Node(name string) *NodeState {
	m.t.Helper()
	view, err := m.View(context.Background(), m.Partitions()[0])
	if err != nil {
		m.t.Fatalf("shimtest: %v", err)
	}
	text := m.Kinds().Format
	for _, n := range view.Nodes {
		if string(n.ID) == name {
			return &NodeState{
				text(n.Capacity), text(n.Occupied), text(n.Available), text(n.Allocated),
				n.Schedulable, len(n.Allocations), len(n.ForeignAllocations),
			}
		}
	}
	return nil
}

// Booked is every allocation and ask of the core, "name node" or "name -", sorted. Foreign
// pods end with " foreign".
func (m *MockScheduler) Booked() []string {
	m.t.Helper()
	view, err := m.View(context.Background(), m.Partitions()[0])
	if err != nil {
		m.t.Fatalf("shimtest: %v", err)
	}
	lines := []string{}
	line := func(key, node, more string) { lines = append(lines, strings.TrimPrefix(key, "uid-")+" "+node+more) }
	for _, node := range view.Nodes {
		for _, a := range node.Allocations {
			line(string(a.Key), string(a.Node), "")
		}
		for _, a := range node.ForeignAllocations {
			line(string(a.Key), string(a.Node), " foreign")
		}
	}
	for _, app := range view.Applications {
		for _, ask := range app.Asks {
			line(string(ask.Key), "-", "")
		}
	}
	slices.Sort(lines)
	return lines
}

// Expected is what Booked should be according to the API server.
func (m *MockScheduler) Expected() []string {
	m.t.Helper()
	lines := []string{}
	all, err := m.API.CoreV1().Pods(metav1.NamespaceAll).List(context.Background(), metav1.ListOptions{})
	if err != nil {
		m.t.Fatalf("shimtest: %v", err)
	}
	for i := range all.Items {
		pod := &all.Items[i]
		ours := pod.Spec.SchedulerName == SchedulerName
		known := m.Node(pod.Spec.NodeName) != nil
		switch {
		case pods.IsTerminal(pod) || pod.Spec.NodeName != "" && !known || pod.Spec.NodeName == "" && !ours:
		case pod.Spec.NodeName == "":
			lines = append(lines, pod.Name+" -")
		case ours:
			lines = append(lines, pod.Name+" "+pod.Spec.NodeName)
		default:
			lines = append(lines, pod.Name+" "+pod.Spec.NodeName+" foreign")
		}
	}
	slices.Sort(lines)
	return lines
}

// Events are the events so far, "pod reason: note", in order.
func (m *MockScheduler) Events() []string { return m.told.all() }

// A recorder keeps events.
type recorder struct {
	mu    sync.Mutex
	lines []string
}

// Record notes an event.
func (r *recorder) Record(e shim.Event) {
	name := "?"
	if accessor, err := meta.Accessor(e.About); err == nil {
		name = accessor.GetName()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lines = append(r.lines, name+" "+e.Reason+": "+e.Note)
}

func (r *recorder) all() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.lines)
}

// Tag is the values of a tag that the core has for pods, by name.
func (m *MockScheduler) Tag(tag string) map[string]string {
	m.t.Helper()
	view, err := m.View(context.Background(), m.Partitions()[0])
	if err != nil {
		m.t.Fatalf("shimtest: %v", err)
	}
	values := map[string]string{}
	note := func(key string, tags map[string]string) {
		if value, ok := tags[tag]; ok {
			values[strings.TrimPrefix(key, "uid-")] = value
		}
	}
	for _, node := range view.Nodes {
		for _, a := range node.Allocations {
			note(string(a.Key), a.Tags)
		}
		for _, a := range node.ForeignAllocations {
			note(string(a.Key), a.Tags)
		}
	}
	for _, app := range view.Applications {
		for _, ask := range app.Asks {
			note(string(ask.Key), ask.Tags)
		}
	}
	return values
}

// ChangeBudget replaces a disruption budget, as its controller does.
func (m *MockScheduler) ChangeBudget(budget *policy.PodDisruptionBudget) {
	m.t.Helper()
	m.check(m.API.tracker.Update(policy.SchemeGroupVersion.WithResource("poddisruptionbudgets"), budget, budget.Namespace))
}

// Put makes objects without waiting for what follows; outside of a bubble nothing can be
// waited for.
func (m *MockScheduler) Put(objects ...runtime.Object) {
	m.t.Helper()
	for _, object := range objects {
		tracker := m.API.tracker
		if _, group := object.(*unstructured.Unstructured); group {
			tracker = m.API.Dynamic.Tracker()
		}
		if err := tracker.Add(object); err != nil {
			m.t.Fatalf("shimtest: %v", err)
		}
	}
}
