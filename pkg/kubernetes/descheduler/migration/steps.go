package migration

import (
	"context"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/pods"
)

const (
	// retryAfter is when a job is looked at again that waits for something outside.
	retryAfter = 3 * time.Second
	// untilEvent is when a job is looked at again that is changed when it can go on.
	untilEvent = time.Hour
	// atOnce is when a job is looked at again that went on.
	atOnce = time.Nanosecond
)

// Reconcile takes a job one step further, if that is possible, and says after which time it
// is to be looked at again; 0 is when something changes. Each step writes at most one object
// beside the status of the job, and can be repeated: whatever was done before an interruption is
// found and not done again.
func (c *Controller) Reconcile(ctx context.Context, name string) (time.Duration, error) {
	job, err := c.jobs.get(ctx, name)
	if apierrors.IsNotFound(err) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	again, err := c.step(ctx, job)
	if end, ok := c.deadline(job); ok && again != 0 {
		again = min(again, max(end.Sub(c.handle.Clock().Now()), atOnce))
	}
	return again, err
}

// deadline is when the time to live of a job is over. It begins when the job may begin: one that waits for a limit
// has none, however long that takes. A job of a profile that is not there would wait for ever, and has one.
func (c *Controller) deadline(job *Job) (time.Time, bool) {
	began, _ := job.began()
	switch ttl := job.ttl().Duration; {
	case ttl == 0, ttl > 0 && !job.passed() && c.mine(job):
		return time.Time{}, false
	default:
		return began.Add(ttl), true
	}
}

// expired says whether the time to live of a job is over.
func (c *Controller) expired(job *Job) bool {
	end, ok := c.deadline(job)
	return ok && !c.handle.Clock().Now().Before(end)
}

// step is the state machine.
func (c *Controller) step(ctx context.Context, job *Job) (time.Duration, error) {
	switch {
	case job.DeletionTimestamp != nil || job.Ended() || job.Spec.Paused || c.foreign(job) && !job.passed():
		return 0, nil
	case c.expired(job) && job.undecided() && job.hasPlace():
		return c.abortGroup(ctx, job, "not all of its group got a place in "+job.ttl().Duration.String())
	case c.expired(job):
		return 0, c.end(ctx, job, Failed, Timeout, "its time to live is over after "+job.ttl().Duration.String())
	case !c.mine(job):
		return 0, nil
	case !job.passed():
		return untilEvent, nil
	case job.Status.Phase != Running:
		return c.begin(ctx, job)
	case job.undecided():
		return c.groupStep(ctx, job)
	}
	return c.moveStep(ctx, job, c.evictStep)
}

// groupStep is a step of a job in a group of which none evicts, as far as the job knows.
func (c *Controller) groupStep(ctx context.Context, job *Job) (time.Duration, error) {
	g, err := c.groupOf(ctx, job, false)
	if err != nil {
		return 0, err
	}
	if why := g.ended(job); why != "" {
		return c.abortGroup(ctx, job, why)
	}
	return c.moveStep(ctx, job, func(ctx context.Context, job *Job) (time.Duration, error) { return c.awaitGroup(ctx, job, g) })
}

// moveStep is a step of a job that has begun. With evict the job goes on that has all it needs to evict its pod.
func (c *Controller) moveStep(ctx context.Context, job *Job, evict func(context.Context, *Job) (time.Duration, error)) (time.Duration, error) {
	switch {
	case job.mode() == EvictDirectly && job.is(Eviction):
		return 0, c.end(ctx, job, Succeeded, EvictComplete, "the pod was evicted")
	case job.mode() == EvictDirectly:
		return evict(ctx, job)
	case !job.is(ReservationCreated) || job.Status.Reservation == nil: // a user may have taken it out
		return c.reserve(ctx, job)
	case !job.is(ReservationScheduled):
		return c.awaitPlace(ctx, job)
	case !job.is(Eviction):
		return evict(ctx, job)
	case job.Status.PodRef == nil:
		return c.awaitTaker(ctx, job)
	default:
		return c.awaitReady(ctx, job)
	}
}

// begin notes which pod it is, where it runs and what it belongs to, since that is asked for
// when the pod is gone.
func (c *Controller) begin(ctx context.Context, job *Job) (time.Duration, error) {
	pod, err := c.podOf(ctx, job)
	if apierrors.IsNotFound(err) {
		return 0, c.end(ctx, job, Failed, MissingPod, "the pod is gone")
	}
	if err != nil {
		return 0, err
	}
	job.Status.Phase, job.Status.Reason, job.Status.Message = Running, "", ""
	job.Status.PodUID, job.Status.NodeName = pod.UID, pod.Spec.NodeName
	if owner := metav1.GetControllerOfNoCopy(pod); owner != nil {
		job.Status.Workload = &WorkloadRef{Kind: owner.Kind, Name: owner.Name, UID: owner.UID}
	}
	klog.FromContext(ctx).Info("Migration begins", "job", job.Name, "pod", pod.Namespace+"/"+pod.Name, "node", pod.Spec.NodeName, "mode", job.mode())
	return atOnce, c.jobs.updateStatus(ctx, job)
}

// reserve makes the reservation.
func (c *Controller) reserve(ctx context.Context, job *Job) (time.Duration, error) {
	pod, err := c.podOf(ctx, job)
	if apierrors.IsNotFound(err) {
		return 0, c.end(ctx, job, Aborted, MissingPod, "the pod is gone")
	}
	if err != nil {
		return 0, err
	}
	reservation, err := c.findOrCreate(ctx, job, pod)
	switch {
	case apierrors.IsForbidden(err) || apierrors.IsInvalid(err):
		return 0, c.end(ctx, job, Failed, FailedCreateReservation, err.Error())
	case err != nil:
		return 0, fmt.Errorf("making the reservation of job %s: %w", job.Name, err)
	case reservation == nil:
		return 0, c.end(ctx, job, Failed, MissingReservation, "the reservation that it names does not exist")
	case !named(job) && !metav1.IsControlledBy(reservation, job):
		return 0, c.end(ctx, job, Failed, FailedCreateReservation, "pod "+reservation.Name+" is not of this job")
	}
	job.Status.Reservation = &PodRef{Namespace: reservation.Namespace, Name: reservation.Name, UID: reservation.UID}
	return c.went(ctx, job, Condition{Type: ReservationCreated, Status: metav1.ConditionTrue, Message: "pod " + reservation.Name})
}

// named says whether a job names a reservation that exists already.
func named(job *Job) bool { return job.Spec.Reservation != nil && job.Spec.Reservation.Ref != nil }

// findOrCreate is the reservation that a job names, or that an earlier try has made, or a
// new one.
func (c *Controller) findOrCreate(ctx context.Context, job *Job, pod *v1.Pod) (*v1.Pod, error) {
	if named(job) {
		ref := *job.Spec.Reservation.Ref
		ref.Namespace = pod.Namespace
		return c.live(ctx, ref)
	}
	reservation, err := c.reservationOf(ctx, job, pod)
	if err != nil {
		return nil, err
	}
	made, err := c.handle.ClientSet().CoreV1().Pods(pod.Namespace).Create(ctx, reservation, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		return c.live(ctx, PodRef{Namespace: reservation.Namespace, Name: reservation.Name})
	}
	return made, err
}

// awaitPlace waits until the reservation has its node.
func (c *Controller) awaitPlace(ctx context.Context, job *Job) (time.Duration, error) {
	if _, err := c.podOf(ctx, job); apierrors.IsNotFound(err) {
		return 0, c.end(ctx, job, Aborted, MissingPod, "the pod is gone, and was not evicted for this job")
	}
	place, err := c.place(ctx, job)
	if err != nil {
		return 0, err
	}
	if reason, message := lost(place); reason != "" {
		return 0, c.end(ctx, job, Aborted, reason, message)
	}
	preempts := job.Spec.Reservation != nil && job.Spec.Reservation.Preemption != nil
	switch refused := unschedulable(place); {
	case place.Spec.NodeName != "" && place.Spec.NodeName == job.Status.NodeName:
		return 0, c.end(ctx, job, Aborted, ForbiddenMigratePod, "the reservation has the node of the pod itself")
	case place.Spec.NodeName != "":
		if preempts && job.condition(Preemption) != nil {
			job.set(c.stamp(Condition{Type: Preemption, Status: metav1.ConditionTrue, Reason: PreemptComplete}))
		}
		job.Status.TargetNode = place.Spec.NodeName
		return c.went(ctx, job, Condition{Type: ReservationScheduled, Status: metav1.ConditionTrue, Message: "on node " + place.Spec.NodeName})
	case preempts && place.Status.NominatedNodeName != "":
		return c.waits(ctx, job, Condition{Type: Preemption, Reason: Preempting, Message: "on node " + place.Status.NominatedNodeName})
	case refused != "":
		return 0, c.end(ctx, job, Aborted, Unschedulable, refused)
	}
	return retryAfter, nil
}

// lost is why a reservation keeps no place any more; empty if it may.
func lost(place *v1.Pod) (Reason, string) {
	switch {
	case place == nil || place.DeletionTimestamp != nil:
		return MissingReservation, "the reservation was deleted"
	case pods.IsTerminal(place):
		return ReservationExpired, "the reservation has ended"
	}
	return "", ""
}

// unschedulable is what the scheduler says of a pod that fits nowhere.
func unschedulable(pod *v1.Pod) string {
	for _, c := range pod.Status.Conditions {
		if c.Type == v1.PodScheduled && c.Status == v1.ConditionFalse && c.Reason == v1.PodReasonUnschedulable {
			return "the reservation fits nowhere: " + c.Message
		}
	}
	return ""
}

// awaitTaker waits until the scheduler has given the place to the replacement.
func (c *Controller) awaitTaker(ctx context.Context, job *Job) (time.Duration, error) {
	ref := *job.Status.Reservation
	pod, err := c.taker(ctx, ref, false)
	if err != nil {
		return 0, err
	}
	if pod == nil {
		place, err := c.look(ctx, ref)
		switch {
		case err != nil:
			return 0, err
		case place != nil && pods.IsTerminal(place):
			return 0, c.end(ctx, job, Failed, ReservationExpired, "the reservation ended before a new pod came")
		case place != nil:
			return c.waits(ctx, job, Condition{Type: ReservationBound, Reason: WaitForPodBindReservation})
		}
		if pod, err = c.taker(ctx, ref, true); err != nil {
			return 0, err
		}
		if pod == nil {
			return 0, c.end(ctx, job, Failed, MissingReservation, "the reservation is gone, and no new pod got its place")
		}
	}
	job.Status.PodRef = &PodRef{Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID}
	return c.went(ctx, job, Condition{Type: ReservationBound, Status: metav1.ConditionTrue, Message: "by pod " + pod.Name})
}

// awaitReady waits until the replacement serves on the node that was reserved.
func (c *Controller) awaitReady(ctx context.Context, job *Job) (time.Duration, error) {
	pod, err := c.look(ctx, *job.Status.PodRef)
	switch {
	case err != nil:
		return 0, err
	case pod == nil || pod.DeletionTimestamp != nil || pod.Status.Phase == v1.PodFailed:
		return 0, c.end(ctx, job, Failed, MissingPod, "the new pod has ended")
	case pod.Spec.NodeName == "":
		return c.waits(ctx, job, Condition{Type: PodScheduled, Reason: WaitForPodBindReservation})
	case pod.Spec.NodeName != job.Status.TargetNode:
		job.set(c.stamp(Condition{Type: PodBoundReservation, Status: metav1.ConditionFalse}))
		return 0, c.end(ctx, job, Failed, MissingReservation, "the new pod runs on node "+pod.Spec.NodeName+" and not where the place was")
	case !job.is(PodBoundReservation):
		job.set(c.stamp(Condition{Type: PodScheduled, Status: metav1.ConditionTrue}))
		return c.went(ctx, job, Condition{Type: PodBoundReservation, Status: metav1.ConditionTrue, Message: "on node " + pod.Spec.NodeName})
	case !isReady(pod) && pod.Status.Phase != v1.PodSucceeded:
		return c.waits(ctx, job, Condition{Type: BoundPodReady, Reason: WaitForBoundPodReady})
	}
	job.set(c.stamp(Condition{Type: BoundPodReady, Status: metav1.ConditionTrue}))
	return 0, c.end(ctx, job, Succeeded, "", "pod "+pod.Name+" runs on node "+pod.Spec.NodeName)
}
