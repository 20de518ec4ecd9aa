// Package outcomes says what became of the victims that were told to end for asks. It reads the
// events of one partition, and nothing of it is in the core.
//
//	events ─► Book.Observe, and Book.Settle when nothing more can be placed ─► VictimsWasted
//
// Each victim is served, if the ask or one like it runs in the room that was made, or it is
// wasted, by a cause; until that is known it is undecided. The first to take the room counts,
// whichever that is. What it says follows from the events alone.
package outcomes

import (
	"fmt"
	"slices"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/core/preemptor"
)

// A Book follows the victims of one partition. It belongs to one goroutine. The zero value is a
// book without victims.
//
//	victims for asks = Served + Wasted + Undecided of the counts
type Book struct {
	counts    Counts
	byAsk     map[api.AllocationKey][]*group // by the ask that may use the room, or the allocation that does
	byNode    map[api.NodeID][]*group        // those that are not served
	coming    map[victim]*coming             // those that have not ended
	nominated map[api.NodeID][]*api.Allocation
	dirty     []*group // which may be decided
	wasted    api.Effects
}

// A victim is an allocation; the application of a foreign one is empty.
type victim struct {
	application api.ApplicationID
	key         api.AllocationKey
}

// A group is victims that end for one ask: those on the node where it is to run, or those on
// other nodes, which free quota only.
type group struct {
	ask       *api.Allocation
	node      api.NodeID // where the ask would run
	elsewhere bool       // the victims are on other nodes
	trigger   preemptor.Trigger

	use    use
	over   bool  // the ask of a lost group will not come for the room any more
	cause  Cause // why it is lost, or the last that may be why
	coming int   // victims that have not ended
	late   int   // of them, those that are overdue
	ended  []api.AllocationKey
}

// A coming is a victim that has not ended.
type coming struct {
	*group
	overdue bool
}

// use is what became of the room of a group: the ask waits for it; the ask, or one like it, runs
// there; the ask does not get it, or needs it no more.
type use uint8

const (
	awaited use = iota
	served
	lost
)

// Counts are those of all victims so far.
func (b *Book) Counts() Counts { return b.counts }

// Observe takes in the effects of a step. All steps must be observed, in order.
func (b *Book) Observe(effects api.Effects) {
	for i, event := range effects {
		switch e := event.(type) {
		case *api.EvictionRequested:
			if e.Ask != nil {
				b.evicted(e)
			}
		case *api.Claimed:
			if e.Plan != nil {
				add(&b.nominated, e.Node, e.Allocation)
			}
			b.await(e.Key, e.Node)
		case *api.ClaimEnded:
			b.claimEnded(e)
		case api.ForeignRemoved:
			if !e.StaysIn(effects[i+1:]) {
				b.end(e.Allocation)
			}
		default:
			if len(b.byAsk)+len(b.byNode) > 0 {
				b.follow(event)
			}
		}
	}
}

// follow takes in an event of those that matter only while there are victims.
func (b *Book) follow(event api.Event) {
	switch e := event.(type) {
	case api.Placed:
		b.placed(e.Allocation)
	case api.Adopted:
		b.placed(e.Allocation)
		b.suspect(e.Node, RoomBooked)
	case api.ForeignAdded:
		b.suspect(e.Node, RoomBooked)
	case *api.Ended:
		b.end(e.Allocation)
		b.allocationEnded(e)
	case api.AskResized:
		for _, g := range b.byAsk[e.Key] {
			g.cause = AskChanged
		}
	case *api.AskEnded:
		for _, g := range slices.Clone(b.byAsk[e.Key]) {
			b.giveUp(g, AskRemoved)
		}
	case *api.EvictionOverdue:
		b.overdue(e)
	case *api.NodeResized:
		b.suspect(e.ID, NodeChanged)
	case *api.NodeSchedulable:
		b.changed(e.ID, false)
	case *api.NodeRemoved:
		b.changed(e.ID, true)
	}
}

// evicted adds a victim to a group of those that end for an ask.
func (b *Book) evicted(e *api.EvictionRequested) {
	elsewhere := e.Node != e.Room
	known := b.byAsk[e.For]
	at := slices.IndexFunc(known, func(g *group) bool {
		return g.use == awaited && g.node == e.Room && g.elsewhere == elsewhere && g.trigger == e.Trigger
	})
	var g *group
	if at >= 0 {
		g = known[at]
	} else {
		g = &group{ask: e.Ask, node: e.Room, elsewhere: elsewhere, trigger: e.Trigger, cause: OtherCause}
		add(&b.byAsk, e.For, g)
		add(&b.byNode, e.Room, g)
	}
	g.coming++
	if b.coming == nil {
		b.coming = map[victim]*coming{}
	}
	b.coming[victim{e.Application, e.Key}] = &coming{group: g}
	b.counts.Undecided++
}

// end takes in that an allocation has ended, which may be a victim.
func (b *Book) end(a *api.Allocation) {
	key := victim{a.Application, a.Key}
	v := b.coming[key]
	if v == nil {
		return
	}
	delete(b.coming, key)
	g := v.group
	g.coming--
	if v.overdue {
		g.late--
	}
	if g.use == served {
		b.counts.Undecided--
		b.counts.Served++
	}
	g.ended = append(g.ended, a.Key)
	b.touch(g)
}

// overdue takes in that a victim did not end in time.
func (b *Book) overdue(e *api.EvictionOverdue) {
	b.suspect(e.Node, VictimOverdue)
	if v := b.coming[victim{e.Application, e.Key}]; v != nil {
		v.overdue = true
		v.late++
		b.touch(v.group)
	}
}

// await takes in that room is kept for an ask on a node. What was lost to it there is awaited
// again, and it will not come for what ended for it on other nodes.
func (b *Book) await(ask api.AllocationKey, node api.NodeID) {
	for _, g := range slices.Clone(b.byAsk[ask]) {
		if g.node != node && !g.elsewhere {
			b.giveUp(g, RanElsewhere)
			continue
		}
		remove(b.byNode, g.node, g)
		add(&b.byNode, node, g)
		g.use, g.node, g.cause = awaited, node, OtherCause
	}
}

func (b *Book) claimEnded(e *api.ClaimEnded) {
	if at := slices.IndexFunc(b.nominated[e.Node], func(a *api.Allocation) bool { return a.Key == e.Key }); at >= 0 {
		remove(b.nominated, e.Node, b.nominated[e.Node][at])
	}
	b.dirty = append(b.dirty, b.byNode[e.Node]...)
	if e.Waits() {
		b.lose(e.Key, e.Node, e.End)
	}
}

// lose takes in that an ask does not get the room on a node. It waits on. Of lost room the cause
// is what was suspected last.
func (b *Book) lose(ask api.AllocationKey, node api.NodeID, end api.End) {
	for _, g := range b.byAsk[ask] {
		if g.use != awaited || g.node != node {
			continue
		}
		g.use = lost
		switch {
		case end == api.EndByRefusal:
			g.cause = NotFeasible
		case g.cause == OtherCause && (end == api.EndOfQuota || g.ask.Required == ""):
			g.cause = MoreImportant // which has it, or has it kept
		}
		b.touch(g)
	}
}

// giveUp takes in that an ask will not come any more for the room of a group.
func (b *Book) giveUp(g *group, cause Cause) {
	if g.use == awaited && g.cause != AskChanged {
		g.cause = cause
	}
	g.use, g.over = lost, true
	remove(b.byAsk, g.ask.Key, g)
	b.touch(g)
}

// suspect notes what happened to a node that may be why an ask will not get its room.
func (b *Book) suspect(node api.NodeID, cause Cause) {
	for _, g := range b.byNode[node] {
		if g.use == awaited {
			g.cause = cause
		}
	}
}

// changed takes in that a node takes nothing new, or is gone.
func (b *Book) changed(node api.NodeID, gone bool) {
	for _, g := range slices.Clone(b.byNode[node]) {
		if !g.over {
			g.cause = NodeChanged
		}
		if gone && !g.elsewhere {
			b.giveUp(g, NodeChanged)
		}
	}
}

// placed takes in that an ask runs. It takes the room that was made for it, or else for one
// like it that does not get it.
func (b *Book) placed(a *api.Allocation) {
	for _, g := range slices.Clone(b.byAsk[a.Key]) {
		if g.use == served || g.node == a.Node || g.elsewhere {
			b.serve(g)
		} else {
			b.giveUp(g, RanElsewhere)
		}
	}
	for _, g := range slices.Clone(b.byNode[a.Node]) {
		switch own := g.ask.Key == a.Key; {
		case g.use == lost && (own || len(g.ended) > 0 && g.isLike(a) && len(b.byAsk[a.Key]) == 0):
			remove(b.byAsk, g.ask.Key, g)
			g.ask, g.over = a, false
			add(&b.byAsk, a.Key, g)
			b.serve(g)
		case g.use == awaited:
			g.cause = MoreImportant
		}
	}
}

// isLike reports whether an allocation is as good as the ask of a group.
func (g *group) isLike(a *api.Allocation) bool {
	return g.ask.Priority == a.Priority && g.ask.Required == a.Required && g.ask.Amounts.Equal(a.Amounts)
}

// serve has the victims of a group count as served, those too that have still to end.
func (b *Book) serve(g *group) {
	if g.use == served {
		return
	}
	remove(b.byNode, g.node, g)
	g.use = served
	b.counts.Undecided -= uint64(len(g.ended))
	b.counts.Served += uint64(len(g.ended))
}

// allocationEnded takes in the end of what may run in the room of victims. Of one that could not
// be bound they are lost; of others nothing more is to be known.
func (b *Book) allocationEnded(e *api.Ended) {
	if e.Cause != api.CauseBindFailed {
		delete(b.byAsk, e.Key)
		return
	}
	for _, g := range b.byAsk[e.Key] {
		if g.use == served {
			b.counts.Served -= uint64(len(g.ended))
			b.counts.Undecided += uint64(len(g.ended))
			add(&b.byNode, g.node, g)
		}
		g.use, g.cause = lost, NotBound
		b.touch(g)
	}
}

// touch has a group looked at when nothing more can be placed.
func (b *Book) touch(g *group) { b.dirty = append(b.dirty, g) }

// Settle says which victims are wasted, now that nothing more can be placed.
func (b *Book) Settle() api.Effects {
	b.wasted = nil
	for _, g := range b.dirty {
		b.decide(g)
	}
	b.dirty = b.dirty[:0]
	return b.wasted
}

// decide has the victims of a lost group that have ended count as wasted, unless the ask, or one
// like it, may still take their room.
func (b *Book) decide(g *group) {
	waits := g.coming
	if g.over {
		waits -= g.late
	}
	if g.use != lost || waits > 0 || slices.ContainsFunc(b.nominated[g.node], g.isLike) {
		return
	}
	if count := uint64(len(g.ended)); count > 0 {
		b.counts.Undecided -= count
		b.counts.Wasted[g.trigger][g.cause] += count
		message := fmt.Sprintf("wasted victims, for room on node %s: %d, %s", g.node, count, g.cause)
		b.wasted = append(b.wasted, &VictimsWasted{
			For: g.ask.Key, Application: g.ask.Application, Node: g.node, Trigger: g.trigger, Cause: g.cause, Victims: g.ended, Message: message,
		})
		g.ended = nil
	}
	if g.coming == 0 {
		remove(b.byNode, g.node, g)
		remove(b.byAsk, g.ask.Key, g)
	}
}

// add puts one at the end of a list.
func add[K comparable, V any](lists *map[K][]V, key K, one V) {
	if *lists == nil {
		*lists = map[K][]V{}
	}
	(*lists)[key] = append((*lists)[key], one)
}

// remove takes one out of a list, and the list out of the lists when it is empty.
func remove[K, V comparable](lists map[K][]V, key K, one V) {
	list := slices.DeleteFunc(lists[key], func(other V) bool { return other == one })
	if len(list) == 0 {
		delete(lists, key)
		return
	}
	lists[key] = list
}
