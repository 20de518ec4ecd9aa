package feasibility

import (
	"errors"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"

	"gotest.tools/v3/assert"
	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
)

// deviceClass is that of graphics cards, which also serves an extended resource.
func deviceClass() *resourcev1.DeviceClass {
	return &resourcev1.DeviceClass{
		ObjectMeta: metav1.ObjectMeta{Name: "card"},
		Spec:       resourcev1.DeviceClassSpec{ExtendedResourceName: new("example.com/card")},
	}
}

// oneCard says that a node has one graphics card.
func oneCard(node string) *resourcev1.ResourceSlice {
	return &resourcev1.ResourceSlice{
		ObjectMeta: metav1.ObjectMeta{Name: "slice-" + node},
		Spec: resourcev1.ResourceSliceSpec{
			Driver: "card.example.com", NodeName: &node,
			Pool:    resourcev1.ResourcePool{Name: node, Generation: 1, ResourceSliceCount: 1},
			Devices: []resourcev1.Device{{Name: "card-0"}},
		},
	}
}

func cardClaim(name string) *resourcev1.ResourceClaim {
	return &resourcev1.ResourceClaim{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "team", UID: types.UID("claim-" + name), ResourceVersion: "1"},
		Spec: resourcev1.ResourceClaimSpec{Devices: resourcev1.DeviceClaim{Requests: []resourcev1.DeviceRequest{{
			Name: "card", Exactly: &resourcev1.ExactDeviceRequest{
				DeviceClassName: "card", AllocationMode: resourcev1.DeviceAllocationModeExactCount, Count: 1,
			},
		}}}},
	}
}

func usingCard(claim string) func(*v1.Pod) {
	return func(pod *v1.Pod) {
		pod.Spec.ResourceClaims = []v1.PodResourceClaim{{Name: "card", ResourceClaimName: &claim}}
		pod.Spec.Containers[0].Resources.Claims = []v1.ResourceClaim{{Name: "card"}}
	}
}

// countVersions makes the fake API server give a new version to each claim that is
// written, as the cache of claims expects, and refuse what was made of an old one. It counts how often it refuses.
func countVersions(client *fake.Clientset) (refused *int) {
	version := 1
	refused = new(int)
	var mu sync.Mutex
	client.PrependReactor("update", "resourceclaims", func(action clienttesting.Action) (bool, runtime.Object, error) {
		mu.Lock()
		defer mu.Unlock()
		claim, resource := action.(clienttesting.UpdateAction).GetObject().(*resourcev1.ResourceClaim), action.GetResource()
		is, err := client.Tracker().Get(resource, claim.Namespace, claim.Name)
		if err != nil {
			return true, nil, err
		}
		if is.(*resourcev1.ResourceClaim).ResourceVersion != claim.ResourceVersion {
			*refused++
			return true, nil, apierrors.NewConflict(resource.GroupResource(), claim.Name, errors.New("it has changed"))
		}
		version++
		claim.ResourceVersion = strconv.Itoa(version)
		return true, claim, client.Tracker().Update(resource, claim, claim.Namespace)
	})
	return refused
}

// TestDevices takes the only card for one pod, and gives it back.
func TestDevices(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first, second := aPod("first", usingCard("one")), aPod("second", usingCard("two"))
		c, client := newChecker(t, Options{}, []runtime.Object{
			deviceClass(), oneCard("b"), cardClaim("one"), cardClaim("two"), first, second,
		}...)
		endsWith(t, c)
		countVersions(client)
		c.SetNode(aNode("a", "z1"))
		c.SetNode(aNode("b", "z2"))
		synctest.Wait() // until the caches of the plugin have heard of all
		wantAnswers(t, c, first, noDevice, "yes")
		wantAnswers(t, c, second, noDevice, "yes")

		if err := c.Reserve(t.Context(), first, "b"); err != nil {
			t.Fatal(err)
		}
		wantAnswers(t, c, second, noDevice, noDevice)
		c.Unreserve(t.Context(), first, "b")
		wantAnswers(t, c, second, noDevice, "yes")
		if err := c.PreBind(t.Context(), first, "b"); !errors.Is(err, ErrNotReserved) {
			t.Errorf("PreBind without a reservation: %v", err)
		}

		if err := c.Reserve(t.Context(), first, "b"); err != nil {
			t.Fatal(err)
		}
		if err := c.PreBind(t.Context(), first, "b"); err != nil {
			t.Fatal(err)
		}
		claim, err := client.ResourceV1().ResourceClaims("team").Get(t.Context(), "one", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if a := claim.Status.Allocation; a == nil || len(a.Devices.Results) != 1 || a.Devices.Results[0].Pool != "b" {
			t.Errorf("allocation in the API server: %v", a)
		}
		if by := claim.Status.ReservedFor; len(by) != 1 || by[0].UID != first.UID {
			t.Errorf("reserved for %v", by)
		}
		synctest.Wait()
		wantAnswers(t, c, second, noDevice, noDevice)

		// Binding failed: the claim is not reserved for the pod any more.
		c.Unreserve(t.Context(), first, "b")
		claim, err = client.ResourceV1().ResourceClaims("team").Get(t.Context(), "one", metav1.GetOptions{})
		if err != nil || len(claim.Status.ReservedFor) != 0 {
			t.Errorf("after Unreserve reserved for %v (%v)", claim.Status.ReservedFor, err)
		}
	})
}

// TestDeviceTaintRules taints the card of a node by a rule, which counts where the API server serves rules.
func TestDeviceTaintRules(t *testing.T) {
	for _, served := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			pod, pool := aPod("first", usingCard("one")), "a"
			rule := &resourcev1.DeviceTaintRule{ObjectMeta: metav1.ObjectMeta{Name: "broken"}, Spec: resourcev1.DeviceTaintRuleSpec{
				DeviceSelector: &resourcev1.DeviceTaintSelector{Pool: &pool},
				Taint:          resourcev1.DeviceTaint{Key: "broken", Effect: resourcev1.DeviceTaintEffectNoSchedule},
			}}
			serves := &metav1.APIResourceList{GroupVersion: resourcev1.SchemeGroupVersion.String()}
			first := "yes"
			if served {
				serves.APIResources, first = []metav1.APIResource{{Name: "devicetaintrules"}}, noDevice
			}
			c, _ := newCheckerOf(t, Options{}, serves, deviceClass(), oneCard("a"), oneCard("b"), cardClaim("one"), pod, rule)
			endsWith(t, c)
			c.SetNode(aNode("a", "z1"))
			c.SetNode(aNode("b", "z2"))
			synctest.Wait()
			wantAnswers(t, c, pod, first, "yes")
		})
	}
}

// Two checkers share informers, with all that Kubernetes serves of devices. Each knows them, and what is reserved with one is not with the other.
func TestCheckersShareInformers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first, second := aPod("first", usingCard("one")), aPod("second", usingCard("two"))
		client := fake.NewClientset(deviceClass(), oneCard("b"), cardClaim("one"), cardClaim("two"), first, second)
		client.Resources = append(client.Resources, &metav1.APIResourceList{
			GroupVersion: resourcev1.SchemeGroupVersion.String(), APIResources: []metav1.APIResource{{Name: "devicetaintrules"}},
		})
		factory := informers.NewSharedInformerFactory(client, 0)
		t.Cleanup(factory.Shutdown)
		var checkers []*Checker
		for range 2 {
			c, err := New(t.Context(), client, factory, Options{})
			assert.NilError(t, err)
			endsWith(t, c)
			checkers = append(checkers, c)
		}
		factory.Start(t.Context().Done())
		for _, c := range checkers {
			assert.NilError(t, c.WaitForSync(t.Context()))
			c.SetNode(aNode("a", "z1"))
			c.SetNode(aNode("b", "z2"))
			synctest.Wait()
			wantAnswers(t, c, first, noDevice, "yes")
		}
		assert.NilError(t, checkers[0].Reserve(t.Context(), first, "b"))
		wantAnswers(t, checkers[0], second, noDevice, noDevice)
		wantAnswers(t, checkers[1], second, noDevice, "yes")
	})
}

// TestExtendedResourceOfDevices asks for a card as a resource, which no node has, but
// which a device serves. That a class of devices serves it may be learnt later.
func TestExtendedResourceOfDevices(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pod := aPod("x", requests("example.com/card=1"))
		c, client := newChecker(t, Options{}, oneCard("b"))
		endsWith(t, c)
		c.SetNode(aNode("a", "z1"))
		c.SetNode(aNode("b", "z2"))
		synctest.Wait()
		refused := "never: Insufficient example.com/card"
		wantAnswers(t, c, pod, refused, refused)
		if _, err := client.ResourceV1().DeviceClasses().Create(t.Context(), deviceClass(), metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		wantAnswers(t, c, pod, noDevice, "yes")
		assert.DeepEqual(t, c.Devices("b"), map[string]int64{"example.com/card": 1, "deviceclass.resource.kubernetes.io/card": 1})
		assert.Equal(t, len(c.Devices("a")), 0)
	})
}

// TestUnknownClaim shows what is said of a pod whose claims are not there yet.
func TestUnknownClaim(t *testing.T) {
	c, _ := newChecker(t, Options{})
	c.SetNode(aNode("a", "z1"))
	for pod, want := range map[*v1.Pod]string{
		aPod("x", usingCard("none")): `never: could not find ResourceClaim "team/none"`,
		aPod("y", claiming("none")):  `never: persistentvolumeclaim "none" not found`,
	} {
		if got := answer(c.Check(pod, "a")); got != want {
			t.Errorf("pod %s: %s, want %s", pod.Name, got, want)
		}
	}
}

// TestDevicesInThought asks for a card that another pod has: without that pod, beside one that would get it, and where
// the claim of the pod is kept by others too.
func TestDevicesInThought(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		low, low2 := aPod("low", usingCard("one"), placedOn("b")), aPod("low-2", placedOn("b"))
		high, higher := aPod("high", usingCard("two")), aPod("higher", usingCard("three"))
		c, client := newChecker(t, Options{}, deviceClass(), oneCard("b"), cardClaim("one"), cardClaim("two"), cardClaim("three"), low, high, higher)
		endsWith(t, c)
		countVersions(client)
		c.SetNode(aNode("a", "z1"))
		c.SetNode(aNode("b", "z2"))
		synctest.Wait()
		with := func(node string, add, remove []*v1.Pod, want string) {
			t.Helper()
			if got := answer(c.CheckWith(high, node, add, remove)); got != want {
				t.Errorf("with %d pods more and %d less on %s: %s, want %s", len(add), len(remove), node, got, want)
			}
		}
		none := []*v1.Pod(nil)
		with("b", []*v1.Pod{higher}, none, "cannot allocate all claims") // it gets the card
		with("a", []*v1.Pod{higher}, none, "cannot allocate all claims")
		with("b", []*v1.Pod{aPod("plain")}, none, "yes")

		unplaced := *low
		unplaced.Spec.NodeName = ""
		if err := c.Reserve(t.Context(), &unplaced, "b"); err != nil { // it is being bound
			t.Fatal(err)
		}
		c.SetPod(low)
		c.SetPod(low2)
		for range 2 {
			wantAnswers(t, c, high, noDevice, "cannot allocate all claims") // on b room may be made
			with("b", none, []*v1.Pod{low2}, "cannot allocate all claims")
			with("b", none, []*v1.Pod{low, low2}, "yes")
			with("b", []*v1.Pod{higher}, []*v1.Pod{low}, "cannot allocate all claims")
			with("a", none, []*v1.Pod{low}, "cannot allocate all claims")
			if err := c.PreBind(t.Context(), &unplaced, "b"); err != nil {
				t.Fatal(err)
			}
			synctest.Wait() // the claim is reserved for it now
			if !c.KeepsDevices(low) {
				t.Error("low keeps no card")
			}
		}
		wantAnswers(t, c, high, noDevice, "cannot allocate all claims") // what was thought is forgotten

		claim, err := client.ResourceV1().ResourceClaims("team").Get(t.Context(), "one", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		claim.Status.ReservedFor = append(claim.Status.ReservedFor, resourcev1.ResourceClaimConsumerReference{Resource: "pods", Name: "x", UID: "x"})
		if _, err := client.ResourceV1().ResourceClaims("team").UpdateStatus(t.Context(), claim, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		with("b", none, []*v1.Pod{low, low2}, "cannot allocate all claims") // x has it too
		if err := client.ResourceV1().ResourceClaims("team").Delete(t.Context(), "one", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		wantAnswers(t, c, high, noDevice, "yes")
		if c.KeepsDevices(low) {
			t.Error("low keeps a card that is given back")
		}
	})
}

// What changes while it is read is read again at once, and what never comes to rest is an error in the end.
func TestReadWhileClaimsChange(t *testing.T) {
	readings, conflicts := 0, 3
	read := func() (int, error) {
		if readings++; readings <= conflicts {
			return 0, errors.New("conflict")
		}
		return 7, nil
	}
	got, err := unchanged(read)
	assert.NilError(t, err)
	assert.Equal(t, got, 7)
	assert.Equal(t, readings, 4)
	conflicts = 1 << 30
	_, err = unchanged(read)
	assert.Error(t, err, "conflict")
	assert.Equal(t, readings, 4+100)
}
