package pods

import (
	"encoding/json"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Names that are of Narwhal alone begin with its domain.
const (
	domain            = "narwhal-scheduler.io/"
	reservationDomain = "descheduler." + domain
)

// Marks of reservations. A reservation is a pod that does nothing: it is placed like any
// other, and keeps its place for a pod that is made later, such as the replacement of one
// that is evicted.
const (
	// LabelReservation marks a reservation. Its value is the UID of what made it.
	LabelReservation = reservationDomain + "reservation"
	// AnnotationReservedFor says for which pod it is: JSON of ReservedFor.
	AnnotationReservedFor = reservationDomain + "reserved-for"
	// AnnotationReservedLabels are the labels of that pod, as JSON. They are no labels of the
	// reservation, since services and budgets would count it then, and a budget refuses every
	// eviction where it does not know the controller of a pod that it selects.
	AnnotationReservedLabels = reservationDomain + "reserved-labels"
	// AnnotationReservationPreempts lets it have other pods evicted with "true". Without it
	// a reservation takes only what is free.
	AnnotationReservationPreempts = reservationDomain + "reservation-preempts"
	// ConditionReservation is of a pod that was given the place of a reservation. Its message
	// is the UID of the reservation. It is written before the reservation ends, so that a
	// restart in between loses neither.
	ConditionReservation v1.PodConditionType = reservationDomain + "Reservation"
)

// ReservedFor says for which pod a reservation is.
type ReservedFor struct {
	// Owner is the controller of the pod; empty where it has none.
	Owner types.UID `json:"owner,omitempty"`
	// Pod is the pod that is to be replaced. It gets no reservation of its own.
	Pod types.UID `json:"pod"`
	// Name is the name of the pod, where its replacement has the same one; empty is any.
	Name string `json:"name,omitempty"`
}

// ReservationOf reads for which pod a pod is a reservation. It is false if the pod is none,
// or does not say it in a way that can be read.
func ReservationOf(pod *v1.Pod) (r ReservedFor, ok bool) {
	if !IsReservation(pod) {
		return r, false
	}
	err := json.Unmarshal([]byte(pod.Annotations[AnnotationReservedFor]), &r)
	return r, err == nil && r != ReservedFor{}
}

// IsReservation reports whether a pod only keeps a place.
func IsReservation(pod *v1.Pod) bool { return pod.Labels[LabelReservation] != "" }

// ForFilters is a pod as filters see it. A reservation has the labels of the pod that it is
// for, so that rules of other pods, and of its own, hold where it is as they will hold for that
// pod. Every other pod is itself, and so is a reservation whose labels cannot be read.
func ForFilters(pod *v1.Pod) *v1.Pod {
	if !IsReservation(pod) {
		return pod
	}
	var labels map[string]string
	if json.Unmarshal([]byte(pod.Annotations[AnnotationReservedLabels]), &labels) != nil {
		return pod
	}
	seen := *pod
	seen.Labels = labels
	return &seen
}

// Text is the annotation.
func (r ReservedFor) Text() string {
	text, err := json.Marshal(r)
	if err != nil {
		panic(err) // three strings are always written
	}
	return string(text)
}

// Key is equal for a reservation and for the pods that may take it, in one namespace.
func (r ReservedFor) Key() string {
	if r.Owner != "" {
		return string(r.Owner)
	}
	return "name " + r.Name
}

// ReservationKey is the key of the reservations that a pod may take.
func ReservationKey(pod *v1.Pod) string {
	if owner := metav1.GetControllerOfNoCopy(pod); owner != nil {
		return string(owner.UID)
	}
	return "name " + pod.Name
}

// IsFor reports whether a pod may take the place of a reservation: it is of the same
// controller and namespace, has the name if there must be one, and is no older.
func (r ReservedFor) IsFor(reservation, pod *v1.Pod) bool {
	return pod.UID != r.Pod && pod.Namespace == reservation.Namespace && ReservationKey(pod) == r.Key() &&
		(r.Name == "" || r.Name == pod.Name) && !pod.CreationTimestamp.Before(&reservation.CreationTimestamp)
}

// TakenReservation is the UID of the reservation whose place a pod was given; empty if there
// is none.
func TakenReservation(pod *v1.Pod) types.UID {
	for _, c := range pod.Status.Conditions {
		if c.Type == ConditionReservation && c.Status == v1.ConditionTrue {
			return types.UID(c.Message)
		}
	}
	return ""
}
