package violations

import (
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/plugins/eviction"
)

// A label is a key with its value.
type label struct{ key, value string }

// An index finds pods by a selector without a look at all of them.
type index struct {
	all     []*v1.Pod
	byLabel map[label][]*v1.Pod
}

func newIndex(pods []*v1.Pod) *index {
	x := &index{all: pods, byLabel: map[label][]*v1.Pod{}}
	for _, pod := range pods {
		for key, value := range pod.Labels { // each into a list of its own
			x.byLabel[label{key, value}] = append(x.byLabel[label{key, value}], pod)
		}
	}
	return x
}

// near returns pods among which are all that a selector matches: those of its most
// selective requirement, in the order of the index for a requirement of one value.
func (x *index) near(selector labels.Selector) []*v1.Pod {
	requirements, selectable := selector.Requirements()
	if !selectable {
		return nil
	}
	best := x.all
	for _, r := range requirements {
		if !slices.Contains([]selection.Operator{selection.Equals, selection.DoubleEquals, selection.In}, r.Operator()) {
			continue
		}
		var found []*v1.Pod
		for _, value := range sorted(r.Values().UnsortedList()) {
			found = append(found, x.byLabel[label{r.Key(), value}]...)
		}
		if len(found) < len(best) {
			best = found
		}
	}
	return best
}

// counts says whether a pod is one that the scheduler looks at, and will look at when
// the pod that is to be moved comes back.
func counts(pod *v1.Pod) bool {
	return pod.DeletionTimestamp == nil && pod.Spec.NodeName != "" && !eviction.Ended(pod)
}

// wrongType is the error of arguments of another plugin.
func wrongType(plugin string, args any) error {
	return fmt.Errorf("arguments of %s are of type %T", plugin, args)
}

func sorted(values []string) []string {
	slices.Sort(values)
	return values
}
