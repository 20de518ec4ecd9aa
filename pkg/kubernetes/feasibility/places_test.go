package feasibility

import (
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/pods"
)

// placeFor makes a pod a reservation for a pod with a label.
func placeFor(key, value string) func(*v1.Pod) {
	return func(pod *v1.Pod) {
		pod.Labels[pods.LabelReservation] = "job"
		pod.Annotations = map[string]string{pods.AnnotationReservedLabels: `{"` + key + `":"` + value + `"}`}
	}
}

// TestReservationsAreSeenAsTheirPods asks with a reservation and beside one. Rules about the labels
// of the pod that it is for hold of it, and it belongs to the class of that pod.
func TestReservationsAreSeenAsTheirPods(t *testing.T) {
	place := func(edits ...func(*v1.Pod)) *v1.Pod {
		return aPod("place", append([]func(*v1.Pod){placeFor("app", "web")}, edits...)...)
	}
	against, asks := apart("app", "web", v1.LabelHostname), aPod("x", apart("app", "web", v1.LabelHostname))
	const existing, own = "node(s) didn't satisfy existing pods anti-affinity rules", "node(s) didn't match pod anti-affinity rules"
	c, _ := newChecker(t, Options{})
	c.SetNode(aNode("a", "z1"))
	c.SetNode(aNode("b", "z1"))
	want := func(what string, err error, expected string) {
		t.Helper()
		if got := answer(err); got != expected {
			t.Errorf("%s: %s, want %s", what, got, expected)
		}
	}
	rival := aPod("rival", placedOn("a"), against)
	want("with a rival in thought", c.CheckWith(place(), "a", []*v1.Pod{rival}, nil), existing)
	want("with a reservation in thought", c.CheckWith(asks, "a", []*v1.Pod{place()}, nil), own)
	want("with a pod more in thought", c.CheckWith(place(apart("app", "x", v1.LabelHostname)), "a", []*v1.Pod{aPod("y", labelled("app", "x"))}, nil), own)
	c.SetPod(rival)
	want("beside a rival", c.Check(place(), "a"), existing)
	want("reserved beside a rival", c.Reserve(t.Context(), place(), "a"), existing)
	want("beside a rival and another pod in thought", c.CheckWith(place(), "a", []*v1.Pod{aPod("y")}, nil), existing)
	want("elsewhere", c.Check(place(), "b"), "yes")
	c.SetPod(place(placedOn("b")))
	want("where a reservation is", c.Check(asks, "b"), own)
	c.SetPod(place(placedOn("b"), func(p *v1.Pod) { delete(p.Annotations, pods.AnnotationReservedLabels) }))
	want("where it says no labels any more", c.Check(asks, "b"), "yes")
	if class := c.Class(place()); class != c.Class(aPod("web-1", labelled("app", "web"))) || class == c.Class(aPod("p")) {
		t.Error("a reservation is of another class than its pod")
	}
}
