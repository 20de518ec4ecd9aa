package migration

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
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
	now, told, groups, done := c.handle.Clock().Now(), 0, groupsOf(jobs), map[string]bool{}
	for _, w := range waiting {
		of, forced := []waitingJob{w}, false
		if g := w.Spec.Group; g != nil {
			if done[g.Name] {
				continue
			}
			done[g.Name] = true
			goes, never, waits := w.begins(now, groups[g.Name])
			of = membersOf(waiting, g.Name)
			if never != "" {
				failed = append(failed, c.abortAll(ctx, of, never))
			}
			if never != "" || waits || !goes && len(of) < g.Count {
				continue
			}
			forced = goes
		}
		if slices.ContainsFunc(of, func(w waitingJob) bool { return a.pods[w.pod.UID] != "" }) {
			continue // this other job has the pod, and the next arbitration says so
		}
		if gate := c.holdsBack(of, a); gate != "" && !forced { // one that has to wait holds up no others
			for _, w := range of {
				if told < toldMax && w.waitsFor(gate) {
					told++
					failed = append(failed, ignoreConflict(c.jobs.updateStatus(ctx, w.Job)))
				}
			}
			continue
		}
		for _, w := range of {
			failed = append(failed, c.pass(ctx, now, w, a))
		}
	}
	return errors.Join(failed...)
}

// membersOf are the jobs of a group that wait.
func membersOf(waiting []waitingJob, name string) (of []waitingJob) {
	for _, w := range waiting {
		if w.Spec.Group != nil && w.Spec.Group.Name == name {
			of = append(of, w)
		}
	}
	return of
}

// abortAll ends the jobs of a group that wait.
func (c *Controller) abortAll(ctx context.Context, of []waitingJob, why string) error {
	var failed []error
	for _, w := range of {
		_, err := c.abortGroup(ctx, w.Job, why)
		failed = append(failed, ignoreConflict(err))
	}
	return errors.Join(failed...)
}

// pass lets a job begin, and counts it.
func (c *Controller) pass(ctx context.Context, now time.Time, w waitingJob, a *arbitration) error {
	if w.Annotations == nil {
		w.Annotations = map[string]string{}
	}
	w.Annotations[AnnotationPassed] = now.UTC().Format(time.RFC3339)
	c.sign(w.Job)
	if err := c.jobs.update(ctx, w.Job); err != nil {
		return fmt.Errorf("letting job %s pass: %w", w.Name, err)
	}
	a.inWindow[workloadUID(w.pod)]++
	a.count(w.Job, w.pod.Spec.NodeName, workloadUID(w.pod), w.pod.UID)
	return nil
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

// holdsBack is the limit for which jobs that begin together have to wait; empty if there is none. More of them than a limit
// allows begin while no others count for it.
func (c *checks) holdsBack(of []waitingJob, a *arbitration) Gate {
	if !c.args.ArbitrationArgs.Enabled {
		return ""
	}
	for _, w := range of {
		if gate := c.holdsBackOne(w.pod, of, a); gate != "" {
			return gate
		}
	}
	return ""
}

func (c *checks) holdsBackOne(pod *v1.Pod, of []waitingJob, a *arbitration) Gate {
	over := func(limit, count int, like func(*v1.Pod) bool) bool {
		more := 0
		for _, w := range of {
			if like(w.pod) {
				more++
			}
		}
		return count+more > limit && (count > 0 || limit <= 0)
	}
	reached := func(gate Gate, limit *int, count int, like func(*v1.Pod) bool) bool {
		return limit != nil && *limit > 0 && over(*limit, count, like) && !c.args.skips(gate)
	}
	switch {
	case reached(GateGlobal, c.args.MaxMigratingGlobally, a.total, func(*v1.Pod) bool { return true }):
		return GateGlobal
	case reached(GateNode, c.args.MaxMigratingPerNode, a.onNode[pod.Spec.NodeName], func(p *v1.Pod) bool { return p.Spec.NodeName == pod.Spec.NodeName }):
		return GateNode
	case reached(GateNamespace, c.args.MaxMigratingPerNamespace, a.inNamespace[pod.Namespace], func(p *v1.Pod) bool { return p.Namespace == pod.Namespace }):
		return GateNamespace
	}
	workload := workloadUID(pod)
	if workload == "" {
		return ""
	}
	alike := func(p *v1.Pod) bool { return workloadUID(p) == workload }
	l := c.args.limitsOf(c.replicasOf(pod))
	switch {
	case !c.args.skips(GateWorkload) && over(l.migrating, a.ofWorkload[workload], alike):
		return GateWorkload
	case !c.args.skips(GateUnavailable) && over(l.unavailable, c.unavailable(pod, of, l.replicas, a), alike):
		return GateUnavailable
	case c.window() > 0 && over(l.inWindow, a.inWindow[workload], alike):
		return gateWindow
	}
	return ""
}

// gateWindow is the limit of migrations in a time. It can be switched off by its duration.
const gateWindow Gate = "objectLimiters.workload"

// unavailable is how many replicas of the workload of a pod do not serve: that are missing, are not ready, end, or are being
// migrated. Those which are to begin do not count, as otherwise one that is not ready could never be migrated.
func (c *checks) unavailable(pod *v1.Pod, begin []waitingJob, replicas int, a *arbitration) int {
	of := make(map[types.UID]bool, len(begin))
	serving := 0
	for _, w := range begin {
		of[w.pod.UID] = true
		if workloadUID(w.pod) == workloadUID(pod) {
			serving++
		}
	}
	for _, other := range c.siblings(pod) {
		if !of[other.UID] && isReady(other) && other.DeletionTimestamp == nil && a.pods[other.UID] == "" {
			serving++
		}
	}
	return max(0, replicas-serving)
}
