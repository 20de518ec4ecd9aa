package shimtest_test

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/pods"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/shim/shimtest"
)

// ownedBy makes a pod one of a workload.
func ownedBy(kind, name string) shimtest.PodOption {
	return func(pod *v1.Pod) {
		pod.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: kind, Name: name, UID: types.UID("uid-" + name), Controller: new(true)}}
	}
}

// reserves makes a pod a reservation for the replacement of a pod of a workload.
func reserves(of pods.ReservedFor) shimtest.PodOption {
	return func(pod *v1.Pod) {
		pod.Labels[pods.LabelReservation] = "job"
		pod.Annotations = map[string]string{pods.AnnotationReservedFor: of.Text()}
	}
}

var forWeb = pods.ReservedFor{Owner: "uid-web", Pod: "uid-old"}

// endDeleted ends the pods that the scheduler deleted, as their kubelets do.
func endDeleted(m *shimtest.MockScheduler) {
	for _, name := range m.API.Deleted() {
		if slices.Contains(m.Expected(), name+" "+m.Pod(name).Spec.NodeName) {
			m.EndPod(name)
		}
	}
}

// The replacement gets the place of the reservation, and not a pod which waited for room
// before it and comes first.
func TestReservationIsHandedOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := shimtest.New(t, shimtest.Options{})
		m.AddNode("node-1", "cpu=2")
		m.Start()
		m.AddPod("place", "cpu=2", reserves(forWeb))
		assert.Equal(t, m.Pod("place").Spec.NodeName, "node-1")
		m.Advance(time.Second)
		m.AddPod("other", "cpu=2", shimtest.Application("a"))
		m.Advance(time.Second)
		m.AddPod("web-2", "cpu=2", ownedBy("ReplicaSet", "web"), shimtest.Application("z"))
		m.Advance(time.Second)
		assert.DeepEqual(t, m.API.Deleted(), []string{"place"})
		assert.Equal(t, m.Pod("web-2").Status.NominatedNodeName, "node-1")
		assert.Equal(t, pods.TakenReservation(m.Pod("web-2")), types.UID("uid-place"))
		assert.DeepEqual(t, m.Booked(), []string{"other -", "place node-1", "web-2 -"})
		m.EndPod("place")
		m.Advance(time.Second)
		assert.DeepEqual(t, m.Booked(), []string{"other -", "web-2 node-1"})
		assert.DeepEqual(t, m.Booked(), m.Expected())
	})
}

// The replacement waits for its place, though there is room on another node: that of the pod
// which it replaces. Other pods get that room. When the place has gone another way, the pod runs
// anywhere, and also when it takes too long. A pod that may not preempt waits as well.
func TestReplacementWaitsForItsPlace(t *testing.T) {
	for _, c := range []struct {
		gone, ends, never bool
		node              string
	}{
		{ends: true, node: "node-1"},
		{ends: true, never: true, node: "node-1"},
		{ends: true, gone: true, node: "node-2"},
		{node: "node-2"},
	} {
		synctest.Test(t, func(t *testing.T) {
			m := shimtest.New(t, shimtest.Options{})
			m.AddNode("node-1", "cpu=2")
			m.AddNode("node-2", "cpu=4")
			m.Start()
			m.AddPod("place", "cpu=2", reserves(forWeb), shimtest.Selects("node-1"))
			m.AddPod("web-2", "cpu=2", ownedBy("ReplicaSet", "web"), func(pod *v1.Pod) {
				if c.never {
					pod.Spec.PreemptionPolicy = new(v1.PreemptNever)
				}
			})
			m.AddPod("other", "cpu=2")
			m.Advance(50 * time.Second)
			assert.DeepEqual(t, m.Booked(), []string{"other node-2", "place node-1", "web-2 -"})
			if c.gone {
				m.RemoveNode("node-1")
			}
			if c.ends {
				m.EndPod("place")
			}
			m.Advance(time.Minute)
			assert.Equal(t, m.Pod("web-2").Spec.NodeName, c.node)
			assert.Equal(t, m.Pod("other").Spec.NodeName, "node-2")
			assert.DeepEqual(t, m.Booked(), m.Expected())
		})
	}
}

// Pods that are no replacement take nothing: older ones, those of other workloads, and
// reservations themselves.
func TestReservationIsForItsWorkload(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := shimtest.New(t, shimtest.Options{})
		m.AddNode("node-1", "cpu=2")
		m.Start()
		m.AddPod("early", "cpu=3", ownedBy("ReplicaSet", "web"))
		m.Advance(2 * time.Second)
		m.AddPod("place", "cpu=2", reserves(forWeb))
		m.AddPod("api-1", "cpu=2", ownedBy("ReplicaSet", "api"))
		m.AddPod("more", "cpu=2", reserves(forWeb), ownedBy("PodMigrationJob", "job"))
		m.ChangePod("early", func(pod *v1.Pod) { pod.Spec.Containers[0].Resources.Requests = shimtest.Quantities("cpu=2") })
		m.Advance(time.Minute)
		assert.Equal(t, len(m.API.Deleted()), 0)
		assert.Equal(t, m.Pod("place").Spec.NodeName, "node-1")
	})
}

// Two reservations of one workload go to two pods, one each, also if the pods come in one
// moment. Reservations of pods with names wait for the name, whatever the UID.
func TestReservationsGoToOnePodEach(t *testing.T) {
	for _, kind := range []string{"ReplicaSet", "StatefulSet"} {
		synctest.Test(t, func(t *testing.T) {
			m := shimtest.New(t, shimtest.Options{})
			for i := range 3 {
				m.AddNode(fmt.Sprintf("node-%d", i), "cpu=2")
			}
			m.Start()
			for i := range 2 {
				of := forWeb
				if kind == "StatefulSet" {
					of.Name = fmt.Sprintf("web-%d", i+1)
				}
				m.AddPod(fmt.Sprintf("place-%d", i), "cpu=2", reserves(of), shimtest.Selects(fmt.Sprintf("node-%d", i)))
			}
			m.AddPod("other", "cpu=2")
			for i := range 3 {
				m.Put(shimtest.NewPod(fmt.Sprintf("web-%d", i), "cpu=2", ownedBy(kind, "web"), func(pod *v1.Pod) {
					pod.CreationTimestamp = metav1.NewTime(time.Now().Add(time.Duration(i) * time.Second))
				}))
			}
			m.Advance(time.Second)
			endDeleted(m)
			m.Advance(time.Second)
			want := []string{"other node-2", "web-0 node-0", "web-1 node-1", "web-2 -"}
			if kind == "StatefulSet" {
				want = []string{"other node-2", "web-0 -", "web-1 node-0", "web-2 node-1"}
			}
			assert.DeepEqual(t, m.Booked(), want)
			assert.DeepEqual(t, m.Booked(), m.Expected())
		})
	}
}

// The scheduler ends at any moment of a hand-over, and another one goes on: the pod gets
// its place, and no other one does.
func TestReservationSurvivesARestart(t *testing.T) {
	for _, c := range []struct {
		name   string
		faults shimtest.Faults
		ends   bool // the reservation ends while no scheduler runs
	}{
		{"before anything is written", shimtest.Faults{Patch: func(string) error { return errServer }}, false},
		{"before the reservation is deleted", shimtest.Faults{Delete: func(string) error { return errServer }}, false},
		{"while the reservation ends", shimtest.Faults{}, false},
		{"when the reservation has ended", shimtest.Faults{}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := shimtest.New(t, shimtest.Options{})
				m.AddNode("node-1", "cpu=2")
				m.Start()
				m.AddPod("place", "cpu=2", reserves(forWeb))
				m.AddPod("second", "cpu=2", reserves(forWeb))
				m.AddPod("other", "cpu=2", shimtest.Application("a"))
				m.API.Fail(c.faults)
				m.AddPod("web-2", "cpu=2", ownedBy("ReplicaSet", "web"), shimtest.Application("z"))
				m.Advance(time.Second)
				m.Stop()
				m.API.Fail(shimtest.Faults{})
				m = shimtest.New(t, shimtest.Options{API: m.API})
				if c.ends {
					m.EndPod("place")
				}
				m.Start()
				m.Advance(time.Second)
				assert.Assert(t, !slices.Contains(m.API.Deleted(), "second"))
				if !c.ends {
					assert.DeepEqual(t, m.API.Deleted(), []string{"place"})
					m.EndPod("place")
				}
				m.Advance(time.Second)
				assert.Equal(t, m.Pod("web-2").Spec.NodeName, "node-1")
				assert.DeepEqual(t, m.Booked(), m.Expected())
			})
		})
	}
}

// A reservation takes what is free. It makes room only where it says so.
func TestReservationPreemptsNothing(t *testing.T) {
	for _, may := range []string{"", "true"} {
		synctest.Test(t, func(t *testing.T) {
			m := shimtest.New(t, shimtest.Options{})
			m.AddNode("node-1", "cpu=2")
			m.Start()
			m.AddPod("low", "cpu=2")
			m.AddPod("place", "cpu=2", shimtest.Priority(10), reserves(forWeb), func(pod *v1.Pod) {
				pod.Annotations[pods.AnnotationReservationPreempts] = may
			})
			m.Advance(time.Minute)
			assert.Equal(t, len(m.API.Deleted()), map[string]int{"": 0, "true": 1}[may])
		})
	}
}

// A pod may be bound before it is written to it what it was given. The API server takes no
// nominated node for it then.
func TestReplacementIsBoundAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := shimtest.New(t, shimtest.Options{})
		m.AddNode("node-1", "cpu=4")
		m.Start()
		m.AddPod("place", "cpu=2", reserves(forWeb))
		written := 0 // of web-2, once more if its condition is written before it is bound
		m.API.Fail(shimtest.Faults{Patch: func(string) error {
			if written++; written == 1 {
				return apierrors.NewInvalid(v1.SchemeGroupVersion.WithKind("Pod").GroupKind(), "web-2", nil)
			}
			return nil
		}})
		m.AddPod("web-2", "cpu=2", ownedBy("ReplicaSet", "web"))
		assert.Assert(t, written >= 2)
		assert.Equal(t, pods.TakenReservation(m.Pod("web-2")), types.UID("uid-place"))
		assert.Equal(t, m.Pod("web-2").Spec.NodeName, "node-1")
		assert.DeepEqual(t, m.API.Deleted(), []string{"place"})
	})
}
