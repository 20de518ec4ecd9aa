package core

import (
	"iter"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/core/backlog"
	"github.com/narwhal-scheduler/narwhal/pkg/core/ledger"
	"github.com/narwhal-scheduler/narwhal/pkg/core/preemptor"
	"github.com/narwhal-scheduler/narwhal/pkg/core/question"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// A costCache keeps the nodeCosts of the keys that were used last, and a log of the
// nodes that have changed since.
type costCache struct {
	*backlog.Backlog
	predicates *question.Predicates
	planner    preemptor.Planner
	plans      [preemptor.Triggers]preemptor.Config
	// flat says that between queues only priority counts: there are no guarantees,
	// fences or offsets.
	flat       bool
	configured resources.Amounts // above zero for the kinds that a queue has a max or a guarantee of

	known          map[preemptionKey]*nodeCosts
	configurations uint64         // counts how often everything was forgotten
	uses           uint64         // counts how often any costs were used
	generation     uint64         // counts changes of nodes
	refreshed      uint64         // the generation when any costs were last brought up to date
	log            []*ledger.Node // that changed last
	steps          int64          // of searches that are counted
	left           int            // how many nodes may still be evaluated in this batch
	spare          costMemory
	attempt        uint64 // the number of the attempt under way
	limits         costLimits

	input  victimInput
	shares preemptor.Backlog // scratch, like the next one
	step   resources.Amounts
}

// evaluationsMax is for how many nodes it is worked out in one batch what room costs, so
// that commands are not kept waiting. An attempt that needs more goes on in the next one.
const evaluationsMax = 2048

// stepsPerEvaluation is how many steps of a search take as long as to work out what room on
// a node costs without one.
const stepsPerEvaluation = 64

// keyOf is what an ask has in common with others for which room costs the same. Where
// only priorities count and no quota is short, all queues have one key.
func (p *costCache) keyOf(r *ledger.Request, trigger preemptor.Trigger) preemptionKey {
	c := p.ClassOf(r)
	if c.Constraints != "" {
		plain := backlog.ClassTraits{
			Amounts: c.Amounts, Priority: c.Priority, Importance: c.Importance, Preempts: c.Preempts, Nominated: c.Nominated,
		}
		c = p.Classes.Of(plain)
	}
	if p.flat && r.WithoutRoom() == nil {
		return preemptionKey{class: c, leaf: p.Root, scope: p.Root, trigger: trigger}
	}
	return preemptionKey{class: c, leaf: r.App.Queue, scope: r.App.Queue.UpTo((*ledger.Queue).IsFenced), trigger: trigger}
}

// of finds or makes the costs of a key, and brings them up to date.
func (p *costCache) of(key preemptionKey, behind []preemptor.Behind) *nodeCosts {
	c := p.known[key]
	if c == nil {
		c = p.add(key, behind)
	}
	p.uses++
	c.used = p.uses
	p.refresh(c)
	p.expect(c, behind)
	return c
}

// add begins the costs of a key.
func (p *costCache) add(key preemptionKey, behind []preemptor.Behind) *nodeCosts {
	p.makeSpace()
	c := &nodeCosts{costMemory: p.spare, seen: p.generation}
	p.spare = costMemory{}
	if p.known == nil {
		p.known = map[preemptionKey]*nodeCosts{}
	}
	p.known[key] = c
	c.heap = slices.Grow(c.heap, p.Nodes.Len())
	p.begin(c, key, behind, p.AllNodes)
	c.deficitsChanged()
	return c
}

// begin has costs begin with nodes of which nothing is known.
func (p *costCache) begin(c *nodeCosts, key preemptionKey, behind []preemptor.Behind, nodes iter.Seq[*ledger.Node]) {
	c.preemptionKey, c.relations, c.unowed = key, map[*ledger.Queue]*relation{}, p.unowed(key)
	p.expect(c, behind)
	for n := range nodes {
		if !n.Gone { // another node may have its slot
			p.reset(c, n)
		}
	}
}

// refresh takes into account what has changed since the costs were last used.
func (p *costCache) refresh(c *nodeCosts) {
	first := p.generation - uint64(len(p.log))
	for _, n := range p.log[c.seen-first:] {
		p.reset(c, n)
	}
	p.noteGuarantees(c)
	if c.goesOn = c.attempt >= p.attempt; !c.goesOn {
		c.attempt = p.attempt
		p.resetVolatile(c)
	}
	c.seen, p.refreshed = p.generation, p.generation
}

// noteGuarantees notes how much of the guarantees is used, and whether that matters.
func (p *costCache) noteGuarantees(c *nodeCosts) {
	for i, q := range c.guarded {
		surplus := q.Surplus()
		if surplus.Equal(c.floors[i].Surplus) {
			continue
		}
		c.floors[i].Surplus, c.moved = surplus, true
		c.broken = c.broken || !c.needs[i].Within(surplus)
	}
	if c.trigger == preemptor.Guarantee && c.deficitsChanged() {
		c.broken = true
	}
}

// resetVolatile resets the nodes for which it matters how much of the guarantees is used,
// if that has changed, and those where budgets count.
func (p *costCache) resetVolatile(c *nodeCosts) {
	moved, holds := c.moved || p.Options.Budgets != nil || c.regrouped != p.Regrouped, !c.broken
	c.regrouped = p.Regrouped
	c.moved, c.broken = false, false
	again := c.volatile
	if !holds {
		again = slices.AppendSeq(make([]*ledger.Node, 0, p.Nodes.Len()), p.AllNodes)
		for i := range c.needs {
			c.needs[i] = nil
		}
	}
	if moved || !holds {
		c.volatile = nil
		for _, n := range again {
			if !n.Gone { // another node may have its slot
				p.reset(c, n)
			}
		}
	}
}

// reset forgets what a node costs, or the node if it is gone.
func (p *costCache) reset(c *nodeCosts, n *ledger.Node) {
	if n.Gone {
		c.drop(n)
		return
	}
	c.put(nodeCost{node: n, cost: p.lowerBound(c, n), status: notEvaluated})
}

// nodeChanged notes that a node is no longer what it was when costs were worked out.
func (p *costCache) nodeChanged(n *ledger.Node) {
	last := len(p.log) - 1
	if last >= 0 && p.log[last] == n && p.refreshed < p.generation {
		return // nothing was worked out since
	}
	p.generation++
	if len(p.known) > 0 {
		p.log = append(p.log, n)
		if len(p.log) > max(4*p.Nodes.Len(), 1024) {
			p.trim()
		}
	}
}

// trim keeps the newer half of the log, and the costs that need no more.
func (p *costCache) trim() {
	p.log = append(p.log[:0:0], p.log[len(p.log)/2:]...)
	first := p.generation - uint64(len(p.log))
	maps.DeleteFunc(p.known, func(_ preemptionKey, c *nodeCosts) bool { return c.seen < first })
}

// clear forgets everything.
func (p *costCache) clear() {
	p.known, p.log = nil, nil
	p.configurations++
}

// lowerBound is the least that making room on a node can cost.
func (p *costCache) lowerBound(c *nodeCosts, n *ledger.Node) preemptor.Cost {
	if c.class.Amounts.FitsInSum(n.RoomToMake(c.class.Importance, c.trigger), n.Releasing.Amounts) {
		return leastOfAll
	}
	least := preemptor.LeastVictims(c.class.Amounts, n.RoomToMake(c.class.Importance, c.trigger), n.Releasing.Amounts, n.LargestHeld(), c.step)
	switch {
	case n.Weakest.Is == nil:
		return preemptor.LeastCost(p.plans[c.trigger], c.trigger, least, math.MaxInt32, time.Time{})
	case !p.Plain:
		return preemptor.LeastCost(p.plans[c.trigger], c.trigger, least, math.MinInt32, time.Time{})
	}
	return preemptor.LeastCost(p.plans[c.trigger], c.trigger, least, n.Weakest.Priority, n.Weakest.Created)
}

// leastOfAll is what it costs to wait.
var leastOfAll = preemptor.Cost{0, math.MinInt64, math.MinInt64, math.MinInt64, math.MinInt64, math.MinInt64, math.MinInt64}

// best is the node where room costs least, worked out. It is nil if there is none. It is
// false if so many nodes were evaluated in this batch that this has to wait.
func (p *costCache) best(c *nodeCosts) (least *nodeCost, ok bool) {
	for len(c.heap) > 0 && !c.isKnown(&c.heap[0]) {
		if p.left <= 0 {
			return nil, false
		}
		p.renew(c, c.heap[0].node)
	}
	if len(c.heap) == 0 {
		c.compact()
		return nil, true
	}
	return &c.heap[0], true
}

// cheapest are the nodes from that where room costs least on. It ends early, and is late then, if
// what the next costs has to be worked out later.
func (p *costCache) cheapest(c *nodeCosts, late *bool) iter.Seq[nodeCost] {
	return func(yield func(nodeCost) bool) {
		var taken []nodeCost
		defer func() {
			for _, t := range taken {
				c.put(t)
			}
		}()
		for {
			next, ok := p.best(c)
			if *late = !ok; next == nil {
				return
			}
			top := *next
			if !yield(top) {
				return
			}
			taken = append(taken, top)
			c.drop(top.node)
		}
	}
}

// renew works out what room on a node costs as things are.
func (p *costCache) renew(c *nodeCosts, n *ledger.Node) {
	p.Work.NodeCosts++
	c.put(p.evaluate(c, n))
	p.left -= 1 + p.stepsTaken()
}

// stepsTaken are the steps of searches since it was last called, in evaluations.
func (p *costCache) stepsTaken() int {
	taken := p.planner.Steps()
	taken, p.steps = taken-p.steps, taken
	p.Work.Steps += uint64(taken)
	return int(taken / stepsPerEvaluation)
}

// nearest is the node that lacks the least of those where too little can be freed; nil if
// there is none.
func (p *costCache) nearest(c *nodeCosts) *ledger.Node {
	if c.near.node != nil || c.counts[insufficient] == 0 {
		return c.near.node
	}
	for n := range p.AllNodes { // the nearest has changed
		if int(n.Slot) < len(c.status) && c.status[n.Slot] == insufficient {
			return n
		}
	}
	return nil
}

// evaluate works out what room on a node costs.
func (p *costCache) evaluate(c *nodeCosts, n *ledger.Node) nodeCost {
	if status := p.outOfReach(&c.preemptionKey, n); status != notEvaluated {
		return nodeCost{node: n, cost: preemptor.Cost{2, int64(status)}, status: status}
	}
	on := p.nodeInput(c, n, nil)
	if p.input.tight(c) || len(on.Budgets)+len(p.input.grouped) > 0 {
		c.volatile = append(c.volatile, n)
	}
	cost := p.planner.Cost(p.plans[c.trigger], c.ask(), on)
	if !cost.Feasible() {
		return nodeCost{node: n, cost: cost, status: insufficient}
	}
	served := p.planner.Served()
	return nodeCost{node: n, cost: cost, status: sufficient, shared: served.Asks > 1, bounded: served.All, expected: c.expected}
}

// outOfReach is why no room can be made on a node whatever runs there, or
// notEvaluated.
func (p *costCache) outOfReach(k *preemptionKey, n *ledger.Node) nodeStatus {
	switch {
	case !p.mayUse(k, n):
		return closed
	case !k.class.Amounts.FitsIn(n.Capacity):
		return tooSmall
	}
	return notEvaluated
}

// mayUse reports whether room may be made on a node for the asks: not where anything is kept for
// more important asks or, for equal ones, with a required node. A claim for which nothing is evicted
// gives way to an ask under its guarantee. That of an equal ask does too to asks of the amounts that
// hold it, and where no room could be made for its own ask. Where evictions are overdue no others
// follow for a while.
func (p *costCache) mayUse(k *preemptionKey, n *ledger.Node) bool {
	if n.IsBlocked() || !n.Schedulable {
		return false
	}
	for _, held := range n.Claims {
		switch {
		case held.Importance < k.class.Importance:
			return true
		case held.Nominated() != nil || held.Reserved() && k.trigger == preemptor.Guarantee:
		case held.Required != "" || held.Importance > k.class.Importance:
			return false
		case !p.ClassOf(held).Preempts && !held.Amounts.Equal(k.class.Amounts):
			return false
		}
	}
	return true
}

// ask is any ask of the key, as the preemptor sees it.
func (k *nodeCosts) ask() preemptor.Ask {
	return preemptor.Ask{Trigger: k.trigger, Amounts: k.class.Amounts, Priority: k.class.Priority, Behind: k.behind, Step: k.step, Unowed: k.unowed}
}

// askOf is one certain ask of the key.
func (k *nodeCosts) askOf(r *ledger.Request) preemptor.Ask {
	ask := k.ask()
	ask.Key = string(r.Key)
	return ask
}

// nodeInput is a node as the preemptor sees it for the asks of a key, with the quota
// that must be freed. It is valid until the next call.
func (p *costCache) nodeInput(c *nodeCosts, n *ledger.Node, quota ledger.QuotaNeed) preemptor.Node {
	on := preemptor.Node{Kinds: p.Kinds, Free: n.RoomToMake(c.class.Importance, c.trigger)}
	quota.SetOn(&on)
	in := &p.input
	in.begin(c, p.flat && c.leaf == p.Root)
	in.quota = quota
	if c.trigger == preemptor.Guarantee {
		in.short = c.class.Amounts.Shortfall(on.Free.Plus(n.Releasing.Amounts))
		in.short.Raise(quota.Most())
		in.short = p.owed(in.short)
	}
	for _, r := range n.Own {
		in.add(c, r, false)
	}
	for _, r := range n.Foreign {
		in.candidates = append(in.candidates, r.Candidate())
	}
	if len(quota) > 0 {
		p.addElsewhere(c, n, quota)
	}
	in.setOn(&on)
	p.predicates.AddBudgets(&on)
	return on
}

// owed is what is to be freed of kinds that a guarantee must name to be owed: not of those
// that no queue is configured for, such as pods.
func (p *costCache) owed(short resources.Amounts) resources.Amounts {
	owed := short.Clone()
	for i := range owed {
		if p.configured.Of(resources.Kind(i)) == 0 {
			owed[i] = 0
		}
	}
	return owed
}
