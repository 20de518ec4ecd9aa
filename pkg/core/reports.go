package core

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/core/timers"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// reports tell for people why asks wait, each of them and not only the first of its class,
// when that has changed. While anything changes, the asks that wait are walked through,
// application by application, so many in a second and no more. A walk that was begun goes
// on where it stopped, so that all asks have their turn however many there are.
type reports struct {
	*backlog
	timer timers.Timer[due]

	seen uint64        // the stamp when the last walk began
	next ApplicationID // the walk goes on with this application, or the next one; empty if none is under way
	at   int           // and with this ask of it
	soon time.Time     // when asks are due that were told of too lately; zero if there are none
	last shownReason   // the last one that was told
}

const (
	// reportDelay is how long nothing else is told of an ask, whatever changes.
	reportDelay = 15 * time.Second
	// reportPause is how long after a change a walk begins: what is placed at once is not
	// told of.
	reportPause = time.Second
	// Of a walk there are so many looks at a time, 10,000 in a second: what comes of them
	// at once has room where records wait for the resource manager (events.DefaultStoreMax).
	reportsAtOnce = 500
	reportStep    = 50 * time.Millisecond
)

// A told is what was told of an ask last. It never changes, as asks of a class share it.
type told struct {
	reason   Reason
	detail   string
	refusals uint64             // a digest of what the resource manager said
	attempts *PreemptionAttempt // the first of those that the message is about
	message  uint64             // a digest: the texts of many asks are long together
	at       time.Time
}

// A shownReason is what was told of an ask, for others that wait for the same.
type shownReason struct {
	class   *class
	leaf    *queue
	before  *told
	told    *told
	message string
}

// watch has the asks walked through if anything has changed.
func (s *reports) watch() {
	if s.seen == s.stamp {
		return
	}
	if at := s.now.Add(reportPause); !s.timer.Set() || s.timer.At().After(at) {
		s.timers.Set(&s.timer, at, due{what: dueReports})
	}
}

// wake goes on with the walk, or begins one.
func (s *reports) wake() {
	if s.next == "" {
		s.seen, s.soon = s.stamp, time.Time{}
	}
	s.last = shownReason{}
	if !s.walk() {
		s.timers.Set(&s.timer, s.now.Add(reportStep), due{what: dueReports})
		return
	}
	s.next, s.at = "", 0
	if !s.soon.IsZero() {
		s.timers.Set(&s.timer, s.soon, due{what: dueReports})
	}
}

// walk looks at some asks, and reports whether it came to the end. An application costs
// a look too, whether it has asks or not. Asks that change places meanwhile may be missed:
// that is a change, which another walk follows.
func (s *reports) walk() bool {
	left := reportsAtOnce
	s.likeApplication.id = s.next
	s.applications.AscendGreaterOrEqual(&s.likeApplication, func(app *application) bool {
		if app.id != s.next {
			s.next, s.at = app.id, 0
		}
		for ; s.at < len(app.asks) && left > 0; s.at++ {
			left--
			s.look(app.asks[s.at])
		}
		left--
		return left > 0
	})
	return left > 0
}

// look tells of an ask why it waits, if that has changed since it was told, and not too
// lately.
func (s *reports) look(r *request) {
	before := r.told
	now := r.whyWaits()
	s.tellHeld(r.application, &now)
	switch {
	case now.reason == NotTried, before != nil && now.sameAs(before):
		return
	case now.reason == RoomIsMade: // its nomination said so
		if before != nil {
			now.at = before.at
		}
		r.told = &now
		return
	}
	if before != nil {
		if due := before.at.Add(reportDelay); due.After(s.now) {
			if s.soon.IsZero() || due.Before(s.soon) {
				s.soon = due
			}
			return
		}
	}
	s.tellNow(r, now)
}

// tellHeld tells of an application that a limit of applications holds back, once until it counts
// for that limit.
func (s *reports) tellHeld(app *application, why *told) {
	switch why.reason {
	case QueueApplications, UserApplications, GroupApplications:
		if app.heldBy != why.reason {
			app.heldBy = why.reason
			s.tell(&ApplicationHeld{app.id, app.queue.path, why.reason, why.detail, true})
		}
	}
}

// tellNow tells of an ask, if there is anything else to be said. The words are those for
// the ask before, if it waits for the same.
func (s *reports) tellNow(r *request, now told) {
	before := r.told
	if l := &s.last; l.told == nil || l.class != r.class || l.leaf != r.application.queue || l.before != before || !now.sameAs(l.told) {
		message := s.text(r, &now)
		now.message, now.at = digestOf(message), s.now
		if before != nil && before.message == now.message {
			now.at = before.at
		}
		s.last = shownReason{r.class, r.application.queue, before, &now, message}
	}
	r.told = s.last.told
	if before != nil && before.message == r.told.message {
		return
	}
	reason := now.reason
	if reason == quotaThere {
		reason = NotTried
	}
	s.tell(&AskWaits{r.Allocation, reason, s.last.message})
}

// WhyWaits says in words why an ask waits, for readers: nothing comes of the question. It is
// empty for one that waits for its turn only, or does not wait.
func WhyWaits(p *Partition, ask AllocationKey) string {
	r := p.requests[ask]
	if r == nil || r.foreign() || r.Node != "" {
		return ""
	}
	now := r.whyWaits()
	if now.reason == NotTried {
		return ""
	}
	return p.reports.text(r, &now)
}

// sameAs reports whether what keeps an ask waiting is what was told, in whatever numbers.
func (t *told) sameAs(other *told) bool {
	return t.reason == other.reason && t.detail == other.detail && t.refusals == other.refusals && t.attempts == other.attempts
}

// whyWaits is why an ask waits, without a message. It is NotTried where there is nothing to be told:
// the ask waits for its turn, or not all has been asked yet. One that was told to lack
// quota, and has it now, waits for nothing.
func (r *request) whyWaits() told {
	if r.nominated() != nil {
		return told{reason: RoomIsMade}
	}
	reason, detail := r.reason()
	now := told{reason: reason, detail: detail, attempts: r.failedAttempt()}
	switch {
	case reason == Infeasible && r.class.isRefused():
		if !r.class.refused.complete {
			return told{}
		}
		now.detail, now.refusals = "", r.class.refused.reasons
	case reason == NotTried && r.lackedQuota() != "":
		now = told{reason: quotaThere, detail: string(r.lackedQuota())}
	}
	return now
}

// quotaThere is not a reason: an ask that lacked quota has it now.
const quotaThere Reason = 255

// lackedQuota is the queue in which an ask was told to have no quota, if it has it now.
func (r *request) lackedQuota() QueuePath {
	if r.told == nil || r.told.reason != QuotaExceeded && r.told.reason != quotaThere || r.withoutRoom() != nil {
		return ""
	}
	return QueuePath(r.told.detail)
}

// failedAttempt is the first of the last preemption attempts for an ask, or for another
// one of its class, nil if there are none.
func (r *request) failedAttempt() *PreemptionAttempt {
	if all := r.lastAttempts(); len(all) > 0 {
		return &all[0]
	}
	return nil
}

// text says why an ask waits, in words.
func (s *reports) text(r *request, now *told) string {
	var parts []string
	if q := r.lackedQuota(); q != "" && r.told.reason == QuotaExceeded {
		parts = append(parts, fmt.Sprintf("fits in queue %s again", q))
	}
	all := r.lastAttempts()
	switch now.reason {
	case QuotaExceeded:
		parts = append(parts, s.quotaText(r, QueuePath(now.detail)))
	case NoNodeFits:
		if !slices.ContainsFunc(all, func(a PreemptionAttempt) bool { return !a.Succeeded() }) {
			parts = append(parts, "no node has room: requests "+s.kinds.Format(r.Amounts))
		}
	case Infeasible:
		parts = append(parts, r.refusalText())
	case NodeUnknown:
		parts = append(parts, fmt.Sprintf("required node %s is not known", r.Required))
	case NodeFull:
		parts = append(parts, r.fullText())
	case NodeHeld:
		parts = append(parts, fmt.Sprintf("required node %s has not been schedulable yet", r.Required))
	case quotaThere:
		return parts[0]
	default:
		parts = append(parts, fmt.Sprintf("%s: %s", now.reason, now.detail))
	}
	for i := range all {
		if !all[i].Succeeded() { // its nomination was told of, and the end of that too
			parts = append(parts, "no room is made: "+all[i].Summary(s.kinds))
		}
	}
	return strings.Join(parts, "; ")
}

// quotaText says what an ask wants of a queue, and what is left there of these kinds.
func (s *reports) quotaText(r *request, path QueuePath) string {
	q := r.application.queue
	for q.parent != nil && q.path != path {
		q = q.parent
	}
	left := q.max.Minus(q.used.Amounts)
	for i := range left {
		if r.Amounts.Of(resources.Kind(i)) <= 0 {
			left[i] = resources.Unlimited
		}
		if left[i] != resources.Unlimited {
			left[i] = resources.Total(left[i], -q.keptFrom(r.class.importance, resources.Kind(i)))
		}
	}
	return fmt.Sprintf("request does not fit in queue %s: requests %s, available %s", path, s.kinds.Format(r.Amounts), s.kinds.FormatLimits(left))
}

// refusalText says what the resource manager said of the nodes with room.
func (r *request) refusalText() string {
	if c := r.class; c.isRefused() && c.refused.complete {
		return fmt.Sprintf("refused on %s: %s", nodesText(c.refused.nodes), c.refused.detail)
	}
	_, detail := r.reason()
	return "refused: " + detail
}

// fullText says what is known of the required node of an ask, which has no room.
func (r *request) fullText() string {
	if r.claim() != nil { // it is being made, or will be
		return fmt.Sprintf("waits for room on required node %s: %s", r.Required, r.wait.detail)
	}
	return fmt.Sprintf("no room on required node %s: %s", r.Required, r.wait.detail)
}

// reportFull tells at once that no room can be made on the required node of an ask,
// unless it was told of lately: then a walk tells of it.
func (l *ledger) reportFull(r *request) {
	message := r.fullText()
	now := &told{reason: NodeFull, detail: r.wait.detail, message: digestOf(message), at: l.now}
	if t := r.told; t == nil || !t.sameAs(now) && !t.at.Add(reportDelay).After(l.now) {
		r.told = now
		l.tell(&AskReport{r.Allocation, message})
	}
}
