package migration

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/framework"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/pods"
)

// Name is the name of the plugin.
const Name = "MigrationController"

// Controller is the plugin in one profile. Its methods may be called concurrently; where two
// of them want to change one job, one gets a conflict and tries again.
type Controller struct {
	*checks
	jobs        store
	bucket      *bucket
	synced      []cache.InformerSynced
	podInformer cache.SharedIndexInformer
	known       atomic.Pointer[jobIndex] // what the informer has heard of while Run runs
}

var (
	_ framework.EvictPlugin             = (*Controller)(nil)
	_ framework.FilterPlugin            = (*Controller)(nil)
	_ framework.PreEvictionFilterPlugin = (*Controller)(nil)
	_ framework.ControllerPlugin        = (*Controller)(nil)
	_ framework.InFlightReporter        = (*Controller)(nil)
	_ framework.Requester               = (*Controller)(nil)
	_ framework.EvictChecker            = (*Controller)(nil)
	_ framework.Reserver                = (*Controller)(nil)
)

// Definition is the plugin for a registry.
func Definition() framework.Definition {
	return framework.Typed(framework.Definition{
		Name:   Name,
		Points: []framework.Point{framework.Filter, framework.PreEvictionFilter, framework.Evict, framework.Controller},
		Args:   func() any { return NewArgs() }, TakeBack: takeBack,
	}, (*Args).Validate, func(args *Args, handle framework.Handle) (framework.Plugin, error) {
		return New(args, handle)
	})
}

// New builds the plugin. The handle must have a dynamic client.
func New(args *Args, handle framework.Handle) (*Controller, error) {
	dynamic, ok := handle.(framework.DynamicHandle)
	if !ok || dynamic.DynamicClient() == nil {
		return nil, errors.New(Name + " needs a handle with a dynamic client")
	}
	checks, err := newChecks(args, handle)
	if err != nil {
		return nil, err
	}
	factory := handle.SharedInformerFactory()
	c := &Controller{
		checks: checks, jobs: newStore(dynamic.DynamicClient()), bucket: newBucket(args.EvictQPS, args.EvictBurst),
		podInformer: factory.Core().V1().Pods().Informer(),
	}
	c.synced = []cache.InformerSynced{
		c.podInformer.HasSynced, factory.Scheduling().V1().PriorityClasses().Informer().HasSynced,
		factory.Apps().V1().ReplicaSets().Informer().HasSynced, factory.Apps().V1().StatefulSets().Informer().HasSynced,
		factory.Policy().V1().PodDisruptionBudgets().Informer().HasSynced,
	}
	return c, nil
}

// Name implements framework.Plugin.
func (c *Controller) Name() string { return Name }

// Filter refuses pods that could never be migrated, and those that are.
func (c *Controller) Filter(pod *v1.Pod) error {
	if job := c.known.Load().migrates(pod.UID); job != "" {
		return fmt.Errorf("job %s migrates it", job)
	}
	return c.refusal(pod, c.modeFor(pod))
}

// modeFor is the mode of a job that the plugin makes. A pod that has ended keeps no room, and
// nothing is made anew when it goes, so that no place is reserved.
func (c *Controller) modeFor(pod *v1.Pod) Mode {
	if pods.IsTerminal(pod) {
		return EvictDirectly
	}
	return c.args.DefaultJobMode
}

// PreEvictionFilter refuses pods that fit on no other node, where the arguments ask for that.
func (c *Controller) PreEvictionFilter(pod *v1.Pod) error { return c.fits(pod) }

// OnlyRequests implements framework.Requester: a job evicts the pod later, or never.
func (c *Controller) OnlyRequests() bool { return true }

// Reserves implements framework.Reserver.
func (c *Controller) Reserves(pod *v1.Pod) bool { return c.modeFor(pod) == ReservationFirst }

// CheckEviction implements framework.EvictChecker. The argument dryRun refuses all pods: reports,
// counters and events must not say that they were evicted.
func (c *Controller) CheckEviction(pod *v1.Pod, _ framework.EvictOptions) error {
	if err := c.refusal(pod, c.modeFor(pod)); err != nil {
		return &framework.RefusedError{By: Name, Reason: err.Error(), Err: err}
	}
	if c.args.DryRun {
		return &framework.RefusedError{By: Name, Reason: "its argument dryRun is true, so it makes no job"}
	}
	return nil
}

// EvictPod makes a job for the pod. That the job exists is success: the pod is evicted when
// arbitration lets it and its place is reserved.
func (c *Controller) EvictPod(ctx context.Context, pod *v1.Pod, options framework.EvictOptions) error {
	if err := c.CheckEviction(pod, options); err != nil || c.handle.DryRun() {
		return err
	}
	return c.make(ctx, c.jobFor(pod, options))
}

// make makes a job. One of the pod that has ended makes way for it.
func (c *Controller) make(ctx context.Context, job *Job) error {
	err := c.jobs.create(ctx, job)
	if !apierrors.IsAlreadyExists(err) {
		return err
	}
	earlier, err := c.jobs.get(ctx, job.Name)
	switch {
	case err == nil && !earlier.Ended():
		return &framework.RefusedError{By: Name, Reason: "job " + job.Name + " migrates it"}
	case err == nil:
		// It ended and the pod is still there, so it evicted nothing.
		err = c.jobs.delete(ctx, earlier)
	}
	if err != nil && !apierrors.IsNotFound(err) {
		return err
	}
	return c.jobs.create(ctx, job)
}

// InFlight returns the pods that jobs migrate, as far as Run has heard of them.
func (c *Controller) InFlight() []*v1.Pod {
	index := c.known.Load()
	if !index.migratesAny() {
		return nil
	}
	var migrated []*v1.Pod
	for _, object := range c.podInformer.GetStore().List() {
		if pod, ok := object.(*v1.Pod); ok && index.migrates(pod.UID) != "" {
			migrated = append(migrated, pod)
		}
	}
	return migrated
}

// jobFor makes the job of a pod. Its name is that of the pod's UID, so there is one at a time.
func (c *Controller) jobFor(pod *v1.Pod, options framework.EvictOptions) *Job {
	deletion := options.DeleteOptions
	if deletion == nil {
		deletion = c.args.DefaultDeleteOptions
	}
	job := &Job{
		ObjectMeta: metav1.ObjectMeta{
			Name: nameFor(pod),
			Annotations: map[string]string{
				AnnotationReason: options.Reason, AnnotationTrigger: options.PluginName,
				AnnotationProfile: cmp.Or(options.ProfileName, c.handle.ProfileName()),
			},
		},
		Spec: Spec{
			Mode: c.modeFor(pod), PodRef: PodRef{Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID}, DeleteOptions: deletion,
		},
	}
	c.sign(job)
	if len(options.Nodes) > 0 && c.Reserves(pod) {
		job.Spec.Reservation = &ReservationOptions{NodeNames: options.Nodes}
	}
	if c.args.DefaultJobTTL.Duration > 0 {
		job.Spec.TTL = &c.args.DefaultJobTTL
	}
	return job
}

// nameFor is the name of the job that the plugin makes for a pod.
func nameFor(pod *v1.Pod) string { return "migration-" + string(pod.UID) }

// mine says whether this profile takes care of a job: of its own, and of those that name
// none. The jobs of an earlier process are its own, those of another installation are not.
func (c *Controller) mine(job *Job) bool {
	profile := job.Annotations[AnnotationProfile]
	return !c.foreign(job) && (profile == "" || profile == c.handle.ProfileName())
}

// sign writes on a job which installation takes care of it.
func (c *checks) sign(job *Job) {
	if own := framework.InstallationOf(c.handle); own != "" {
		job.Annotations[AnnotationInstallation] = own
	}
}

// foreign says whether a job is that of another installation.
func (c *checks) foreign(job *Job) bool {
	return framework.OfAnother(c.handle, job.Annotations[AnnotationInstallation])
}

// went notes a step that was taken.
func (c *Controller) went(ctx context.Context, job *Job, condition Condition) (time.Duration, error) {
	job.set(c.stamp(condition))
	return atOnce, c.jobs.updateStatus(ctx, job)
}

// waits notes what a job waits for, if that is new.
func (c *Controller) waits(ctx context.Context, job *Job, condition Condition) (time.Duration, error) {
	condition.Status = metav1.ConditionFalse
	if job.set(c.stamp(condition)) {
		return retryAfter, c.jobs.updateStatus(ctx, job)
	}
	return retryAfter, nil
}

func (c *Controller) stamp(condition Condition) Condition {
	condition.LastTransitionTime = metav1.NewTime(c.handle.Clock().Now().Truncate(time.Second))
	return condition
}

// end ends a job. Its reservation is deleted before, so that a job which has ended leaves
// none, and so is what it has written on the pod for its owner.
func (c *Controller) end(ctx context.Context, job *Job, phase Phase, reason Reason, message string) error {
	asks := job.condition(Eviction) != nil && !job.is(Eviction)
	if asks {
		if err := c.unask(ctx, job); err != nil {
			return fmt.Errorf("taking back what job %s has asked for: %w", job.Name, err)
		}
	}
	if job.mode() == ReservationFirst || job.Status.Reservation != nil { // the mode may have been changed
		if err := c.release(ctx, job); err != nil {
			return fmt.Errorf("deleting the reservation of job %s: %w", job.Name, err)
		}
	}
	job.Status.Phase, job.Status.Reason, job.Status.Message = phase, reason, message
	err := c.jobs.updateStatus(ctx, job)
	if err == nil && asks {
		err = c.unask(ctx, job) // a step that began before may have asked once more
	}
	if err == nil {
		klog.FromContext(ctx).Info("Migration ended", "job", job.Name, "pod", job.Spec.PodRef.Namespace+"/"+job.Spec.PodRef.Name,
			"phase", phase, "reason", reason, "message", message)
	}
	return err
}

// release deletes the reservation of a job if there is one that the job made. It goes by the
// name, since an interruption may have come before the reservation was noted.
func (c *Controller) release(ctx context.Context, job *Job) error {
	place, err := c.live(ctx, PodRef{Namespace: job.Spec.PodRef.Namespace, Name: reservationName(job)})
	if err != nil || place == nil || place.DeletionTimestamp != nil || !metav1.IsControlledBy(place, job) {
		return err
	}
	err = c.handle.ClientSet().CoreV1().Pods(place.Namespace).Delete(ctx, place.Name, metav1.DeleteOptions{
		Preconditions: metav1.NewUIDPreconditions(string(place.UID)),
	})
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil
	}
	return err
}
