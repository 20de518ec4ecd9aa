package core

import (
	"fmt"
	"time"
)

// unusedPauseMax is the longest time in which no room is made for an ask for which victims
// ended and which did not run.
const unusedPauseMax = 24 * time.Hour

// roomUnused notes that victims ended for an ask which does not run all the same: the resource
// manager refuses it where it agreed before, or cannot bind it. No room is made for it
// for a while, which doubles each time.
func (p cycle) roomUnused(r *request, why string) {
	w := r.wait
	w.told, w.ran = false, false
	w.unused++
	pause := min(doubled(p.options.RetryMax, w.unused-1), unusedPauseMax)
	times := "once"
	if w.unused > 1 {
		times = fmt.Sprintf("%d times", w.unused)
	}
	w.unusedWhy = fmt.Sprintf("room was made %s and not used: %s", times, why)
	p.attempts.backOff(r, pause)
	p.counts.Loops++
	p.tell(&ApplicationReport{
		r.Application, r.Key,
		fmt.Sprintf("no more room is made for %s for %s, since %s", r.Key, pause, w.unusedWhy),
	})
}

// holdsBack says why no room is made for an ask on its node now; it is empty if nothing
// is against it.
func (d *round) holdsBack(r *request) string {
	w := r.wait
	if w.ran {
		d.roomUnused(r, "it could not be bound")
	}
	if w.due.backOff.After(d.now) {
		d.retryAt(r, w.due.backOff)
		if w.stopped == "" {
			w.stopped = w.unusedWhy
		}
		return w.stopped
	}
	if d.node.isBeyondPlans() {
		return "amounts on the node are too large to make room beside them"
	}
	if victim := d.overdueFor(r); victim != nil && victim.eviction.timer.Set() {
		return fmt.Sprintf("the release of %s is overdue", victim.Key)
	}
	return ""
}

// overdueFor is a victim of an ask on its node that did not end in time: of several the one for
// which attempts are blocked longest. It is nil if there is none.
func (d *round) overdueFor(r *request) (last *request) {
	for other := range d.node.allOn {
		if e := other.eviction; e != nil && e.overdue && e.ask == r.Key &&
			(last == nil || e.blocksUntil().After(last.eviction.blocksUntil())) {
			last = other
		}
	}
	return last
}
