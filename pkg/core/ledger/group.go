package ledger

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/btree"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/core/tables"
)

// A Group is asks and allocations of which none starts before so many of them run or can be
// placed at once. Its members name it, and may be of several applications; or they are those of
// a gang that starts whole, of which all placeholders start together, once.
//
//	running = the members that run
//	stays   = those of them that are not being evicted
//	done    = the members that have succeeded and were not released since, but for those in whose place another of
//	          their index is
//	Asks    = the members that wait, of a gang its placeholders
type Group struct {
	Name    string
	Slot    int32 // a number that no other group has
	gang    *gang // nil where its members name it
	Terms   api.GroupTerms
	members []*Request // requests that point here, each at its place
	running int
	stays   int
	done    int
	Asks    AskSet
	Lost    []*Request // members that have ended, of which the room is kept
	changed bool       // recorded, and not reacted to yet

	doneKept int                // members that are done, whether they count or not
	indices  map[index]indexUse // of members that have one
	parts    []*part            // by name
	standing standing           // of these
	levels   groupLevels
	missing  int // asks, where it counts by subgroups; below zero if that must be counted anew

	told       bool // what it does was told, and that is:
	toldState  api.GroupState
	toldDetail string
	toldParts  []string
	toldBelow  time.Time

	restated bool // its members are not all as its terms say, see TakeRestated
	restored bool // its terms are those of a view, whatever members say
}

// newGroup makes a group of nothing, in which asks stand by their own priorities first.
func (l *Ledger) newGroup(name string) *Group {
	g := &Group{Name: name, Slot: l.groupSlots.Take(), missing: -1}
	g.Asks.tree = btree.NewG(8, memberOrder)
	l.Together[name] = g
	l.Changes.Group(g)
	return g
}

// IsGone reports whether a group has no members any more, nor any that are done: it is forgotten.
func (g *Group) IsGone() bool { return len(g.members) == 0 && g.doneKept == 0 }

// forgetIfGone forgets a group without members.
func (l *Ledger) forgetIfGone(g *Group) {
	if g.IsGone() && l.Together[g.Name] == g {
		for _, r := range slices.Clone(g.Lost) {
			l.DropLost(r, "its group is gone")
		}
		delete(l.Together, g.Name)
		l.groupSlots.GiveBack(g.Slot)
		if l.Holder == g {
			l.Holder = nil
		}
	}
}

// Quorum is the name by which the members of a group name it; empty for a gang.
func (g *Group) Quorum() string {
	if g.gang != nil {
		return ""
	}
	return strings.TrimPrefix(g.Name, api.QuorumOf)
}

// Runs is how many members of a group run.
func (g *Group) Runs() int { return g.running }

// Tell notes what is told of a group, and reports whether that is new, with since when it was below its minimum, if it was.
func (g *Group) Tell(state api.GroupState, detail string, below time.Time) (since time.Time, isNew bool) {
	parts := g.PartsThatRun()
	isNew = !g.told || g.toldState != state || g.toldDetail != detail || !slices.Equal(g.toldParts, parts)
	if since = below; since.IsZero() {
		since = g.toldBelow
	}
	g.told, g.toldState, g.toldDetail, g.toldParts, g.toldBelow = true, state, detail, parts, below
	return since, isNew
}

// Any is a member of a group; nil if none waits or runs.
func (g *Group) Any() *Request {
	if len(g.members) == 0 {
		return nil
	}
	return g.members[0]
}

// IsGang reports whether a group is the placeholders of a gang that starts whole.
func (g *Group) IsGang() bool { return g.gang != nil }

// needed is how many members must run.
func (g *Group) needed() int {
	least := g.Terms.Least - g.done
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
	case g.BySubgroup():
		return g.missingOfParts()
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

// GroupName says which group a request starts with; it is empty for none. An
// allocation that may run on one node only takes no part in one: it waits for something else.
func (r *Request) GroupName() string {
	switch {
	case r.TaskGroup != "" && r.InTaskGroup() != nil && r.App.Gang.whole:
		return "gang " + string(r.Application)
	case r.TaskGroup != "" || r.Placeholder || r.Required != "" || r.Foreign() || r.Tags[api.TagQuorum] == "":
		return ""
	}
	if least, err := strconv.Atoi(r.Tags[api.TagQuorumLeast]); err == nil && least > 0 {
		return api.QuorumOf + r.Tags[api.TagQuorum]
	}
	return ""
}

// StartsTogether reports whether an ask is placed by its group only: with others, or, where the group or its subgroups require one, in
// the domain in which they run, or, where it counts by subgroups, with its own.
func (r *Request) StartsTogether() bool {
	g := r.StartsWith
	return g != nil && (g.gang == nil || r.Placeholder) && (g.Missing() > 0 || g.IsPlanned()) && !r.KeepsRoom()
}

// IsPlanned reports whether asks are placed by their group also while it runs.
func (g *Group) IsPlanned() bool { return g.IsConfined() || g.BySubgroup() }

// KeepsRoom reports whether an ask has a claim of its own. What it got while its group ran stays
// with it.
func (r *Request) KeepsRoom() bool {
	return r.Wait != nil && (r.Wait.Former != "" || r.Wait.Claim != nil && !r.Wait.Claim.Whole)
}

// EvictsWhole reports whether room is made for an ask together with all of its group that must start.
func (r *Request) EvictsWhole() bool {
	c := r.Claim()
	return c != nil && c.Whole && c.Evicts
}

// IsSurplus reports whether an ask names a group that runs without it, or waits by itself for room that it got then: nothing is
// evicted for it.
func (r *Request) IsSurplus() bool {
	g, c := r.StartsWith, r.Claim()
	return g != nil && g.gang == nil && (g.Missing() <= 0 || c != nil && !c.Whole)
}

// EndsWhole reports whether the members of a group are evicted together or not at all.
func (g *Group) EndsWhole() bool { return g.Terms.Unit == api.UnitAll }

// Requires is the attribute of nodes of which all members run in one domain; empty for none.
func (g *Group) Requires() string { return g.Terms.Require }

// IsDivided reports whether subgroups of it, or parts of these, require domains.
func (g *Group) IsDivided() bool { return g.levels.count > 0 }

// LevelChanges is how often what those require has changed that have members.
func (g *Group) LevelChanges() uint64 { return g.levels.changes }

// IsConfined reports whether members may not run everywhere: they, or those of a subgroup, run in one domain.
func (g *Group) IsConfined() bool { return g.Terms.Require != "" || g.IsDivided() }

// Subgroup is the name of the subgroup of its group that an allocation is in; empty for none.
func (r *Request) Subgroup() string {
	name, _, _ := strings.Cut(r.part(), "/")
	return name
}

// part is the name of the smallest part of its group that an allocation is in: the subgroup, or with that a part of it.
func (r *Request) part() string { return r.Tags[api.TagQuorumSubgroup] }

// Prefers is the attribute of nodes of which members that start together run in as few domains as possible; empty for none. A
// group that is confined has no other preference: there they run in as few of the domains below as possible.
func (g *Group) Prefers() string {
	if g.IsConfined() {
		return ""
	}
	return g.Terms.Prefer
}

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
	name := r.GroupName()
	if name == "" {
		return
	}
	g := l.Together[name]
	if g == nil {
		g = l.newGroup(name)
	}
	if r.TaskGroup != "" {
		g.gang = r.App.Gang
	}
	g.members = addRequest(g.members, r, &r.within)
	l.countIndex(g, indexIn(r.Tags), 1, 0)
	l.changePart(g, r.part(), func(p *part) { p.members++ })
	if r.StartsWith = g; r.RunsOn != nil {
		l.countRunning(r, 1)
	}
	l.Hear(g, r.Tags)
}

// Hear takes what a member says of its group, and reports whether that is new. Where it changes what members are, the group
// is restated.
func (l *Ledger) Hear(g *Group, tags map[string]string) (changed bool) {
	terms := g.Terms.Heard(tags)
	if g.gang != nil || g.restored {
		return false
	}
	changed = l.hearPart(g, tags)
	if terms == g.Terms {
		return changed
	}
	g.missing = -1
	g.restated = g.restated || terms.Priority != g.Terms.Priority || terms.Preempts != g.Terms.Preempts
	g.Terms = terms
	l.Regrouped++
	l.Changes.Group(g)
	return true
}

// TakeRestated is the members of a group, by key, if some of them may be other than its terms say, once.
func (g *Group) TakeRestated() []*Request {
	if !g.restated {
		return nil
	}
	g.restated = false
	return ByKey(g.members)
}

// AsMember is a request as the terms of its group have it, if it has one.
func (r *Request) AsMember() *api.Allocation {
	if r.StartsWith == nil {
		return r.In(api.GroupTerms{})
	}
	return r.In(r.StartsWith.Terms)
}

// NeverPreempts reports whether nothing is to be evicted for an ask: its group outranks what it says itself.
func (r *Request) NeverPreempts() bool {
	if g := r.StartsWith; g != nil && g.Terms.Preempts != api.MembersSay {
		return g.Terms.Preempts == api.NeverPreempts || r.Amounts.Above(api.PlanMax)
	}
	return r.Allocation.NeverPreempts()
}

// RestoreTerms makes a group known that a view shows, before its members come; they say nothing new until RestoreGroup.
func (l *Ledger) RestoreTerms(name string, terms api.GroupTerms) {
	g := l.newGroup(name)
	g.Terms, g.restored = terms, true
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
	l.changePart(g, r.part(), func(p *part) { p.members-- })
	r.StartsWith = nil
	g.members = tables.SwapRemove(g.members, r.within, inGroup)
	l.countIndex(g, indexIn(r.Tags), -1, 0)
	l.forgetIfGone(g)
}

// countRunning counts a member that runs, or one that does not any more.
func (l *Ledger) countRunning(r *Request, more int) {
	r.StartsWith.running += more
	l.changePart(r.StartsWith, r.part(), func(p *part) { p.running += more })
	l.Changes.Group(r.StartsWith)
	if r.Eviction == nil {
		l.countStaying(r, more)
	}
}

// countStaying counts a member of a group that stays, or one that does not any more.
func (l *Ledger) countStaying(r *Request, more int) {
	if r.StartsWith != nil {
		r.StartsWith.stays += more
		l.changePart(r.StartsWith, r.part(), func(p *part) { p.stays += more })
		l.Regrouped++
	}
}

// Join books an ask of a group, and Resign takes it off the books. It is false where the ask waits for a placeholder
// instead.
func (g *Group) Join(l *Ledger, r *Request) bool {
	if g.gang != nil && !r.Placeholder {
		return false
	}
	g.Asks.Add(r)
	l.changePart(g, r.part(), func(p *part) { p.waiting++ })
	l.Changes.Group(g)
	return true
}

// Resign takes an ask off the books of its group.
func (g *Group) Resign(l *Ledger, r *Request) {
	if g.Asks.Has(r) {
		g.Asks.Remove(r)
		l.changePart(g, r.part(), func(p *part) { p.waiting-- })
	}
	l.Changes.Group(g)
}

// Group records that what a group has or wants has changed.
func (c *changeSet) Group(g *Group) {
	if !g.changed {
		g.changed = true
		c.groups = append(c.groups, g)
	}
}
