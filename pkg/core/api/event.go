package api

import (
	"fmt"

	"github.com/narwhal-scheduler/narwhal/pkg/core/preemptor"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// Effects are what one call of Apply or Schedule did, in order. Together they say
// everything that changed: a reader of all effects need not guess what waits and what
// runs where. Messages of the scheduler-interface, event records, counters and log
// lines are made from them outside the core.
//
// Effects are shared: they may be kept and read from any goroutine, and must never be
// changed, once package reports has written the words that it writes.
type Effects []Event

// An Event is one thing that happened in a partition. Its type is one of those in
// this file: AskAdded, AskResized, Placed, Adopted, ForeignAdded and ForeignRemoved
// themselves, a pointer to each of the others.
//
// What a reader of events tells in its turn is an event too if its type embeds Remark.
type Event interface{ event() }

// A Remark makes an event of what a reader of events tells: no partition emits it.
type Remark struct{}

// Events about an ask or allocation. Each holds the allocation as it is after the
// event, or, where it ends, as it was; those that happen most are one pointer, so
// that they make no garbage.
type (
	// AskAdded says that an ask waits from now on: a new one, or an allocation
	// that could not be bound, which follows its Ended.
	AskAdded struct{ *Allocation }
	// AskResized says that an ask waits for other amounts than before.
	AskResized struct{ *Allocation }
	// AskEnded says that an ask waits no more and was not placed.
	AskEnded struct {
		*Allocation
		Cause EndCause
	}
	// Placed says that an ask runs on its node from now on.
	Placed struct{ *Allocation }
	// Adopted says that an allocation runs which the resource manager placed. If it
	// was an ask before, that ask waits no more.
	Adopted struct{ *Allocation }
	// Resized says that a running allocation has other amounts than Before.
	Resized struct {
		*Allocation
		Before resources.Amounts
	}
	// Ended says that an allocation runs no more.
	Ended struct {
		*Allocation
		Cause   EndCause
		Message string // for people; may be empty
		Evicted bool   // an EvictionRequested came before
	}
	// EvictionRequested says that an allocation is to be ended by the resource
	// manager, to make room. It runs until Ended.
	EvictionRequested struct {
		*Allocation
		For     AllocationKey // the ask that gets the room; empty with the trigger Quota
		Ask     *Allocation   // the same; nil with the trigger Quota
		Room    NodeID        // where the ask is to run; victims on other nodes free quota only, or end with their unit
		Unit    string        // the group all of which ends with it; empty if it ends by itself
		Trigger preemptor.Trigger
		Class   preemptor.Class
		Message string // for people
	}
	// EvictionOverdue says that an allocation did not end in time after its
	// EvictionRequested: its room is not counted on.
	EvictionOverdue struct{ *Allocation }
	// ReleaseRequested says that an ask or allocation is to be ended by the resource manager
	// because of its gang: a placeholder whose place an ask takes, with CauseReplaced, or
	// what has timed out. An allocation runs until Ended; an ask has ended, as AskEnded says
	// next.
	ReleaseRequested struct {
		*Allocation
		Cause   EndCause
		Message string // for people
	}
	// AllocationRejected says that an ask or allocation, or new amounts for one, was
	// refused. One that was known before is as it was.
	AllocationRejected struct {
		Key         AllocationKey
		Application ApplicationID
		Reason      string
	}
	// ForeignAdded says that a foreign allocation is booked on a node from now on.
	ForeignAdded struct{ *Allocation }
	// ForeignRemoved says that a foreign allocation is booked on its node no more. One
	// that moves or changes is removed and at once added.
	ForeignRemoved struct{ *Allocation }
)

// Events about why an ask waits, and what is done about it.
type (
	// Claimed says that room is kept for an ask on a node until ClaimEnded. Where Plan is set, the
	// evictions follow and the ask is nominated: it will run there unless a better place turns up. With Lost
	// it names a member of a group that has ended, and room is kept for the one that takes its place.
	Claimed struct {
		*Allocation
		Node   NodeID
		Lost   bool
		Plan   *preemptor.Decision // what is evicted; shared and never changed
		Reason string              // for people, with a plan: package reports writes it
	}
	// ClaimEnded says that nothing is kept for an ask on a node any more, once and with the reason.
	ClaimEnded struct {
		*Allocation
		Node      NodeID
		Lost      bool // as it was Claimed
		Nominated bool // it was Claimed with a plan
		End       End
		Reason    string // for people
	}
	// PreemptionPlanned says why evictions follow that no nomination explains: for
	// an ask with a required node, or because a queue is over its max, and then it
	// names neither ask nor node.
	PreemptionPlanned struct {
		Application ApplicationID
		Key         AllocationKey
		Queue       QueuePath // of the ask, or the one over its max
		Node        NodeID
		Plan        *preemptor.Decision // shared and never changed
	}
	// Unschedulable says, once for each ask, that no node can take it, so that more
	// nodes may be brought.
	Unschedulable struct {
		*Allocation
		Why    *Waiting // shared and never changed
		Reason string   // for people: package reports writes it
	}
	// AskReport says for people what was tried for an ask without success: that no room can be
	// made on its required node, or the message.
	AskReport struct {
		*Allocation
		Why     *Waiting // shared and never changed; nil with a message
		Message string   // without one, package reports writes it
	}
	// ApplicationReport says for people that no more room is made for an application for now,
	// or whether its queue is charged for an allocation that does not end; Key is the ask or
	// allocation that shows it.
	ApplicationReport struct {
		ID      ApplicationID
		Key     AllocationKey
		Message string
	}
	// QueueReport says for people what a queue over its max gives back.
	QueueReport struct {
		Queue   QueuePath
		Plan    *preemptor.Decision // shared and never changed
		Message string              // for people: package reports writes it
		Freed   resources.Amounts
	}
)

// Events about applications.
type (
	// ApplicationAccepted says that an application is registered, in state New.
	ApplicationAccepted struct {
		ID     ApplicationID
		Queue  QueuePath // where it is
		User   string
		Groups []string
		Tags   map[string]string
	}
	// ApplicationRejected says that an application was not registered. One with the
	// same ID may go on.
	ApplicationRejected struct {
		ID     ApplicationID
		Queue  QueuePath // as requested
		User   string
		Groups []string
		Tags   map[string]string
		Reason string
	}
	// ApplicationChanged says that an application entered a state.
	ApplicationChanged struct {
		ID      ApplicationID
		Queue   QueuePath
		From    State
		State   State
		Message string // may be empty
	}
	// ApplicationGroup says for which group an application counts from now on where groups
	// are limited, and for which it did; empty is for none.
	ApplicationGroup struct {
		ID            ApplicationID
		Queue         QueuePath
		Before, Group string
	}
	// ApplicationHeld says for people that no ask of an application may run as long as so many
	// others do, or, if Held is not set, that it counts among them now. A partition says the latter,
	// package reports the former, and after that by which limit.
	ApplicationHeld struct {
		ID     ApplicationID
		Queue  QueuePath
		Reason Reason // QueueApplications, UserApplications or GroupApplications
		Detail string // which queue, user or group; empty if Held is not set
		Held   bool
	}
	// ApplicationGone says that an application has left its queue: it completed or
	// failed, or the resource manager removed it. Nothing of it is left.
	ApplicationGone struct {
		ID      ApplicationID
		Queue   QueuePath
		State   State // the last one
		Removed bool  // by the resource manager
	}
)

// Events about nodes. Total is what all nodes have together after the event.
type (
	// NodeAdded says that a node is registered.
	NodeAdded struct {
		ID          NodeID
		Capacity    resources.Amounts
		Attributes  map[string]string
		Schedulable bool
		Total       resources.Amounts
	}
	// NodeRejected says that a request about a node was refused.
	NodeRejected struct {
		ID     NodeID
		Reason string
	}
	// NodeResized says that a node has another capacity.
	NodeResized struct {
		ID       NodeID
		Capacity resources.Amounts
		Total    resources.Amounts
	}
	// NodeAttributes says that a node has other attributes.
	NodeAttributes struct {
		ID         NodeID
		Attributes map[string]string
	}
	// NodeSchedulable says that a node takes ordinary asks from now on, or not.
	NodeSchedulable struct {
		ID          NodeID
		Schedulable bool
	}
	// NodeRemoved says that a node is gone. What ran there has Ended before, and
	// foreign allocations were removed.
	NodeRemoved struct {
		ID    NodeID
		Total resources.Amounts
	}
)

// Events about queues that no configuration has, which is the recovery queue.
type (
	// QueueAdded says that such a queue came into being, for an application that is
	// accepted next.
	QueueAdded struct{ Queue QueuePath }
	// QueueRemoved says that it is gone, as its last application is.
	QueueRemoved struct{ Queue QueuePath }
)

// Reconfigured says that a configuration took the place of another. The root of
// Before has no name where there was none. Total is what all nodes have together,
// which is the max of a root queue without a max of its own.
type Reconfigured struct {
	Before, After QueueConfig
	Total         resources.Amounts
}

// An End is why a claim ended.
type End uint8

// The ends of a claim: its ask was placed, or waits no more; a better claim or a guarantee came first; it
// had its turn in vain; the room is taken, or will not come, as the events about its node say; quota or
// a limit is taken; the resource manager refuses the ask on the node.
const (
	EndPlaced End = iota
	EndGone
	EndOutbid
	EndExpired
	EndOfRoom
	EndOfQuota
	EndByRefusal
)

// Waits reports whether the ask waits on and looks for room anew.
func (e *ClaimEnded) Waits() bool { return e.End > EndGone }

// EndCause is why an ask or allocation ended.
type EndCause uint8

// The causes: the resource manager released it; a placeholder or ask timed out;
// it was preempted; a real allocation replaced the placeholder; it could not be
// bound and is an ask again; its node was removed; its application was removed.
const (
	CauseReleased EndCause = iota
	CauseTimedOut
	CausePreempted
	CauseReplaced
	CauseBindFailed
	CauseNodeRemoved
	CauseApplicationRemoved
)

// IsTold reports whether the resource manager is told of the end of an allocation. It is not
// where it confirms what it was told to do, nor where the allocation is an ask again.
func (c EndCause) IsTold() bool {
	switch c {
	case CauseTimedOut, CausePreempted, CauseReplaced, CauseBindFailed:
		return false
	case CauseReleased, CauseNodeRemoved, CauseApplicationRemoved:
	}
	return true
}

// Text says why an allocation ended, for people.
func (e *Ended) Text() string {
	if e.Cause == CauseReleased {
		return "released as the resource manager asked"
	}
	return e.Message
}

// StaysIn reports whether a foreign allocation that is removed is added again to its node by the
// next of the effects, because it has other amounts.
func (e ForeignRemoved) StaysIn(next Effects) bool {
	if len(next) == 0 {
		return false
	}
	added, ok := next[0].(ForeignAdded)
	return ok && added.Key == e.Key && added.Node == e.Node
}

// Text says why an ask that waits on is not nominated any more, for people.
func (e *ClaimEnded) Text() string {
	return fmt.Sprintf("no longer nominated to node %s: %s", e.Node, e.Reason)
}

func (AskAdded) event()             {}
func (AskResized) event()           {}
func (*AskEnded) event()            {}
func (Placed) event()               {}
func (Adopted) event()              {}
func (*Resized) event()             {}
func (*Ended) event()               {}
func (*EvictionRequested) event()   {}
func (*ReleaseRequested) event()    {}
func (*EvictionOverdue) event()     {}
func (*AllocationRejected) event()  {}
func (ForeignAdded) event()         {}
func (ForeignRemoved) event()       {}
func (*Claimed) event()             {}
func (*ClaimEnded) event()          {}
func (*PreemptionPlanned) event()   {}
func (*Unschedulable) event()       {}
func (*AskReport) event()           {}
func (*ApplicationReport) event()   {}
func (*QueueReport) event()         {}
func (*ApplicationAccepted) event() {}
func (*ApplicationRejected) event() {}
func (*ApplicationChanged) event()  {}
func (*ApplicationGroup) event()    {}
func (*ApplicationHeld) event()     {}
func (*ApplicationGone) event()     {}
func (*GroupChanged) event()        {}
func (*NodeAdded) event()           {}
func (*NodeRejected) event()        {}
func (*NodeResized) event()         {}
func (*NodeAttributes) event()      {}
func (*NodeSchedulable) event()     {}
func (*NodeRemoved) event()         {}
func (*QueueAdded) event()          {}
func (*QueueRemoved) event()        {}
func (*Reconfigured) event()        {}
func (Remark) event()               {}
