package shim

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"go.uber.org/zap"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/workqueue"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/pods"
)

// reservations give the places that reservations keep to the pods they are kept for. Each
// reservation goes to one pod, and each pod gets one:
//
//  1. such a pod comes and waits; the oldest reservation that is for it is taken
//  2. the core hears that the reservation is ending, and then of the pod with its node as
//     the nominated one, so that no other ask gets the room
//  3. the pod is told so in its status, which a restart reads
//  4. the reservation is deleted, and when it has ended the core places the pod
//
// Until then all other nodes are refused: the room that the replaced pod left on its node is
// free at once, and the pod would come back there. A reservation that does not end, as on a
// node that has failed, is waited for no longer than a minute.
//
// A pod which may not preempt is nominated nowhere; it has the room like any other ask.
type reservations struct {
	*Context
	queue workqueue.TypedRateLimitingInterface[string] // keys of reservations that were taken

	// All are guarded by the lock of the context.
	waiting map[string]map[string]*task // reservations, by what they are for and key
	takenBy map[string]string           // keys of pods, by that of their reservation
	takes   map[string]*task            // reservations that have not ended, by the key of their pod
}

func newReservations(c *Context) *reservations {
	return &reservations{Context: c, queue: newQueue(c.options), waiting: map[string]map[string]*task{}, takenBy: map[string]string{}, takes: map[string]*task{}}
}

func (r *reservations) start() { r.run(func() { work(r.queue, r.handOver) }) }

// handOverMax is how long a pod waits for its reservation to end.
const handOverMax = time.Minute

// groupOf is what reservations and pods are matched by first.
func groupOf(pod *v1.Pod, key string) string { return pod.Namespace + "/" + key }

// add takes a task, if it is a reservation. The lock must be held.
func (r *reservations) add(t *task) {
	of, ok := pods.ReservationOf(t.pod)
	if !ok || t.foreign() {
		return
	}
	group := groupOf(t.pod, of.Key())
	if r.waiting[group] == nil {
		r.waiting[group] = map[string]*task{}
	}
	r.waiting[group][t.key()] = t
}

// drop forgets a task that has ended. The lock must be held.
func (r *reservations) drop(t *task) {
	delete(r.takes, t.key())
	of, ok := pods.ReservationOf(t.pod)
	if !ok {
		return
	}
	if pod := r.takenBy[t.key()]; r.takes[pod] == t {
		delete(r.takes, pod)
	}
	delete(r.takenBy, t.key())
	group := groupOf(t.pod, of.Key())
	delete(r.waiting[group], t.key())
	if len(r.waiting[group]) == 0 {
		delete(r.waiting, group)
	}
}

// offer gives a pod that the core is told of for the first time the place that is kept for
// it, if one is. The message about it is changed. The lock must be held.
func (r *reservations) offer(t *task, m *si.Allocation) {
	if t.foreign() || t.told != untold || m.NodeID != "" {
		return
	}
	place := r.find(t)
	if place == nil {
		return
	}
	r.takenBy[place.key()], r.takes[t.key()] = t.key(), place
	r.sync(place)
	m.AllocationTags[pods.TagNominated] = place.node
	r.log.Info("pod gets the place of a reservation", refer(t.pod), zap.String("reservation", place.pod.Name), zap.String("node", place.node))
	r.queue.Add(place.key())
}

// find is the reservation for a pod, nil if there is none. What its status says counts, as
// after a restart; else it is the oldest that is bound and given to no other.
func (r *reservations) find(t *task) *task {
	given := pods.TakenReservation(t.pod)
	var best *task
	for _, place := range r.waiting[groupOf(t.pod, pods.ReservationKey(t.pod))] {
		switch of, _ := pods.ReservationOf(place.pod); {
		case given != "" && place.pod.UID != given, !pods.IsBound(place.pod), r.taken(place) && r.takenBy[place.key()] != t.key():
		case given == "" && (place.pod.DeletionTimestamp != nil || place.eviction != nil || !of.IsFor(place.pod, t.pod)):
		case best == nil || compareTasks(place, best) < 0:
			best = place
		}
	}
	return best
}

func (r *reservations) taken(place *task) bool { return r.takenBy[place.key()] != "" }

// elsewhere is why a pod may not run on a node yet: its place is on another one. The lock must
// not be held.
func (r *reservations) elsewhere(key, node string) error {
	r.mu.RLock()
	defer r.mu.RUnlock()
	if place := r.takes[key]; place != nil && place.node != node {
		return fmt.Errorf("its place is reserved on node %s", place.node)
	}
	return nil
}

// class is the class of equal pods, in which a pod that takes a place is alone: what is
// refused to it is not refused to others. The lock must not be held.
func (r *reservations) class(key, class string) string {
	r.mu.RLock()
	defer r.mu.RUnlock()
	if r.takes[key] == nil || class == "" {
		return class
	}
	return class + " reserved for " + key
}

// mark says in the message about a reservation that was taken that it is ending. The lock
// must be held.
func (r *reservations) mark(t *task, m *si.Allocation) {
	if r.taken(t) && m.AllocationTags[pods.TagTerminating] == "" {
		m.AllocationTags[pods.TagTerminating] = strconv.FormatBool(true)
	}
}

// handOver writes to the pod what it was given, and has the reservation deleted. The error
// is logged.
func (r *reservations) handOver(key string) error {
	r.mu.RLock()
	place, taker := r.tasks[key], r.tasks[r.takenBy[key]]
	if place == nil {
		r.mu.RUnlock()
		return nil
	}
	uid, node := place.pod.UID, place.node
	var pod *v1.Pod
	if taker != nil {
		pod = taker.pod
	}
	r.mu.RUnlock()
	if pod != nil && pods.TakenReservation(pod) != uid {
		ctx, cancel := context.WithTimeout(r.ctx, r.options.BindTimeout)
		defer cancel()
		err := r.patchStatus(ctx, pod, map[string]any{"nominatedNodeName": node, "conditions": []v1.PodCondition{given(pod, string(uid))}})
		if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
			r.log.Warn("reservation not handed over yet", refer(pod), zap.String("node", node), zap.Error(err))
			return err
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if place.eviction != nil && taker != nil && r.takes[taker.key()] == place {
		delete(r.takes, taker.key())
		r.log.Warn("reservation does not end", refer(place.pod), zap.String("node", node))
		if taker.told == asked {
			taker.sent = nil // what refuses it nodes has changed, which no field tells
			r.sync(taker)
		}
		return nil
	}
	r.queue.AddAfter(key, handOverMax)
	if place.eviction == nil {
		place.eviction = &eviction{termination: si.TerminationType_STOPPED_BY_RM, message: "its place is taken by the pod that it was kept for"}
	}
	r.evictor.add(key)
	return nil
}

// given is the condition of a pod that was given the place of a reservation.
func given(pod *v1.Pod, reservation string) v1.PodCondition {
	return v1.PodCondition{
		Type: pods.ConditionReservation, Status: v1.ConditionTrue, Reason: "Reserved",
		Message: reservation, LastTransitionTime: metav1.Now(), ObservedGeneration: pod.Generation,
	}
}
