package pods

import (
	"maps"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
)

// TagNodeSelector is which labels of nodes a pod needs, so that the core leaves nodes that have them to such pods.
const TagNodeSelector = "nodeSelector"

// NodeSelector is which labels of nodes a pod needs: its selector, and what a single required term of its node affinity says of
// values. What the tag cannot say is left out, and so are names of nodes: it decides nothing but what is scarce.
func NodeSelector(pod *v1.Pod) string {
	needs := map[string][]string{}
	if affinity := pod.Spec.Affinity; affinity != nil && affinity.NodeAffinity != nil {
		if required := affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution; required != nil && len(required.NodeSelectorTerms) == 1 {
			for _, is := range required.NodeSelectorTerms[0].MatchExpressions {
				switch is.Operator {
				case v1.NodeSelectorOpIn:
					needs[is.Key] = is.Values
				case v1.NodeSelectorOpDoesNotExist:
					needs[is.Key] = []string{""}
				}
			}
		}
	}
	for label, value := range pod.Spec.NodeSelector {
		needs[label] = []string{value}
	}
	delete(needs, v1.LabelHostname)
	var terms []string
	for _, label := range slices.Sorted(maps.Keys(needs)) {
		terms = append(terms, label+"="+strings.Join(slices.Sorted(slices.Values(needs[label])), "|"))
	}
	return strings.Join(terms, ",")
}
