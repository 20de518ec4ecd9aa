package events

import "github.com/apache/yunikorn-scheduler-interface/lib/go/si"

// Sizes are what the nodes have, by node and together.
//
//	all = the sum of the resources of all nodes
type sizes struct {
	of  map[string]*si.Resource
	all map[string]int64
}

// sized tells of the max of the root when a node changes it: without a max of its
// own the root has what the nodes have.
func (s *Recorder) sized(e *si.EventRecord) {
	if e.Type != si.EventRecord_NODE {
		return
	}
	switch {
	case e.EventChangeDetail == si.EventRecord_NODE_DECOMISSION:
		s.sizes.become(e.ObjectID, nil)
	case e.EventChangeDetail == si.EventRecord_NODE_CAPACITY,
		e.EventChangeDetail == si.EventRecord_DETAILS_NONE && e.EventChangeType == si.EventRecord_ADD:
		s.sizes.become(e.ObjectID, e.Resource)
	default:
		return
	}
	if s.root != nil && len(s.root.Max) == 0 && !s.quiet {
		s.tellChanged(s.root.Name, si.EventRecord_QUEUE_MAX, s.sizes.message(), "")
	}
}

// become sets what a node has. Nil is one that is gone.
func (s *sizes) become(node string, size *si.Resource) {
	for kind, q := range s.of[node].GetResources() {
		s.all[kind] -= q.Value
	}
	delete(s.of, node)
	if size == nil {
		return
	}
	s.of[node] = size
	for kind, q := range size.Resources {
		s.all[kind] += q.Value
	}
}

func (s *sizes) message() *si.Resource {
	r := &si.Resource{Resources: make(map[string]*si.Quantity, len(s.all))}
	for kind, value := range s.all {
		if value != 0 {
			r.Resources[kind] = &si.Quantity{Value: value}
		}
	}
	return r
}
