package core

import (
	"github.com/narwhal-scheduler/narwhal/pkg/core/preemptor"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// ask is the ask of the ground's shape, whichever it is.
func (g *ground) ask() preemptor.Ask {
	return preemptor.Ask{Trigger: g.trigger, Amounts: g.shape.amounts, Priority: g.shape.priority}
}

// askOf is one certain ask of it.
func (g *ground) askOf(r *request) preemptor.Ask {
	ask := g.ask()
	ask.Key = string(r.Key)
	return ask
}

// quarry is a node as the preemptor sees it for the asks of a ground. It is
// good until the next is made.
func (p *Partition) quarry(g *ground, n *node, quota resources.Amounts) preemptor.Node {
	on := preemptor.Node{Kinds: p.kinds, Free: n.roomFor(g.shape.standing), Quota: quota}
	p.beginQuarry(g)
	guarded := false
	var short resources.Amounts
	if g.trigger == preemptor.Guarantee {
		short = g.shape.amounts.Shortfall(on.Free.Plus(n.leaving))
		short.Raise(quota)
	}
	for _, r := range n.own {
		c := r.candidate()
		guarded = p.placeIn(g, r, &c, short) || guarded
		p.candidates = append(p.candidates, c)
	}
	for _, r := range n.foreign {
		p.candidates = append(p.candidates, r.candidate())
	}
	if len(quota) > 0 {
		guarded = p.addElsewhere(g, n, quota, short) || guarded
	}
	on.On = p.candidates
	if guarded {
		on.Floors = p.floors
	}
	p.addBudgets(&on)
	return on
}

func (p *Partition) beginQuarry(g *ground) {
	p.candidates, p.floors, p.floorNumbers = p.candidates[:0], p.floors[:0], p.floorNumbers[:0]
	clear(g.numbers)
}

// placeIn sets what a candidate is to the asks of a ground. It reports whether
// a guarantee protects it.
func (p *Partition) placeIn(g *ground, r *request, c *preemptor.Candidate, short resources.Amounts) bool {
	if p.flat && g.leaf == p.root {
		return false
	}
	rel := g.relation(r.application.queue)
	c.Outside, c.SameQueue, c.Protected = rel.outside, rel.same, rel.protected
	c.Priority = rel.asSeen(r.Priority)
	c.Floors = p.numberFloors(g, rel)
	if !c.Releasing && !c.Required {
		for _, f := range c.Floors {
			p.atStake[f].Add(r.Amounts)
		}
	}
	if g.trigger == preemptor.Guarantee && !rel.same && !due(g.leaf, rel.common, g.shape.amounts, short) {
		c.Outside = true
	}
	return len(rel.floors) > 0
}

// tight reports whether a guarantee keeps anybody in the quarry from going, and
// notes how much of each surplus they could use up.
func (p *Partition) tight(g *ground) bool {
	for f, number := range g.numbers {
		if number > 0 && !p.atStake[number-1].Within(g.floors[f].Surplus) {
			return true
		}
	}
	for f, number := range g.numbers {
		if number > 0 {
			g.needs[f].Raise(p.atStake[number-1])
		}
	}
	return false
}

// numberFloors numbers the floors of a leaf as the quarry lists them: only those
// that matter on its node.
func (p *Partition) numberFloors(g *ground, rel *relation) []int32 {
	start := len(p.floorNumbers)
	for _, f := range rel.floors {
		for len(g.numbers) <= int(f) {
			g.numbers = append(g.numbers, 0)
		}
		if g.numbers[f] == 0 {
			p.floors = append(p.floors, g.floors[f])
			g.numbers[f] = int32(len(p.floors))
			if len(p.atStake) < len(p.floors) {
				p.atStake = append(p.atStake, nil)
			}
			clear(p.atStake[len(p.floors)-1])
		}
		p.floorNumbers = append(p.floorNumbers, g.numbers[f]-1)
	}
	return p.floorNumbers[start:len(p.floorNumbers):len(p.floorNumbers)]
}
