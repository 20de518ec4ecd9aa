package oracle

import (
	"fmt"
	"testing"

	v1 "k8s.io/api/core/v1"
)

// onlyOne plays a dry run in which one pod can be evicted. It returns that pod, if there is one,
// and all that the only plugin could have taken in its place.
func (e *engine) onlyOne(w world) (taken *v1.Pod, others []*v1.Pod, evicted []string) {
	if len(w.s.Profiles) != 1 || len(w.s.Profiles[0].Plugins) != 1 {
		return nil, nil, nil
	}
	x := w.copy()
	run, err := e.start(&x, true)
	if err != nil {
		return nil, nil, []string{err.Error()}
	}
	r, _, err := run.cycle()
	if err != nil || r.Skipped != "" {
		return nil, nil, nil
	}
	m := newModel(&w)
	for _, v := range r.Evictions {
		taken = m.pods[v.UID]
	}
	pr := w.s.Profiles[0]
	for _, p := range w.o.Pods {
		if !m.processed(pr, m.nodes[p.Spec.NodeName]) || m.wants(pr.Plugins[0], p, start) != yes {
			continue
		}
		if o, _ := m.protection(pr, p, start); o != no {
			continue
		}
		if !returns(p) || m.fitsBetter(pr.Plugins[0], p) {
			others = append(others, p)
		}
	}
	return taken, others, evictions(r)
}

// fitsBetter says whether a pod fits on a node that a plugin takes as better.
func (m *model) fitsBetter(pl plugin, p *v1.Pod) bool {
	for name := range m.nodes {
		if m.fits(p, name) == "" && m.accepts(pl, p, name) {
			return true
		}
	}
	return false
}

// TestOldestFirst has room for one eviction: the oldest pod goes, or that with most restarts.
func TestOldestFirst(t *testing.T) {
	e := newEngine(t)
	play(t, 300, func(seed uint64) world {
		w := random(seed, 7, options{plugins: []string{pick(random(seed, 8), lifeTime, failed, restarts)}, one: true, simple: true}).world()
		w.s.Cycle.Total = 1
		return w
	}, func(_ uint64, w world) []finding {
		taken, others, evicted := e.onlyOne(w)
		for _, p := range others {
			if taken == nil || precedes(w.s.Profiles[0].Plugins[0].Name, p, taken) {
				return []finding{{"order", fmt.Sprintf("not %s: %q", id(p), evicted)}}
			}
		}
		return nil
	})
}

func precedes(plugin string, a, b *v1.Pod) bool {
	if plugin != restarts {
		return a.CreationTimestamp.Before(&b.CreationTimestamp)
	}
	return a.Status.ContainerStatuses[0].RestartCount > b.Status.ContainerStatuses[0].RestartCount
}

// TestLeastImportantFirst has room for one eviction: of the pods of a node, the least important
// one goes.
func TestLeastImportantFirst(t *testing.T) {
	e := newEngine(t)
	play(t, 300, func(seed uint64) world {
		w := random(seed, 14, options{plugins: []string{pick(random(seed, 13), taints, affinity, apart)}, one: true, simple: true}).world()
		w.s.Cycle.Total = 1
		w.core = false
		if a := &w.s.Profiles[0].Plugins[0].Args; a.NodeAffinityType != nil {
			a.NodeAffinityType = []string{requiredAffinity}
		}
		return w
	}, func(_ uint64, w world) []finding {
		taken, others, evicted := e.onlyOne(w)
		if taken == nil {
			return nil
		}
		for _, p := range others {
			if p.Spec.NodeName == taken.Spec.NodeName && importance(p) < importance(taken) {
				return []finding{{"importance", fmt.Sprintf("not %s: %q", id(p), evicted)}}
			}
		}
		return nil
	})
}

// importance is the priority; pods that prefer to stay are more important than others.
func importance(p *v1.Pod) int64 {
	of := int64(-1)
	if p.Spec.Priority != nil {
		of = int64(*p.Spec.Priority)
	}
	if _, ok := p.Annotations[noEvict]; ok {
		of += 1 << 40
	}
	return of
}
