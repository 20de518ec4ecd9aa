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
// For a minute all other nodes are refused to it: the room that the replaced pod left on its
// node is free at once, and the pod would come back there. After that it runs anywhere, as the
// reservation may not end, on a node that has failed, or the room may be taken: a pod
// which may not preempt is nominated nowhere, and has the room like any other ask.
type reservations struct {
	*Context
	queue workqueue.TypedRateLimitingInterface[string] // keys of reservations that were taken, and of pods that waited for them

	// All are guarded by the lock of the context.
	waiting map[string]map[string]*task // reservations, by what they are for and key
	takenBy map[string]string           // keys of pods, by that of their reservation
	takes   map[string]string           // nodes, by the key of the pod that has its place there
}

func newReservations(c *Context) *reservations {
	return &reservations{Context: c, queue: newQueue(c.options), waiting: map[string]map[string]*task{}, takenBy: map[string]string{}, takes: map[string]string{}}
}

func (r *reservations) start() { r.run(func() { work(r.Context, r.queue, r.serve) }) }

// handOverMax is how long a pod waits for its place.
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
	r.takenBy[place.key()], r.takes[t.key()] = t.key(), place.node
	r.sync(place)
	m.AllocationTags[pods.TagNominated] = place.node
	r.log.Info("pod gets the place of a reservation", refer(t.pod), zap.String("reservation", place.pod.Name), zap.String("node", place.node))
	r.queue.Add(place.key())
	r.queue.AddAfter(t.key(), handOverMax)
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
	if place := r.takes[key]; place != "" && place != node && r.nodes[place] != nil {
		return fmt.Errorf("its place is reserved on node %s", place)
	}
	return nil
}

// class is the class of equal pods, in which a pod that takes a place is alone: what is
// refused to it is not refused to others. The lock must not be held.
func (r *reservations) class(key, class string) string {
	r.mu.RLock()
	defer r.mu.RUnlock()
	if r.takes[key] == "" || class == "" {
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

// serve hands a reservation over, or lets a pod run anywhere that has waited for one.
func (r *reservations) serve(key string) error {
	r.mu.Lock()
	if _, waited := r.takes[key]; waited {
		defer r.mu.Unlock()
		delete(r.takes, key)
		if t := r.tasks[key]; t.told == asked {
			r.log.Warn("pod did not get the place that was reserved for it", refer(t.pod))
			t.sent = nil // what refuses it nodes has changed, which no field tells
			r.sync(t)
		}
		return nil
	}
	r.mu.Unlock()
	return r.handOver(key)
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
		if err := r.write(pod, node, string(uid)); err != nil {
			r.log.Warn("reservation not handed over yet", refer(pod), zap.String("node", node), zap.Error(err))
			return err
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if place.eviction == nil {
		place.eviction = &eviction{termination: si.TerminationType_STOPPED_BY_RM, message: "its place is taken by the pod that it was kept for"}
	}
	r.evictor.add(key)
	return nil
}

// write writes to the status of a pod what it was given. A pod that has its node by now, as
// where there was room beside the reservation, can be nominated no more.
func (r *reservations) write(pod *v1.Pod, node, reservation string) error {
	ctx, cancel := context.WithTimeout(r.ctx, r.options.BindTimeout)
	defer cancel()
	status := map[string]any{"nominatedNodeName": node, "conditions": []v1.PodCondition{given(pod, reservation)}}
	err := r.patchStatus(ctx, pod, status)
	if apierrors.IsInvalid(err) {
		delete(status, "nominatedNodeName")
		err = r.patchStatus(ctx, pod, status)
	}
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) { // gone, or another pod of the name
		return nil
	}
	return err
}

// given is the condition of a pod that was given the place of a reservation.
func given(pod *v1.Pod, reservation string) v1.PodCondition {
	return v1.PodCondition{
		Type: pods.ConditionReservation, Status: v1.ConditionTrue, Reason: "Reserved",
		Message: reservation, LastTransitionTime: metav1.Now(), ObservedGeneration: pod.Generation,
	}
}
