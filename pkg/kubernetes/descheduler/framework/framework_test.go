package framework

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

func TestRegistryRefuses(t *testing.T) {
	build := func(context.Context, any, Handle) (Plugin, error) { return nil, nil }
	good := Definition{Name: "Good", Points: []Point{Balance}, New: build}
	var r Registry
	assert.NilError(t, r.Register(good))
	for _, c := range []struct {
		of   Definition
		want string
	}{
		{good, `plugin "Good" is registered twice`},
		{Definition{Name: "*", Points: good.Points, New: build}, `plugin "*": a name has no spaces and no *`},
		{Definition{Name: "A", Points: good.Points}, `plugin "A" has no factory`},
		{Definition{Name: "A", New: build}, `plugin "A" works at no extension point`},
		{Definition{Name: "A", Points: []Point{"balanced"}, New: build}, `plugin "A": "balanced" is no extension point`},
	} {
		assert.Error(t, r.Register(c.of), c.want)
	}
	assert.DeepEqual(t, r.Names(), []string{"Good"})
}

// TestTypedArguments: arguments of another type, and those that are wrong, are refused before
// a plugin is built.
func TestTypedArguments(t *testing.T) {
	type args struct{ Count int }
	type fine struct{ Plugin }
	built := 0
	build := func(*args, Handle) (Plugin, error) {
		built++
		return fine{}, nil
	}
	wrong := errors.New("count: it is negative")
	validate := func(a *args) error {
		if a.Count < 0 {
			return wrong
		}
		return nil
	}
	for _, d := range []Definition{
		Typed(Definition{Name: "Good"}, validate, build),
		Typed(Definition{Name: "Good", Args: func() any { return &args{Count: 1} }}, nil, build),
	} {
		for given, want := range map[any]string{
			any(args{}):          "arguments of Good are of type framework.args",
			any(nil):             "arguments of Good are of type <nil>",
			any((*args)(nil)):    "arguments of Good are of type *framework.args",
			any(&args{Count: 1}): "",
		} {
			plugin, err := d.New(t.Context(), given, nil)
			if want == "" {
				assert.NilError(t, err)
				assert.NilError(t, d.Validate(given))
				assert.Equal(t, plugin, fine{})
				continue
			}
			assert.Error(t, err, want)
			assert.Error(t, d.Validate(given), want)
			assert.Assert(t, plugin == nil)
		}
	}
	assert.Equal(t, built, 2)
	d := Typed(Definition{Name: "Good"}, validate, build)
	assert.DeepEqual(t, d.Args(), &args{})
	assert.ErrorIs(t, d.Validate(&args{Count: -1}), wrong)
	_, err := d.New(t.Context(), &args{Count: -1}, nil)
	assert.ErrorIs(t, err, wrong)
	assert.Equal(t, built, 2)
}

func TestStopAfter(t *testing.T) {
	for scope, want := range map[Scope]Stop{
		ScopeTotal: StopPlugin, ScopePlugin: StopPlugin, ScopeNode: StopNode,
		ScopeNamespace: StopNamespace, ScopeWorkload: StopWorkload,
	} {
		assert.Equal(t, StopAfter(fmt.Errorf("evict: %w", &LimitError{Scope: scope})), want)
	}
	assert.Equal(t, StopAfter(&RefusedError{By: "budget", Reason: "none left"}), StopPod)
}

func TestSnapshotIsOrdered(t *testing.T) {
	pod := func(namespace, name, node string) *v1.Pod {
		return &v1.Pod{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: namespace, Name: name, UID: types.UID(namespace + name),
				OwnerReferences: []metav1.OwnerReference{{Kind: "Job", Name: "j"}},
			},
			Spec: v1.PodSpec{NodeName: node},
		}
	}
	s := NewSnapshot(Objects{Pods: []*v1.Pod{pod("b", "x", "n"), pod("a", "y", "n"), pod("a", "x", "m")}}, time.Unix(0, 0))
	names := func(pods []*v1.Pod) (names []string) {
		for _, p := range pods {
			names = append(names, p.Namespace+"/"+p.Name)
		}
		return names
	}
	assert.DeepEqual(t, names(s.Pods()), []string{"a/x", "a/y", "b/x"})
	assert.DeepEqual(t, names(s.PodsOn("n")), []string{"a/y", "b/x"})
	s.Evicted("ay")
	assert.DeepEqual(t, names(s.PodsOn("n")), []string{"b/x"})
	assert.DeepEqual(t, names(s.PodsOf(Workload{"a", "Job", "j"})), []string{"a/x"})
	assert.Assert(t, s.WasEvicted("ay") && !s.WasEvicted("ax"))

	// Of two pods of one name, such as before and after an informer was interrupted, the UID
	// decides, and budgets are ordered too.
	one, two := pod("a", "x", "m"), pod("a", "x", "m")
	one.UID, two.UID = "1", "2"
	budget := func(name string) *policyv1.PodDisruptionBudget {
		return &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: name}, Spec: policyv1.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{}}}
	}
	s = NewSnapshot(Objects{Pods: []*v1.Pod{two, one}, Budgets: []*policyv1.PodDisruptionBudget{budget("y"), budget("x")}}, time.Unix(0, 0))
	assert.Equal(t, s.Pods()[0], one)
	assert.Equal(t, s.BudgetsOf(one)[0].Name, "x")
}

func TestSharesCompareExactly(t *testing.T) {
	of := func(used, guaranteed int64) QueueShare { return QueueShare{Used: used, Guaranteed: guaranteed} }
	const most = 1<<63 - 1
	for _, c := range []struct {
		a, b QueueShare
		want int
	}{
		{of(1, 2), of(2, 4), 0},
		{of(1, 3), of(1, 2), -1},
		{of(most, most-1), of(most-1, most-2), -1},
		{of(0, 0), of(most, 1), 1},
		{of(0, 0), of(0, 0), 0},
	} {
		assert.Equal(t, c.a.Compare(c.b), c.want)
		assert.Equal(t, c.b.Compare(c.a), -c.want)
	}
}

// TestUnsuitedNamesFiveReasons: the most frequent ones, and how many there are besides.
func TestUnsuitedNamesFiveReasons(t *testing.T) {
	refusals := Refusals{"n0": errors.New("is full"), "n1": errors.New("is full")}
	for i := range 8 {
		refusals[fmt.Sprint("other", i)] = fmt.Errorf("is %d", i)
	}
	assert.Error(t, refusals.Unsuited(), "no node helps where its replacement can run: "+
		"2 nodes: is full; 1 node: is 0; 1 node: is 1; 1 node: is 2; 1 node: is 3; 4 reasons more")
}
