package core

import "time"

// WasteCause is why victims are wasted: the ask for which they were told to end does not
// run in the room that was made, nor does one like it.
type WasteCause uint8

// The causes: the ask was removed; it asks for other amounts; it was placed on another node,
// or nominated there; the node was resized, drained or removed; the resource manager
// booked an allocation that no node or quota refuses; the configuration was replaced; the
// resource manager refused the ask on the node; it could not bind it; an ask that comes
// before it took room or quota; a victim did not end in time; none of these.
const (
	AskRemoved WasteCause = iota
	AskChanged
	RanElsewhere
	NodeChanged
	RoomBooked
	Reconfiguration
	NotFeasible
	NotBound
	MoreImportant
	VictimOverdue
	OtherCause
)

// WasteCauses is how many causes there are.
const WasteCauses = int(OtherCause) + 1

var wasteCauses = [WasteCauses]string{
	AskRemoved:      "ask removed",
	AskChanged:      "ask changed",
	RanElsewhere:    "ran elsewhere",
	NodeChanged:     "node changed",
	RoomBooked:      "room booked",
	Reconfiguration: "configuration changed",
	NotFeasible:     "refused",
	NotBound:        "not bound",
	MoreImportant:   "more important ask",
	VictimOverdue:   "victim overdue",
	OtherCause:      "other",
}

func (c WasteCause) String() string { return wasteCauses[c] }

// marks are the moments when something last happened to a node or a queue that can take
// room or quota from an ask which waits for victims.
type marks struct {
	resized uint64 // its capacity changed
	booked  uint64 // something was booked that no node or quota refuses
	late    uint64 // a victim was overdue
}

// noteMoment notes that something happens now.
func (l *ledger) noteMoment(at *uint64) {
	l.moments++
	*at = l.moments
}

// markBooked notes that something is booked on a node that no node or quota refuses.
func (l *ledger) markBooked(r *request) {
	l.noteMoment(&r.node.marks.booked)
	if r.foreign() {
		return
	}
	for q := r.application.queue; q != nil; q = q.parent {
		l.noteMoment(&q.marks.booked)
	}
}

// markTaken notes that an ask takes quota that was kept for others.
func (l *ledger) markTaken(r *request) {
	for q := r.application.queue; q != nil; q = q.parent {
		l.noteMoment(&q.taken)
	}
}

// whyTaken says why an ask does not get the room on a node for which victims were told to
// end.
func (o *outcomes) whyTaken(r *request, n *node) WasteCause {
	sets := o.byAsk[r.Key]
	if len(sets) == 0 {
		return OtherCause
	}
	since := sets[0].since
	if q := r.withoutRoom(); q != nil {
		if cause := o.whyQuotaTaken(q, since); cause != OtherCause {
			return cause
		}
	}
	if held := r.heldBack(); held != nil && (held.keepsForOthers(r) || o.isTakenBefore(r, held, sets[0].at)) {
		return MoreImportant
	}
	count, _ := n.overdue()
	switch {
	case count > 0 || n.marks.late > since:
		return VictimOverdue
	case n.marks.resized > since:
		return NodeChanged
	case n.marks.booked > since:
		return RoomBooked
	case o.comesAfterAnother(r, n, sets[0].at):
		return MoreImportant
	case o.configured > since:
		return Reconfiguration
	}
	return OtherCause
}

// whyQuotaTaken says why the quota of a queue does not come free for an ask.
func (o *outcomes) whyQuotaTaken(q *queue, since uint64) WasteCause {
	switch {
	case q.marks.late > since:
		return VictimOverdue
	case q.marks.booked > since:
		return RoomBooked
	case q.taken > since:
		return MoreImportant
	case o.configured > since:
		return Reconfiguration
	}
	return OtherCause
}

// isTakenBefore reports whether an ask that comes before another took what a limit allows both, since
// the other began to wait for room.
func (o *outcomes) isTakenBefore(r *request, limit *account, since time.Time) bool {
	for other := range limit.subject.queue.allRunning {
		if other.Placed.Before(since) || o.standing(other).compare(r.class.standing) < 0 {
			continue
		}
		for _, account := range [...]*account{other.application.byUser, other.application.byGroup} {
			if account.isUnder(limit) {
				return true
			}
		}
	}
	return false
}

// comesAfterAnother reports whether an ask that comes before another took room on a
// node, or has it kept there, since the other began to wait for it.
func (o *outcomes) comesAfterAnother(r *request, n *node, since time.Time) bool {
	for _, other := range n.own {
		if !other.Placed.Before(since) && (other.Required != "" || o.standing(other).compare(r.class.standing) >= 0) {
			return true
		}
	}
	for _, other := range n.details.read().expected {
		if other.class.standing.compare(r.class.standing) >= 0 {
			return true
		}
	}
	for _, other := range n.nominated {
		if other != r && (r.Required != "" && other.class.standing.compare(r.class.standing) > 0 || r.Required == "" && byNomination(other, r) < 0) {
			return true
		}
	}
	for other := range n.required.all {
		if other != r && other.reservation() != nil && other.class.standing.compare(r.class.standing) >= 0 {
			return true
		}
	}
	return false
}
