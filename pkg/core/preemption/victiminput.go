package preemption

import (
	"github.com/narwhal-scheduler/narwhal/pkg/core/ledger"
	"github.com/narwhal-scheduler/narwhal/pkg/core/preemptor"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// A victimInput collects what the preemptor looks at: candidates, and the floors of
// queues with guarantees. Its memory is used again for the next node.
type victimInput struct {
	candidates   []preemptor.Candidate
	floors       []preemptor.Floor
	floorNumbers []int32             // those of all candidates, one after the other
	atStake      []resources.Amounts // by floors: what all candidates below it hold
	short        resources.Amounts   // of a guarantee: what is to be freed
	quota        ledger.QuotaNeed    // what is to be freed of quota
	simple       bool                // queues do not matter
	guarded      bool                // a guarantee protects any candidate
	groupInput
	elsewhere elsewhere
	hanging   map[*ledger.Node]bool // by quota: nodes that may hang, as far as they were looked at; else nil
}

// Begin prepares for the nodes of some costs; simple says that queues do not matter.
func (in *victimInput) Begin(c *NodeCosts, simple bool) {
	in.candidates, in.floors, in.floorNumbers = in.candidates[:0], in.floors[:0], in.floorNumbers[:0]
	in.short, in.quota, in.hanging, in.simple, in.guarded = nil, nil, nil, simple, false
	in.reset()
	clear(c.numbers)
}

// Frees says what is to be freed of quota too.
func (in *victimInput) Frees(quota ledger.QuotaNeed) { in.quota = quota }

// EndAnyway has those candidates count as releasing that end for others.
func (in *victimInput) EndAnyway(victims []preemptor.Victim) {
	in.anyway = &endingAnyway{}
	in.anyway.add(victims)
}

// SetOn gives a plan the candidates, floors and groups.
func (in *victimInput) SetOn(c *NodeCosts, on *preemptor.Node) {
	for i := range in.candidates {
		in.candidates[i].Releasing = in.candidates[i].Releasing || in.anyway.has(in.candidates[i].Key)
	}
	in.addUnits(c)
	in.markGroups()
	on.On, on.Floors, on.Groups = in.candidates, in.usedFloors(), in.groups
}

// mayHang reports whether what is overdue on a node keeps others from ending there.
func (in *victimInput) mayHang(n *ledger.Node) bool {
	if n.Details.Read().Evicted == 0 {
		return false
	}
	is, seen := in.hanging[n]
	if !seen {
		_, guard := n.Overdue("")
		is = guard.Pauses()
		in.hanging[n] = is
	}
	return is
}

// usedFloors are the floors that protect any candidate.
func (in *victimInput) usedFloors() []preemptor.Floor {
	if in.guarded {
		return in.floors
	}
	return nil
}

// Add adds an own allocation, on the node or elsewhere.
func (in *victimInput) Add(c *NodeCosts, r *ledger.Request, elsewhere bool) {
	if !elsewhere {
		in.node = r.RunsOn
	}
	if in.isOfUnit(r) {
		return
	}
	in.addGrouped(r)
	in.candidates = append(in.candidates, in.candidateOf(c, r, elsewhere))
}

// candidateOf is an own allocation as a candidate.
func (in *victimInput) candidateOf(c *NodeCosts, r *ledger.Request, elsewhere bool) preemptor.Candidate {
	candidate := r.Candidate()
	candidate.Elsewhere, candidate.FreesFrom = elsewhere, in.quota.From(r.App.Queue)
	candidate.Hanging = in.hanging != nil && in.mayHang(r.RunsOn)
	in.relate(c, r, &candidate)
	return candidate
}

// AddForeign adds an allocation of another scheduler, which is compared as the root sees it.
func (in *victimInput) AddForeign(c *NodeCosts, root *ledger.Queue, r *ledger.Request) {
	candidate := r.Candidate()
	candidate.FreesFrom = len(in.quota)
	if !in.simple {
		rel := c.relation(root)
		candidate.Outside, candidate.Priority = rel.outside, rel.asSeen(r.Priority)
	}
	in.candidates = append(in.candidates, candidate)
}

// relate sets how a candidate relates to the asks of a key.
func (in *victimInput) relate(c *NodeCosts, r *ledger.Request, candidate *preemptor.Candidate) {
	if in.simple {
		return
	}
	rel := c.relation(r.App.Queue)
	candidate.Outside, candidate.SameQueue, candidate.Protected = rel.outside, rel.same, rel.protected || r.IsReplaced()
	candidate.Priority = rel.asSeen(r.Priority)
	candidate.Floors = in.numberFloors(c, rel)
	if !candidate.Releasing && !candidate.Required {
		for _, f := range candidate.Floors {
			in.atStake[f].Add(r.Amounts)
		}
	}
	if c.Trigger == preemptor.Guarantee && !rel.same && !c.Leaf.UnderGuarantee(rel.common, c.asked(), in.short) {
		candidate.Outside = true
	}
	in.guarded = in.guarded || len(rel.floors) > 0
}

// asked is what is asked for at once in the leaf.
func (c *NodeCosts) asked() resources.Amounts {
	if c.all != nil {
		return c.all
	}
	return c.Class.Amounts
}

// tight reports whether a guarantee keeps any candidate from being a victim, and
// notes how much of each surplus they could use up.
func (in *victimInput) tight(c *NodeCosts) bool {
	for f, number := range c.numbers {
		if number > 0 && !in.atStake[number-1].Within(c.floors[f].Surplus) {
			return true
		}
	}
	for f, number := range c.numbers {
		if number > 0 {
			c.needs[f].Raise(in.atStake[number-1])
		}
	}
	return false
}

// numberFloors numbers the floors of a leaf as the input lists them: only those
// that matter on its node.
func (in *victimInput) numberFloors(c *NodeCosts, rel *Relation) []int32 {
	start := len(in.floorNumbers)
	for _, f := range rel.floors {
		for len(c.numbers) <= int(f) {
			c.numbers = append(c.numbers, 0)
		}
		if c.numbers[f] == 0 {
			in.floors = append(in.floors, c.floors[f])
			c.numbers[f] = int32(len(in.floors))
			if len(in.atStake) < len(in.floors) {
				in.atStake = append(in.atStake, nil)
			}
			clear(in.atStake[len(in.floors)-1])
		}
		in.floorNumbers = append(in.floorNumbers, c.numbers[f]-1)
	}
	return in.floorNumbers[start:len(in.floorNumbers):len(in.floorNumbers)]
}
