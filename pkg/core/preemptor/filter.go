package preemptor

import (
	"fmt"
	"math/bits"
)

// Filter is why a candidate is no victim.
type Filter uint8

// The filters, in the order in which they are tried.
const (
	IsStuck Filter = iota
	IsLeaving
	IsRequired
	IsStatic
	IsForeign
	IsProtected
	IsOutside
	IsSameQueue
	IsHigher
	IsEqual
	IsUseless
	IsGuaranteed
	IsBudgeted

	// Filters is how many filters there are, for counts by filter.
	Filters = iota
)

// filters is every filter there is; the first of those of the trigger that
// applies is the reason. IsBudgeted looks at all candidates at once, so it comes
// after the others, see plan.spareBudgeted.
var filters = [Filters]struct {
	name string
	out  func(*plan, *Candidate) bool
}{
	IsStuck:      {"told to go in vain", func(_ *plan, c *Candidate) bool { return c.Stuck }},
	IsLeaving:    {"leaving already", func(_ *plan, c *Candidate) bool { return c.Leaving }},
	IsRequired:   {"required on this node", func(_ *plan, c *Candidate) bool { return c.Required }},
	IsStatic:     {"static", func(_ *plan, c *Candidate) bool { return c.Static }},
	IsForeign:    {"foreign ones are spared", func(p *plan, c *Candidate) bool { return c.Foreign && p.sparesForeign() }},
	IsProtected:  {"protected by its queue", func(_ *plan, c *Candidate) bool { return c.Protected }},
	IsOutside:    {"outside of the queues that may be taken from", func(_ *plan, c *Candidate) bool { return c.Outside }},
	IsSameQueue:  {"same queue", func(_ *plan, c *Candidate) bool { return c.SameQueue }},
	IsHigher:     {"higher priority", func(p *plan, c *Candidate) bool { return c.Priority > p.ask.Priority }},
	IsEqual:      {"same priority", func(p *plan, c *Candidate) bool { return c.Priority == p.ask.Priority && !p.cfg.EqualsToo }},
	IsUseless:    {"holds nothing that is short", func(p *plan, c *Candidate) bool { return !p.helps(c) }},
	IsGuaranteed: {"its queue is left what is guaranteed", func(p *plan, c *Candidate) bool { return !p.mayGo(c) }},
	IsBudgeted:   {"protected by a budget", func(*plan, *Candidate) bool { return false }},
}

// String is the filter in words.
func (f Filter) String() string {
	if int(f) >= len(filters) {
		return fmt.Sprintf("filter %d", uint8(f))
	}
	return filters[f].name
}

// A filterSet is some of the filters.
type filterSet uint32

func filtersOf(list ...Filter) filterSet {
	var set filterSet
	for _, f := range list {
		set |= 1 << f
	}
	return set
}

func (set filterSet) has(f Filter) bool { return set>>f&1 == 1 }

// filterOf is the first filter that keeps c from being a victim.
func (p *plan) filterOf(c *Candidate) (Filter, bool) {
	for set := p.terms.filters; set != 0; set &= set - 1 {
		f := Filter(bits.TrailingZeros32(uint32(set)))
		if filters[f].out(p, c) {
			return f, true
		}
	}
	return 0, false
}

func (p *plan) sparesForeign() bool { return p.cfg.SpareForeign || !p.terms.foreigners }

// helps reports whether c holds anything that is short, or might stand in the
// way of the ask.
func (p *plan) helps(c *Candidate) bool {
	if p.fits != nil && !c.Elsewhere {
		return true
	}
	for k, kind := range p.short {
		if p.counts(c, k) && c.Amounts.Of(kind) > 0 {
			return true
		}
	}
	return false
}
