package core

import (
	"maps"
	"slices"
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
	MisfitSince  time.Time // when the whole gang did not fit first; zero if it was not tried
	KeptUntil    time.Time // nodes are kept for it until then; zero if none are
	Groups       []TaskGroupView
	Replacements []Replacement
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

func (g *gang) viewed() *GangView {
	if g == nil {
		return nil
	}
	v := &GangView{
		Placeholders: g.total, Style: g.style, Timeout: g.timeout, Whole: g.whole, Started: g.started, Worked: g.worked,
		MisfitSince: g.since, KeptUntil: g.until,
	}
	if g.timer.Set() {
		v.ExpiresAt = g.timer.At()
	}
	for _, group := range g.groups {
		v.Groups = append(v.Groups, TaskGroupView{group.name, group.least, group.made, group.replaced, group.timedOut})
	}
	for _, key := range slices.Sorted(maps.Keys(g.replacements)) {
		with := g.replacements[key]
		if with.placeholder.Key != key {
			continue
		}
		shown := Replacement{Placeholder: key}
		if with.ask != nil {
			shown.Ask = with.ask.Key
		}
		if with.node != nil {
			shown.Node = with.node.id
		}
		v.Replacements = append(v.Replacements, shown)
	}
	return v
}
