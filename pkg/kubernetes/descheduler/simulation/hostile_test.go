package simulation

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/framework"
	ft "github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/frameworktest"
)

// everyPlugin is a policy with all plugins that evict.
func everyPlugin(top string) string { return policyOf(top, "{}", choices...) }

// absurd is a cluster as no API server should have it, beside a workload that is too old.
func absurd() framework.Objects {
	huge, minus := resource.MustParse("9E"), resource.MustParse("-3")
	empty := ft.Node("empty", "", "")
	empty.Status.Allocatable, empty.Status.Capacity = nil, nil
	negative := ft.Node("negative", "", "")
	negative.Status.Allocatable = v1.ResourceList{v1.ResourceCPU: minus, v1.ResourceMemory: minus, v1.ResourcePods: minus}
	o := framework.Objects{Nodes: []*v1.Node{
		ft.Node("n1", "", ""), ft.Node("n2", "", ""), ft.Node("n3", "", ""), empty, negative, ft.Node("huge", "cpu=9E memory=9E pods=9E", ""),
		{ObjectMeta: metav1.ObjectMeta{Name: "bare"}},
	}}
	for i, node := range []string{"n1", "n2", "empty", "negative", "huge", "bare", "unknown", ""} {
		at := fmt.Sprint("team/", node, i, "-")
		old := ft.Aged(2 * time.Hour)
		o.Pods = append(o.Pods,
			ft.Pod(at+"plain", node, "cpu=100m", old, ft.Labelled("app=app1"), ft.Owned("ReplicaSet/web")),
			ft.Pod(at+"alone", node, "cpu=100m", old),
			ft.Pod(at+"huge", node, "cpu=9E memory=9E", old, ft.Owned("ReplicaSet/huge"+node)),
			ft.Pod(at+"future", node, "", ft.Aged(-1000*time.Hour), ft.Owned("ReplicaSet/web")),
			ft.Pod(at+"zone", node, "", old, ft.Owned("ReplicaSet/zone"), ft.Labelled("app=app2"),
				ft.Spread("app=app2", "no such label", 0, v1.DoNotSchedule), ft.Apart("app=app2", "")),
			&v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: at + "void"}, Spec: v1.PodSpec{NodeName: node}},
		)
		odd := ft.Pod(at+"odd", node, "", old, ft.Owned("ReplicaSet/odd"))
		odd.Spec.Containers[0].Resources.Requests = v1.ResourceList{v1.ResourceCPU: minus, "no/such": huge}
		odd.Spec.Affinity = &v1.Affinity{NodeAffinity: &v1.NodeAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: &v1.NodeSelector{},
			PreferredDuringSchedulingIgnoredDuringExecution: []v1.PreferredSchedulingTerm{{Preference: v1.NodeSelectorTerm{
				MatchExpressions: []v1.NodeSelectorRequirement{{Key: "??", Operator: "Of"}},
			}}},
		}}
		o.Pods = append(o.Pods, odd)
	}
	for _, p := range o.Pods {
		if p.Labels["app"] == "" && p.Labels != nil {
			p.Labels["app"] = "app3" // by which the usage of these tests tells pods apart
		}
	}
	o.Budgets = []*policyv1.PodDisruptionBudget{{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "none"}}}
	return o
}

// TestAbsurdCluster: no plugin fails on nodes without capacity, pods without anything and amounts
// beyond counting, and what can be evicted is.
func TestAbsurdCluster(t *testing.T) {
	w := newWorld(t, absurd(), fixedQueues, load(t, everyPlugin("")))
	for range 3 {
		report, _ := w.cycle(w.d)
		assert.Equal(t, len(report.Failures), 0, "%v", report.Failures)
		for _, e := range report.Evictions {
			assert.Assert(t, !strings.HasSuffix(e.Pod, "alone") && !strings.HasSuffix(e.Pod, "void") &&
				(e.Plugin != "PodLifeTime" || !strings.HasSuffix(e.Pod, "future")), "%s of %s", e.Pod, e.Plugin)
		}
		if report.Cycle == 1 {
			assert.Assert(t, slices.ContainsFunc(w.evicted, func(p *v1.Pod) bool { return p.Name == "n10-plain" }), w.d.Why("team", "n10-plain").String())
		}
		w.settle(report)
	}
}

// old is a cluster in which each of many pods is too old.
func old(pods int) framework.Objects {
	o := framework.Objects{Nodes: []*v1.Node{ft.Node("n1", "pods=1000", ""), ft.Node("n2", "pods=1000", "")}}
	for i := range pods {
		o.Pods = append(o.Pods, ft.Pod(fmt.Sprintf("team/p%d", i), "n1", "cpu=1m", ft.Aged(2*time.Hour), ft.Owned("ReplicaSet/web")))
	}
	return o
}

var lifeTime = policyOf("", "{}", choices[0])

// TestAnswersForEver: an API server that refuses for ever is asked once for each pod in a
// cycle, nothing counts as evicted, and the cycle says which errors there were, but not all.
func TestAnswersForEver(t *testing.T) {
	const pods = 100
	webhook := &apierrors.StatusError{ErrStatus: metav1.Status{Code: http.StatusForbidden, Reason: metav1.StatusReasonForbidden, Message: "admission webhook denied it"}}
	for _, c := range []struct {
		answer error
		failed int // errors that the cycle names
	}{
		{apierrors.NewTooManyRequests("later", 0), 0},
		{webhook, 10},
		{apierrors.NewInternalError(errors.New("webhook timed out")), 10},
		{errors.New("connection refused"), 10},
	} {
		w := newWorld(t, old(pods), fixedQueues, load(t, lifeTime))
		asked := 0
		w.refuse = func(*v1.Pod) error {
			asked++
			return c.answer
		}
		for cycle := range 3 {
			report, err := w.d.Cycle(t.Context())
			assert.Equal(t, asked, (cycle+1)*pods, "%v", c.answer)
			assert.Equal(t, len(report.Evictions), 0)
			if c.failed == 0 {
				assert.NilError(t, err)
				continue
			}
			assert.Equal(t, strings.Count(err.Error(), "pod team/"), c.failed)
			assert.Equal(t, len(report.Failures), 1)
		}
	}
}

// TestClockBackwards: a clock that is set back by a day ends no limit and panics nowhere.
func TestClockBackwards(t *testing.T) {
	w := newWorld(t, old(10), fixedQueues, load(t, policyOf(
		"limits: {workloadRate: {max: 2, window: 1h}, inFlight: {total: 5}}\n", "{}", choices[0])))
	evicted := 0
	for range 4 {
		report, _ := w.cycle(w.d)
		assert.Equal(t, len(report.Failures), 0)
		evicted += len(report.Evictions)
		w.settle(report)
		w.clock.SetTime(w.clock.Now().Add(-24 * time.Hour))
	}
	assert.Equal(t, evicted, 2)
}

// TestManyBudgets: each of fifty budgets lets one of its eight pods go.
func TestManyBudgets(t *testing.T) {
	o := old(400)
	for i := range 50 {
		o.Budgets = append(o.Budgets, &policyv1.PodDisruptionBudget{
			ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: fmt.Sprint("b", i)},
			Spec:       policyv1.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{MatchLabels: ft.Labels("app=" + fmt.Sprint(i))}},
		})
	}
	for i, p := range o.Pods {
		p.Labels["app"] = fmt.Sprint(i % 50)
	}
	w := newWorld(t, o, fixedQueues, load(t, lifeTime))
	w.allow()
	report, _ := w.cycle(w.d)
	assert.Equal(t, len(report.Evictions), 50) // one of each budget
}
