package feasibility

import (
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

// A label is one of a pod.
type label struct{ key, value string }

// A podSet is some pods that are counted.
type podSet map[types.UID]*framework.PodInfo

// A labelIndex finds pods by label. No set in it is empty.
type labelIndex map[label]podSet

func (x labelIndex) add(l label, pod *framework.PodInfo) {
	set := x[l]
	if set == nil {
		set = make(podSet, 1)
		x[l] = set
	}
	set[pod.Pod.UID] = pod
}

func (x labelIndex) remove(l label, uid types.UID) {
	set := x[l]
	if delete(set, uid); len(set) == 0 {
		delete(x, l)
	}
}

// matching is sets of pods, outside of which no pod matches the selector: the smallest
// that can be looked up. It is not ok if there are none but the set of all pods.
func (x labelIndex) matching(selector *metav1.LabelSelector) (sets []podSet, ok bool) {
	if selector == nil {
		return nil, true // which matches no pod
	}
	least := 0
	for _, labels := range choices(selector) {
		size := 0
		for _, l := range labels {
			size += len(x[l])
		}
		if ok && size >= least {
			continue
		}
		sets, least, ok = sets[:0], size, true
		for _, l := range labels {
			sets = append(sets, x[l])
		}
	}
	return sets, ok
}

// choices is what a selector requires, as lists of labels: a pod that matches has one
// of each list. What cannot be said in this way is left out. The order is always the
// same.
func choices(selector *metav1.LabelSelector) [][]label {
	var lists [][]label
	for _, key := range slices.Sorted(maps.Keys(selector.MatchLabels)) {
		lists = append(lists, []label{{key, selector.MatchLabels[key]}})
	}
	for _, expression := range selector.MatchExpressions {
		if expression.Operator != metav1.LabelSelectorOpIn {
			continue
		}
		list := make([]label, len(expression.Values))
		for i, value := range expression.Values {
			list[i] = label{expression.Key, value}
		}
		lists = append(lists, list)
	}
	return lists
}

// index adds a pod to the indexes, or takes it out of them.
func (c *cluster) index(pod *framework.PodInfo, present bool) {
	uid := pod.Pod.UID
	set := func(x labelIndex, l label) {
		if present {
			x.add(l, pod)
		} else {
			x.remove(l, uid)
		}
	}
	for key, value := range pod.Pod.Labels {
		set(c.labelled, label{key, value})
	}
	for _, term := range antiAffinityOf(pod.Pod) {
		if term.LabelSelector == nil {
			continue // which is against no pod
		}
		lists := choices(term.LabelSelector)
		if len(lists) == 0 {
			lists = [][]label{{anyLabel}}
		}
		for _, l := range lists[0] {
			set(c.against, l)
		}
	}
}

// anyLabel stands for terms that cannot be looked up by a label. No label has an empty
// key.
var anyLabel = label{}

func antiAffinityOf(pod *v1.Pod) []v1.PodAffinityTerm {
	if a := pod.Spec.Affinity; a != nil && a.PodAntiAffinity != nil {
		return a.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution
	}
	return nil
}

func affinityTermsOf(pod *v1.Pod) []v1.PodAffinityTerm {
	if a := pod.Spec.Affinity; a != nil && a.PodAffinity != nil {
		return a.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution
	}
	return nil
}
