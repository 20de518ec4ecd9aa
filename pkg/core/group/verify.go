package group

import (
	"slices"

	"github.com/narwhal-scheduler/narwhal/pkg/core/laws"
	"github.com/narwhal-scheduler/narwhal/pkg/core/ledger"
)

// verifyGroup checks what is known of a group.
func (s *Groups) verifyGroup(v *laws.Check, g *ledger.Group) {
	at, settled := s.at(g), s.Changes.None()
	for r := range g.Asks.All {
		if settled && r.IsHeld() && at.open {
			v.Breaks("ask %s is held back and its group %s is not", r.Key, g.Name)
		}
	}
	if below := at.started && !at.runs && g.Any() != nil; settled && (below == at.below.IsZero() || at.runs != (g.Missing() <= 0)) && !g.IsGang() {
		v.Breaks("group %s misses %d, has started is %t, and is below its minimum since %v", g.Name, g.Missing(), at.started, at.below)
	}
	switch opens := at.opens(g); {
	case settled && len(g.Lost) > max(g.Missing(), 0), len(g.Lost) > 0 && (at.below.IsZero() || !s.timer.Set()):
		v.Breaks("group %s lacks %d, and room is kept for the places of %d, for ever: %t", g.Name, g.Missing(), len(g.Lost), !s.timer.Set())
	case settled && opens != at.open:
		v.Breaks("group %s misses %d with %d that wait, and may start is %t", g.Name, g.Missing(), g.Asks.Len(), at.open)
	case at.until.IsZero() != (s.Holder != g):
		v.Breaks("room is kept for group %s until %v, and it has its turn is %t", g.Name, at.until, s.Holder == g)
	case settled && !at.below.IsZero() && g.Terms.EndBelow > 0 && !slices.Contains(s.broken, g):
		v.Breaks("group %s is below its minimum, and never ends", g.Name)
	case at.waits && !slices.Contains(s.waiting, g):
		v.Breaks("group %s waits for nothing", g.Name)
	}
}

// Verify returns the first broken law, or nil: what is tried later of groups and gangs is listed for that.
func (s *Groups) Verify() error {
	v := laws.Check{Partition: s.Name}
	for slot, r := range s.larger.All {
		if r.Slot != slot {
			v.Breaks("%s is larger than its placeholders, and does not wait", r.Key)
		}
	}
	for _, g := range s.Together {
		s.verifyGroup(&v, g)
	}
	for app := range s.Applications.Ascend {
		if app.Gang == nil {
			continue
		}
		for _, task := range app.Gang.Groups {
			if r := s.nextToHold(task); s.Changes.None() && (r != nil || task.Held.Len() > task.Left()) {
				v.Breaks("task group %s: %d asks wait for %d placeholders, and another one is to: %t", task.Name, task.Held.Len(), task.Left(), r != nil)
			}
		}
	}
	return v.Err
}
