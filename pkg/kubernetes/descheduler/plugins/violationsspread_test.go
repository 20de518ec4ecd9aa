package plugins_test

import (
	"fmt"
	"testing"

	"gotest.tools/v3/assert"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/framework"
	ft "github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/frameworktest"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/plugins/violations"
)

var zoned = ft.Spread("app=web", "zone", 1, v1.DoNotSchedule)

// many makes pods with a name and a number.
func many(count int, name, node string, edits ...func(*v1.Pod)) []*v1.Pod {
	var made []*v1.Pod
	for i := range count {
		made = append(made, ft.Pod(fmt.Sprintf("%s-%d", name, i), node, "cpu=100m", append(edits, isWeb)...))
	}
	return made
}

func join(lists ...[]*v1.Pod) []*v1.Pod {
	var all []*v1.Pod
	for _, l := range lists {
		all = append(all, l...)
	}
	return all
}

// bareIsKept is the part of the default evictor that matters here.
type bareIsKept struct{}

func (bareIsKept) Name() string { return "BareIsKept" }
func (bareIsKept) Filter(pod *v1.Pod) error {
	if len(pod.OwnerReferences) == 0 {
		return fmt.Errorf("it has no owner")
	}
	return nil
}

// spread runs the plugin twice: the second run must find nothing.
func spread(t *testing.T, o framework.Objects, args any) *ft.Handle {
	t.Helper()
	h := ft.NewHandle(t, o, ft.Options{})
	h.Use(bareIsKept{})
	assert.Assert(t, h.Run(t, violations.TopologySpreadDefinition(), args) == nil)
	next := ft.NewHandle(t, h.Replaced(), ft.Options{})
	next.Use(bareIsKept{})
	next.Run(t, violations.TopologySpreadDefinition(), args)
	assert.DeepEqual(t, next.Moves(), []string{})
	return h
}

func zones() []*v1.Node {
	return nodes(ft.Node("n1", "", "zone=a"), ft.Node("n2", "", "zone=b"))
}

// pooled are three zones, of which two are in a pool.
func pooled() []*v1.Node {
	return nodes(ft.Node("n1", "", "zone=a pool=x"), ft.Node("n2", "", "zone=b pool=x"), ft.Node("n3", "", "zone=c"))
}

// D-SPR-1: the pod with the lowest priority goes, not the one with the highest.
func TestSpreadTakesTheLeastImportant(t *testing.T) {
	for _, order := range [][]int32{{1, 5, 9}, {9, 5, 1}, {5, 9, 1}} {
		var three []*v1.Pod
		for i, priority := range order {
			three = append(three, ft.Pod(fmt.Sprintf("a/p%d-priority-%d", i, priority), "n1", "cpu=100m", web, isWeb, zoned, ft.Priority(priority)))
		}
		h := spread(t, framework.Objects{Nodes: zones(), Pods: three}, nil)
		evictions := h.Evictions()
		assert.Equal(t, len(evictions), 1)
		assert.Equal(t, *evictions[0].Pod.Spec.Priority, int32(1))
		assert.Equal(t, evictions[0].To, "n2")
	}
}

// D-SPR-2: pods that may not be evicted count, as they do for the scheduler.
func TestSpreadCountsAllPods(t *testing.T) {
	h := spread(t, framework.Objects{Nodes: zones(), Pods: join(many(3, "a/owned", "n1", web, zoned), many(3, "a/bare", "n2", zoned))}, nil)
	assert.DeepEqual(t, h.Moves(), []string{})
	h = spread(t, framework.Objects{Nodes: zones(), Pods: join(many(1, "a/owned", "n1", web, zoned), many(3, "a/bare", "n1", zoned))}, nil)
	assert.DeepEqual(t, h.Moves(), []string{"a/owned-0 n1 -> n2"})
}

// D-SPR-3: two constraints do not undo what the other has done. Zones are even with
// three and three, and hosts are not; a pod may leave the full host only to a host of
// its own zone.
func TestSpreadSeesAllConstraints(t *testing.T) {
	both := func(p *v1.Pod) {
		zoned(p)
		ft.Spread("app=web", v1.LabelHostname, 1, v1.DoNotSchedule)(p)
	}
	cluster := framework.Objects{
		Nodes: nodes(ft.Node("a1", "", "zone=a"), ft.Node("a2", "", "zone=a"), ft.Node("b1", "", "zone=b"), ft.Node("b2", "", "zone=b")),
		Pods:  join(many(3, "a/left", "a1", web, both), many(2, "a/right", "b1", web, both), many(1, "a/far", "b2", web, both)),
	}
	h := spread(t, cluster, nil)
	assert.Equal(t, len(h.Moves()), 1)
	assert.Equal(t, h.Evictions()[0].Node, "a1")
	assert.Equal(t, h.Evictions()[0].To, "a2")
	// Zones are even with four and four. Hosts would be with three, three and two, but then
	// zones would not: nothing goes.
	soft := func(p *v1.Pod) {
		ft.Spread("app=web", "zone", 1, v1.ScheduleAnyway)(p)
		ft.Spread("app=web", v1.LabelHostname, 1, v1.ScheduleAnyway)(p)
	}
	cluster = framework.Objects{
		Nodes: nodes(ft.Node("a1", "", "zone=a"), ft.Node("b1", "", "zone=b"), ft.Node("b2", "", "zone=b")),
		Pods:  join(many(4, "a/left", "a1", web, soft), many(2, "a/right", "b1", web, soft), many(2, "a/far", "b2", web, soft)),
	}
	args := &violations.TopologySpreadArgs{Constraints: []v1.UnsatisfiableConstraintAction{v1.DoNotSchedule, v1.ScheduleAnyway}}
	assert.DeepEqual(t, spread(t, cluster, args).Moves(), []string{})
}

// Of equally full domains that gives the next pod which gave the last one, as upstream does: three, four and none become three, two and two.
func TestSpreadGoesOnWithADomain(t *testing.T) {
	h := spread(t, framework.Objects{
		Nodes: nodes(ft.Node("n1", "", "zone=a"), ft.Node("n2", "", "zone=b"), ft.Node("n3", "", "zone=c")),
		Pods:  join(many(3, "a/three", "n1", web, zoned), many(4, "a/four", "n2", web, zoned)),
	}, nil)
	assert.DeepEqual(t, h.Moves(), []string{"a/four-0 n2 -> n3", "a/four-1 n2 -> n3"})
}

// One eviction mends zones and hosts: that of a pod whose zone and host are both too full.
func TestSpreadMendsSeveralConstraints(t *testing.T) {
	both := func(p *v1.Pod) {
		zoned(p)
		ft.Spread("app=web", v1.LabelHostname, 1, v1.DoNotSchedule)(p)
	}
	h := spread(t, framework.Objects{
		Nodes: nodes(ft.Node("a1", "", "zone=a"), ft.Node("a2", "", "zone=a"), ft.Node("b1", "", "zone=b"), ft.Node("b2", "", "zone=b")),
		Pods:  join(many(1, "a/alone", "a1", web, both), many(2, "a/pair", "a2", web, both)),
	}, nil)
	assert.Equal(t, len(h.Moves()), 1)
	assert.Equal(t, h.Evictions()[0].Node, "a2")
}

func TestSpread(t *testing.T) {
	honor, ignore := v1.NodeInclusionPolicyHonor, v1.NodeInclusionPolicyIgnore
	pinned := func(p *v1.Pod) { p.Spec.NodeSelector = ft.Labels("zone=a") }
	three := int32(3)
	for name, c := range map[string]struct {
		edits []func(*v1.Pod)
		nodes []*v1.Node
		here  int // pods on n1
		there int // pods on n2
		args  any
		want  int
	}{
		"five to none":               {edits: []func(*v1.Pod){zoned}, here: 5, want: 2},
		"five to four":               {edits: []func(*v1.Pod){zoned}, here: 5, there: 4},
		"a greater skew":             {edits: []func(*v1.Pod){ft.Spread("app=web", "zone", 3, v1.DoNotSchedule)}, here: 5, want: 1},
		"the soft kind is not asked": {edits: []func(*v1.Pod){ft.Spread("app=web", "zone", 1, v1.ScheduleAnyway)}, here: 5},
		"the soft kind":              {edits: []func(*v1.Pod){ft.Spread("app=web", "zone", 1, v1.ScheduleAnyway)}, here: 5, want: 2, args: &violations.TopologySpreadArgs{Constraints: []v1.UnsatisfiableConstraintAction{v1.ScheduleAnyway}}},
		"the scheduler would make another domain too full": {
			edits: []func(*v1.Pod){ft.Spread("app=web", "zone", 1, v1.ScheduleAnyway)}, here: 5, there: 4,
			args:  &violations.TopologySpreadArgs{Constraints: []v1.UnsatisfiableConstraintAction{v1.ScheduleAnyway}},
			nodes: nodes(ft.Node("n1", "cpu=1", "zone=a"), ft.Node("n2", "", "zone=b"), ft.Node("n3", "cpu=50m", "zone=c")),
		},
		"the scheduler would make another domain one too full": {
			edits: []func(*v1.Pod){ft.Spread("app=web", "zone", 1, v1.ScheduleAnyway)}, here: 5, there: 1,
			args:  &violations.TopologySpreadArgs{Constraints: []v1.UnsatisfiableConstraintAction{v1.ScheduleAnyway}},
			nodes: nodes(ft.Node("n1", "cpu=1", "zone=a"), ft.Node("n2", "", "zone=b"), ft.Node("n3", "cpu=50m", "zone=c")),
		},
		"one domain that affinity lets": {edits: []func(*v1.Pod){zoned, pinned}, here: 5},
		"a node without the key":        {edits: []func(*v1.Pod){zoned}, here: 5, nodes: nodes(ft.Node("n1", "", "zone=a"), ft.Node("n2", "", ""))},
		"a tainted zone": {
			edits: []func(*v1.Pod){zoned}, here: 5,
			nodes: nodes(ft.Node("n1", "", "zone=a"), noUnsafe(ft.Node("n2", "", "zone=b"))),
		},
		"a tainted zone is no domain": {
			edits: []func(*v1.Pod){zoned, func(p *v1.Pod) { p.Spec.TopologySpreadConstraints[0].NodeTaintsPolicy = &honor }}, here: 3, there: 1, want: 1,
			nodes: nodes(ft.Node("n1", "", "zone=a"), ft.Node("n2", "", "zone=b"), noUnsafe(ft.Node("n3", "", "zone=c"))),
		},
		"a third zone without room": {
			edits: []func(*v1.Pod){zoned}, here: 3, there: 1,
			nodes: nodes(ft.Node("n1", "", "zone=a"), ft.Node("n2", "", "zone=b"), ft.Node("n3", "cpu=50m", "zone=c")),
		},
		"as many domains as are asked for": {
			edits: []func(*v1.Pod){ft.Spread("app=web", "zone", 2, v1.DoNotSchedule)}, here: 3, there: 1,
		},
		"fewer domains than are asked for": {
			edits: []func(*v1.Pod){ft.Spread("app=web", "zone", 2, v1.DoNotSchedule), func(p *v1.Pod) { p.Spec.TopologySpreadConstraints[0].MinDomains = &three }},
			here:  3, there: 1, want: 1,
		},
		"an empty domain that affinity forbids": {
			edits: []func(*v1.Pod){ft.Spread("app=web", "zone", 2, v1.DoNotSchedule), ft.OnNodes("pool", "x")}, here: 3, there: 1, nodes: pooled(),
		},
		"an empty domain that affinity forbids, which is ignored": {
			edits: []func(*v1.Pod){ft.Spread("app=web", "zone", 2, v1.DoNotSchedule), ft.OnNodes("pool", "x"), func(p *v1.Pod) {
				p.Spec.TopologySpreadConstraints[0].NodeAffinityPolicy = &ignore
			}},
			here: 3, there: 1, nodes: pooled(), want: 1,
		},
		"too few domains": {
			edits: []func(*v1.Pod){zoned, func(p *v1.Pod) { p.Spec.TopologySpreadConstraints[0].MinDomains = &three }}, here: 2, there: 0, want: 1,
		},
	} {
		t.Run(name, func(t *testing.T) {
			if c.nodes == nil {
				c.nodes = zones()
			}
			edits := append(c.edits, web)
			h := spread(t, framework.Objects{Nodes: c.nodes, Pods: join(many(c.here, "a/p", "n1", edits...), many(c.there, "a/q", "n2", edits...))}, c.args)
			assert.Equal(t, len(h.Moves()), c.want, "%v %v", h.Moves(), h.Declined())
		})
	}
}

// Pods of another revision are another group.
func TestSpreadMatchLabelKeys(t *testing.T) {
	revision := func(r string) func(*v1.Pod) {
		return func(p *v1.Pod) {
			p.Labels["rev"] = r
			zoned(p)
			p.Spec.TopologySpreadConstraints[0].MatchLabelKeys = []string{"rev"}
		}
	}
	h := spread(t, framework.Objects{Nodes: zones(), Pods: join(many(3, "a/old", "n1", web, revision("1")), many(3, "a/new", "n2", web, revision("2")))}, nil)
	assert.Equal(t, len(h.Moves()), 2)
	h = spread(t, framework.Objects{Nodes: zones(), Pods: join(many(3, "a/old", "n1", web, zoned), many(3, "a/new", "n2", web, zoned))}, nil)
	assert.Equal(t, len(h.Moves()), 0)
}

// A pod that is terminating or has ended does not count, and is not moved.
func TestSpreadLeavesOutEnded(t *testing.T) {
	ends := many(2, "a/ends", "n1", web, zoned, func(p *v1.Pod) { p.DeletionTimestamp = &metav1.Time{Time: ft.Now} })
	ended := many(2, "a/ended", "n1", web, zoned, ft.Phase(v1.PodSucceeded))
	h := spread(t, framework.Objects{Nodes: zones(), Pods: join(ends, ended, many(1, "a/p", "n1", web, zoned))}, nil)
	assert.DeepEqual(t, h.Moves(), []string{})
}
