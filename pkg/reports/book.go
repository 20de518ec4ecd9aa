package reports

import (
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/core"
	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/core/preemptor"
	"github.com/narwhal-scheduler/narwhal/pkg/explain/planned"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// AskWaits says why an ask waits, or what it waits for no more. It is told when that has changed.
type AskWaits struct {
	api.Remark
	*api.Allocation
	Reason    api.Reason // NotTried of an ask that waits for nothing but its turn
	MoreNodes bool       // would help, and the quotas would let it run there
	Message   string
}

// A Book notes what was told of the asks of one partition. It belongs to the goroutine of the
// partition. While anything changes, the asks that wait are walked through, application by
// application, so many in a second and no more. A walk that was begun goes on where it stopped,
// so that all asks have their turn however many there are.
type Book struct {
	partition *core.Partition
	kinds     *resources.Kinds
	now       time.Time
	told      map[api.AllocationKey]*told
	held      map[api.ApplicationID]api.Reason // the limit of applications that was told of, until it counts
	out       api.Effects

	due   time.Time     // when the walk goes on or begins; zero is never
	seen  uint64        // the changes when the last walk began
	place core.Bookmark // where the walk goes on; zero if none is under way
	soon  time.Time     // when asks are due that were told of too lately; zero if there are none
	last  shown         // the last one that was told
}

const (
	// gap is how long nothing else is told of an ask, whatever changes.
	gap = 15 * time.Second
	// pause is how long after a change a walk begins: what is placed at once is not told of.
	pause = time.Second
	// Of a walk there are so many looks at a time, 10,000 in a second: what comes of them
	// at once has room where records wait for the resource manager (events.DefaultStoreMax).
	looksAtOnce = 500
	step        = 50 * time.Millisecond
)

// NewBook is a book of a partition of which nothing was told yet. Kinds are those of its options.
func NewBook(p *core.Partition, kinds *resources.Kinds) *Book {
	return &Book{partition: p, kinds: kinds, told: map[api.AllocationKey]*told{}, held: map[api.ApplicationID]api.Reason{}}
}

// Observe takes in the effects of a step, and returns them with words, without those that tell
// nothing new. All steps must be observed, in order, before anything else reads them.
func (b *Book) Observe(now time.Time, effects api.Effects) api.Effects {
	b.now = now
	kept := effects[:0]
	for _, event := range effects {
		if b.observe(event) {
			kept = append(kept, event)
		}
	}
	return kept
}

// Scheduled does so for a step of Schedule, also one without effects, and adds what is to be told
// of asks that wait on.
func (b *Book) Scheduled(now time.Time, effects api.Effects) api.Effects {
	effects = b.Observe(now, effects)
	if !b.due.IsZero() && !b.due.After(now) {
		effects = append(effects, b.walk()...)
	}
	b.watch()
	return effects
}

// watch has the asks walked through if anything has changed.
func (b *Book) watch() {
	if asks, changes := b.partition.CountAsks(); asks > 0 && changes != b.seen {
		if at := b.now.Add(pause); b.due.IsZero() || b.due.After(at) {
			b.due = at
		}
	}
}

// observe takes in an event, and reports whether it is to be told.
func (b *Book) observe(event api.Event) bool {
	switch e := event.(type) {
	case api.Placed:
		delete(b.told, e.Key)
	case api.Adopted:
		delete(b.told, e.Key)
	case *api.AskEnded:
		delete(b.told, e.Key)
	case api.AskResized:
		if t := b.told[e.Key]; t != nil {
			b.told[e.Key] = &told{reason: t.reason, moreNodes: t.moreNodes, detail: otherAmounts, at: t.at}
		}
	case *api.Unschedulable:
		b.unschedulable(e)
	case *api.Claimed:
		if e.Plan == nil {
			return true
		}
		e.Reason = "nominated to node " + string(e.Node) + " by " + e.Plan.Trigger.String() + ": " + planned.Summary(e.Plan, b.kinds)
	case *api.QueueReport:
		e.Message = "uses more than its max: " + planned.Summary(e.Plan, b.kinds)
	case *api.AskReport:
		return e.Why == nil || b.cannotHave(e)
	case *api.ApplicationHeld:
		e.Reason = b.held[e.ID]
		delete(b.held, e.ID)
		return e.Reason != api.NotTried
	case *api.ApplicationGone:
		delete(b.held, e.ID)
	}
	return true
}

// unschedulable says that only more nodes can help an ask. A walk has nothing to add, unless
// more is to be told.
func (b *Book) unschedulable(e *api.Unschedulable) {
	ask := api.AskView{Allocation: e.Allocation, Waiting: e.Why}
	e.Reason = hint(ask, b.kinds)
	if now := b.whyWaits(ask); now.attempts == nil && b.hasQuotaAgain(e.Key) == "" {
		now.message, now.at = digestOf(e.Reason), b.now
		b.told[e.Key] = &now
	}
}

// cannotHave says that no room can be made on the required node of an ask, and reports whether
// that is told at once: of one that was told of lately a walk tells.
func (b *Book) cannotHave(e *api.AskReport) bool {
	ask := api.AskView{Allocation: e.Allocation, Waiting: e.Why}
	e.Message = fullText(ask, b.kinds)
	now := &told{reason: api.NodeFull, detail: e.Why.Detail, decided: e.Why.Decided, message: digestOf(e.Message), at: b.now}
	if t := b.told[e.Key]; t != nil && (t.sameAs(now) || t.at.Add(gap).After(b.now)) {
		return false
	}
	b.told[e.Key] = now
	return true
}

// Due is when a Schedule is due: the partition has something to do then, or more is to be told.
// False means never.
func (b *Book) Due() (time.Time, bool) {
	at, ok := b.partition.Due()
	if !b.due.IsZero() && (!ok || b.due.Before(at)) {
		return b.due, true
	}
	return at, ok
}

// walk looks at some asks, and says of which there is something to be told.
func (b *Book) walk() api.Effects {
	b.out, b.last = nil, shown{}
	if b.place == (core.Bookmark{}) {
		_, b.seen = b.partition.CountAsks()
		b.soon = time.Time{}
	}
	b.place = b.partition.WalkAsks(b.place, looksAtOnce, b.look)
	if b.due = b.soon; b.place != (core.Bookmark{}) {
		b.due = b.now.Add(step)
	}
	return b.out
}

// look tells of an ask why it waits, if that has changed since it was told, and not too lately.
func (b *Book) look(queue api.QueuePath, ask api.AskView) {
	before, now := b.told[ask.Key], b.whyWaits(ask)
	b.tellHeld(queue, ask)
	switch {
	case now.reason == api.NotTried, before != nil && now.sameAs(before):
		return
	case now.reason == api.RoomIsMade: // its nomination said so
		if before != nil {
			now.at = before.at
		}
		b.told[ask.Key] = &now
		return
	}
	if before != nil && before.reason == now.reason && before.moreNodes == now.moreNodes {
		if due := before.at.Add(gap); due.After(b.now) {
			if b.soon.IsZero() || due.Before(b.soon) {
				b.soon = due
			}
			return
		}
	}
	b.tell(queue, ask, before, now)
}

// tellHeld tells of an application that a limit of applications holds back, once until it counts
// for that limit.
func (b *Book) tellHeld(queue api.QueuePath, ask api.AskView) {
	switch ask.Reason {
	case api.QueueApplications, api.UserApplications, api.GroupApplications:
		if b.held[ask.Application] != ask.Reason {
			b.held[ask.Application] = ask.Reason
			b.out = append(b.out, &api.ApplicationHeld{
				ID: ask.Application, Queue: queue, Reason: ask.Reason, Detail: ask.Detail, Held: true,
			})
		}
	}
}

// tell tells of an ask, if there is anything else to be said. The words are those for the ask
// before, if it waits for the same.
func (b *Book) tell(queue api.QueuePath, ask api.AskView, before *told, now told) {
	if l := &b.last; !l.isFor(queue, ask, before, &now) {
		message := b.text(ask, &now)
		now.message, now.at = digestOf(message), b.now
		if before != nil && before.message == now.message {
			now.at = before.at
		}
		*l = shown{queue, ask.Allocation, before, &now, message}
	}
	b.told[ask.Key] = b.last.told
	if before != nil && before.message == b.last.told.message && before.moreNodes == now.moreNodes {
		return
	}
	reason := now.reason
	if reason == quotaThere {
		reason = api.NotTried
	}
	b.out = append(b.out, &AskWaits{Allocation: ask.Allocation, Reason: reason, MoreNodes: now.moreNodes, Message: b.last.message})
}

// otherAmounts is the detail of what was told before an ask was resized, and is not right any more.
const otherAmounts = "of other amounts"

// A told is what was told of an ask last. It never changes, as asks that are alike share it.
type told struct {
	reason    api.Reason
	moreNodes bool // would help
	detail    string
	decided   *preemptor.Decision    // about the required node, without a detail
	refusals  []api.Refusal          // what the resource manager said
	attempts  *api.PreemptionAttempt // the first of those that the message is about
	message   uint64                 // a digest: the texts of many asks are long together
	at        time.Time
}

// sameAs reports whether what keeps an ask waiting is what was told, in whatever numbers.
func (t *told) sameAs(other *told) bool {
	return t.reason == other.reason && t.moreNodes == other.moreNodes && t.detail == other.detail && t.attempts == other.attempts && sayTheSame(t.refusals, other.refusals) &&
		(t.decided == other.decided || t.decided != nil && other.decided != nil && t.decided.SaysAs(other.decided))
}

// sayTheSame reports whether refusals give the same reasons, on however many nodes.
func sayTheSame(a, b []api.Refusal) bool {
	if len(a) != len(b) {
		return false
	}
	if len(a) == 0 || &a[0] == &b[0] {
		return true
	}
	for i := range a {
		found := false
		for j := range b {
			found = found || a[i].Text == b[j].Text
		}
		if !found {
			return false
		}
	}
	return true
}

// A shown is what was told of an ask, for others that wait for the same.
type shown struct {
	queue   api.QueuePath
	ask     *api.Allocation
	before  *told
	told    *told
	message string
}

// isFor reports whether what was told of the ask before holds for another one.
func (s *shown) isFor(queue api.QueuePath, ask api.AskView, before, now *told) bool {
	return s.told != nil && s.queue == queue && s.before == before && now.sameAs(s.told) &&
		s.ask.Priority == ask.Priority && s.ask.Required == ask.Required && s.ask.Amounts.Equal(ask.Amounts)
}

// quotaThere is not a reason: an ask that lacked quota has it now.
const quotaThere api.Reason = 255

// whyWaits is why an ask waits, without a message. It is NotTried where there is nothing to be told:
// the ask waits for its turn, or not all has been asked yet. One that was told to lack
// quota, and has it now, waits for nothing.
func (b *Book) whyWaits(ask api.AskView) told {
	now := told{reason: ask.Reason, detail: ask.Detail, moreNodes: ask.Hinted && helpedByNodes(ask.Reason)}
	switch {
	case ask.Reason == api.RoomIsMade:
		return told{reason: api.RoomIsMade}
	case ask.IsAsked:
		return told{}
	case ask.Reason == api.NodeFull && ask.Detail == "":
		now.decided = ask.Decided
	case ask.RefusedOn > 0:
		now.detail, now.refusals = "", ask.Refusals
	case ask.Reason == api.NotTried:
		if q := b.hasQuotaAgain(ask.Key); q != "" {
			return told{reason: quotaThere, detail: string(q)}
		}
	}
	if len(ask.Attempts) > 0 {
		now.attempts = &ask.Attempts[0]
	}
	return now
}

// helpedByNodes reports whether more nodes may help an ask that waits for a reason. A node may be larger than all there
// are.
func helpedByNodes(reason api.Reason) bool {
	switch reason {
	case api.NoNodeFits, api.Infeasible, api.KindUnknown, api.Impossible, api.LoopStopped, api.AwaitsGang, api.GroupBelow:
		return true
	}
	return false
}

// hasQuotaAgain is the queue in which an ask was told to have no quota, if it has it now.
func (b *Book) hasQuotaAgain(key api.AllocationKey) api.QueuePath {
	t := b.told[key]
	if t == nil || t.reason != api.QuotaExceeded && t.reason != quotaThere || b.partition.WithoutQuota(key) != "" {
		return ""
	}
	return api.QueuePath(t.detail)
}
