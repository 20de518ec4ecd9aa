package core

import "github.com/narwhal-scheduler/narwhal/pkg/resources"

// A headroom is what is left of the quotas on the way from the root to a queue, for a
// search. It is an upper bound: an ask that a search finds is looked at itself.
type headroom struct {
	in *queue // whose order is searched
	// left is for asks of whatever priority, beside all that is kept for nominated asks.
	// Most is for the highest ask that waits in the queue, and so what any below it has at
	// most; it is in effect if anything is not kept from that ask.
	left, most resources.Limits
	kept       bool
	// limits are what is left of the limits of a user and group alone, in a section.
	limits  resources.Limits
	limited bool
	exact   bool  // there are limits, and an ask within them is held back by none of their amounts
	over    int32 // all that is kept is kept from asks up to this priority, as the root sees it
}

// headroomWithin is what is left of the quotas in a queue too. It is valid until the next search.
func (q *queue) headroomWithin(above *headroom) *headroom {
	h := &q.headroom
	if len(q.max) == 0 {
		if !above.kept {
			return above
		}
		h.in, h.kept, h.over = q, true, above.over
		h.left, h.most = append(h.left[:0], above.left...), append(h.most[:0], above.most...)
		return h
	}
	h.in, h.kept, h.over = q, above.kept, above.over
	first := int32(PriorityNone)
	if len(q.kept) > 0 {
		first = q.asRootSees(q.waiting().top)
	}
	if lowest := q.lowestKept(); first > lowest {
		h.kept, h.over = true, lowest
		if above.kept {
			h.over = min(above.over, lowest)
		}
	}
	h.left, h.most = h.left[:0], h.most[:0]
	for i := range max(len(q.max), len(above.left)) {
		kind := resources.Kind(i)
		left, most := above.left.Of(kind), above.left.Of(kind)
		if above.kept {
			most = above.most.Of(kind)
		}
		if limit := q.max.Of(kind); limit != resources.Unlimited {
			left = min(left, resources.Total(limit, -q.used.Of(kind), -q.nominated.Of(kind)))
			if h.kept {
				most = min(most, resources.Total(limit, -q.used.Of(kind), -q.keptFrom(first, kind)))
			}
		}
		h.left = append(h.left, left)
		if h.kept {
			h.most = append(h.most, most)
		}
	}
	return h
}

// holds reports whether there may be quota for an ask of a part of the backlog, the highest
// of which is of a priority as the order of the queue sees it.
func (h *headroom) holds(least *resources.Amounts, top int32) bool {
	return least != nil && (least.Within(h.left) || h.kept && h.in.asRootSees(top) > h.over && least.Within(h.most))
}

// allows reports whether limits of users and groups may let an ask of a part of the backlog run
// for which room may be made. Evictions free quota, and no limits.
func (h *headroom) allows(least *resources.Amounts) bool {
	return !h.limited || least == nil || least.Within(h.limits)
}

// surelyAllows reports whether the amounts of no limit hold an ask back, without a look at each account.
func (h *headroom) surelyAllows(ask *resources.Amounts) bool {
	return h.exact && ask != nil && ask.Within(h.limits)
}
