package utilization

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/framework"
	ft "github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/frameworktest"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/plugins/selection"
)

// atOnce is arguments without debounce.
func atOnce(low, high string, edits ...func(*LoadArgs)) *LoadArgs {
	a := LoadDefaults().(*LoadArgs)
	a.LowThresholds, a.HighThresholds = percents(low), percents(high)
	a.AnomalyCondition.ConsecutiveAbnormalities = 1
	for _, edit := range edits {
		edit(a)
	}
	return a
}

// measured is what nodes use, as "n1=3500m", and pods, all the same.
func measured(nodes, pod string, pods []*v1.Pod) ft.Use {
	use := ft.Use{Nodes: map[string]v1.ResourceList{}, Pods: map[string]v1.ResourceList{}}
	for name, cpu := range ft.Labels(nodes) {
		use.Nodes[name] = ft.Amounts("memory=1Gi cpu=" + cpu)
	}
	for _, p := range pods {
		use.Pods[p.Namespace+"/"+p.Name] = ft.Amounts("memory=1Mi cpu=" + pod)
	}
	return use
}

func TestLoad(t *testing.T) {
	inProd := ft.Labelled("koordinator.sh/priority-class=koord-prod")
	pods := slices.Concat(apps("a", "n1", "cpu=10m", 3), apps("b", "n1", "cpu=10m", 1, inProd))
	yes := func(set func(*LoadArgs)) []func(*LoadArgs) { return []func(*LoadArgs){set} }
	for name, c := range map[string]struct {
		use   string
		low   string
		high  string
		edits []func(*LoadArgs)
		want  []string
	}{
		"down to the threshold": {want: []string{"a/n1-0 n1 -> n2", "a/n1-1 n1 -> n2"}},
		"paused":                {edits: yes(func(a *LoadArgs) { a.Paused = true })},
		"dry run":               {edits: yes(func(a *LoadArgs) { a.DryRun = true })},
		"no node with room":     {use: "n1=3500m n2=1"},
		"not loaded":            {use: "n1=2 n2=100m"},
		"number of nodes":       {edits: yes(func(a *LoadArgs) { a.NumberOfNodes = 1 })},
		"namespaces":            {edits: yes(func(a *LoadArgs) { a.EvictableNamespaces = &selection.Names{Include: []string{"b"}} }), want: []string{"b/n1-0 n1 -> n2"}},
		"pods by labels": {
			edits: yes(func(a *LoadArgs) {
				a.PodSelectors = []PodSelector{{Name: "none"}, {Selector: &metav1.LabelSelector{MatchLabels: ft.Labels("koordinator.sh/priority-class=koord-prod")}}}
			}), want: []string{"b/n1-0 n1 -> n2"},
		},
		"production is over, and only such pods go": {
			low: "cpu=95", high: "cpu=95",
			edits: yes(func(a *LoadArgs) { a.ProdLowThresholds, a.ProdHighThresholds = percents("cpu=10"), percents("cpu=15") }),
		},
		"production is over, and fits elsewhere": {
			low: "cpu=95", high: "cpu=95",
			edits: yes(func(a *LoadArgs) { a.ProdLowThresholds, a.ProdHighThresholds = percents("cpu=10"), percents("cpu=20") }),
		},
		"another pool": {edits: yes(func(a *LoadArgs) { a.NodeSelector = &metav1.LabelSelector{MatchLabels: ft.Labels("pool=x")} })},
	} {
		t.Run(name, func(t *testing.T) {
			if c.use == "" {
				c.use = "n1=3500m n2=100m"
			}
			if c.low == "" {
				c.low, c.high = "cpu=20", "cpu=50"
			}
			if c.want == nil {
				c.want = []string{}
			}
			h := ft.NewHandle(t, framework.Objects{Nodes: three()[:2], Pods: pods}, ft.Options{Usage: measured(c.use, "800m", pods)})
			assert.Assert(t, h.Run(t, LoadDefinition(), atOnce(c.low, c.high, c.edits...)) == nil)
			assert.DeepEqual(t, h.Moves(), c.want)
		})
	}
}

// Of two pods in production one goes, and the one that is none stays.
func TestProductionMovesProduction(t *testing.T) {
	inProd := ft.Priority(9100)
	pods := slices.Concat(apps("a", "n1", "cpu=10m", 2), apps("b", "n1", "cpu=10m", 2, inProd))
	args := atOnce("cpu=95", "cpu=95", func(a *LoadArgs) {
		a.ProdLowThresholds, a.ProdHighThresholds = percents("cpu=10"), percents("cpu=30")
	})
	h := ft.NewHandle(t, framework.Objects{Nodes: three()[:2], Pods: pods}, ft.Options{Usage: measured("n1=3500m n2=100m", "800m", pods)})
	h.Run(t, LoadDefinition(), args)
	assert.DeepEqual(t, h.Moves(), []string{"b/n1-0 n1 -> n2"})
	assert.Equal(t, h.Evictions()[0].Options.Reason, "its node n1 uses prod cpu 40% (above 30%)")
}

// TestPrioritiesOfProduction are those of Koordinator.
func TestPrioritiesOfProduction(t *testing.T) {
	for priority, is := range map[int32]bool{0: false, 8999: false, 9000: true, 9999: true, 10_000: false} {
		assert.Equal(t, inProduction(ft.Pod("a/p", "n1", "", ft.Priority(priority))), is, "%d", priority)
	}
}

// D-K-LNL-3: a node is loaded at the n-th observation in a row, not at the one after.
func TestDebounceActsAtTheNth(t *testing.T) {
	pods := apps("a", "n1", "cpu=10m", 4)
	o := framework.Objects{Nodes: three()[:2], Pods: pods}
	for _, n := range []uint32{1, 2, 5} {
		args := atOnce("cpu=20", "cpu=50", func(a *LoadArgs) { a.AnomalyCondition.ConsecutiveAbnormalities = n })
		h := ft.NewHandle(t, o, ft.Options{Usage: measured("n1=3500m n2=100m", "800m", pods)})
		plugin := h.Build(t, LoadDefinition(), args)
		for call := uint32(1); call <= n; call++ {
			h.Step(t, time.Second, o)
			assert.Assert(t, h.Call(t.Context(), plugin) == nil)
			assert.Equal(t, len(h.Moves()) > 0, call == n, "n %d, call %d", n, call)
		}
		if n > 1 { // the first call says why it does nothing, and no other
			assert.DeepEqual(t, h.Warnings(), []string{fmt.Sprintf("1 node above a high threshold, and loaded if that is so in %d cycles in a row: anomalyCondition.consecutiveAbnormalities", n)})
		}
	}
}

// A cycle that calls the plugin again observes nothing new.
func TestOneObservationInACycle(t *testing.T) {
	pods := apps("a", "n1", "cpu=10m", 4)
	o := framework.Objects{Nodes: three()[:2], Pods: pods}
	h := ft.NewHandle(t, o, ft.Options{Usage: measured("n1=3500m n2=100m", "800m", pods)})
	plugin := h.Build(t, LoadDefinition(), atOnce("cpu=20", "cpu=50", func(a *LoadArgs) { a.AnomalyCondition.ConsecutiveAbnormalities = 3 }))
	for cycle := range 3 {
		h.Step(t, time.Second, o)
		for range 5 {
			assert.Assert(t, h.Call(t.Context(), plugin) == nil)
		}
		assert.Equal(t, len(h.Moves()) > 0, cycle == 2)
	}
}

// Where a call is limited, a cycle does not call again.
func TestRepeats(t *testing.T) {
	for _, c := range []struct {
		of      framework.Definition
		args    any
		repeats bool
	}{
		{HighDefinition(), &HighArgs{Thresholds: percents("cpu=20")}, true},
		{LowDefinition(), lowArgs("cpu=20", "cpu=50"), true},
		{LowDefinition(), lowArgs("cpu=20", "cpu=50", func(a *LowArgs) { a.EvictionLimits = &EvictionLimits{} }), false},
		{LowDefinition(), lowArgs("cpu=20", "cpu=50", func(a *LowArgs) {
			a.MetricsUtilization = &MetricsUtilization{Source: framework.KubernetesMetrics}
		}), true},
		{LowDefinition(), lowArgs("MetricResource=20", "MetricResource=50", func(a *LowArgs) {
			a.MetricsUtilization = &MetricsUtilization{Source: framework.Prometheus, Prometheus: &PrometheusQuery{Query: "up"}}
		}), false},
		{LoadDefinition(), atOnce("cpu=20", "cpu=50"), true},
		{LoadDefinition(), atOnce("cpu=20", "cpu=50", func(a *LoadArgs) {
			a.NodePools = []NodePool{{Name: "second", PoolThresholds: a.PoolThresholds}}
		}), false},
	} {
		h := ft.NewHandle(t, framework.Objects{}, ft.Options{})
		plugin, err := c.of.New(t.Context(), c.args, h)
		assert.NilError(t, err)
		assert.Equal(t, plugin.(framework.Repeater).Repeats(), c.repeats, "%s", c.of.Name)
	}
}

// An observation that is not above the threshold begins the row again.
func TestDebounceCountsInARow(t *testing.T) {
	condition := AnomalyCondition{Timeout: &metav1.Duration{Duration: time.Minute}, ConsecutiveAbnormalities: 3, ConsecutiveNormalities: 2}
	var d detector
	now := ft.Now
	see := func(text string) string {
		out := ""
		for _, c := range text {
			now = now.Add(time.Second)
			if d.observe(now, c == 'x', condition) {
				out += "L"
			} else {
				out += "."
			}
		}
		return out
	}
	assert.Equal(t, see("xx.xxx"), ".....L")
	assert.Equal(t, see(".x.x."), "LLLLL")
	assert.Equal(t, see("."), ".")
	assert.Equal(t, see("xxxx"), "..LL")
	now = now.Add(time.Minute) // the state ends, and the row begins again
	assert.Equal(t, see("xxx"), "..L")
}

// A cache that forgets between two cycles would never find a node loaded.
func TestDetectorsOutliveTheInterval(t *testing.T) {
	pods := apps("a", "n1", "cpu=10m", 4)
	o := framework.Objects{Nodes: three()[:2], Pods: pods}
	args := atOnce("cpu=20", "cpu=50", func(a *LoadArgs) {
		a.AnomalyCondition.ConsecutiveAbnormalities = 2
		a.DetectorCacheTimeout = &metav1.Duration{Duration: time.Second}
	})
	h := ft.NewHandle(t, o, ft.Options{Usage: measured("n1=3500m n2=100m", "800m", pods)})
	plugin := h.Build(t, LoadDefinition(), args).(*load)
	h.Call(t.Context(), plugin)
	h.Step(t, time.Hour, o)
	h.Call(t.Context(), plugin)
	assert.Equal(t, len(h.Moves()), 2)
	// A node that is gone is forgotten, though not at once.
	gone := framework.Objects{Nodes: o.Nodes[1:]}
	for range 3 {
		h.Step(t, time.Hour, gone)
		h.Call(t.Context(), plugin)
	}
	assert.Equal(t, len(plugin.detected[0].byNode), 1)
}

// D-K-LNL-4: without a node that has room nothing is forgotten.
func TestNoRoomForgetsNothing(t *testing.T) {
	pods := apps("a", "n1", "cpu=10m", 4)
	o := framework.Objects{Nodes: three()[:2], Pods: pods}
	args := atOnce("cpu=20", "cpu=50", func(a *LoadArgs) { a.AnomalyCondition.ConsecutiveAbnormalities = 2 })
	use := measured("n1=3500m n2=1", "800m", pods)
	h := ft.NewHandle(t, o, ft.Options{Usage: use})
	plugin := h.Build(t, LoadDefinition(), args)
	h.Call(t.Context(), plugin)
	use.Nodes["n2"] = ft.Amounts("cpu=100m memory=1Gi")
	h.Step(t, time.Second, o)
	h.Call(t.Context(), plugin)
	assert.Equal(t, len(h.Moves()), 2)
}

// TestLooksAtSources: after the first pass only nodes are looked at that had too much before, and
// with a debounce none but these, however many nodes there are.
func TestLooksAtSources(t *testing.T) {
	const loaded = 5
	for _, nodes := range []int{100, 1000} {
		for _, n := range []uint32{1, 2} {
			var o framework.Objects
			use := ft.Use{Nodes: map[string]v1.ResourceList{}, Pods: map[string]v1.ResourceList{}}
			for i := range nodes {
				name, cpu := fmt.Sprintf("n%d", i), "cpu=100m memory=1Gi"
				if i < loaded {
					cpu = "cpu=3500m memory=1Gi"
					o.Pods = append(o.Pods, apps("a", name, "cpu=10m", 4)...)
				}
				o.Nodes = append(o.Nodes, ft.Node(name, "", ""))
				use.Nodes[name] = ft.Amounts(cpu)
			}
			for _, p := range o.Pods {
				use.Pods[p.Namespace+"/"+p.Name] = ft.Amounts("cpu=800m memory=1Mi")
			}
			h := ft.NewHandle(t, o, ft.Options{Usage: use})
			plugin := h.Build(t, LoadDefinition(), atOnce("cpu=20", "cpu=50", func(a *LoadArgs) { a.AnomalyCondition.ConsecutiveAbnormalities = n })).(*load)
			for range n {
				plugin.looks = 0
				h.Step(t, time.Second, o)
				assert.Assert(t, h.Call(t.Context(), plugin) == nil)
			}
			assert.Equal(t, len(h.Moves()), 2*loaded)
			want := 2 * loaded // two passes, of which the second evicts nothing
			if n == 1 {
				want = nodes + loaded
			}
			assert.Equal(t, plugin.looks, want, "%d nodes, n %d", nodes, n)
		}
	}
}

// TestDeviationsFindNewSources: a move lowers the mean, and with it the threshold, so that another
// node has too much. It is found in the same call.
func TestDeviationsFindNewSources(t *testing.T) {
	var o framework.Objects
	o.Nodes = []*v1.Node{ft.Node("n1", "cpu=1 memory=8Gi pods=10", ""), ft.Node("n2", "", ""), ft.Node("n3", "cpu=100 memory=8Gi pods=10", "")}
	o.Pods = append(apps("a", "n1", "cpu=10m", 3), apps("b", "n2", "cpu=10m", 2)...)
	use := ft.Use{Nodes: map[string]v1.ResourceList{
		"n1": ft.Amounts("cpu=900m memory=0"), "n2": ft.Amounts("cpu=1900m memory=0"), "n3": ft.Amounts("cpu=0 memory=0"),
	}, Pods: map[string]v1.ResourceList{}}
	for _, p := range o.Pods {
		use.Pods[p.Namespace+"/"+p.Name] = ft.Amounts("cpu=200m memory=0")
	}
	h := ft.NewHandle(t, o, ft.Options{Usage: use})
	h.Run(t, LoadDefinition(), atOnce("cpu=10", "cpu=10", func(a *LoadArgs) { a.UseDeviationThresholds = true }))
	assert.DeepEqual(t, h.Moves(), []string{"a/n1-0 n1 -> n3", "a/n1-1 n1 -> n3", "b/n2-0 n2 -> n3"})
}

// D-K-LNL-1: a node that gave pods away in one pool does not do so in the next.
func TestPoolsInOrder(t *testing.T) {
	pods := apps("a", "n1", "cpu=10m", 4)
	args := atOnce("cpu=20", "cpu=60", func(a *LoadArgs) {
		at := AnomalyCondition{ConsecutiveAbnormalities: 1}
		a.NodePools = []NodePool{{Name: "all", PoolThresholds: PoolThresholds{
			LowThresholds: percents("cpu=30"), HighThresholds: percents("cpu=40"), AnomalyCondition: &at,
		}}}
	})
	h := ft.NewHandle(t, framework.Objects{Nodes: three(), Pods: pods}, ft.Options{Usage: measured("n1=3500m n2=100m n3=100m", "800m", pods)})
	h.Run(t, LoadDefinition(), args)
	assert.DeepEqual(t, h.Moves(), []string{"a/n1-0 n1 -> n2", "a/n1-1 n1 -> n3"}) // to 1900, which is above 40 percent
}

// Pods that cost less go first, then those that use more; the greatest cost never goes.
func TestCostsOrderPods(t *testing.T) {
	pods := apps("a", "n1", "cpu=10m", 5)
	pods[0].Annotations[framework.KoordinatorEvictionCost] = fmt.Sprint(costMax)
	pods[1].Annotations[v1.PodDeletionCost] = "5"
	pods[2].Annotations[v1.PodDeletionCost] = "-50000000000" // what is beyond 32 bits counts as their bound
	pods[3].Annotations[framework.AnnotationEvictionCost] = fmt.Sprint(10 * costMax)
	pods[3].Annotations[v1.PodDeletionCost] = "NaN"
	use := measured("n1=3900m n2=100m", "300m", pods)
	use.Pods["a/n1-4"] = ft.Amounts("cpu=600m memory=0")
	h := ft.NewHandle(t, framework.Objects{Nodes: three()[:2], Pods: pods}, ft.Options{Usage: use})
	h.Run(t, LoadDefinition(), atOnce("cpu=20", "cpu=50"))
	assert.DeepEqual(t, h.Asked()[:2], []string{"a/n1-2", "a/n1-4"})
	assert.Assert(t, !slices.Contains(h.Asked(), "a/n1-0") && !slices.Contains(h.Asked(), "a/n1-3"), "%v", h.Asked())
}

// Each missing value of the condition has its own default.
// TestSingleReplicasGoFirst: of pods that use as much, one whose workload has no other pod on the node goes.
func TestSingleReplicasGoFirst(t *testing.T) {
	pods := slices.Concat(apps("a", "n1", "cpu=10m", 2, ft.Owned("ReplicaSet/two")), apps("b", "n1", "cpu=10m", 1, ft.Owned("ReplicaSet/one")))
	h := ft.NewHandle(t, framework.Objects{Nodes: three()[:2], Pods: pods}, ft.Options{Usage: measured("n1=2500m n2=100m", "800m", pods)})
	h.Run(t, LoadDefinition(), atOnce("cpu=20", "cpu=50"))
	assert.DeepEqual(t, h.Moves(), []string{"b/n1-0 n1 -> n2"})
}

func TestConditionDefaults(t *testing.T) {
	c := (&AnomalyCondition{ConsecutiveNormalities: 7}).withDefaults()
	assert.Equal(t, c.Timeout.Duration, time.Minute)
	assert.Equal(t, c.ConsecutiveAbnormalities, uint32(5))
	assert.Equal(t, c.ConsecutiveNormalities, uint32(7))
	c = (&AnomalyCondition{}).withDefaults()
	assert.Equal(t, c.ConsecutiveNormalities, uint32(3))
	assert.Equal(t, LoadDefinition().Args().(*LoadArgs).DetectorCacheTimeout.Duration, 5*time.Minute)
}

// TestMeasuredValuesExpireWithinAYear: ten times as long is refused, and so is a second more.
func TestMeasuredValuesExpireWithinAYear(t *testing.T) {
	for seconds, refused := range map[int64]bool{1: false, expirationMax: false, expirationMax + 1: true, 10 * expirationMax: true, 0: true} {
		err := validateLoad(&LoadArgs{NodeMetricExpirationSeconds: &seconds})
		assert.Equal(t, strings.Contains(err.Error(), "nodeMetricExpirationSeconds"), refused, "%d: %v", seconds, err)
	}
}

func TestValidateLoad(t *testing.T) {
	minus := int64(-1)
	bad := &LoadArgs{
		NumberOfNodes: -1, NodeMetricExpirationSeconds: &minus, DetectorCacheTimeout: &metav1.Duration{},
		EvictableNamespaces: &selection.Names{Include: []string{"a"}, Exclude: []string{"b"}},
		PodSelectors:        []PodSelector{{Selector: &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "a", Operator: "Of"}}}}},
		PoolThresholds: PoolThresholds{
			LowThresholds: percents("cpu=60"), HighThresholds: percents("cpu=50 memory=101"),
			ResourceWeights:  map[v1.ResourceName]int64{"cpu": -1},
			AnomalyCondition: &AnomalyCondition{Timeout: &metav1.Duration{Duration: -1}},
		},
		NodePools: []NodePool{{Name: "x"}, {Name: "x"}, {
			NodeSelector:   &metav1.LabelSelector{MatchLabels: map[string]string{"a": "b c"}},
			PoolThresholds: PoolThresholds{LowThresholds: percents("cpu=200"), HighThresholds: percents("cpu=50"), UseDeviationThresholds: true},
		}},
	}
	for _, part := range []string{
		"numberOfNodes: must be at least 0, not -1", "nodeMetricExpirationSeconds: must be from 1 to 31536000, which is a year, not -1", "detectorCacheTimeout: must be above 0s, not 0s",
		"evictableNamespaces", "podSelectors[0]", "lowThresholds.cpu: must not be above highThresholds.cpu, which is 50, and is 60",
		"highThresholds.memory: must be from 0 to 100, not 101", "memory is missing", "resourceWeights.cpu: must be from 0 to 100, not -1",
		"anomalyCondition.timeout: must be above 0s, not -1ns", `nodePools[1].name: "x" is the name of another pool`, "nodePools[0]: highThresholds must be set",
		"nodePools[2].lowThresholds.cpu: must be from 0 to 100, not 200", "nodePools[2].nodeSelector: ",
	} {
		assert.ErrorContains(t, validateLoad(bad), part)
	}
	definition := LoadDefinition()
	assert.ErrorContains(t, definition.Validate(LoadDefaults()), "must be set")
	assert.Error(t, definition.Validate(1), "arguments of LowNodeLoad are of type int")
	_, err := definition.New(t.Context(), bad, nil)
	assert.Assert(t, err != nil)
}
