package feasibility

import (
	"testing"

	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// attached is a claim whose volume is one of a driver, in a zone.
func attached(name, zone string) []runtime.Object {
	claim := boundClaim("team", name, v1.ReadWriteOnce)
	volume := boundVolume(claim)
	volume.Labels = map[string]string{v1.LabelTopologyZone: zone}
	volume.Spec.CSI = &v1.CSIPersistentVolumeSource{Driver: "disk.example.com", VolumeHandle: name}
	return []runtime.Object{claim, volume}
}

// oneVolume says that a node can attach one volume of the driver.
func oneVolume(node string) *storagev1.CSINode {
	return &storagev1.CSINode{
		ObjectMeta: metav1.ObjectMeta{Name: node},
		Spec: storagev1.CSINodeSpec{Drivers: []storagev1.CSINodeDriver{{
			Name: "disk.example.com", NodeID: node, Allocatable: &storagev1.VolumeNodeResources{Count: new(int32(1))},
		}}},
	}
}

// TestVolumeLimitsAndZones asks about volumes that are there already: how many a node
// can attach, and in which zone they are.
func TestVolumeLimitsAndZones(t *testing.T) {
	objects := []runtime.Object{oneVolume("a"), oneVolume("b")}
	objects = append(objects, attached("first", "z1")...)
	objects = append(objects, attached("second", "z1")...)
	c, _ := newChecker(t, Options{}, objects...)
	c.SetNode(aNode("a", "z1"))
	c.SetNode(aNode("b", "z2"))
	elsewhere := "never: node(s) had no available volume zone"
	first, second := aPod("first", claiming("first")), aPod("second", claiming("second"))
	wantAnswers(t, c, second, "yes", elsewhere)
	c.SetPod(on(first, "a"))
	wantAnswers(t, c, second, "node(s) exceed max volume count", elsewhere)
	wantAnswers(t, c, aPod("third", claiming("first")), "yes", elsewhere) // the same volume
	if err := c.CheckWith(second, "a", nil, []*v1.Pod{first}); err != nil {
		t.Errorf("without the first pod: %v", err)
	}
	if err := c.CheckWith(aPod("third", claiming("second")), "a", []*v1.Pod{second}, []*v1.Pod{first}); err != nil {
		t.Errorf("with the second pod in place of the first: %v", err)
	}
	if got := answer(c.CheckWith(aPod("third", claiming("first")), "a", []*v1.Pod{second}, []*v1.Pod{first})); got != "node(s) exceed max volume count" {
		t.Errorf("beside the second pod: %s", got)
	}
}
