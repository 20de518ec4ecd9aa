package utilization

import (
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"gotest.tools/v3/assert"
	v1 "k8s.io/api/core/v1"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/framework"
	ft "github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/frameworktest"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/plugins/selection"
)

// percents reads "cpu=20 memory=30.5".
func percents(text string) Thresholds {
	t := Thresholds{}
	for key, value := range ft.Labels(text) {
		var p Percentage
		if err := p.UnmarshalJSON([]byte(value)); err != nil {
			panic(err)
		}
		t[v1.ResourceName(key)] = p
	}
	return t
}

func lowArgs(low, high string, edits ...func(*LowArgs)) *LowArgs {
	a := &LowArgs{Thresholds: percents(low), TargetThresholds: percents(high)}
	for _, edit := range edits {
		edit(a)
	}
	return a
}

// apps makes pods of owners of their own, so that nothing but use counts.
func apps(namespace, node, requests string, count int, edits ...func(*v1.Pod)) []*v1.Pod {
	var made []*v1.Pod
	for i := range count {
		name := fmt.Sprintf("%s/%s-%d", namespace, node, i)
		made = append(made, ft.Pod(name, node, requests, append(edits, ft.Owned("ReplicaSet/"+node+fmt.Sprint(i)))...))
	}
	return made
}

// three are nodes of four processors.
func three() []*v1.Node {
	return []*v1.Node{ft.Node("n1", "", ""), ft.Node("n2", "", ""), ft.Node("n3", "", "")}
}

func cordon(n *v1.Node) *v1.Node {
	n.Spec.Unschedulable = true
	n.Spec.Taints = append(n.Spec.Taints, v1.Taint{Key: v1.TaintNodeUnschedulable, Effect: v1.TaintEffectNoSchedule})
	return n
}

var balanceCases = []struct {
	name  string
	of    framework.Definition
	args  any
	nodes []*v1.Node
	pods  [][]*v1.Pod
	pack  bool
	want  []string
}{
	{
		name: "down to the target", of: LowDefinition(), args: lowArgs("cpu=20", "cpu=50"), nodes: three()[:2],
		pods: [][]*v1.Pod{apps("a", "n1", "cpu=500m", 7)},
		want: []string{"a/n1-0 n1 -> n2", "a/n1-1 n1 -> n2", "a/n1-2 n1 -> n2"},
	},
	{
		name: "at the target nothing", of: LowDefinition(), args: lowArgs("cpu=20", "cpu=50"), nodes: three()[:2],
		pods: [][]*v1.Pod{apps("a", "n1", "cpu=500m", 4)},
	},
	{
		name: "no node has room", of: LowDefinition(), args: lowArgs("cpu=20", "cpu=50"), nodes: three()[:2],
		pods: [][]*v1.Pod{apps("a", "n1", "cpu=500m", 7), apps("a", "n2", "cpu=1", 1)},
	},
	{
		name: "not more nodes with room than asked", of: LowDefinition(), nodes: three()[:2],
		args: lowArgs("cpu=20", "cpu=50", func(a *LowArgs) { a.NumberOfNodes = 1 }),
		pods: [][]*v1.Pod{apps("a", "n1", "cpu=500m", 7)},
	},
	{
		name: "the node with room is cordoned", of: LowDefinition(), args: lowArgs("cpu=20", "cpu=50"),
		nodes: []*v1.Node{ft.Node("n1", "", ""), cordon(ft.Node("n2", "", ""))},
		pods:  [][]*v1.Pod{apps("a", "n1", "cpu=500m", 7)},
	},
	{
		name: "a node that is cordoned is not one with room", of: LowDefinition(),
		args:  lowArgs("cpu=20", "cpu=50", func(a *LowArgs) { a.NumberOfNodes = 1 }),
		nodes: []*v1.Node{ft.Node("n1", "", ""), ft.Node("n2", "", ""), cordon(ft.Node("n3", "", ""))},
		pods:  [][]*v1.Pod{apps("a", "n1", "cpu=500m", 7)},
	},
	{
		name: "all nodes have room", of: LowDefinition(), args: lowArgs("cpu=90", "cpu=95"), nodes: three()[:2],
		pods: [][]*v1.Pod{apps("a", "n1", "cpu=500m", 7)},
	},
	{
		name: "a pod that would fill the other node above the target", of: LowDefinition(), args: lowArgs("cpu=20", "cpu=50"), nodes: three()[:2],
		pods: [][]*v1.Pod{apps("a", "n1", "cpu=2500m", 1)},
	},
	{
		name: "the scheduler would fill another node above the target", of: LowDefinition(), args: lowArgs("cpu=20", "cpu=50"), pack: true,
		nodes: []*v1.Node{ft.Taint(ft.Node("n1", "", ""), "closed", "", v1.TaintEffectNoSchedule), ft.Node("n2", "", ""), ft.Node("n3", "", "")},
		pods:  [][]*v1.Pod{apps("a", "n1", "cpu=500m", 7), apps("a", "n2", "cpu=1800m", 1)},
	},
	{
		name: "a resource without a threshold has its limit, too", of: LowDefinition(), args: lowArgs("cpu=20", "cpu=50"),
		nodes: []*v1.Node{ft.Node("n1", "", ""), ft.Node("n2", "memory=1Gi", "")},
		pods:  [][]*v1.Pod{apps("a", "n1", "cpu=500m memory=600Mi", 7)},
		want:  []string{"a/n1-0 n1 -> n2"},
	},
	{
		name: "namespaces that are excluded", of: LowDefinition(), nodes: three()[:2],
		args: lowArgs("cpu=20", "cpu=50", func(a *LowArgs) { a.EvictableNamespaces = &selection.Names{Exclude: []string{"a"}} }),
		pods: [][]*v1.Pod{apps("a", "n1", "cpu=1", 2), apps("b", "n1", "cpu=1", 1)},
		want: []string{"b/n1-0 n1 -> n2"},
	},
	{
		name: "a limit of evictions", of: LowDefinition(), nodes: three()[:2],
		args: lowArgs("cpu=20", "cpu=50", func(a *LowArgs) { one := uint(1); a.EvictionLimits = &EvictionLimits{Node: &one} }),
		pods: [][]*v1.Pod{apps("a", "n1", "cpu=500m", 6)},
		want: []string{"a/n1-0 n1 -> n2"},
	},
	{
		name: "a limit of no evictions", of: LowDefinition(), nodes: three()[:2],
		args: lowArgs("cpu=20", "cpu=50", func(a *LowArgs) { a.EvictionLimits = &EvictionLimits{Node: new(uint)} }),
		pods: [][]*v1.Pod{apps("a", "n1", "cpu=500m", 7)},
	},
	{
		name: "completed pods use nothing", of: LowDefinition(), args: lowArgs("cpu=20", "cpu=50"), nodes: three()[:2],
		pods: [][]*v1.Pod{apps("a", "n1", "cpu=500m", 7, ft.Phase(v1.PodSucceeded))},
	},
	{
		// The mean is 58 percent: 33 and 83 are the limits, and n3 at 75 is within.
		name: "deviations", of: LowDefinition(), nodes: three(),
		args: lowArgs("cpu=25", "cpu=25", func(a *LowArgs) { a.UseDeviationThresholds = true }),
		pods: [][]*v1.Pod{apps("a", "n1", "cpu=500m", 8), apps("a", "n3", "cpu=500m", 6)},
		want: []string{"a/n1-0 n1 -> n2", "a/n1-1 n1 -> n2"},
	},
	{
		name: "the fullest node goes first", of: LowDefinition(), args: lowArgs("cpu=20", "cpu=50"), nodes: three(),
		pods: [][]*v1.Pod{apps("a", "n1", "cpu=500m", 5), apps("a", "n2", "cpu=500m", 6)},
		want: []string{"a/n2-0 n2 -> n3", "a/n2-1 n2 -> n3", "a/n1-0 n1 -> n3"},
	},

	{
		name: "little in use is packed", of: HighDefinition(), args: &HighArgs{Thresholds: percents("cpu=30")}, nodes: three()[:2], pack: true,
		pods: [][]*v1.Pod{apps("a", "n1", "cpu=500m", 2), apps("a", "n2", "cpu=500m", 4)},
		want: []string{"a/n1-0 n1 -> n2", "a/n1-1 n1 -> n2"},
	},
	{
		name: "a scheduler that spreads would bring them back", of: HighDefinition(), args: &HighArgs{Thresholds: percents("cpu=30")}, nodes: three(),
		pods: [][]*v1.Pod{apps("a", "n1", "cpu=500m", 2), apps("a", "n2", "cpu=500m", 4)},
	},
	{
		name: "only as many as fit", of: HighDefinition(), args: &HighArgs{Thresholds: percents("cpu=30")}, nodes: three()[:2], pack: true,
		pods: [][]*v1.Pod{apps("a", "n1", "cpu=500m", 2), apps("a", "n2", "cpu=500m", 7)},
		want: []string{"a/n1-0 n1 -> n2"},
	},
	{
		name: "not more such nodes than asked", of: HighDefinition(), args: &HighArgs{Thresholds: percents("cpu=30"), NumberOfNodes: 1}, nodes: three()[:2], pack: true,
		pods: [][]*v1.Pod{apps("a", "n1", "cpu=500m", 2), apps("a", "n2", "cpu=500m", 4)},
	},
	{
		name: "all nodes have little in use", of: HighDefinition(), args: &HighArgs{Thresholds: percents("cpu=90")}, nodes: three()[:2], pack: true,
		pods: [][]*v1.Pod{apps("a", "n1", "cpu=500m", 2), apps("a", "n2", "cpu=500m", 4)},
	},
	{
		name: "only pods that request what has a threshold", of: HighDefinition(), nodes: three()[:2], pack: true,
		args: &HighArgs{Thresholds: percents("cpu=30"), EvictionModes: []string{OnlyThresholdingResources}},
		pods: [][]*v1.Pod{apps("a", "n1", "cpu=500m", 1), apps("b", "n1", "memory=1Gi", 1), apps("a", "n2", "cpu=500m", 4)},
		want: []string{"a/n1-0 n1 -> n2"},
	},
}

func TestBalance(t *testing.T) {
	for _, c := range balanceCases {
		t.Run(c.of.Name+" "+c.name, func(t *testing.T) {
			o := framework.Objects{Nodes: c.nodes, Pods: slices.Concat(c.pods...)}
			h := ft.NewHandle(t, o, ft.Options{Packing: c.pack})
			assert.Assert(t, h.Run(t, c.of, c.args) == nil)
			if c.want == nil {
				c.want = []string{}
			}
			assert.DeepEqual(t, h.Moves(), c.want)
			next := ft.NewHandle(t, h.Replaced(), ft.Options{Packing: c.pack})
			next.Run(t, c.of, c.args)
			if c.name != "a limit of evictions" {
				assert.DeepEqual(t, next.Moves(), []string{})
			}
		})
	}
}

// The order of pods does not depend on a comparison that is no order: equal pods go by
// age and name, in whatever order they are listed.
func TestEqualPodsGoByName(t *testing.T) {
	pods := apps("a", "n1", "cpu=500m", 7)
	random := rand.New(rand.NewPCG(1, 2))
	for range 5 {
		random.Shuffle(len(pods), func(i, j int) { pods[i], pods[j] = pods[j], pods[i] })
		h := ft.NewHandle(t, framework.Objects{Nodes: three()[:2], Pods: pods}, ft.Options{})
		h.Run(t, LowDefinition(), lowArgs("cpu=20", "cpu=50"))
		assert.DeepEqual(t, h.Evicted(), []string{"a/n1-0", "a/n1-1", "a/n1-2"})
	}
}

func measuredArgs(edit func(*LowArgs)) *LowArgs {
	return lowArgs("cpu=20", "cpu=50", func(a *LowArgs) {
		a.MetricsUtilization = &MetricsUtilization{Source: framework.KubernetesMetrics}
		if edit != nil {
			edit(a)
		}
	})
}

func TestMeasuredUse(t *testing.T) {
	pods := apps("a", "n1", "cpu=100m", 4)
	use := ft.Use{
		Nodes: map[string]v1.ResourceList{
			"n1": ft.Amounts("cpu=3500m memory=1Gi"), "n2": ft.Amounts("cpu=100m memory=1Gi"), "n3": ft.Amounts("cpu=2 memory=1Gi"),
		},
		Pods: map[string]v1.ResourceList{},
	}
	for i := range 4 {
		use.Pods[fmt.Sprintf("a/n1-%d", i)] = ft.Amounts("cpu=800m memory=100Mi")
	}
	run := func(u framework.Usage) *ft.Handle {
		h := ft.NewHandle(t, framework.Objects{Nodes: three()[:2], Pods: pods}, ft.Options{Usage: u})
		assert.Assert(t, h.Run(t, LowDefinition(), measuredArgs(nil)) == nil)
		return h
	}
	// n1 goes from 3500 to 1900, and n2 from 100 to 1700.
	assert.DeepEqual(t, run(use).Moves(), []string{"a/n1-0 n1 -> n2", "a/n1-1 n1 -> n2"})
	// What is not known of a pod keeps it.
	delete(use.Pods, "a/n1-0")
	h := run(use)
	assert.DeepEqual(t, h.Moves(), []string{"a/n1-1 n1 -> n2", "a/n1-2 n1 -> n2"})
	assert.Equal(t, h.Declined()[0], "a/n1-0: LowNodeUtilization: it is not known, or not of late, what pod a/n1-0 uses")
	// What is not known of a node leaves it alone: as a source and as a place to go.
	for _, name := range []string{"n1", "n2"} {
		nodes := map[string]v1.ResourceList{"n1": use.Nodes["n1"], "n2": use.Nodes["n2"]}
		delete(nodes, name)
		assert.DeepEqual(t, run(ft.Use{Nodes: nodes, Pods: use.Pods}).Moves(), []string{})
		nodes[name] = ft.Amounts("memory=1Gi") // a part is not known
		assert.DeepEqual(t, run(ft.Use{Nodes: nodes, Pods: use.Pods}).Moves(), []string{})
	}
	none := ft.NewHandle(t, framework.Objects{Nodes: three(), Pods: pods}, ft.Options{})
	assert.Error(t, none.Run(t, LowDefinition(), measuredArgs(nil)).Err, "no source of measured use is configured: metricsProviders of the policy names none")
}

// A pod that another plugin has evicted in this cycle uses nothing where it was, and
// something where it will be.
func TestMeasuredUseCountsBookings(t *testing.T) {
	pods := apps("a", "n1", "cpu=100m", 3)
	use := ft.Use{
		Nodes: map[string]v1.ResourceList{"n1": ft.Amounts("cpu=2500m memory=0"), "n2": ft.Amounts("cpu=0 memory=0")},
		Pods:  map[string]v1.ResourceList{},
	}
	for _, p := range pods {
		use.Pods["a/"+p.Name] = ft.Amounts("cpu=800m memory=0")
	}
	h := ft.NewHandle(t, framework.Objects{Nodes: three()[:2], Pods: pods}, ft.Options{Usage: use})
	assert.NilError(t, h.Evictor().EvictPod(t.Context(), pods[2], framework.EvictOptions{}))
	h.Run(t, LowDefinition(), measuredArgs(nil))
	assert.DeepEqual(t, h.Moves(), []string{"a/n1-2 n1 -> n2"}) // 1700 are below the target by then
}

// D-USE-2: a query says nothing of pods, so one pod leaves a node, unless a limit says
// how many, and no node gets more than that.
func TestQueryMovesOnePod(t *testing.T) {
	part := func(milli string) v1.ResourceList { return ft.Amounts("MetricResource=" + milli) }
	use := ft.Use{Nodes: map[string]v1.ResourceList{"n1": part("900m"), "n2": part("100m"), "n3": part("400m")}}
	args := func(edit func(*LowArgs)) *LowArgs {
		return lowArgs("MetricResource=20", "MetricResource=50", func(a *LowArgs) {
			a.MetricsUtilization = &MetricsUtilization{Source: framework.Prometheus, Prometheus: &PrometheusQuery{Query: "q"}}
			edit(a)
		})
	}
	o := framework.Objects{Nodes: three(), Pods: slices.Concat(apps("a", "n1", "cpu=100m", 5), apps("a", "n3", "cpu=2", 1))}
	h := ft.NewHandle(t, o, ft.Options{Usage: use})
	h.Run(t, LowDefinition(), args(func(*LowArgs) {}))
	assert.DeepEqual(t, h.Moves(), []string{"a/n1-0 n1 -> n2"})
	h = ft.NewHandle(t, o, ft.Options{Usage: use})
	h.Run(t, LowDefinition(), args(func(a *LowArgs) { two := uint(2); a.EvictionLimits = &EvictionLimits{Node: &two} }))
	assert.DeepEqual(t, h.Moves(), []string{"a/n1-0 n1 -> n2", "a/n1-1 n1 -> n2"})
}

func TestPercentage(t *testing.T) {
	for text, want := range map[string]Percentage{"20": 20_000, "20.5": 20_500, "0.001": 1, "0.0019": 1, "-3": -3000, "100": full} {
		var p Percentage
		assert.NilError(t, json.Unmarshal([]byte(text), &p))
		assert.Equal(t, p, want)
		var again Percentage
		assert.NilError(t, json.Unmarshal([]byte(p.String()), &again))
		assert.Equal(t, again, p)
	}
	for _, text := range []string{`"20"x`, `true`, `1e400000000`, `1E1`, `123456789012345678901234567890123`, `99999999999999999999`} {
		var p Percentage
		assert.Assert(t, p.UnmarshalJSON([]byte(text)) != nil, text)
	}
	text, err := json.Marshal(Thresholds{"cpu": 20_500})
	assert.NilError(t, err)
	assert.Equal(t, string(text), `{"cpu":20.5}`)
}

// above and shareOf are exact where products do not fit into 64 bits.
func TestSharesAreExact(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for range 2000 {
		used, all := random.Int64()>>random.IntN(63), random.Int64()>>random.IntN(63)
		part := Percentage(random.Int64N(int64(full) + 1))
		left := new(big.Int).Mul(big.NewInt(used), big.NewInt(int64(full)))
		right := new(big.Int).Mul(big.NewInt(all), big.NewInt(int64(part)))
		assert.Equal(t, above(used, all, part), left.Cmp(right) > 0, "%d %d %d", used, all, part)
		if all == 0 || used == 0 {
			continue
		}
		quotient, rest := new(big.Int).QuoRem(left, big.NewInt(all), new(big.Int))
		want := big.NewInt(int64(full) * 1_000_000)
		if quotient.Cmp(want) > 0 {
			quotient, rest = want, new(big.Int)
		}
		assert.Equal(t, int64(shareOf(used, all, false)), quotient.Int64())
		if rest.Sign() > 0 && quotient.Cmp(want) < 0 {
			quotient.Add(quotient, big.NewInt(1))
		}
		assert.Equal(t, int64(shareOf(used, all, true)), quotient.Int64())
	}
	assert.Equal(t, shareOf(math.MaxInt64, 1, true), full*1_000_000)
	assert.Equal(t, shareOf(1, 0, true), full)
	assert.Equal(t, shareOf(-1, 1, true), Percentage(0))
}

func TestValidateNamesAll(t *testing.T) {
	include := &selection.Names{Include: []string{"a"}}
	for _, c := range []struct {
		of   framework.Definition
		args any
		want []string
	}{
		{LowDefinition(), &LowArgs{EvictableNamespaces: include, NumberOfNodes: -1}, []string{"only exclude", "must be set", "numberOfNodes"}},
		{LowDefinition(), lowArgs("cpu=30 memory=101", "cpu=20 pods=-1"), []string{"thresholds.cpu: must not be above targetThresholds.cpu, which is 20, and is 30", "thresholds.memory: must be from 0 to 100, not 101", "targetThresholds.pods: must be from 0 to 100, not -1", "memory is missing", "pods is missing"}},
		{LowDefinition(), lowArgs("CPU=10 hugepages-2Mi=1 example.org/x=1", "cpus=20"), []string{
			"thresholds.CPU: is no resource of nodes, did you mean cpu?", "targetThresholds.cpus: is no resource of nodes, known here: cpu, memory, pods, ephemeral-storage",
		}},
		{LowDefinition(), measuredArgs(func(a *LowArgs) { a.MetricsUtilization.MetricsServer = true }), []string{"metricsServer"}},
		{LowDefinition(), measuredArgs(func(a *LowArgs) { a.MetricsUtilization.Prometheus = &PrometheusQuery{} }), []string{"prometheus cannot be set"}},
		{LowDefinition(), measuredArgs(func(a *LowArgs) { a.MetricsUtilization.Source = framework.Prometheus }), []string{"query", "only resource is MetricResource"}},
		{LowDefinition(), measuredArgs(func(a *LowArgs) { a.MetricsUtilization.Source = "Graphite" }), []string{`"Graphite"`}},
		{LowDefinition(), measuredArgs(func(a *LowArgs) { a.MetricsUtilization.Source = "" }), []string{"source must be set"}},
		{LowDefinition(), 1, []string{"int"}},
		{HighDefinition(), &HighArgs{EvictableNamespaces: include, NumberOfNodes: -1, EvictionModes: []string{"All"}}, []string{"only exclude", "must be set", "numberOfNodes", `"All"`}},
		{HighDefinition(), 1, []string{"int"}},
	} {
		for _, part := range c.want {
			assert.ErrorContains(t, c.of.Validate(c.args), part)
		}
		_, err := c.of.New(t.Context(), c.args, nil)
		assert.Assert(t, err != nil)
	}
	deviating := lowArgs("cpu=30", "cpu=20", func(a *LowArgs) { a.UseDeviationThresholds = true })
	assert.NilError(t, LowDefinition().Validate(deviating))
	assert.NilError(t, LowDefinition().Validate(measuredArgs(func(a *LowArgs) {
		a.MetricsUtilization = &MetricsUtilization{MetricsServer: true}
	})))
}
