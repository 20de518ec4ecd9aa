package preferences

import (
	"iter"

	v1 "k8s.io/api/core/v1"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/pods"
)

// bestWithPoints is Best where nodes have further points.
func (s *Scorer) bestWithPoints(pod *v1.Pod, nodes iter.Seq2[string, int64], most int) []string {
	var names []string
	var order []int64
	for name, points := range nodes {
		names, order = append(names, name), append(order, points)
	}
	again := func(yield func(string, int64) bool) {
		for i, name := range names {
			if !yield(name, order[i]) {
				return
			}
		}
	}
	further := s.points(pod, names)
	pod = pods.ForFilters(pod)
	devices := s.devicesOn(pod, again)
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.classOf(pod)
	if c.isIndifferent() && s.load == nil && further == nil && devices == nil {
		return nil
	}
	on, at := s.scored(c, again, devices), 0
	for i, name := range on.names { // some were left out
		for names[at] != name {
			at++
		}
		if further != nil {
			on.total[i] += further[at]
		}
	}
	return on.best(most)
}
