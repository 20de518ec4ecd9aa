package preferences

// A topology divides nodes by the value of a label, as zones do. Places are numbered from 0.
type topology struct {
	of     []int32 // the place of each node, by its slot; nowhere if it has no such label
	places int
}

// nowhere is the place of a node without the label of a topology.
const nowhere = -1

// topologyOf divides the nodes by a label. It is worked out once for all classes, until nodes change.
func (s *Scorer) topologyOf(key string) *topology {
	t := s.topologies[key]
	if t != nil {
		return t
	}
	t = &topology{of: make([]int32, len(s.nodes))}
	numbers := make(map[string]int32)
	for slot, node := range s.nodes {
		t.of[slot] = nowhere
		if node == nil {
			continue
		}
		value, ok := node.Labels[key]
		if !ok {
			continue
		}
		number, ok := numbers[value]
		if !ok {
			number = int32(len(numbers))
			numbers[value] = number
		}
		t.of[slot] = number
	}
	t.places = len(numbers)
	s.topologies[key] = t
	return t
}
