package pods

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
)

// TagNodeSelector is which labels of nodes a pod needs, so that the core leaves nodes that have them to such pods.
const TagNodeSelector = "nodeSelector"

// attributeTaint begins the name of a taint among the attributes of a node, and of a toleration in the tag.
const attributeTaint = "si/taint/"

// isState reports whether a taint says in which state a node is, which does not last and which most pods tolerate for a while.
func isState(taint string) bool { return strings.HasPrefix(taint, "node.kubernetes.io/") }

// valueOfTaint is never empty, as an attribute without a value is none.
func valueOfTaint(value string) string { return cmp.Or(value, "true") }

// NodeSelector is which labels of nodes a pod needs: its selector, and what a single required term of its node affinity says of
// values; and which taints it tolerates, whatever their effect. What the tag cannot say is left out, and so are names of nodes: it
// decides nothing but what is scarce.
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
	for _, t := range pod.Spec.Tolerations {
		if !isState(t.Key) && t.Effect != v1.TaintEffectPreferNoSchedule {
			name := attributeTaint + t.Key
			needs[name] = append(needs[name], "", toleratedBy(t))
		}
	}
	var terms []string
	for _, label := range slices.Sorted(maps.Keys(needs)) {
		terms = append(terms, label+"="+strings.Join(slices.Compact(slices.Sorted(slices.Values(needs[label]))), "|"))
	}
	return strings.Join(terms, ",")
}

// toleratedBy is which value of a taint a pod tolerates, a star for any.
func toleratedBy(t v1.Toleration) string {
	if t.Operator == v1.TolerationOpExists {
		return "*"
	}
	return valueOfTaint(t.Value)
}
