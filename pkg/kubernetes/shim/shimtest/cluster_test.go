package shimtest_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/shim"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/shim/shimtest"
)

// At the start running pods are counted before anything is placed, cordoned nodes take
// nothing, and nothing that runs is touched.
func TestStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := shimtest.New(t, shimtest.Options{})
		m.Create(shimtest.NewNode("node-1", "cpu=4"), shimtest.NewNode("node-2", "cpu=4"), shimtest.NewNode("node-3", "cpu=4"))
		m.ChangeNode("node-3", func(n *v1.Node) { n.Spec.Unschedulable = true })
		m.AddPod("waits", "cpu=3", shimtest.Application("a"))
		m.AddPod("runs", "cpu=3", shimtest.On("node-1"), shimtest.Application("b"))
		m.AddPod("lost", "cpu=3", shimtest.On("node-2"), shimtest.Queue("root.gone"), shimtest.Application("c"))
		m.AddPod("dns", "cpu=1", shimtest.On("node-2"), shimtest.Foreign)
		m.AddPod("ended", "cpu=1", shimtest.On("node-2"), func(pod *v1.Pod) { pod.Status.Phase = v1.PodFailed })
		m.AddPod("elsewhere", "cpu=1", shimtest.On("node-9"))
		m.Start()
		m.Advance(time.Minute)
		assert.DeepEqual(t, m.Booked(), []string{"dns node-2 foreign", "lost node-2", "runs node-1", "waits -"})
		assert.Equal(t, len(m.API.Bindings()), 0)
		assert.Equal(t, len(m.API.Deleted()), 0)
		m.ChangeNode("node-3", func(n *v1.Node) { n.Spec.Unschedulable = false })
		m.AddNode("node-9", "cpu=4")
		m.Advance(time.Minute)
		assert.DeepEqual(t, m.API.Bindings(), []string{"waits node-3"})
		assert.DeepEqual(t, m.Booked(), m.Expected())
	})
}

// Nodes change: room, cordon, labels. What a kubelet reports every few seconds is no change.
func TestNodesChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := shimtest.New(t, shimtest.Options{})
		m.AddNode("node-1", "cpu=1")
		m.Start()
		m.AddPod("large", "cpu=4")
		m.Advance(time.Minute)
		assert.Equal(t, m.Pod("large").Spec.NodeName, "")
		m.ChangeNode("node-1", func(n *v1.Node) { n.Status.Allocatable = shimtest.Quantities("cpu=8 pods=110") })
		m.Advance(time.Second)
		assert.Equal(t, m.Node("node-1").Capacity, "pods=110 vcore=8000")
		assert.Equal(t, m.Pod("large").Spec.NodeName, "node-1")

		m.ChangeNode("node-1", func(n *v1.Node) { n.Spec.Unschedulable = true })
		assert.Assert(t, !m.Node("node-1").Schedulable)
		m.AddPod("picky", "cpu=1", func(pod *v1.Pod) { pod.Spec.NodeSelector = map[string]string{"disk": "fast"} })
		m.ChangeNode("node-1", func(n *v1.Node) { n.Spec.Unschedulable = false })
		m.Advance(5 * time.Second)
		assert.Equal(t, m.Pod("picky").Spec.NodeName, "")
		m.ChangeNode("node-1", func(n *v1.Node) { n.Labels["disk"] = "fast" })
		m.Advance(5 * time.Second) // before all nodes are asked about again
		assert.Equal(t, m.Pod("picky").Spec.NodeName, "node-1")
	})
}

// A node flaps with pods on it: they are counted whenever the node is there.
func TestNodeFlaps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := shimtest.New(t, shimtest.Options{})
		m.AddNode("node-1", "cpu=4")
		m.Start()
		m.AddPod("web", "cpu=1")
		m.AddPod("dns", "cpu=1", shimtest.Foreign, shimtest.On("node-1"))
		for range 5 {
			m.RemoveNode("node-1")
			assert.DeepEqual(t, m.Booked(), []string{})
			m.AddNode("node-1", "cpu=4")
			assert.DeepEqual(t, m.Booked(), []string{"dns node-1 foreign", "web node-1"})
		}
		m.RemoveNode("node-1")
		m.EndPod("web")
		m.EndPod("dns")
		m.AddNode("node-1", "cpu=4")
		assert.DeepEqual(t, m.Booked(), []string{})
		assert.Equal(t, m.Node("node-1").Available, "pods=110 vcore=4000")
	})
}

// What runs on a node that comes back is counted before anything is placed there, however much
// that is.
func TestNodeComesBackFull(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const many = 2000
		room := fmt.Sprintf("cpu=%d pods=%d", many, 2*many)
		m := shimtest.New(t, shimtest.Options{})
		m.AddNode("node-1", room)
		m.Start()
		for i := range many {
			m.Context.AddPod(shimtest.NewPod(fmt.Sprintf("runs-%d", i), "cpu=1", shimtest.On("node-1")))
		}
		m.Settle()
		m.RemoveNode("node-1")
		m.AddPod("waits", "cpu=1", shimtest.Priority(9))
		m.AddNode("node-1", room)
		m.Advance(time.Second)
		assert.Equal(t, len(m.API.Bindings()), 0, "%v", m.API.Bindings())
		assert.Equal(t, m.Node("node-1").Available, fmt.Sprintf("pods=%d", many))
	})
}

// When the gates of a pod are gone, so is the condition that says so, also where that happened while
// no scheduler ran. Why it waits then is another reason, or none for now.
func TestConditionOfGatesGoes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := shimtest.New(t, shimtest.Options{Queues: "partitions: [{name: default, queues: [{name: root, queues: [{name: default, resources: {max: {vcore: 1}}}]}]}]"})
		m.AddNode("node-1", "cpu=8 memory=16Gi")
		said := func(pod *v1.Pod) {
			pod.Status.Conditions = []v1.PodCondition{{Type: v1.PodScheduled, Status: v1.ConditionFalse, Reason: v1.PodReasonSchedulingGated}}
		}
		m.AddPod("before", "cpu=2", said)
		m.AddPod("gated", "cpu=2", said, shimtest.Gated)
		m.Start()
		assert.Equal(t, condition(m.Pod("before"), v1.PodScheduled), "")
		assert.Equal(t, condition(m.Pod("gated"), v1.PodScheduled), "False SchedulingGated: ")
		m.ChangePod("gated", func(pod *v1.Pod) { pod.Spec.SchedulingGates = nil })
		assert.Equal(t, condition(m.Pod("gated"), v1.PodScheduled), "")
	})
}

// Gated pods are not asked for until the gates are gone; a pod that is deleted before it
// had a node is forgotten.
func TestPodsThatMayNotRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := shimtest.New(t, shimtest.Options{})
		m.AddNode("node-1", "cpu=4")
		m.Start()
		m.AddPod("gated", "cpu=1", shimtest.Gated)
		m.Advance(time.Minute)
		assert.DeepEqual(t, m.Booked(), []string{})
		m.ChangePod("gated", func(pod *v1.Pod) { pod.Spec.SchedulingGates = nil })
		assert.DeepEqual(t, m.Booked(), []string{"gated node-1"})

		m.AddPod("large", "cpu=9")
		now := metav1.Now()
		m.ChangePod("large", func(pod *v1.Pod) { pod.DeletionTimestamp, pod.Finalizers = &now, []string{"a/b"} })
		assert.DeepEqual(t, m.Booked(), []string{"gated node-1"})
	})
}

// A running pod is resized in place, ours as well as a foreign one.
func TestResizeInPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := shimtest.New(t, shimtest.Options{})
		m.AddNode("node-1", "cpu=8")
		m.Start()
		m.AddPod("web", "cpu=1")
		m.AddPod("dns", "cpu=1", shimtest.Foreign, shimtest.On("node-1"))
		m.ChangePod("web", resized("3"))
		m.ChangePod("dns", resized("2"))
		assert.Equal(t, m.Node("node-1").Allocated, "pods=1 vcore=3000")
		assert.Equal(t, m.Node("node-1").Occupied, "pods=1 vcore=2000")
	})
}

// A pod that fits on no node gets the condition that autoscalers read, and an event; a pod
// that waits for its quota gets another one.
func TestWhyPodsWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := shimtest.New(t, shimtest.Options{Queues: `
partitions:
  - name: default
    queues:
      - name: root
        queues:
          - name: default
          - name: small
            resources: {max: {vcore: 1}}
`})
		m.AddNode("node-1", "cpu=4")
		m.Start()
		failures := 0
		m.API.Fail(shimtest.Faults{Patch: func(string) error {
			if failures++; failures <= 2 {
				return errServer
			}
			return nil
		}})
		m.AddPod("large", "cpu=9")
		m.AddPod("quota", "cpu=2", shimtest.Queue("root.small"), shimtest.Application("b"))
		m.Advance(time.Minute)
		assert.Assert(t, strings.HasPrefix(condition(m.Pod("large"), v1.PodScheduled), "False Unschedulable: "))
		assert.Assert(t, strings.HasPrefix(condition(m.Pod("quota"), v1.PodScheduled), "False QuotaExceeded: "))
		told := strings.Join(m.Events(), "\n")
		for _, name := range []string{"large", "quota"} {
			assert.Assert(t, strings.Contains(told, name+" FailedScheduling: "), told)
		}
		assert.Equal(t, m.API.Requests("patch"), 5) // large is told again that it is impossible
	})
}

// An application whose queue does not exist waits with the reason, until the configuration
// has the queue. A wrong configuration changes nothing.
func TestQueuesAreConfigured(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := shimtest.New(t, shimtest.Options{Queues: oneQueue})
		m.AddNode("node-1", "cpu=4")
		m.Start()
		m.AddPod("web", "cpu=1", shimtest.Queue("root.team"))
		m.Advance(time.Second)
		assert.DeepEqual(t, m.Booked(), []string{})
		assert.Assert(t, strings.Contains(strings.Join(m.Events(), "\n"), "web FailedScheduling: application app"), "%q", m.Events())

		config := func(text string) *v1.ConfigMap {
			return &v1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "narwhal"}, Data: map[string]string{"queues.yaml": text}}
		}
		apply := func(about *v1.ConfigMap) error {
			next, err := shim.ReadConfiguration(about)
			return m.Configure(next, err, about)
		}
		assert.ErrorContains(t, apply(config("partitions: 5")), "partitions")
		assert.DeepEqual(t, m.Booked(), []string{})
		assert.NilError(t, apply(config("partitions: [{name: default, queues: [{name: root, queues: [{name: team}]}]}]")))
		m.Advance(time.Second)
		assert.DeepEqual(t, m.Booked(), []string{"web node-1"})
		told := strings.Join(m.Events(), "\n")
		assert.Assert(t, strings.Contains(told, "narwhal ConfigurationRefused: ") && strings.Contains(told, "narwhal ConfigurationUpdated: "), told)
	})
}

// An application that the core has forgotten is told again when another pod of it comes,
// whatever the moment.
func TestApplicationComesBack(t *testing.T) {
	for at := 29 * time.Second; at <= 31*time.Second; at += time.Second / 2 {
		synctest.Test(t, func(t *testing.T) {
			m := shimtest.New(t, shimtest.Options{})
			m.AddNode("node-1", "cpu=4")
			m.Start()
			m.AddPod("first", "cpu=1")
			m.EndPod("first")
			time.Sleep(at)
			m.AddPod("second", "cpu=1")
			m.Advance(time.Second)
			assert.DeepEqual(t, m.Booked(), []string{"second node-1"})
		})
	}
}

// A pod of a namespace that is not known yet waits for it.
func TestPodBeforeItsNamespace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := shimtest.New(t, shimtest.Options{})
		m.AddNode("node-1", "cpu=4")
		m.Start()
		pod := shimtest.NewPod("web", "cpu=1")
		pod.Namespace = "team"
		m.Create(pod)
		assert.DeepEqual(t, m.Booked(), []string{})
		m.Create(&v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "team"}})
		assert.DeepEqual(t, m.Booked(), []string{"web node-1"})
	})
}

// A core that takes no more for a while loses nothing.
func TestFullInbox(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := shimtest.Options{}
		o.Scheduler.InboxMax = 10
		m := shimtest.New(t, o)
		m.AddNode("node-1", "cpu=1000 pods=1000")
		m.Start()
		for i := range 200 {
			m.Context.AddPod(shimtest.NewPod(fmt.Sprintf("pod-%d", i), "cpu=1", shimtest.Selects("node-2")))
			m.Context.AddPod(shimtest.NewPod(fmt.Sprintf("dns-%d", i), "cpu=1", shimtest.Foreign, shimtest.On("node-1")))
		}
		m.Advance(time.Hour)
		assert.Equal(t, len(m.Booked()), 400)
	})
}

// What happens often is told once in a while, and never more than the API server should
// bear. There are ten times more than may wait.
func TestEventsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := shimtest.New(t, shimtest.Options{})
		m.AddNode("node-1", "cpu=100k pods=100k")
		m.Start()
		for i := range 40_960 {
			m.Context.AddPod(shimtest.NewPod(fmt.Sprintf("pod-%d", i), "cpu=1", shimtest.Gated, func(pod *v1.Pod) {
				pod.Annotations = map[string]string{"yunikorn.apache.org/user.info": "{"}
			}))
		}
		m.Settle()
		first := len(m.Events())
		assert.Assert(t, first <= 50, "%d", first)
		m.Advance(10 * time.Second)
		assert.Assert(t, len(m.Events())-first <= 500, "%d", len(m.Events()))
	})
}

// A pod that runs is counted although its application was rejected, and what waits of the
// application is asked for again then.
func TestPodOfARejectedApplicationRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := shimtest.New(t, shimtest.Options{Queues: oneQueue})
		m.AddNode("node-1", "cpu=4")
		m.Start()
		m.AddPod("waits", "cpu=1", shimtest.Queue("root.gone"))
		m.Advance(time.Second)
		assert.DeepEqual(t, m.Booked(), []string{})
		m.AddPod("runs", "cpu=1", shimtest.Queue("root.gone"), shimtest.On("node-1"))
		m.Advance(time.Second)
		assert.DeepEqual(t, m.Booked(), []string{"runs node-1", "waits node-1"})
	})
}
