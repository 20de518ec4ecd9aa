package scheduler

import (
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/archive"
	"github.com/narwhal-scheduler/narwhal/pkg/core"
	"github.com/narwhal-scheduler/narwhal/pkg/events"
	"github.com/narwhal-scheduler/narwhal/pkg/metrics"
)

// showEvery is after how many messages the owner looks whether somebody wants to see
// the partition.
const showEvery = 512

// An owner is the one goroutine that touches a partition.
type owner struct {
	name      string // with the resource manager
	partition *core.Partition
	inbox     *inbox
	outbox    *outbox // of the resource manager
	gate      *gate   // nil when predicates are skipped
	record    func(partition string, at time.Time, command core.Command)
	done      chan struct{} // closed when the owner has ended
	retired   bool          // everything is released
	meter     meter
	told      bool          // the chronicle is told of every step
	book      *archive.Book // of the partition; nil without an archive
	gallery   gallery
	touched   bool // something was applied since the last scheduling
}

// run is the life of a partition: carry out what waits, schedule, wait. An owner
// begins when the one before it, of the same name, has ended.
func (o *owner) run(before *owner) {
	defer close(o.done)
	if before != nil {
		<-before.done
	}
	var messages []message
	var more bool
	for {
		var open bool
		var since time.Time
		if messages, since, open = o.inbox.take(messages); !open {
			return
		}
		now := time.Now()
		o.meter.took(metrics.InboxWait, since)
		for i, m := range messages {
			o.handle(now, m)
			if i%showEvery == showEvery-1 {
				o.show()
			}
		}
		if o.retired {
			return
		}
		if more || o.touched || o.isDue(now) {
			more = o.schedule(now)
		}
		o.show()
		if !more {
			o.wait()
		}
	}
}

// show lets those look who wait for that, if it is time.
func (o *owner) show() {
	o.gallery.waiting = o.inbox.lookers(o.gallery.waiting)
	o.gallery.show(o.partition)
}

// schedule makes a batch of placements, and says whether there are more to make.
func (o *owner) schedule(now time.Time) (more bool) {
	o.touched = false
	o.gallery.changes()
	began := o.meter.now()
	effects, more := o.partition.Schedule(now)
	o.meter.took(metrics.Decision, began)
	o.tell(now, nil, effects)
	return more
}

func (o *owner) isDue(now time.Time) bool {
	at, ok := o.partition.Due()
	return ok && !at.After(now)
}

func (o *owner) hasEnded() bool {
	select {
	case <-o.done:
		return true
	default:
		return false
	}
}

// wait returns when something was put into the inbox or is due, a view included.
func (o *owner) wait() {
	at, ok := o.partition.Due()
	if len(o.gallery.waiting) > 0 && (!ok || o.gallery.due().Before(at)) {
		at, ok = o.gallery.due(), true
	}
	if !ok {
		<-o.inbox.wake
		return
	}
	timer := time.NewTimer(time.Until(at))
	defer timer.Stop()
	select {
	case <-o.inbox.wake:
	case <-timer.C:
	}
}

func (o *owner) handle(now time.Time, m message) {
	switch m := m.(type) {
	case core.Command:
		o.apply(now, m)
	case refusal:
		o.tell(now, nil, core.Effects{m.effect})
	case question:
		m(o.partition)
	case look:
		o.gallery.waiting = append(o.gallery.waiting, m)
	case retire:
		o.release(now)
	}
}

func (o *owner) apply(now time.Time, c core.Command) {
	if o.record != nil {
		o.record(o.name, now, c)
	}
	o.touched = true
	o.gallery.changes()
	began := o.meter.now()
	effects := o.partition.Apply(now, c)
	o.meter.took(metrics.Apply, began)
	o.tell(now, c, effects)
	if r, ok := c.(core.ReleaseAllocation); ok && o.gate != nil {
		o.gate.forget(string(r.Key))
	}
}

// tell hands the effects of a step over to the outbox and remembers which nodes
// they touch. A step without effects is of use to the chronicle only.
func (o *owner) tell(now time.Time, c core.Command, effects core.Effects) {
	if len(effects) == 0 && (c == nil || !o.told) {
		return
	}
	var head any
	if o.told {
		head = step{Step: events.Step{Now: now, Command: c, Effects: effects}, book: o.book}
	}
	if o.meter.metrics != nil {
		o.meter.metrics.Count(o.name, effects)
	}
	last := o.outbox.putAfter(head, o.name, effects)
	if o.gate != nil {
		o.gate.note(effects, last)
	}
}

// release removes all applications and nodes, so that the resource manager hears
// of everything that no longer runs.
func (o *owner) release(now time.Time) {
	view := o.partition.View()
	for _, a := range view.Applications {
		o.apply(now, core.RemoveApplication{ID: a.ID})
	}
	for _, n := range view.Nodes {
		o.apply(now, core.RemoveNode{ID: n.ID})
	}
	if o.told {
		o.outbox.putAfter(step{Step: events.Step{Now: now}, ends: true, book: o.book}, o.name, nil)
	}
	o.retired = true
}
