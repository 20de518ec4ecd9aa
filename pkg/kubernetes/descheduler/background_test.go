package descheduler

import (
	"context"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"gotest.tools/v3/assert"
	v1 "k8s.io/api/core/v1"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/framework"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/policy"
)

// A lasting evict plugin reports its evictions until a test ends them.
type lasting struct {
	instance
	flying map[string]*v1.Pod
}

func (l *lasting) EvictPod(_ context.Context, pod *v1.Pod, _ framework.EvictOptions) error {
	l.flying[pod.Name] = pod
	return nil
}

func (l *lasting) report() (pods []*v1.Pod) {
	for _, p := range l.flying {
		pods = append(pods, p)
	}
	return pods
}

type reportsInFlight struct{ *lasting }

func (l reportsInFlight) InFlight() []*v1.Pod { return l.report() }

type reportsBackground struct{ *lasting }

func (l reportsBackground) Background() []*v1.Pod { return l.report() }

// TestReportedEvictions: what an evict plugin reports counts in flight until it is
// reported no more; what owners carry out counts in every cycle too (D-BG-4).
func TestReportedEvictions(t *testing.T) {
	two := 2
	for _, c := range []struct {
		name   string
		limits policy.Limits
		wrap   func(*lasting) framework.Plugin
		want   [4]int // evictions: at first, in the next cycle, after one has ended, after both have
	}{
		{
			"limit in flight",
			policy.Limits{InFlight: policy.InFlight{Total: &two}},
			func(l *lasting) framework.Plugin { return reportsInFlight{l} },
			[4]int{2, 0, 1, 2},
		},
		{
			"limit of a cycle",
			policy.Limits{Total: &two},
			func(l *lasting) framework.Plugin { return reportsInFlight{l} },
			[4]int{2, 2, 2, 2},
		},
		{
			"background in flight",
			policy.Limits{InFlight: policy.InFlight{PerNode: &two}},
			func(l *lasting) framework.Plugin { return reportsBackground{l} },
			[4]int{2, 0, 1, 2},
		},
		{
			"background in a cycle",
			policy.Limits{PerNamespace: &two},
			func(l *lasting) framework.Plugin { return reportsBackground{l} },
			[4]int{2, 0, 1, 2},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, podsOf(20, "a", "web")...)
			w.policy.Limits = c.limits
			registry := prometheus.NewRegistry()
			w.options.Metrics = NewMetrics(registry)
			w.policy.Profiles[0].Plugins[framework.Evict] = []string{"Lasting"}
			l := &lasting{flying: map[string]*v1.Pod{}}
			r := w.registry()
			assert.NilError(t, r.Register(framework.Definition{
				Name: "Lasting", Points: framework.Points(),
				New: func(context.Context, any, framework.Handle) (framework.Plugin, error) {
					l.instance = instance{scripted: &scripted{name: "Lasting"}}
					return c.wrap(l), nil
				},
			}))
			d, err := New(t.Context(), w.policy, r, w.options)
			assert.NilError(t, err)
			cycle := func() int {
				report, err := d.Cycle(t.Context())
				assert.NilError(t, err)
				return len(report.Evictions)
			}
			got := [4]int{cycle(), cycle()}
			delete(l.flying, "web-a-0")
			got[2] = cycle()
			clear(l.flying)
			cycle() // what ended is seen at the start of a cycle
			clear(l.flying)
			got[3] = cycle()
			assert.Equal(t, got, c.want)
			const counter = "descheduler_pods_evicted_total{namespace=team,node=a,profile=p,result=background,strategy=All}" // D-BG-5
			assert.Assert(t, counts(t, registry)[counter] >= float64(got[0]+got[1]+got[2]+got[3]), "%v", counts(t, registry))
		})
	}
}

// TestBackgroundOfTwoProfilesCountsOnce: evict plugins of several profiles may report the same pod.
func TestBackgroundOfTwoProfilesCountsOnce(t *testing.T) {
	w := newWorld(t, podsOf(3, "a", "web")...)
	l := &lasting{flying: map[string]*v1.Pod{}}
	for _, p := range w.pods {
		l.flying[p.Name] = p
	}
	l.instance = instance{scripted: &scripted{name: "Lasting"}}
	set := &profiles{list: []*profile{{name: "p", evict: reportsBackground{l}}, {name: "q", evict: reportsBackground{l}}}}
	assert.Equal(t, len(w.build().background(set)), 3)
}
