package migration

import (
	"cmp"
	"context"
	"fmt"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/framework"
)

var (
	_ framework.Withdrawer       = (*Controller)(nil)
	_ framework.ProgressReporter = (*Controller)(nil)
)

// Withdraw implements framework.Withdrawer: the job that was made for a pod in this profile, for the plugin that the options name, is
// aborted, unless it is about to evict the pod, or has; that it has asked the owner to end the pod is no eviction. A job that a user has made
// goes on.
func (c *Controller) Withdraw(ctx context.Context, pod *v1.Pod, options framework.EvictOptions) error {
	return c.withdraw(ctx, nameFor(pod), options)
}

func (c *Controller) withdraw(ctx context.Context, name string, options framework.EvictOptions) error {
	for {
		job, err := c.jobs.get(ctx, name)
		switch {
		case apierrors.IsNotFound(err):
			return nil
		case err != nil:
			return err
		case job.Ended() || c.foreign(job) || job.Annotations[AnnotationProfile] != options.ProfileName || job.Annotations[AnnotationTrigger] != options.PluginName:
			return nil
		}
		if goes, err := c.goesOn(ctx, job, options); goes || err != nil {
			return err
		}
		err = c.end(ctx, job, Aborted, Withdrawn, "what it was made for is over")
		if !apierrors.IsConflict(err) {
			return err
		}
	}
}

// goesOn says whether a job is about to evict its pod, or has.
func (c *Controller) goesOn(ctx context.Context, job *Job, options framework.EvictOptions) (bool, error) {
	begun := job.condition(Eviction) != nil || job.is(GroupReserved)
	if !begun && job.Spec.Group != nil && !job.leads() { // it is to be taken back with or without that, at once for all of the group
		if err := c.withdraw(ctx, job.Spec.Group.Name, options); err != nil {
			return false, err
		}
		g, err := c.groupOf(ctx, job, true)
		if err != nil {
			return false, err
		}
		begun = g.lead != nil && g.lead.is(GroupReserved)
	}
	if !begun {
		return false, nil
	}
	pod, err := c.livePod(ctx, job)
	return pod == nil || pod.DeletionTimestamp != nil || asker(pod) != job.Name && c.policyOf(job, pod) != BySoftEviction, err
}

// Progress implements framework.ProgressReporter: what the job of a pod waits for.
func (c *Controller) Progress(pod *v1.Pod) string {
	index := c.known.Load()
	return index.job(index.migrates(pod.UID)).text()
}

// Failure implements framework.ProgressReporter: why the job of a pod has ended and the pod is there; not that of another of its group.
func (c *Controller) Failure(pod *v1.Pod) string {
	job := c.known.Load().job(nameFor(pod))
	if job == nil || !job.Ended() || job.Status.Reason == GroupAborted {
		return ""
	}
	return job.text()
}

// job is a job that the informer has heard of, or nil.
func (x *jobIndex) job(name string) *Job {
	if x == nil {
		return nil
	}
	object, there, err := x.GetByKey(name)
	if err != nil || !there {
		return nil
	}
	return asJob(object)
}

// text is how far a job is, in words; empty for none.
func (j *Job) text() string {
	if j == nil {
		return ""
	}
	text := fmt.Sprintf("job %s: %s", j.Name, cmp.Or(j.Status.Phase, Pending))
	if j.Status.Reason != "" {
		text += " " + string(j.Status.Reason)
	}
	if j.Status.Message != "" {
		text += ", " + j.Status.Message
	}
	return text
}
