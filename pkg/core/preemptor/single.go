package preemptor

import "github.com/narwhal-scheduler/narwhal/pkg/resources"

// single selects one victim that is enough and is not much larger than the ask:
// of the lowest class that has one, the one with the least deviation.
//
// The deviation is that of the worst of the ask's kinds: what the victim holds
// above the ask, as a share of the ask. Holding less is no deviation, because
// together with what is free it is enough. A kind that is not asked for does not
// count.
func (p *plan) single() choice {
	best, nearest := -1, -1
	var least, near resources.Share
	for i := range p.ranked {
		e := &p.ranked[i]
		if best >= 0 && e.class > p.ranked[best].class {
			break
		}
		if !p.suffice([]int{i}) {
			continue
		}
		deviation := p.deviation(e)
		if nearest < 0 || deviation.Compare(near) < 0 {
			nearest, near = i, deviation
		}
		within := deviation.Compare(resources.Share{Part: p.cfg.DeviationMax, Whole: 100}) <= 0
		if within && (best < 0 || deviation.Compare(least) < 0) {
			best, least = i, deviation
		}
	}
	switch {
	case best >= 0:
		return choice{victims: []int{best}}
	case nearest >= 0:
		return choice{failure: Failure{Why: TooLarge, Key: p.ranked[nearest].Key, PerMille: near.PerMille(), Most: p.cfg.DeviationMax}}
	default:
		return choice{failure: Failure{Why: NotOne}}
	}
}

func (p *problem) deviation(e *eligible) resources.Share {
	var worst resources.Share
	for kind, asked := range p.ask.Amounts {
		beyond := e.Amounts.Of(resources.Kind(kind)) - asked
		if asked <= 0 || beyond <= 0 {
			continue
		}
		if share := (resources.Share{Part: beyond, Whole: asked}); share.Compare(worst) > 0 {
			worst = share
		}
	}
	return worst
}
