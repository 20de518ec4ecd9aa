package oracle

import (
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/framework"
	ft "github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/frameworktest"
)

// small is a world of ready pods and a profile without limits.
func small(core bool, p profile, nodes []*v1.Node, pods ...*v1.Pod) world {
	p.Name = "p"
	for _, p := range pods {
		p.Status.Conditions = []v1.PodCondition{{Type: v1.PodReady, Status: v1.ConditionTrue}}
		p.Spec.SchedulerName = "narwhal"
	}
	return world{
		core: core, s: settings{Cycle: unlimited, InFlight: unlimited, CoolDown: -1, Profiles: []profile{p}},
		o: framework.Objects{Nodes: nodes, Pods: pods, Namespaces: namespaces()},
	}
}

func older(seconds int) plugin {
	return plugin{Name: lifeTime, Args: args{MaxPodLifeTimeSeconds: &seconds}}
}

var restarted = plugin{Name: restarts, Args: args{PodRestartThreshold: 5}}

func empty(names ...string) (of []*v1.Node) {
	for _, n := range names {
		of = append(of, ft.Node(n, "", ""))
	}
	return of
}

// begin starts a run that must start.
func (e *engine) begin(w *world, dry bool) *run {
	r, err := e.start(w, dry)
	assert.NilError(e.t, err)
	return r
}

// next runs a cycle that must succeed.
func (r *run) next() *descheduler.Report {
	report, _, err := r.cycle()
	assert.NilError(r.t, err)
	return report
}

// eachLanding runs a test with the core and without it.
func eachLanding(t *testing.T, test func(t *testing.T, e *engine, core bool)) {
	t.Helper()
	t.Run("core", func(t *testing.T) { test(t, newEngine(t), true) })
	t.Run("NodeFit", func(t *testing.T) { test(t, newEngine(t), false) })
}

// TestRoomForNodeFit has a pod with too many restarts that nodeFit keeps, since the other node is
// full. When the plugin after it has moved a pod away, there is room, and the pod is asked about
// again in the same cycle.
func TestRoomForNodeFit(t *testing.T) {
	eachLanding(t, func(t *testing.T, e *engine, core bool) {
		m, n := ft.Node("m", "pods=1", ""), ft.Node("n", "", "")
		ft.Taint(m, "k", "", v1.TaintEffectNoSchedule)
		w := small(core, profile{Evictor: evictorArgs{NodeFit: true}, Plugins: []plugin{restarted, {Name: taints}}}, []*v1.Node{m, n},
			ft.Pod("a/d", "m", "cpu=1", ft.Owned("ReplicaSet/d")),
			ft.Pod("a/r", "n", "cpu=1", ft.Owned("ReplicaSet/r"), ft.Restarts(9), ft.Tolerates("k")))
		movesBoth(t, e, w)
	})
}

// TestRoomForOnlyPlace is the same without nodeFit: the node of the pod is cordoned, so that there
// is no place at all.
func TestRoomForOnlyPlace(t *testing.T) {
	eachLanding(t, func(t *testing.T, e *engine, core bool) {
		m, n, o := ft.Node("m", "pods=1", ""), ft.Node("n", "", ""), ft.Node("o", "", "")
		ft.Taint(m, "k", "", v1.TaintEffectNoSchedule)
		ft.Taint(o, "l", "", v1.TaintEffectNoSchedule)
		n.Spec.Unschedulable = true
		w := small(core, profile{Plugins: []plugin{restarted, {Name: taints}}}, []*v1.Node{m, n, o},
			ft.Pod("a/d", "m", "cpu=1", ft.Owned("ReplicaSet/d"), ft.Tolerates("l")),
			ft.Pod("a/r", "n", "cpu=1", ft.Owned("ReplicaSet/r"), ft.Restarts(9), ft.Tolerates("k")))
		movesBoth(t, e, w)
	})
}

func movesBoth(t *testing.T, e *engine, w world) {
	t.Helper()
	run := e.begin(&w, false)
	r := run.next()
	assert.Equal(t, len(r.Evictions), 2, "%q", evictions(r))
	run.clock.Step(time.Minute)
	settle(&w, r, run.clock.Now())
	assert.Equal(t, len(run.next().Evictions), 0)
}

// TestStaleBudget has a budget whose status is of an older spec. It allows nothing: the eviction
// API answers 429, and a dry run says so too.
func TestStaleBudget(t *testing.T) {
	w := small(true, profile{Plugins: []plugin{restarted}}, empty("m", "n"),
		ft.Pod("a/r1", "n", "", ft.Owned("ReplicaSet/r"), ft.Labelled("app=r"), ft.Restarts(9)))
	w.o.Budgets = []*policyv1.PodDisruptionBudget{{
		ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "b", Generation: 2},
		Spec:       policyv1.PodDisruptionBudgetSpec{Selector: selectApp("r")},
		Status:     policyv1.PodDisruptionBudgetStatus{ObservedGeneration: 1, DisruptionsAllowed: 1, CurrentHealthy: 1, ExpectedPods: 1},
	}}
	e := newEngine(t)
	for _, dry := range []bool{true, false} {
		x := w.copy()
		r := e.begin(&x, dry).next()
		assert.Equal(t, len(r.Evictions), 0)
		assert.DeepEqual(t, r.Kept, map[descheduler.Outcome]int{descheduler.Refused: 1})
	}
}

// TestEndingPodHoldsItsRoom has a pod that was evicted in the cycle before and has not ended yet.
// A scheduler places no other pod in its room, so that no report may name its node.
func TestEndingPodHoldsItsRoom(t *testing.T) {
	eachLanding(t, func(t *testing.T, e *engine, core bool) {
		for _, gap := range []time.Duration{time.Minute, 20 * time.Minute} {
			w := small(core, profile{Evictor: evictorArgs{NodeFit: true}, Plugins: []plugin{older(3600)}},
				[]*v1.Node{ft.Node("m", "pods=1", ""), ft.Node("n", "", "")},
				ft.Pod("a/p", "m", "cpu=1", ft.Owned("ReplicaSet/p"), ft.Aged(2*time.Hour)),
				ft.Pod("a/q", "n", "cpu=1", ft.Owned("ReplicaSet/q"), ft.Aged(time.Hour-gap/2)))
			run := e.begin(&w, false)
			assert.Equal(t, len(run.next().Evictions), 1)
			run.clock.Step(gap)
			p := w.o.Pods[0]
			p.DeletionTimestamp, p.Finalizers = new(metav1.NewTime(run.clock.Now().Add(-5*time.Second))), []string{"x"}
			w.o.Pods = append(w.o.Pods, anew(p, "n", run.clock.Now().Add(-4*time.Second)))
			r := run.next()
			assert.Equal(t, len(r.Evictions), 0, "after %s: %q", gap, evictions(r))
		}
	})
}

// TestCoolDownDoubles has a replacement that comes back to its node each time.
func TestCoolDownDoubles(t *testing.T) {
	eachLanding(t, func(t *testing.T, e *engine, core bool) {
		w := small(core, profile{Plugins: []plugin{{Name: lifeTime, Args: args{States: []string{"Running"}}}}}, empty("m", "n"),
			ft.Pod("a/p", "m", "cpu=1", ft.Owned("ReplicaSet/p")))
		w.s.CoolDown = 10 * time.Minute
		run := e.begin(&w, false)
		var at []time.Duration
		for range 400 {
			if r := run.next(); len(r.Evictions) > 0 {
				at = append(at, run.clock.Now().Sub(start))
				w.o.Pods = []*v1.Pod{anew(w.o.Pods[0], "m", run.clock.Now().Add(time.Second))}
			}
			run.clock.Step(time.Minute)
		}
		for i := range at[1:] {
			want, got := min(2*time.Hour, 10*time.Minute<<i), at[i+1]-at[i]
			assert.Assert(t, got >= want && got <= want+2*time.Minute, "eviction %d came %s after that before, not %s", i+1, got, want)
		}
	})
}

// TestBestNode has a pod with preferences, and without the core: it is moved to the best node and
// not to the first better one, so that the next cycle has nothing to do.
func TestBestNode(t *testing.T) {
	w := small(false, profile{Plugins: []plugin{{Name: affinity, Args: args{NodeAffinityType: []string{preferredAffinity}}}}},
		[]*v1.Node{ft.Node("m", "", ""), ft.Node("n", "", "disk=ssd"), ft.Node("o", "", "disk=ssd zone=a")},
		ft.Pod("a/p", "m", "cpu=1", ft.Owned("ReplicaSet/p"), ft.Prefers("disk", "ssd", 7), ft.Prefers("zone", "a", 1)))
	assert.Equal(t, len(newEngine(t).settles(w, 2)), 0)
}

// TestKeptPlace has one place, which the replacement of an evicted pod needs. It is given to
// another pod when a pod of the workload has been made elsewhere, or five minutes after the
// evicted pod has gone.
func TestKeptPlace(t *testing.T) {
	eachLanding(t, func(t *testing.T, e *engine, core bool) {
		for _, made := range []bool{false, true} {
			w := small(core, profile{Plugins: []plugin{older(60)}}, []*v1.Node{ft.Node("m", "", ""), ft.Node("n", "pods=1", ""), ft.Node("o", "", "")},
				ft.Pod("a/p", "m", "cpu=1", ft.Owned("ReplicaSet/p"), ft.Labelled("app=p"), ft.Aged(2*time.Hour)),
				ft.Pod("a/q", "m", "cpu=1", ft.Owned("ReplicaSet/q"), ft.Aged(time.Hour)))
			w.o.Nodes[0].Spec.Unschedulable, w.o.Nodes[2].Spec.Unschedulable = true, true
			w.s.Cycle.Total = 1
			run := e.begin(&w, false)
			first := evictions(run.next())
			assert.Assert(t, len(first) == 1 && strings.Contains(first[0], "a/p m->n"), "%q", first)
			p := w.o.Pods[0]
			w.o.Pods = w.o.Pods[1:]
			if made {
				w.o.Pods = append(w.o.Pods, anew(p, "o", run.clock.Now().Add(2*time.Second)))
			}
			passed := time.Duration(0)
			for len(w.o.Pods) > 0 && passed < 10*time.Minute {
				run.clock.Step(30 * time.Second)
				passed += 30 * time.Second
				if len(run.next().Evictions) > 0 {
					break
				}
			}
			if made {
				assert.Equal(t, passed, 30*time.Second)
			} else {
				assert.Assert(t, passed >= 5*time.Minute && passed <= 7*time.Minute, "%s", passed)
			}
		}
	})
}

// TestReasonOfAge has policies that name an age, with and without states. The reason speaks of
// states only if the policy does.
func TestReasonOfAge(t *testing.T) {
	e := newEngine(t)
	for _, states := range [][]string{nil, {"Running"}} {
		pl := older(60)
		pl.Args.States = states
		w := small(false, profile{Plugins: []plugin{pl}}, empty("m", "n"), ft.Pod("a/p", "m", "cpu=1", ft.Owned("ReplicaSet/p")))
		r := e.begin(&w, true).next()
		assert.Equal(t, strings.Contains(r.Evictions[0].Reason, "state that the policy names"), len(states) > 0, r.Evictions[0].Reason)
	}
}

// TestDryCountsAlike has a pod that its budget keeps, and then a limit too. A dry run evicts and
// counts the same as a cycle does; the words of a refusal differ, since the API server has its own.
func TestDryCountsAlike(t *testing.T) {
	pl := plugin{Name: low, Args: args{Thresholds: map[string]int{"cpu": 10}, TargetThresholds: map[string]int{"cpu": 20}}}
	w := small(true, profile{NoEvictor: true, Plugins: []plugin{pl}},
		[]*v1.Node{ft.Node("m", "", ""), ft.Node("n", "cpu=16", ""), ft.Node("o", "cpu=16", "")},
		ft.Pod("a/kept", "m", "cpu=1", ft.Labelled("app=k")), ft.Pod("a/evicted", "m", "", ft.Owned("ReplicaSet/r"), ft.Priority(5000)))
	w.s.InFlight.Node = 1
	w.o.Budgets = []*policyv1.PodDisruptionBudget{{
		ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "b"}, Spec: policyv1.PodDisruptionBudgetSpec{Selector: selectApp("k")},
		Status: policyv1.PodDisruptionBudgetStatus{CurrentHealthy: 1, DesiredHealthy: 1, ExpectedPods: 1},
	}}
	e := newEngine(t)
	y := w.copy()
	dry, done := e.begin(&w, true).next(), e.begin(&y, false).next()
	assert.DeepEqual(t, evictions(dry), evictions(done))
	assert.DeepEqual(t, dry.Kept, done.Kept)
	assert.Equal(t, done.Kept[descheduler.Refused], 1)
}
