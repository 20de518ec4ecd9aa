package pods_test

import (
	"testing"
	"time"

	"gotest.tools/v3/assert"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/pods"
)

func TestReservationIsFor(t *testing.T) {
	of := pods.ReservedFor{Owner: "set", Pod: "old"}
	place := &v1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: "dev", CreationTimestamp: metav1.NewTime(created),
		Labels: text{pods.LabelReservation: "job"}, Annotations: text{pods.AnnotationReservedFor: of.Text()},
	}}
	read, ok := pods.ReservationOf(place)
	assert.Assert(t, ok)
	assert.Equal(t, read, of)
	assert.Equal(t, pods.Ask(place, nil, "a", nil).PreemptionPolicy.AllowPreemptOther, false)

	pod := func(change func(*v1.Pod)) *v1.Pod {
		pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{
			Namespace: "dev", Name: "web-0", UID: "new", CreationTimestamp: metav1.NewTime(created),
			OwnerReferences: []metav1.OwnerReference{{UID: "set", Controller: new(true)}},
		}}
		change(pod)
		return pod
	}
	named, bare := pods.ReservedFor{Owner: "set", Pod: "old", Name: "web-0"}, pods.ReservedFor{Pod: "old", Name: "web-0"}
	for _, c := range []struct {
		name              string
		change            func(*v1.Pod)
		any, named, alone bool
	}{
		{"the replacement", func(*v1.Pod) {}, true, true, false},
		{"another name", func(p *v1.Pod) { p.Name = "web-1" }, true, false, false},
		{"the pod itself", func(p *v1.Pod) { p.UID = "old" }, false, false, false},
		{"older", func(p *v1.Pod) { p.CreationTimestamp = metav1.NewTime(created.Add(-time.Second)) }, false, false, false},
		{"another namespace", func(p *v1.Pod) { p.Namespace = "prod" }, false, false, false},
		{"another controller", func(p *v1.Pod) { p.OwnerReferences[0].UID = "set-2" }, false, false, false},
		{"no controller", func(p *v1.Pod) { p.OwnerReferences = nil }, false, false, true},
	} {
		p := pod(c.change)
		assert.Equal(t, of.IsFor(place, p), c.any, c.name)
		assert.Equal(t, named.IsFor(place, p), c.named, c.name)
		assert.Equal(t, bare.IsFor(place, p), c.alone, c.name)
	}
}

func TestReservationThatCannotBeRead(t *testing.T) {
	for _, annotation := range []string{"", "{", "{}"} {
		_, ok := pods.ReservationOf(&v1.Pod{ObjectMeta: metav1.ObjectMeta{
			Labels: text{pods.LabelReservation: "job"}, Annotations: text{pods.AnnotationReservedFor: annotation},
		}})
		assert.Assert(t, !ok, annotation)
	}
}

// Filters see a reservation with the labels of the pod that it is for, and every other pod as it
// is, whatever it says of itself.
func TestForFilters(t *testing.T) {
	of := func(mark, annotation string) *v1.Pod {
		return &v1.Pod{ObjectMeta: metav1.ObjectMeta{
			Name: "place", Labels: text{mark: "job"}, Annotations: text{pods.AnnotationReservedLabels: annotation},
		}}
	}
	place := of(pods.LabelReservation, `{"app":"web"}`)
	before := place.DeepCopy()
	assert.DeepEqual(t, pods.ForFilters(place).Labels, map[string]string{"app": "web"})
	assert.Equal(t, pods.ForFilters(place).Name, "place")
	assert.DeepEqual(t, place, before)
	assert.Equal(t, len(pods.ForFilters(of(pods.LabelReservation, "null")).Labels), 0) // of a pod without labels
	for _, same := range []*v1.Pod{of("app", `{"app":"web"}`), of(pods.LabelReservation, ""), of(pods.LabelReservation, `{"app":1}`)} {
		assert.Assert(t, pods.ForFilters(same) == same, "%v", same.Annotations)
	}
}

func TestTakenReservation(t *testing.T) {
	pod := &v1.Pod{Status: v1.PodStatus{Conditions: []v1.PodCondition{{Type: pods.ConditionReservation, Status: v1.ConditionTrue, Message: "u"}}}}
	assert.Equal(t, pods.TakenReservation(pod), types.UID("u"))
	assert.Equal(t, pods.TakenReservation(&v1.Pod{}), types.UID(""))
}
