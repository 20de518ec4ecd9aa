package migration

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
)

// arbitration is one look at all jobs: how many are under way, by what limits count.
type arbitration struct {
	total       int
	onNode      map[string]int
	inNamespace map[string]int
	ofWorkload  map[types.UID]int // by controller
	inWindow    map[types.UID]int // by controller, those that began a short while ago
	pods        map[types.UID]string
}

// Arbitrate lets jobs begin, as far as limits allow, and fails those that never may. It
// reads the jobs themselves and no memory of earlier calls, so it decides the same after a
// restart.
func (c *Controller) Arbitrate(ctx context.Context) error {
	jobs, err := c.jobs.list(ctx)
	if err != nil {
		return err
	}
	a := c.countUnderWay(jobs)
	waiting, failed := c.waiting(ctx, jobs, a)
	sortJobs(waiting, maps.Clone(a.ofWorkload))
	now := c.handle.Clock().Now()
	told := 0
	for _, w := range waiting {
		if a.pods[w.pod.UID] != "" {
			continue // this other job has the pod, and the next arbitration says so
		}
		if gate := c.holdsBack(w.pod, a); gate != "" { // one that has to wait holds up no others
			if told < toldMax && w.waitsFor(gate) {
				told++
				failed = append(failed, ignoreConflict(c.jobs.updateStatus(ctx, w.Job)))
			}
			continue
		}
		if w.Annotations == nil {
			w.Annotations = map[string]string{}
		}
		w.Annotations[AnnotationPassed] = now.UTC().Format(time.RFC3339)
		if err := c.jobs.update(ctx, w.Job); err != nil {
			failed = append(failed, fmt.Errorf("letting job %s pass: %w", w.Name, err))
			continue
		}
		a.inWindow[workloadUID(w.pod)]++
		a.count(w.Job, w.pod.Spec.NodeName, workloadUID(w.pod), w.pod.UID)
	}
	return errors.Join(failed...)
}

// endsMax is how many jobs one arbitration ends, or asks the API server for the pod of. Others are
// looked at by the next one: ten thousand jobs that make no sense would keep those that do for minutes.
const endsMax = 100

// toldMax is how many jobs one arbitration writes for which limit they wait, which may change each time.
const toldMax = 20

// waitsFor notes the limit that a job waits for, and says whether that changed anything.
func (j *Job) waitsFor(gate Gate) bool {
	message := "limit " + strings.ToLower(string(gate[:1])) + string(gate[1:]) + " is reached" // as the argument is called
	if j.Status.Reason == WaitForLimit && j.Status.Message == message {
		return false
	}
	j.Status.Phase, j.Status.Reason, j.Status.Message = Pending, WaitForLimit, message
	return true
}

// ignoreConflict leaves it to the next time where the job was written or deleted meanwhile.
func ignoreConflict(err error) error {
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// waiting are the jobs that may begin if limits allow. Those that never may are failed.
func (c *Controller) waiting(ctx context.Context, jobs []*Job, a *arbitration) (waiting []waitingJob, failed []error) {
	ends := 0
	for _, job := range jobs {
		if job.Ended() || job.passed() || job.Spec.Paused || job.DeletionTimestamp != nil || !c.mine(job) || job.ttl().Duration < 0 {
			continue
		}
		ref := job.Spec.PodRef
		ref.UID = job.podUID()
		if pod := c.listed(ref); pod != nil && pod.DeletionTimestamp == nil && c.forbids(job, pod, a) == nil {
			waiting = append(waiting, waitingJob{job, pod})
			continue
		}
		if ends++; ends > endsMax {
			continue
		}
		switch pod, err := c.judge(ctx, job, a); {
		case err != nil:
			failed = append(failed, fmt.Errorf("job %s: %w", job.Name, err))
		case pod != nil:
			waiting = append(waiting, waitingJob{job, pod})
		}
	}
	return waiting, failed
}

// judge asks the API server for the pod of a job. It returns none where the job may never begin, which
// then ends.
func (c *Controller) judge(ctx context.Context, job *Job, a *arbitration) (*v1.Pod, error) {
	pod, err := c.podOf(ctx, job)
	if apierrors.IsNotFound(err) {
		return nil, c.end(ctx, job, Failed, MissingPod, err.Error())
	}
	if err != nil {
		return nil, err
	}
	if why := c.forbids(job, pod, a); why != nil {
		return nil, c.end(ctx, job, Failed, ForbiddenMigratePod, why.Error())
	}
	return pod, nil
}

// forbids is why a job must never begin.
func (c *Controller) forbids(job *Job, pod *v1.Pod, a *arbitration) error {
	if by := a.pods[pod.UID]; by != "" {
		return fmt.Errorf("job %s migrates it", by)
	}
	return c.refusal(pod, job.mode())
}

// countUnderWay counts the jobs that are in flight, and those that evicted a pod a short
// while ago.
func (c *Controller) countUnderWay(jobs []*Job) *arbitration {
	a := &arbitration{
		onNode: map[string]int{}, inNamespace: map[string]int{}, ofWorkload: map[types.UID]int{},
		inWindow: map[types.UID]int{}, pods: map[types.UID]string{},
	}
	now := c.handle.Clock().Now()
	for _, job := range jobs {
		node, workload, uid := job.Status.NodeName, types.UID(""), job.podUID()
		if job.Status.Workload != nil {
			workload = job.Status.Workload.UID
		} else if pod := c.listed(job.Spec.PodRef); pod != nil {
			node, workload, uid = pod.Spec.NodeName, workloadUID(pod), pod.UID
		}
		if job.InFlight() {
			a.count(job, node, workload, uid)
		}
		began, passed := job.began()
		if passed && (job.InFlight() || job.condition(Eviction) != nil) && now.Sub(began) < c.window() {
			a.inWindow[workload]++
		}
	}
	return a
}

// count counts a job that is in flight.
func (a *arbitration) count(job *Job, node string, workload, pod types.UID) {
	a.total++
	a.onNode[node]++
	a.inNamespace[job.Spec.PodRef.Namespace]++
	a.ofWorkload[workload]++
	a.pods[pod] = job.Name
}

// window is the time in which migrations of a workload are counted.
func (c *checks) window() time.Duration { return c.args.ObjectLimiters.Workload.Duration.Duration }

// holdsBack is the limit for which the job of a pod has to wait; empty if there is none.
func (c *checks) holdsBack(pod *v1.Pod, a *arbitration) Gate {
	if !c.args.ArbitrationArgs.Enabled {
		return ""
	}
	reached := func(gate Gate, limit *int, count int) bool {
		return limit != nil && *limit > 0 && count >= *limit && !c.args.skips(gate)
	}
	switch {
	case reached(GateGlobal, c.args.MaxMigratingGlobally, a.total):
		return GateGlobal
	case reached(GateNode, c.args.MaxMigratingPerNode, a.onNode[pod.Spec.NodeName]):
		return GateNode
	case reached(GateNamespace, c.args.MaxMigratingPerNamespace, a.inNamespace[pod.Namespace]):
		return GateNamespace
	}
	workload := workloadUID(pod)
	if workload == "" {
		return ""
	}
	l := c.args.limitsOf(c.replicasOf(pod))
	switch {
	case !c.args.skips(GateWorkload) && a.ofWorkload[workload] >= l.migrating:
		return GateWorkload
	case !c.args.skips(GateUnavailable) && c.unavailable(pod, l.replicas, a) >= l.unavailable:
		return GateUnavailable
	case c.window() > 0 && a.inWindow[workload] >= l.inWindow:
		return gateWindow
	}
	return ""
}

// gateWindow is the limit of migrations in a time. It can be switched off by its duration.
const gateWindow Gate = "objectLimiters.workload"

// unavailable is how many replicas of the workload of a pod do not serve: that are missing,
// are not ready, end, or are being migrated. The pod itself does not count, as otherwise one that
// is not ready could never be migrated.
func (c *checks) unavailable(pod *v1.Pod, replicas int, a *arbitration) int {
	serving := 1
	for _, other := range c.siblings(pod) {
		if other.UID != pod.UID && isReady(other) && other.DeletionTimestamp == nil && a.pods[other.UID] == "" {
			serving++
		}
	}
	return max(0, replicas-serving)
}
