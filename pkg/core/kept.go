package core

import (
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// A keptQuota is the quota that is kept in one queue for the asks of an importance.
type keptQuota struct {
	importance int32
	amounts    resources.Sum
	asks       int
}

// keptFrom is how much quota of a kind is kept for asks of at least an importance.
func (a *account) keptFrom(importance int32, kind resources.Kind) (sum int64) {
	for i := range a.kept {
		if a.kept[i].importance >= importance {
			sum = resources.Total(sum, a.kept[i].amounts.Of(kind))
		}
	}
	return sum
}

// hasRoom reports whether this account alone can be charged for asks of an importance, beside
// what is kept from them.
func (a *account) hasRoom(amounts resources.Amounts, importance int32) bool {
	return a.max.Holds(amounts, a.used.Amounts, a.nominated.Amounts, amounts) || len(a.kept) > 0 && a.holds(amounts, importance, amounts)
}

// keepsRoom reports the same for amounts that are part of what is kept.
func (a *account) keepsRoom(amounts resources.Amounts, importance int32) bool {
	return a.max.Holds(amounts, a.used.Amounts, a.nominated.Amounts) || a.holds(amounts, importance, nil)
}

// holds reports whether what is used, what is kept for asks of at least an importance, and more
// is within the max, of the kinds of some amounts.
func (a *account) holds(amounts resources.Amounts, importance int32, more resources.Amounts) bool {
	for i := range min(len(a.max), len(amounts)) {
		kind := resources.Kind(i)
		if amounts[i] <= 0 || a.max[i] == resources.Unlimited {
			continue
		}
		if resources.Total(a.used.Of(kind), a.keptFrom(importance, kind), more.Of(kind)) > a.max[i] {
			return false
		}
	}
	return true
}

// An overbooked is an account and a kind of which more is used and kept than can be once all
// evictions have ended. For a limit nothing ends.
type overbooked struct {
	*account
	kind resources.Kind
}

// overbookedOf finds one among some accounts and those above them.
func overbookedOf(accounts []*account) (found overbooked, some bool) {
	for _, a := range accounts {
		for ; a != nil; a = a.parent {
			for i := range a.max {
				kind := resources.Kind(i)
				if a.max[i] == resources.Unlimited || a.nominated.Of(kind) <= 0 {
					continue
				}
				used := a.used.Of(kind)
				if !a.subject.limit {
					used = resources.Total(used, -a.releasing.Of(kind))
				}
				if resources.Total(used, a.nominated.Of(kind)) > a.max[i] {
					return overbooked{a, kind}, true
				}
			}
		}
	}
	return found, false
}

// isHelpedBy reports whether less is kept there when an ask has no claim.
func (o overbooked) isHelpedBy(r *request) bool {
	if r.Amounts.Of(o.kind) <= 0 {
		return false
	}
	for _, a := range r.application.accounts() {
		if a.isUnder(o.account) {
			return true
		}
	}
	return false
}

// beyondMax is what a queue uses beyond its max once all evictions have ended.
func (q *queue) beyondMax() resources.Amounts {
	var beyond resources.Amounts
	late := q.endingLate()
	for i, used := range q.used.Amounts {
		kind := resources.Kind(i)
		if over := used - q.releasing.Of(kind) - late.Of(kind) - q.max.Of(kind); q.max.Of(kind) != resources.Unlimited && over > 0 {
			beyond.Set(kind, over)
		}
	}
	return beyond
}

// endingLate is what ends by itself in a queue and below, and not soon. No ask waits for it.
func (q *queue) endingLate() (sum resources.Amounts) {
	if q.overdue.IsZero() {
		return nil
	}
	for r := range q.allRunning {
		if r.eviction != nil && r.eviction.late {
			sum.Add(r.Amounts)
		}
	}
	return sum
}
