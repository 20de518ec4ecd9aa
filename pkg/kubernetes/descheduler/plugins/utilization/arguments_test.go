package utilization

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	v1 "k8s.io/api/core/v1"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/framework"
	ft "github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/frameworktest"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/plugins/selection"
)

// TestSeveralResources: one resource above its target is too much, and room is room of all.
func TestSeveralResources(t *testing.T) {
	for _, c := range []struct {
		name  string
		other string // requests on n2
		want  []string
	}{
		{"n2 has room of both", "cpu=100m", []string{"a/n1-0 n1 -> n2"}},
		{"n2 has room of one", "cpu=100m memory=5Gi", []string{}}, // 31 percent
	} {
		t.Run(c.name, func(t *testing.T) {
			pods := append(apps("a", "n1", "cpu=100m memory=3Gi", 3), apps("a", "n2", c.other, 1)...) // memory is 56 percent, and cpu 7
			h := ft.NewHandle(t, framework.Objects{Nodes: three()[:2], Pods: pods}, ft.Options{})
			assert.Assert(t, h.Run(t, LowDefinition(), lowArgs("cpu=20 memory=20", "cpu=50 memory=50")) == nil)
			assert.DeepEqual(t, h.Moves(), c.want)
		})
	}
}

// TestThresholdsOfDeviationsAreShares: a distance from the mean ends at nothing and at all.
func TestThresholdsOfDeviationsAreShares(t *testing.T) {
	c := &cluster{dimensions: []dimension{{name: "cpu"}, {name: "memory"}}, named: []int{0}}
	sums := []Percentage{180_000, 0} // of two nodes
	for _, d := range []struct {
		distance string
		sign     Percentage
		want     Percentage
	}{{"cpu=5", 1, 95_000}, {"cpu=20", 1, full}, {"cpu=20", -1, 70_000}, {"cpu=95", -1, 0}} {
		assert.DeepEqual(t, c.around(sums, 2, percents(d.distance), d.sign), []Percentage{d.want, full})
	}
}

// TestHighEmptiesTheEmptiestFirst: into nodes that take pods, and only pods of namespaces that are not
// excluded.
func TestHighEmptiesTheEmptiestFirst(t *testing.T) {
	pods := append(append(apps("a", "n1", "cpu=600m", 1), apps("a", "n2", "cpu=500m", 1)...), apps("a", "n3", "cpu=3", 1)...)
	for _, c := range []struct {
		name  string
		third *v1.Node
		args  HighArgs
		want  []string
	}{
		{"room for one", ft.Node("n3", "", ""), HighArgs{}, []string{"a/n2-0 n2 -> n3"}},
		{"room for both", ft.Node("n3", "cpu=5", ""), HighArgs{}, []string{"a/n2-0 n2 -> n3", "a/n1-0 n1 -> n3"}},
		{"an excluded namespace", ft.Node("n3", "", ""), HighArgs{EvictableNamespaces: &selection.Names{Exclude: []string{"a"}}}, []string{}},
		{"a cordoned node", cordon(ft.Node("n3", "", "")), HighArgs{}, []string{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.args.Thresholds = percents("cpu=20")
			nodes := []*v1.Node{ft.Node("n1", "", ""), ft.Node("n2", "", ""), c.third}
			h := ft.NewHandle(t, framework.Objects{Nodes: nodes, Pods: pods}, ft.Options{Packing: true})
			assert.Assert(t, h.Run(t, HighDefinition(), &c.args) == nil)
			assert.DeepEqual(t, h.Moves(), c.want)
		})
	}
}

// asked is a source of measured use that notes what it is asked for.
type asked struct {
	ft.Use
	queries *[]framework.UsageQuery
}

func (a asked) Of(_ context.Context, query framework.UsageQuery) (framework.Usage, error) {
	*a.queries = append(*a.queries, query)
	return a.Use, nil
}

// TestWhichUseIsAskedFor: the source, the query and the age are those of the arguments.
func TestWhichUseIsAskedFor(t *testing.T) {
	old := int64(42)
	for _, c := range []struct {
		name string
		of   framework.Definition
		args any
		want []framework.UsageQuery
	}{
		{"requests", LowDefinition(), lowArgs("cpu=20", "cpu=50"), nil},
		{"the metrics API", LowDefinition(), measuredArgs(nil), []framework.UsageQuery{{Source: framework.KubernetesMetrics}}},
		{"the metrics API, as it was written before", LowDefinition(), measuredArgs(func(a *LowArgs) {
			a.MetricsUtilization = &MetricsUtilization{MetricsServer: true}
		}), []framework.UsageQuery{{Source: framework.KubernetesMetrics}}},
		{"a query", LowDefinition(), lowArgs("MetricResource=20", "MetricResource=50", func(a *LowArgs) {
			a.MetricsUtilization = &MetricsUtilization{Source: framework.Prometheus, Prometheus: &PrometheusQuery{Query: "q"}}
		}), []framework.UsageQuery{{Source: framework.Prometheus, Query: "q"}}},
		{"the load", LoadDefinition(), atOnce("cpu=20", "cpu=50"), []framework.UsageQuery{{Source: framework.KubernetesMetrics, MaxAge: 3 * time.Minute}}},
		{"the load of late", LoadDefinition(), atOnce("cpu=20", "cpu=50", func(a *LoadArgs) { a.NodeMetricExpirationSeconds = &old }), []framework.UsageQuery{
			{Source: framework.KubernetesMetrics, MaxAge: 42 * time.Second},
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var queries []framework.UsageQuery
			h := ft.NewHandle(t, framework.Objects{Nodes: three()}, ft.Options{Usage: asked{queries: &queries}})
			assert.Assert(t, h.Run(t, c.of, c.args) == nil)
			assert.DeepEqual(t, queries, c.want)
		})
	}
}

// TestWeightsOrderNodes: the node that is loaded more goes first, and weights say by what. There is
// room for one pod.
func TestWeightsOrderNodes(t *testing.T) {
	stays := ft.Annotated(framework.AnnotationEvictionCost + "=" + strconv.Itoa(costMax))
	pods := slices.Concat(apps("a", "n1", "cpu=10m", 1), apps("a", "n2", "cpu=10m", 1), apps("b", "n1", "cpu=10m", 1, stays), apps("b", "n2", "cpu=10m", 1, stays))
	use := ft.Use{Nodes: map[string]v1.ResourceList{
		"n1": ft.Amounts("cpu=3800m memory=9Gi"), "n2": ft.Amounts("cpu=3 memory=15Gi"), "n3": ft.Amounts("cpu=400m memory=1Gi"),
	}, Pods: map[string]v1.ResourceList{"a/n1-0": ft.Amounts("cpu=1 memory=4Gi"), "a/n2-0": ft.Amounts("cpu=1 memory=4Gi")}}
	for _, c := range []struct {
		cpu, memory int64
		want        string
	}{{1, 0, "a/n1-0 n1 -> n3"}, {0, 1, "a/n2-0 n2 -> n3"}, {1, 1, "a/n2-0 n2 -> n3"}, {2, 1, "a/n1-0 n1 -> n3"}} {
		h := ft.NewHandle(t, framework.Objects{Nodes: three(), Pods: pods}, ft.Options{Usage: use})
		assert.Assert(t, h.Run(t, LoadDefinition(), atOnce("cpu=20 memory=20", "cpu=50 memory=50", func(a *LoadArgs) {
			a.ResourceWeights = map[v1.ResourceName]int64{"cpu": c.cpu, "memory": c.memory}
		})) == nil)
		assert.Equal(t, strings.Join(h.Moves(), ", "), c.want, "cpu %d, memory %d", c.cpu, c.memory)
	}
}
