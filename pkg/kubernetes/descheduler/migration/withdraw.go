package migration

import (
	"cmp"
	"context"
	"fmt"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/framework"
)

var (
	_ framework.Withdrawer       = (*Controller)(nil)
	_ framework.ProgressReporter = (*Controller)(nil)
)

// Withdraw implements framework.Withdrawer: the job that was made for a pod in this profile, for the plugin that the options name, is
// aborted, unless it is about to evict the pod, or has. A job that a user has made goes on.
func (c *Controller) Withdraw(ctx context.Context, pod *v1.Pod, options framework.EvictOptions) error {
	for {
		job, err := c.jobs.get(ctx, nameFor(pod))
		switch {
		case apierrors.IsNotFound(err):
			return nil
		case err != nil:
			return err
		case job.Ended() || job.condition(Eviction) != nil:
			return nil
		case job.Annotations[AnnotationProfile] != options.ProfileName || job.Annotations[AnnotationTrigger] != options.PluginName:
			return nil
		}
		err = c.end(ctx, job, Aborted, Withdrawn, "what it was made for is over")
		if !apierrors.IsConflict(err) {
			return err
		}
	}
}

// Progress implements framework.ProgressReporter: what the job of a pod waits for.
func (c *Controller) Progress(pod *v1.Pod) string {
	index := c.known.Load()
	if index == nil {
		return ""
	}
	name := index.migrates(pod.UID)
	object, there, err := index.GetByKey(name)
	known, ok := object.(*unstructured.Unstructured)
	if err != nil || !there || !ok {
		return ""
	}
	job, err := read(known)
	if err != nil {
		return ""
	}
	text := fmt.Sprintf("job %s: %s", name, cmp.Or(job.Status.Phase, Pending))
	if job.Status.Reason != "" {
		text += " " + string(job.Status.Reason)
	}
	if job.Status.Message != "" {
		text += ", " + job.Status.Message
	}
	return text
}
