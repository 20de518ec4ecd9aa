package preemptor

import "slices"

// The most candidates on a node among which those are looked for that the ask needs, such
// as by an affinity. Each is a question to the resource manager, or two. Where something
// conflicts with the ask too, it is not known which questions help, and fewer are asked.
const (
	neededMax            = 64
	neededAndConflictMax = 16
)

// A selection runs the strategies of a plan, and again if that found what the ask needs.
type selection struct{ *plan }

// run runs the strategies, one after the other.
func (p selection) run() {
	p.reason = NothingHelps
	if p.rules.configured {
		p.chooseConfigured(p.cfg.Strategies)
	} else {
		p.chooseFirst(p.rules.strategies)
	}
	if p.reason == NothingHelps && p.refusal != "" {
		p.reason = Refused
	}
}

// spareNeeded keeps the candidates that the ask needs beside it from being victims. It
// reports whether there are any, and those that are left hold enough. It is for where the
// resource manager refuses the ask even without all candidates: that may be because one of
// them is missing.
func (p selection) spareNeeded() bool {
	needed := p.findNeeded()
	if !slices.Contains(needed, true) {
		return false
	}
	left := p.ranked[:0]
	for i, e := range p.ranked {
		if needed[i] {
			p.leaveOut(e.Candidate, IsNeeded)
		} else {
			left = append(left, e)
		}
	}
	p.ranked, p.weighed = left, false
	p.fillShares()
	p.flagBudgeted()
	return p.reached(p.total)
}

// findNeeded finds the candidates without which the resource manager refuses the ask. If
// the reason is the same with all candidates, none of them matters. Where one conflicts
// with the ask and another is needed, it is found if one of them is the only one.
func (p selection) findNeeded() []bool {
	var all []int
	for i := range p.ranked {
		if !p.ranked[i].Elsewhere {
			all = append(all, i)
		}
	}
	needed := make([]bool, len(p.ranked))
	refusal := p.refuses()
	if len(all) > neededMax || refusal != nil && (len(all) > neededAndConflictMax || refusal.Error() == p.refusal) {
		return needed
	}
	if refusal == nil {
		for _, i := range all {
			needed[i] = p.refuses(i) != nil
		}
		return needed
	}
	for at, i := range all {
		if p.refuses(slices.Delete(slices.Clone(all), at, at+1)...) == nil {
			needed[i] = true
			return needed
		}
	}
	for _, conflict := range all {
		if p.refuses(conflict) != nil {
			continue
		}
		for _, i := range all {
			needed[i] = i != conflict && p.refuses(conflict, i) != nil
		}
		return needed
	}
	return needed
}

// refuses is why the resource manager refuses the ask without these candidates.
func (p selection) refuses(removed ...int) error { return p.fits(p.reprieval.keysOf(removed)) }
