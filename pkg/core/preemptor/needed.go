package preemptor

import "slices"

// run runs the strategies, one after the other.
func (p *plan) run() {
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
func (p *plan) spareNeeded() bool {
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
	return p.reached(p.total)
}

// findNeeded finds candidates that the resource manager wants beside the ask, as few as
// possible. If the reason is the same with all candidates, none of them matters. It finds
// none if it is stopped.
func (p *plan) findNeeded() []bool {
	q := p.newQuestions()
	refusal := p.fits(p.keysOf(nil))
	if refusal == nil {
		return q.kept(q.all)
	}
	if refusal.Error() == p.refusal {
		return nil
	}
	return q.besideConflict(refusal.Error())
}
