package shimtest_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"

	"gotest.tools/v3/assert"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/shim/shimtest"
)

func resized(cpu string) func(*v1.Pod) {
	return func(pod *v1.Pod) {
		pod.Spec.Containers[0].Resources.Requests[v1.ResourceCPU] = resource.MustParse(cpu)
	}
}

// A foreign pod is seen first in an update, is resized, and runs on a node that comes later:
// what the node shows is the sum of the live pods at each step.
func TestForeignPodSeenFirstInAnUpdate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := shimtest.New(t, shimtest.Options{})
		m.AddNode("node-1", "cpu=8 memory=16Gi")
		m.Start()
		pod := shimtest.NewPod("dns", "cpu=1", shimtest.Foreign, shimtest.On("node-1"))
		m.UpdatePod(pod.DeepCopy(), pod)
		m.Settle()
		assert.Equal(t, m.Node("node-1").Occupied, "pods=1 vcore=1000")
		larger := pod.DeepCopy()
		resized("3")(larger)
		m.UpdatePod(pod, larger)
		m.Settle()
		assert.Equal(t, m.Node("node-1").Occupied, "pods=1 vcore=3000")

		elsewhere := shimtest.NewPod("early", "cpu=2", shimtest.Foreign, shimtest.On("node-2"))
		m.Context.AddPod(elsewhere)
		m.AddNode("node-2", "cpu=4 memory=4Gi")
		assert.Equal(t, m.Node("node-2").Occupied, "pods=1 vcore=2000")

		gone := shimtest.NewPod("gone", "cpu=1", shimtest.Foreign, shimtest.On("node-3"))
		m.Context.AddPod(gone)
		m.Context.DeletePod(gone) // its node is not known
		m.AddNode("node-3", "cpu=4 memory=4Gi")
		assert.Equal(t, m.Node("node-3").Occupied, "nothing")
		m.Context.DeletePod(larger)
		m.Settle()
		assert.Equal(t, m.Node("node-1").Occupied, "nothing")
	})
}

// The size of a pod is the one the kubelet counts: a side-car runs beside the containers, an
// ordinary init container before them.
func TestSideCarsCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		always := v1.ContainerRestartPolicyAlways
		m := shimtest.New(t, shimtest.Options{})
		m.AddNode("node-1", "cpu=8 memory=16Gi")
		m.Start()
		for i, option := range []shimtest.PodOption{shimtest.On("node-1"), shimtest.Foreign} {
			m.AddPod(fmt.Sprint("pod-", i), "cpu=1", shimtest.On("node-1"), option, func(pod *v1.Pod) {
				pod.Spec.InitContainers = []v1.Container{
					{Name: "proxy", RestartPolicy: &always, Resources: v1.ResourceRequirements{Requests: shimtest.Quantities("cpu=500m")}},
					{Name: "setup", Resources: v1.ResourceRequirements{Requests: shimtest.Quantities("cpu=1200m")}},
				}
			})
		}
		// Setup and the proxy before: 1.7. The container and the proxy: 1.5.
		assert.Equal(t, m.Node("node-1").Allocated, "pods=1 vcore=1700")
		assert.Equal(t, m.Node("node-1").Occupied, "pods=1 vcore=1700")
	})
}

// Each pod passes through versions that come in any order and any number of times; those
// that are deleted too. The end is always the same.
func TestAnyOrderOfMessages(t *testing.T) {
	versions := func(name string, options ...shimtest.PodOption) []*v1.Pod {
		first := shimtest.NewPod(name, "cpu=1", options...)
		first.ResourceVersion = "10"
		second := first.DeepCopy()
		second.ResourceVersion, second.Spec.NodeName = "20", "node-1"
		third := second.DeepCopy()
		third.ResourceVersion = "30"
		resized("2")(third)
		return []*v1.Pod{first, second, third}
	}
	type message struct {
		pod     *v1.Pod
		deleted bool
	}
	for seed := range uint64(40) {
		synctest.Test(t, func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 1))
			var messages []message
			for _, name := range []string{"stays", "goes"} {
				for _, option := range []shimtest.PodOption{shimtest.Foreign, shimtest.Queue("root.default")} {
					kind := "own"
					if shimtest.NewPod("x", "", option).Spec.SchedulerName != shimtest.SchedulerName {
						kind = "foreign"
					}
					for _, pod := range versions(name+"-"+kind, option) {
						messages = append(messages, message{pod, false}, message{pod, false})
					}
					if name == "goes" {
						messages = append(messages, message{versions(name+"-"+kind, option)[2], true})
					}
				}
			}
			random.Shuffle(len(messages), func(i, j int) { messages[i], messages[j] = messages[j], messages[i] })
			m := shimtest.New(t, shimtest.Options{})
			// The core may not place what the versions of the API server do not say.
			m.Feasibility.Conflict = func(*v1.Pod, string) error { return errNever }
			m.Start()
			node := random.IntN(len(messages))
			for i, x := range messages {
				if i == node {
					m.AddNode("node-1", "cpu=100 memory=100Gi")
				}
				switch {
				case x.deleted:
					m.Context.DeletePod(x.pod)
				case random.IntN(2) == 0:
					m.Context.AddPod(x.pod)
				default:
					m.UpdatePod(nil, x.pod)
				}
				if random.IntN(3) == 0 {
					m.Settle()
				}
			}
			m.Settle()
			assert.DeepEqual(t, m.Booked(), []string{"stays-foreign node-1 foreign", "stays-own node-1"})
			assert.Equal(t, m.Node("node-1").Occupied, "pods=1 vcore=2000", "seed %d", seed)
			assert.Equal(t, m.Node("node-1").Allocated, "pods=1 vcore=2000", "seed %d", seed)
			assert.DeepEqual(t, m.Feasibility.PodsOn("node-1"), []string{"stays-foreign", "stays-own"})
		})
	}
}

// Static pods are told as such, and so is a pod that others name as their owner.
func TestStaticPodsAndOwners(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := shimtest.New(t, shimtest.Options{})
		m.AddNode("node-1", "cpu=8 memory=16Gi")
		m.AddPod("proxy", "cpu=1", shimtest.On("node-1"), shimtest.Static)
		m.AddPod("dns", "cpu=1", shimtest.On("node-1"), shimtest.Foreign)
		m.AddPod("driver", "cpu=1", shimtest.Selects("nowhere"))
		m.AddPod("executor", "cpu=1", shimtest.Selects("nowhere"), func(pod *v1.Pod) {
			pod.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: "driver", UID: "uid-driver"}}
		})
		m.Start()
		assert.DeepEqual(t, m.Tag("foreign"), map[string]string{"proxy": "static", "dns": "default"})
		assert.DeepEqual(t, m.Tag("owner"), map[string]string{"driver": "true"})
	})
}

// A pod is an owner as long as others belong to it, also if it runs before they come.
func TestOwnerLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := shimtest.New(t, shimtest.Options{})
		m.AddNode("node-1", "cpu=2")
		m.Start()
		m.AddPod("driver", "cpu=1")
		m.AddPod("executor", "cpu=1", func(pod *v1.Pod) {
			pod.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: "driver", UID: "uid-driver"}}
		})
		assert.DeepEqual(t, m.Tag("owner"), map[string]string{"driver": "true"})
		m.EndPod("executor")
		assert.DeepEqual(t, m.Tag("owner"), map[string]string{})
	})
}
