package scheduler

import (
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"github.com/narwhal-scheduler/narwhal/pkg/archive"
	"github.com/narwhal-scheduler/narwhal/pkg/core"
	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/events"
	"github.com/narwhal-scheduler/narwhal/pkg/metrics/stage"
	"github.com/narwhal-scheduler/narwhal/pkg/outcomes"
	"github.com/narwhal-scheduler/narwhal/pkg/reports"
)

// serveEvery is after how many messages the owner serves readers.
const serveEvery = 512

// An owner is the one goroutine that touches a partition.
type owner struct {
	name       string // with the resource manager
	partition  *core.Partition
	steps      Steps // of the partition, recorded or not
	inbox      *inbox
	outbox     *outbox        // of the resource manager
	gate       *predicateGate // nil when nothing is asked
	broker     *viewBroker
	groups     groupLookups
	log        *loggers
	heartbeat  heartbeat
	record     func(partition string, at time.Time, command api.Command)
	done       chan struct{} // closed when the owner has ended
	meter      meter
	recordsAll bool          // the recorder gets every step
	untracked  *atomic.Bool  // of the registration: the others are not recorded either
	book       *archive.Book // of the partition; nil without an archive
	outcomes   outcomes.Book
	reports    *reports.Book

	handled uint64    // messages so far
	began   time.Time // when the command at hand began, if that is measured
	touched bool      // something was applied since the last scheduling
	retired bool      // everything is released

	// What waits for this partition besides the inbox: deliveries whose callback has
	// not returned, asks that scheduling has not come to yet, and messages about applications
	// whose groups are looked up.
	undelivered atomic.Int64
	untried     atomic.Int64
	held        atomic.Int64
}

// room says whether so many messages more may wait for the partition. The lock of the
// inbox must be held.
func (o *owner) room(more, limit int) error {
	return o.inbox.room(more, int(o.undelivered.Load()+o.untried.Load()+o.held.Load()), limit)
}

// run is the loop of a partition: carry out what waits, schedule, wait. An owner
// begins when the one before it, of the same name, has ended.
func (o *owner) run(before *owner) {
	defer close(o.done)
	defer o.groups.end()
	defer o.steps.End()
	if before != nil {
		<-before.done
	}
	var spare [][]message
	var more bool
	for {
		batches, since, open := o.inbox.take(spare)
		if !open {
			return
		}
		now := time.Now()
		o.meter.took(stage.InboxWait, since)
		o.handleAll(now, batches)
		spare = emptied(batches)
		if o.retired {
			return
		}
		o.endLateLookups(now)
		if more || o.touched || o.isDue(now) {
			more = o.schedule(now)
		}
		o.serveReaders()
		if !more {
			o.wait()
		}
	}
}

// handleAll carries out messages, and gives up those that are carried out.
func (o *owner) handleAll(now time.Time, batches [][]message) {
	o.began = o.meter.now()
	for i, messages := range batches {
		for _, m := range messages {
			o.handle(now, m)
			o.handled++
			o.inbox.taken.Add(-1)
			if o.handled%serveEvery == 0 {
				o.serveReaders()
				o.began = o.meter.now()
			}
		}
		batches[i] = nil
	}
}

// serveReaders answers readers that wait, if it is time. What a partition that ends has
// decided last is shown no more than it is told.
func (o *owner) serveReaders() {
	select {
	case <-o.inbox.ending:
		return
	default:
	}
	now := time.Now()
	o.heartbeat.beat(now)
	o.broker.serve(now, o.partition, o.handled)
}

// schedule makes a batch of placements, and says whether there are more to make.
func (o *owner) schedule(now time.Time) (more bool) {
	o.touched = false
	o.broker.changes()
	if o.gate != nil {
		o.gate.pace.beginBatch()
	}
	began := o.meter.now()
	effects, more := o.steps.Schedule(now)
	o.meter.took(stage.Decision, began)
	o.tell(now, o.reports.Scheduled(now, effects))
	if !more {
		o.untried.Store(0)
		o.tell(now, o.outcomes.Settle())
	}
	return more
}

func (o *owner) isDue(now time.Time) bool {
	at, ok := o.reports.Due()
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

// wait returns when something was put into the inbox, a reader came, or something
// is due, a view included.
func (o *owner) wait() {
	o.heartbeat.rest()
	at, ok := o.reports.Due()
	if view, waits := o.broker.next(); waits && (!ok || view.Before(at)) {
		at, ok = view, true
	}
	if late, waits := o.groups.due(); waits && (!ok || late.Before(at)) {
		at, ok = late, true
	}
	if !ok {
		<-o.inbox.wake
	} else {
		timer := time.NewTimer(time.Until(at))
		defer timer.Stop()
		select {
		case <-o.inbox.wake:
		case <-timer.C:
		}
	}
	o.heartbeat.beat(time.Now())
}

func (o *owner) handle(now time.Time, m message) {
	if o.groups.hold(m) {
		return
	}
	switch m := m.(type) {
	case api.AddApplication:
		o.takeIn(now, m)
	case *lookedUp:
		o.goOn(now, o.groups.answered(now, m), m.answer)
	case api.Command:
		o.apply(now, m)
	case refusal:
		o.tell(now, api.Effects{m.Event})
	case *unanswered:
		o.outbox.putUnanswered(o, m)
		o.meter.unanswered(o.name)
	case *replacement:
		o.carryOut(now, m)
	case retire:
		o.release(now)
	}
}

func (o *owner) apply(now time.Time, c api.Command) {
	if o.record != nil {
		o.record(o.name, now, c)
	}
	o.touched = true
	o.broker.changes()
	if r, ok := c.(api.Reconfigure); ok {
		o.groups.use(r.Config.Resolver)
	}
	effects := o.steps.Apply(now, c)
	if r, is := c.(api.ReleaseAllocation); is && len(effects) == 0 && o.log != nil {
		o.log.of(logRequests).Debug("release of what is not known", zap.String("partition", o.name),
			zap.String("allocation", string(r.Key)), zap.String("application", string(r.Application)))
	}
	o.tell(now, o.reports.Observe(now, effects))
	o.began = o.meter.lap(stage.Apply, o.began)
}

// tell hands the effects of a step over to the outbox and remembers which nodes
// they touch.
func (o *owner) tell(now time.Time, effects api.Effects) {
	if len(effects) == 0 {
		return
	}
	o.outcomes.Observe(effects)
	o.meter.count(o.name, effects)
	told, recorded := o.survey(effects)
	if !told && !recorded {
		return
	}
	before := o.outbox.put(&step{Step: events.Step{Now: now, Effects: effects}, from: o, recorded: recorded, book: o.book})
	if o.gate != nil {
		if recorded {
			before++
		}
		o.gate.note(effects, before)
	}
}

// survey says whether events lead to messages and whether they are recorded, and counts
// the asks that scheduling has not come to.
func (o *owner) survey(effects api.Effects) (told, recorded bool) {
	recorded = o.recordsAll
	untried := o.untried.Load()
	for _, event := range effects {
		told = told || kindOf(event) != noMessage
		recorded = recorded || isAlwaysRecorded(event) && !o.untracked.Load()
		switch event.(type) {
		case api.AskAdded:
			untried++
		case api.Placed:
			untried--
		}
	}
	o.untried.Store(max(0, untried))
	return told, recorded
}

// release removes all applications and nodes, so that the resource manager hears
// of everything that no longer runs.
func (o *owner) release(now time.Time) {
	for _, held := range o.groups.giveUp() {
		o.rejectApplication(now, held.command, "the partition was removed")
	}
	view := o.partition.View()
	for _, a := range view.Applications {
		o.apply(now, api.RemoveApplication{ID: a.ID})
	}
	for _, n := range view.Nodes {
		o.apply(now, api.RemoveNode{ID: n.ID})
	}
	if o.recordsAll {
		o.outbox.put(&step{Step: events.Step{Now: now}, from: o, recorded: true, ends: true, book: o.book})
	}
	o.retired = true
}

// A heartbeat says since when an owner has not come to where it answers readers. Only
// the owner writes it.
type heartbeat struct {
	epoch time.Time    // before all beats
	busy  atomic.Int64 // since when, in nanoseconds after epoch; zero while it rests
}

// start is called before the owner runs.
func (h *heartbeat) start(now time.Time) {
	h.epoch = now.Add(-1)
	h.beat(now)
}

func (h *heartbeat) beat(now time.Time) { h.busy.Store(int64(now.Sub(h.epoch))) }

func (h *heartbeat) rest() { h.busy.Store(0) }

// silence is how long the owner has not come to where it answers.
func (h *heartbeat) silence(now time.Time) time.Duration {
	busy := h.busy.Load()
	if busy == 0 {
		return 0
	}
	return now.Sub(h.epoch) - time.Duration(busy)
}
