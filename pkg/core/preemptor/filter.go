package preemptor

import "fmt"

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
	IsHigher
	IsUseless

	// Filters is how many filters there are, for counts by filter.
	Filters = iota
)

// filters is every filter there is; the first that applies is the reason.
var filters = [Filters]struct {
	name string
	out  func(*plan, *Candidate) bool
}{
	IsStuck:     {"told to go in vain", func(_ *plan, c *Candidate) bool { return c.Stuck }},
	IsLeaving:   {"leaving already", func(_ *plan, c *Candidate) bool { return c.Leaving }},
	IsRequired:  {"required on this node", func(_ *plan, c *Candidate) bool { return c.Required }},
	IsStatic:    {"static", func(_ *plan, c *Candidate) bool { return c.Static }},
	IsForeign:   {"foreign ones are spared", func(p *plan, c *Candidate) bool { return c.Foreign && p.cfg.SpareForeign }},
	IsProtected: {"protected by its queue", func(_ *plan, c *Candidate) bool { return c.Protected }},
	IsHigher:    {"higher priority", func(p *plan, c *Candidate) bool { return c.Priority > p.ask.Priority }},
	IsUseless:   {"holds nothing that is short", func(p *plan, c *Candidate) bool { return !p.helps(c) }},
}

// String is the filter in words.
func (f Filter) String() string {
	if int(f) >= len(filters) {
		return fmt.Sprintf("filter %d", uint8(f))
	}
	return filters[f].name
}

// filterOf is the first filter that keeps c from being a victim.
func (p *plan) filterOf(c *Candidate) (Filter, bool) {
	for f := range filters {
		if filters[f].out(p, c) {
			return Filter(f), true
		}
	}
	return 0, false
}

func (p *plan) helps(c *Candidate) bool {
	for _, kind := range p.short {
		if c.Amounts.Of(kind) > 0 {
			return true
		}
	}
	return false
}
