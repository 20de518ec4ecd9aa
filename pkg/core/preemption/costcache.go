package preemption

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

// A CostCache keeps the NodeCosts of the keys that were used last, and a log of the
// nodes that have changed since.
type CostCache struct {
	*backlog.Backlog
	Predicates *question.Predicates
	Planner    preemptor.Planner
	Plans      [preemptor.Triggers]preemptor.Config
	// Flat says that between queues only priority counts: there are no guarantees,
	// fences or offsets.
	Flat       bool
	Configured resources.Amounts // above zero for the kinds that a queue has a max or a guarantee of

	Known          map[Key]*NodeCosts
	configurations uint64         // counts how often everything was forgotten
	uses           uint64         // counts how often any costs were used
	Generation     uint64         // counts changes of nodes
	refreshed      uint64         // the generation when any costs were last brought up to date
	Log            []*ledger.Node // that changed last
	steps          int64          // of searches that are counted
	Remaining      int            // how many nodes may still be evaluated in this batch
	spare          costMemory
	Attempt        uint64 // the number of the attempt under way
	Bounds         CostLimits

	Input  victimInput
	group  *groupSearch      // under way; nil for an ask by itself
	Shares preemptor.Backlog // scratch, like the next one
	step   resources.Amounts
}

// EvaluationsMax is for how many nodes it is worked out in one batch what room costs, so
// that commands are not kept waiting. An attempt that needs more goes on in the next one.
const EvaluationsMax = 2048

// StepsPerEvaluation is how many steps of a search take as long as to work out what room on
// a node costs without one.
const StepsPerEvaluation = 64

// keyOf is what an ask has in common with others for which room costs the same. Where
// only priorities count and no quota is short, all queues have one key.
func (p *CostCache) keyOf(r *ledger.Request, trigger preemptor.Trigger) Key {
	c := p.ClassOf(r)
	if c.Constraints != "" {
		plain := backlog.ClassTraits{
			Amounts: c.Amounts, Priority: c.Priority, Importance: c.Importance, Preempts: c.Preempts, Nominated: c.Nominated,
		}
		c = p.Classes.Of(plain)
	}
	if p.Flat && r.WithoutRoom() == nil {
		return Key{Class: c, Leaf: p.Root, Scope: p.Root, Trigger: trigger}
	}
	return Key{Class: c, Leaf: r.App.Queue, Scope: r.App.Queue.UpTo((*ledger.Queue).IsFenced), Trigger: trigger}
}

// of finds or makes the costs of a key, and brings them up to date.
func (p *CostCache) of(key Key, behind []preemptor.Behind) *NodeCosts {
	c := p.Known[key]
	if c == nil {
		c = p.add(key, behind)
	}
	p.uses++
	c.used = p.uses
	p.Refresh(c)
	p.expect(c, behind)
	return c
}

// add begins the costs of a key.
func (p *CostCache) add(key Key, behind []preemptor.Behind) *NodeCosts {
	p.makeSpace()
	c := &NodeCosts{costMemory: p.spare, Seen: p.Generation}
	p.spare = costMemory{}
	if p.Known == nil {
		p.Known = map[Key]*NodeCosts{}
	}
	p.Known[key] = c
	c.Heap = slices.Grow(c.Heap, p.Nodes.Len())
	p.begin(c, key, behind, p.AllNodes)
	c.deficitsChanged()
	return c
}

// begin has costs begin with nodes of which nothing is known.
func (p *CostCache) begin(c *NodeCosts, key Key, behind []preemptor.Behind, nodes iter.Seq[*ledger.Node]) {
	c.Key, c.Relations, c.unowed = key, map[*ledger.Queue]*Relation{}, p.unowed(key)
	p.expect(c, behind)
	for n := range nodes {
		if !n.Gone { // another node may have its slot
			p.reset(c, n)
		}
	}
}

// Refresh takes into account what has changed since the costs were last used.
func (p *CostCache) Refresh(c *NodeCosts) {
	first := p.Generation - uint64(len(p.Log))
	for _, n := range p.Log[c.Seen-first:] {
		p.reset(c, n)
	}
	p.noteGuarantees(c)
	if c.goesOn = c.Attempt >= p.Attempt; !c.goesOn {
		c.Attempt = p.Attempt
		p.resetVolatile(c)
	}
	c.Seen, p.refreshed = p.Generation, p.Generation
}

// noteGuarantees notes how much of the guarantees is used, and whether that matters.
func (p *CostCache) noteGuarantees(c *NodeCosts) {
	for i, q := range c.guarded {
		surplus := q.Surplus()
		if surplus.Equal(c.floors[i].Surplus) {
			continue
		}
		c.floors[i].Surplus, c.moved = surplus, true
		c.broken = c.broken || !c.needs[i].Within(surplus)
	}
	if c.Trigger == preemptor.Guarantee && c.deficitsChanged() {
		c.broken = true
	}
}

// resetVolatile resets the nodes for which it matters how much of the guarantees is used,
// if that has changed, and those where budgets count.
func (p *CostCache) resetVolatile(c *NodeCosts) {
	moved, holds := c.moved || p.Options.Budgets != nil || c.regrouped != p.Regrouped, !c.broken
	c.regrouped = p.Regrouped
	c.moved, c.broken = false, false
	again := c.Volatile
	if !holds {
		again = slices.AppendSeq(make([]*ledger.Node, 0, p.Nodes.Len()), p.AllNodes)
		for i := range c.needs {
			c.needs[i] = nil
		}
	}
	if moved || !holds {
		c.Volatile = nil
		for _, n := range again {
			if !n.Gone { // another node may have its slot
				p.reset(c, n)
			}
		}
	}
}

// reset forgets what a node costs, or the node if it is gone.
func (p *CostCache) reset(c *NodeCosts, n *ledger.Node) {
	if n.Gone {
		c.drop(n)
		return
	}
	c.put(NodeCost{Node: n, Cost: p.lowerBound(c, n), Status: notEvaluated})
}

// NodeChanged notes that a node is no longer what it was when costs were worked out.
func (p *CostCache) NodeChanged(n *ledger.Node) {
	last := len(p.Log) - 1
	if last >= 0 && p.Log[last] == n && p.refreshed < p.Generation {
		return // nothing was worked out since
	}
	p.Generation++
	if len(p.Known) > 0 {
		p.Log = append(p.Log, n)
		if len(p.Log) > max(4*p.Nodes.Len(), 1024) {
			p.trim()
		}
	}
}

// trim keeps the newer half of the log, and the costs that need no more.
func (p *CostCache) trim() {
	p.Log = append(p.Log[:0:0], p.Log[len(p.Log)/2:]...)
	first := p.Generation - uint64(len(p.Log))
	maps.DeleteFunc(p.Known, func(_ Key, c *NodeCosts) bool { return c.Seen < first })
}

// Clear forgets everything.
func (p *CostCache) Clear() {
	p.Known, p.Log = nil, nil
	p.configurations++
}

// lowerBound is the least that making room on a node can cost.
func (p *CostCache) lowerBound(c *NodeCosts, n *ledger.Node) preemptor.Cost {
	if c.Class.Amounts.FitsInSum(n.RoomToMake(c.Class.Importance, c.Trigger), n.Releasing.Amounts) {
		return leastOfAll
	}
	least := preemptor.LeastVictims(c.Class.Amounts, n.RoomToMake(c.Class.Importance, c.Trigger), n.Releasing.Amounts, n.LargestHeld(), c.step)
	switch {
	case n.Weakest.Is == nil:
		return preemptor.LeastCost(p.Plans[c.Trigger], c.Trigger, least, math.MaxInt32, time.Time{})
	case !p.Plain:
		return preemptor.LeastCost(p.Plans[c.Trigger], c.Trigger, least, math.MinInt32, time.Time{})
	}
	return preemptor.LeastCost(p.Plans[c.Trigger], c.Trigger, least, n.Weakest.Priority, n.Weakest.Created)
}

// leastOfAll is what it costs to wait.
var leastOfAll = preemptor.Cost{0, math.MinInt64, math.MinInt64, math.MinInt64, math.MinInt64, math.MinInt64, math.MinInt64}

// best is the node where room costs least, worked out. It is nil if there is none. It is
// false if so many nodes were evaluated in this batch that this has to wait.
func (p *CostCache) best(c *NodeCosts) (least *NodeCost, ok bool) {
	for len(c.Heap) > 0 && !c.IsKnown(&c.Heap[0]) {
		if p.Remaining <= 0 {
			return nil, false
		}
		p.renew(c, c.Heap[0].Node)
	}
	if len(c.Heap) == 0 {
		c.compact()
		return nil, true
	}
	return &c.Heap[0], true
}

// cheapest are the nodes from that where room costs least on. It ends early, and is late then, if
// what the next costs has to be worked out later.
func (p *CostCache) cheapest(c *NodeCosts, late *bool) iter.Seq[NodeCost] {
	return func(yield func(NodeCost) bool) {
		var taken []NodeCost
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
			c.drop(top.Node)
		}
	}
}

// renew works out what room on a node costs as things are.
func (p *CostCache) renew(c *NodeCosts, n *ledger.Node) {
	p.Work.NodeCosts++
	c.put(p.Evaluate(c, n))
	p.Remaining -= 1 + p.stepsTaken()
}

// stepsTaken are the steps of searches since it was last called, in evaluations.
func (p *CostCache) stepsTaken() int {
	taken := p.Planner.Steps()
	taken, p.steps = taken-p.steps, taken
	p.Work.Steps += uint64(taken)
	return int(taken / StepsPerEvaluation)
}

// nearest is the node that lacks the least of those where too little can be freed; nil if
// there is none.
func (p *CostCache) nearest(c *NodeCosts) *ledger.Node {
	if c.near.Node != nil || c.counts[insufficient] == 0 {
		return c.near.Node
	}
	for n := range p.AllNodes { // the nearest has changed
		if int(n.Slot) < len(c.Status) && c.Status[n.Slot] == insufficient {
			return n
		}
	}
	return nil
}

// Evaluate works out what room on a node costs.
func (p *CostCache) Evaluate(c *NodeCosts, n *ledger.Node) NodeCost {
	if status := p.outOfReach(&c.Key, n); status != notEvaluated {
		return NodeCost{Node: n, Cost: preemptor.Cost{2, int64(status)}, Status: status}
	}
	on := p.nodeInput(c, n, nil)
	if p.Input.tight(c) || len(on.Budgets)+len(p.Input.grouped) > 0 {
		c.Volatile = append(c.Volatile, n)
	}
	cost := p.Planner.Cost(p.Plans[c.Trigger], c.ask(), on)
	if !cost.Feasible() {
		return NodeCost{Node: n, Cost: cost, Status: insufficient}
	}
	served := p.Planner.Served()
	return NodeCost{Node: n, Cost: cost, Status: Sufficient, Shared: served.Asks > 1, bounded: served.All, Expected: c.Expected}
}

// outOfReach is why no room can be made on a node whatever runs there, or
// notEvaluated.
func (p *CostCache) outOfReach(k *Key, n *ledger.Node) nodeStatus {
	switch {
	case !p.mayUse(k, n):
		return closed
	case !k.Class.Amounts.FitsIn(n.Capacity):
		return tooSmall
	}
	return notEvaluated
}

// mayUse reports whether room may be made on a node for the asks: not where anything is kept for
// more important asks or, for equal ones, with a required node. A claim for which nothing is evicted
// gives way to an ask under its guarantee. That of an equal ask does too to asks of the amounts that
// hold it, and where no room could be made for its own ask, but not that of a lost member. Where evictions are overdue no others
// follow for a while.
func (p *CostCache) mayUse(k *Key, n *ledger.Node) bool {
	if n.IsBlocked() || !n.Schedulable {
		return false
	}
	for _, held := range n.Claims {
		switch {
		case held.Importance < k.Class.Importance:
			return true
		case held.Nominated() != nil || held.Reserved() && k.Trigger == preemptor.Guarantee:
		case held.Required != "" || held.Claim().Lost || held.Importance > k.Class.Importance:
			return false
		case !p.ClassOf(held).Preempts && !held.Amounts.Equal(k.Class.Amounts):
			return false
		}
	}
	return true
}

// ask is any ask of the key, as the preemptor sees it.
func (k *NodeCosts) ask() preemptor.Ask {
	return preemptor.Ask{Trigger: k.Trigger, Amounts: k.Class.Amounts, Priority: k.Class.Priority, Behind: k.behind, Step: k.step, Unowed: k.unowed}
}

// askOf is one certain ask of the key.
func (k *NodeCosts) askOf(r *ledger.Request) preemptor.Ask {
	ask := k.ask()
	ask.Key = string(r.Key)
	return ask
}

// nodeInput is a node as the preemptor sees it for the asks of a key, with the quota
// that must be freed. It is valid until the next call.
func (p *CostCache) nodeInput(c *NodeCosts, n *ledger.Node, quota ledger.QuotaNeed) preemptor.Node {
	on := preemptor.Node{Kinds: p.Kinds, Free: n.RoomToMake(c.Class.Importance, c.Trigger)}
	quota.SetOn(&on)
	in := &p.Input
	in.Begin(c, p.Flat && c.Leaf == p.Root)
	in.quota = quota
	if p.group != nil {
		p.group.begin(n, &on)
	}
	if c.Trigger == preemptor.Guarantee {
		in.short = c.Class.Amounts.Shortfall(on.Free.Plus(n.Releasing.Amounts))
		in.short.Raise(quota.Most())
		in.short = p.owed(in.short)
	}
	for _, r := range n.Own {
		in.Add(c, r, false)
	}
	for _, r := range n.Foreign {
		in.candidates = append(in.candidates, r.Candidate())
	}
	if len(quota) > 0 {
		p.addElsewhere(c, n, quota)
	}
	in.SetOn(c, &on)
	p.Predicates.AddBudgets(&on)
	if p.group != nil {
		p.group.adjust(c, &on)
	}
	return on
}

// owed is what is to be freed of kinds that a guarantee must name to be owed: not of those
// that no queue is configured for, such as pods.
func (p *CostCache) owed(short resources.Amounts) resources.Amounts {
	owed := short.Clone()
	for i := range owed {
		if p.Configured.Of(resources.Kind(i)) == 0 {
			owed[i] = 0
		}
	}
	return owed
}
