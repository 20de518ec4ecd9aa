package preemptor

import (
	"slices"
	"sort"
)

// A lowering has the strategy reprieve choose again for a required node. By itself it puts back the
// highest class first, and may so spare a candidate of the worst class that is chosen and take one
// of a lower class and a higher priority. Like the other strategies it should take the lowest
// priority within the lowest classes that suffice.
type lowering struct{ *plan }

// run chooses among the candidates of the lowest priority that suffice, if there is a lower one. What
// violates more budgets is not chosen.
func (p lowering) run() {
	worst := p.limitOf(p.victims)
	lower := p.priorities()
	lower = lower[:sort.Search(len(lower), func(i int) bool { return lower[i] >= worst.priority })]
	if len(lower) == 0 || !p.mayLower(worst) {
		return
	}
	least := sort.Search(len(lower), func(i int) bool { return p.suffices(limit{class: worst.class, priority: lower[i]}) })
	if least == len(lower) || !p.suffices(limit{class: worst.class, priority: lower[least]}) {
		return
	}
	before := p.outcome
	before.victims = slices.Clone(p.victims)
	if p.reprieval.putBack() && p.took(Reprieve, p.chooseRemoved()) && p.violations <= before.violations {
		return
	}
	p.outcome = before
}

// mayLower reports whether any candidate was spared that is below the highest priority of the victims
// and of their classes, and no victim of the worst class has that priority: such a one was not put
// back when all below it were removed, so that these are not enough.
func (p lowering) mayLower(worst limit) bool {
	spared := false
	for i := range p.ranked {
		e := &p.ranked[i]
		switch chosen := slices.Contains(p.victims, i); {
		case chosen && e.class == worst.class && e.Priority == worst.priority:
			return false
		case !chosen && e.class <= worst.class && e.Priority < worst.priority:
			spared = true
		}
	}
	return spared
}

// suffices fills the pool with the candidates within a limit, and reports whether they are enough.
func (p lowering) suffices(l limit) bool {
	r := &p.reprieval
	r.fillPool(l, false)
	return r.reached(r.sums) && (r.fits == nil || r.fits(r.removedKeys(-1)) == nil)
}
