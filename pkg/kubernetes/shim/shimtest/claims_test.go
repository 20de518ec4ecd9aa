package shimtest_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"
	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/shim/shimtest"
)

func withVolume(claim string) shimtest.PodOption {
	return func(pod *v1.Pod) {
		pod.Spec.Volumes = []v1.Volume{{Name: "data", VolumeSource: v1.VolumeSource{
			PersistentVolumeClaim: &v1.PersistentVolumeClaimVolumeSource{ClaimName: claim},
		}}}
	}
}

// An API server before Kubernetes 1.34 serves no claims of devices in the version that is read here: the scheduler starts
// all the same, and a pod with such a claim is told why it waits.
func TestServerWithoutDevices(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := shimtest.NewAPI()
		api.Refuse(resourcev1.SchemeGroupVersion)
		m := shimtest.New(t, shimtest.Options{Feasibility: filters, API: api})
		m.AddNode("node-1", "cpu=8")
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		assert.NilError(t, m.StartFor(ctx))
		m.AddPod("web", "cpu=1")
		m.AddPod("trainer", "cpu=1", func(pod *v1.Pod) {
			pod.Spec.ResourceClaims = []v1.PodResourceClaim{{Name: "card", ResourceClaimName: new("card")}}
		})
		m.Advance(soon)
		assert.DeepEqual(t, m.Booked(), []string{"trainer -", "web node-1"})
		condition := m.Pod("trainer").Status.Conditions[0]
		assert.Assert(t, strings.Contains(condition.Message, "does not serve claims of devices"), condition.Message)
	})
}

// soon is less than the minute after which the core tries everything again.
const soon = 2 * time.Second

// A pod that is there before its claim for a volume is tried again when the claim comes.
func TestVolumeClaimComesLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := shimtest.New(t, shimtest.Options{Feasibility: filters})
		m.AddNode("node-1", "cpu=8")
		m.Start()
		m.AddPod("db", "cpu=1", withVolume("data"))
		m.Advance(20 * time.Second)
		assert.DeepEqual(t, m.Booked(), []string{"db -"})

		amounts := v1.ResourceList{v1.ResourceStorage: resource.MustParse("1Gi")}
		claim := &v1.PersistentVolumeClaim{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: metav1.NamespaceDefault, Name: "data", UID: "uid-data",
				Annotations: map[string]string{"pv.kubernetes.io/bind-completed": "yes"},
			},
			Spec: v1.PersistentVolumeClaimSpec{
				AccessModes: []v1.PersistentVolumeAccessMode{v1.ReadWriteOnce}, StorageClassName: new(""),
				VolumeName: "disk", Resources: v1.VolumeResourceRequirements{Requests: amounts},
			},
			Status: v1.PersistentVolumeClaimStatus{Phase: v1.ClaimBound},
		}
		m.Create(&v1.PersistentVolume{
			ObjectMeta: metav1.ObjectMeta{Name: "disk"},
			Spec: v1.PersistentVolumeSpec{
				AccessModes: claim.Spec.AccessModes, Capacity: amounts,
				ClaimRef: &v1.ObjectReference{Namespace: claim.Namespace, Name: claim.Name, UID: claim.UID},
			},
			Status: v1.PersistentVolumeStatus{Phase: v1.VolumeBound},
		}, claim)
		m.Advance(soon)
		assert.DeepEqual(t, m.Booked(), []string{"db node-1"})
		assert.DeepEqual(t, m.Booked(), m.Expected())
	})
}

// A pod waits for a device of which another has the only one, for a claim that is made after
// it, and for devices that come with a driver.
func TestDeviceIsGivenBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := shimtest.New(t, shimtest.Options{Feasibility: filters})
		m.AddNode("node-1", "cpu=8")
		m.AddNode("node-2", "cpu=8")
		m.Create(&resourcev1.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: "card"}}, oneCard("node-1"), cardClaim("one"))
		m.Start()
		m.AddPod("first", "cpu=1", withCard("one"))
		m.AddPod("second", "cpu=1", withCard("two"))
		m.AddPod("third", "cpu=1", withCard("three"))
		m.Advance(20 * time.Second)
		assert.DeepEqual(t, m.Booked(), []string{"first node-1", "second -", "third -"})

		m.Create(cardClaim("two")) // there is no card for it
		m.Advance(soon)
		assert.DeepEqual(t, m.Booked(), []string{"first node-1", "second -", "third -"})
		m.EndPod("first")
		claims := m.API.ResourceV1().ResourceClaims(metav1.NamespaceDefault)
		assert.NilError(t, claims.Delete(context.Background(), "one", metav1.DeleteOptions{}))
		m.Advance(soon)
		assert.DeepEqual(t, m.Booked(), []string{"second node-1", "third -"})

		m.Create(cardClaim("three"))
		m.Advance(soon)
		assert.DeepEqual(t, m.Booked(), []string{"second node-1", "third -"})
		m.Create(oneCard("node-2"))
		m.Advance(soon)
		assert.DeepEqual(t, m.Booked(), []string{"second node-1", "third node-2"})
	})
}

func withCard(claim string) shimtest.PodOption {
	return func(pod *v1.Pod) {
		pod.Spec.ResourceClaims = []v1.PodResourceClaim{{Name: "card", ResourceClaimName: &claim}}
		pod.Spec.Containers[0].Resources.Claims = []v1.ResourceClaim{{Name: "card"}}
	}
}

func oneCard(node string) *resourcev1.ResourceSlice {
	return &resourcev1.ResourceSlice{
		ObjectMeta: metav1.ObjectMeta{Name: "cards-of-" + node},
		Spec: resourcev1.ResourceSliceSpec{
			Driver: "card.example.org", NodeName: &node,
			Pool:    resourcev1.ResourcePool{Name: node, Generation: 1, ResourceSliceCount: 1},
			Devices: []resourcev1.Device{{Name: "card-0"}},
		},
	}
}

func cardClaim(name string) *resourcev1.ResourceClaim {
	return &resourcev1.ResourceClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: name, UID: types.UID("uid-claim-" + name), ResourceVersion: "1"},
		Spec: resourcev1.ResourceClaimSpec{Devices: resourcev1.DeviceClaim{Requests: []resourcev1.DeviceRequest{{
			Name: "card", Exactly: &resourcev1.ExactDeviceRequest{
				DeviceClassName: "card", AllocationMode: resourcev1.DeviceAllocationModeExactCount, Count: 1,
			},
		}}}},
	}
}
