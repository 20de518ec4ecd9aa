package e2e

import (
	"fmt"
	"slices"
	"strings"

	"gotest.tools/v3/assert"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/e2e/kubelet"
)

// The storage classes of the scenarios. No program provisions volumes: that of made is the
// scenario itself.
const (
	classLater  = "later"   // local volumes that are there, bound when a pod has its node
	classAtOnce = "at-once" // local volumes that are there, bound at once
	classMade   = "made"    // volumes that are made where the pod goes
)

// The volume decides over the node of a pod, or the node over the volume. A pod that may
// only run where its volume is not waits.
func volumesAreBound(w *World) {
	w.AddNodes(3, "4", "16Gi")
	createStorageClasses(w)
	createVolume(w, "disk-2", classLater, nodeName(2), nil)
	createVolume(w, "disk-3", classAtOnce, nodeName(3), nil)
	createClaim(w, "later", classLater)
	createClaim(w, "at-once", classAtOnce)
	createClaim(w, "made", classMade)
	w.Await(claimBound("at-once", "disk-3"))

	w.CreatePods("far", 1, Pod{CPU: "1", Memory: "1Gi", Node: nodeName(1), Claims: []string{"at-once"}})
	w.Await(Unschedulable("far", 1))
	w.CreatePods("local", 1, Pod{CPU: "1", Memory: "1Gi", Claims: []string{"later"}})
	w.CreatePods("bound", 1, Pod{CPU: "1", Memory: "1Gi", Claims: []string{"at-once"}})
	w.CreatePods("new", 1, Pod{CPU: "1", Memory: "1Gi", Node: nodeName(1), Claims: []string{"made"}})
	w.Await(claimFor("made", nodeName(1)))
	w.Middle()
	// It waits for its volume, and no longer than that.
	w.Await(Waiting("new", 1))
	claim, err := w.client.CoreV1().PersistentVolumeClaims(namespace).Get(w.ctx, "made", metav1.GetOptions{})
	w.check(err)
	createVolume(w, "disk-1", classMade, nodeName(1), claim)

	w.Await(RunningOn(nodeName(1), "new", 1))
	w.Await(RunningOn(nodeName(2), "local", 1))
	w.Await(RunningOn(nodeName(3), "bound", 1))
	w.Await(claimBound("later", "disk-2"))
	w.Await(claimBound("made", "disk-1"))
	w.Await(Unschedulable("far", 1))
}

func createStorageClasses(w *World) {
	later, atOnce := storagev1.VolumeBindingWaitForFirstConsumer, storagev1.VolumeBindingImmediate
	for _, class := range []*storagev1.StorageClass{
		{ObjectMeta: metav1.ObjectMeta{Name: classLater}, Provisioner: "kubernetes.io/no-provisioner", VolumeBindingMode: &later},
		{ObjectMeta: metav1.ObjectMeta{Name: classAtOnce}, Provisioner: "kubernetes.io/no-provisioner", VolumeBindingMode: &atOnce},
		{ObjectMeta: metav1.ObjectMeta{Name: classMade}, Provisioner: "example.org/disk", VolumeBindingMode: &later},
	} {
		_, err := w.client.StorageV1().StorageClasses().Create(w.ctx, class, metav1.CreateOptions{})
		w.check(err)
	}
}

// createVolume creates a volume that is on one node, for a claim unless that is nil.
func createVolume(w *World, name, class, node string, claim *corev1.PersistentVolumeClaim) {
	w.t.Helper()
	volume := &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.PersistentVolumeSpec{
			StorageClassName:       class,
			Capacity:               corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")},
			AccessModes:            []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			PersistentVolumeSource: corev1.PersistentVolumeSource{Local: &corev1.LocalVolumeSource{Path: "/" + name}},
			NodeAffinity:           &corev1.VolumeNodeAffinity{Required: withLabel(corev1.LabelHostname, node)},
		},
	}
	if claim != nil {
		volume.Annotations = map[string]string{"pv.kubernetes.io/provisioned-by": "example.org/disk"}
		volume.Spec.ClaimRef = &corev1.ObjectReference{
			APIVersion: "v1", Kind: "PersistentVolumeClaim", Namespace: claim.Namespace, Name: claim.Name, UID: claim.UID,
		}
	}
	_, err := w.client.CoreV1().PersistentVolumes().Create(w.ctx, volume, metav1.CreateOptions{})
	w.check(err)
}

func createClaim(w *World, name, class string) {
	w.t.Helper()
	_, err := w.client.CoreV1().PersistentVolumeClaims(namespace).Create(w.ctx, &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.PersistentVolumeClaimSpec{
			StorageClassName: &class,
			AccessModes:      []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources:        corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
		},
	}, metav1.CreateOptions{})
	w.check(err)
}

// claimBound holds when a claim is bound to a volume.
func claimBound(name, volume string) Condition {
	return claimIs(name, "bound to "+volume, func(c *corev1.PersistentVolumeClaim) bool {
		return c.Status.Phase == corev1.ClaimBound && c.Spec.VolumeName == volume
	})
}

// claimFor holds when the scheduler has chosen the node for which a volume is to be made.
func claimFor(name, node string) Condition {
	return claimIs(name, "for "+node, func(c *corev1.PersistentVolumeClaim) bool {
		return c.Annotations["volume.kubernetes.io/selected-node"] == node
	})
}

func claimIs(name, what string, is func(*corev1.PersistentVolumeClaim) bool) Condition {
	return Condition{
		what: fmt.Sprintf("claim %s is %s", name, what),
		look: func(v View) (string, bool) {
			claim, err := v.claims.PersistentVolumeClaims(namespace).Get(name)
			if err != nil {
				return err.Error(), false
			}
			return fmt.Sprintf("%s, volume %q, annotations %v", claim.Status.Phase, claim.Spec.VolumeName, claim.Annotations), is(claim)
		},
	}
}

// driver of the devices of the scenarios.
const driver = "device.example.org"

// Two nodes of three have a device. Of three pods that want one, two get one each; the third
// gets that of the first that ends. A pod without a claim takes none.
func devicesAreClaimed(w *World) {
	w.AddNodes(3, "4", "16Gi")
	createDevices(w, nodeName(2), nodeName(3))
	w.CreatePods("plain", 1, Pod{CPU: "1", Memory: "1Gi"})
	w.CreatePods("first", 2, Pod{CPU: "1", Memory: "1Gi", Devices: "one-device"})
	w.Await(Running("first", 2))
	w.Await(reservations(2))
	w.CreatePods("second", 1, Pod{CPU: "1", Memory: "1Gi", Devices: "one-device", Annotations: map[string]string{kubelet.RunFor: "500ms"}})
	w.Await(Unschedulable("second", 1))
	w.Middle()
	w.Await(Running("first", 2))
	w.Await(Running("plain", 1))

	room := w.Pods("first")[0].Spec.NodeName
	w.DeletePod("first-1")
	w.Await(countIs("second", 1, "have ended", func(p *corev1.Pod) bool { return p.Status.Phase == corev1.PodSucceeded }))
	assert.Equal(w.t, w.Pods("second")[0].Spec.NodeName, room)
	w.Await(reservations(1)) // that of first-2 is left
	w.CreatePods("third", 1, Pod{CPU: "1", Memory: "1Gi", Devices: "one-device"})
	w.Await(RunningOn(room, "third", 1))
	w.Await(reservations(2))
	checkDevices(w)
}

// Two nodes have a device each, which less important pods hold. A more important one gets that of one of them, when the
// controller of claims has given it back, and the other pod stays.
func devicesAreFreed(w *World) {
	w.AddNodes(2, "4", "16Gi")
	createDevices(w, nodeName(1), nodeName(2))
	w.CreatePriorityClass("important", 100)
	w.CreatePods("plain", 2, Pod{CPU: "1", Memory: "1Gi"})
	w.CreatePods("low", 2, Pod{CPU: "1", Memory: "1Gi", Devices: "one-device"})
	w.Await(Running("low", 2))
	w.CreatePods("high", 1, Pod{CPU: "1", Memory: "1Gi", Devices: "one-device", PriorityClass: "important"})
	w.Await(countIs("low", 1, "are left", func(*corev1.Pod) bool { return true }))
	w.Middle()
	w.Await(Running("high", 1))
	w.Await(reservations(2))
	w.Await(Running("low", 1))
	w.Await(Running("plain", 2))
	assert.Equal(w.t, len(w.Pods("low")), 1)
	checkDevices(w)
}

// Each of two zones has one device that all its nodes reach, as those of a fabric do. A group whose pods share a claim, made for the group,
// runs in one zone, on several nodes. A third group waits whole, and takes the place of the first when that has gone.
func podGroupsShareDevices(w *World) {
	w.AddNodesInZones(2, 4, "4", "16Gi")
	createDevices(w)
	createZoneDevices(w, 2)
	group := func(name string) {
		create(w, namespace, podGroups(), "PodGroup", name, map[string]any{
			"schedulingPolicy":      map[string]any{"gang": map[string]any{"minCount": int64(3)}},
			"schedulingConstraints": map[string]any{"topology": []any{map[string]any{"key": corev1.LabelTopologyZone}}},
			"resourceClaims":        []any{map[string]any{"name": devicesName, "resourceClaimTemplateName": "one-device"}},
		})
		w.CreatePods(name, 3, Pod{CPU: "1500m", Memory: "1Gi", Group: name, Devices: "one-device"})
	}
	end := func(name string) {
		deletePodGroup(w, podGroups(), name)
		for i := range 3 {
			w.DeletePod(fmt.Sprintf("%s-%d", name, i+1))
		}
	}
	for _, name := range []string{"blue", "green"} {
		group(name)
		w.Await(Running(name, 3))
	}
	w.Await(reservations(2))
	checkGroupDevices(w)
	w.DeletePod("green-1") // the one that takes its place shares what the others have
	w.CreatePods("spare", 1, Pod{CPU: "100m", Memory: "1Gi", Group: "green", Devices: "one-device"})
	w.Await(Running("spare", 1))
	group("red")
	w.Await(Unschedulable("red", 3))
	w.Middle()
	w.Await(Running("blue", 3))
	w.Await(Running("green", 2))
	end("blue")
	w.Await(Running("red", 3))
	w.Await(reservations(2))
	checkGroupDevices(w)
	w.checkBooks()

	end("red")
	w.Await(Gone("red"))
	manyPodsNameOneClaim(w)
}

// Each pod of a large group names one claim. All write that at once, and none fails.
func manyPodsNameOneClaim(w *World) {
	const many = 64
	_, err := w.client.ResourceV1().ResourceClaims(namespace).Create(w.ctx, &resourcev1.ResourceClaim{
		ObjectMeta: metav1.ObjectMeta{Name: "shared"}, Spec: deviceClaim(),
	}, metav1.CreateOptions{})
	w.check(err)
	createPodGroup(w, namespace, "many", many)
	w.CreatePods("many", many, Pod{CPU: "10m", Memory: "1Mi", Group: "many", DeviceClaim: "shared"})
	w.Await(Running("many", many))
	claim, err := w.client.ResourceV1().ResourceClaims(namespace).Get(w.ctx, "shared", metav1.GetOptions{})
	w.check(err)
	assert.Equal(w.t, len(claim.Status.ReservedFor), many)
	assert.Equal(w.t, strings.Join(eventsOf(w, "FailedBinding"), "\n"), "")
	w.checkBooks()
}

// deviceClaim asks for one device.
func deviceClaim() resourcev1.ResourceClaimSpec {
	return resourcev1.ResourceClaimSpec{Devices: resourcev1.DeviceClaim{
		Requests: []resourcev1.DeviceRequest{{Name: "device", Exactly: &resourcev1.ExactDeviceRequest{DeviceClassName: "device"}}},
	}}
}

// Each node of two zones has two devices, all taken: in one zone by less important pods, in the other by equal ones. A gang whose pods need a device
// each, all in one zone, gets as many of the less important ones as it must, and what has no device stays.
func podGroupsMakeRoomForDevices(w *World) {
	w.CreatePriorityClass("urgent", 1000)
	w.AddNodesInZones(2, 4, "8", "16Gi")
	createDevices(w)
	for i := range 4 {
		node := nodeName(i + 1)
		for j := range 2 {
			createDevice(w, fmt.Sprintf("%s-%d", node, j), resourcev1.ResourceSliceSpec{NodeName: &node})
		}
	}
	for i := range 4 {
		p := Pod{CPU: "1", Memory: "1Gi", Node: nodeName(i + 1), Devices: "one-device"}
		app := "low"
		if i%2 == 1 {
			app, p.PriorityClass = "equal", "urgent"
		}
		app = fmt.Sprintf("%s-%d", app, i+1)
		w.CreatePods(app, 2, p)
		w.Await(Running(app, 2))
		w.CreatePods(fmt.Sprintf("plain-%d", i+1), 2, Pod{CPU: "1", Memory: "1Gi", Node: nodeName(i + 1)})
	}
	w.Await(reservations(8))
	createUrgentGang(w, podGroups(), "large", 3, corev1.LabelTopologyZone)
	w.CreatePods("large", 3, Pod{CPU: "1", Memory: "1Gi", Group: "large", PriorityClass: "urgent", Devices: "one-device"})
	w.Await(Running("large", 3))
	assert.Equal(w.t, len(w.Pods("low-1"))+len(w.Pods("low-3")), 1)
	w.Middle()
	for i := range 4 {
		w.Await(Running(fmt.Sprintf("plain-%d", i+1), 2))
	}
	w.Await(Running("equal-2", 2))
	w.Await(Running("equal-4", 2))
	w.Await(reservations(8))
	w.checkBooks()
}

// createZoneDevices gives each of some zones one device, which all nodes there reach.
func createZoneDevices(w *World, zones int) {
	w.t.Helper()
	for i := range zones {
		zone := fmt.Sprintf("zone-%d", i+1)
		createDevice(w, zone, resourcev1.ResourceSliceSpec{NodeSelector: withLabel(corev1.LabelTopologyZone, zone)})
	}
}

// checkGroupDevices checks that each claim is reserved for one group alone, and that all its pods run where the device is.
func checkGroupDevices(w *World) {
	w.t.Helper()
	takenBy := map[string]string{}
	for _, claim := range allocatedClaims(w) {
		assert.Equal(w.t, len(claim.Status.ReservedFor), 1)
		group, zone := claim.Status.ReservedFor[0], claim.Status.Allocation.Devices.Results[0].Pool
		assert.Equal(w.t, group.Resource, "podgroups")
		assert.Equal(w.t, takenBy[zone], "")
		takenBy[zone] = group.Name
		for _, pod := range w.Pods(group.Name) {
			node, err := w.client.CoreV1().Nodes().Get(w.ctx, pod.Spec.NodeName, metav1.GetOptions{})
			w.check(err)
			assert.Equal(w.t, node.Labels[corev1.LabelTopologyZone], zone)
		}
	}
	assert.Equal(w.t, len(takenBy), 2)
}

// createDevices gives each of some nodes one device, and creates the template that claims
// one.
func createDevices(w *World, nodes ...string) {
	w.t.Helper()
	api := w.client.ResourceV1()
	selector := []resourcev1.DeviceSelector{{CEL: &resourcev1.CELDeviceSelector{Expression: `device.driver == "` + driver + `"`}}}
	_, err := api.DeviceClasses().Create(w.ctx, &resourcev1.DeviceClass{
		ObjectMeta: metav1.ObjectMeta{Name: "device"}, Spec: resourcev1.DeviceClassSpec{Selectors: selector},
	}, metav1.CreateOptions{})
	w.check(err)
	for _, node := range nodes {
		createDevice(w, node, resourcev1.ResourceSliceSpec{NodeName: &node})
	}
	_, err = api.ResourceClaimTemplates(namespace).Create(w.ctx, &resourcev1.ResourceClaimTemplate{
		ObjectMeta: metav1.ObjectMeta{Name: "one-device"},
		Spec:       resourcev1.ResourceClaimTemplateSpec{Spec: deviceClaim()},
	}, metav1.CreateOptions{})
	w.check(err)
}

// createDevice makes one device in a pool of its own, which the nodes reach that the rest of its specification says.
func createDevice(w *World, pool string, spec resourcev1.ResourceSliceSpec) {
	w.t.Helper()
	spec.Driver, spec.Devices = driver, []resourcev1.Device{{Name: "device-0"}}
	spec.Pool = resourcev1.ResourcePool{Name: pool, Generation: 1, ResourceSliceCount: 1}
	_, err := w.client.ResourceV1().ResourceSlices().Create(w.ctx, &resourcev1.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: pool}, Spec: spec}, metav1.CreateOptions{})
	w.check(err)
}

// withLabel selects the nodes with a value of a label.
func withLabel(key, value string) *corev1.NodeSelector {
	return &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
		MatchExpressions: []corev1.NodeSelectorRequirement{{Key: key, Operator: corev1.NodeSelectorOpIn, Values: []string{value}}},
	}}}
}

// reservations holds when so many claims are allocated and reserved for a pod.
func reservations(count int) Condition {
	return Condition{
		what: fmt.Sprintf("%d claims of devices are reserved", count),
		look: func(v View) (string, bool) {
			claims, err := v.devices.List(labels.Everything())
			if err != nil {
				return err.Error(), false
			}
			reserved, seen := 0, ""
			for _, claim := range claims {
				seen += fmt.Sprintf("%s allocated %v, reserved for %v; ", claim.Name, claim.Status.Allocation != nil, claim.Status.ReservedFor)
				if claim.Status.Allocation != nil && len(claim.Status.ReservedFor) > 0 {
					reserved++
				}
			}
			return seen, reserved == count
		},
	}
}

// allocatedClaims are the claims that have devices.
func allocatedClaims(w *World) []resourcev1.ResourceClaim {
	w.t.Helper()
	claims, err := w.client.ResourceV1().ResourceClaims(namespace).List(w.ctx, metav1.ListOptions{})
	w.check(err)
	return slices.DeleteFunc(claims.Items, func(c resourcev1.ResourceClaim) bool { return c.Status.Allocation == nil })
}

// checkDevices checks that no device is allocated twice, and that it is on the node of the
// pod that it is reserved for.
func checkDevices(w *World) {
	w.t.Helper()
	takenBy := map[string]string{}
	for _, claim := range allocatedClaims(w) {
		for _, result := range claim.Status.Allocation.Devices.Results {
			device := result.Pool + "/" + result.Device
			assert.Equal(w.t, takenBy[device], "", "%s is allocated to %s too", device, claim.Name)
			takenBy[device] = claim.Name
			for _, consumer := range claim.Status.ReservedFor {
				pod, err := w.client.CoreV1().Pods(namespace).Get(w.ctx, consumer.Name, metav1.GetOptions{})
				w.check(err)
				assert.Equal(w.t, pod.Spec.NodeName, result.Pool)
			}
		}
	}
}
