// Package podlabels finds pods by their labels without a look at all of them.
package podlabels

import (
	"iter"
	"slices"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/apimachinery/pkg/types"
)

// A Label is one of a pod.
type Label struct{ Key, Value string }

// A Set is some pods, by UID.
type Set[P any] map[types.UID]P

// An Index finds pods by label, or by what else can be said as one. No set in it is empty. It is not safe for concurrent use.
type Index[P any] map[Label]Set[P]

// Add has a pod found by a label.
func (x Index[P]) Add(l Label, uid types.UID, pod P) {
	set := x[l]
	if set == nil {
		set = make(Set[P], 1)
		x[l] = set
	}
	set[uid] = pod
}

// Remove has a pod found by a label no more.
func (x Index[P]) Remove(l Label, uid types.UID) {
	set := x[l]
	if delete(set, uid); len(set) == 0 {
		delete(x, l)
	}
}

// Near is sets of pods, outside of which no pod has one label of each list: the smallest that can be looked up. It is not
// ok if there are no lists.
func (x Index[P]) Near(lists [][]Label) (sets []Set[P], ok bool) {
	fewest, ok := Fewest(lists, func(l Label) int { return len(x[l]) })
	for _, l := range fewest {
		sets = append(sets, x[l])
	}
	return sets, ok
}

// Fewest is the first list of those with the fewest pods. It is not ok if there are no lists.
func Fewest(lists [][]Label, count func(Label) int) (fewest []Label, ok bool) {
	least := 0
	for _, list := range lists {
		pods := 0
		for _, l := range list {
			pods += count(l)
		}
		if !ok || pods < least {
			fewest, least, ok = list, pods, true
		}
	}
	return fewest, ok
}

// Choices is what a selector requires, as lists of labels: a pod that it matches has one of each list. What cannot be said
// in this way is left out. The values of one list are sorted. It is not ok if the selector matches no pod.
func Choices(selector labels.Selector) (lists [][]Label, ok bool) {
	requirements, ok := selector.Requirements()
	for i := range requirements {
		switch r := &requirements[i]; r.Operator() {
		case selection.Equals, selection.DoubleEquals, selection.In:
			var list []Label
			for _, value := range slices.Sorted(slices.Values(r.Values().UnsortedList())) {
				list = append(list, Label{r.Key(), value})
			}
			lists = append(lists, list)
		default:
		}
	}
	return lists, ok
}

// Once visits the pods of sets in no order, each once.
func Once[P any](sets []Set[P]) iter.Seq[P] {
	return func(yield func(P) bool) {
		for i, set := range sets {
			for uid, pod := range set {
				seen := slices.ContainsFunc(sets[:i], func(before Set[P]) bool {
					_, there := before[uid]
					return there
				})
				if !seen && !yield(pod) {
					return
				}
			}
		}
	}
}
