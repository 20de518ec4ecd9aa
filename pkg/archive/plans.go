package archive

import (
	"slices"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/core"
	"github.com/narwhal-scheduler/narwhal/pkg/core/preemptor"
)

// planNamesMax bounds how many allocations the plans that are kept tell of: a plan
// names everybody who could not go.
const planNamesMax = 200_000

// plans are the last plans of a partition.
//
//	open holds those whose ask waits, and victims those that told it to go
//	names = the sum over all that are kept
type plans struct {
	kept    ring[*plan]
	open    map[core.AllocationKey]*plan // by ask
	victims map[core.AllocationKey]*plan // by victim
	names   int
}

// A plan is as readers see it, or as it will be once it is read.
type plan struct {
	*Plan
	read  bool // somebody has it: it is copied before it changes
	left  int  // victims that have not gone
	names int
}

func newPlans() plans {
	return plans{open: map[core.AllocationKey]*plan{}, victims: map[core.AllocationKey]*plan{}}
}

// change is the plan to be changed.
func (p *plan) change() *Plan {
	if p.read {
		other := *p.Plan
		other.Victims = slices.Clone(p.Victims)
		p.Plan, p.read = &other, false
	}
	return p.Plan
}

// add keeps a new plan, and no more than may be kept.
func (s *plans) add(now time.Time, p *Plan, most int) {
	s.close(now, p.Key, Replaced, "")
	one := &plan{Plan: p, left: len(p.Victims), names: 1 + len(p.Victims) + len(p.Decision.Filtered)}
	if p.Key != "" {
		s.open[p.Key] = one
	}
	for i := range p.Victims {
		s.victims[p.Victims[i].Key] = one
	}
	s.kept.add(one)
	s.names += one.names
	for s.kept.len() > most || s.names > planNamesMax && s.kept.len() > 1 {
		s.drop(s.kept.drop())
	}
}

func (s *plans) drop(p *plan) {
	s.names -= p.names
	if s.open[p.Key] == p {
		delete(s.open, p.Key)
	}
	for i := range p.Victims {
		if key := p.Victims[i].Key; s.victims[key] == p {
			delete(s.victims, key)
		}
	}
}

// close gives the open plan for an ask its outcome, if there is one.
func (s *plans) close(now time.Time, ask core.AllocationKey, outcome Outcome, reason string) *Plan {
	p := s.open[ask]
	if p == nil || ask == "" {
		return nil
	}
	delete(s.open, ask)
	closed := p.change()
	closed.Outcome, closed.Reason, closed.Until = outcome, reason, now
	return closed
}

// withdraw closes the plans for all asks of an application.
func (s *plans) withdraw(now time.Time, application core.ApplicationID, reason string) {
	for key, p := range s.open {
		if p.Application == application {
			s.close(now, key, Withdrawn, reason)
		}
	}
}

// gone notes that a victim has gone.
func (s *plans) gone(now time.Time, key core.AllocationKey) {
	p := s.victims[key]
	if p == nil {
		return
	}
	victim := p.change().Victim(key)
	if !victim.Ended.IsZero() {
		return
	}
	victim.Ended = now
	p.left--
	if p.left == 0 && p.Trigger == preemptor.Quota {
		p.Outcome, p.Until = Freed, now
	}
}

// moved notes where a foreign allocation is, if anywhere.
func (s *plans) moved(now time.Time, key core.AllocationKey, to core.NodeID) {
	if p := s.victims[key]; p != nil {
		if v := p.Victim(key); v.Application == "" && v.Node != to {
			s.gone(now, key)
		}
	}
}

// lost notes that a node is no more, with whatever foreign was on it. Of the others
// the core says that they have ended.
func (s *plans) lost(now time.Time, node core.NodeID) {
	for key, p := range s.victims {
		if v := p.Victim(key); v.Application == "" && v.Node == node {
			s.gone(now, key)
		}
	}
}

// placed notes that an ask runs.
func (s *plans) placed(now time.Time, key core.AllocationKey, node core.NodeID) {
	if p := s.close(now, key, Placed, ""); p != nil {
		p.On = node
	}
}

// list is all that are kept, the newest first.
func (s *plans) list() []*Plan {
	out := make([]*Plan, 0, s.kept.len())
	for _, p := range slices.Backward(s.kept.all()) {
		p.read = true
		out = append(out, p.Plan)
	}
	return out
}

// told is the plan that told a victim to go; nil if none did.
func (s *plans) told(application core.ApplicationID, key core.AllocationKey) *Plan {
	p := s.victims[key]
	if p == nil || p.Victim(key).Application != application {
		return nil
	}
	p.read = true
	return p.Plan
}
