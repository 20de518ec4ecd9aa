package core

import (
	"strconv"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// A group is asks and allocations of which none starts before so many of them run or can be
// placed at once. Its members name it, and may be of several applications; or they are those of
// a gang that starts whole, of which all placeholders start together, once.
//
//	running = the members that run
//	stays   = those of them that are not being evicted
//	done    = the members that have run and succeeded, as long as there are others
//	asks    = the members that wait, of a gang its placeholders
//	holds   => missing > 0, and no ask stands in an order but one that has a claim of its own
//	waits   => holds
//	until   => room is kept for it, and for no other group
type group struct {
	name    string
	gang    *gang // nil where its members name it
	least   int   // as the member said of which was heard last; of a gang the rest says it
	members int   // requests that point here
	running int
	stays   int
	done    int
	asks    askSet
	claims  int // of asks with the group

	runs   bool   // nothing is missing
	holds  bool   // its asks are held back
	waits  bool   // they were tried together and did not fit
	hinted bool   // the resource manager was told so
	detail string // why they are held back
	change bool   // recorded, and not reacted to yet

	needs []groupNeed // when they were tried and lacked room only
	since time.Time   // when they did not fit first, or had their turn to keep room last
	until time.Time   // when their turn is over; zero if it is the turn of others
}

// A groupNeed is how many asks of a group have the same amounts.
type groupNeed struct {
	amounts resources.Amounts
	count   int64
}

// needed is how many members must run.
func (g *group) needed() int {
	least := g.least - g.done
	if g.gang != nil {
		for _, of := range g.gang.groups {
			least += int(of.made - of.timedOut)
		}
	}
	return least
}

// missing is how many more must run at once; it is not above zero once the group runs. Those of a gang
// are one more than wait, as long as some are to come.
func (g *group) missing() int {
	switch {
	case g.gang == nil:
		return g.needed() - g.running
	case g.gang.started:
		return 0
	case g.gang.isGathered():
		return g.asks.len()
	}
	return g.asks.len() + 1
}

// importance is that of its most important ask.
func (g *group) importance() int32 {
	most := int32(api.PriorityNone)
	for r := range g.asks.all {
		most = max(most, r.importance)
	}
	return most
}

// groupName says which group a request starts with, and how many of its members run at least. An
// allocation that may run on one node only takes no part in one: it waits for something else.
func (r *request) groupName() (name string, least int) {
	switch {
	case r.TaskGroup != "" && r.taskGroup() != nil && r.application.gang.whole:
		return "gang " + string(r.Application), 0
	case r.TaskGroup != "" || r.Placeholder || r.Required != "" || r.foreign() || r.Tags[api.TagQuorum] == "":
		return "", 0
	}
	if least, err := strconv.Atoi(r.Tags[api.TagQuorumLeast]); err == nil && least > 0 {
		return "quorum " + r.Tags[api.TagQuorum], least
	}
	return "", 0
}

// startsTogether reports whether an ask is placed only with others of its group.
func (r *request) startsTogether() bool {
	g := r.startsWith
	return g != nil && (g.gang == nil || r.Placeholder) && g.missing() > 0 && !r.keepsRoom()
}

// keepsRoom reports whether an ask has a claim of its own. What it got while its group ran stays
// with it.
func (r *request) keepsRoom() bool {
	return r.wait != nil && (r.wait.former != "" || r.wait.claim != nil && !r.wait.claim.whole)
}

// mustRun is how many members of the group of an allocation stay, and without how many the
// others run in vain. It is nothing where there is no such group.
func (r *request) mustRun() (group string, stay, least int) {
	g := r.startsWith
	if g == nil {
		return "", 0, 0
	}
	return g.name, g.stays, g.needed()
}

// enterGroup makes a request a member of the group that it starts with, and leaveGroup ends that.
// It is in no list meanwhile.
func (l *ledger) enterGroup(r *request) {
	name, least := r.groupName()
	if name == "" {
		return
	}
	g := l.together[name]
	if g == nil {
		g = &group{name: name, holds: true, detail: awaitsMembers}
		if r.TaskGroup != "" {
			g.gang = r.application.gang
		}
		l.together[name] = g
		l.changes.group(g)
	}
	g.members++
	if r.startsWith = g; r.node != nil {
		l.countRunning(r, 1)
	}
	if g.least != least {
		g.least = least
		l.regrouped++
		l.changes.group(g)
	}
}

func (l *ledger) leaveGroup(r *request) {
	g := r.startsWith
	if g == nil {
		return
	}
	if r.node != nil {
		l.countRunning(r, -1)
	}
	r.startsWith = nil
	if g.members--; g.members == 0 {
		delete(l.together, g.name)
		if l.holder == g {
			l.holder = nil
		}
	}
}

// countRunning counts a member that runs, or one that does not any more.
func (l *ledger) countRunning(r *request, more int) {
	r.startsWith.running += more
	l.changes.group(r.startsWith)
	if r.eviction == nil {
		l.countStaying(r, more)
	}
}

// countStaying counts a member of a group that stays, or one that does not any more.
func (l *ledger) countStaying(r *request, more int) {
	if r.startsWith != nil {
		r.startsWith.stays += more
		l.regrouped++
	}
}

// succeeded counts a member that has done its work.
func (l *ledger) succeeded(r *request) {
	if g := r.startsWith; g != nil {
		g.done++
		l.regrouped++
		l.changes.group(g)
	}
}

// awaitsMembers is why the asks of a group wait that is too small.
const awaitsMembers = "fewer members are there than must start together"

// join books an ask of a group, which stands in the order of its application or not, and resign
// takes it off the books. A new one may be what the
// others lacked, unless all of them must start.
func (g *group) join(l *ledger, r *request, ordered bool) {
	if g.gang != nil && !r.Placeholder {
		return // it waits for a placeholder
	}
	g.asks.add(r)
	if g.holds && (!ordered || !r.keepsRoom()) { // one with a claim of its own stays in its order
		l.holdBack(r, api.AwaitsGang, g.detail)
	}
	g.waits = g.waits && g.gang != nil
	g.hinted, g.needs = false, nil
	l.changes.group(g)
}

func (g *group) resign(l *ledger, r *request) {
	g.asks.remove(r)
	g.needs = nil
	l.changes.group(g)
}

// group records that what a group has or wants has changed.
func (c *changeSet) group(g *group) {
	if !g.change {
		g.change = true
		c.groups = append(c.groups, g)
	}
}
