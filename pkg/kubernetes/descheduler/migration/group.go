package migration

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	policy "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/framework"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/pods"
)

var _ framework.GroupEvictPlugin = (*Controller)(nil)

// EvictTogether implements framework.GroupEvictPlugin: it makes a job for each pod, and these are a group. The first one, which leads it, is made
// first: what says that the group evicts is written there, at once for all.
func (c *Controller) EvictTogether(ctx context.Context, all []*v1.Pod, options framework.EvictOptions) (keeps *v1.Pod, err error) {
	for _, pod := range all {
		if err := c.CheckEviction(pod, options); err != nil {
			return pod, err
		}
	}
	if c.handle.DryRun() {
		return nil, nil
	}
	for i, pod := range all {
		job := c.jobFor(pod, options)
		job.Spec.Group = &Group{Name: nameFor(all[0]), Count: len(all)}
		if err := c.make(ctx, job); err != nil {
			for _, made := range all[:i] {
				err = errors.Join(err, c.Withdraw(ctx, made, options)) // otherwise arbitration ends it later
			}
			return pod, err
		}
	}
	return nil, nil
}

// leads says whether a job is the one that its group goes by.
func (j *Job) leads() bool { return j.Spec.Group != nil && j.Spec.Group.Name == j.Name }

// undecided says whether a job is of a group, as far as it knows, of which none evicts.
func (j *Job) undecided() bool {
	return j.Spec.Group != nil && j.condition(Eviction) == nil && !j.is(GroupReserved)
}

// hasPlace says whether a job could evict its pod, were it alone.
func (j *Job) hasPlace() bool {
	return j.Status.Phase == Running && (j.mode() == EvictDirectly || j.is(ReservationScheduled))
}

// A groupView is the group of a job, as the job sees it: the job that leads, or nil, and all of the group where the job is that one.
type groupView struct {
	lead *Job
	all  []*Job
}

// ended is why nothing becomes of a group that is undecided; empty if it may.
func (g groupView) ended(job *Job) string {
	switch {
	case g.lead == nil:
		return "the job that leads its group is gone"
	case g.lead.is(GroupReserved):
		return ""
	case g.lead.Ended():
		return because(g.lead)
	case !job.leads():
		return ""
	}
	for _, other := range g.all {
		if other.Ended() {
			return because(other)
		}
	}
	if len(g.all) < job.Spec.Group.Count {
		return "a job of its group is gone"
	}
	return ""
}

// because says that another job of the group has ended. What has ended for another reason says for which.
func because(ended *Job) string {
	if ended.Status.Reason == GroupAborted {
		return ended.Status.Message
	}
	return fmt.Sprintf("job %s of its group, of pod %s, ended: %s, %s", ended.Name, ended.Spec.PodRef.Name, ended.Status.Reason, ended.Status.Message)
}

// places is how many jobs of a group have one.
func (g groupView) places() (count int) {
	for _, job := range g.all {
		if job.hasPlace() {
			count++
		}
	}
	return count
}

// groupOf looks at the group of a job. Certain asks the API server for all of it.
func (c *Controller) groupOf(ctx context.Context, job *Job, certain bool) (g groupView, err error) {
	if !job.leads() {
		g.lead, err = c.jobs.get(ctx, job.Spec.Group.Name)
		return g, ignoreMissing(err)
	}
	g.lead = job
	if !certain {
		g.all = c.known.Load().groupOf(job.Name)
	}
	if len(g.all) >= job.Spec.Group.Count {
		return g, nil
	}
	jobs, err := c.jobs.list(ctx)
	g.all = slices.DeleteFunc(jobs, func(other *Job) bool { return other.Spec.Group == nil || other.Spec.Group.Name != job.Name })
	return g, err
}

func ignoreMissing(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// awaitGroup waits until all jobs of a group have a place and budgets let all of its pods go. The one that leads writes that down. From then on
// each evicts its pod, whatever becomes of others.
func (c *Controller) awaitGroup(ctx context.Context, job *Job, g groupView) (time.Duration, error) {
	if g.lead.is(GroupReserved) {
		return c.evictStep(ctx, job)
	}
	if job.mode() == ReservationFirst {
		place, err := c.place(ctx, job)
		if err != nil {
			return 0, err
		}
		if reason, message := lost(place); reason != "" {
			return 0, c.end(ctx, job, Aborted, reason, message)
		}
	}
	waits := Condition{Type: GroupReserved, Reason: WaitForGroup, Message: "it has its place, and waits for those of its group"}
	if !job.leads() {
		_, err := c.waits(ctx, job, waits)
		return untilEvent, err // the one that leads is heard of
	}
	if g.places() == job.Spec.Group.Count { // as far as is known
		var err error
		if g, err = c.groupOf(ctx, job, true); err != nil {
			return 0, err
		}
	}
	if places := g.places(); places < job.Spec.Group.Count || len(g.all) > job.Spec.Group.Count {
		waits.Message = fmt.Sprintf("%d of %d places are reserved", places, job.Spec.Group.Count)
		return c.waits(ctx, job, waits)
	}
	if waits.Message = c.overBudget(g.all); waits.Message != "" {
		return c.waits(ctx, job, waits)
	}
	return c.went(ctx, job, Condition{Type: GroupReserved, Status: metav1.ConditionTrue, Message: "all places are reserved"})
}

// overBudget names the budget that does not let all pods of a group go now; empty if there is none.
func (c *checks) overBudget(jobs []*Job) string {
	all, err := c.budgets.List(labels.Everything())
	if err != nil {
		return err.Error() // a lister that is filled has none
	}
	budgets, used := pods.NewBudgets(all), map[*policy.PodDisruptionBudget]int{}
	for _, job := range jobs {
		pod := c.listed(job.Spec.PodRef)
		if pod == nil || c.policyOf(job, pod) != ByEviction {
			continue
		}
		of := budgets.Of(pod)
		if pods.IsFreeOf(of, pod) {
			continue
		}
		for _, b := range of {
			if used[b]++; used[b] > pods.Disruptions(b) {
				return fmt.Sprintf("budget %s does not let all pods of its group go now", b.Name)
			}
		}
	}
	return ""
}

// abortGroup ends a job of a group of which nothing becomes.
func (c *Controller) abortGroup(ctx context.Context, job *Job, why string) (time.Duration, error) {
	return 0, c.end(ctx, job, Aborted, GroupAborted, why)
}

// incompleteFor is how long jobs of a group may be missing after the last one was made. The process that made them may have ended.
const incompleteFor = time.Minute

// groupsOf are all jobs of groups, by the name of the one that leads.
func groupsOf(jobs []*Job) map[string][]*Job {
	groups := map[string][]*Job{}
	for _, job := range jobs {
		if g := job.Spec.Group; g != nil {
			groups[g.Name] = append(groups[g.Name], job)
		}
	}
	return groups
}

// begins says what becomes of a job that waits, of a group: it begins whatever limits say, since others have; it never begins, and why;
// or it waits for jobs that are not there, or are paused.
func (j *Job) begins(now time.Time, group []*Job) (goes bool, never string, waits bool) {
	var last time.Time
	view, present := groupView{all: group}, 0
	for _, other := range group {
		if other.leads() {
			view.lead = other
		}
		if other.CreationTimestamp.After(last) {
			last = other.CreationTimestamp.Time
		}
		if !other.Ended() {
			present++
		}
		goes = goes || other.InFlight()
		waits = waits || other.Spec.Paused || other.DeletionTimestamp != nil
	}
	switch ended := slices.IndexFunc(group, (*Job).Ended); {
	case view.lead != nil && view.lead.is(GroupReserved):
		return true, "", false // it missed the rest
	case ended >= 0:
		return false, because(group[ended]), false
	case goes:
		return true, "", false
	case present < j.Spec.Group.Count || view.lead == nil:
		if !now.Before(last.Add(incompleteFor)) {
			never = fmt.Sprintf("%d of the %d jobs of its group were made", present, j.Spec.Group.Count)
		}
		return false, never, true
	}
	return false, "", waits
}

// groupOf are the jobs of a group that the informer has heard of.
func (x *jobIndex) groupOf(name string) (jobs []*Job) {
	if x == nil {
		return nil
	}
	objects, _ := x.ByIndex(byGroup, name) // the index is there
	for _, object := range objects {
		if job := asJob(object); job != nil {
			jobs = append(jobs, job)
		}
	}
	return jobs
}

// concerned are the jobs that a change of a job concerns: of a group the one that leads, or, where that has decided, all others.
func (x *jobIndex) concerned(object any) (names []string) {
	job := asJob(object)
	switch {
	case job == nil || job.Spec.Group == nil:
		return nil
	case !job.leads():
		return []string{job.Spec.Group.Name}
	case job.Ended() || job.is(GroupReserved):
		return x.keys(byGroup, job.Name)
	}
	return nil
}

// asJob is a job that an informer has, or nil: one that is gone, and what cannot be read.
func asJob(object any) *Job {
	known, ok := pods.LastKnown(object).(*unstructured.Unstructured)
	if !ok {
		return nil
	}
	job, err := read(known)
	if err != nil {
		return nil
	}
	return job
}
