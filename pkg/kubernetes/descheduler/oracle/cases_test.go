package oracle

import (
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/framework"
	ft "github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/frameworktest"
)

var open = settings{Total: -1, PerNode: -1, PerNS: -1, PerWL: -1, FTotal: -1, FNode: -1, FNS: -1, FWL: -1, CoolDown: -1}

func ready(p *v1.Pod) {
	p.Status.Conditions = []v1.PodCondition{{Type: v1.PodReady, Status: v1.ConditionTrue}}
	p.Spec.SchedulerName = "narwhal"
}

func small(core bool, profiles []profile, nodes []*v1.Node, pods ...*v1.Pod) world {
	s := open
	s.Profiles = profiles
	for _, p := range pods {
		ready(p)
	}
	return world{core: core, s: s, o: framework.Objects{Nodes: nodes, Pods: pods, Namespaces: namespaces()}}
}

// Pods on a full node keep another one, with too many restarts, from leaving its node. When they
// have been moved away by the plugin after it, there is room. "A plugin at deschedule that found
// no place for a pod runs again where evictions after it may have made one [...], so that a second
// cycle has nothing left to do."
func TestRoomForNodeFit(t *testing.T) {
	e := newEngine(t)
	for _, core := range []bool{false, true} {
		for _, nodeFit := range []bool{true, false} {
			pr := []profile{{Name: "p", Evictor: evictorArgs{NodeFit: nodeFit}, Plugins: []plugin{{Name: restarts, Args: args{PodRestartThreshold: 5}}, {Name: taints}}}}
			m, n := ft.Node("m", "pods=1", ""), ft.Node("n", "", "")
			ft.Taint(m, "k", "", v1.TaintEffectNoSchedule)
			w := small(core, pr, []*v1.Node{m, n},
				ft.Pod("a/d", "m", "cpu=1", ft.Owned("ReplicaSet/d")),
				ft.Pod("a/r", "n", "cpu=1", ft.Owned("ReplicaSet/r"), ft.Restarts(9), ft.Tolerates("k")))
			if !nodeFit { // it has no place at all: its own node is cordoned, and a third one is there for the other pod
				n.Spec.Unschedulable = true
				o := ft.Node("o", "", "")
				ft.Taint(o, "l", "", v1.TaintEffectNoSchedule)
				ft.Tolerates("l")(w.o.Pods[0])
				w.o.Nodes = append(w.o.Nodes, o)
			}
			x := w.copy()
			pl, err := e.play(&x, false)
			assert.NilError(t, err)
			r, _, err := pl.cycle()
			assert.NilError(t, err)
			serial := 0
			pl.clock.Step(time.Minute)
			settle(&x, r, pl.clock.Now(), &serial)
			next, _, err := pl.cycle()
			assert.NilError(t, err)
			if len(r.Evictions) != 2 || len(next.Evictions) > 0 {
				t.Errorf("core %v, nodeFit %v: first %q, next %q", core, nodeFit, moves(r), moves(next))
			}
		}
	}
}

// A budget whose status is of an older spec allows nothing: the eviction API answers 429.
// "--dry-run decides as a real cycle does, with all filters, limits and disruption budgets".
func TestStaleBudget(t *testing.T) {
	e := newEngine(t)
	pr := []profile{{Name: "p", Plugins: []plugin{{Name: restarts, Args: args{PodRestartThreshold: 5}}}}}
	w := small(true, pr, []*v1.Node{ft.Node("m", "", ""), ft.Node("n", "", "")}, ft.Pod("a/r1", "n", "", ft.Owned("ReplicaSet/r"), ft.Labelled("app=r"), ft.Restarts(9)))
	w.o.Budgets = []*policyv1.PodDisruptionBudget{{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "b", Generation: 2}, Spec: policyv1.PodDisruptionBudgetSpec{Selector: selectApp("r")},
		Status: policyv1.PodDisruptionBudgetStatus{ObservedGeneration: 1, DisruptionsAllowed: 1, CurrentHealthy: 1, ExpectedPods: 1}}}
	_, dry := e.one(w, true)
	_, real := e.one(w, false)
	assert.Equal(t, strings.Count(dry, `"pod"`), strings.Count(real, `"pod"`))
}

// A pod that this descheduler evicted in the cycle before and that has not ended yet holds its
// room, as any other that is ending does: a scheduler does not place another one there, so that
// no report may name that node. One that has just been started says so.
func TestEndingPodHoldsItsRoom(t *testing.T) {
	e := newEngine(t)
	for _, core := range []bool{false, true} {
		for _, gap := range []time.Duration{time.Minute, 20 * time.Minute} {
			pr := []profile{{Name: "p", Evictor: evictorArgs{NodeFit: true}, Plugins: []plugin{{Name: lifeTime, Args: args{MaxPodLifeTimeSeconds: ptr(3600)}}}}}
			w := small(core, pr, []*v1.Node{ft.Node("m", "pods=1", ""), ft.Node("n", "", "")},
				ft.Pod("a/p", "m", "cpu=1", ft.Owned("ReplicaSet/p"), ft.Labelled("app=p"), ft.Aged(2*time.Hour)),
				ft.Pod("a/q", "n", "cpu=1", ft.Owned("ReplicaSet/q"), ft.Aged(time.Hour-gap/2)))
			pl, err := e.play(&w, false)
			assert.NilError(t, err)
			r, _, err := pl.cycle()
			assert.NilError(t, err)
			first := moves(r)
			pl.clock.Step(gap)
			at := metav1.NewTime(pl.clock.Now().Add(-5 * time.Second))
			w.o.Pods[0].DeletionTimestamp, w.o.Pods[0].Finalizers = &at, []string{"x"}
			w.o.Pods = append(w.o.Pods, anew(w.o.Pods[0], "n", pl.clock.Now().Add(-4*time.Second), 1))
			r, _, err = pl.cycle()
			assert.NilError(t, err)
			again, err := e.play(&w, false)
			assert.NilError(t, err)
			again.clock.Step(gap)
			fresh, _, err := again.cycle()
			assert.NilError(t, err)
			t.Log("core", core, gap, first, "then", moves(r), "fresh", moves(fresh), fresh.Kept)
			if len(r.Evictions) > 0 {
				t.Errorf("core %v, after %s: %q, while a/p has not ended; a fresh one: %q", core, gap, moves(r), moves(fresh))
			}
		}
	}
}

// "where the replacement of an evicted pod came back to the same node, the workload is not evicted
// from there for limits.coolDown.initial, the next time for twice as long, up to limits.coolDown.max"
func TestCoolDownDoubles(t *testing.T) {
	e := newEngine(t)
	for _, core := range []bool{false, true} {
		pr := []profile{{Name: "p", Plugins: []plugin{{Name: lifeTime, Args: args{States: []string{"Running"}}}}}}
		w := small(core, pr, []*v1.Node{ft.Node("m", "", ""), ft.Node("n", "", "")}, ft.Pod("a/p", "m", "cpu=1", ft.Owned("ReplicaSet/p"), ft.Labelled("app=p")))
		w.s.CoolDown = 10 * time.Minute
		pl, err := e.play(&w, false)
		assert.NilError(t, err)
		var at []time.Duration
		for i := range 400 {
			r, _, err := pl.cycle()
			assert.NilError(t, err)
			if len(r.Evictions) > 0 {
				at = append(at, pl.clock.Now().Sub(start))
				pl.clock.Step(time.Second)
				w.o.Pods = []*v1.Pod{anew(w.o.Pods[0], "m", pl.clock.Now(), i)}
				pl.clock.Step(59 * time.Second)
				continue
			}
			pl.clock.Step(time.Minute)
		}
		t.Log(core, at)
		for i := range at[1:] {
			if want := min(2*time.Hour, 10*time.Minute<<i); at[i+1]-at[i] < want || at[i+1]-at[i] > want+2*time.Minute {
				t.Errorf("eviction %d came %s after that before, not %s", i+1, at[i+1]-at[i], want)
			}
		}
	}
}

// Without the core, preferred affinity is followed to the first better node and not to the best,
// so that the next cycle moves the pod again although it runs where the report said.
func TestBestNode(t *testing.T) {
	e := newEngine(t)
	pr := []profile{{Name: "p", Plugins: []plugin{{Name: affinity, Args: args{NodeAffinityType: []string{"preferredDuringSchedulingIgnoredDuringExecution"}}}}}}
	w := small(false, pr, []*v1.Node{ft.Node("m", "", ""), ft.Node("n", "", "disk=ssd"), ft.Node("o", "", "disk=ssd zone=a")},
		ft.Pod("a/p", "m", "cpu=1", ft.Owned("ReplicaSet/p"), ft.Prefers("disk", "ssd", 7), ft.Prefers("zone", "a", 1)))
	for _, f := range e.quiet(w, 0, 2) {
		t.Error(f)
	}
}

// A pod that tolerates node.kubernetes.io/unschedulable on a cordoned node, and no other place.
func TestCordonTolerated(t *testing.T) {
	e := newEngine(t)
	for _, scheduler := range []string{"narwhal", "default-scheduler"} {
		pr := []profile{{Name: "p", Plugins: []plugin{{Name: lifeTime, Args: args{MaxPodLifeTimeSeconds: ptr(60)}}}}}
		w := small(true, pr, []*v1.Node{ft.Node("m", "", ""), ft.Node("n", "pods=0", "")}, ft.Pod("a/p", "m", "cpu=1", ft.Owned("ReplicaSet/p"), ft.Tolerates("node.kubernetes.io/unschedulable")))
		w.o.Nodes[0].Spec.Unschedulable = true
		w.o.Pods[0].Spec.SchedulerName = scheduler
		t.Log(scheduler, e.evictions(w))
	}
}

// "The place that an eviction counts on is kept from the decision on, over cycles and for all
// controllers, so that it is not given twice: until a pod of the workload has been made since [...];
// for five minutes at most after the pod has gone."
func TestKeptPlace(t *testing.T) {
	e := newEngine(t)
	for _, core := range []bool{false, true} {
		for _, made := range []bool{false, true} {
			pr := []profile{{Name: "p", Plugins: []plugin{{Name: lifeTime, Args: args{MaxPodLifeTimeSeconds: ptr(60)}}}}}
			w := small(core, pr, []*v1.Node{ft.Node("m", "", ""), ft.Node("n", "pods=1", ""), ft.Node("o", "", "")},
				ft.Pod("a/p", "m", "cpu=1", ft.Owned("ReplicaSet/p"), ft.Labelled("app=p"), ft.Aged(2*time.Hour)),
				ft.Pod("a/q", "m", "cpu=1", ft.Owned("ReplicaSet/q"), ft.Aged(time.Hour)))
			w.o.Nodes[0].Spec.Unschedulable, w.o.Nodes[2].Spec.Unschedulable = true, true
			w.s.Total = 1
			pl, err := e.play(&w, false)
			assert.NilError(t, err)
			r, _, err := pl.cycle()
			assert.NilError(t, err)
			assert.Equal(t, len(r.Evictions), 1)
			assert.Equal(t, r.Evictions[0].Pod+r.Evictions[0].To, "a/pn")
			p := w.o.Pods[0]
			w.o.Pods = w.o.Pods[1:]
			if made {
				w.o.Pods = append(w.o.Pods, anew(p, "o", pl.clock.Now().Add(2*time.Second), 1))
			}
			at := time.Duration(0)
			for range 20 {
				pl.clock.Step(30 * time.Second)
				r, _, err = pl.cycle()
				assert.NilError(t, err)
				if len(r.Evictions) > 0 {
					at = pl.clock.Now().Sub(start)
					break
				}
			}
			t.Log(core, made, at, moves(r))
			if made && at != 30*time.Second || !made && (at < 5*time.Minute || at > 7*time.Minute) {
				t.Errorf("core %v, made %v: the place was given again after %s", core, made, at)
			}
		}
	}
}

// A report says why: a policy that names an age only has no state that the pod could be in.
func TestReasonOfAge(t *testing.T) {
	e := newEngine(t)
	for _, states := range [][]string{nil, {"Running"}} {
		w := small(false, []profile{{Name: "p", Plugins: []plugin{{Name: lifeTime, Args: args{MaxPodLifeTimeSeconds: ptr(60), States: states}}}}},
			[]*v1.Node{ft.Node("m", "", ""), ft.Node("n", "", "")}, ft.Pod("a/p", "m", "cpu=1", ft.Owned("ReplicaSet/p")))
		pl, err := e.play(&w, true)
		assert.NilError(t, err)
		r, _, err := pl.cycle()
		assert.NilError(t, err)
		if told := strings.Contains(r.Evictions[0].Reason, "state that the policy names"); told != (len(states) > 0) {
			t.Errorf("states %v: %s", states, r.Evictions[0].Reason)
		}
	}
}

// A pod that its budget keeps, and then a limit too: "--dry-run decides as a real cycle does".
// The evictions are the same, what the report counts of the pod that stays should be, too.
func TestDryCountsAlike(t *testing.T) {
	e := newEngine(t)
	pr := []profile{{Name: "p", NoEvictor: true, Plugins: []plugin{{Name: low, Args: args{Thresholds: map[string]int{"cpu": 10}, TargetThresholds: map[string]int{"cpu": 20}}}}}}
	w := small(true, pr, []*v1.Node{ft.Node("m", "", ""), ft.Node("n", "cpu=16", ""), ft.Node("o", "cpu=16", "")},
		ft.Pod("a/kept", "m", "cpu=1", ft.Labelled("app=k")), ft.Pod("a/goes", "m", "", ft.Owned("ReplicaSet/r"), ft.Priority(5000)))
	w.s.FNode = 1
	w.o.Budgets = []*policyv1.PodDisruptionBudget{{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "b"}, Spec: policyv1.PodDisruptionBudgetSpec{Selector: selectApp("k")}, Status: policyv1.PodDisruptionBudgetStatus{CurrentHealthy: 1, DesiredHealthy: 1, ExpectedPods: 1}}}
	_, dry := e.one(w, true)
	_, real := e.one(w, false)
	if strings.Replace(dry, `"dryRun": true`, `"dryRun": false`, 1) != real {
		t.Errorf("%s\n%s", dry, real)
	}
}
