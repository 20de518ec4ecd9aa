package core

import (
	"fmt"
	"slices"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/core/backlog"
	"github.com/narwhal-scheduler/narwhal/pkg/core/group"
	"github.com/narwhal-scheduler/narwhal/pkg/core/ledger"
	"github.com/narwhal-scheduler/narwhal/pkg/core/preemption"
	"github.com/narwhal-scheduler/narwhal/pkg/core/preemptor"
	"github.com/narwhal-scheduler/narwhal/pkg/core/question"
)

// DropViews makes the next view from scratch, for tests that compare it with
// the one that was kept.
func (p *Partition) DropViews() {
	p.UnplacedView = nil
	for n := range p.AllNodes {
		n.View = nil
	}
	p.Applications.Ascend(func(app *ledger.Application) bool {
		app.View = nil
		return true
	})
	dropViews(p.Root)
}

func dropViews(q *ledger.Queue) {
	q.View = nil
	for _, child := range q.Children {
		dropViews(child)
	}
}

// KnownClasses is how many classes are remembered, Timers how many wait.
func (p *Partition) KnownClasses() int { return len(p.Classes.Known) }

// ForgetWork counts what is looked at from zero.
func (p *Partition) ForgetWork() { *p.Work = api.Work{} }

// TimersSet is how many timers wait.
func (p *Partition) TimersSet() int { return p.Timers.Len() }

// VerifyAttempts checks that what is remembered of attempts is what a look at every
// node gives now: the costs, and that what came to nothing still does.
func (p *Partition) VerifyAttempts() error {
	p.react()
	unfinished := p.attempts.FirstUnfinished()
	for _, c := range p.costs.Known {
		if c.Attempt >= unfinished {
			continue // an attempt goes on with what was known when it began
		}
		if err := p.verifyCosts(c); err != nil {
			return err
		}
	}
	if !p.costs.Flat || p.predicates.Any() || p.Preemption.Disabled || p.Preemption.Priority == api.PriorityOff {
		return nil
	}
	for _, c := range p.Classes.Known {
		for _, leaf := range c.Leaves {
			if err := p.verifyFailed(c, leaf); err != nil {
				return err
			}
		}
	}
	return nil
}

func (p *Partition) verifyCosts(c *preemption.NodeCosts) error {
	p.attempts.Begun++
	p.costs.Attempt = p.attempts.Begun
	p.costs.Refresh(c)
	stale := map[*ledger.Node]bool{}
	for _, n := range p.costs.Log[c.Seen-(p.costs.Generation-uint64(len(p.costs.Log))):] {
		stale[n] = true
	}
	for _, n := range c.Volatile {
		stale[n] = true
	}
	for n := range p.AllNodes {
		status := c.Status[n.Slot]
		if stale[n] || status.InHeap() {
			continue
		}
		if fresh := p.costs.Evaluate(c, n); fresh.Status != status {
			return fmt.Errorf("node %s was evaluated as %v and is %v", n.ID, status, fresh)
		}
	}
	for _, known := range slices.Clone(c.Heap) {
		if stale[known.Node] {
			continue
		}
		fresh := p.costs.Evaluate(c, known.Node)
		switch {
		case c.IsKnown(&known) && (c.Alike || known.Expected == c.Expected) && (fresh.Cost != known.Cost || fresh.Status != known.Status || fresh.Shared != known.Shared):
			return fmt.Errorf("node %s was evaluated as %v and is %v", known.Node.ID, known, fresh)
		case !c.IsKnown(&known) && c.Alike && known.Cost.Compare(fresh.Cost) > 0 && !slices.Contains(c.Volatile, known.Node):
			return fmt.Errorf("node %s at best costs %v, and costs %v", known.Node.ID, known.Cost, fresh.Cost)
		}
	}
	return nil
}

func (p *Partition) verifyFailed(c *backlog.Class, leaf *backlog.LeafClass) error {
	if leaf.Active || slices.Contains(p.retries.Queue, leaf) || !c.Preempts { // what is queued is tried again soon
		return nil
	}
	for q := leaf.Leaf.Queue; q != nil; q = q.Parent {
		if !q.HasRoom(c.Amounts, c.Importance) {
			return nil
		}
	}
	costs := &preemption.NodeCosts{Key: preemption.Key{Class: c, Leaf: p.Root, Scope: p.Root, Trigger: preemptor.Priority}, Relations: map[*ledger.Queue]*preemption.Relation{}}
	for n := range p.AllNodes {
		if fresh := p.costs.Evaluate(costs, n); fresh.Status == preemption.Sufficient && !c.Amounts.FitsIn(n.RoomToMake(c.Importance, preemptor.Priority)) && n.Releasing.IsZero() {
			return fmt.Errorf("an attempt for %s of priority %d failed and node %s would do: %v", p.Kinds.Format(c.Amounts), c.Priority, n.ID, fresh)
		}
	}
	return nil
}

// React does what the next Schedule begins with, for tests that count what follows.
func (p *Partition) React() { p.react() }

// Bounds for tests that go beyond them.
const (
	KeysMax            = preemption.KeysMax
	ReserveTriesMax    = preemption.ReserveTriesMax
	HeapsMax           = preemption.HeapsMax
	EvaluationsMax     = preemption.EvaluationsMax
	SizesMax           = preemption.SizesMax
	StepsPerEvaluation = preemption.StepsPerEvaluation
	CandidateNodesMax  = preemption.CandidateNodesMax
	MarkedMax          = backlog.MarkedMax
	IdleMax            = backlog.IdleMax
	SparesMax          = backlog.SparesMax
	AloneMax           = question.AloneMax
)

// Spares is how many entries for nodes with new room are kept to be used again.
func (p *Partition) Spares() int { return len(p.Rooms.Spare) }

// KnownCosts is for how many keys it is kept what room costs.
func (p *Partition) KnownCosts() int { return len(p.costs.Known) }

// SettleFor has an empty partition evict nothing before nodes have settled.
func (p *Partition) SettleFor(delay time.Duration) {
	p.Options.SettleDelay, p.Settled = delay, false
}

// LimitBacklog changes about how many asks behind one are looked at where they are of other sizes.
func (p *Partition) LimitBacklog(asks int) { p.costs.Shares.AsksMax = asks }

// LimitCosts lets the costs of so many keys and nodes be kept.
func (p *Partition) LimitCosts(keys, nodes int) {
	p.costs.Bounds.Keys, p.costs.Bounds.Heaps = keys, nodes
}

// LimitBatches lets so much be worked out in one batch for attempts.
func (p *Partition) LimitBatches(evaluations int) { p.costs.Bounds.Evaluations = evaluations }

// SetRankedMax bounds how many nodes the orders by devices have together.
func (p *Partition) SetRankedMax(most int) { p.order.Devices.Most = most }

// DeviceOrders is how many orders of nodes by their devices there are.
func (p *Partition) DeviceOrders() int { return len(p.order.Devices.ByAsk) }

// PriceOf is the number of the class of a node, and what that costs an ask beside waste.
func (p *Partition) PriceOf(id api.NodeID, amounts []int64) (class int, price int64) {
	p.react() // as Schedule does first
	return p.order.PriceOf(p.FindNode(id), amounts)
}

// LooksMax is how often placeholders are looked at for asks in one batch.
const LooksMax = group.LooksMax

// RefusedInOrder are classes of asks in the order in which freed room is offered to them. An empty
// key is a class without an ask that may be tried.
func (p *Partition) RefusedInOrder(keys ...api.AllocationKey) []api.AllocationKey {
	slices.SortFunc(keys, func(a, b api.AllocationKey) int { return p.refused.CompareFirst(p.Requests[a], p.Requests[b]) })
	return keys
}
