package ledger

import (
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// A keptQuota is the quota that is kept in one queue for the asks of an importance.
type keptQuota struct {
	importance int32
	amounts    resources.Sum
	asks       int
}

// KeptFrom is how much quota of a kind is kept for asks of at least an importance.
func (a *Account) KeptFrom(importance int32, kind resources.Kind) (sum int64) {
	for i := range a.Kept {
		if a.Kept[i].importance >= importance {
			sum = resources.Total(sum, a.Kept[i].amounts.Of(kind))
		}
	}
	return sum
}

// HasRoom reports whether this account alone can be charged for asks of an importance, beside
// what is kept from them.
func (a *Account) HasRoom(amounts resources.Amounts, importance int32) bool {
	return a.Max.Holds(amounts, a.Used.Amounts, a.Nominated.Amounts, amounts) || len(a.Kept) > 0 && a.holds(amounts, importance, amounts)
}

// keepsRoom reports the same for amounts that are part of what is kept.
func (a *Account) keepsRoom(amounts resources.Amounts, importance int32) bool {
	return a.Max.Holds(amounts, a.Used.Amounts, a.Nominated.Amounts) || a.holds(amounts, importance, nil)
}

// holds reports whether what is used, what is kept for asks of at least an importance, and more
// is within the max, of the kinds of some amounts.
func (a *Account) holds(amounts resources.Amounts, importance int32, more resources.Amounts) bool {
	for i := range min(len(a.Max), len(amounts)) {
		kind := resources.Kind(i)
		if amounts[i] <= 0 || a.Max[i] == resources.Unlimited {
			continue
		}
		if resources.Total(a.Used.Of(kind), a.KeptFrom(importance, kind), more.Of(kind)) > a.Max[i] {
			return false
		}
	}
	return true
}

// BeyondMax is what a queue uses beyond its max once all evictions have ended.
func (q *Queue) BeyondMax() resources.Amounts {
	var beyond resources.Amounts
	late := q.endingLate()
	for i, used := range q.Used.Amounts {
		kind := resources.Kind(i)
		if over := used - q.Releasing.Of(kind) - late.Of(kind) - q.Max.Of(kind); q.Max.Of(kind) != resources.Unlimited && over > 0 {
			beyond.Set(kind, over)
		}
	}
	return beyond
}

// endingLate is what ends by itself in a queue and below, and not soon. No ask waits for it.
func (q *Queue) endingLate() (sum resources.Amounts) {
	if q.Overdue.IsZero() {
		return nil
	}
	for r := range q.AllRunning {
		if r.Eviction != nil && r.Eviction.Late {
			sum.Add(r.Amounts)
		}
	}
	return sum
}
