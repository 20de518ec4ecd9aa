package core

import "github.com/google/btree"

// An askSet is a set of asks in order. The zero value is empty; it allocates nothing
// before there is an ask.
type askSet struct{ tree *btree.BTreeG[*request] }

func (s *askSet) add(r *request) {
	if s.tree == nil {
		s.tree = btree.NewG(8, func(a, b *request) bool { return inOrder(a, b) < 0 })
	}
	s.tree.ReplaceOrInsert(r)
}

// remove takes an ask out and reports whether the set is empty then.
func (s *askSet) remove(r *request) (empty bool) {
	if s.tree != nil {
		s.tree.Delete(r)
	}
	return s.len() == 0
}

func (s *askSet) len() int {
	if s.tree == nil {
		return 0
	}
	return s.tree.Len()
}

func (s *askSet) has(r *request) bool {
	return s.tree != nil && s.tree.Has(r)
}

// all visits the asks in order. The set must not change meanwhile.
func (s *askSet) all(yield func(*request) bool) {
	if s.tree != nil {
		s.tree.Ascend(yield)
	}
}

// list is the asks in order, for a walk that changes the set.
func (s *askSet) list() []*request {
	if s.len() == 0 {
		return nil
	}
	list := make([]*request, 0, s.len())
	for r := range s.all {
		list = append(list, r)
	}
	return list
}
