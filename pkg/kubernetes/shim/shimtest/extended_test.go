package shimtest_test

import (
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/shim/shimtest"
)

// A pod that requests an extended resource which no kubelet offers runs where a device serves it. The core knows how
// many there are; what else the class requires of a device counts.
func TestExtendedResourceOfADevice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := shimtest.New(t, shimtest.Options{Feasibility: filters})
		m.AddNode("node-1", "cpu=8 pods=10")
		m.AddNode("node-2", "cpu=8 pods=10 example.com/card=1") // its kubelet offers one
		m.AddNode("node-3", "cpu=8 pods=10")
		slice := oneCard("node-1")
		slice.Spec.Devices = append(slice.Spec.Devices, resourcev1.Device{Name: "card-1"}, resourcev1.Device{Name: "old"})
		slice.Spec.Devices[2].Attributes = map[resourcev1.QualifiedName]resourcev1.DeviceAttribute{"old": {BoolValue: new(true)}}
		m.Create(slice)
		m.Start()
		for _, name := range []string{"a", "b", "c", "d"} {
			m.AddPod(name, "cpu=1 example.com/card=1")
		}
		m.Advance(soon)
		assert.DeepEqual(t, m.Booked(), []string{"a node-2", "b -", "c -", "d -"})

		m.Create(&resourcev1.DeviceClass{
			ObjectMeta: metav1.ObjectMeta{Name: "card"},
			Spec: resourcev1.DeviceClassSpec{
				ExtendedResourceName: new("example.com/card"),
				Selectors: []resourcev1.DeviceSelector{{CEL: &resourcev1.CELDeviceSelector{
					Expression: `!("old" in device.attributes["card.example.org"])`,
				}}},
			},
		})
		m.Advance(3 * time.Second)
		assert.DeepEqual(t, m.Booked(), []string{"a node-2", "b node-1", "c node-1", "d -"})
		m.Create(oneCard("node-3"))
		m.Advance(3 * time.Second)
		assert.DeepEqual(t, m.Booked(), []string{"a node-2", "b node-1", "c node-1", "d node-3"})
		assert.DeepEqual(t, m.Booked(), m.Expected())

		slices := m.API.ResourceV1().ResourceSlices()
		all, err := slices.List(t.Context(), metav1.ListOptions{})
		assert.NilError(t, err)
		assert.Equal(t, m.Node("node-3").Capacity, "deviceclass.resource.kubernetes.io/card=1 example.com/card=1 pods=10 vcore=8000")
		for i := range all.Items {
			assert.NilError(t, slices.Delete(t.Context(), all.Items[i].Name, metav1.DeleteOptions{}))
		}
		m.Advance(soon)
		assert.Equal(t, m.Node("node-3").Capacity, "pods=10 vcore=8000")
	})
}
