package shimtest_test

import (
	"testing"
	"testing/synctest"

	"gotest.tools/v3/assert"
	v1 "k8s.io/api/core/v1"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/shim/shimtest"
)

// The smoke test that the design of foreign pods lists for the side of the shim: a node with
// foreign pods at the start, then one more that comes and goes.
func TestForeignPods(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := shimtest.New(t, shimtest.Options{})
		m.Create(
			shimtest.NewNode("node-1", "cpu=8 memory=16Gi"),
			shimtest.NewPod("dns", "cpu=1 memory=1Gi", shimtest.Foreign, shimtest.On("node-1")),
			shimtest.NewPod("proxy", "cpu=500m memory=1Gi", shimtest.On("node-1"), shimtest.Static),
		)
		m.Start()
		node := func() (occupied, available, allocated string) {
			n := m.Node("node-1")
			return n.Occupied, n.Available, n.Allocated
		}
		assert.DeepEqual(t, m.Booked(), []string{"dns node-1 foreign", "proxy node-1 foreign"})
		occupied, available, allocated := node()
		assert.Equal(t, occupied, "memory=2147483648 pods=2 vcore=1500")
		assert.Equal(t, available, "memory=15032385536 pods=108 vcore=6500")
		assert.Equal(t, allocated, "nothing")

		// A pod without a scheduler name is of no scheduler of ours.
		m.AddPod("late", "cpu=2 memory=4Gi", shimtest.NoScheduler)
		assert.Equal(t, len(m.Booked()), 2, "without a node it takes nothing")
		m.ChangePod("late", func(pod *v1.Pod) { pod.Spec.NodeName = "node-1" })
		assert.DeepEqual(t, m.Booked(), []string{"dns node-1 foreign", "late node-1 foreign", "proxy node-1 foreign"})
		occupied, available, allocated = node()
		assert.Equal(t, occupied, "memory=6442450944 pods=3 vcore=3500")
		assert.Equal(t, available, "memory=10737418240 pods=107 vcore=4500")
		assert.Equal(t, allocated, "nothing")

		for _, name := range []string{"late", "dns", "proxy"} {
			m.EndPod(name)
		}
		occupied, available, allocated = node()
		assert.Equal(t, occupied, "nothing")
		assert.Equal(t, available, "memory=17179869184 pods=110 vcore=8000")
		assert.Equal(t, allocated, "nothing")
		assert.DeepEqual(t, m.Booked(), []string{})
	})
}

// A pod of ours comes, is placed, bound and ends.
func TestLifeOfAPod(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := shimtest.New(t, shimtest.Options{})
		m.AddNode("node-1", "cpu=4 memory=8Gi")
		m.Start()
		m.AddPod("web", "cpu=1 memory=1Gi")
		assert.Equal(t, m.Pod("web").Spec.NodeName, "node-1")
		assert.DeepEqual(t, m.Booked(), []string{"web node-1"})
		assert.DeepEqual(t, m.Feasibility.PodsOn("node-1"), []string{"web"})
		assert.DeepEqual(t, m.Events(), []string{"web Scheduled: placed on node node-1"})
		m.ChangePod("web", func(pod *v1.Pod) { pod.Status.Phase = v1.PodSucceeded })
		assert.DeepEqual(t, m.Booked(), []string{})
		assert.Equal(t, len(m.Feasibility.PodsOn("node-1")), 0)
	})
}
