package archive

import (
	"slices"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/core/preemptor"
	"github.com/narwhal-scheduler/narwhal/pkg/outcomes"
)

// planNamesMax bounds how many allocations the plans that are kept name: a plan
// names every candidate that could not be evicted.
const planNamesMax = 200_000

// plans are the last plans of a partition.
//
//	open    = the plans with an ask that waits
//	victims = for each victim the last plan that evicts it
//	names   = the sum over all that are kept
type plans struct {
	kept    ring[*plan]
	open    map[api.AllocationKey]*plan // by ask
	victims map[api.AllocationKey]*plan // by victim
	names   int
}

// A plan is as its readers have it, or as they will have it.
type plan struct {
	*Plan
	read  bool // it is copied before it changes
	left  int  // victims that have not ended
	next  int  // the victim whose eviction is expected next
	names int
}

func newPlans() plans {
	return plans{open: map[api.AllocationKey]*plan{}, victims: map[api.AllocationKey]*plan{}}
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
func (s *plans) close(now time.Time, ask api.AllocationKey, outcome Outcome, reason string) *Plan {
	p := s.open[ask]
	if p == nil || ask == "" {
		return nil
	}
	delete(s.open, ask)
	closed := p.change()
	closed.Outcome, closed.Reason, closed.Until = outcome, reason, now
	return closed
}

// evicted notes which allocation a victim of the last plan is. Evictions come in the
// order of the victims.
func (s *plans) evicted(a *api.Allocation, queue api.QueuePath, user string) {
	p := s.victims[a.Key]
	if p == nil {
		return
	}
	changed := p.change()
	v := &changed.Victims[min(p.next, len(changed.Victims)-1)]
	if v.Key != a.Key {
		v = changed.Victim(a.Key)
	}
	p.next++
	v.Application, v.Queue, v.User, v.Node, v.Pod = a.Application, queue, user, a.Node, PodOf(a)
	v.OwnPriority, v.Started = a.Priority, a.Placed
	if a.IsForeign() {
		v.Started = a.Created // another scheduler placed it
	}
}

// PodOf is the name of the pod of an allocation, with its namespace if that is told; empty where the resource manager tells none. It stays when it is started again with another key.
func PodOf(a *api.Allocation) string {
	name, space := a.Tags["kubernetes.io/meta/podName"], a.Tags["kubernetes.io/meta/namespace"]
	if name == "" || space == "" {
		return name
	}
	return space + "/" + name
}

// gone notes that a victim has ended.
func (s *plans) gone(now time.Time, key api.AllocationKey) {
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

// wasted notes why victims are wasted.
func (s *plans) wasted(e *outcomes.VictimsWasted) {
	for _, key := range e.Victims {
		if p := s.victims[key]; p != nil && p.Key == e.For && !p.Victim(key).Ended.IsZero() {
			p.change().Victim(key).Wasted = e.Cause.String()
		}
	}
}

// foreignGone notes that a foreign allocation is no longer on its node. It may be a
// victim.
func (s *plans) foreignGone(now time.Time, a *api.Allocation) {
	if p := s.victims[a.Key]; p != nil && p.Victim(a.Key).Application == "" {
		s.gone(now, a.Key)
	}
}

func (b *Book) foreignGone(a *api.Allocation) {
	if p := b.plans.victims[a.Key]; p != nil && p.Victim(a.Key).Application == "" && p.Victim(a.Key).Ended.IsZero() {
		b.lostWork(a, owner{}, a.Created)
	}
	b.plans.foreignGone(b.now, a)
}

// placed notes that an ask runs.
func (s *plans) placed(now time.Time, key api.AllocationKey, node api.NodeID) {
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

// of is the last plan that evicted an allocation; nil if there is none.
func (s *plans) of(application api.ApplicationID, key api.AllocationKey) *Plan {
	p := s.victims[key]
	if p == nil || p.Victim(key).Application != application {
		return nil
	}
	p.read = true
	return p.Plan
}

func (b *Book) nominated(e *api.Claimed) {
	b.planned(&Plan{Application: e.Application, Key: e.Key, Queue: b.queueOf(e.Application), Node: e.Node, Decision: e.Plan, Priority: &e.Priority})
}

// planned keeps a plan. Of its victims, the evictions that follow say more.
func (b *Book) planned(p *Plan) {
	p.At, p.Trigger, p.User = b.now, p.Decision.Trigger, b.userOf(p.Application)
	if p.Decision.Reason == preemptor.Chosen {
		for _, v := range p.Decision.Victims {
			p.Victims = append(p.Victims, Victim{
				Key: api.AllocationKey(v.Key), Class: v.Class, Node: p.Node, Amounts: v.Amounts, Priority: v.Priority, OwnPriority: v.Priority, Chosen: b.now,
			})
		}
	}
	b.plans.add(b.now, p, b.config.PlansMax)
}
