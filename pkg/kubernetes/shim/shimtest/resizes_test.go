package shimtest_test

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"
	v1 "k8s.io/api/core/v1"
	policy "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/shim/shimtest"
)

// resize changes what a pod that runs requests. Where the kubelet puts that off, or never does it, it says why.
func resize(cpu, why string) func(*v1.Pod) {
	return func(pod *v1.Pod) {
		pod.Status.Phase = v1.PodRunning
		if len(pod.Status.ContainerStatuses) == 0 {
			has := pod.Spec.Containers[0].Resources.DeepCopy()
			pod.Status.ContainerStatuses = []v1.ContainerStatus{{Name: "main", Resources: has, AllocatedResources: has.Requests}}
		}
		pod.Spec.Containers[0].Resources.Requests = v1.ResourceList{v1.ResourceCPU: resource.MustParse(cpu)}
		pod.Status.Conditions = slices.DeleteFunc(pod.Status.Conditions, func(c v1.PodCondition) bool { return c.Type == v1.PodResizePending })
		if why != "" {
			pod.Status.Conditions = append(pod.Status.Conditions, v1.PodCondition{Type: v1.PodResizePending, Status: v1.ConditionTrue, Reason: why})
			return
		}
		has := pod.Spec.Containers[0].Resources.DeepCopy()
		pod.Status.ContainerStatuses = []v1.ContainerStatus{{Name: "main", Resources: has, AllocatedResources: has.Requests}}
	}
}

func deferred(cpu string) func(*v1.Pod)   { return resize(cpu, v1.PodReasonDeferred) }
func infeasible(cpu string) func(*v1.Pod) { return resize(cpu, v1.PodReasonInfeasible) }
func done(cpu string) func(*v1.Pod)       { return resize(cpu, "") }

// begun changes what a pod requests, which its kubelet is about to do.
func begun(cpu string) func(*v1.Pod) {
	return func(pod *v1.Pod) {
		pod.Spec.Containers[0].Resources.Requests = v1.ResourceList{v1.ResourceCPU: resource.MustParse(cpu)}
	}
}

// aFullNode has four CPUs, of which each of web, of priority 10, and equal has one, and low, of priority 0, has two.
func aFullNode(t *testing.T) *shimtest.MockScheduler {
	t.Helper()
	m := shimtest.New(t, shimtest.Options{Feasibility: filters})
	m.AddNode("node-1", "cpu=4 pods=110")
	m.Start()
	m.AddPod("web", "cpu=1", shimtest.Priority(10))
	m.AddPod("equal", "cpu=1", shimtest.Priority(10))
	m.AddPod("low", "cpu=2")
	m.Advance(time.Second)
	assert.Equal(t, m.Node("node-1").Available, "pods=107")
	return m
}

// growths are the asks for growth, without their numbers.
func growths(m *shimtest.MockScheduler) []string {
	var found []string
	for _, line := range m.Booked() {
		if key, _, ok := strings.Cut(line, "-growth-"); ok {
			found = append(found, key)
		}
	}
	return found
}

// A resize for which the node has no room makes room: a less important pod ends, neither an equal one nor the pod itself.
// The pod is booked with what it has until then, with what it asks for when there is room, and the kubelet resizes it.
func TestDeferredResizeMakesRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := aFullNode(t)
		m.ChangePod("web", deferred("2500m"))
		m.Advance(time.Minute)
		assert.DeepEqual(t, m.API.Deleted(), []string{"low"})
		assert.DeepEqual(t, growths(m), []string{"web"})
		assert.Equal(t, m.Node("node-1").Allocated, "pods=3 vcore=4000")
		m.EndPod("low")
		m.Advance(time.Second)
		assert.Equal(t, m.Node("node-1").Allocated, "pods=2 vcore=3500")
		assert.DeepEqual(t, m.Booked(), m.Expected())
		m.ChangePod("web", done("2500m"))
		m.Advance(time.Minute)
		assert.Equal(t, m.Node("node-1").Allocated, "pods=2 vcore=3500")
		assert.DeepEqual(t, m.Booked(), m.Expected())
		assert.DeepEqual(t, m.API.Deleted(), []string{"low"})
	})
}

// What a pod is booked with follows its resize: more counts as soon as it is wanted, less only when the kubelet has
// taken it away. A side-car and overhead stay as they are.
func TestResizedPodIsBookedAnew(t *testing.T) {
	always := v1.ContainerRestartPolicyAlways
	withMore := func(pod *v1.Pod) {
		pod.Spec.Overhead = shimtest.Quantities("cpu=100m")
		beside := shimtest.Quantities("cpu=200m")
		pod.Spec.InitContainers = []v1.Container{{Name: "side-car", RestartPolicy: &always, Resources: v1.ResourceRequirements{Requests: beside}}}
		pod.Status.InitContainerStatuses = []v1.ContainerStatus{{Name: "side-car", AllocatedResources: beside}}
	}
	for name, option := range map[string]shimtest.PodOption{"ours": withMore, "foreign": shimtest.Foreign} {
		synctest.Test(t, func(t *testing.T) {
			m := shimtest.New(t, shimtest.Options{Feasibility: filters})
			m.AddNode("node-1", "cpu=8 pods=110")
			m.Start()
			m.AddPod("other", "cpu=1")
			m.AddPod("web", "cpu=1", shimtest.On("node-1"), withMore, option)
			for _, step := range []struct {
				what   string
				change func(*v1.Pod)
				free   string
			}{
				{"it runs", done("1"), "5700"},
				{"it is to grow", begun("3"), "3700"},
				{"it has grown", done("3"), "3700"},
				{"it is to shrink", begun("2"), "3700"},
				{"it has shrunk", done("2"), "4700"},
				{"it can never grow so much", infeasible("64"), "4700"},
				{"it has shrunk again", done("500m"), "6200"},
			} {
				m.ChangePod("web", step.change)
				m.Advance(time.Second)
				assert.Equal(t, m.Node("node-1").Available, "pods=108 vcore="+step.free, "%s: %s", name, step.what)
			}
			m.AddPod("fits", "cpu=6") // filters count what it has now, too
			m.Advance(time.Second)
			assert.Equal(t, m.Pod("fits").Spec.NodeName, "node-1", name)
		})
	}
}

// Nothing ends where room comes by itself, and nothing else gets it. Where the kubelet is first, the ask is taken back.
func TestDeferredResizeGetsRoom(t *testing.T) {
	for _, kubeletFirst := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			m := aFullNode(t)
			m.ChangePod("web", deferred("2"))
			m.AddPod("late", "cpu=1", shimtest.Priority(5))
			m.Advance(10 * time.Second)
			if kubeletFirst {
				m.ChangePod("web", done("2"))
				assert.DeepEqual(t, m.Booked(), m.Expected())
				m.EndPod("equal")
				m.Advance(time.Minute)
				assert.Equal(t, m.Node("node-1").Allocated, "pods=2 vcore=4000")
				return
			}
			m.EndPod("equal")
			m.Advance(time.Minute)
			assert.Equal(t, len(m.API.Deleted()), 1) // low, for late
			assert.Equal(t, m.Node("node-1").Allocated, "pods=2 vcore=4000")
			assert.DeepEqual(t, m.Booked(), m.Expected())
		})
	}
}

// No ask is made for what the node can never give, for a pod of another scheduler, for a pod that ends, or for one that
// may not preempt at the cost of others; and nothing ends that is not less important.
func TestDeferredResizeWithoutVictims(t *testing.T) {
	never := v1.PreemptNever
	for name, test := range map[string]struct {
		option shimtest.PodOption
		change func(*v1.Pod)
		asks   []string
	}{
		"infeasible":   {shimtest.Priority(10), infeasible("64"), nil},
		"too large":    {shimtest.Priority(10), deferred("64"), []string{"web"}},
		"equal":        {shimtest.Priority(0), deferred("2"), []string{"web"}},
		"least":        {shimtest.Priority(-1 << 31), deferred("2"), []string{"web"}},
		"smaller":      {shimtest.Priority(10), deferred("500m"), nil},
		"never evicts": {func(pod *v1.Pod) { pod.Spec.PreemptionPolicy = &never }, deferred("2"), []string{"web"}},
		"foreign":      {shimtest.Foreign, deferred("2"), nil},
	} {
		synctest.Test(t, func(t *testing.T) {
			m := shimtest.New(t, shimtest.Options{})
			m.AddNode("node-1", "cpu=4 pods=110")
			m.Start()
			m.AddPod("web", "cpu=1", shimtest.Priority(10), shimtest.On("node-1"), test.option)
			m.AddPod("low", "cpu=3")
			m.ChangePod("web", test.change)
			m.Advance(10 * time.Minute)
			assert.Equal(t, len(m.API.Deleted()), 0, name)
			assert.DeepEqual(t, growths(m), test.asks)
		})
	}
}

// A resize that is wanted no more, or of another size, or whose pod ends, leaves nothing behind.
func TestDeferredResizeChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := aFullNode(t)
		m.ChangePod("web", deferred("2"))
		m.Advance(time.Second)
		assert.DeepEqual(t, growths(m), []string{"web"})
		m.ChangePod("web", deferred("4")) // up again
		m.Advance(time.Second)
		assert.DeepEqual(t, growths(m), []string{"web"})
		assert.Equal(t, m.Node("node-1").Allocated, "pods=3 vcore=4000")
		m.ChangePod("web", infeasible("40"))
		assert.DeepEqual(t, growths(m), []string(nil))
		m.ChangePod("web", deferred("3"))
		m.ChangePod("web", done("1")) // not wanted any more
		m.Advance(time.Minute)
		assert.DeepEqual(t, m.Booked(), m.Expected())
		assert.Equal(t, len(m.API.Deleted()), 0)

		m.ChangePod("web", deferred("2"))
		m.Advance(time.Second)
		m.DeletePod("web")
		m.Advance(time.Minute)
		assert.DeepEqual(t, m.Booked(), m.Expected()) // it ends, and does not grow
		assert.DeepEqual(t, m.API.Deleted(), []string{"web"})
		m.EndPod("web")
		m.Advance(time.Second)
		assert.DeepEqual(t, m.Booked(), m.Expected())

		m.ChangePod("equal", deferred("2"))
		m.Advance(time.Second) // there is room for it
		assert.Equal(t, m.Node("node-1").Allocated, "pods=2 vcore=4000")
		m.ChangePod("equal", deferred("3")) // and none for more
		m.Advance(time.Second)
		assert.DeepEqual(t, growths(m), []string{"equal"})
		m.EndPod("equal")
		m.Advance(time.Second)
		assert.DeepEqual(t, m.Booked(), m.Expected())
	})
}

// A restart while a resize waits for its victim, or before it has any, ends no more pods than are needed.
func TestRestartDuringDeferredResize(t *testing.T) {
	for _, before := range []time.Duration{time.Second, time.Minute} {
		synctest.Test(t, func(t *testing.T) {
			m := aFullNode(t)
			m.ChangePod("web", deferred("2"))
			m.Advance(before)
			m.Stop()
			m = shimtest.New(t, shimtest.Options{Feasibility: filters, API: m.API})
			m.Start()
			assert.DeepEqual(t, growths(m), []string{"web"})
			m.Advance(time.Minute)
			assert.DeepEqual(t, m.API.Deleted(), []string{"low"})
			m.EndPod("low")
			m.Advance(time.Second)
			assert.Equal(t, m.Node("node-1").Allocated, "pods=2 vcore=3000")
			assert.DeepEqual(t, m.Booked(), m.Expected())
		})
	}
}

// The growth of a pod is held to the quota of its queue and to the limit of its user, and ends no pod that a hard budget
// protects.
func TestDeferredResizeKeepsTheLaws(t *testing.T) {
	for name, queue := range map[string]string{
		"quota": "resources: {max: {vcore: 3}}",
		"limit": "limits: [{limit: all, users: ['*'], maxresources: {vcore: 3}}]",
	} {
		synctest.Test(t, func(t *testing.T) {
			queues := `
partitions:
  - name: default
    queues:
      - name: root
        queues:
          - name: default
            ` + queue + `
          - name: other
`
			m := shimtest.New(t, shimtest.Options{Queues: queues})
			m.AddNode("node-1", "cpu=4 pods=110")
			m.Start()
			m.AddPod("web", "cpu=2", shimtest.Priority(10))
			m.AddPod("low", "cpu=2", shimtest.Application("other"), shimtest.Queue("root.other"))
			m.ChangePod("web", deferred("4"))
			m.Advance(10 * time.Minute)
			assert.Equal(t, len(m.API.Deleted()), 0, name)
			m.ChangePod("web", deferred("3"))
			m.Advance(time.Minute)
			assert.DeepEqual(t, m.API.Deleted(), []string{"low"})
		})
	}
}

// A hard disruption budget keeps a pod from being ended for the growth of another one.
func TestDeferredResizeKeepsBudgets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := shimtest.New(t, shimtest.Options{Queues: strings.Replace(quick, "1s}", "1s, preemption_disruption_budgets: hard}", 1)})
		m.AddNode("node-1", "cpu=4 pods=110")
		m.Start()
		budget := &policy.PodDisruptionBudget{
			ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: "low"},
			Spec:       policy.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"run": "low"}}},
		}
		m.Create(budget)
		m.AddPod("web", "cpu=2", shimtest.Priority(10))
		m.AddPod("low", "cpu=2", shimtest.Labelled("run", "low"))
		m.ChangePod("low", ready)
		m.ChangePod("web", deferred("3"))
		m.Advance(5 * time.Minute)
		assert.Equal(t, len(m.API.Deleted()), 0)
		budget.Status.DisruptionsAllowed = 1
		m.ChangeBudget(budget.DeepCopy())
		m.Advance(5 * time.Minute)
		assert.DeepEqual(t, m.API.Deleted(), []string{"low"})
	})
}

// A member of a gang grows like any other pod, and is none twice.
func TestDeferredResizeOfAMember(t *testing.T) {
	inGangWorld(t, shimtest.Options{}, "cpu=4 pods=110", func(t *testing.T, w gangWorld) {
		w.gang(2, "", "one", "two")
		w.Advance(10 * time.Second)
		for _, placeholder := range w.API.Deleted() {
			w.EndPod(placeholder)
		}
		w.AddPod("low", "cpu=2", shimtest.Application("other"), shimtest.Priority(-10))
		w.Advance(time.Second)
		w.ChangePod("one", deferred("2"))
		w.Advance(time.Minute)
		assert.DeepEqual(t, w.API.Deleted()[len(w.API.Deleted())-1:], []string{"low"})
		w.EndPod("low")
		w.Advance(time.Minute)
		assert.Equal(t, w.Node("node-1").Allocated, "pods=2 vcore=3000")
		assert.DeepEqual(t, w.Booked(), w.Expected())
	})
}

// A more important pod that ends the growing pod ends its growth.
func TestDeferredResizeOfAVictim(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := aFullNode(t)
		m.ChangePod("low", deferred("3"))
		m.Advance(time.Minute)
		assert.DeepEqual(t, growths(m), []string{"low"})
		m.AddPod("high", "cpu=2", shimtest.Priority(20))
		m.Advance(time.Minute)
		assert.DeepEqual(t, m.API.Deleted(), []string{"low"})
		assert.DeepEqual(t, growths(m), []string(nil))
		m.EndPod("low")
		m.Advance(time.Second)
		assert.DeepEqual(t, m.Booked(), []string{"equal node-1", "high node-1", "web node-1"})
		assert.DeepEqual(t, m.Booked(), m.Expected())
	})
}

// The node goes, and comes back.
func TestDeferredResizeWithoutItsNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := aFullNode(t)
		m.ChangePod("web", deferred("2"))
		m.Advance(time.Second)
		m.RemoveNode("node-1")
		m.Advance(time.Minute)
		assert.DeepEqual(t, m.Booked(), m.Expected())
		m.AddNode("node-1", "cpu=5 pods=110")
		m.Advance(time.Minute)
		assert.DeepEqual(t, m.Booked(), m.Expected())
		assert.Equal(t, m.Node("node-1").Allocated, "pods=3 vcore=5000")
		assert.Equal(t, len(m.API.Deleted()), 0)
	})
}
