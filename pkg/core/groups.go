package core

import (
	"slices"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/core/timers"
)

// groupWork is what is to be done about groups, and about the members of gangs.
type groupWork struct {
	waiting []*group     // that did not fit
	unfit   []*taskGroup // of which an ask took the place of no placeholder
	timer   timers.Timer[due]
	woken   time.Time // when they were tried again last
	all     time.Time // when all groups are, whatever has changed; zero is not at all
	tries   int       // of groups, in this batch

	ready []*taskGroup // in which a placeholder may be replaced
	looks int          // at placeholders for asks, in this batch
}

// any reports whether anything is to be tried again.
func (w *groupWork) any() bool { return len(w.waiting)+len(w.unfit) > 0 }

// groupRoomDelay is how long a group does not fit before room is kept for it.
const groupRoomDelay = time.Minute

// groupTriesMax is how many groups are tried in one batch.
const groupTriesMax = 16

// reactToGroups settles which asks are held back.
func (p *Partition) reactToGroups() {
	for _, g := range p.changes.groups {
		g.change = false
		p.settleMembers(g)
	}
	clear(p.changes.groups)
	p.changes.groups = p.changes.groups[:0]
}

// settleMembers has the asks of a group tried once there are enough of them, or enough run. While it
// waits for a change that may help, they stay held back.
func (p *Partition) settleMembers(g *group) {
	missing := g.missing()
	if p.holder == g && (missing <= 0 || g.asks.len() < missing) {
		p.dropGroupRoom() // it needs none, or could not use it
	}
	if runs := missing <= 0; runs != g.runs {
		g.runs = runs
		for r := range g.asks.all {
			p.reclassify(r)
		}
	}
	switch hold := missing > 0 && (g.asks.len() < missing || g.waits); {
	case hold && !g.holds:
		p.holdGroup(g, awaitsMembers)
	case !hold && g.holds:
		g.holds, g.waits = false, false
		for r := range g.asks.all {
			p.orderAgain(r)
		}
	}
}

// holdGroup takes the asks of a group out of their orders.
func (p *Partition) holdGroup(g *group, detail string) {
	g.holds, g.detail = true, detail
	for r := range g.asks.all {
		if r.keepsRoom() {
			continue
		}
		if p.groupOf(r) != nil {
			p.extract(r)
		}
		p.holdBack(r, api.AwaitsGang, detail)
	}
}

// regroup takes what new tags say of the group of a request.
func (p *Partition) regroup(r *request) {
	g := r.startsWith
	name, least := r.groupName()
	if g != nil && g.name == name {
		if g.least != least {
			g.least, g.waits = least, false
			p.regrouped++
			p.changes.group(g)
		}
		return
	}
	if g != nil && r.node == nil {
		p.endGroupClaim(r, "it left its group")
		p.orderAgain(r)
		g.resign(&p.ledger, r)
	}
	p.leaveGroup(r)
	if p.enterGroup(r); r.startsWith != nil && r.node == nil {
		if p.groupOf(r) != nil && r.startsWith.holds && !r.keepsRoom() {
			p.extract(r)
		}
		r.startsWith.join(&p.ledger, r, p.groupOf(r) != nil)
	}
	if r.node == nil {
		p.reclassify(r)
	}
}

// retryGroup has a group tried again: soon after something has changed that may help, or when the
// outside may have changed.
func (p *Partition) retryGroup(g *group) {
	work := &p.groupWork
	if g.waits = true; !slices.Contains(work.waiting, g) {
		work.waiting = append(work.waiting, g)
	}
	at := p.now.Add(p.options.RetryMax)
	if turn := g.since.Add(groupRoomDelay); turn.After(p.now) && turn.Before(at) {
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
	if at := work.woken.Add(p.options.RetryDelay); at.After(p.now) {
		p.retryGroupsBy(at)
		return
	}
	p.wakeGroups()
}

// retryGroupsBy has what waits tried again at some time at the latest.
func (p *Partition) retryGroupsBy(at time.Time) {
	p.timers.SetBy(&p.groupWork.timer, at, due{what: dueGroups})
}

// wakeGroups has what waits tried again: all groups when it is time, else those that what came free may
// help, and the members of gangs.
func (p *Partition) wakeGroups() {
	work := &p.groupWork
	all := timers.IsDue(work.all, p.now)
	if work.woken = p.now; all {
		work.all = time.Time{}
	}
	work.waiting = slices.DeleteFunc(work.waiting, func(g *group) bool {
		if !all && p.isShort(g) {
			return false
		}
		g.waits = false
		p.changes.group(g)
		return true
	})
	for _, g := range work.unfit {
		g.waits, g.again = false, g.again || !g.goesOn
		p.changes.taskGroup(g)
	}
	if clear(work.unfit); len(work.waiting) > 0 {
		p.retryGroupsBy(work.all)
	}
	work.unfit = work.unfit[:0]
}

// isShort reports whether a group fits the nodes no better than when it was tried last: there are
// not as many places as it lacks, for asks of each amounts.
func (p *Partition) isShort(g *group) bool {
	if p.holder == g && g.claims < g.missing() {
		return false // another node may be kept for it
	}
	spare := -int64(g.missing())
	for _, need := range g.needs {
		spare += need.count
	}
	for _, need := range g.needs {
		for n := range p.allNodes {
			if n.schedulable {
				need.count -= need.amounts.TimesIn(n.free)
			}
			if need.count <= 0 {
				break
			}
		}
		if spare -= max(need.count, 0); spare < 0 {
			return true
		}
	}
	return false
}

// hintGroups tells the resource manager of the members of groups that fit no nodes: of all of them, as
// far as the quotas have room, since none starts alone.
func (p *Partition) hintGroups() {
	for _, g := range p.groupWork.waiting {
		if !g.waits || len(g.needs) == 0 || g.hinted {
			continue
		}
		g.hinted = true
		for r := range g.asks.all {
			if r.isHeld() && !p.hints.tellOf(r) {
				break
			}
		}
	}
}

// dropGroupRoom gives up what is kept for a group.
func (p *Partition) dropGroupRoom() {
	g := p.holder
	if g == nil {
		return
	}
	p.holder, g.until = nil, time.Time{}
	for r := range g.asks.all {
		p.endGroupClaim(r, "it is not the turn of its group")
	}
}

// endGroupClaim ends what an ask has claimed with its group.
func (p *Partition) endGroupClaim(r *request, why string) {
	if c := r.claim(); c != nil && c.whole {
		p.kept.end(r, why, api.EndOfRoom)
	}
}
