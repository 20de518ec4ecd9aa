package controllers

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	policy "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/drain"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/framework"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/pods"
)

// yieldAfter is how long no pod may have left until a drain does not count any more, of those that drain at a time:
// a pod that may never leave, or never ends, must not hold up the drains of other nodes.
const yieldAfter = 10 * time.Minute

// A draining is the drain of one node.
type draining struct {
	node    string
	uid     types.UID
	problem *problem
	status  drain.Status
	written string // on the node, as far as it is known
	failed  bool   // it could not be written, and is to be
	refused map[types.UID]*refusal
	begun   map[types.UID]bool // pods whose eviction has begun
	told    told
}

// A refusal is of a pod about which the API server was asked, or what else may answer otherwise without an event.
type refusal struct {
	why   string
	again time.Time     // when it is asked again, unless a budget allows more
	wait  time.Duration // until then
	// budget says that a disruption budget was the reason. Once that is gone the pod is asked about at once.
	budget bool
}

// compare orders drains by when they were opened, and those of one second by node.
func (d *draining) compare(other *draining) int {
	return cmp.Or(d.status.Since.Compare(other.status.Since.Time), cmp.Compare(d.node, other.node))
}

// now is the time as it is written on nodes.
func (n *nodeProblem) now() metav1.Time {
	return metav1.NewTime(n.handle.Clock().Now().Truncate(time.Second))
}

// follow is the drain of a node that has a problem, or nil where the node is gone. One that another process has opened
// goes on as the node says.
func (n *nodeProblem) follow(name string, p *problem) *draining {
	node, err := n.nodes.Get(name)
	if err != nil {
		return nil
	}
	d := n.drains[name]
	if d == nil || d.uid != node.UID {
		d = &draining{node: name, uid: node.UID, refused: map[types.UID]*refusal{}, begun: map[types.UID]bool{}}
		if record, _ := n.mine(node); record != nil {
			d.status, d.written = *record, node.Annotations[drain.Annotation]
			d.told = told{state: record.State, note: record.Kept(), at: record.Changed.Time}
		}
		d.status.Since = metav1.NewTime(p.opened.Truncate(time.Second))
		n.drains[name] = d
	}
	d.problem = p
	return d
}

// A turn is one look at the cluster.
type turn struct {
	*nodeProblem
	snapshot *framework.Snapshot
	now      metav1.Time
	kept     *kept
	active   []string  // nodes that count, of those that drain at a time
	yields   time.Time // when the first of these does not count any more, if no pod leaves
	usage    map[*policy.PodDisruptionBudget]int
	gangs    map[string][]*v1.Pod
	minimum  map[string]int // of groups of gangs, as far as it was asked
	flying   map[types.UID]bool
	standing map[string][]*v1.Pod // pods in flight, by node
}

// An outcome is what became of a pod in a turn.
type outcome struct {
	why     string
	leaves  bool
	limited bool
}

// drain goes on with one drain.
func (t *turn) drain(ctx context.Context, d *draining) {
	all := t.toLeave(d)
	next := drain.Status{State: drain.Draining, Since: d.status.Since, By: d.problem.by, Profile: t.handle.ProfileName(), Cordoned: d.status.Cordoned}
	if d.status.State == "" { // the node is closed before the first pod leaves
		opening := next
		opening.Left, opening.Least, opening.Changed, opening.Moved = len(all), len(all), t.now, t.now
		t.say(ctx, t.kept, d, opening)
		next.Cordoned = d.status.Cordoned
	}
	var outcomes map[*v1.Pod]outcome
	if most := t.args.MaxNodes; most > 0 && len(t.active) >= most && len(all) > 0 {
		next.State, next.WaitsFor = drain.Waiting, t.active[0]
	} else {
		outcomes = t.evictAll(ctx, d, all)
		next.State = stateOf(all, outcomes)
	}
	next.Changed = d.status.Changed
	if next.State != d.status.State {
		next.Changed = t.now
	}
	for _, leaves := range []bool{false, true} { // those that need a look first
		for _, pod := range all {
			if outcomes[pod].leaves == leaves {
				next.Stay(t.now, pod, cmp.Or(outcomes[pod].why, "it waits for node "+next.WaitsFor), &d.status)
			}
		}
	}
	next.Count(t.now, &d.status)
	gone := func(uid types.UID) bool {
		return !slices.ContainsFunc(all, func(pod *v1.Pod) bool { return pod.UID == uid })
	}
	maps.DeleteFunc(d.refused, func(uid types.UID, _ *refusal) bool { return gone(uid) })
	maps.DeleteFunc(d.begun, func(uid types.UID, _ bool) bool { return gone(uid) })
	t.say(ctx, t.kept, d, next)
	t.hold(d)
}

// hold has a drain count, of those that drain at a time.
func (t *turn) hold(d *draining) {
	yields := d.status.Moved.Add(yieldAfter)
	switch d.status.State {
	case drain.Drained:
	case drain.Waiting: // until the first that counts does not any more, if no pod leaves
		t.kept.until(t.yields)
	case drain.Draining, drain.Blocked:
		if !t.now.Time.Before(yields) {
			return
		}
		if t.yields.IsZero() || yields.Before(t.yields) {
			t.yields = yields
		}
		t.active = append(t.active, d.node)
	}
}

// stateOf is how far a drain is whose turn it is.
func stateOf(all []*v1.Pod, outcomes map[*v1.Pod]outcome) drain.State {
	if len(all) == 0 {
		return drain.Drained
	}
	for _, o := range outcomes {
		if o.leaves || o.limited {
			return drain.Draining
		}
	}
	return drain.Blocked
}

// toLeave are the pods that are to leave a node, in the order of the profile: all but those that have ended, those that
// may stay in spite of the problem, and those that belong to the node.
func (t *turn) toLeave(d *draining) []*v1.Pod {
	if t.standing == nil {
		t.standing, t.flying = map[string][]*v1.Pod{}, map[types.UID]bool{}
		for _, pod := range t.snapshot.InFlight() {
			t.standing[pod.Spec.NodeName] = append(t.standing[pod.Spec.NodeName], pod)
			t.flying[pod.UID] = true
		}
	}
	all := slices.DeleteFunc(append(t.snapshot.PodsOn(d.node), t.standing[d.node]...), func(pod *v1.Pod) bool {
		return pods.IsTerminal(pod) || ofNode(pod) || d.problem.stays(pod)
	})
	slices.SortFunc(all, func(a, b *v1.Pod) int {
		if t.handle.Less(a, b) {
			return -1
		}
		return 1
	})
	return all
}

// ofNode says whether a pod belongs to its node: the kubelet runs it from a file, or it is of a daemonset.
func ofNode(pod *v1.Pod) bool {
	w, _ := framework.WorkloadOf(pod)
	return pods.IsOfKubelet(pod) || w.Kind == "DaemonSet"
}

// evictAll has pods evicted, those of a gang together, and says what became of each.
func (t *turn) evictAll(ctx context.Context, d *draining, all []*v1.Pod) map[*v1.Pod]outcome {
	outcomes := make(map[*v1.Pod]outcome, len(all))
	var stay []*v1.Pod
	for _, pod := range all {
		if why := t.leaving(pod); why != "" {
			outcomes[pod] = outcome{why: why, leaves: true}
		} else {
			t.failed(d, pod)
			stay = append(stay, pod)
		}
	}
	members := map[string][]*v1.Pod{}
	gangs := make([]string, len(stay))
	for i, pod := range stay {
		gangs[i] = gangOf(pod)
		members[gangs[i]] = append(members[gangs[i]], pod)
	}
	for i, pod := range stay {
		switch _, known := outcomes[pod]; {
		case known: // with its gang
		case gangs[i] == "":
			outcomes[pod] = t.evict(ctx, d, pod)
		default:
			t.evictGang(ctx, d, gangs[i], members[gangs[i]], outcomes)
		}
	}
	return outcomes
}

// leaving is how a pod leaves whose eviction has begun; empty of another one.
func (t *turn) leaving(pod *v1.Pod) string {
	switch {
	case pod.DeletionTimestamp != nil:
		return "it is ending"
	case !t.flying[pod.UID]:
		return ""
	}
	if r, ok := t.handle.Evictor().(framework.ProgressReporter); ok {
		return cmp.Or(r.Progress(pod), evictionBegun)
	}
	return evictionBegun
}

// failed notes why the eviction of a pod has ended that had begun, so that it is tried again after a while.
func (t *turn) failed(d *draining, pod *v1.Pod) {
	r, ok := t.handle.Evictor().(framework.ProgressReporter)
	if !d.begun[pod.UID] || !ok {
		return
	}
	delete(d.begun, pod.UID)
	if why := r.Failure(pod); why != "" {
		t.refuse(d, pod, why)
	}
}

const evictionBegun = "its eviction has begun"

// evict has one pod evicted, if nothing keeps it.
func (t *turn) evict(ctx context.Context, d *draining, pod *v1.Pod) outcome {
	if o := t.keeps(d, pod); o.why != "" {
		return o
	}
	return t.outcomeOf(d, pod, t.handle.Evictor().EvictPod(ctx, pod, framework.EvictOptions{Reason: d.problem.reason}))
}

// keeps is what keeps a pod, of what is known without asking for its eviction.
func (t *turn) keeps(d *draining, pod *v1.Pod) outcome {
	if err := t.handle.Evictor().Why(pod); err != nil {
		return outcome{why: err.Error()}
	}
	if limit := t.handle.Evictor().Full(pod); limit != nil && !t.handle.DryRun() { // of which a report is to say so
		t.kept.limited = append(t.kept.limited, pod)
		return outcome{why: limit.Error(), limited: true}
	}
	if t.exhausted(pod) { // of a hundred pods that a budget keeps one is asked about
		return outcome{why: t.refuse(d, pod, t.budgetReason(pod))}
	}
	if r := d.refused[pod.UID]; r != nil && t.handle.Clock().Now().Before(r.again) && !t.allows(pod, r) {
		t.kept.until(r.again) // what has happened may have been for this pod
		return outcome{why: r.why}
	}
	return outcome{}
}

// outcomeOf reads what EvictPod says.
func (t *turn) outcomeOf(d *draining, pod *v1.Pod, err error) outcome {
	limit, refused := new(framework.LimitError), new(framework.RefusedError)
	switch {
	case err == nil:
		t.kept.evicted = true
		t.spend(pod)
		d.begun[pod.UID] = true
		return outcome{why: evictionBegun, leaves: true}
	case errors.As(err, &limit):
		t.kept.limited = append(t.kept.limited, pod)
		return outcome{why: limit.Error(), limited: true}
	}
	why := err.Error()
	if t.byBudget(pod, err) {
		why = t.budgetReason(pod)
		t.exhaust(pod)
	}
	if asked := !errors.As(err, &refused) || refused.Err != nil; asked {
		t.refuse(d, pod, why)
	}
	return outcome{why: why}
}

// refuse notes that a pod is kept for a while, which doubles.
func (t *turn) refuse(d *draining, pod *v1.Pod, why string) string {
	r := &refusal{why: why, wait: t.args.RetryPeriod.Duration, budget: t.exhausted(pod)}
	if before := d.refused[pod.UID]; before != nil {
		r.wait = max(before.wait, min(2*before.wait, retryMax))
	}
	r.again = t.handle.Clock().Now().Add(r.wait)
	d.refused[pod.UID] = r
	return why
}
