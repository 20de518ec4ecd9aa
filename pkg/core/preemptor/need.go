package preemptor

import (
	"math"
	"math/bits"
	"slices"

	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// measure computes what is being released and what must be freed in addition:
// first on the node, then of the quotas. Releases on another node are not counted:
// Node.Quota is given without what is being released.
func (p *problem) measure() {
	p.releasing, p.releasingKeys = p.releasing[:0], p.releasingKeys[:0]
	for i := range p.node.On {
		if c := &p.node.On[i]; c.Releasing && !c.Late && !c.Overdue && !c.Elsewhere {
			p.releasing.Add(holds(c))
			p.releasingKeys = append(p.releasingKeys, c.Key)
		}
	}
	p.short, p.need = p.short[:0], p.need[:0]
	if p.rules.hasAsk {
		p.lacking = append(p.lacking[:0], p.ask.Amounts...)
		p.lacking.Sub(p.node.Free)
		p.lacking.Sub(p.releasing)
		for _, kind := range p.kinds {
			if short := p.lacking.Of(kind); short > 0 && p.ask.Amounts.Of(kind) > 0 {
				p.short = append(p.short, kind)
				p.need = append(p.need, short)
			}
		}
	}
	p.onNode, p.quotas = len(p.short), p.quotas[:0]
	for number := range len(p.node.Above) + 1 {
		quota := p.node.Quota
		if number > 0 {
			quota = p.node.Above[number-1]
		}
		for _, kind := range p.kinds {
			if short := quota.Of(kind); short > 0 {
				p.short, p.need, p.quotas = append(p.short, kind), append(p.need, short), append(p.quotas, number)
			}
		}
	}
}

// counts reports whether what c holds counts for the k-th kind that is short:
// candidates of other nodes count for quotas only, and some for the node only.
func (p *problem) counts(c *Candidate, k int) bool {
	if k >= p.onNode {
		return c.FreesFrom <= p.quotas[k-p.onNode]
	}
	return !c.Elsewhere
}

// holds is what the release of c alone frees.
func holds(c *Candidate) resources.Amounts {
	if _, negative := c.Amounts.Negative(); !negative {
		return c.Amounts
	}
	held := c.Amounts.Clone()
	for i, v := range held {
		held[i] = max(v, 0)
	}
	return held
}

// fillShares fills in what each eligible candidate holds of the need, and what
// all of them hold.
func (p *problem) fillShares() {
	d := len(p.short)
	p.helds = slices.Grow(p.helds[:0], len(p.ranked)*d)[:len(p.ranked)*d]
	p.total = slices.Grow(p.total[:0], d)[:d]
	clear(p.total)
	for i := range p.ranked {
		e := &p.ranked[i]
		e.held = p.helds[i*d : i*d+d : i*d+d]
		for k, kind := range p.short {
			e.held[k] = 0
			for c := e.Candidate; c != nil; c = c.With {
				if p.counts(c, k) {
					e.held[k] = min(add(e.held[k], max(c.Amounts.Of(kind), 0)), p.need[k])
				}
			}
			p.total[k] = add(p.total[k], e.held[k])
		}
	}
}

// add is the sum of two numbers that are not negative, or the most there is.
func add(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

// reached reports whether these sums cover the need.
func (p *problem) reached(sums []int64) bool {
	for k, need := range p.need {
		if sums[k] < need {
			return false
		}
	}
	return true
}

// suffice reports whether what these victims hold covers the need.
func (p *problem) suffice(victims []int) bool {
	for k, need := range p.need {
		for _, i := range victims {
			if need -= p.ranked[i].held[k]; need <= 0 {
				break
			}
		}
		if need > 0 {
			return false
		}
	}
	return true
}

// ranks are all eligible candidates.
func (p *problem) ranks() []int {
	for len(p.all) < len(p.ranked) {
		p.all = append(p.all, len(p.all))
	}
	return p.all[:len(p.ranked)]
}

// missing is the largest part of an amount asked for that these sums do not
// cover.
func (p *problem) missing(sums []int64) resources.Share {
	var most resources.Share
	for k, need := range p.need {
		whole := max(p.ask.Amounts.Of(p.short[k]), need)
		if share := (resources.Share{Part: max(need-sums[k], 0), Whole: whole}); share.Compare(most) > 0 {
			most = share
		}
	}
	return most
}

// amounts converts a list of quantities, one for each kind that is short: those
// of the node, and the most of those of the quotas.
func (p *problem) amounts(of []int64) (node, quota resources.Amounts) {
	for k, kind := range p.short {
		if k < p.onNode {
			node.Set(kind, of[k])
		} else {
			quota.Set(kind, max(quota.Of(kind), of[k]))
		}
	}
	return node, quota
}

// times is n times v, neither of them negative, or the most there is.
func times(n, v int64) int64 {
	if high, low := bits.Mul64(uint64(n), uint64(v)); high == 0 && low <= math.MaxInt64 {
		return int64(low)
	}
	return math.MaxInt64
}

// keysOf are the keys of the releasing allocations of the node and of victims there.
func (p *problem) keysOf(victims []int) []string {
	if p.keys == nil {
		p.keys = []string{} // nil would be another question
	}
	p.keys = append(p.keys[:0], p.releasingKeys...)
	for _, i := range victims {
		for c := p.ranked[i].Candidate; c != nil; c = c.With {
			if !c.Elsewhere {
				p.keys = append(p.keys, c.Key)
			}
		}
	}
	return p.keys
}
