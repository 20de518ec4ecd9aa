package feasibility

import fwk "k8s.io/kube-scheduler/framework"

// A nodeSet is a list of nodes from which one can be removed without looking at the
// others: place says where each node stands in the list. The order of the list means
// nothing, as plugins only count over it.
type nodeSet struct {
	list  []fwk.NodeInfo
	place map[string]int
}

func newNodeSet() nodeSet {
	return nodeSet{place: make(map[string]int)}
}

// set puts a node into the list or replaces it there, or removes it.
func (s *nodeSet) set(name string, info fwk.NodeInfo, member bool) {
	at, known := s.place[name]
	switch {
	case member && known:
		s.list[at] = info
	case member:
		s.place[name] = len(s.list)
		s.list = append(s.list, info)
	case known:
		s.remove(name, at)
	}
}

func (s *nodeSet) remove(name string, at int) {
	end := len(s.list) - 1
	if at != end {
		s.list[at] = s.list[end]
		s.place[s.list[at].Node().Name] = at
	}
	s.list[end] = nil // so that the node can be collected
	s.list = s.list[:end]
	delete(s.place, name)
}
