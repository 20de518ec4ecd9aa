// Package podindex finds the pods of a selector among many.
package podindex

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/internal/podlabels"
)

type label = podlabels.Label

// An Index finds pods by a selector without a look at all of them. It is not safe for concurrent
// use.
type Index struct {
	all     []*v1.Pod
	byLabel map[label][]*v1.Pod
	split   map[part]map[string][]*v1.Pod
}

// A part names the pods of a label, or all of them, by the domains of a topology key.
type part struct {
	label    label
	every    bool // all pods
	topology string
}

// New reads the labels of pods, which are kept.
func New(pods []*v1.Pod) *Index {
	x := &Index{all: pods, byLabel: map[label][]*v1.Pod{}, split: map[part]map[string][]*v1.Pod{}}
	for _, pod := range pods {
		for key, value := range pod.Labels { // each into a list of its own
			x.byLabel[label{Key: key, Value: value}] = append(x.byLabel[label{Key: key, Value: value}], pod)
		}
	}
	return x
}

// Near returns pods among which are all that a selector matches: those of its most
// selective requirement, in the order of the index for a requirement of one value.
func (x *Index) Near(selector labels.Selector) []*v1.Pod {
	best, every := x.narrow(selector)
	if every {
		return x.all
	}
	var found []*v1.Pod
	for _, l := range best {
		found = append(found, x.byLabel[l]...)
	}
	return found
}

// Within is Near without the pods of other domains of a topology key. Of a workload with very
// many pods it looks at few, where the domains are many.
func (x *Index) Within(selector labels.Selector, topology, domain string, domainOf func(*v1.Pod) (string, bool)) []*v1.Pod {
	best, every := x.narrow(selector)
	if every {
		return x.domains(part{every: true, topology: topology}, x.all, domainOf)[domain]
	}
	var found []*v1.Pod
	for _, l := range best {
		found = append(found, x.domains(part{label: l, topology: topology}, x.byLabel[l], domainOf)[domain]...)
	}
	return found
}

// domains splits pods once.
func (x *Index) domains(of part, pods []*v1.Pod, domainOf func(*v1.Pod) (string, bool)) map[string][]*v1.Pod {
	known, ok := x.split[of]
	if ok {
		return known
	}
	known = map[string][]*v1.Pod{}
	for _, pod := range pods {
		if domain, ok := domainOf(pod); ok {
			known[domain] = append(known[domain], pod)
		}
	}
	x.split[of] = known
	return known
}

// narrow returns the labels of the most selective requirement of a selector, of which a
// pod that it matches has one; every is true where no requirement narrows it.
func (x *Index) narrow(selector labels.Selector) (best []label, every bool) {
	lists, ok := podlabels.Choices(selector)
	if !ok {
		return nil, false
	}
	best, narrows := podlabels.Fewest(lists, func(l label) int { return len(x.byLabel[l]) })
	return best, !narrows
}
