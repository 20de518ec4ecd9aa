package core

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/core/preemptor"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// An ask that fits nowhere hunts: it looks for the node where others make room
// at the least cost, because of its priority, or because the room is due to its
// queue. It is nominated to that node, and the victims are told to go. What was
// hunted for in vain is not hunted for again by asks of the same shape in the
// same queue until something has changed that may help.

// huntOrder is the order in which the triggers are tried.
var huntOrder = [...]preemptor.Trigger{preemptor.Priority, preemptor.Guarantee}

// A chase says whether asks of a shape in a leaf hunt.
type chase struct {
	eager  bool                // they may; otherwise it was in vain
	hungry bool                // listed to hunt again
	last   []PreemptionAttempt // what the last one in vain came to, by trigger
}

// beginHunt lets asks of a shape hunt, unless what comes of that is known. The
// order is left alone.
func (q *queue) beginHunt(s *shape) bool {
	if _, known := q.hunts[s]; known {
		return false
	}
	q.hunts[s] = &chase{}
	s.huntsIn = append(s.huntsIn, q)
	s.vain++
	q.rouse(s)
	return true
}

// rouse lets asks of a shape hunt again. The order is left alone.
func (q *queue) rouse(s *shape) {
	c := q.hunts[s]
	if c == nil || c.eager {
		return
	}
	*q.learnt++
	c.eager = true
	s.vain--
	q.hunting.set(s.slot)
}

// giveUp keeps asks of a shape from hunting. The order is left alone.
func (q *queue) giveUp(s *shape, last []PreemptionAttempt) {
	if c := q.hunts[s]; c.eager {
		*q.learnt++
		c.eager, c.last = false, last
		s.vain++
		q.notHunting(s)
	}
}

// forgetHunt is called when no ask is left of a shape.
func (q *queue) forgetHunt(s *shape) {
	*q.learnt++
	delete(q.hunts, s)
	q.notHunting(s)
	if s.shared() {
		q.settleUp()
	}
}

// notHunting clears the slot of a shape unless another shape needs it.
func (q *queue) notHunting(s *shape) {
	if s.shared() {
		for other, c := range q.hunts {
			if other.shared() && c.eager {
				return
			}
		}
	}
	q.hunting.clear(s.slot)
}

// mayHunt reports whether an ask may hunt now.
func (r *request) mayHunt() bool {
	c := r.application.queue.hunts[r.shape]
	return c != nil && c.eager
}

// wantsRoom reports whether others may be told to go for an ask that may run
// anywhere.
func (p *Partition) wantsRoom(r *request) bool {
	return !p.preemption.Disabled && r.Required == "" && !r.spares() && r.nominated() == nil &&
		(r.wait == nil || r.wait.rests.IsZero())
}

// spares reports whether an ask says that nobody is to go for it.
func (a *Allocation) spares() bool { return a.Preemptable.Stated && !a.Preemptable.AllowOthers }

// hunt has an ask hunt. The outcome is placed if room is on its way.
func (p *Partition) hunt(r *request) outcome {
	if p.options.Budgets != nil && p.told == p.batch {
		return tellNow // what is left of the budgets is known when that was heard
	}
	if p.loops(r) {
		return waits
	}
	p.left--
	var hunts []PreemptionAttempt
	refused := false
	for _, trigger := range huntOrder {
		if !p.entitled(r, trigger) {
			continue
		}
		h, result := p.seek(r, trigger)
		if result == tellNow {
			return tellNow
		}
		hunts = append(hunts, h)
		if result == placed {
			r.wait.hunts = hunts
			return placed
		}
		refused = refused || h.Refused > 0
	}
	w := r.waiting()
	w.hunts, w.plan = hunts, nil
	r.application.view = nil
	p.reportHunts(r)
	if refused {
		p.restFromHunting(r, p.options.RetryMax)
		return waits
	}
	p.huntedInVain(r)
	return waits
}

// reportHunts records that nobody makes room for an ask.
func (p *Partition) reportHunts(r *request) {
	var texts []string
	for _, h := range r.wait.hunts {
		texts = append(texts, h.Summary(p.kinds))
	}
	if len(texts) > 0 {
		p.reportVain(r, "no room is made: "+strings.Join(texts, "; "))
	}
}

// Verdict is the hunt in one sentence with the numbers that matter; kinds must
// be those of the partition.
func (h PreemptionAttempt) Summary(kinds *resources.Kinds) string {
	text := fmt.Sprintf("by %s on none of %d nodes", h.Trigger, h.Nodes)
	switch {
	case h.Plan == nil:
		return text + fmt.Sprintf(": %d are closed to it, %d too small", h.Closed, h.TooSmall)
	case h.Refused > 0:
		text += fmt.Sprintf(", %d refused", h.Refused)
	}
	return fmt.Sprintf("%s; nearest is %s: %s", text, h.Node, h.Plan.Summary(kinds))
}

// entitled reports whether a trigger may be pulled for an ask. If it is only too
// early for that, the ask is woken in time.
func (p *Partition) entitled(r *request, t preemptor.Trigger) bool {
	if t == preemptor.Priority {
		if p.preemption.Priority == PriorityOff {
			return false
		}
		return !p.plain || len(p.running) > 0 && p.mayTake(r.Priority, p.running[0].priority)
	}
	if !r.isDue() {
		return false
	}
	at := r.Created.Add(r.application.queue.properties.PreemptionDelay)
	if !at.After(p.now) {
		return true
	}
	if w := r.waiting(); !w.huntAt.Equal(at) {
		w.huntAt = at
		p.alarms.add(alarm{at: at, request: r})
	}
	return false
}

// mayTake reports whether an ask may take the place of an allocation by their
// priorities.
func (p *Partition) mayTake(ask, allocation int32) bool {
	return ask > allocation || ask == allocation && p.preemption.Priority == EqualToo
}

// huntedInVain keeps asks like this one from hunting until something changes.
func (p *Partition) huntedInVain(r *request) {
	q, s := r.application.queue, r.shape
	q.giveUp(s, r.wait.hunts)
	q.settleUp()
	hard := p.budgetsBind()
	if !p.flat || r.withoutRoom() != nil || hard {
		if c := q.hunts[s]; !c.hungry {
			c.hungry = true
			p.hungry = append(p.hungry, hungry{q, s})
		}
		if hard { // the budgets change without a word
			p.huntBefore(p.now.Add(p.options.RetryMax))
		}
		return
	}
	if !s.listed {
		s.listed = true
		p.vain = append(p.vain, s)
	}
}

// budgetsBind reports whether disruption budgets may keep anybody from going.
func (p *Partition) budgetsBind() bool {
	return p.options.Budgets != nil && p.preemption.Budgets == preemptor.HardBudgets
}

// A hungry is a queue and a shape of which asks are to hunt again when anything
// has changed.
type hungry struct {
	queue *queue
	shape *shape
}

// huntLater has those hunt again, soon but not too often, whose chances depend
// on more than a node: on quota, guarantees, and priorities seen through queues.
func (p *Partition) huntLater() {
	if len(p.hungry) > 0 || len(p.short) > 0 {
		p.huntBefore(later(p.now, p.hunted.Add(p.options.RetryDelay)))
	}
}

// huntBefore has them hunt again at this time at the latest.
func (p *Partition) huntBefore(at time.Time) {
	if p.huntAt.IsZero() || at.Before(p.huntAt) {
		p.huntAt = at
		p.alarms.add(alarm{at: at, hunts: true})
	}
}

// hungryMax is how many of them hunt again at a time, so that many queues
// without room leave time for other things.
const hungryMax = 64

func (p *Partition) huntAgain() {
	if p.huntAt.After(p.now) || p.huntAt.IsZero() {
		return
	}
	p.huntAt, p.hunted = time.Time{}, p.now
	again := p.hungry[:min(len(p.hungry), hungryMax)]
	p.hungry = slices.Clone(p.hungry[len(again):])
	for _, h := range again {
		if c := h.queue.hunts[h.shape]; c != nil {
			c.hungry = false
			h.queue.rouse(h.shape)
			h.queue.settleUp()
		}
	}
	short := p.short
	p.short = nil
	for _, q := range short {
		q.excess.left = nil
		p.giveBack(q)
	}
	if len(p.hungry) > 0 {
		p.huntLater() // those who are left
	}
}

// rouseBy has asks hunt again that a node which changed may be of use to.
func (p *Partition) rouseBy(n *node) {
	if len(p.vain) == 0 {
		return
	}
	kept := p.vain[:0]
	for _, s := range p.vain {
		if s.vain > 0 && p.mayYield(n, s) {
			s.rouse()
		}
		if s.listed = s.vain > 0; s.listed {
			kept = append(kept, s)
		}
	}
	clear(p.vain[len(kept):])
	p.vain = kept
}

// rouseRobbed has asks hunt again for which there was room on a node before an
// allocation of a lower priority took it. While there is room, nobody hunts.
func (p *Partition) rouseRobbed(n *node, r *request) {
	for _, s := range p.vain {
		if s.vain > 0 && p.mayTake(s.priority, r.Priority) && s.amounts.FitsIn(n.roomFor(s.standing).Plus(r.Amounts)) {
			s.rouse()
		}
	}
}

// rouse lets the asks of a shape hunt again in every leaf.
func (s *shape) rouse() {
	for _, q := range s.huntsIn {
		if !q.hunts[s].eager {
			q.rouse(s)
			q.settleUp()
		}
	}
}

// mayYield reports whether a node would have room for a shape if everybody went
// who might have to. It is for partitions where only priorities matter.
func (p *Partition) mayYield(n *node, s *shape) bool {
	var freed resources.Amounts
	for _, r := range n.own {
		if p.mayTake(s.priority, r.Priority) {
			freed.Add(r.Amounts)
		}
	}
	return (len(freed) > 0 || !n.leaving.IsZero()) && s.amounts.FitsIn(freed.Plus(n.roomFor(s.standing)).Plus(n.leaving))
}

// rouseAll has everybody hunt again.
func (p *Partition) rouseAll() {
	p.grounds, p.trail = nil, nil
	for _, s := range p.shapes.all {
		s.rouse()
	}
}

// restFromHunting keeps one ask from hunting for a while.
func (p *Partition) restFromHunting(r *request, pause time.Duration) {
	w := r.waiting()
	w.rests = p.now.Add(pause)
	p.alarms.add(alarm{at: w.rests, request: r})
	p.reshape(r)
}

// wakeHunter lets an ask hunt whose time has come.
func (p *Partition) wakeHunter(r *request) {
	w := r.wait
	if !w.rests.IsZero() && !w.rests.After(p.now) {
		w.rests, w.never, w.loop = time.Time{}, nil, ""
		p.reshape(r)
	}
	if !w.huntAt.IsZero() && !w.huntAt.After(p.now) {
		w.huntAt = time.Time{}
		r.application.queue.rouse(r.shape)
		r.application.queue.settleUp()
	}
}
