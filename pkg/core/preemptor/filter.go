package preemptor

import "fmt"

// Filter is why a candidate is no victim.
type Filter uint8

// The filters, in the order in which they are tried.
const (
	IsOverdue Filter = iota
	IsReleasing
	IsHanging
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
	IsNeeded

	// Filters is how many filters there are, for counts by filter.
	Filters = iota
)

var filters = [Filters]string{
	IsOverdue:    "release overdue",
	IsReleasing:  "releasing already",
	IsHanging:    "on a node that may hang",
	IsRequired:   "required on this node",
	IsStatic:     "static",
	IsForeign:    "foreign allocations are not preempted",
	IsProtected:  "protected by its queue",
	IsOutside:    "outside of the queues of the preemption",
	IsSameQueue:  "same queue",
	IsHigher:     "higher priority",
	IsEqual:      "same priority",
	IsUseless:    "holds nothing that is needed",
	IsGuaranteed: "guaranteed to its queue",
	IsBudgeted:   "protected by a budget",
	IsNeeded:     "needed beside the ask",
}

// String is the filter in words.
func (f Filter) String() string {
	if int(f) >= len(filters) {
		return fmt.Sprintf("filter %d", uint8(f))
	}
	return filters[f]
}

// filterOf is the first filter that applies to c and what ends with it. What a trigger may harm is in the table of harms.
func (p *problem) filterOf(c *Candidate) (Filter, bool) {
	first, out := p.filterOne(c)
	useless := out && first == IsUseless
	for m := c.With; m != nil && (!out || useless); m = m.With {
		why, one := p.filterOne(m)
		switch {
		case one && why != IsUseless:
			first, out, useless = why, true, false
		case !one:
			out, useless = false, false
		}
	}
	switch {
	case out:
		return first, true
	case p.ask.Trigger.spares(AtGuarantee) && !p.checkFloors(c):
		return IsGuaranteed, true
	case p.cfg.Budgets == HardBudgets && p.breaksBudget(c):
		return IsBudgeted, true
	}
	return 0, false
}

// filterOne is the first filter that applies to c alone.
func (p *problem) filterOne(c *Candidate) (Filter, bool) {
	switch {
	case c.Overdue:
		return IsOverdue, true
	case c.Releasing:
		return IsReleasing, true
	case c.Hanging:
		return IsHanging, true
	case c.Required:
		return IsRequired, true
	case c.Static:
		return IsStatic, true
	case c.Foreign && (p.cfg.SpareForeign || p.ask.Trigger.spares(ForeignLess)):
		return IsForeign, true
	case c.Protected:
		return IsProtected, true
	case c.Needed:
		return IsNeeded, true
	case c.Outside && p.ask.Trigger.spares(OutsideFence):
		return IsOutside, true
	case c.SameQueue && p.ask.Trigger.spares(OwnQueue):
		return IsSameQueue, true
	case c.Priority > p.ask.Priority && p.ask.Trigger.spares(MoreImportant):
		return IsHigher, true
	case c.Priority == p.ask.Priority && p.sparesEqual(c):
		return IsEqual, true
	case !p.helps(c):
		return IsUseless, true
	default:
		return 0, false
	}
}

// sparesEqual reports whether c, of the priority of the ask, is no victim. One that another
// scheduler placed never is.
func (p *problem) sparesEqual(c *Candidate) bool {
	return c.Foreign || harms[EquallyImportant][p.ask.Trigger] == IfEqual && (!p.cfg.EqualsToo || c.Settled)
}

// helps reports whether c holds anything that is needed, or might conflict with
// the ask.
func (p *problem) helps(c *Candidate) bool {
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
