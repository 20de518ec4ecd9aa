package question

import (
	"github.com/narwhal-scheduler/narwhal/pkg/core/backlog"
	"github.com/narwhal-scheduler/narwhal/pkg/core/laws"
)

// Verify returns the first broken law, or nil: the resource manager is asked again about every class that it
// refused, and about every node that was freed.
func (s *Refused) Verify() error {
	v := laws.Check{Partition: s.Name}
	freed := laws.MembersOf(s.regained)
	listed := map[*backlog.Class]int{}
	for _, c := range s.list {
		isKnown := s.Classes.Known[c.Key] == c // else its slot may be that of another one
		if listed[c]++; listed[c] > 1 || isKnown && !s.listed.Get(c.Slot, c) {
			v.Breaks("%s was refused and is listed %d times", s.Kinds.Format(c.Amounts), listed[c])
		}
	}
	paused := map[*backlog.Class]bool{}
	for _, e := range s.paused {
		if e.isCurrent() {
			paused[e.Class] = true
		}
	}
	for _, c := range s.Classes.Known {
		if !c.Unschedulable {
			continue
		}
		goesOn := paused[c]
		if goesOn != (c.Paused != nil) || !goesOn && listed[c] == 0 {
			v.Breaks("%s was refused: questions pause is %t, and are to go on is %t", s.Kinds.Format(c.Amounts), c.Paused != nil, goesOn)
		}
	}
	if len(s.list) > 0 && !s.whole.Set() || len(s.regained) > 0 && !s.soon.Set() || len(paused) > 0 && !s.resumes.Set() {
		v.Breaks("refused classes are asked about again is %t, on freed nodes %t, where questions pause %t", s.whole.Set(), s.soon.Set(), s.resumes.Set())
	}
	for n := range s.AllNodes {
		if s.regains.Get(n.Slot, n) != freed.Has(n) {
			v.Breaks("node %s was freed is %t, and is not asked about", n.ID, !freed.Has(n))
		}
	}
	return v.Err
}
