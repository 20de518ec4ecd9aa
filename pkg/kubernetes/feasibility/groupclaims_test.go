package feasibility

import (
	"errors"
	"fmt"
	goruntime "runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"
	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clienttesting "k8s.io/client-go/testing"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/pods"
)

// inGroup has a pod be of the group train, and take its card from a claim that was made for the group.
func inGroup(pod *v1.Pod) {
	group, template, claim := "train", "cards", "one"
	pod.Spec.SchedulingGroup = &v1.PodSchedulingGroup{PodGroupName: &group}
	pod.Spec.ResourceClaims = []v1.PodResourceClaim{{Name: "card", ResourceClaimTemplateName: &template}}
	pod.Status.ResourceClaimStatuses = []v1.PodResourceClaimStatus{{Name: "card", ResourceClaimName: &claim}}
}

// groupOfCards is the group train, whose pods share one claim of the template.
func groupOfCards() pods.PodGroup {
	template := "cards"
	return pods.PodGroup{
		Namespace: "team", Name: "train", UID: "uid-train",
		ResourceClaims: []schedulingv1beta1.PodGroupResourceClaim{{Name: "card", ResourceClaimTemplateName: &template}},
	}
}

// Two pods share a claim, one that both name or that of their group. Where it is allocated for the first, the second may run, in thought and
// while the first is being bound, and nothing else gets the card, also when the first cannot be bound.
func TestPodsThatShareAClaim(t *testing.T) {
	for _, test := range []struct {
		name        string
		uses        func(*v1.Pod)
		fails       bool     // the first cannot be bound
		reservedFor []string // in the end
	}{
		{"named by both", usingCard("one"), false, []string{"first", "second"}},
		{"named by both, and the first fails", usingCard("one"), true, []string{"second"}},
		{"of their group", inGroup, false, []string{"train"}},
		{"of their group, and the first fails", inGroup, true, []string{"train"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				first, second, other := aPod("first", test.uses), aPod("second", test.uses), aPod("other", usingCard("two"))
				one := cardClaim("one")
				if first.Spec.SchedulingGroup != nil {
					isController := true
					one.OwnerReferences = []metav1.OwnerReference{
						{APIVersion: "scheduling.k8s.io/v1beta1", Kind: "PodGroup", Name: "train", UID: "uid-train", Controller: &isController},
					}
				}
				c, client := newChecker(t, Options{}, deviceClass(), oneCard("b"), one, cardClaim("two"), first, second, other)
				endsWith(t, c)
				countVersions(client)
				c.SetPodGroup(groupOfCards())
				c.SetNode(aNode("a", "z1"))
				c.SetNode(aNode("b", "z2"))
				synctest.Wait()

				assert.Equal(t, answer(c.CheckWith(second, "b", []*v1.Pod{first}, nil)), "yes")
				assert.Equal(t, answer(c.CheckWith(other, "b", []*v1.Pod{first, second}, nil)), "cannot allocate all claims")
				wantAnswers(t, c, second, noDevice, "yes") // what was thought is forgotten
				wantAnswers(t, c, other, noDevice, "yes")

				assert.NilError(t, c.Reserve(t.Context(), first, "b"))
				wantAnswers(t, c, second, notThere, "yes")
				wantAnswers(t, c, other, noDevice, noDevice)
				assert.NilError(t, c.Reserve(t.Context(), second, "b"))

				c.SetPod(on(first, "b"))
				c.SetPod(on(second, "b"))
				for _, ends := range [][]*v1.Pod{{first}, {second}} { // without one of them the other has the card still
					assert.Equal(t, answer(c.CheckWith(other, "b", nil, ends)), "cannot allocate all claims")
				}
				assert.Equal(t, answer(c.CheckWith(other, "b", nil, []*v1.Pod{first, second})), "yes")
				c.RemovePod(first)
				c.RemovePod(second)

				if test.fails {
					c.Unreserve(t.Context(), first, "b")
				} else {
					assert.NilError(t, c.PreBind(t.Context(), first, "b"))
				}
				wantAnswers(t, c, other, noDevice, noDevice)
				assert.NilError(t, c.PreBind(t.Context(), second, "b"))
				synctest.Wait()
				claim, err := client.ResourceV1().ResourceClaims("team").Get(t.Context(), "one", metav1.GetOptions{})
				assert.NilError(t, err)
				assert.Assert(t, claim.Status.Allocation != nil)
				assert.DeepEqual(t, namesOf(claim.Status.ReservedFor), test.reservedFor)
				wantAnswers(t, c, aPod("third", test.uses), notThere, "yes")
				wantAnswers(t, c, other, noDevice, noDevice)
				assert.Equal(t, len(c.starts), 0)
			})
		})
	}
}

// While a second pod is reserved, the API server learns of the claim that it shares with the first: after it was read, and before it is looked up
// whether it is in flight. It is, until the second is reserved.
func TestAClaimIsWrittenWhileAnotherPodReservesIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first, second := aPod("first", usingCard("one")), aPod("second", usingCard("one"))
		c, client := newChecker(t, Options{}, deviceClass(), oneCard("b"), cardClaim("one"), first, second)
		endsWith(t, c)
		countVersions(client)
		c.SetNode(aNode("b", "z2"))
		synctest.Wait()
		assert.NilError(t, c.Reserve(t.Context(), first, "b"))

		written, ended := make(chan bool), make(chan error, 1)
		c.views.SharedDRAManager = &watched{SharedDRAManager: c.views.SharedDRAManager, written: func() { close(written) }, look: func() {
			go func() { ended <- c.PreBind(t.Context(), first, "b") }()
			<-written
			for range 1000 { // the first could end now
				goruntime.Gosched()
			}
		}}
		assert.NilError(t, c.Reserve(t.Context(), second, "b"))
		assert.NilError(t, <-ended)
		assert.NilError(t, c.PreBind(t.Context(), second, "b"))
		assert.Equal(t, len(c.starts)+len(c.views.holders.inFlight), 0)
	})
}

// A watched manager of claims says when it is first looked up whether a claim is in flight, and when one was first written.
type watched struct {
	fwk.SharedDRAManager
	looked, wrote atomic.Bool
	look, written func()
}

type watchedTracker struct {
	fwk.ResourceClaimTracker
	*watched
}

func (w *watched) ResourceClaims() fwk.ResourceClaimTracker {
	return &watchedTracker{w.SharedDRAManager.ResourceClaims(), w}
}

func (w *watchedTracker) GetPendingAllocation(uid types.UID) *resourcev1.AllocationResult {
	if !w.looked.Swap(true) {
		w.look()
	}
	return w.ResourceClaimTracker.GetPendingAllocation(uid)
}

func (w *watchedTracker) AssumeClaimAfterAPICall(claim *resourcev1.ResourceClaim) error {
	err := w.ResourceClaimTracker.AssumeClaimAfterAPICall(claim)
	if !w.wrote.Swap(true) {
		w.written()
	}
	return err
}

// The first of many pods names one claim, and the others name two. All are made ready at once, and each writes them after the other, so that the
// API server refuses nothing.
func TestPodsThatShareSomeClaims(t *testing.T) {
	const many = 30
	synctest.Test(t, func(t *testing.T) {
		card := oneCard("b")
		card.Spec.Devices = append(card.Spec.Devices, resourcev1.Device{Name: "other"})
		pods := []*v1.Pod{aPod("first", usingCards("one"))}
		for i := range many - 1 {
			pods = append(pods, aPod(fmt.Sprint("pod-", i), usingCards("one", "two")))
		}
		c, client := newChecker(t, Options{}, deviceClass(), card, cardClaim("one"), cardClaim("two"))
		endsWith(t, c)
		refused := countVersions(client)
		c.SetNode(aNode("b", "z2"))
		synctest.Wait()
		ended := make(chan error)
		for _, pod := range pods {
			assert.NilError(t, c.Reserve(t.Context(), pod, "b"))
		}
		for _, pod := range pods {
			go func() { ended <- c.PreBind(t.Context(), pod, "b") }()
		}
		for range pods {
			assert.NilError(t, <-ended)
		}
		for name, want := range map[string]int{"one": many, "two": many - 1} {
			claim, err := client.ResourceV1().ResourceClaims("team").Get(t.Context(), name, metav1.GetOptions{})
			assert.NilError(t, err)
			assert.Equal(t, len(claim.Status.ReservedFor), want)
		}
		assert.Equal(t, *refused, 0)
		assert.Equal(t, len(c.starts)+len(c.views.holders.inFlight), 0)
	})
}

// A pod does not wait for another one that shares its claim of a card and waits for its own volume.
func TestPodsDoNotWaitForVolumesOfOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first, second := aPod("first", claiming("one"), usingCard("one")), aPod("second", usingCard("one"))
		c, client := newChecker(t, Options{BindTimeout: time.Minute}, waitingClass("kubernetes.io/no-provisioner"), waitingClaim("one"),
			localVolume("disk-b", "b"), deviceClass(), oneCard("b"), cardClaim("one"), first, second, aNode("b", "z2"))
		endsWith(t, c)
		countVersions(client)
		c.SetNode(aNode("b", "z2"))
		synctest.Wait()
		assert.NilError(t, c.Reserve(t.Context(), first, "b"))
		assert.NilError(t, c.Reserve(t.Context(), second, "b"))
		ended := make(chan error, 1)
		go func() { ended <- c.PreBind(t.Context(), first, "b") }()
		synctest.Wait()
		assert.NilError(t, c.PreBind(t.Context(), second, "b"))
		assert.Equal(t, len(ended), 0)
		bindVolume(t, client, volumeOf(t, client))
		assert.NilError(t, <-ended)
	})
}

// Of three pods that share a claim the first fails, and the second has no place any more. The card is still kept for the third one, until that is
// given up too.
func TestAClaimIsKeptForThoseThatCanStillStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first, second, third, other := aPod("first", usingCard("one")), aPod("second", usingCard("one")), aPod("third", usingCard("one")), aPod("other", usingCard("two"))
		second.Spec.NodeSelector = map[string]string{"disk": "fast"}
		c, client := newChecker(t, Options{}, deviceClass(), oneCard("b"), cardClaim("one"), cardClaim("two"), first, second, third, other)
		endsWith(t, c)
		countVersions(client)
		c.SetNode(aNode("b", "z2", "disk=fast"))
		synctest.Wait()
		for _, pod := range []*v1.Pod{first, second, third} {
			assert.NilError(t, c.Reserve(t.Context(), pod, "b"))
		}
		isDown := true
		client.PrependReactor("update", "resourceclaims", func(clienttesting.Action) (bool, runtime.Object, error) {
			return isDown, nil, errors.New("the API server is down")
		})
		assert.ErrorContains(t, c.PreBind(t.Context(), first, "b"), "down")
		c.Unreserve(t.Context(), first, "b")
		c.SetNode(aNode("b", "z2"))
		assert.ErrorContains(t, c.PreBind(t.Context(), second, "b"), "node affinity")
		c.Unreserve(t.Context(), second, "b")
		assert.Equal(t, answer(c.Check(other, "b")), noDevice)
		c.Unreserve(t.Context(), third, "b")
		assert.Equal(t, answer(c.Check(other, "b")), "yes")
	})
}

// usingCards has a pod name claims.
func usingCards(claims ...string) func(*v1.Pod) {
	return func(pod *v1.Pod) {
		for i := range claims {
			pod.Spec.ResourceClaims = append(pod.Spec.ResourceClaims, v1.PodResourceClaim{Name: claims[i], ResourceClaimName: &claims[i]})
		}
	}
}

// notThere is the answer about a claim that has devices which the node does not reach.
const notThere = "never: resourceclaim not available on the node"

func namesOf(consumers []resourcev1.ResourceClaimConsumerReference) (names []string) {
	for _, consumer := range consumers {
		names = append(names, consumer.Name)
	}
	return names
}

// Pods that share a claim have to run where its devices are reached: on one node, or in one value of a label. It is known before the claim
// has devices, also when all are taken, and it changes with the devices that there are.
func TestSharedTopology(t *testing.T) {
	const zone = v1.LabelTopologyZone
	in := func(operator v1.NodeSelectorOperator, values ...string) v1.NodeSelectorRequirement {
		return v1.NodeSelectorRequirement{Key: zone, Operator: operator, Values: values}
	}
	of := func(name string, scope func(*resourcev1.ResourceSliceSpec)) *resourcev1.ResourceSlice {
		slice := oneCard(name)
		slice.Spec.NodeName = nil
		scope(&slice.Spec)
		return slice
	}
	reaching := func(terms ...v1.NodeSelectorRequirement) func(*resourcev1.ResourceSliceSpec) {
		return func(spec *resourcev1.ResourceSliceSpec) {
			spec.NodeSelector = &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{{MatchExpressions: terms}}}
		}
	}
	for want, slice := range map[string]*resourcev1.ResourceSlice{
		v1.LabelHostname: oneCard("b"),
		zone:             of("zone", reaching(in(v1.NodeSelectorOpIn, "z2"))),
		"":               of("two-zones", reaching(in(v1.NodeSelectorOpIn, "z1", "z2"))),
		"none":           of("other-zones", reaching(in(v1.NodeSelectorOpNotIn, "z1"))),
		"two":            of("zone-and-name", reaching(in(v1.NodeSelectorOpIn, "z2"), v1.NodeSelectorRequirement{Key: "name", Operator: v1.NodeSelectorOpExists})),
		"all":            of("all", func(spec *resourcev1.ResourceSliceSpec) { spec.AllNodes = new(true) }),
	} {
		synctest.Test(t, func(t *testing.T) {
			first, second, other := aPod("first", usingCard("one")), aPod("second", usingCard("one")), aPod("other", usingCard("two"))
			c, client := newChecker(t, Options{}, deviceClass(), slice, cardClaim("one"), cardClaim("two"), first, second, other)
			endsWith(t, c)
			countVersions(client)
			c.SetNode(aNode("a", "z1"))
			c.SetNode(aNode("b", "z2", "name=b"))
			synctest.Wait()
			label := want
			if label == "none" || label == "two" || label == "all" {
				label = ""
			}
			assert.Equal(t, c.SharedTopology(first), label, want)
			assert.Equal(t, c.SharedTopology(aPod("plain")), "")
			assert.NilError(t, c.Reserve(t.Context(), other, "b"))
			for range 2 { // kept, and found
				assert.Equal(t, c.SharedTopology(second), label, want)
				c.views.reaches.Purge()
			}
			c.Unreserve(t.Context(), other, "b")
			assert.NilError(t, c.Reserve(t.Context(), first, "b"))
			assert.NilError(t, c.PreBind(t.Context(), first, "b"))
			synctest.Wait()
			assert.Equal(t, c.SharedTopology(second), label, want)

			assert.Equal(t, c.SharedTopology(other), label, want)
			assert.NilError(t, client.ResourceV1().ResourceSlices().Delete(t.Context(), slice.Name, metav1.DeleteOptions{}))
			synctest.Wait()
			assert.Equal(t, c.SharedTopology(other), "", want) // there is none now
		})
	}
}

// Of several claims those count that others may name, and of these the one whose devices are on one node.
func TestSharedTopologyOfSeveralClaims(t *testing.T) {
	claimOf := func(name, driver string) *resourcev1.ResourceClaim {
		claim := cardClaim(name)
		claim.Spec.Devices.Requests[0].Exactly.Selectors = []resourcev1.DeviceSelector{
			{CEL: &resourcev1.CELDeviceSelector{Expression: `device.driver == "` + driver + `"`}},
		}
		return claim
	}
	fabric := oneCard("fabric")
	fabric.Spec.Driver, fabric.Spec.NodeName = "fabric.example.com", nil
	fabric.Spec.NodeSelector = &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{{MatchExpressions: []v1.NodeSelectorRequirement{
		{Key: v1.LabelTopologyZone, Operator: v1.NodeSelectorOpIn, Values: []string{"z2"}},
	}}}}
	synctest.Test(t, func(t *testing.T) {
		pod, isController := aPod("pod", usingCards("mine", "channel")), true
		mine := claimOf("mine", "card.example.com")
		mine.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: pod.Name, UID: pod.UID, Controller: &isController}}
		elsewhere := cardClaim("one")
		elsewhere.Namespace = "others"
		c, _ := newChecker(t, Options{}, deviceClass(), fabric, oneCard("b"), mine, claimOf("channel", "fabric.example.com"), claimOf("card", "card.example.com"), cardClaim("one"), elsewhere)
		endsWith(t, c)
		c.SetNode(aNode("a", "z1"))
		c.SetNode(aNode("b", "z2"))
		synctest.Wait()
		assert.Equal(t, c.SharedTopology(pod), v1.LabelTopologyZone)
		assert.Equal(t, c.SharedTopology(aPod("two", usingCards("channel", "card"))), v1.LabelHostname)
		assert.Equal(t, c.SharedTopology(aPod("three", usingCards("card", "channel"))), v1.LabelHostname)

		ours, theirs := aPod("ours", inGroup), aPod("theirs", inGroup)
		theirs.Namespace = "others"
		assert.Equal(t, c.views.sharesWith(ours), "group team/train")
		assert.Equal(t, c.views.sharesWith(theirs), "group others/train")
	})
}

// However many nodes there are, few are looked at for a claim (reachNodesMax), from the first to the last: those with devices come first.
// However many claims were, what was found is kept of the last thousand (reachesMax).
func TestSharedTopologyLooksAtFewNodes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		objects := []runtime.Object{deviceClass(), cardClaim("one")}
		for i := range 200 {
			objects = append(objects, oneCard(fmt.Sprintf("card-%03d", i)))
		}
		c, _ := newChecker(t, Options{}, objects...)
		endsWith(t, c)
		for i := range 200 {
			c.SetNode(aNode(fmt.Sprintf("card-%03d", i), "z1"))
			c.SetNode(aNode(fmt.Sprintf("a-%03d", i), "z1"))
		}
		synctest.Wait()
		assert.Equal(t, c.SharedTopology(aPod("pod", usingCard("one"))), v1.LabelHostname)
		var names []string
		for _, info := range c.nodesByDevices() {
			names = append(names, info.Node().Name)
		}
		assert.Equal(t, len(names), 128)
		assert.DeepEqual(t, []string{names[0], names[1], names[63], names[64], names[127]}, []string{"card-000", "card-003", "card-196", "a-000", "a-196"})
		assert.Equal(t, len(someOf(nil)), 0)

		for i := range 1100 {
			claim := cardClaim("one")
			claim.UID = types.UID(fmt.Sprint("claim-", i))
			c.reachOf(aPod("pod", usingCard("one")), claim)
		}
		assert.Equal(t, c.views.reaches.Len(), 1000)
	})
}
