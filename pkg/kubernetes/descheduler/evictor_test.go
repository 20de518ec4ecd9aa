package descheduler

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/framework"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/policy"
)

// evictOnce is a plugin that wants one pod evicted and notes the answer.
func evictOnce(name string, answer *error) func(context.Context, framework.Handle, []*v1.Node) error {
	return func(ctx context.Context, h framework.Handle, _ []*v1.Node) error {
		for _, p := range h.Snapshot().Pods() {
			if p.Name == name {
				*answer = h.Evictor().EvictPod(ctx, p, framework.EvictOptions{Reason: "it goes"})
			}
		}
		return nil
	}
}

// full has no room but that of a pod itself.
func full(w *world) {
	w.withRooms(1)
	w.pods = append(w.pods, newPod("team", "b", "b", "web"), newPod("team", "c", "c", "web"))
}

// TestRefusals: all that keeps a pod has a reason, which the query gives too.
func TestRefusals(t *testing.T) {
	for _, c := range []struct {
		name string
		edit func(w *world)
		want string // empty: evicted
	}{
		{"nothing", func(*world) {}, ""},
		{"no UID", func(w *world) { w.pods[0].UID = "" }, "pod team/web-a-0 has no UID"},
		{"filters", func(w *world) {
			w.plugin("All").filter = func(*v1.Pod) error { return errors.New("too young") }
			w.plugin("All").pre = func(*v1.Pod) error { return &framework.RefusedError{By: "QueueProtection", Reason: "guaranteed"} }
			w.policy.Profiles[0].Plugins[framework.Filter] = []string{"All"}
			w.policy.Profiles[0].Plugins[framework.PreEvictionFilter] = []string{"All"}
		}, "All: too young\nQueueProtection: guaranteed"},
		{"no place", func(w *world) { w.withRooms(0) }, "landing: its replacement would run nowhere: all nodes are full"},
		{"no place is needed", func(w *world) { w.withRooms(0); w.options.EvictWithoutLanding = true }, ""},
		{"a pod that nothing makes anew needs no place", func(w *world) { w.withRooms(0); w.pods[0].OwnerReferences = nil }, ""},
		{"a pod that has ended needs no place", func(w *world) { w.withRooms(0); w.pods[0].Status.Phase = v1.PodFailed }, ""},
		{"a pod that runs nowhere needs no place", func(w *world) { w.withRooms(0); w.pods[0].Spec.NodeName = "" }, ""},
		{"ending", func(w *world) { w.pods[0].DeletionTimestamp = &metav1.Time{Time: start} }, "eviction: the pod is ending already"},
		{"it may come back when it was too old", func(w *world) { full(w) }, ""},
		{"it may not come back for balance", func(w *world) {
			full(w)
			w.policy.Profiles[0] = profileOf("p", framework.Balance, "All")
		}, "landing: no node helps where its replacement can run: 1 node: is where it runs now"},
		{"the evict plugin", func(w *world) {
			w.plugin("Evict").evict = func(context.Context, *v1.Pod, framework.EvictOptions) error { return errors.New("403") }
		}, "403"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, podsOf(1, "a", "web")...)
			var answer error
			w.plugin("All").deschedule = evictOnce("web-a-0", &answer)
			w.plugin("All").balance = w.plugin("All").deschedule
			c.edit(w)
			w.cycle()
			if c.want == "" {
				assert.NilError(t, answer)
				assert.Equal(t, len(w.evicted), 1)
				return
			}
			assert.Error(t, answer, c.want)
			assert.Equal(t, len(w.evicted), 0)
			if c.name != "no UID" && c.name != "ending" {
				why := w.d.Why("team", "web-a-0").String()
				assert.Assert(t, strings.Contains(why, strings.ReplaceAll(c.want, "\n", "; ")), why)
			}
		})
	}
}

// TestSecondCallIsFree is D-EV-5, in the same cycle and as long as the pod is there.
func TestSecondCallIsFree(t *testing.T) {
	one := 1
	w := newWorld(t, podsOf(1, "a", "web")...)
	w.policy.Limits.Total = &one
	pod := w.pods[0]
	w.plugin("All").deschedule = func(ctx context.Context, h framework.Handle, _ []*v1.Node) error {
		for range 3 {
			assert.Assert(t, h.Evictor().Evict(ctx, pod, framework.EvictOptions{}))
		}
		assert.Equal(t, len(h.Snapshot().Pods()), 0)
		return nil
	}
	assert.Equal(t, len(w.cycle()), 1)
	assert.Equal(t, len(w.cycle()), 0)
}

func TestFailedEvictionMayBeTriedAgain(t *testing.T) {
	w := newWorld(t, podsOf(1, "a", "web")...)
	evict := w.plugin("Evict").evict
	w.plugin("Evict").evict = func(ctx context.Context, pod *v1.Pod, o framework.EvictOptions) error {
		w.plugin("Evict").evict = evict
		return errors.New("away")
	}
	assert.Equal(t, len(w.cycle()), 0)
	assert.Equal(t, len(w.cycle()), 1)
}

// TestOptionsAreFilled: the profile and the grace period are those of the policy.
func TestOptionsAreFilled(t *testing.T) {
	grace, own := int64(30), int64(5)
	w := newWorld(t, podsOf(2, "a", "web")...)
	w.policy.GracePeriodSeconds = &grace
	var got []string
	w.plugin("Evict").evict = func(_ context.Context, _ *v1.Pod, o framework.EvictOptions) error {
		got = append(got, fmt.Sprint(o.ProfileName, " ", o.PluginName, " ", *o.DeleteOptions.GracePeriodSeconds))
		return nil
	}
	w.plugin("All").deschedule = func(ctx context.Context, h framework.Handle, _ []*v1.Node) error {
		e := h.Evictor()
		assert.Equal(t, e.Name(), "Evict")
		assert.NilError(t, e.EvictPod(ctx, w.pods[0], framework.EvictOptions{ProfileName: "false"}))
		return e.EvictPod(ctx, w.pods[1], framework.EvictOptions{
			PluginName: "Other", DeleteOptions: &metav1.DeleteOptions{GracePeriodSeconds: &own},
		})
	}
	w.cycle()
	assert.DeepEqual(t, got, []string{"p All 30", "p Other 5"})
}

// TestLandingIsBooked: a place is given once.
func TestLandingIsBooked(t *testing.T) {
	w := newWorld(t, append(podsOf(2, "a", "web"), podsOf(2, "b", "web")...)...)
	w.withRooms(2)
	w.policy.Profiles[0] = profileOf("p", framework.Balance, "All")
	report, err := w.build().Cycle(t.Context())
	assert.NilError(t, err)
	var moves []string
	for _, e := range report.Evictions {
		moves = append(moves, e.Pod+" "+e.From+" to "+e.To)
	}
	// Node c has room for two. Then a has the room that they left.
	assert.DeepEqual(t, moves, []string{
		"team/web-a-0 a to c", "team/web-a-1 a to c", "team/web-b-0 b to a", "team/web-b-1 b to a",
	})
}

// TestSort: the order of a profile is that of its sort plugin, or else the least harm.
func TestSort(t *testing.T) {
	high := int32(5)
	pods := []*v1.Pod{
		newPod("team", "important", "a", "web", func(p *v1.Pod) { p.Spec.Priority = &high }),
		newPod("team", "guaranteed", "a", "web", func(p *v1.Pod) { p.Status.QOSClass = v1.PodQOSGuaranteed }),
		newPod("team", "burstable", "a", "web", func(p *v1.Pod) { p.Status.QOSClass = v1.PodQOSBurstable }),
		newPod("team", "old", "a", "web", createdAt(start.Add(-time.Hour*2))),
		newPod("team", "z", "a", "web"), newPod("team", "y", "a", "web"),
	}
	w := newWorld(t, pods...)
	assert.DeepEqual(t, w.cycle(), []string{"team/y", "team/z", "team/old", "team/burstable", "team/guaranteed", "team/important"})

	w = newWorld(t, pods...)
	w.plugin("All").less = func(a, b *v1.Pod) bool { return a.Name > b.Name }
	w.policy.Profiles[0].Plugins[framework.Sort] = []string{"All"}
	assert.DeepEqual(t, w.cycle(), []string{"team/z", "team/y", "team/old", "team/important", "team/guaranteed", "team/burstable"})
}

// budget is a disruption budget for a workload.
func budget(name, workload string, allowed int32) *policyv1.PodDisruptionBudget {
	least := intstr.FromInt32(1)
	return &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: name},
		Spec:       policyv1.PodDisruptionBudgetSpec{MinAvailable: &least, Selector: metav1.SetAsLabelSelector(map[string]string{"app": workload})},
		Status:     policyv1.PodDisruptionBudgetStatus{DisruptionsAllowed: allowed, DesiredHealthy: 1, CurrentHealthy: 1 + allowed},
	}
}

// TestDryRunRespectsBudgets: it refuses what the API server would.
func TestDryRunRespectsBudgets(t *testing.T) {
	unready := func(p *v1.Pod) { p.Status.Conditions[0].Status = v1.ConditionFalse }
	always := policyv1.AlwaysAllow
	pods := []*v1.Pod{
		newPod("team", "web-0", "a", "web"), newPod("team", "web-1", "a", "web"), newPod("team", "web-2", "a", "web"),
		newPod("team", "two-0", "a", "two"),
		newPod("team", "sick-0", "a", "sick", unready), newPod("team", "sick-1", "a", "sick", unready),
		newPod("team", "failed-0", "a", "web", func(p *v1.Pod) { p.Status.Phase = v1.PodFailed }),
		newPod("team", "free-0", "a", "free"), newPod("team", "stale-0", "a", "stale"),
	}
	dry := func(budgetless bool) *Report {
		w := newWorld(t, pods...)
		w.options.DryRun = true
		w.plugin("Evict").budgetless = budgetless
		sick := budget("sick", "sick", 0)
		sick.Spec.UnhealthyPodEvictionPolicy = &always
		stale := budget("stale", "stale", 3)
		stale.Generation = 1 // its status is not of that
		w.objects.Budgets = []*policyv1.PodDisruptionBudget{budget("web", "web", 2), budget("two-a", "two", 5), budget("two-b", "two", 5), sick, stale}
		report, err := w.build().Cycle(t.Context())
		assert.NilError(t, err)
		assert.Equal(t, len(w.evicted), 0) // nothing is carried out
		if !budgetless {
			assert.Assert(t, strings.Contains(w.d.Why("team", "two-0").String(), "disruption budget: the pod has 2 budgets"))
			assert.Assert(t, strings.Contains(w.d.Why("team", "web-2").String(), "disruption budget: budget web allows no eviction now"))
			assert.Assert(t, strings.Contains(w.d.Why("team", "stale-0").String(), "disruption budget: budget stale allows no eviction now"))
		}
		return report
	}
	var got []string
	for _, e := range dry(false).Evictions {
		got = append(got, e.Pod+" "+number(e.BudgetBefore)+" "+number(e.BudgetLeft))
	}
	assert.DeepEqual(t, got, []string{
		"team/failed-0 2 2", "team/free-0 - -", "team/sick-0 0 0", "team/sick-1 0 0", "team/web-0 2 1", "team/web-1 1 0",
	})
	assert.Equal(t, len(dry(true).Evictions), len(pods))
}

// TestDryRunRemembersNothing is D-DRY-1: each cycle says the same, within all limits.
func TestDryRunRemembersNothing(t *testing.T) {
	three := 3
	w := newWorld(t, podsOf(5, "a", "web")...)
	w.options.DryRun = true
	w.policy.Limits = policy.Limits{
		InFlight: policy.InFlight{Total: &three}, WorkloadRate: policy.Rate{Max: 4, Window: time.Hour},
		CoolDown: policy.CoolDown{Initial: time.Hour, Max: time.Hour},
	}
	for range 3 {
		report, err := w.build().Cycle(t.Context())
		assert.NilError(t, err)
		assert.Equal(t, len(report.Evictions), 3)
		w.clock.Step(time.Second)
	}
}
