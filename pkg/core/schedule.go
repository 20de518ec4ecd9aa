package core

import (
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/core/ledger"
	"github.com/narwhal-scheduler/narwhal/pkg/core/question"
)

// placeOrdinary places the asks that may run anywhere, in order. It reports
// whether there may be more to place.
func (p *Partition) placeOrdinary() (more bool) {
	for p.Left > 0 && p.predicates.Calls < question.CallsMax {
		r := p.Next(p.skips)
		if p.SettleStale() {
			p.react()
		}
		if r == nil {
			if !p.skips.Any() && p.forgetRooms() {
				continue
			}
			p.visit++
			return false
		}
		if p.try(r) == question.Flush {
			return true
		}
		p.react()
	}
	return true
}

// forgetRooms is called when no ask can be tried. New room is then of no use to parked
// classes, except for those that only lack quota: they are opened, to be tried on every
// node once they have it. It reports whether room may be made for some of them now.
func (p *Partition) forgetRooms() (mayMake bool) {
	room, found := p.Rooms.Most()
	if !found {
		return false
	}
	for _, c := range p.Fitting(room) {
		p.Unpark(c)
		mayMake = p.retries.WithoutQuota(c) || mayMake
	}
	p.Rooms.Clear()
	p.react()
	return mayMake
}

// try places an ordinary ask on the first node in order that has room. If there is
// none, room is made for it, or it is put off with the reason.
func (p *Partition) try(r *ledger.Request) question.Outcome {
	if r.StartsWith != nil && r.StartsTogether() {
		return p.startTogether(r)
	}
	p.Work.Attempts++
	over := r.WithoutRoom()
	refused := p.ClassOf(r).Unschedulable // and in the order since room may be made for it
	if !refused && over == nil && (!p.ClassOf(r).Parked || p.Rooms.Fit(p.ClassOf(r))) {
		n, result, search := p.refused.FirstFeasible(r)
		switch result {
		case question.Placed:
			p.place(r, n)
			return question.Placed
		case question.Flush:
			return question.Flush
		case question.Paused:
			return p.pause(r, search.Wait)
		}
		refused = search.Asked
	}
	if p.MayPreempt(r) && !p.skips.Busy {
		if result := p.attempt(r); result != question.Waits {
			return result
		}
	}
	p.putOff(r, over, refused)
	return question.Waits
}

// startTogether places as many asks of the group of an ask as must start together, or none.
func (p *Partition) startTogether(r *ledger.Request) question.Outcome {
	placements, result := p.groups.Start(r)
	if result == question.Placed {
		for ask, n := range placements {
			p.place(ask, n)
		}
	}
	return result
}

// attempt makes a preemption attempt for an ask, or goes on with one.
func (p *Partition) attempt(r *ledger.Request) question.Outcome {
	p.attempts.Resume(p.GroupOf(r).Leaf)
	p.predicates.BeginAttempt(r)
	result := p.attempts.Try(r)
	if p.predicates.Paused {
		result = question.Paused
	}
	over := result == question.Placed || result == question.Waits
	if p.predicates.EndAttempt(r, over); !over {
		p.attempts.Leave(p.GroupOf(r).Leaf)
	}
	switch result {
	case question.Paused:
		return p.pause(r, p.predicates.Held)
	case question.Busy:
		p.skips.MakeNoRoom() // placements go on, and attempts in the next batch
		return question.Waits
	}
	return result
}

// pause puts off an ask about which questions go on later, and until the next batch the
// others of its leaf, so that nothing waits long behind them.
func (p *Partition) pause(r *ledger.Request, wait time.Duration) question.Outcome {
	if wait <= 0 { // the batch has asked often enough
		return question.Flush
	}
	p.skips.PassOver(r.App.Queue)
	p.Separate(r)
	p.refused.Pause(r, wait)
	return question.Paused
}

// putOff notes why an ask was not placed. Its class is not tried again until something
// changes that may help.
func (p *Partition) putOff(r *ledger.Request, over *ledger.Queue, refused bool) {
	switch {
	case over != nil:
		p.await(r, &over.Account)
	case p.ClassOf(r).Unschedulable:
	case refused:
		p.markUnschedulable(r)
		p.countFailure(r.App, p.ClassOf(r))
	default:
		p.countFailure(r.App, p.ClassOf(r))
		p.Park(p.ClassOf(r))
		r.Waiting().Says(api.NoNodeFits, "")
		p.Changes.Application(r.App, 0)
		p.slots.Wanted(p.ClassOf(r))
	}
}

// markUnschedulable takes the class of an ask out of the order, since the resource
// manager refused it on every node with room.
func (p *Partition) markUnschedulable(r *ledger.Request) {
	p.refused.MarkUnschedulable(p.ClassOf(r))
	r.Waiting().Says(api.Infeasible, p.ClassOf(r).Refused.Before())
	p.Changes.Application(r.App, 0)
	if r.Nominated() == nil {
		p.hints.TellOf(r)
	}
}

// place commits a decision: the ask becomes an allocation on the node.
func (p *Partition) place(r *ledger.Request, n *ledger.Node) {
	kept := len(p.Claims) > 0
	bound := r.PlacedOn(n.ID, p.Now)
	bound.Settled = p.kept.TookEqual(r)
	bound.Kept = p.order.KeptBy(r, n)
	what := ledger.NodeRetry // other asks that wait for it may not fit beside this one
	if held := r.Claim(); held != nil {
		if held.Harmless { // of another window it is not taken back
			r.App.Failed().Loop.Uncount()
		}
		if r.Reserved() {
			p.slots.HadTurn(r)
		}
		if held.Node == n {
			if held.Evicts && p.Preemption.Priority == api.EqualToo && !bound.Settled {
				what |= ledger.NodeYields // its equals respected what was kept, and may take its place
			}
			p.kept.Take(r, "placed", api.EndPlaced)
		} else {
			p.kept.End(r, "placed on another node", api.EndPlaced)
		}
	}
	c := p.ClassOf(r)
	p.endWait(r)
	if c.Parked {
		p.slots.Placed(c)
	}
	r.Becomes(bound)
	p.run(r, n)
	p.MarkPlaced(n)
	p.refused.Tied(r, n)
	p.Changes.Node(n, what)
	p.Work.Placements++
	p.Tell(api.Placed{Allocation: r.Allocation})
	p.Spend()
	if kept {
		if r.App.IsLimited() {
			p.kept.RecheckLimits(r.App)
		}
		p.kept.SettleQuota(r) // first, as that may leave room to others
		p.kept.Settle(n)
	}
}
