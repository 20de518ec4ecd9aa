package podlabels

import (
	"maps"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// numbers are the labels of Numbers, by bits.
var numbers = [NumbersMax]string{appsv1.StatefulSetPodNameLabel, appsv1.PodIndexLabel, batchv1.JobCompletionIndexAnnotation}

// Numbers is a set of the labels by which the pods of one controller differ: the number of a pod of a StatefulSet, its name, and
// the number of a pod of an indexed job. The zero value is empty.
type Numbers uint32

// NumbersMax is the number of such labels; a Numbers has no more bits.
const NumbersMax = 3

// NamedBy are the numbers that terms of affinity look at.
func NamedBy(terms ...v1.PodAffinityTerm) (named Numbers) {
	for i := range terms {
		t := &terms[i]
		named |= in(t.LabelSelector, t.MatchLabelKeys) | in(nil, t.MismatchLabelKeys)
	}
	return named
}

// NamedBySpread are the numbers that spread constraints look at.
func NamedBySpread(constraints []v1.TopologySpreadConstraint) (named Numbers) {
	for i := range constraints {
		named |= in(constraints[i].LabelSelector, constraints[i].MatchLabelKeys)
	}
	return named
}

// in are the numbers that a selector or keys name.
func in(s *metav1.LabelSelector, keys []string) (named Numbers) {
	for i, number := range numbers {
		is := slices.Contains(keys, number)
		if s != nil && !is {
			_, is = s.MatchLabels[number]
			is = is || slices.ContainsFunc(s.MatchExpressions, func(e metav1.LabelSelectorRequirement) bool { return e.Key == number })
		}
		if is {
			named |= 1 << i
		}
	}
	return named
}

// Without is labels without the numbers that are not in a set, and the names of those that were left out.
func Without(labels map[string]string, named Numbers) (looked map[string]string, left []string) {
	for i, number := range numbers {
		if _, numbered := labels[number]; numbered && named&(1<<i) == 0 {
			left = append(left, number)
		}
	}
	if len(left) == 0 {
		return labels, nil
	}
	looked = maps.Clone(labels)
	for _, number := range left {
		delete(looked, number)
	}
	return looked, left
}
