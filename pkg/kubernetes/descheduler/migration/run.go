package migration

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/pods"
)

const (
	// scavengeEvery is how often jobs are looked for that ended long ago.
	scavengeEvery = time.Minute
	// keepFor is how long a job is kept after its time to live, and keepWithout how long one
	// without such a time is kept after its last change.
	keepFor     = 5 * time.Minute
	keepWithout = 30 * time.Minute
	// failureFirst and failureMax bound the pause after an error.
	failureFirst, failureMax = 200 * time.Millisecond, 30 * time.Second
)

// queue holds the names of jobs that are to be looked at.
type queue = workqueue.TypedRateLimitingInterface[string]

// Run takes jobs through their steps until the context ends. Jobs that an earlier process
// left are gone on with.
func (c *Controller) Run(ctx context.Context) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	if err := c.jobs.reachable(ctx); err != nil { // an informer would try again for ever
		return err
	}
	informer, index := c.watchJobs()
	jobs := workqueue.NewTypedRateLimitingQueueWithConfig(
		workqueue.NewTypedItemExponentialFailureRateLimiter[string](failureFirst, failureMax),
		workqueue.TypedRateLimitingQueueConfig[string]{Clock: c.handle.Clock()})
	if err := index.listen(informer, jobs); err != nil {
		return err
	}
	registration, err := c.podInformer.AddEventHandler(podHandler(index, jobs))
	if err != nil {
		return err
	}
	c.known.Store(index)
	var work sync.WaitGroup
	defer func() {
		stop() // after a panic nothing else ends the informer
		c.known.Store(nil)
		_ = c.podInformer.RemoveEventHandler(registration) // it fails only if the informer has stopped
		jobs.ShutDown()
		work.Wait()
	}()
	work.Go(func() { informer.RunWithContext(ctx) })
	if !cache.WaitForCacheSync(ctx.Done(), append(c.synced, informer.HasSynced)...) {
		return ctx.Err()
	}
	for range c.args.MaxConcurrentReconciles {
		work.Go(func() { c.serve(ctx, jobs) })
	}
	return c.tick(ctx, index)
}

// tick arbitrates and scavenges until the context ends.
func (c *Controller) tick(ctx context.Context, index *jobIndex) error {
	arbitrate := c.handle.Clock().NewTicker(c.args.ArbitrationArgs.Interval.Duration)
	defer arbitrate.Stop()
	scavenge := c.handle.Clock().NewTicker(scavengeEvery)
	defer scavenge.Stop()
	for {
		var err error
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-arbitrate.C():
			if index.anyWaits() {
				err = c.Arbitrate(ctx)
			}
		case <-scavenge.C():
			err = c.Scavenge(ctx)
		}
		if err != nil && ctx.Err() == nil {
			klog.FromContext(ctx).Error(err, "Not all jobs could be written")
		}
	}
}

// serve reconciles jobs until the queue is shut down.
func (c *Controller) serve(ctx context.Context, jobs queue) {
	for {
		name, over := jobs.Get()
		if over {
			return
		}
		again, err := contained(func() (time.Duration, error) { return c.Reconcile(ctx, name) })
		switch {
		case apierrors.IsConflict(err):
			jobs.AddRateLimited(name)
		case err != nil:
			if ctx.Err() == nil {
				klog.FromContext(ctx).Error(err, "Job not reconciled", "job", name)
			}
			jobs.AddRateLimited(name)
		default:
			jobs.Forget(name)
			if again > 0 {
				jobs.AddAfter(name, again)
			}
		}
		jobs.Done(name)
	}
}

// contained calls a function of which a panic is an error: that of one job does not end the process.
func contained[T any](f func() (T, error)) (result T, err error) {
	defer func() {
		if value := recover(); value != nil {
			err = fmt.Errorf("panic: %v\n%s", value, debug.Stack())
		}
	}()
	return f()
}

// Scavenge deletes jobs that ended long ago. Jobs that have not ended are kept, and those of other installations, which may count them longer. What jobs have asked of owners that are gone is taken back.
func (c *Controller) Scavenge(ctx context.Context) error {
	jobs, err := c.jobs.list(ctx)
	if err != nil {
		return err
	}
	now := c.handle.Clock().Now()
	failed := c.unaskGone(ctx, jobs)
	for _, job := range jobs {
		if job.Ended() && job.DeletionTimestamp == nil && !c.foreign(job) && !now.Before(c.keptUntil(job)) {
			if err := c.jobs.delete(ctx, job); err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
				failed = append(failed, err)
			}
		}
	}
	return errors.Join(failed...)
}

// unaskGone takes back what jobs have asked of owners that were deleted since.
func (c *Controller) unaskGone(ctx context.Context, jobs []*Job) (failed []error) {
	all, err := c.pods.List(labels.Everything())
	if err != nil {
		return []error{err}
	}
	for _, pod := range all {
		name := asker(pod)
		if name == "" || slices.ContainsFunc(jobs, func(job *Job) bool { return job.Name == name && !job.Ended() }) {
			continue
		}
		if err := c.annotate(ctx, pod, nil); err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
			failed = append(failed, err)
		}
	}
	return failed
}

// keptUntil is when a job that has ended may be deleted. As long as it counts for the limit
// in a time, it is kept.
func (c *Controller) keptUntil(job *Job) time.Time {
	last := job.CreationTimestamp.Time
	for _, condition := range job.Status.Conditions {
		if condition.LastTransitionTime.After(last) {
			last = condition.LastTransitionTime.Time
		}
	}
	until := last.Add(max(keepFor, c.window()))
	began, _ := job.began()
	end := began.Add(job.ttl().Duration + keepFor)
	if job.ttl().Duration == 0 {
		end = last.Add(keepWithout)
	}
	if end.After(until) {
		return end
	}
	return until
}

// jobIndex is what the informer knows of jobs: which are concerned by a change of a pod.
type jobIndex struct{ cache.Indexer }

const (
	byPod   = "pod"   // namespace/name of pods that a job names
	byUID   = "uid"   // UID of the pod that is migrated, of jobs that have not ended
	byWait  = "wait"  // "true" for jobs that wait for arbitration
	byGroup = "group" // the name of the one that leads, of jobs of a group
)

// watchJobs makes an informer of jobs. One that has stopped cannot be started again, so there
// is a new one in each run.
func (c *Controller) watchJobs() (cache.SharedIndexInformer, *jobIndex) {
	informer := dynamicinformer.NewFilteredDynamicInformer(c.jobs.all, Resource, metav1.NamespaceAll, 0, cache.Indexers{
		byPod: of(func(j *Job) []string { return j.podNames() }),
		byUID: of(func(j *Job) []string { return unless(j.Ended() || j.podUID() == "", string(j.podUID())) }),
		byGroup: of(func(j *Job) []string {
			if j.Spec.Group == nil {
				return nil
			}
			return []string{j.Spec.Group.Name}
		}),
		byWait: of(func(j *Job) []string { return unless(j.Ended() || j.passed() || j.Spec.Paused, "true") }),
	}, nil).Informer()
	return informer, &jobIndex{informer.GetIndexer()}
}

// of makes an index function. What cannot be read is in no index.
func of(keys func(*Job) []string) cache.IndexFunc {
	return func(object any) ([]string, error) {
		job, err := read(object.(*unstructured.Unstructured))
		if err != nil {
			return nil, nil
		}
		return keys(job), nil
	}
}

func unless(not bool, key string) []string {
	if not {
		return nil
	}
	return []string{key}
}

func (j *Job) podNames() []string {
	names := []string{j.Spec.PodRef.Namespace + "/" + j.Spec.PodRef.Name}
	for _, ref := range []*PodRef{j.Status.Reservation, j.Status.PodRef} {
		if ref != nil {
			names = append(names, ref.Namespace+"/"+ref.Name)
		}
	}
	return names
}

// listen has jobs queued that change.
func (x *jobIndex) listen(informer cache.SharedIndexInformer, jobs queue) error {
	add := func(object any) {
		if key, err := cache.DeletionHandlingMetaNamespaceKeyFunc(object); err == nil {
			jobs.Add(key)
		}
		for _, name := range x.concerned(object) {
			jobs.Add(name)
		}
	}
	_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: add, UpdateFunc: func(_, object any) { add(object) }, DeleteFunc: add})
	if err != nil {
		return fmt.Errorf("watching jobs: %w", err)
	}
	return nil
}

// podHandler has the jobs queued that a change of a pod concerns.
func podHandler(x *jobIndex, jobs queue) cache.ResourceEventHandler {
	changed := func(object any) {
		pod, ok := pods.LastKnown(object).(*v1.Pod)
		if !ok {
			return
		}
		for _, name := range x.keys(byPod, pod.Namespace+"/"+pod.Name) {
			jobs.Add(name)
		}
	}
	return cache.ResourceEventHandlerFuncs{AddFunc: changed, UpdateFunc: func(_, object any) { changed(object) }, DeleteFunc: changed}
}

func (x *jobIndex) keys(index, key string) []string {
	if x == nil || key == "" {
		return nil
	}
	keys, err := x.IndexKeys(index, key)
	if err != nil {
		return nil // there is no such index, which a test would find
	}
	return keys
}

// migratesAny reports whether any pod is migrated.
func (x *jobIndex) migratesAny() bool { return x != nil && len(x.ListIndexFuncValues(byUID)) > 0 }

// migrates is the job that migrates a pod; empty if there is none.
func (x *jobIndex) migrates(pod types.UID) string {
	if keys := x.keys(byUID, string(pod)); len(keys) > 0 {
		return keys[0]
	}
	return ""
}

// anyWaits says whether jobs wait for arbitration.
func (x *jobIndex) anyWaits() bool { return len(x.keys(byWait, "true")) > 0 }
