package core

import (
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// GangView is what an application has in task groups, at one moment.
type GangView struct {
	Placeholders resources.Amounts // of all of them, as the application said
	Style        GangStyle
	Timeout      time.Duration
	ExpiresAt    time.Time // zero while no placeholder runs
	Whole        bool      // it starts with all placeholders or none
	Started      bool      // a placeholder was placed
	Worked       bool      // something that is no placeholder ran
	Groups       []TaskGroupView
	Replacements []Replacement
}

// GroupView is what a group has done and what is kept for it, at one moment.
type GroupView struct {
	Done        int       // members that have succeeded
	MisfitSince time.Time // when it did not fit first; zero if it was not tried
	KeptUntil   time.Time // room is kept for it until then; zero if none is
}

func (g *group) viewed() GroupView { return GroupView{g.done, g.since, g.until} }

// restore takes what a view shows, before the claims of its members are there.
func (g *group) restore(l *ledger, v GroupView) {
	if g.done, g.since, g.until = v.Done, v.MisfitSince, v.KeptUntil; !g.until.IsZero() {
		l.holder = g
	}
	l.changes.group(g)
}

// TaskGroupView is a task group at one moment.
type TaskGroupView struct {
	Name     string
	Least    resources.Amounts // of its first placeholder
	Made     int64             // placeholders there ever were
	Replaced int64             // those whose ask runs
	TimedOut int64             // those that ended in any other way
}

// A Replacement is a placeholder that the resource manager was told to end, and the ask that
// takes its place.
type Replacement struct {
	Placeholder AllocationKey
	Ask         AllocationKey // empty if it waits no more
	Node        NodeID        // where the ask will run; empty if that is where the placeholder is
}

func viewGang(a *application) *GangView {
	g := a.gang
	if g == nil {
		return nil
	}
	v := &GangView{
		Placeholders: g.total, Style: g.style, Timeout: g.timeout, Whole: g.whole, Started: g.started, Worked: g.worked,
	}
	if g.timer.Set() {
		v.ExpiresAt = g.timer.At()
	}
	for _, group := range g.groups {
		v.Groups = append(v.Groups, TaskGroupView{group.name, group.least, group.made, group.replaced, group.timedOut})
	}
	for _, r := range byKey(a.allocations) {
		if !r.makesWay() {
			continue
		}
		with, shown := r.pair(), Replacement{Placeholder: r.Key}
		if with.ask != nil {
			shown.Ask = with.ask.Key
			if c := with.ask.claim(); c != nil {
				shown.Node = c.node.id
			}
		}
		v.Replacements = append(v.Replacements, shown)
	}
	return v
}
