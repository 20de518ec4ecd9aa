package core

import (
	"cmp"

	"github.com/narwhal-scheduler/narwhal/pkg/core/order"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// A line is the sections of a leaf that the same account holds back: in their order. When the
// account may hold more, the line stands in the order of its leaf, in the place of its first
// section. So letting the next one run costs a look at the line, however many stand in it.
//
//	blocked = the account holds back all of it, and it stands in no order
type line struct {
	lineKey
	leaf     *queue
	sections order.Tree[*section]

	blocked   bool
	blockedAt int // the place in the list of the account

	links order.Links[*line]
	place sectionPlace // of its first section
	own   summary      // of its sections
	below summary      // of the subtree of the leaf's order

	headroom headroom // scratch of searches
}

// A lineKey is what holds sections back: an account, and whether their applications are still to be
// counted there.
type lineKey struct {
	account   *account
	uncounted bool
}

// Before orders like the first sections.
func (l *line) Before(other *line) bool {
	return l.leaf.compareFirsts(l.place, other.place, cmp.Compare(other.place.priority, l.place.priority)) < 0
}

// Links are the place in the order of the leaf.
func (l *line) Links() *order.Links[*line] { return &l.links }

// Summarise works out the summary of a subtree of the leaf's order.
func (l *line) Summarise() bool {
	return l.below.become(&l.own, l.links.Left.subtree(), l.links.Right.subtree())
}

func (l *line) subtree() *summary {
	if l == nil {
		return nil
	}
	return &l.below
}

// line is where a section stands that an account holds back.
func (l *sections) line(a *account, s *section) *line {
	key := lineKey{a, s.uncounted}
	found := l.lines[key]
	if found == nil {
		found = &line{lineKey: key, leaf: s.leaf, own: emptySummary}
		found.sections.Looked = l.tree.Looked
		if l.lines == nil {
			l.lines = map[lineKey]*line{}
		}
		l.lines[key] = found
	}
	return found
}

// settle brings the place of a line in the order of its leaf up to date.
func (l *line) settle() {
	own, place := emptySummary, l.place
	if top := l.sections.Root(); top != nil {
		own, place = top.below, l.sections.First().place
	}
	l.block(l.sections.Len() > 0 && l.holdsBack(&own))
	wanted := l.sections.Len() > 0 && !l.blocked
	open := &l.leaf.sections.open
	open.Settle(l, wanted, place != l.place, own != l.own, func() { l.place, l.own = place, own })
	l.place, l.own = place, own // also of one that is in no order
	if l.sections.Len() == 0 {
		delete(l.leaf.sections.lines, l.lineKey)
	}
}

// holdsBack reports whether the account lets no ask of the line run, which waits with a summary.
func (l *line) holdsBack(own *summary) bool {
	return l.uncounted && l.account.isFull() || l.account.subject.limit && own.top != PriorityNone && !l.account.mayHold(own)
}

// block lists a line with its account, to be looked at when that changes, or takes it off.
func (l *line) block(blocked bool) {
	if l.blocked == blocked {
		return
	}
	l.blocked = blocked
	a := l.account
	if blocked {
		l.blockedAt = len(a.blocked)
		a.blocked = append(a.blocked, l)
		return
	}
	a.blocked = swapRemove(a.blocked, l.blockedAt, func(l *line) *int { return &l.blockedAt })
}

// headroomWithin is what is left of the quotas and of the limit that holds the line back.
func (l *line) headroomWithin(above *headroom) *headroom {
	if !l.account.subject.limit {
		return above
	}
	return l.headroom.within(above, l.account)
}

// within is what is left of the quotas above and of the limits of some accounts, each with all above
// it.
func (h *headroom) within(above *headroom, accounts ...*account) *headroom {
	h.in, h.kept, h.over, h.limited, h.exact = above.in, above.kept, above.over, true, true
	h.limits = h.limits[:0]
	for _, account := range accounts {
		for ; account != nil; account = account.parent {
			h.limits = withinMax(h.limits, account.max, account.used.Amounts)
			h.exact = h.exact && len(account.kept) == 0
		}
	}
	h.left = append(append(h.left[:0], h.limits...), above.left[min(len(h.limits), len(above.left)):]...)
	h.most = append(append(h.most[:0], h.limits...), above.most[min(len(h.limits), len(above.most)):]...)
	for i := range h.limits {
		h.left[i] = min(h.left[i], above.left.Of(resources.Kind(i)))
		h.most[i] = min(h.most[i], above.most.Of(resources.Kind(i)))
	}
	return h
}
