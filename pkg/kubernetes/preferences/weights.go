package preferences

// Weights say how much each preference counts. Each gives a node 0 to 100 points, which are
// multiplied by its weight, from 0 (it does not count) to 100.
type Weights struct {
	Order       int64 // the order of nodes of the partition, as binpacking
	NodeTaints  int64 // taints with the effect PreferNoSchedule
	NodeLabels  int64 // preferred node affinity
	Spread      int64 // spread constraints with ScheduleAnyway, and default ones
	PodAffinity int64 // preferred affinity and anti-affinity to pods
}

// DefaultWeights are those of kube-scheduler; the order of nodes counts as one of its plugins for resources.
func DefaultWeights() Weights {
	return Weights{Order: 1, NodeTaints: 3, NodeLabels: 2, Spread: 2, PodAffinity: 2}
}

// pointsMax is what the best node gets for one preference.
const pointsMax = 100
