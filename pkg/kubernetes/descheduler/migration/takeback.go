package migration

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/framework"
	"github.com/narwhal-scheduler/narwhal/pkg/wording"
)

// takeBack ends the jobs for which the policy has no use any more: those of a profile without the plugin, since nothing would take them
// through their steps, and those that a plugin had made which is not enabled any more, unless they are about to evict. Those of other
// installations go on. Where the kind of jobs is not there, or may not be read, there is nothing to do.
func takeBack(ctx context.Context, handle framework.Handle, stands func(framework.Asker) bool) error {
	dynamic, ok := handle.(framework.DynamicHandle)
	if !ok || dynamic.DynamicClient() == nil {
		return nil
	}
	c := &Controller{checks: &checks{args: NewArgs(), handle: handle}, jobs: newStore(dynamic.DynamicClient())}
	jobs, err := c.jobs.list(ctx)
	if apierrors.IsNotFound(err) || apierrors.IsForbidden(err) || meta.IsNoMatchError(err) {
		return nil
	}
	if err != nil {
		return err
	}
	ended, failed := 0, []error(nil)
	for _, job := range jobs {
		by := framework.Asker{Profile: job.Annotations[AnnotationProfile], Plugin: job.Annotations[AnnotationTrigger]}
		switch served := stands(framework.Asker{Profile: by.Profile}); {
		case job.Ended() || job.Annotations[AnnotationInstallation] != framework.InstallationOf(handle) || served && stands(by) || by.Profile == "" && !job.passed(): // one that a user has made may wait for another policy
			continue
		case served:
			err = c.withdraw(ctx, job.Name, framework.EvictOptions{ProfileName: by.Profile, PluginName: by.Plugin})
		default:
			err = c.giveUp(ctx, job)
		}
		now, gone := c.jobs.get(ctx, job.Name)
		switch {
		case err != nil:
			failed = append(failed, fmt.Errorf("job %s: %w", job.Name, err))
		case gone == nil && now.Ended():
			ended++
		}
	}
	if w, ok := handle.(framework.Warner); ok && ended > 0 {
		w.Warn(wording.Several(ended, "job") + " of an earlier policy ended: kubectl get pmj says how far they were")
	}
	return errors.Join(failed...)
}

// giveUp ends a job that nothing takes further, however far it is.
func (c *Controller) giveUp(ctx context.Context, job *Job) error {
	for {
		phase := Aborted
		if job.condition(Eviction) != nil {
			pod, err := c.livePod(ctx, job)
			if err != nil {
				return err
			}
			if pod == nil || pod.DeletionTimestamp != nil {
				phase = Failed
			}
		}
		err := c.end(ctx, job, phase, Withdrawn, "no profile of the policy takes care of it")
		if !apierrors.IsConflict(err) {
			return err
		}
		if job, err = c.jobs.get(ctx, job.Name); err != nil || job.Ended() {
			return ignoreMissing(err)
		}
	}
}
