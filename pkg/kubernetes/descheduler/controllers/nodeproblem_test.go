package controllers

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"gotest.tools/v3/assert"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	ktesting "k8s.io/client-go/testing"
	"k8s.io/utils/clock"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/evictors"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/framework"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/frameworktest/places"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/policy"
)

func newNode(name string) *v1.Node {
	n := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
	n.Status.Conditions = []v1.NodeCondition{{Type: v1.NodeReady, Status: v1.ConditionTrue}}
	n.Status.Allocatable = v1.ResourceList{v1.ResourcePods: resource.MustParse("110")}
	return n
}

func tainted(n *v1.Node) *v1.Node {
	n = n.DeepCopy()
	n.Spec.Taints = []v1.Taint{{Key: "problem", Value: "disk", Effect: v1.TaintEffectNoSchedule}}
	return n
}

func newPod(name, node string) *v1.Pod {
	controller := true
	return &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "team", Name: name, UID: types.UID("uid-" + name),
			OwnerReferences: []metav1.OwnerReference{{Kind: "ReplicaSet", Name: "web", Controller: &controller}},
		},
		Spec: v1.PodSpec{NodeName: node}, Status: v1.PodStatus{Phase: v1.PodRunning},
	}
}

// keep is a filter that keeps pods of a name. It counts how often it is asked about one of them: once in a turn.
type keep struct{ asked *atomic.Int64 }

func (keep) Name() string { return "Keep" }

func (k keep) Filter(pod *v1.Pod) error {
	if pod.Name == "kept" {
		k.asked.Add(1)
	}
	if strings.HasPrefix(pod.Name, "kept") {
		return errors.New("it is kept")
	}
	return nil
}

// A cluster is a fake API server with a descheduler.
type cluster struct {
	t       *testing.T
	client  *fake.Clientset
	begin   time.Time
	args    *NodeProblemArgs
	second  *NodeProblemArgs // of another profile; nil: there is none
	limits  policy.Limits
	soft    bool            // pods are asked for
	nodes   labels.Selector // of the policy; nil: all
	metrics *prometheus.Registry
	running *descheduler.Descheduler
	asked   atomic.Int64 // times a filter was about the pod kept

	mu      sync.Mutex
	evicted []string // with the second
	refuse  map[string]bool
	told    []string // events of nodes
}

// start runs a descheduler with NodeProblem until the test ends; the limits are those of a
// minute.
func start(t *testing.T, limits policy.Limits, objects ...runtime.Object) *cluster {
	return startWith(t, NodeProblemArgs{
		Taints: []string{"problem=disk"}, Conditions: []Condition{{Type: "KernelDeadlock"}, {Type: "Ready", Status: v1.ConditionUnknown}},
	}, limits, objects...)
}

func startWith(t *testing.T, args NodeProblemArgs, limits policy.Limits, objects ...runtime.Object) *cluster {
	c := newCluster(t, args, limits, objects...)
	c.run()
	return c
}

func newCluster(t *testing.T, args NodeProblemArgs, limits policy.Limits, objects ...runtime.Object) *cluster {
	args.RetryPeriod = metav1.Duration{Duration: 10 * time.Second}
	assert.NilError(t, validate(&args))
	c := &cluster{t: t, client: fake.NewClientset(objects...), begin: time.Now(), refuse: map[string]bool{}, args: &args, limits: limits}
	c.client.PrependReactor("create", "pods", c.evict)
	return c
}

// policy is that of the descheduler.
func (c *cluster) policy() *policy.Policy {
	evict := evictors.EvictionName
	if c.soft {
		evict = evictors.SoftName
	}
	profile := func(name string, args *NodeProblemArgs) policy.Profile {
		return policy.Profile{
			Name: name, NodeSelector: labels.Everything(),
			Plugins: map[framework.Point][]string{
				framework.Controller: {NodeProblemName}, framework.Evict: {evict}, framework.Filter: {"Keep"},
			},
			Args: map[string]any{NodeProblemName: args, evictors.EvictionName: &evictors.EvictionArgs{}, evictors.SoftName: &evictors.SoftArgs{Annotation: evictors.SoftAnnotation}},
		}
	}
	p := &policy.Policy{NodeSelector: cmp.Or(c.nodes, labels.Everything()), Limits: c.limits, Profiles: []policy.Profile{profile("problems", c.args)}}
	if c.second != nil {
		p.Profiles = append(p.Profiles, profile("second", c.second))
	}
	return p
}

// run runs a descheduler until it is stopped, or the test ends.
func (c *cluster) run() (stop func()) {
	t := c.t
	var r framework.Registry
	assert.NilError(t, r.Register(append(evictors.Register(), Register()...)...))
	assert.NilError(t, r.Register(framework.Definition{
		Name: "Keep", Points: []framework.Point{framework.Filter},
		New: func(context.Context, any, framework.Handle) (framework.Plugin, error) { return keep{&c.asked}, nil },
	}))
	factory := informers.NewSharedInformerFactory(c.client, 0)
	c.metrics = prometheus.NewPedanticRegistry()
	d, err := descheduler.New(t.Context(), c.policy(), &r, descheduler.Options{
		Client: c.client, Informers: factory, Clock: clock.RealClock{}, Interval: time.Hour, ControllerWindow: time.Minute,
		Landing: places.New(t), ControllerLanding: places.New(t), Recorder: c, Metrics: descheduler.NewMetrics(c.metrics),
	})
	assert.NilError(t, err)
	c.running = d
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- d.Run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		assert.NilError(t, <-ended)
		factory.Shutdown()
	})
	t.Cleanup(func() {
		stop()
		time.Sleep(places.EndingMax)
	})
	c.wait(time.Second) // the informers are filled
	return stop
}

// Eventf implements events.EventRecorder.
func (c *cluster) Eventf(about, _ runtime.Object, _, reason, _, note string, args ...any) {
	if node, ok := about.(*v1.Node); ok {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.told = append(c.told, fmt.Sprintf("%s %s: %s", node.Name, reason, fmt.Sprintf(note, args...)))
	}
}

// evict ends a pod as the API server does.
func (c *cluster) evict(a ktesting.Action) (bool, runtime.Object, error) {
	e, ok := a.(ktesting.CreateAction).GetObject().(*policyv1.Eviction)
	if !ok {
		return false, nil, nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.refuse[e.Name] {
		return true, nil, apierrors.NewTooManyRequests("budget", 0)
	}
	c.evicted = append(c.evicted, fmt.Sprintf("%ds %s", int(time.Since(c.begin).Seconds()), e.Name))
	if strings.HasPrefix(e.Name, "endless") { // it has a finalizer
		p := newPod(e.Name, "a")
		p.DeletionTimestamp = &metav1.Time{Time: time.Now()}
		return true, nil, c.client.Tracker().Update(v1.SchemeGroupVersion.WithResource("pods"), p, p.Namespace)
	}
	return true, nil, c.client.Tracker().Delete(v1.SchemeGroupVersion.WithResource("pods"), e.Namespace, e.Name)
}

// wait lets time pass, and then everything that has begun.
func (c *cluster) wait(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func (c *cluster) take() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	evicted := c.evicted
	c.evicted = nil
	return evicted
}

func (c *cluster) update(n *v1.Node) {
	_, err := c.client.CoreV1().Nodes().Update(c.t.Context(), n, metav1.UpdateOptions{})
	assert.NilError(c.t, err)
}

// TestPodsLeaveAProblemAtOnce: an event is enough, and no interval is waited for.
func TestPodsLeaveAProblemAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := start(t, policy.Limits{}, newNode("a"), newNode("b"), newPod("p1", "a"), newPod("p2", "a"), newPod("kept", "a"), newPod("p3", "b"))
		c.wait(time.Minute)
		assert.Equal(t, len(c.take()), 0)
		c.update(tainted(newNode("a")))
		c.wait(0)
		assert.DeepEqual(t, c.take(), []string{"61s p1", "61s p2"})
		c.wait(time.Second)
		// A pod that tolerates the problem stays, whenever it came, and also if the problem comes back.
		assert.NilError(t, c.client.Tracker().Add(tolerant(newPod("late", "a"), time.Now())))
		again := tainted(newNode("a"))
		again.Labels = map[string]string{"changed": "yes"}
		c.update(again)
		c.wait(time.Minute)
		assert.Equal(t, len(c.take()), 0)
		// The problem is over and comes back.
		c.update(newNode("a"))
		c.wait(time.Second)
		c.update(tainted(newNode("a")))
		c.wait(0)
		assert.Equal(t, len(c.take()), 0)
		c.update(newNode("a"))
		for i, problem := range []v1.NodeCondition{
			{Type: "KernelDeadlock", Status: v1.ConditionTrue}, {Type: v1.NodeReady, Status: v1.ConditionUnknown},
		} {
			assert.NilError(t, c.client.Tracker().Add(newPod(fmt.Sprint("q", i), "b")))
			c.wait(0) // its informer hears of it before that of nodes
			n := newNode("b")
			n.Status.Conditions = []v1.NodeCondition{problem}
			c.update(n)
			c.wait(time.Second)
			assert.Assert(t, len(c.take()) > 0, problem.Type)
			c.update(newNode("b"))
			c.wait(time.Second)
		}
	})
}

// tolerant is a pod that tolerates the problem, and got its node at a time.
func tolerant(p *v1.Pod, placed time.Time) *v1.Pod {
	p.Spec.Tolerations = []v1.Toleration{{Key: "problem", Operator: v1.TolerationOpExists}}
	p.Status.Conditions = []v1.PodCondition{{Type: v1.PodScheduled, Status: v1.ConditionTrue, LastTransitionTime: metav1.NewTime(placed)}}
	return p
}

// TestPodsThatAreHeardOfAfterTheProblem: one that a scheduler had placed before goes too, as
// soon as it is heard of; one that was placed in spite of the problem stays, also where
// others of its node are tried again.
func TestPodsThatAreHeardOfAfterTheProblem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := start(t, policy.Limits{}, newNode("a"), newNode("b"), newNode("c"), newPod("waits", ""), newPod("refused", "a"))
		c.refuse["refused"] = true
		c.update(tainted(newNode("a")))
		c.wait(2 * time.Second)
		assert.Equal(t, len(c.take()), 0)
		add := func(p *v1.Pod) {
			assert.NilError(t, c.client.Tracker().Add(p))
			c.wait(0)
		}
		add(newPod("early", "a"))
		assert.DeepEqual(t, c.take(), []string{"3s early"})
		bound := newPod("waits", "a")
		_, err := c.client.CoreV1().Pods("team").Update(t.Context(), bound, metav1.UpdateOptions{})
		assert.NilError(t, err)
		c.wait(0)
		assert.DeepEqual(t, c.take(), []string{"3s waits"})
		add(tolerant(newPod("tolerant", "a"), c.begin)) // although it was placed before the problem
		add(tolerant(newPod("newcomer", "a"), time.Now()))
		add(newPod("elsewhere", "b"))
		c.wait(time.Minute)
		assert.Equal(t, len(c.take()), 0)

		// A condition keeps no scheduler away, so the time decides.
		n := newNode("b")
		n.Status.Conditions = []v1.NodeCondition{{
			Type: "KernelDeadlock", Status: v1.ConditionTrue, LastTransitionTime: metav1.NewTime(c.begin.Add(30 * time.Second)),
		}}
		c.update(n)
		c.wait(0)
		assert.DeepEqual(t, c.take(), []string{"63s elsewhere"})
		placed := func(name string, after time.Duration) {
			p := tolerant(newPod(name, "b"), c.begin.Add(after))
			p.Spec.Tolerations = nil
			add(p)
		}
		placed("before", 30*time.Second)
		placed("after", 31*time.Second)
		assert.DeepEqual(t, c.take(), []string{"63s before"})

		// A node that comes back under its name with a problem got it anew.
		assert.NilError(t, c.client.Tracker().Delete(v1.SchemeGroupVersion.WithResource("nodes"), "", "b"))
		c.wait(0)
		add(newPod("orphan", "b"))
		c.wait(5 * time.Second)
		assert.NilError(t, c.client.Tracker().Add(n))
		c.wait(0)
		assert.DeepEqual(t, c.take(), []string{"68s orphan"})
	})
}

// TestNoPodComesBackToAProblem: one that has no place but on its own node stays there.
func TestNoPodComesBackToAProblem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newNode("b")
		b.Spec.Unschedulable = true
		c := start(t, policy.Limits{}, newNode("a"), b, newPod("p", "a"))
		n := newNode("a") // with a condition, at which no scheduler looks
		n.Status.Conditions = []v1.NodeCondition{{Type: "KernelDeadlock", Status: v1.ConditionTrue}}
		c.update(n)
		c.wait(time.Minute)
		assert.Equal(t, len(c.take()), 0)
		c.update(newNode("b"))
		c.wait(time.Minute)
		assert.Equal(t, len(c.take()), 1)
	})
}

// TestProblemsBeforeTheStart are seen too.
func TestProblemsBeforeTheStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := start(t, policy.Limits{}, tainted(newNode("a")), newNode("b"), newPod("p1", "a"))
		assert.Equal(t, len(c.take()), 1)
	})
}

// TestProblemsWithinLimits: what a limit or a budget keeps is tried again, in any minute no
// more than the limit.
func TestProblemsWithinLimits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		two := 2
		objects := []runtime.Object{newNode("a"), newNode("b")}
		for i := range 5 {
			objects = append(objects, newPod(fmt.Sprint("p", i), "a"))
		}
		c := start(t, policy.Limits{PerNode: &two}, objects...)
		c.refuse["p0"] = true
		c.update(tainted(newNode("a")))
		c.wait(5 * time.Minute)
		evicted := c.take()
		assert.DeepEqual(t, evicted, []string{"1s p1", "1s p2", "61s p3", "61s p4"})
		// As long as nothing happens it is not tried again, and when something does, not often.
		before := len(c.client.Actions())
		c.wait(time.Hour)
		assert.Equal(t, len(c.client.Actions()), before)
		for range 60 {
			c.update(tainted(newNode("a")))
			c.wait(time.Minute)
		}
		asked := len(c.client.Actions()) - before - 60
		assert.Assert(t, asked >= 10 && asked <= 12, "%d", asked)
		// It goes as soon as its budget allows that.
		c.mu.Lock()
		c.refuse["p0"] = false
		c.mu.Unlock()
		budget := &policyv1.PodDisruptionBudget{
			ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "b"}, Spec: policyv1.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{}},
		}
		assert.NilError(t, c.client.Tracker().Add(budget))
		c.wait(0)
		assert.Equal(t, len(c.take()), 0)
		allows := budget.DeepCopy()
		allows.Status.DisruptionsAllowed = 1
		assert.NilError(t, c.client.Tracker().Update(policyv1.SchemeGroupVersion.WithResource("poddisruptionbudgets"), allows, "team"))
		c.wait(0)
		assert.Assert(t, slices.ContainsFunc(c.take(), func(s string) bool { return strings.HasSuffix(s, " p0") }))
		// Nothing is left, so nothing is tried.
		before = len(c.client.Actions())
		c.wait(10 * time.Minute)
		assert.Equal(t, len(c.client.Actions()), before)
	})
}

// TestProblemThatEnds: pods that were to be tried again stay.
func TestProblemThatEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		one := 1
		c := start(t, policy.Limits{Total: &one}, newNode("a"), newNode("b"), newPod("p1", "a"), newPod("p2", "a"))
		c.update(tainted(newNode("a")))
		c.wait(0)
		c.update(newNode("a"))
		c.wait(10 * time.Minute)
		assert.DeepEqual(t, c.take(), []string{"1s p1"})
	})
}

func TestArguments(t *testing.T) {
	for text, want := range map[string]string{
		`{"taints": ["a", "b=c"]}`:                           "",
		`{"conditions": [{"type": "X", "status": "False"}]}`: "",
		`{}`: "taints, labels and conditions: at least one is needed",
		`{"taints": ["=x"], "conditions": [{"status": "Bad"}], "retryPeriod": "0s"}`: `taints[0]: "=x" has no key` + "\n" +
			`conditions[0].type: is empty` + "\n" + `conditions[0].status: "Bad" is none of True, False and Unknown` + "\n" +
			`retryPeriod: 0s is not more than zero`,
	} {
		args := Register()[0].Args()
		assert.NilError(t, json.Unmarshal([]byte(text), args))
		err := Register()[0].Validate(args)
		if want == "" {
			assert.NilError(t, err)
		} else {
			assert.Error(t, err, want)
		}
	}
}
