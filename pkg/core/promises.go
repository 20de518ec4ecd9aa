package core

import "slices"

// promises keep quota for the asks with a required node for which room is on its way
// there, as nominations do for other asks. So an ask has its quota when its victims have
// ended.
//
//	list = the asks with a promise, each at its place
type promises struct {
	*backlog
	reservations *reservations
	round        *round // in which victims are chosen now
	list         []*request
	ended        uint64 // counts those that were given up
}

// A promise is the place of an ask in the list of all. Over is the highest standing of
// the other asks that may run on the node only and waited for room when it was made for
// this one: they do not take it, as nothing was made for them.
type promise struct {
	at   int
	over Standing
}

// add keeps quota for an ask.
func (s *promises) add(r *request) {
	if r.promised() {
		return
	}
	r.waiting().promise = &promise{at: len(s.list), over: noStanding}
	s.list = append(s.list, r)
	s.countBound(r, r.class.standing, -1)
	s.countKept(r.application, 1)
	s.stamp++
	r.application.keep(r.Amounts, r.hold(), s.stamp)
	s.changes.application(r.application, 0)
}

// keepFrom has the quota of an ask kept from others with a required node up to a standing.
func (s *promises) keepFrom(r *request, over Standing) {
	was := r.hold()
	over = r.wait.promise.over.join(over)
	if r.wait.promise.over == over {
		return
	}
	r.wait.promise.over = over
	s.rehold(r, was)
}

// rehold brings the books up to date after the quota of an ask is kept in another way.
func (s *promises) rehold(r *request, was hold) {
	s.stamp++
	r.application.unkeep(r.Amounts, was, s.stamp)
	r.application.keep(r.Amounts, r.hold(), s.stamp)
	s.changes.application(r.application, 0)
}

// rerank brings a promise up to date after the priority of the ask, as the root sees it, has
// changed.
func (s *promises) rerank(r *request, was Standing) {
	if r.promised() {
		s.rehold(r, promiseHold(was, r.wait.promise.over))
	}
}

// end gives up the quota that is kept for an ask, if it is.
func (s *promises) end(r *request) {
	if s.drop(r) {
		s.ended++
		s.changes.application(r.application, quotaFreed)
	}
}

// take ends the promise to an ask that is placed and is charged for it now.
func (s *promises) take(r *request) {
	if s.drop(r) {
		s.changes.application(r.application, 0)
	}
}

func (s *promises) drop(r *request) bool {
	if !r.promised() {
		return false
	}
	at, last := r.wait.promise.at, len(s.list)-1
	s.list[at] = s.list[last]
	s.list[at].wait.promise.at = at
	s.list[last] = nil
	s.list = s.list[:last]
	s.stamp++
	r.application.unkeep(r.Amounts, r.hold(), s.stamp)
	s.countKept(r.application, -1)
	s.changes.freeLimits(r.application)
	r.wait.promise = nil
	s.countBound(r, r.class.standing, 1)
	return true
}

// endOutbid ends the promises of asks whose quota another one has now, or gets, the last in order
// first, and opens their nodes. Where victims are chosen and not told yet, what they free is not known here.
func (s *promises) endOutbid(by *request) {
	list := slices.DeleteFunc(slices.Clone(s.list), func(r *request) bool {
		return r == by || slices.Contains(s.round.together, r)
	})
	slices.SortFunc(list, func(a, b *request) int { return b.rank().compare(a.rank()) })
	for _, r := range list {
		if r.quotaToFree() != nil {
			s.end(r)
			s.reservations.end(r, LossOfQuota)
			s.changes.node(s.findNode(r.Required), nodeRetry)
		}
	}
}

// recheck has asks looked at again whose quota is not there any more.
func (s *promises) recheck() {
	for _, r := range s.list {
		if r.quotaToFree() != nil || r.heldBack() != nil {
			s.changes.node(s.findNode(r.Required), nodeRetry)
		}
	}
}
