package nodefit

import (
	"encoding/json"
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/framework"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/plugins/podindex"
)

// against is the required anti-affinity between pods, in both directions: of a pod against those
// that stand on nodes, and of these against the pod. A rule that many pods have in common is
// looked at once in a domain.
type against struct {
	snapshot *framework.Snapshot
	standing *podindex.Index // pods of the snapshot
	gone     map[types.UID]bool
	come     map[domain][]*v1.Pod // replacements
	rules    map[domain]map[rule]*holders
	keys     []string // topology keys of rules, in order
}

// A domain is the nodes where a topology key has a value.
type domain struct{ key, value string }

// A rule is a term of anti-affinity as it is written.
type rule struct{ namespace, term string }

// holders are the pods of a domain that have a rule.
type holders struct {
	term fwk.AffinityTerm
	pods map[types.UID]bool
}

func newAgainst(s *framework.Snapshot, standing []*v1.Pod) *against {
	a := &against{
		snapshot: s, standing: podindex.New(standing), gone: map[types.UID]bool{},
		come: map[domain][]*v1.Pod{}, rules: map[domain]map[rule]*holders{},
	}
	for _, pod := range standing {
		a.each(pod, func(h *holders) { h.pods[pod.UID] = true })
	}
	return a
}

// arrive counts a replacement on its node.
func (a *against) arrive(pod *v1.Pod) {
	a.each(pod, func(h *holders) { h.pods[pod.UID] = true })
	if node := a.snapshot.Node(pod.Spec.NodeName); node != nil {
		for key, value := range node.Labels { // each into a list of its own
			a.come[domain{key, value}] = append(a.come[domain{key, value}], pod)
		}
	}
}

// leave counts a pod of the snapshot as gone.
func (a *against) leave(pod *v1.Pod) {
	a.gone[pod.UID] = true
	a.each(pod, func(h *holders) { delete(h.pods, pod.UID) })
}

// each calls do for the rules of a pod in the domains of its node. The scheduler does not heed
// rules that cannot be read either.
func (a *against) each(pod *v1.Pod, do func(*holders)) {
	terms, err := termsOf(pod)
	if err != nil {
		return
	}
	for i, term := range terms {
		value, ok := a.snapshot.DomainOf(pod, term.TopologyKey)
		text, err := json.Marshal(fwk.GetPodAntiAffinityTerms(pod.Spec.Affinity)[i])
		if !ok || err != nil {
			continue
		}
		at, as := domain{term.TopologyKey, value}, rule{pod.Namespace, string(text)}
		if a.rules[at] == nil {
			a.rules[at] = map[rule]*holders{}
		}
		if a.rules[at][as] == nil {
			a.rules[at][as] = &holders{term: term, pods: map[types.UID]bool{}}
		}
		do(a.rules[at][as])
		if i, found := slices.BinarySearch(a.keys, at.key); !found {
			a.keys = slices.Insert(a.keys, i, at.key)
		}
	}
}

// check returns an error where anti-affinity keeps a pod from a node.
func (a *against) check(pod *ask, node *v1.Node) error {
	if pod.unclear != nil {
		return pod.unclear
	}
	for i := range pod.terms {
		term := &pod.terms[i]
		if value, ok := node.Labels[term.TopologyKey]; ok && a.meets(pod.Pod, term, value) {
			return fmt.Errorf("the pod is against a pod of the same %s", term.TopologyKey)
		}
	}
	for _, key := range a.keys {
		value, ok := node.Labels[key]
		if !ok {
			continue
		}
		for _, h := range a.rules[domain{key, value}] { // any of them will do
			if h.term.Matches(pod.Pod, pod.labels) && h.others(pod.Pod) {
				return fmt.Errorf("a pod of the same %s is against the pod", key)
			}
		}
	}
	return nil
}

// meets says whether a pod stands in a domain that a term of another pod is against.
func (a *against) meets(pod *v1.Pod, term *fwk.AffinityTerm, value string) bool {
	is := func(other *v1.Pod) bool {
		return !isSame(other.UID, pod) && !a.gone[other.UID] && term.Matches(other, a.snapshot.NamespaceLabels(other.Namespace))
	}
	domainOf := func(p *v1.Pod) (string, bool) { return a.snapshot.DomainOf(p, term.TopologyKey) }
	return slices.ContainsFunc(a.standing.Within(term.Selector, term.TopologyKey, value, domainOf), is) ||
		slices.ContainsFunc(a.come[domain{term.TopologyKey, value}], is)
}

// others says whether a pod other than this one has the rule.
func (h *holders) others(pod *v1.Pod) bool {
	for uid := range h.pods { // at most three are looked at
		if !isSame(uid, pod) {
			return true
		}
	}
	return false
}

// isSame says whether a UID is that of a pod or of its replacement.
func isSame(uid types.UID, pod *v1.Pod) bool {
	return uid == pod.UID || uid == framework.StandInUID(pod)
}

// termsOf returns the required anti-affinity of a pod.
func termsOf(pod *v1.Pod) ([]fwk.AffinityTerm, error) {
	if pod.Spec.Affinity == nil {
		return nil, nil
	}
	return fwk.GetAffinityTerms(pod, fwk.GetPodAntiAffinityTerms(pod.Spec.Affinity))
}
