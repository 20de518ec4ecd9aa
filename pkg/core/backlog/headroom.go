package backlog

import (
	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/core/ledger"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// A headroom is what is left of the quotas on the way from the root to a queue, for a
// search. It is an upper bound: an ask that a search finds is looked at itself.
type headroom struct {
	// left is for the highest ask that waits in the queue, beside what is kept from that. Any below
	// it has at most as much.
	left resources.Limits
	// limits are what is left of the limits of a user and group alone, in a line.
	limits  resources.Limits
	limited bool
	exact   bool // there are limits, and an ask within them is held back by none of their amounts
}

// headroomWithin is what is left of the quotas in a queue too. It is valid until the next search.
func (q *Queue) headroomWithin(above *headroom) *headroom {
	if len(q.Max) == 0 {
		return above
	}
	first := int32(api.PriorityNone)
	if len(q.Kept) > 0 {
		first = q.AsRootSees(q.waiting().Top)
	}
	h := &q.headroom
	h.left = h.left[:0]
	for i := range max(len(q.Max), len(above.left)) {
		kind := resources.Kind(i)
		left := above.left.Of(kind)
		if limit := q.Max.Of(kind); limit != resources.Unlimited {
			left = min(left, resources.Total(limit, -q.Used.Of(kind), -q.KeptFrom(first, kind)))
		}
		h.left = append(h.left, left)
	}
	return h
}

// headroomWithin is what is left of the quotas above and of the limits of a line.
func (l *line) headroomWithin(above *headroom) *headroom {
	if l.user == nil && l.group == nil || l.holds && !l.user.Subject.Limit {
		return above
	}
	return l.headroom.within(above, l.user, l.group)
}

// within is what is left of the quotas above and of the limits of some accounts, each with all above
// it.
func (h *headroom) within(above *headroom, accounts ...*ledger.Account) *headroom {
	h.limited, h.exact, h.limits = true, true, h.limits[:0]
	for _, account := range accounts {
		for ; account != nil; account = account.Parent {
			h.limits = withinMax(h.limits, account.Max, account.Used.Amounts)
			h.exact = h.exact && len(account.Kept) == 0
		}
	}
	h.left = append(append(h.left[:0], h.limits...), above.left[min(len(h.limits), len(above.left)):]...)
	for i := range h.limits {
		h.left[i] = min(h.left[i], above.left.Of(resources.Kind(i)))
	}
	return h
}

// withinMax is the least of limits and of what is left of a max.
func withinMax(limits, most resources.Limits, used resources.Amounts) resources.Limits {
	for len(limits) < len(most) {
		limits = append(limits, resources.Unlimited)
	}
	for i, v := range most {
		if v != resources.Unlimited {
			limits[i] = min(limits[i], resources.Total(v, -used.Of(resources.Kind(i))))
		}
	}
	return limits
}

// holds reports whether there may be quota for an ask of a part of the backlog.
func (h *headroom) holds(least *resources.Amounts) bool {
	return least != nil && least.Within(h.left)
}

// allows reports whether limits of users and groups may let an ask of a part of the backlog run
// for which room may be made. Evictions free quota, and no limits.
func (h *headroom) allows(least *resources.Amounts) bool {
	return !h.limited || least == nil || least.Within(h.limits)
}

// surelyAllows reports whether the amounts of no limit hold an ask back, without a look at each
// account (see BenchmarkLimits).
func (h *headroom) surelyAllows(ask *resources.Amounts) bool {
	return h.exact && ask != nil && ask.Within(h.limits)
}
