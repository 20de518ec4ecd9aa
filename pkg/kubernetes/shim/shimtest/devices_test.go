package shimtest_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"
	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/feasibility"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/preferences"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/shim"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/shim/shimtest"
)

// withCards starts a scheduler with nodes that have so many cards each, and the pod "plain" of the least priority on the
// first of them.
func withCards(t *testing.T, cards ...int) *shimtest.MockScheduler {
	t.Helper()
	m := shimtest.New(t, shimtest.Options{Feasibility: filters})
	m.Create(&resourcev1.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: "card"}})
	for i, count := range cards {
		node := "node-" + string(rune('1'+i))
		m.AddNode(node, "cpu=8 pods=110")
		slice := oneCard(node)
		slice.Spec.Devices = nil
		for j := range count {
			slice.Spec.Devices = append(slice.Spec.Devices, resourcev1.Device{Name: "card-" + string(rune('0'+j))})
		}
		m.Create(slice)
	}
	m.Start()
	m.AddPod("plain", "cpu=1", onNode("node-1"))
	return m
}

func onNode(node string) shimtest.PodOption {
	return func(pod *v1.Pod) { pod.Spec.NodeSelector = map[string]string{v1.LabelHostname: node} }
}

// addWithCards makes a pod with a claim of its own for some cards.
func addWithCards(m *shimtest.MockScheduler, name string, cards int64, options ...shimtest.PodOption) {
	claim := cardClaim("of-" + name)
	claim.Spec.Devices.Requests[0].Exactly.Count = cards
	m.Create(claim)
	m.AddPod(name, "cpu=1", append(options, withCard("of-"+name))...)
	m.Advance(soon)
}

// endWithCards ends a pod, and then does what the controller of claims does.
func endWithCards(t *testing.T, m *shimtest.MockScheduler, name string) {
	t.Helper()
	m.EndPod(name)
	m.Advance(300 * time.Millisecond)
	giveBack(t, m, "of-"+name)
	m.Advance(soon)
}

// giveBack does what the controller of claims does when the pods have ended for which a claim is reserved.
func giveBack(t *testing.T, m *shimtest.MockScheduler, name string) {
	t.Helper()
	changeClaim(t, m, name, func(claim *resourcev1.ResourceClaim) { claim.Status = resourcev1.ResourceClaimStatus{} })
}

func changeClaim(t *testing.T, m *shimtest.MockScheduler, name string, change func(*resourcev1.ResourceClaim)) {
	t.Helper()
	claims := m.API.ResourceV1().ResourceClaims(metav1.NamespaceDefault)
	claim, err := claims.Get(t.Context(), name, metav1.GetOptions{})
	assert.NilError(t, err)
	change(claim)
	_, err = claims.UpdateStatus(t.Context(), claim, metav1.UpdateOptions{})
	assert.NilError(t, err)
}

// A more important pod gets the device of a less important one: that ends, its claim is given back by the controller of
// claims, and the pod runs. It is told so all the time, and nothing else ends.
func TestDeviceByPreemption(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := withCards(t, 1, 1)
		addWithCards(m, "low", 1)
		addWithCards(m, "lower", 1, shimtest.Priority(-1))
		addWithCards(m, "high", 1, shimtest.Priority(10))
		assert.DeepEqual(t, m.API.Deleted(), []string{"lower"})
		room := m.Pod("lower").Spec.NodeName
		m.EndPod("lower")
		for range 8 { // the controller takes its time
			m.Advance(time.Second)
			assert.Equal(t, condition(m.Pod("high"), v1.PodScheduled), "False RoomIsMade: room is made on node "+room)
		}
		giveBack(t, m, "of-lower")
		m.Advance(soon)
		assert.Equal(t, m.Pod("high").Spec.NodeName, room)
		assert.DeepEqual(t, m.API.Deleted(), []string{"lower"})
		assert.DeepEqual(t, m.Booked(), m.Expected())
	})
}

// The claim of a pod is often made after the pod. What was said of the pod before does not count.
func TestDeviceByPreemptionWithLateClaim(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := withCards(t, 1)
		addWithCards(m, "low", 1)
		m.AddPod("high", "cpu=1", withCard("of-high"), shimtest.Priority(10))
		m.Advance(soon)
		assert.Equal(t, len(m.API.Deleted()), 0)
		m.Create(cardClaim("of-high"))
		m.Advance(soon)
		assert.DeepEqual(t, m.API.Deleted(), []string{"low"})
	})
}

// As few pods end as are needed, and those of the least priority: of two cards one is enough, or both.
func TestDevicesOfTheLeast(t *testing.T) {
	for cards, victims := range map[int64][]string{1: {"low"}, 2: {"low", "mid"}, 3: nil} {
		synctest.Test(t, func(t *testing.T) {
			m := withCards(t, 2)
			addWithCards(m, "mid", 1, shimtest.Priority(5))
			addWithCards(m, "low", 1, shimtest.Priority(1))
			addWithCards(m, "high", cards, shimtest.Priority(10))
			assert.DeepEqual(t, sorted(m.API.Deleted()), victims)
		})
	}
}

// Pods end by the same laws as for other room: less important ones, for a pod that may preempt.
func TestDeviceVictimsAreLawful(t *testing.T) {
	never := v1.PreemptNever
	for name, option := range map[string]shimtest.PodOption{
		"equal":        shimtest.Priority(0),
		"less":         shimtest.Priority(-1),
		"never evicts": func(pod *v1.Pod) { shimtest.Priority(10)(pod); pod.Spec.PreemptionPolicy = &never },
		"elsewhere":    func(pod *v1.Pod) { shimtest.Priority(10)(pod); onNode("node-2")(pod) },
	} {
		synctest.Test(t, func(t *testing.T) {
			m := withCards(t, 1, 0)
			addWithCards(m, "low", 1)
			addWithCards(m, "high", 1, option)
			m.Advance(2 * time.Minute)
			assert.Equal(t, len(m.API.Deleted()), 0, name)
			assert.Equal(t, m.Pod("high").Spec.NodeName, "", name)
		})
	}
}

// A device is not freed by the end of one of several pods that share its claim, unless all of them are victims, and not
// while something else than a pod has it.
func TestSharedDevice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := withCards(t, 1)
		m.Create(cardClaim("shared"))
		m.AddPod("low-1", "cpu=1", withCard("shared"))
		m.Advance(soon)
		m.AddPod("low-2", "cpu=1", withCard("shared"))
		m.AddPod("keeper", "cpu=1", withCard("shared"), shimtest.Priority(20))
		m.Advance(soon)
		addWithCards(m, "high", 1, shimtest.Priority(10))
		m.Advance(2 * time.Minute)
		assert.Equal(t, len(m.API.Deleted()), 0)

		m.EndPod("keeper")
		changeClaim(t, m, "shared", func(claim *resourcev1.ResourceClaim) {
			claim.Status.ReservedFor[2] = resourcev1.ResourceClaimConsumerReference{APIGroup: "example.org", Resource: "jobs", Name: "job", UID: "job"}
		})
		m.Advance(2 * time.Minute)
		assert.Equal(t, len(m.API.Deleted()), 0)

		changeClaim(t, m, "shared", func(claim *resourcev1.ResourceClaim) { claim.Status.ReservedFor = claim.Status.ReservedFor[:2] })
		m.Advance(2 * time.Minute)
		assert.DeepEqual(t, sorted(m.API.Deleted()), []string{"low-1", "low-2"})
	})
}

// Of two pods that want the only card one gets it, and for the other nothing ends. A less important one in another queue,
// which waits for longer, does not get it in between.
func TestDeviceIsKeptForItsPod(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := withCards(t, 1)
		addWithCards(m, "low", 1)
		addWithCards(m, "thief", 1, shimtest.Priority(0), func(pod *v1.Pod) { pod.Labels["applicationId"] = "thief" })
		addWithCards(m, "high-1", 1, shimtest.Priority(10))
		addWithCards(m, "high-2", 1, shimtest.Priority(10))
		assert.DeepEqual(t, m.API.Deleted(), []string{"low"})
		assert.Equal(t, m.Pod("high-2").Status.NominatedNodeName, "")
		endWithCards(t, m, "low")
		assert.DeepEqual(t, m.Booked(), []string{"high-1 node-1", "high-2 -", "plain node-1", "thief -"})
		assert.DeepEqual(t, m.API.Deleted(), []string{"low"})
		assert.Assert(t, strings.HasPrefix(condition(m.Pod("high-2"), v1.PodScheduled), "False Unschedulable: "), condition(m.Pod("high-2"), v1.PodScheduled))
	})
}

// Two pods that want a card each make room on two nodes.
func TestDevicesOfTwoNodes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := withCards(t, 1, 1)
		addWithCards(m, "low-1", 1)
		addWithCards(m, "low-2", 1)
		addWithCards(m, "high-1", 1, shimtest.Priority(10))
		addWithCards(m, "high-2", 1, shimtest.Priority(10))
		assert.DeepEqual(t, sorted(m.API.Deleted()), []string{"low-1", "low-2"})
		endWithCards(t, m, "low-1")
		endWithCards(t, m, "low-2")
		assert.Assert(t, m.Pod("high-1").Spec.NodeName != m.Pod("high-2").Spec.NodeName)
		assert.DeepEqual(t, m.Booked(), m.Expected())
	})
}

// A device is given back by the controller of claims. Where there is none, the core hears of the end of the pod after a
// while, and the other pod is told why it waits.
func TestDeviceIsNotGivenBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := withCards(t, 1)
		addWithCards(m, "low", 1)
		addWithCards(m, "high", 1, shimtest.Priority(10))
		m.EndPod("low")
		m.Advance(20 * time.Second)
		assert.DeepEqual(t, m.Booked(), []string{"high -", "plain node-1"})
		assert.Equal(t, condition(m.Pod("high"), v1.PodScheduled), "False Unschedulable: refused on 1 node: cannot allocate all claims (1 node)")
		assert.DeepEqual(t, m.API.Deleted(), []string{"low"})
		giveBack(t, m, "of-low")
		m.Advance(soon)
		assert.Equal(t, m.Pod("high").Spec.NodeName, "node-1")
	})
}

// An extended resource that devices serve is claimed by the scheduler itself, and freed in the same way.
func TestExtendedResourceByPreemption(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := withCards(t, 1)
		class, err := m.API.ResourceV1().DeviceClasses().Get(t.Context(), "card", metav1.GetOptions{})
		assert.NilError(t, err)
		class.Spec.ExtendedResourceName = new("example.com/card")
		_, err = m.API.ResourceV1().DeviceClasses().Update(t.Context(), class, metav1.UpdateOptions{})
		assert.NilError(t, err)
		m.Advance(soon)
		m.AddPod("low", "cpu=1 example.com/card=1")
		m.Advance(soon)
		assert.Equal(t, m.Pod("low").Spec.NodeName, "node-1")
		m.AddPod("high", "cpu=1 example.com/card=1", shimtest.Priority(10))
		m.Advance(soon)
		assert.DeepEqual(t, m.API.Deleted(), []string{"low"})
		m.EndPod("low")
		m.Advance(300 * time.Millisecond)
		claims := m.API.ResourceV1().ResourceClaims(metav1.NamespaceDefault)
		assert.NilError(t, claims.Delete(t.Context(), extendedClaimOf(t, m, "low"), metav1.DeleteOptions{}))
		m.Advance(soon)
		assert.Equal(t, m.Pod("high").Spec.NodeName, "node-1")
	})
}

// A pod of a daemonset gets a device in the same way, and a claim that is allocated for a pod that is being bound counts.
func TestDeviceForDaemonset(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := withCards(t, 1, 1)
		addWithCards(m, "low", 1, onNode("node-1"))
		m.Create(shimtest.NewDaemonSet(metav1.NamespaceDefault, "logs"))
		addWithCards(m, "high", 1, daemonset("node-1"), shimtest.Priority(10))
		m.Advance(time.Minute)
		assert.DeepEqual(t, m.API.Deleted(), []string{"low"})
		endWithCards(t, m, "low")
		assert.Equal(t, m.Pod("high").Spec.NodeName, "node-1")
	})
}

// A restart keeps what was decided: the victim ends, and the pod runs.
func TestRestartWhileDeviceIsAwaited(t *testing.T) {
	for _, ended := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			m := withCards(t, 1, 1)
			addWithCards(m, "low-1", 1)
			addWithCards(m, "low-2", 1)
			addWithCards(m, "high", 1, shimtest.Priority(10))
			victim := m.API.Deleted()
			assert.Equal(t, len(victim), 1)
			if ended {
				m.EndPod(victim[0])
			}
			m.Stop()
			m = shimtest.New(t, shimtest.Options{Feasibility: filters, API: m.API})
			m.Start()
			m.Advance(soon)
			if !ended {
				m.EndPod(victim[0])
			}
			m.Advance(300 * time.Millisecond)
			giveBack(t, m, "of-"+victim[0])
			m.Advance(soon)
			assert.Assert(t, m.Pod("high").Spec.NodeName != "")
			assert.DeepEqual(t, m.API.Deleted(), victim)
		})
	}
}

func extendedClaimOf(t *testing.T, m *shimtest.MockScheduler, pod string) string {
	t.Helper()
	list, err := m.API.ResourceV1().ResourceClaims(metav1.NamespaceDefault).List(t.Context(), metav1.ListOptions{})
	assert.NilError(t, err)
	for _, claim := range list.Items {
		if metav1.GetControllerOf(&claim) != nil && metav1.GetControllerOf(&claim).Name == pod {
			return claim.Name
		}
	}
	t.Fatalf("pod %s has no claim", pod)
	return ""
}

func sorted(list []string) []string { return slices.Sorted(slices.Values(list)) }

// A claim may name alternatives. The pod goes where it gets the first of them, though the order of nodes would have it
// elsewhere, and to the second where the first is taken.
func TestEarlierAlternativeIsPreferred(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var checker *feasibility.Checker
		m := shimtest.New(t, shimtest.Options{
			Feasibility: func(ctx context.Context, client kubernetes.Interface, factory informers.SharedInformerFactory) (shim.Feasibility, error) {
				var err error
				checker, err = feasibility.New(ctx, client, factory, feasibility.Options{Workers: 1})
				return checker, err
			},
			Preferences: func(factory informers.SharedInformerFactory) (shim.Preferences, error) {
				return preferences.New(factory, preferences.Options{Devices: checker.DevicePoints})
			},
		})
		for number, size := range []string{"small", "small", "large"} {
			node := "node-" + string(rune('1'+number))
			m.AddNode(node, "cpu=8")
			slice := oneCard(node)
			slice.Spec.Devices[0].Attributes = map[resourcev1.QualifiedName]resourcev1.DeviceAttribute{"size": {StringValue: &size}}
			m.Create(slice)
		}
		m.Create(&resourcev1.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: "card"}})
		m.Start()
		for _, name := range []string{"first", "second", "third", "fourth"} {
			claim := cardClaim("of-" + name)
			claim.Spec.Devices.Requests = []resourcev1.DeviceRequest{{Name: "card", FirstAvailable: []resourcev1.DeviceSubRequest{sized("large"), sized("small")}}}
			m.Create(claim)
			m.AddPod(name, "cpu=1", withCard("of-"+name))
			m.Advance(soon)
		}
		assert.DeepEqual(t, m.Booked(), []string{"first node-3", "fourth -", "second node-1", "third node-2"})
	})
}

// sized asks for a card of a size.
func sized(size string) resourcev1.DeviceSubRequest {
	return resourcev1.DeviceSubRequest{
		Name: size, DeviceClassName: "card", AllocationMode: resourcev1.DeviceAllocationModeExactCount, Count: 1,
		Selectors: []resourcev1.DeviceSelector{{CEL: &resourcev1.CELDeviceSelector{
			Expression: `device.attributes["card.example.org"].size == "` + size + `"`,
		}}},
	}
}

// A claim that nothing uses, with the device of a node that has no room, is given another device elsewhere: its binding
// failed, or it was the only one that used it. One that another pod uses stays where it is.
func TestUnusedDeviceDoesNotHoldPods(t *testing.T) {
	for name, c := range map[string]struct {
		reserved []string // UIDs of the pods for which it is
		booked   string
	}{
		"for nothing":     {nil, "web node-2"},
		"for the pod":     {[]string{"uid-web"}, "web node-2"},
		"for another pod": {[]string{"uid-other"}, "web -"},
		"for both":        {[]string{"uid-web", "uid-other"}, "web -"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := withCards(t, 1, 1)
				m.AddPod("large", "cpu=7", onNode("node-1"))
				claim := cardClaim("left")
				claim.Finalizers = []string{resourcev1.Finalizer}
				claim.Status.Allocation = &resourcev1.AllocationResult{
					Devices: resourcev1.DeviceAllocationResult{Results: []resourcev1.DeviceRequestAllocationResult{{
						Request: "card", Driver: "card.example.org", Pool: "node-1", Device: "card-0",
					}}},
					NodeSelector: &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{{MatchFields: []v1.NodeSelectorRequirement{{
						Key: metav1.ObjectNameField, Operator: v1.NodeSelectorOpIn, Values: []string{"node-1"},
					}}}}},
				}
				for _, uid := range c.reserved {
					claim.Status.ReservedFor = append(claim.Status.ReservedFor, resourcev1.ResourceClaimConsumerReference{Resource: "pods", Name: uid, UID: types.UID(uid)})
				}
				m.Create(claim)
				m.AddPod("web", "cpu=1", withCard("left"))
				m.Advance(2 * soon)
				assert.Assert(t, slices.Contains(m.Booked(), c.booked), "%v", m.Booked())
				assert.Equal(t, strings.HasPrefix(condition(m.Pod("web"), v1.PodScheduled), "False Unschedulable"), c.booked == "web -")
				assert.DeepEqual(t, m.Booked(), m.Expected())
			})
		})
	}
}
