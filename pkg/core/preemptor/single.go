package preemptor

import "github.com/narwhal-scheduler/narwhal/pkg/resources"

// single selects one victim that is enough and is not much larger than the ask:
// within the limit, the one of the lowest class, there of the lowest priority, and
// there with the least deviation. Of equals it is the least important one.
//
// The deviation is that of the worst kind which the victim holds: what it holds
// above the ask, as a share of the ask, or, of a kind that is not asked for, what
// it holds as a share of the node. Holding less is no deviation, because together
// with what is free it is enough.
func (p *plan) single() choice {
	best, nearest := -1, -1
	var least, near deviation
	whole := p.whole()
	most := resources.Share{Part: p.cfg.DeviationMax, Whole: 100}
	for i := range p.ranked {
		e := &p.ranked[i]
		if best >= 0 && (e.class > p.ranked[best].class || e.Priority > p.ranked[best].Priority) {
			break
		}
		if e.With != nil || !p.limit.allows(e) || !p.suffice([]int{i}) || !p.allowsAlone(e.Candidate) {
			continue
		}
		d := p.deviation(e, whole)
		if nearest < 0 || d.Compare(near.Share) < 0 {
			nearest, near = i, d
		}
		if d.Compare(most) <= 0 && (best < 0 || d.Compare(least.Share) < 0) {
			best, least = i, d
		}
	}
	switch {
	case best >= 0:
		return choice{victims: []int{best}}
	case nearest >= 0:
		return choice{failure: Failure{
			Why: TooLarge, Key: p.ranked[nearest].Key, Kind: near.kind, PerMille: near.PerMille(), Most: p.cfg.DeviationMax,
		}}
	default:
		return choice{failure: Failure{Why: NotOne, Among: p.among()}}
	}
}

// A deviation is how much a victim differs from the ask.
type deviation struct {
	resources.Share
	kind string // the kind, if it is one that is not asked for
}

func (p *problem) deviation(e *eligible, whole resources.Amounts) deviation {
	var worst deviation
	for _, kind := range p.kinds {
		held, asked, name := e.Amounts.Of(kind), p.ask.Amounts.Of(kind), ""
		of := asked
		if asked <= 0 {
			asked, of, name = 0, whole.Of(kind), p.table.Name(kind)
		}
		if held <= asked {
			continue
		}
		if share := (resources.Share{Part: held - asked, Whole: of}); share.Compare(worst.Share) > 0 {
			worst = deviation{share, name}
		}
	}
	return worst
}

// allowsAlone reports whether a candidate can be the only victim within the limit.
func (p *plan) allowsAlone(c *Candidate) bool {
	if !p.bound {
		return true
	}
	p.fillFloors()
	return (p.limit.below > 0 || p.keepsFloors(c)) && (p.limit.violations > 0 || !p.breaksBudget(c)) && (p.limit.stops > 0 || !p.stopsAlone(c))
}
