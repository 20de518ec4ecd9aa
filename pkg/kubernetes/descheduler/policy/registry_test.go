package policy

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"gotest.tools/v3/assert"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/framework"
)

// The plugins of these tests have arguments of all kinds that plugins have.

type namespaces struct {
	Include []string `json:"include,omitempty"`
	Exclude []string `json:"exclude,omitempty"`
}

type lifeTimeArgs struct {
	Namespaces            *namespaces           `json:"namespaces,omitempty"`
	LabelSelector         *metav1.LabelSelector `json:"labelSelector,omitempty"`
	MaxPodLifeTimeSeconds *uint                 `json:"maxPodLifeTimeSeconds,omitempty"`
	States                []string              `json:"states,omitempty"`
}

type utilizationArgs struct {
	metav1.TypeMeta `json:",inline"`
	Thresholds      map[v1.ResourceName]float64 `json:"thresholds"`
	NumberOfNodes   int                         `json:"numberOfNodes,omitempty"`
	NodeFit         bool                        `json:"nodeFit,omitempty"`
	Anomaly         anomaly                     `json:"anomalyCondition"`
	Weights         map[v1.ResourceName]int64   `json:"resourceWeights"`
}

// Measures implements Measuring: weights of prometheus ask for it, and those of metrics for the metrics API.
func (a *utilizationArgs) Measures() (source, argument string) {
	if _, ok := a.Weights["prometheus"]; ok {
		return framework.Prometheus, "resourceWeights.prometheus"
	}
	if _, ok := a.Weights["metrics"]; ok {
		return framework.KubernetesMetrics, "resourceWeights.metrics"
	}
	return "", ""
}

type anomaly struct {
	Timeout     *metav1.Duration `json:"timeout,omitempty"`
	Consecutive uint32           `json:"consecutiveAbnormalities,omitempty"`
}

type evictorArgs struct {
	MinReplicas uint               `json:"minReplicas,omitempty"`
	MinPodAge   *metav1.Duration   `json:"minPodAge,omitempty"`
	Room        *resource.Quantity `json:"room,omitempty"`
	Share       intstr.IntOrString `json:"share"`
	Factor      int8               `json:"factor"`
	Extra       map[string]any     `json:"extra,omitempty"`
	Rows        []anomaly          `json:"rows,omitempty"`
	hidden      int
}

func testRegistry(t testing.TB) *framework.Registry {
	t.Helper()
	build := func(context.Context, any, framework.Handle) (framework.Plugin, error) { return nil, nil }
	r := new(framework.Registry)
	assert.NilError(t, r.Register(
		framework.Definition{
			Name: "DefaultEvictor", Points: []framework.Point{framework.Filter, framework.PreEvictionFilter}, New: build,
			Args: func() any { return &evictorArgs{Share: intstr.FromString("10%"), hidden: 1} },
		},
		framework.Definition{
			Name: "PodLifeTime", Points: []framework.Point{framework.Deschedule}, New: build,
			Args: func() any { return new(lifeTimeArgs) },
			Validate: func(args any) error {
				a := args.(*lifeTimeArgs)
				var problems []error
				if a.MaxPodLifeTimeSeconds == nil && len(a.States) == 0 {
					problems = append(problems, errors.New("one of maxPodLifeTimeSeconds and states has to be given"))
				}
				if n := a.Namespaces; n != nil && len(n.Include) > 0 && len(n.Exclude) > 0 {
					problems = append(problems, errors.New("namespaces.exclude: does not go with include"))
				}
				for i, state := range a.States {
					if state == "Asleep" {
						problems = append(problems, fmt.Errorf("states[%d]: is no state", i))
					}
				}
				return errors.Join(problems...)
			},
		},
		framework.Definition{
			Name: "LowNodeUtilization", Points: []framework.Point{framework.Balance}, New: build,
			Args: func() any {
				return &utilizationArgs{
					NodeFit: true, Weights: map[v1.ResourceName]int64{"cpu": 1, "memory": 1},
					Anomaly: anomaly{Consecutive: 5},
				}
			},
			Validate: func(args any) error {
				if args.(*utilizationArgs).NumberOfNodes == 13 {
					return errors.New("numberOfNodes: must not be 13")
				}
				return nil
			},
		},
		framework.Definition{Name: "Both", Points: []framework.Point{framework.Deschedule, framework.Balance}, New: build},
		framework.Definition{Name: "Eviction", Points: []framework.Point{framework.Evict}, New: build},
		framework.Definition{Name: "Delete", Points: []framework.Point{framework.Evict}, New: build},
		framework.Definition{Name: "Moving", Points: []framework.Point{framework.Evict, framework.Controller}, New: build},
		framework.Definition{Name: "Watching", Points: []framework.Point{framework.Controller}, New: build},
		framework.Definition{Name: "PrioritySort", Points: []framework.Point{framework.Sort}, New: build},
		framework.Definition{Name: "AgeSort", Points: []framework.Point{framework.Sort}, New: build},
	))
	return r
}

var testDefaults = map[framework.Point][]string{
	framework.Filter:            {"DefaultEvictor"},
	framework.PreEvictionFilter: {"DefaultEvictor"},
	framework.Evict:             {"Eviction"},
	framework.Sort:              {"PrioritySort"},
}

const header = "apiVersion: descheduler/v1alpha2\nkind: DeschedulerPolicy\n"

const configurationHeader = "apiVersion: descheduler/v1alpha2\nkind: DeschedulerConfiguration\n"

// load reads a text that is right.
func load(t testing.TB, text string) (*Policy, []Warning) {
	t.Helper()
	p, warnings, err := Load([]byte(text), testRegistry(t), Options{Defaults: testDefaults})
	assert.NilError(t, err)
	return p, warnings
}
