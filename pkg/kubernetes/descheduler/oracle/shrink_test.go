package oracle

import (
	"reflect"
	"slices"

	v1 "k8s.io/api/core/v1"
)

// A shrinker takes away what a finding does not need.
type shrinker struct {
	class string
	fails func(world) []finding
	w     world
	last  finding
}

// shrink returns the smallest world that it finds with a finding of a class.
func shrink(w world, class string, fails func(world) []finding) (world, finding) {
	s := &shrinker{class: class, fails: fails, w: w}
	s.try(func(*world) {})
	for again := true; again; {
		again = s.profiles()
		again = s.objects() || again
	}
	s.limits()
	s.details()
	return s.w, s.last
}

// try makes a change if the finding stays.
func (s *shrinker) try(change func(*world)) bool {
	v := s.w.copy()
	change(&v)
	for _, f := range s.fails(v) {
		if f.class == s.class {
			s.w, s.last = v, f
			return true
		}
	}
	return false
}

func (s *shrinker) profiles() (changed bool) {
	for i := len(s.w.s.Profiles) - 1; i >= 0; i-- {
		changed = s.try(func(w *world) { w.s.Profiles = slices.Delete(w.s.Profiles, i, i+1) }) || changed
	}
	for i := range s.w.s.Profiles {
		if !reflect.DeepEqual(s.w.s.Profiles[i].Evictor, evictorArgs{}) {
			changed = s.try(func(w *world) { w.s.Profiles[i].Evictor = evictorArgs{} }) || changed
		}
		for j := len(s.w.s.Profiles[i].Plugins) - 1; j >= 0; j-- {
			changed = s.try(func(w *world) { w.s.Profiles[i].Plugins = slices.Delete(w.s.Profiles[i].Plugins, j, j+1) }) || changed
		}
	}
	return changed
}

func (s *shrinker) objects() (changed bool) {
	for i := len(s.w.o.Pods) - 1; i >= 0; i-- {
		changed = s.try(func(w *world) { w.o.Pods = slices.Delete(w.o.Pods, i, i+1) }) || changed
	}
	for i := len(s.w.o.Nodes) - 1; i >= 0; i-- {
		if !slices.ContainsFunc(s.w.o.Pods, func(p *v1.Pod) bool { return p.Spec.NodeName == s.w.o.Nodes[i].Name }) {
			changed = s.try(func(w *world) { w.o.Nodes = slices.Delete(w.o.Nodes, i, i+1) }) || changed
		}
	}
	for i := len(s.w.o.Budgets) - 1; i >= 0; i-- {
		changed = s.try(func(w *world) { w.o.Budgets = slices.Delete(w.o.Budgets, i, i+1) }) || changed
	}
	return changed
}

func (s *shrinker) limits() {
	for _, of := range []func(*settings) *limits{
		func(s *settings) *limits { return &s.Cycle },
		func(s *settings) *limits { return &s.InFlight },
	} {
		for i := range 4 {
			s.try(func(w *world) { *of(&w.s).each()[i] = -1 })
		}
	}
	s.try(func(w *world) { w.s.RateMax = 0 })
}

func (s *shrinker) details() {
	for i := range s.w.o.Pods {
		for _, change := range []func(*v1.Pod){
			func(p *v1.Pod) { p.Spec.Tolerations = nil },
			func(p *v1.Pod) { p.Spec.Affinity = nil },
			func(p *v1.Pod) { p.Spec.TopologySpreadConstraints = nil },
			func(p *v1.Pod) { p.Spec.Volumes = nil },
			func(p *v1.Pod) { p.Spec.Priority = nil },
			func(p *v1.Pod) { p.Annotations = nil },
			func(p *v1.Pod) { p.Spec.Containers[0].Resources = v1.ResourceRequirements{} },
		} {
			s.try(func(w *world) { change(w.o.Pods[i]) })
		}
	}
	for i := range s.w.o.Nodes {
		s.try(func(w *world) { w.o.Nodes[i].Spec.Taints = nil })
		s.try(func(w *world) { w.o.Nodes[i].Spec.Unschedulable = false })
	}
}
