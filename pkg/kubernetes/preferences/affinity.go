package preferences

import (
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/internal/podlabels"
)

// An affinity is what pods have for and against places because of other pods: by their own preferred terms, and by
// those of the others.
type affinity struct {
	scorer *Scorer
	own    []weighted
	space  labels.Set // labels of the namespace of the pods
	keys   []string   // of topologies
	sums   []sums     // by topology
	terms  int        // that hold for pods which are counted
}

// A weighted term is preferred affinity, or with a weight below zero anti-affinity.
type weighted struct {
	*fwk.AffinityTerm
	weight int64
}

// sums are what is for each place of a topology.
type sums struct {
	*topology
	of []int64
}

// newAffinity is that of a pod, with nothing counted.
func (s *Scorer) newAffinity(pod *v1.Pod) affinity {
	info, _ := framework.NewPodInfo(pod) // without terms that cannot be read
	return affinity{scorer: s, own: preferredOf(info), space: s.objects.labelsOf(pod.Namespace)}
}

// preferredOf is the preferred terms of a pod.
func preferredOf(info *framework.PodInfo) (terms []weighted) {
	for i := range info.PreferredAffinityTerms {
		term := &info.PreferredAffinityTerms[i]
		terms = append(terms, weighted{&term.AffinityTerm, int64(term.Weight)})
	}
	for i := range info.PreferredAntiAffinityTerms {
		term := &info.PreferredAntiAffinityTerms[i]
		terms = append(terms, weighted{&term.AffinityTerm, -int64(term.Weight)})
	}
	return terms
}

// isChoosy says that a pod has a say about where others are placed.
func isChoosy(info *framework.PodInfo) bool {
	return len(info.PreferredAffinityTerms)+len(info.PreferredAntiAffinityTerms)+len(info.RequiredAffinityTerms) > 0
}

// namedBy are the numbers of other pods that the affinity of a choosy one names.
func namedBy(a *v1.Affinity) (named podlabels.Numbers) {
	var weighted []v1.WeightedPodAffinityTerm
	if a.PodAffinity != nil {
		named = podlabels.NamedBy(a.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution...)
		weighted = a.PodAffinity.PreferredDuringSchedulingIgnoredDuringExecution
	}
	if a.PodAntiAffinity != nil {
		weighted = append(slices.Clip(weighted), a.PodAntiAffinity.PreferredDuringSchedulingIgnoredDuringExecution...)
	}
	for i := range weighted {
		named |= podlabels.NamedBy(weighted[i].PodAffinityTerm)
	}
	return named
}

// counts says whether any term holds for a pod that is counted.
func (a *affinity) counts() bool { return a.terms > 0 }

// count counts a pod for and against the places of its node.
func (a *affinity) count(of *v1.Pod, p *counted, slot, sign int32) {
	if len(a.own) == 0 && !p.choosy {
		return
	}
	if len(a.own) > 0 {
		space := a.scorer.objects.labelsOf(p.Pod.Namespace)
		for _, term := range a.own {
			if term.Matches(p.Pod, space) {
				a.put(term.TopologyKey, slot, sign, term.weight)
			}
		}
	}
	if !p.choosy || len(a.own) == 0 && a.scorer.profile.IgnoreOthers {
		return
	}
	for _, term := range preferredOf(p.PodInfo) {
		if term.Matches(of, a.space) {
			a.put(term.TopologyKey, slot, sign, term.weight)
		}
	}
	weight := a.scorer.profile.RequiredWeight
	for i := range p.RequiredAffinityTerms {
		if term := &p.RequiredAffinityTerms[i]; weight > 0 && term.Matches(of, a.space) {
			a.put(term.TopologyKey, slot, sign, weight)
		}
	}
}

// put adds a weight to the place of a node.
func (a *affinity) put(key string, slot, sign int32, weight int64) {
	a.terms += int(sign)
	at := a.at(key)
	if place := at.topology.of[slot]; place != nowhere {
		at.of[place] += int64(sign) * weight
	}
}

// at is the sums of a topology.
func (a *affinity) at(key string) *sums {
	for i := range a.keys {
		if a.keys[i] == key {
			return &a.sums[i]
		}
	}
	t := a.scorer.topologyOf(key)
	a.keys, a.sums = append(a.keys, key), append(a.sums, sums{t, make([]int64, t.places)})
	return &a.sums[len(a.sums)-1]
}

// add adds the points of the nodes of a question, from the least to the most that is for one of them.
func (a *affinity) add(on *scratch, weight int64) {
	if len(on.slots) == 0 {
		return
	}
	raw := on.rawScores()
	for i := range a.sums {
		at := &a.sums[i]
		for j, slot := range on.slots {
			if place := at.topology.of[slot]; place != nowhere {
				raw[j] += at.of[place]
			}
		}
	}
	least, top := raw[0], raw[0]
	for _, sum := range raw {
		least, top = min(least, sum), max(top, sum)
	}
	if least == top {
		return
	}
	for i, sum := range raw {
		on.total[i] += weight * (pointsMax * (sum - least) / (top - least))
	}
}
