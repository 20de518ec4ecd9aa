package preemptor

import (
	"slices"

	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// fillFloors resets what may be taken below each floor to its surplus.
func (p *problem) fillFloors() {
	width := p.width
	p.left = slices.Grow(p.left[:0], len(p.node.Floors)*width)[:len(p.node.Floors)*width]
	for f := range p.node.Floors {
		for kind := range width {
			p.left[f*width+kind] = max(p.node.Floors[f].Surplus.Of(resources.Kind(kind)), 0)
		}
	}
}

// keepsFloors reports whether c may be taken too.
func (p *problem) keepsFloors(c *Candidate) bool {
	_, broken := p.brokenBy(c)
	return !broken
}

// checkFloors is keepsFloors, and records the floor for the explanation.
func (p *problem) checkFloors(c *Candidate) bool {
	f, broken := p.brokenBy(c)
	if broken && p.reporting {
		p.binding = append(p.binding, f)
	}
	return !broken
}

// brokenBy is a floor that is broken if c is taken too.
func (p *problem) brokenBy(c *Candidate) (floor int32, broken bool) {
	if len(p.node.Floors) == 0 {
		return 0, false
	}
	if c.With != nil {
		return p.brokenByAll(c)
	}
	for _, f := range c.Floors {
		left := p.left[int(f)*p.width:][:p.width]
		for kind, v := range c.Amounts {
			if v > left[kind] {
				return f, true
			}
		}
	}
	return 0, false
}

// brokenByAll is brokenBy for those that end together.
func (p *problem) brokenByAll(c *Candidate) (floor int32, broken bool) {
	p.charge(c, 1)
	for m := c; m != nil && !broken; m = m.With {
		for _, f := range m.Floors {
			if slices.Min(p.left[int(f)*p.width:][:p.width]) < 0 {
				floor, broken = f, true
				break
			}
		}
	}
	p.charge(c, -1)
	return floor, broken
}

// charge books c, which keeps the floors, as taken; with -1 it is given back.
func (p *problem) charge(c *Candidate, times int64) {
	if len(p.node.Floors) == 0 {
		return
	}
	for ; c != nil; c = c.With {
		for _, f := range c.Floors {
			left := p.left[int(f)*p.width:][:p.width]
			for kind, v := range c.Amounts {
				if v > 0 && left[kind] != resources.Unlimited {
					left[kind] -= times * v
				}
			}
		}
	}
}

// floored reports whether all eligible candidates together break a floor.
// Otherwise floors need no further checks.
func (p *problem) floored() bool { return p.breaking(p.ranks()) > 0 }

// breaking is how many of these candidates break a floor, if each is taken that does not.
func (p *problem) breaking(list []int) (count int) {
	if len(p.node.Floors) == 0 {
		return 0
	}
	p.fillFloors()
	for _, i := range list {
		if c := p.ranked[i].Candidate; p.keepsFloors(c) {
			p.charge(c, 1)
		} else {
			count++
		}
	}
	p.fillFloors()
	return count
}
