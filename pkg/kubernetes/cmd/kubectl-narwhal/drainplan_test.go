package main

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/golden"
	v1 "k8s.io/api/core/v1"
	policy "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/drain"
	"github.com/narwhal-scheduler/narwhal/pkg/webservice/client"
)

// owned has a pod belong to an owner of a kind, with a priority.
func owned(kind string, priority int32) func(*v1.Pod) {
	return func(p *v1.Pod) {
		p.Labels = map[string]string{"app": strings.Split(p.Name, "-")[0]}
		p.Spec.Priority = &priority
		if kind != "" {
			p.OwnerReferences = []metav1.OwnerReference{{Kind: kind, Name: "owner", Controller: new(true)}}
		}
	}
}

// budget is one of the pods of an app, which allows so many evictions.
func budget(app string, allows int32, change func(*policy.PodDisruptionBudget)) policy.PodDisruptionBudget {
	b := policy.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Namespace: "dev", Name: app + "-budget"},
		Spec:       policy.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}}},
		Status:     policy.PodDisruptionBudgetStatus{DisruptionsAllowed: allows},
	}
	change(&b)
	return b
}

// A drain has pods go by priority, as far as budgets allow it: one of three of web, and none of db, which is told with since when. A
// pod that is not ready goes where its budget says so. Static pods and those of daemonsets stay, ended ones are left out.
func TestDrainPlan(t *testing.T) {
	now := time.Unix(10_000, 0)
	never := func(*policy.PodDisruptionBudget) {}
	there := []v1.Pod{
		*pod("db-0", "db-0", owned("StatefulSet", 100)),
		*pod("web-2", "web-2", owned("ReplicaSet", 0)),
		*pod("web-1", "web-1", owned("ReplicaSet", 10)),
		*pod("cache-0", "cache-0", owned("StatefulSet", 50)),
		*pod("agent", "agent", owned("DaemonSet", 2000)),
		*pod("apart", "apart", owned("ReplicaSet", -5)),
		*pod("other", "other", func(p *v1.Pod) {
			owned("ReplicaSet", 0)(p)
			p.Spec.SchedulerName = "default-scheduler"
		}),
		*pod("single", "single", owned("", 0)),
		*pod("twice-1", "twice-1", owned("ReplicaSet", 0)),
		*pod("done", "done", func(p *v1.Pod) { p.Status.Phase = v1.PodSucceeded }),
	}
	budgets := []policy.PodDisruptionBudget{
		budget("web", 1, never),
		budget("db", 0, func(b *policy.PodDisruptionBudget) {
			b.Status.Conditions = []metav1.Condition{{
				Type: policy.DisruptionAllowedCondition, Status: metav1.ConditionFalse, LastTransitionTime: metav1.NewTime(now.Add(-90 * time.Minute)),
			}}
		}),
		budget("cache", 0, func(b *policy.PodDisruptionBudget) { b.Spec.UnhealthyPodEvictionPolicy = new(policy.AlwaysAllow) }),
		budget("twice", 1, never),
		budget("twice", 1, never),
		budget("single", 0, func(b *policy.PodDisruptionBudget) { b.Namespace = "elsewhere" }),
	}
	moved := []client.AskOutcome{
		{Key: "web-1", Node: "node-2"},
		{Key: "web-2", Node: "node-3"},
		{Key: "db-0", Nominated: "node-2"},
		{Key: "cache-0"},
		{Key: "apart", Refused: "queue root.dev is draining"},
		{Key: "twice-1", Node: "node-2"},
	}
	var out bytes.Buffer
	assert.NilError(t, writeDrain(&out, planDrain(there, budgets, moved, plan{now, new(drain.Status)})))
	golden.Assert(t, out.String(), "drain-plan.golden")
}

// The command lists the pods of the node, and asks the scheduler what would become of them without it.
func TestDrainPlanOfANode(t *testing.T) {
	out, sent, err := play(t, "", "drain-plan", "node-1")
	assert.NilError(t, err)
	assert.Equal(t, sent, `{"nodes":{"remove":["node-1"]}}`)
	assert.Equal(t, out, "POD         PRIORITY   TO                                BLOCKED BY\n"+
		"dev/bound   0          nowhere: nothing makes it again   -\n"+
		"1 may go at once, 0 are blocked, 0 stay.\n")

	// The descheduler drains node-2, and the node says how far that is.
	out, _, err = play(t, "", "drain-plan", "node-2")
	assert.NilError(t, err)
	first, rest, _ := strings.Cut(out, "\n")
	assert.Assert(t, strings.HasPrefix(first, "node node-2: blocked, opened "), first)
	assert.Assert(t, strings.HasSuffix(first, " ago by taint maintenance=disk:NoSchedule, left: 1"), first)
	assert.Assert(t, strings.Contains(rest, "budget web allows no eviction now, since "), rest)
	assert.Assert(t, strings.HasSuffix(rest, "0 may go at once, 1 are blocked, 0 stay.\n"), rest)
	_, _, err = play(t, "", "drain-plan")
	assert.ErrorContains(t, err, "accepts 1 arg(s)")
}

// A budget keeps a pod as the eviction API has it: one that is not ready goes while enough others are healthy, one that does not run yet
// goes always, and a budget that was changed since its status was written lets none go.
func TestDrainPlanAsTheEvictionAPI(t *testing.T) {
	waits := func(p *v1.Pod) {
		owned("ReplicaSet", 0)(p)
		p.Status.Phase = v1.PodPending
	}
	for _, c := range []struct {
		name   string
		edit   func(*v1.Pod)
		allows int32
		change func(*policy.PodDisruptionBudget)
		goes   bool
	}{
		{"enough are healthy", owned("ReplicaSet", 0), 0, func(b *policy.PodDisruptionBudget) { b.Status.CurrentHealthy, b.Status.DesiredHealthy = 2, 2 }, true},
		{"too few are healthy", owned("ReplicaSet", 0), 0, func(b *policy.PodDisruptionBudget) { b.Status.CurrentHealthy, b.Status.DesiredHealthy = 1, 2 }, false},
		{"it does not run yet", waits, 0, func(*policy.PodDisruptionBudget) {}, true},
		{"the budget was changed", owned("ReplicaSet", 0), 1, func(b *policy.PodDisruptionBudget) { b.Generation = 1 }, false},
	} {
		steps := planDrain([]v1.Pod{*pod("web-1", "web-1", c.edit)}, []policy.PodDisruptionBudget{budget("web", c.allows, c.change)}, nil, plan{time.Unix(10_000, 0), new(drain.Status)})
		assert.Equal(t, steps[0].blocked == "", c.goes, c.name)
	}
}
