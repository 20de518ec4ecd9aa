package feasibility

import (
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/kubernetes/pkg/scheduler/framework"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/internal/podlabels"
)

type (
	label = podlabels.Label
	// A podSet is some pods that are counted.
	podSet = podlabels.Set[*framework.PodInfo]
	// A labelIndex finds pods by label.
	labelIndex = podlabels.Index[*framework.PodInfo]
)

// matching is sets of pods, outside of which no pod matches the selector: the smallest
// that can be looked up. It is not ok if there are none but the set of all pods.
func matching(x labelIndex, selector *metav1.LabelSelector) (sets []podSet, ok bool) {
	if selector == nil {
		return nil, true // which matches no pod
	}
	return x.Near(choices(selector))
}

// choices is what a selector requires, as lists of labels: a pod that matches has one
// of each list. What cannot be said in this way is left out. The order is always the
// same.
func choices(selector *metav1.LabelSelector) [][]label {
	var lists [][]label
	for _, key := range slices.Sorted(maps.Keys(selector.MatchLabels)) {
		lists = append(lists, []label{{Key: key, Value: selector.MatchLabels[key]}})
	}
	for _, expression := range selector.MatchExpressions {
		if expression.Operator != metav1.LabelSelectorOpIn {
			continue
		}
		list := make([]label, len(expression.Values))
		for i, value := range expression.Values {
			list[i] = label{Key: expression.Key, Value: value}
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
			x.Add(l, uid, pod)
		} else {
			x.Remove(l, uid)
		}
	}
	for key, value := range pod.Pod.Labels {
		set(c.labelled, label{Key: key, Value: value})
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
