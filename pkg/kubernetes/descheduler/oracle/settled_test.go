package oracle

import (
	"fmt"
	"slices"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler"
)

// settle has evicted pods end, and their replacements run where the report says.
func settle(w *world, r *descheduler.Report, now time.Time) {
	to := map[types.UID]string{}
	for _, e := range r.Evictions {
		to[e.UID] = e.To
	}
	var pods []*v1.Pod
	for _, p := range w.o.Pods {
		node, evicted := to[p.UID]
		if !evicted {
			pods = append(pods, p)
		} else if node != "" {
			pods = append(pods, anew(p, node, now))
		}
	}
	w.o.Pods = pods
	for _, b := range w.o.Budgets {
		fill(b, pods)
	}
}

// settles plays cycles, with replacements where the reports say. One cycle of the first few has
// to find nothing to do.
func (e *engine) settles(w world, cycles int) []finding {
	x := w.copy()
	run, err := e.start(&x, false)
	if err != nil {
		return []finding{{"start", err.Error()}}
	}
	var all [][]string
	for range cycles {
		r, _, err := run.cycle()
		if err != nil {
			return []finding{{"cycle", err.Error()}}
		}
		if len(r.Evictions) == 0 {
			return nil
		}
		all = append(all, evictions(r))
		run.clock.Step(time.Minute)
		settle(&x, r, run.clock.Now())
	}
	return []finding{{"does not settle", fmt.Sprintf("%q", all)}}
}

// bounded makes the arguments of plugins such that there can be an end: without deviations each
// move does not change the thresholds, and without an age replacements are taken again.
func bounded(plugins []plugin) {
	for i := range plugins {
		a := &plugins[i].Args
		a.UseDeviationThresholds, a.EvictionLimits = false, nil
		if plugins[i].Name == lifeTime && a.MaxPodLifeTimeSeconds == nil {
			a.MaxPodLifeTimeSeconds = new(1800)
		}
	}
}

// TestNextCycle plays each plugin by itself until it has nothing left to do: at deschedule that
// is so in the second cycle, at balance in the third.
func TestNextCycle(t *testing.T) {
	e := newEngine(t)
	play(t, 300, func(seed uint64) world {
		name := allPlugins[seed%uint64(len(allPlugins))]
		w := random(seed, 3, options{plugins: []string{name}, one: true, simple: true, dense: seed%20 > 9}).world()
		w.s.CoolDown = 0
		bounded(w.s.Profiles[0].Plugins)
		if !atBalance(name) {
			w.s.Profiles[0].Evictor.MinReplicas = 0 // replacements of the cycle are no replicas yet
		}
		if name == affinity { // what was moved for the first type may move for the second
			a := &w.s.Profiles[0].Plugins[0].Args
			a.NodeAffinityType = a.NodeAffinityType[:1]
		}
		return w
	}, func(seed uint64, w world) []finding {
		if atBalance(allPlugins[seed%uint64(len(allPlugins))]) {
			return e.settles(w, 3)
		}
		return e.settles(w, 2)
	})
}

// TestSettles plays several plugins, until none has anything left to do. HighNodeUtilization
// fills the nodes that others empty, and plays with plugins at deschedule only. The core is
// asked, since without it two plugins may want a pod on different nodes.
func TestSettles(t *testing.T) {
	e := newEngine(t)
	play(t, 200, func(seed uint64) world {
		names := slices.DeleteFunc(slices.Clone(allPlugins), func(s string) bool {
			if seed%2 == 0 {
				return s == low || s == duplicates || s == spread
			}
			return s == high
		})
		w := random(seed, 4, options{plugins: names, simple: true, dense: seed%4 > 1}).world()
		w.s.CoolDown, w.core = 0, true
		for _, p := range w.s.Profiles {
			bounded(p.Plugins)
		}
		return w
	}, func(_ uint64, w world) []finding { return e.settles(w, 8) })
}
