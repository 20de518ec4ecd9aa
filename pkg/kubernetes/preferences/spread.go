package preferences

import (
	"math/bits"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// A spread is the constraints of pods that may be broken: how many pods they count in each place.
type spread struct {
	constraints []constraint
	selector    string // from which constraints follow that the pods do not have themselves
	all         bool   // a node that lacks a topology of a constraint has no score
}

// A constraint counts pods of a namespace that a selector matches in each place of a topology.
type constraint struct {
	*topology
	selector labels.Selector
	skew     int64
	single   bool    // each node is a place of its own
	counts   []int64 // by place; by slot where each node is a place
	counted  []bool  // by slot: pods there count
}

// selects is which pods count for the constraints of a pod that has none itself; nothing is said where it has.
func (s *Scorer) selects(pod *v1.Pod) labels.Selector {
	if len(pod.Spec.TopologySpreadConstraints) > 0 {
		return labels.Everything()
	}
	return s.objects.selectorOf(pod)
}

// newSpread are the constraints of a pod, with nothing counted. Matches says of each node whether the selector and
// required affinity of the pod do, and tolerated whether it tolerates the taints.
func (s *Scorer) newSpread(pod *v1.Pod, matches, tolerated []bool) spread {
	var of spread
	wanted := pod.Spec.TopologySpreadConstraints
	selects, own := s.selects(pod), len(wanted) > 0
	of.selector, of.all = selects.String(), own || s.profile.AllPlaces
	if !own {
		if selects.Empty() {
			return of
		}
		wanted = s.profile.Constraints
	}
	for i := range wanted {
		w := &wanted[i]
		if w.WhenUnsatisfiable != v1.ScheduleAnyway {
			continue
		}
		selector := selects
		if own {
			selector = selectorOf(w, pod)
		}
		of.constraints = append(of.constraints, s.newConstraint(w, selector, matches, tolerated))
	}
	if of.all {
		of.leaveOut()
	}
	return of
}

func (s *Scorer) newConstraint(w *v1.TopologySpreadConstraint, selector labels.Selector, matches, tolerated []bool) constraint {
	c := constraint{
		topology: s.topologyOf(w.TopologyKey), selector: selector, skew: int64(w.MaxSkew),
		single: w.TopologyKey == v1.LabelHostname, counted: make([]bool, len(s.nodes)),
	}
	if c.single {
		c.counts = make([]int64, len(s.nodes))
	} else {
		c.counts = make([]int64, c.places)
	}
	honours := w.NodeAffinityPolicy == nil || *w.NodeAffinityPolicy == v1.NodeInclusionPolicyHonor
	avoids := w.NodeTaintsPolicy != nil && *w.NodeTaintsPolicy == v1.NodeInclusionPolicyHonor
	for slot := range s.nodes {
		c.counted[slot] = c.of[slot] != nowhere && (c.single || (!honours || matches[slot]) && (!avoids || tolerated[slot]))
	}
	return c
}

// leaveOut has no pods counted where a topology is missing.
func (s *spread) leaveOut() {
	for i := range s.constraints {
		c := &s.constraints[i]
		for slot := range c.counted {
			c.counted[slot] = c.counted[slot] && s.has(int32(slot))
		}
	}
}

// has says whether a node has a place in all topologies, or need not have.
func (s *spread) has(slot int32) bool {
	if !s.all {
		return true
	}
	for i := range s.constraints {
		if s.constraints[i].of[slot] == nowhere {
			return false
		}
	}
	return true
}

// selectorOf is that of a constraint, for a pod; it matches no pod where it cannot be read.
func selectorOf(w *v1.TopologySpreadConstraint, pod *v1.Pod) labels.Selector {
	selector, err := metav1.LabelSelectorAsSelector(w.LabelSelector)
	if err != nil {
		return labels.Nothing()
	}
	for _, key := range w.MatchLabelKeys {
		if value, ok := pod.Labels[key]; ok {
			requirements, _ := labels.SelectorFromSet(labels.Set{key: value}).Requirements()
			selector = selector.Add(requirements...)
		}
	}
	return selector
}

// count counts a pod for the constraints that look at it. One that is ending counts no more.
func (s *spread) count(of *v1.Pod, p *counted, slot, sign int32) {
	if p.Pod.Namespace != of.Namespace || p.Pod.DeletionTimestamp != nil {
		return
	}
	for i := range s.constraints {
		c := &s.constraints[i]
		if c.counted[slot] && c.selector.Matches(labels.Set(p.Pod.Labels)) {
			c.counts[c.placeOf(slot)] += int64(sign)
		}
	}
}

func (c *constraint) placeOf(slot int32) int32 {
	if c.single {
		return slot
	}
	return c.of[slot]
}

// add adds the points of the nodes of a question: the fewer pods are in the places of a node, the more.
func (s *spread) add(on *scratch, weight int64) {
	raw := on.rawScores()
	for i := range s.constraints {
		s.constraints[i].addTo(raw, s, on)
	}
	least, top := int64(-1), int64(0)
	for i, slot := range on.slots {
		if !s.has(slot) {
			continue
		}
		raw[i] = (raw[i] + one/2) / one
		if least < 0 || raw[i] < least {
			least = raw[i]
		}
		top = max(top, raw[i])
	}
	for i, slot := range on.slots {
		switch {
		case !s.has(slot):
		case top == 0:
			on.total[i] += weight * pointsMax
		default:
			on.total[i] += weight * (pointsMax * (top + least - raw[i]) / top)
		}
	}
}

// addTo adds what one constraint has against each node: the pods in its place, more where there are many places, so
// that a few large places do not count less than many small ones.
func (c *constraint) addTo(raw []int64, s *spread, on *scratch) {
	factor := logarithm(uint64(c.size(s, on) + 2))
	for i, slot := range on.slots {
		if place := c.of[slot]; place != nowhere && s.has(slot) {
			raw[i] += c.counts[c.placeOf(slot)]*factor + (c.skew-1)*one
		}
	}
}

// size is in how many places the nodes of a question are.
func (c *constraint) size(s *spread, on *scratch) (size int) {
	on.seen = append(on.seen[:0], make([]bool, c.places+1)...)
	for _, slot := range on.slots {
		if !s.has(slot) {
			continue
		}
		place := c.of[slot] + 1 // that no label says where is one place, too
		if c.single || !on.seen[place] {
			size++
		}
		on.seen[place] = true
	}
	return size
}

// one is 1 as a number with a fraction of 16 bits.
const one = 1 << 16

// logarithm is the natural logarithm of a number from 2 to 2^32, with a fraction of 16 bits.
func logarithm(n uint64) int64 {
	whole := bits.Len64(n) - 1
	x := n << (31 - whole) // from 1 to 2, with a fraction of 31 bits
	fraction := uint64(0)  // of the logarithm to base 2, of 24 bits
	for range 24 {
		x = x * x >> 31
		fraction <<= 1
		if x >= 1<<32 {
			x >>= 1
			fraction |= 1
		}
	}
	const naturalOfTwo = 11629080 // ln 2, of 24 bits
	return int64((uint64(whole)<<24 + fraction) * naturalOfTwo >> 32)
}
