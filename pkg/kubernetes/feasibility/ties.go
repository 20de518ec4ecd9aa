package feasibility

import (
	"slices"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// Ties say which other pods decide about a pod, and about which others it decides, on nodes
// where they do not run: by affinity, anti-affinity, spread constraints, and claims that
// only one pod may use. Where two pods have no tie, the answers about one of them change
// on no node but that of the other when that one comes or goes.
type Ties struct {
	pod     *v1.Pod
	wants   []tie // of affinity, anti-affinity and spread constraints
	against []tie // of anti-affinity alone: the others are refused too
	claims  map[string]bool
}

// A tie is to pods of a namespace, or of any if it is empty, by their labels.
type tie struct {
	namespaces []string
	selector   labels.Selector
}

// TiesOf are those of a pod.
func TiesOf(pod *v1.Pod) *Ties {
	t := &Ties{pod: pod}
	for _, term := range affinityTermsOf(pod) {
		t.wants = append(t.wants, tieOf(pod, term))
	}
	for _, term := range antiAffinityOf(pod) {
		t.against = append(t.against, tieOf(pod, term))
	}
	t.wants = append(t.wants, t.against...)
	for _, constraint := range pod.Spec.TopologySpreadConstraints {
		if isHard(constraint) {
			t.wants = append(t.wants, tie{[]string{pod.Namespace}, selectorOf(constraint.LabelSelector)})
		}
	}
	for i := range pod.Spec.Volumes {
		if claim := pod.Spec.Volumes[i].PersistentVolumeClaim; claim != nil {
			if t.claims == nil {
				t.claims = map[string]bool{}
			}
			t.claims[claim.ClaimName] = true
		}
	}
	return t
}

// tieOf is what a term looks at. The labels of namespaces may change, so a selector of them
// counts as one of all.
func tieOf(pod *v1.Pod, term v1.PodAffinityTerm) tie {
	to := tie{selector: selectorOf(term.LabelSelector)}
	switch {
	case term.NamespaceSelector != nil:
	case len(term.Namespaces) == 0:
		to.namespaces = []string{pod.Namespace}
	default:
		to.namespaces = term.Namespaces
	}
	return to
}

// selectorOf is a selector that matches no pod where it cannot be read, as the plugins have it.
func selectorOf(selector *metav1.LabelSelector) labels.Selector {
	parsed, err := metav1.LabelSelectorAsSelector(selector)
	if err != nil {
		return labels.Nothing()
	}
	return parsed
}

// Of are the ties of another pod of the same class. Its labels may be others.
func (t *Ties) Of(pod *v1.Pod) *Ties {
	other := *t
	other.pod = pod
	return &other
}

// Any says whether the pod itself has any. Without, only the anti-affinity of others ties it.
func (t *Ties) Any() bool { return len(t.wants)+len(t.claims) > 0 }

// Follow says whether affinity alone ties the pod to others.
func (t *Ties) Follow() bool {
	return len(t.wants) > 0 && len(t.against)+len(t.claims) == 0 && !t.Spread()
}

// Spread says whether the pod has spread constraints: which places there are decides about it, too.
func (t *Ties) Spread() bool {
	return slices.ContainsFunc(t.pod.Spec.TopologySpreadConstraints, isHard)
}

// Refuse says whether the pod may refuse others.
func (t *Ties) Refuse() bool { return len(t.against) > 0 }

// To says whether the answers about the pod may change on other nodes than that of another one
// when that one comes or goes.
func (t *Ties) To(other *Ties) bool {
	if matchAny(t.wants, other.pod) || matchAny(other.against, t.pod) {
		return true
	}
	if t.pod.Namespace == other.pod.Namespace {
		for claim := range t.claims {
			if other.claims[claim] {
				return true
			}
		}
	}
	return false
}

func matchAny(ties []tie, pod *v1.Pod) bool {
	return slices.ContainsFunc(ties, func(to tie) bool {
		return (to.namespaces == nil || slices.Contains(to.namespaces, pod.Namespace)) && to.selector.Matches(labels.Set(pod.Labels))
	})
}
