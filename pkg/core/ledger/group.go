package ledger

import (
	"strconv"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/core/tables"
)

// A Group is asks and allocations of which none starts before so many of them run or can be
// placed at once. Its members name it, and may be of several applications; or they are those of
// a gang that starts whole, of which all placeholders start together, once.
//
//	running = the members that run
//	stays   = those of them that are not being evicted
//	done    = the members that have run and succeeded, as long as there are others
//	Asks    = the members that wait, of a gang its placeholders
type Group struct {
	Name    string
	Slot    int32      // a number that no other group has
	gang    *gang      // nil where its members name it
	least   int        // as the member said of which was heard last; of a gang the rest says it
	members []*Request // requests that point here, each at its place
	whole   bool       // its members are evicted together
	require string     // the attribute of nodes of which they run in one value; empty for none
	running int
	stays   int
	done    int
	Asks    AskSet
	changed bool // recorded, and not reacted to yet
}

// IsGone reports whether a group has no members any more: it is forgotten.
func (g *Group) IsGone() bool { return len(g.members) == 0 }

// IsGang reports whether a group is the placeholders of a gang that starts whole.
func (g *Group) IsGang() bool { return g.gang != nil }

// needed is how many members must run.
func (g *Group) needed() int {
	least := g.least - g.done
	if g.gang != nil {
		for _, of := range g.gang.Groups {
			least += int(of.Made - of.TimedOut)
		}
	}
	return least
}

// Missing is how many more must run at once; it is not above zero once the group runs. Those of a gang
// are one more than wait, as long as some are to come.
func (g *Group) Missing() int {
	switch {
	case g.gang == nil:
		return g.needed() - g.running
	case g.gang.started:
		return 0
	case g.gang.isGathered():
		return g.Asks.Len()
	}
	return g.Asks.Len() + 1
}

// Importance is that of its most important ask.
func (g *Group) Importance() int32 {
	most := int32(api.PriorityNone)
	for r := range g.Asks.All {
		most = max(most, r.Importance)
	}
	return most
}

// GroupName says which group a request starts with, and how many of its members run at least. An
// allocation that may run on one node only takes no part in one: it waits for something else.
func (r *Request) GroupName() (name string, least int) {
	switch {
	case r.TaskGroup != "" && r.InTaskGroup() != nil && r.App.Gang.whole:
		return "gang " + string(r.Application), 0
	case r.TaskGroup != "" || r.Placeholder || r.Required != "" || r.Foreign() || r.Tags[api.TagQuorum] == "":
		return "", 0
	}
	if least, err := strconv.Atoi(r.Tags[api.TagQuorumLeast]); err == nil && least > 0 {
		return "quorum " + r.Tags[api.TagQuorum], least
	}
	return "", 0
}

// StartsTogether reports whether an ask is placed by its group only: with others, or, where the group requires one, in the
// domain in which they run.
func (r *Request) StartsTogether() bool {
	g := r.StartsWith
	return g != nil && (g.gang == nil || r.Placeholder) && (g.Missing() > 0 || g.require != "") && !r.KeepsRoom()
}

// KeepsRoom reports whether an ask has a claim of its own. What it got while its group ran stays
// with it.
func (r *Request) KeepsRoom() bool {
	return r.Wait != nil && (r.Wait.Former != "" || r.Wait.Claim != nil && !r.Wait.Claim.Whole)
}

// MustRun is how many members of the group of an allocation stay, and without how many the
// others run in vain. It is nothing where there is no such group.
func (r *Request) MustRun() (group string, stay, least int) {
	g := r.StartsWith
	if g == nil {
		return "", 0, 0
	}
	return g.Name, g.stays, g.needed()
}

// EndsWhole reports whether the members of a group are evicted together or not at all.
func (g *Group) EndsWhole() bool { return g.whole }

// Requires is the attribute of nodes of which all members run in one domain; empty for none.
func (g *Group) Requires() string { return g.require }

// Running visits the members that run.
func (g *Group) Running(yield func(*Request) bool) {
	for _, r := range g.members {
		if r.RunsOn != nil && !yield(r) {
			return
		}
	}
}

// Stays is how many members run and are not being evicted.
func (g *Group) Stays() int { return g.stays }

// Staying are the members that run and are not being evicted, by key.
func (g *Group) Staying() []*Request {
	staying := make([]*Request, 0, g.stays)
	for _, r := range g.members {
		if r.RunsOn != nil && r.Eviction == nil {
			staying = append(staying, r)
		}
	}
	return ByKey(staying)
}

// EnterGroup makes a request a member of the group that it starts with, and LeaveGroup ends that.
// It is in no list meanwhile.
func (l *Ledger) EnterGroup(r *Request) {
	name, least := r.GroupName()
	if name == "" {
		return
	}
	g := l.Together[name]
	if g == nil {
		g = &Group{Name: name, Slot: l.groupSlots.Take()}
		if r.TaskGroup != "" {
			g.gang = r.App.Gang
		}
		l.Together[name] = g
		l.Changes.Group(g)
	}
	g.members = addRequest(g.members, r, &r.within)
	if r.StartsWith = g; r.RunsOn != nil {
		l.countRunning(r, 1)
	}
	l.NeedAtLeast(g, least)
	l.RequireDomain(g, r)
	g.whole = r.Tags[api.TagQuorumUnit] == api.UnitAll
}

// NeedAtLeast says how many members of a group must run, and reports whether that is new.
func (l *Ledger) NeedAtLeast(g *Group, least int) (changed bool) {
	if g.least == least {
		return false
	}
	g.least = least
	l.Regrouped++
	l.Changes.Group(g)
	return true
}

// RequireDomain takes what a member says of the domain in which all run, and reports whether that is new. It is none in a gang.
func (l *Ledger) RequireDomain(g *Group, r *Request) (changed bool) {
	key := r.Tags[api.TagQuorumRequire]
	if g.gang != nil || g.require == key {
		return false
	}
	g.require = key
	l.Changes.Group(g)
	return true
}

// LeaveGroup takes a request out of its group. A group without members is forgotten.
func (l *Ledger) LeaveGroup(r *Request) {
	g := r.StartsWith
	if g == nil {
		return
	}
	if r.RunsOn != nil {
		l.countRunning(r, -1)
	}
	r.StartsWith = nil
	if g.members = tables.SwapRemove(g.members, r.within, inGroup); len(g.members) == 0 {
		delete(l.Together, g.Name)
		l.groupSlots.GiveBack(g.Slot)
		if l.Holder == g {
			l.Holder = nil
		}
	}
}

// countRunning counts a member that runs, or one that does not any more.
func (l *Ledger) countRunning(r *Request, more int) {
	r.StartsWith.running += more
	l.Changes.Group(r.StartsWith)
	if r.Eviction == nil {
		l.countStaying(r, more)
	}
}

// countStaying counts a member of a group that stays, or one that does not any more.
func (l *Ledger) countStaying(r *Request, more int) {
	if r.StartsWith != nil {
		r.StartsWith.stays += more
		l.Regrouped++
	}
}

// Succeeded counts a member that has done its work.
func (l *Ledger) Succeeded(r *Request) {
	if g := r.StartsWith; g != nil {
		g.done++
		l.Changes.Group(g)
	}
}

// Join books an ask of a group, and Resign takes it off the books. It is false where the ask waits for a placeholder
// instead.
func (g *Group) Join(l *Ledger, r *Request) bool {
	if g.gang != nil && !r.Placeholder {
		return false
	}
	g.Asks.Add(r)
	l.Changes.Group(g)
	return true
}

// Resign takes an ask off the books of its group.
func (g *Group) Resign(l *Ledger, r *Request) {
	g.Asks.Remove(r)
	l.Changes.Group(g)
}

// Group records that what a group has or wants has changed.
func (c *changeSet) Group(g *Group) {
	if !g.changed {
		g.changed = true
		c.groups = append(c.groups, g)
	}
}
