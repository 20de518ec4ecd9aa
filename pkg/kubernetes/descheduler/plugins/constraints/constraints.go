// Package constraints reads what pods demand of nodes: labels and tolerations. It
// narrows down what a plugin looks at; where a pod can really run is the question of
// a Landing.
package constraints

import (
	"encoding/json"
	"slices"

	v1 "k8s.io/api/core/v1"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/features"
)

// Tolerates says whether a pod tolerates a taint.
func Tolerates(pod *v1.Pod, taint *v1.Taint) bool {
	compare := utilfeature.DefaultFeatureGate.Enabled(features.TaintTolerationComparisonOperators)
	return slices.ContainsFunc(pod.Spec.Tolerations, func(t v1.Toleration) bool {
		return t.ToleratesTaint(klog.Background(), taint, compare)
	})
}

// TaintsAllow says whether the taints of a node let a new pod in.
func TaintsAllow(pod *v1.Pod, node *v1.Node) bool {
	for i := range node.Spec.Taints {
		t := &node.Spec.Taints[i]
		if t.Effect != v1.TaintEffectPreferNoSchedule && !Tolerates(pod, t) {
			return false
		}
	}
	return true
}

// LabelsAllow says whether node selector and required node affinity of a pod match a
// node. Terms that cannot be read match nothing.
func LabelsAllow(pod *v1.Pod, node *v1.Node) bool {
	if len(pod.Spec.NodeSelector) == 0 && !HasRequiredAffinity(pod) {
		return true
	}
	ok, err := nodeaffinity.GetRequiredNodeAffinity(pod).Match(node)
	return err == nil && ok
}

// HasRequiredAffinity says whether a pod has a required node affinity.
func HasRequiredAffinity(pod *v1.Pod) bool {
	a := pod.Spec.Affinity
	return a != nil && a.NodeAffinity != nil && a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution != nil
}

// Key is equal for pods of which LabelsAllow, and with taints TaintsAllow, say the
// same for every node.
func Key(pod *v1.Pod, taints bool) string {
	demands := struct {
		Selector    map[string]string
		Affinity    *v1.NodeSelector
		Tolerations []v1.Toleration
	}{Selector: pod.Spec.NodeSelector}
	if HasRequiredAffinity(pod) {
		demands.Affinity = pod.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution
	}
	if taints {
		demands.Tolerations = pod.Spec.Tolerations
	}
	text, err := json.Marshal(demands)
	if err != nil {
		return string(pod.UID) // equal to no other pod
	}
	return string(text)
}
