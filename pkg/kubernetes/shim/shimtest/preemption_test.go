package shimtest_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"
	v1 "k8s.io/api/core/v1"
	policy "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/pods"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/shim"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/shim/shimtest"
)

func condition(pod *v1.Pod, of v1.PodConditionType) string {
	for _, c := range pod.Status.Conditions {
		if c.Type == of {
			return fmt.Sprintf("%s %s: %s", c.Status, c.Reason, c.Message)
		}
	}
	return ""
}

// A more important pod is nominated, the victim gets the condition and its grace, and the
// pod runs when the victim is gone.
func TestPreemption(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := shimtest.New(t, shimtest.Options{})
		m.AddNode("node-1", "cpu=2")
		m.Start()
		m.AddPod("low", "cpu=2")
		m.AddPod("high", "cpu=2", shimtest.Priority(10))
		m.Advance(time.Second)
		assert.Equal(t, m.Pod("high").Status.NominatedNodeName, "node-1")
		low := m.Pod("low")
		assert.Assert(t, strings.HasPrefix(condition(low, v1.DisruptionTarget), "True PreemptionByScheduler: "), condition(low, v1.DisruptionTarget))
		assert.Equal(t, *low.DeletionGracePeriodSeconds, int64(30))
		assert.DeepEqual(t, m.API.Deleted(), []string{"low"})
		assert.DeepEqual(t, m.Booked(), []string{"high -", "low node-1"})
		assert.Assert(t, slices.ContainsFunc(m.Events(), func(e string) bool { return strings.HasPrefix(e, "low Preempted: ") }), "%q", m.Events())
		m.EndPod("low")
		m.Advance(time.Second)
		assert.Equal(t, m.Pod("high").Spec.NodeName, "node-1")
		assert.DeepEqual(t, m.Booked(), m.Expected())
	})
}

// Requests that fail do not keep a victim running: they are repeated, and the condition is
// left out before the room is.
func TestEvictionThatFails(t *testing.T) {
	for _, c := range []struct {
		conditions, deletions int // that fail
		written               bool
	}{{2, 0, true}, {1000, 2, false}} {
		synctest.Test(t, func(t *testing.T) {
			m := shimtest.New(t, shimtest.Options{})
			m.AddNode("node-1", "cpu=2")
			m.Start()
			m.AddPod("low", "cpu=2")
			patches, deletions := 0, 0
			m.API.Fail(shimtest.Faults{
				Patch: func(name string) error {
					if patches++; name == "low" && patches <= c.conditions {
						return errServer
					}
					return nil
				},
				Delete: func(string) error {
					if deletions++; deletions <= c.deletions {
						return errServer
					}
					return nil
				},
			})
			m.AddPod("high", "cpu=2", shimtest.Priority(10))
			m.Advance(20 * time.Second)
			assert.DeepEqual(t, m.API.Deleted(), []string{"low"})
			assert.Equal(t, condition(m.Pod("low"), v1.DisruptionTarget) != "", c.written)
		})
	}
}

// The API server deletes nothing for ten times the longest pause between two attempts. It is
// asked less and less often meanwhile, and not forgotten.
func TestEvictionThatFailsForLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := shimtest.New(t, shimtest.Options{})
		m.AddNode("node-1", "cpu=2")
		m.Start()
		m.AddPod("low", "cpu=2")
		m.API.Fail(shimtest.Faults{Delete: func(string) error { return errServer }})
		m.AddPod("high", "cpu=2", shimtest.Priority(10))
		m.Advance(5 * time.Minute)
		assert.Assert(t, m.API.Requests("delete") < 20, "%d", m.API.Requests("delete"))
		assert.Equal(t, len(m.API.Deleted()), 0)
		m.API.Fail(shimtest.Faults{})
		m.Advance(30 * time.Second)
		assert.DeepEqual(t, m.API.Deleted(), []string{"low"})
	})
}

// The victim was being bound: it need not run at all, so it is taken back and not deleted.
func TestVictimThatIsBeingBound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := shimtest.NewFeasibility()
		gate := make(chan struct{})
		f.OnPreBind = func(pod *v1.Pod, _ string) error {
			if pod.Name == "low" {
				<-gate
			}
			return nil
		}
		m := shimtest.New(t, shimtest.Options{Shim: shim.Options{Feasibility: f}})
		m.AddNode("node-1", "cpu=2")
		m.Start()
		m.AddPod("low", "cpu=2")
		m.AddPod("high", "cpu=2", shimtest.Priority(10))
		m.Advance(time.Second)
		close(gate)
		m.Advance(5 * time.Second)
		assert.Equal(t, len(m.API.Deleted()), 0)
		assert.DeepEqual(t, m.Booked(), []string{"high node-1", "low -"})
		assert.DeepEqual(t, m.Booked(), m.Expected())
	})
}

// daemonset makes it a pod that says it is of the daemonset logs.
func daemonset(node string) shimtest.PodOption {
	return func(pod *v1.Pod) {
		yes := true
		of := shimtest.NewDaemonSet(pod.Namespace, "logs")
		pod.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "DaemonSet", Name: of.Name, UID: of.UID, Controller: &yes}}
		pod.Spec.Affinity = &v1.Affinity{NodeAffinity: &v1.NodeAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{{
				MatchFields: []v1.NodeSelectorRequirement{{Key: "metadata.name", Operator: v1.NodeSelectorOpIn, Values: []string{node}}},
			}}},
		}}
	}
}

// A pod of a daemonset takes the room of a foreign pod that is less important, never that of a
// static one, and none where foreign pods are kept.
func TestForeignVictims(t *testing.T) {
	for _, c := range []struct {
		keep     bool
		priority int32
		evicted  int
	}{{false, 10, 1}, {false, 0, 0}, {true, 10, 0}} {
		synctest.Test(t, func(t *testing.T) {
			m := shimtest.New(t, shimtest.Options{Shim: shim.Options{KeepForeign: c.keep}, Queues: quick})
			m.Create(shimtest.NewDaemonSet(metav1.NamespaceDefault, "logs"))
			m.AddNode("node-1", "cpu=4")
			m.AddPod("proxy", "cpu=2", shimtest.On("node-1"), shimtest.Static)
			m.AddPod("other", "cpu=2", shimtest.On("node-1"), shimtest.Foreign)
			m.Start()
			m.AddPod("logs", "cpu=1", daemonset("node-1"), shimtest.Priority(c.priority))
			m.Advance(time.Minute)
			assert.Equal(t, m.API.Requests("evict"), c.evicted)
			if c.evicted == 0 {
				assert.Equal(t, len(m.API.Deleted()), 0)
				return
			}
			assert.DeepEqual(t, m.API.Deleted(), []string{"other"})
			m.EndPod("other")
			m.Advance(time.Second)
			assert.DeepEqual(t, m.Booked(), []string{"logs node-1", "proxy node-1 foreign"})
		})
	}
}

// A pod of another scheduler is evicted when its budgets allow it. Until then it is asked for now
// and then, and has no condition that says that it ends.
func TestBudgetsOfForeignVictims(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := shimtest.New(t, shimtest.Options{Queues: quick})
		m.Create(shimtest.NewDaemonSet(metav1.NamespaceDefault, "logs"))
		m.AddNode("node-1", "cpu=2")
		m.AddPod("other", "cpu=2", shimtest.On("node-1"), shimtest.Foreign)
		m.Start()
		m.API.Fail(shimtest.Faults{Evict: func(string) error { return apierrors.NewTooManyRequests("a budget forbids it", 0) }})
		m.AddPod("logs", "cpu=1", daemonset("node-1"), shimtest.Priority(10))
		m.Advance(10 * time.Second)
		assert.Equal(t, len(m.API.Deleted()), 0)
		assert.Equal(t, len(m.Pod("other").Status.Conditions), 0)
		m.API.Fail(shimtest.Faults{})
		m.Advance(time.Minute)
		assert.DeepEqual(t, m.API.Deleted(), []string{"other"})
	})
}

// A pod that only says that it is of a daemonset waits: none makes room for it. It may say the
// name of one, the UID of one, or both of one in another namespace.
func TestDaemonSetThatDoesNotExist(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := shimtest.New(t, shimtest.Options{Queues: quick})
		m.Create(&v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: attacker}})
		m.Create(shimtest.NewDaemonSet(metav1.NamespaceDefault, "logs"), shimtest.NewDaemonSet(attacker, "own"))
		m.AddNode("node-1", "cpu=2")
		m.AddPod("shop", "cpu=2", shimtest.On("node-1"), shimtest.Foreign)
		m.Start()
		claim := func(name, uid string) shimtest.PodOption {
			return func(pod *v1.Pod) {
				pod.OwnerReferences[0].Name, pod.OwnerReferences[0].UID = name, types.UID(uid)
			}
		}
		for i, option := range []shimtest.PodOption{claim("none", "none"), claim("logs", "uid-logs-default"), claim("own", "uid-logs-default"), claim("other", "uid-own-attacker")} {
			m.AddPod(fmt.Sprint("miner-", i), "cpu=1", byAttacker, daemonset("node-1"), option, shimtest.Priority(10))
		}
		m.Advance(2 * time.Minute)
		assert.DeepEqual(t, m.Booked(), []string{"shop node-1 foreign"})
		assert.Equal(t, m.API.Requests("evict"), 0)
		for i, name := range []string{"none", "logs", "own", "other"} {
			assert.Assert(t, told(m, fmt.Sprintf("miner-%d FailedScheduling: its daemonset %s does not exist", i, name)), "%q", m.Events())
		}
		// One that is heard of after its pod.
		late := shimtest.NewDaemonSet(attacker, "none")
		late.UID = "none"
		m.Create(late)
		m.Advance(2 * time.Minute)
		assert.DeepEqual(t, m.API.Deleted(), []string{"shop"})
	})
}

// One that runs is not protected as those of daemonsets are.
func TestRunningPodOfNoDaemonSet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := shimtest.New(t, shimtest.Options{Queues: quick})
		m.AddNode("node-1", "cpu=2")
		m.AddPod("runs", "cpu=1", daemonset("node-1"), shimtest.On("node-1"))
		m.Start()
		assert.DeepEqual(t, m.Tag(pods.TagRequired), map[string]string{})
		m.AddPod("important", "cpu=2", shimtest.Priority(10))
		m.Advance(5 * time.Second)
		assert.DeepEqual(t, m.API.Deleted(), []string{"runs"})
	})
}

const quick = `
partitions:
  - name: default
    preemption: {preemption_start_delay: 1s}
    queues:
      - name: root
        queues: [{name: default}]
`

// A budget keeps its pods from being victims where others can be, and counts the victims
// that the disruption controller has not counted yet.
func TestDisruptionBudgets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := shimtest.New(t, shimtest.Options{Queues: strings.Replace(quick, "1s}", "1s, preemption_disruption_budgets: hard}", 1)})
		m.Create(shimtest.NewNode("node-1", "cpu=2"), shimtest.NewNode("node-2", "cpu=2"))
		m.Start()
		budget := &policy.PodDisruptionBudget{
			ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: "web"},
			Spec:       policy.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"run": "web"}}},
			Status:     policy.PodDisruptionBudgetStatus{DisruptionsAllowed: 1},
		}
		m.Create(budget)
		m.AddPod("web-1", "cpu=2", shimtest.Labelled("run", "web"))
		m.AddPod("web-2", "cpu=2", shimtest.Labelled("run", "web"))
		m.ChangePod("web-1", ready)
		m.ChangePod("web-2", ready)
		m.AddPod("high-1", "cpu=2", shimtest.Priority(10))
		m.AddPod("high-2", "cpu=2", shimtest.Priority(10))
		m.Advance(10 * time.Second)
		assert.Equal(t, len(m.API.Deleted()), 1, "%v", m.API.Deleted())
		// The controller has counted the first.
		counted := budget.DeepCopy()
		counted.Status.DisruptionsAllowed = 0
		m.ChangeBudget(counted)
		m.Advance(20 * time.Second)
		assert.Equal(t, len(m.API.Deleted()), 1, "%v", m.API.Deleted())
		more := budget.DeepCopy()
		more.Status.DisruptionsAllowed = 1
		m.ChangeBudget(more)
		m.EndPod(m.API.Deleted()[0])
		m.Advance(20 * time.Second)
		assert.Equal(t, len(m.API.Deleted()), 2, "%v", m.API.Deleted())
	})
}

func ready(pod *v1.Pod) {
	pod.Status.Phase = v1.PodRunning
	pod.Status.Conditions = append(pod.Status.Conditions, v1.PodCondition{Type: v1.PodReady, Status: v1.ConditionTrue})
}

// A pod that is not ready any more is a victim where its budget lets it go, and that is noticed
// when the disruption controller has seen it.
func TestUnreadyPodOfABudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := shimtest.New(t, shimtest.Options{Queues: strings.Replace(quick, "1s}", "1s, preemption_disruption_budgets: hard}", 1)})
		m.AddNode("node-1", "cpu=2")
		m.Start()
		always := policy.AlwaysAllow
		budget := &policy.PodDisruptionBudget{
			ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: "web"},
			Spec: policy.PodDisruptionBudgetSpec{
				Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"run": "web"}}, UnhealthyPodEvictionPolicy: &always,
			},
			Status: policy.PodDisruptionBudgetStatus{CurrentHealthy: 1, DesiredHealthy: 1},
		}
		m.Create(budget)
		m.AddPod("web", "cpu=2", shimtest.Labelled("run", "web"))
		m.ChangePod("web", ready)
		m.AddPod("high", "cpu=2", shimtest.Priority(10))
		m.Advance(10 * time.Second)
		assert.Equal(t, len(m.API.Deleted()), 0)
		m.ChangePod("web", func(pod *v1.Pod) { pod.Status.Conditions = nil })
		sick := budget.DeepCopy()
		sick.Status.CurrentHealthy = 0
		m.ChangeBudget(sick)
		m.Advance(10 * time.Second)
		assert.DeepEqual(t, m.API.Deleted(), []string{"web"})
	})
}

// A scheduler restarts while a victim ends: nothing else is evicted, and the pod still
// gets the room.
func TestRestartDuringPreemption(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		before := shimtest.New(t, shimtest.Options{})
		before.Create(shimtest.NewNode("node-1", "cpu=2"), shimtest.NewNode("node-2", "cpu=2"))
		before.Start()
		before.AddPod("low-1", "cpu=2")
		before.AddPod("low-2", "cpu=2")
		before.AddPod("high", "cpu=2", shimtest.Priority(10))
		before.Advance(time.Second)
		victims := before.API.Deleted()
		assert.Equal(t, len(victims), 1)
		before.Stop()

		after := shimtest.New(t, shimtest.Options{API: before.API})
		after.Start()
		after.Advance(10 * time.Second)
		assert.DeepEqual(t, after.API.Deleted(), victims)
		after.EndPod(victims[0])
		after.Advance(time.Second)
		assert.Equal(t, after.Pod("high").Spec.NodeName, after.Pod("high").Status.NominatedNodeName)
		assert.DeepEqual(t, after.Booked(), after.Expected())
	})
}
