package core

import (
	"fmt"
	"slices"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/core/preemptor"
)

// outcomes say what became of the victims that were told to end for an ask: each is
// served, if the ask or one like it runs in the room that was made, or it is wasted, by a
// cause. It is decided when nothing more can be placed, so the first to take the room counts,
// whichever that is.
//
//	victims for asks = Served + Wasted + Undecided of the counts
type outcomes struct {
	*backlog
	counts *Preempted
	byAsk  map[AllocationKey][]*victimSet // by the ask that may use the room, or the allocation that does
	dirty  []*victimSet                   // which may be decided, each once
	listed int                            // entries of lost sets in the lists of nodes and queues
}

// A victimSet is victims that were told to end for one ask: those on the node where
// room is made, or those on other nodes, which free quota only.
type victimSet struct {
	ask         AllocationKey
	application ApplicationID
	like        *class // of the ask
	required    NodeID
	leaf        *queue // of the ask
	node        *node  // where it would run
	elsewhere   bool   // the victims are on other nodes
	trigger     preemptor.Trigger

	since uint64    // the moment when the ask began to wait for the room
	at    time.Time // the same
	use   roomUse
	cause WasteCause // of a lost set
	// over says that the ask of a lost set will not come for the room any more.
	over         bool
	resized      bool // the ask was, while it waited for the room
	dirty        bool
	coming, late int             // victims that have not ended; those that are late are overdue
	ended        []AllocationKey // victims that have ended and are not wasted
}

// roomUse is what became of the room for which victims end.
type roomUse uint8

const (
	awaited roomUse = iota // the ask waits for it
	served                 // the ask, or one like it, runs there
	lost                   // the ask does not get it, or needs it no more
)

// join adds a victim to a set of those that end for an ask.
func (o *outcomes) join(r, victim *request, trigger preemptor.Trigger) *victimSet {
	n := o.findNode(r.Required)
	if held := r.nominated(); held != nil {
		n = held.node
	}
	set := &victimSet{
		ask: r.Key, application: r.Application, like: r.class, required: r.Required, leaf: r.application.queue,
		node: n, elsewhere: victim.node != n, trigger: trigger, since: o.moments, at: o.now,
	}
	known := o.byAsk[r.Key]
	at := slices.IndexFunc(known, func(s *victimSet) bool {
		return s.use == awaited && s.node == n && s.elsewhere == set.elsewhere && s.trigger == trigger
	})
	if at >= 0 {
		set = known[at]
	} else {
		o.byAsk[r.Key] = append(known, set)
	}
	set.coming++
	o.counts.Undecided++
	return set
}

// expire notes that a victim is overdue.
func (o *outcomes) expire(victim *request) {
	o.noteMoment(&victim.node.marks.late)
	if !victim.foreign() {
		for q := victim.application.queue; q != nil; q = q.parent {
			o.noteMoment(&q.marks.late)
		}
	}
	if s := victim.eviction.set; s != nil {
		s.coming--
		s.late++
		o.touch(s)
	}
}

// ended notes that a victim has ended.
func (o *outcomes) ended(victim *request) {
	s := victim.eviction.set
	if s == nil {
		return
	}
	if victim.eviction.overdue {
		s.late--
	} else {
		s.coming--
	}
	s.ended = append(s.ended, victim.Key)
	if s.use == served {
		o.counts.Undecided--
		o.counts.Served++
		return
	}
	o.touch(s)
}

// nominated notes that an ask waits for room on a node. What was lost to it there is
// awaited again, and it will not come for what ended for it on other nodes.
func (o *outcomes) nominated(r *request, n *node) {
	o.keep(r.Key, func(s *victimSet) bool {
		if s.node != n && !s.elsewhere {
			o.giveUp(s, RanElsewhere)
			return false
		}
		o.unlist(s)
		s.use, s.node, s.since, s.at = awaited, n, o.moments, o.now
		return true
	})
}

// lose notes why an ask does not get the room on a node for which victims end. It waits on.
func (o *outcomes) lose(r *request, n *node, cause WasteCause) {
	for _, s := range o.byAsk[r.Key] {
		if s.use == awaited && s.node == n {
			o.list(s, cause)
		}
	}
}

// nodeGone notes that an ask which may run on a node only has lost what ended for it
// there.
func (o *outcomes) nodeGone(r *request) {
	o.keep(r.Key, func(s *victimSet) bool {
		o.giveUp(s, NodeChanged)
		return false
	})
}

// resize notes that an ask waits for other amounts from now on.
func (o *outcomes) resize(r *request) {
	for _, s := range o.byAsk[r.Key] {
		s.resized = true
	}
}

// askEnded notes that an ask waits no more and was not placed.
func (o *outcomes) askEnded(r *request) {
	o.keep(r.Key, func(s *victimSet) bool {
		o.giveUp(s, AskRemoved)
		return false
	})
}

// placed notes that an ask of a class runs on a node. It takes the room that was made for
// it there, or else for one like it that does not get it. The class of an allocation that
// was adopted is nil.
func (o *outcomes) placed(r *request, n *node, c *class) {
	o.keep(r.Key, func(s *victimSet) bool {
		if s.node != n && !s.elsewhere {
			o.giveUp(s, RanElsewhere)
			return false
		}
		o.serve(s)
		return true
	})
	o.takeLost(r, c, n.details.read().lost)
	o.takeLost(r, c, r.application.queue.lost)
}

// takeLost has an ask of a class that was placed take lost sets of a list which ended for it or
// for one like it.
func (o *outcomes) takeLost(r *request, c *class, lost []*victimSet) {
	for _, s := range slices.Clone(lost) {
		like := c != nil && len(s.ended) > 0 && s.required == r.Required && s.like.asLike(c)
		own := s.ask == r.Key && s.application == r.Application
		if own || like && len(o.byAsk[r.Key]) == 0 {
			o.keep(s.ask, func(other *victimSet) bool { return other != s })
			o.serve(s)
			o.byAsk[r.Key] = append(o.byAsk[r.Key], s)
		}
	}
}

// bindFailed notes that an allocation could not be bound, and is an ask again. It reports
// whether victims were told to end in vain for what did not run.
func (o *outcomes) bindFailed(r *request) (wasted bool) {
	for _, s := range o.byAsk[r.Key] {
		wasted = true
		o.counts.Served -= uint64(len(s.ended))
		o.counts.Undecided += uint64(len(s.ended))
		s.ask = r.Key
		o.list(s, NotBound)
	}
	return wasted
}

// allocationEnded notes that an allocation has ended. Nothing more is to be known of
// the victims that ended for it.
func (o *outcomes) allocationEnded(r *request) {
	if len(o.byAsk) > 0 {
		delete(o.byAsk, r.Key)
	}
}

// keep drops those sets of an ask for which a condition does not hold.
func (o *outcomes) keep(key AllocationKey, holds func(*victimSet) bool) {
	if len(o.byAsk) == 0 {
		return
	}
	sets := o.byAsk[key]
	if len(sets) == 0 {
		return
	}
	sets = slices.DeleteFunc(sets, func(s *victimSet) bool { return !holds(s) })
	if o.byAsk[key] = sets; len(sets) == 0 {
		delete(o.byAsk, key)
	}
}

// serve has the victims of a set count as served, those too that have still to end.
func (o *outcomes) serve(s *victimSet) {
	if s.use == served {
		return
	}
	o.unlist(s)
	s.use, s.over = served, false
	o.counts.Undecided -= uint64(len(s.ended))
	o.counts.Served += uint64(len(s.ended))
}

// giveUp notes that an ask will not come any more for the room that is made for it.
func (o *outcomes) giveUp(s *victimSet, cause WasteCause) {
	if s.use == awaited {
		o.list(s, cause)
	}
	s.over = true
	o.touch(s)
}

// list has a set wait, with the cause why it is lost, for an ask that is like the one that
// it was for.
func (o *outcomes) list(s *victimSet, cause WasteCause) {
	if s.resized && cause != NodeChanged {
		cause = AskChanged
	}
	s.use, s.cause = lost, cause
	*s.lists() = append(*s.lists(), s)
	o.listed++
	o.touch(s)
}

func (o *outcomes) unlist(s *victimSet) {
	if s.use == lost {
		list := s.lists()
		o.listed -= len(*list)
		*list = slices.DeleteFunc(*list, func(other *victimSet) bool { return other == s })
		o.listed += len(*list)
	}
}

// lists is the list in which a lost set is found.
func (s *victimSet) lists() *[]*victimSet {
	if s.elsewhere {
		return &s.leaf.lost
	}
	return &s.node.details.change().lost
}

// touch has a set looked at when nothing more can be placed.
func (o *outcomes) touch(s *victimSet) {
	if !s.dirty {
		s.dirty = true
		o.dirty = append(o.dirty, s)
	}
}

// released has what was lost on a node looked at, since an ask is nominated there no more
// that may have used it.
func (o *outcomes) released(n *node) {
	for _, s := range n.details.read().lost {
		o.touch(s)
	}
}

// promiseEnded has what ends for an ask looked at, since no quota is kept for it any
// more.
func (o *outcomes) promiseEnded(r *request) {
	if len(o.byAsk) == 0 {
		return
	}
	for _, s := range o.byAsk[r.Key] {
		o.touch(s)
	}
}

// settle decides what can be decided, now that nothing more can be placed.
func (o *outcomes) settle() {
	sets := o.dirty
	o.dirty = nil
	for _, s := range sets {
		s.dirty = false
		o.decide(s)
	}
}

// decide has the victims of a set that have ended count as wasted, if the room that they
// made is lost and no other victim of the set is expected.
func (o *outcomes) decide(s *victimSet) {
	switch {
	case s.use == served:
		return
	case s.use == awaited && !o.isMissed(s):
		return
	case s.coming > 0 || s.late > 0 && !s.over || o.isWanted(s):
		return
	}
	if count := uint64(len(s.ended)); count > 0 {
		o.counts.Undecided -= count
		o.counts.Wasted[s.trigger][s.cause] += count
		message := fmt.Sprintf("wasted victims, for room on node %s: %d, %s", s.node.id, count, s.cause)
		o.tell(&VictimsWasted{s.ask, s.application, s.node.id, s.trigger, s.cause, s.ended, message})
		s.ended = nil
	}
	if s.late == 0 {
		o.unlist(s)
		o.keep(s.ask, func(other *victimSet) bool { return other != s })
	}
}

// isMissed reports whether an ask that may run on one node only does not run there though
// all victims have ended, and then says why.
func (o *outcomes) isMissed(s *victimSet) bool {
	r := o.requests[s.ask]
	if r.Required == "" || s.coming+s.late > 0 || r.promised() {
		return false
	}
	if s.node.retry { // it is still to be tried
		o.touch(s)
		return false
	}
	o.list(s, o.whyTaken(r, s.node))
	return true
}

// isWanted reports whether an ask is about to take the room that was lost to another.
func (o *outcomes) isWanted(s *victimSet) bool {
	if r := o.requests[s.ask]; !s.over && r != nil && r.promised() {
		return true
	}
	return slices.ContainsFunc(s.node.nominated, func(r *request) bool { return r.class.asLike(s.like) })
}
