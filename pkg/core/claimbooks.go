package core

import "slices"

// addClaim books what is kept for an ask, and dropClaim takes it off the books.
func (s *claims) addClaim(r *request, c *claim) {
	c.at = len(s.claims)
	s.claims = append(s.claims, r)
	r.waiting().claim = c
	at, _ := slices.BinarySearchFunc(c.node.claims, r, byClaim)
	c.node.claims = slices.Insert(c.node.claims, at, r)
	c.node.details.change().claimed.Add(r.Amounts)
	s.importances.add(r.class.importance)
	switch {
	case c.evicts:
		s.keepQuota(r)
	case c.isIdle():
		s.idle++
	}
	s.touch(r, c.node)
}

func (s *claims) dropClaim(r *request) *node {
	c := r.wait.claim
	s.claims = swapRemove(s.claims, c.at, atClaim)
	c.node.claims = without(c.node.claims, r)
	c.node.details.change().claimed.Sub(r.Amounts)
	s.importances.remove(r.class.importance)
	switch {
	case c.evicts:
		s.unkeepQuota(r)
	case c.isIdle():
		s.idle--
	}
	r.wait.claim = nil
	s.touch(r, c.node)
	return c.node
}

// touch brings a node in line with what is kept there.
func (s *claims) touch(r *request, n *node) {
	n.recountRoom()
	n.view = nil
	n.revision++
	s.changes.node(n, 0)
	s.changes.application(r.application, 0)
}

// keepQuota keeps the quota of an ask, unkeepQuota gives it back.
func (s *claims) keepQuota(r *request) {
	s.stamp++
	r.application.keep(r.Amounts, r.class.importance, s.stamp)
	s.countKept(r.application, 1)
}

func (s *claims) unkeepQuota(r *request) {
	s.stamp++
	r.application.unkeep(r.Amounts, r.class.importance, s.stamp)
	s.countKept(r.application, -1)
	s.changes.freeLimits(r.application)
}

// keepQuotaToo has the quota kept of an ask that has a claim already.
func (s *claims) keepQuotaToo(r *request) {
	r.wait.claim.evicts = true
	s.idle--
	slices.SortFunc(r.wait.claim.node.claims, byClaim)
	s.keepQuota(r)
	s.touch(r, r.wait.claim.node)
}

// rerank brings the claim of an ask up to date after its importance has changed.
func (s *claims) rerank(r *request, was int32) {
	c := r.claim()
	if c == nil {
		return
	}
	s.importances.remove(was)
	s.importances.add(r.class.importance)
	slices.SortFunc(c.node.claims, byClaim)
	if c.evicts {
		s.stamp++
		r.application.unkeep(r.Amounts, was, s.stamp)
		r.application.keep(r.Amounts, r.class.importance, s.stamp)
	}
	s.touch(r, c.node)
	s.changes.node(c.node, nodeRetry)
}

func atClaim(r *request) *int { return &r.wait.claim.at }
