package core

import (
	"slices"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/core/ledger"
	"github.com/narwhal-scheduler/narwhal/pkg/core/timers"
)

// groupWork is what is to be done about groups, and about the members of gangs.
type groupWork struct {
	waiting []*ledger.Group     // that did not fit
	unfit   []*ledger.TaskGroup // of which an ask took the place of no placeholder
	timer   timers.Timer
	woken   time.Time // when they were tried again last
	all     time.Time // when all groups are, whatever has changed; zero is not at all
	tries   int       // of groups, in this batch

	ready []*ledger.TaskGroup // in which a placeholder may be replaced
	looks int                 // at placeholders for asks, in this batch
}

// any reports whether anything is to be tried again.
func (w *groupWork) any() bool { return len(w.waiting)+len(w.unfit) > 0 }

// groupRoomDelay is how long a group does not fit before room is kept for it.
const groupRoomDelay = time.Minute

// groupTriesMax is how many groups are tried in one batch.
const groupTriesMax = 16

// reactToGroups settles which asks are held back.
func (p *Partition) reactToGroups() {
	for _, g := range p.Changes.Groups {
		g.Change = false
		p.settleMembers(g)
	}
	clear(p.Changes.Groups)
	p.Changes.Groups = p.Changes.Groups[:0]
}

// settleMembers has the asks of a group tried once there are enough of them, or enough run. While it
// waits for a change that may help, they stay held back.
func (p *Partition) settleMembers(g *ledger.Group) {
	missing := g.Missing()
	if p.Holder == g && (missing <= 0 || g.Asks.Len() < missing) {
		p.dropGroupRoom() // it needs none, or could not use it
	}
	if runs := missing <= 0; runs != g.Runs {
		g.Runs = runs
		for r := range g.Asks.All {
			p.Reclassify(r)
		}
	}
	switch hold := missing > 0 && (g.Asks.Len() < missing || g.Waits); {
	case hold && !g.Holds:
		p.holdGroup(g, ledger.AwaitsMembers)
	case !hold && g.Holds:
		g.Holds, g.Waits = false, false
		for r := range g.Asks.All {
			p.OrderAgain(r)
		}
	}
}

// holdGroup takes the asks of a group out of their orders.
func (p *Partition) holdGroup(g *ledger.Group, detail string) {
	g.Holds, g.Detail = true, detail
	for r := range g.Asks.All {
		if r.KeepsRoom() {
			continue
		}
		if p.GroupOf(r) != nil {
			p.Extract(r)
		}
		p.HoldBack(r, api.AwaitsGang, detail)
	}
}

// regroup takes what new tags say of the group of a request.
func (p *Partition) regroup(r *ledger.Request) {
	g := r.StartsWith
	name, least := r.GroupName()
	if g != nil && g.Name == name {
		if g.Least != least {
			g.Least, g.Waits = least, false
			p.Regrouped++
			p.Changes.Group(g)
		}
		return
	}
	if g != nil && r.RunsOn == nil {
		p.endGroupClaim(r, "it left its group")
		p.OrderAgain(r)
		g.Resign(&p.Ledger, r)
	}
	p.LeaveGroup(r)
	if p.EnterGroup(r); r.StartsWith != nil && r.RunsOn == nil {
		if p.GroupOf(r) != nil && r.StartsWith.Holds && !r.KeepsRoom() {
			p.Extract(r)
		}
		r.StartsWith.Join(&p.Ledger, r, p.GroupOf(r) != nil)
	}
	if r.RunsOn == nil {
		p.Reclassify(r)
	}
}

// retryGroup has a group tried again: soon after something has changed that may help, or when the
// outside may have changed.
func (p *Partition) retryGroup(g *ledger.Group) {
	work := &p.groupWork
	if g.Waits = true; !slices.Contains(work.waiting, g) {
		work.waiting = append(work.waiting, g)
	}
	at := p.Now.Add(p.Options.RetryMax)
	if turn := g.Since.Add(groupRoomDelay); turn.After(p.Now) && turn.Before(at) {
		at = turn
	}
	if work.all.IsZero() || work.all.After(at) {
		work.all = at
	}
	p.retryGroupsBy(at)
}

// wakeGroupsSoon has what waits tried again, since there may be room or quota for it: in this
// batch, or the asks behind would take it, but not more often than RetryDelay allows.
func (p *Partition) wakeGroupsSoon() {
	work := &p.groupWork
	if !work.any() {
		return
	}
	if at := work.woken.Add(p.Options.RetryDelay); at.After(p.Now) {
		p.retryGroupsBy(at)
		return
	}
	p.wakeGroups()
}

// retryGroupsBy has what waits tried again at some time at the latest.
func (p *Partition) retryGroupsBy(at time.Time) {
	p.Timers.SetBy(&p.groupWork.timer, at, timers.Due{What: dueGroups})
}

// wakeGroups has what waits tried again: all groups when it is time, else those that what came free may
// help, and the members of gangs.
func (p *Partition) wakeGroups() {
	work := &p.groupWork
	all := timers.IsDue(work.all, p.Now)
	if work.woken = p.Now; all {
		work.all = time.Time{}
	}
	work.waiting = slices.DeleteFunc(work.waiting, func(g *ledger.Group) bool {
		if !all && p.isShort(g) {
			return false
		}
		g.Waits = false
		p.Changes.Group(g)
		return true
	})
	for _, g := range work.unfit {
		g.Waits, g.Again = false, g.Again || !g.GoesOn
		p.Changes.TaskGroup(g)
	}
	if clear(work.unfit); len(work.waiting) > 0 {
		p.retryGroupsBy(work.all)
	}
	work.unfit = work.unfit[:0]
}

// isShort reports whether a group fits the nodes no better than when it was tried last: there are
// not as many places as it lacks, for asks of each amounts.
func (p *Partition) isShort(g *ledger.Group) bool {
	if p.Holder == g && g.Claims < g.Missing() {
		return false // another node may be kept for it
	}
	spare := -int64(g.Missing())
	for _, need := range g.Needs {
		spare += need.Count
	}
	for _, need := range g.Needs {
		for n := range p.AllNodes {
			if n.Schedulable {
				need.Count -= need.Amounts.TimesIn(n.Free)
			}
			if need.Count <= 0 {
				break
			}
		}
		if spare -= max(need.Count, 0); spare < 0 {
			return true
		}
	}
	return false
}

// hintGroups tells the resource manager of the members of groups that fit no nodes: of all of them, as
// far as the quotas have room, since none starts alone.
func (p *Partition) hintGroups() {
	for _, g := range p.groupWork.waiting {
		if !g.Waits || len(g.Needs) == 0 || g.Hinted {
			continue
		}
		g.Hinted = true
		for r := range g.Asks.All {
			if r.IsHeld() && !p.hints.TellOf(r) {
				break
			}
		}
	}
}

// dropGroupRoom gives up what is kept for a group.
func (p *Partition) dropGroupRoom() {
	g := p.Holder
	if g == nil {
		return
	}
	p.Holder, g.Until = nil, time.Time{}
	for r := range g.Asks.All {
		p.endGroupClaim(r, "it is not the turn of its group")
	}
}

// endGroupClaim ends what an ask has claimed with its group.
func (p *Partition) endGroupClaim(r *ledger.Request, why string) {
	if c := r.Claim(); c != nil && c.Whole {
		p.kept.End(r, why, api.EndOfRoom)
	}
}
