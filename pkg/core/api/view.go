package api

import (
	"cmp"
	"slices"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/core/nodeset"
	"github.com/narwhal-scheduler/narwhal/pkg/core/preemptor"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// A View is a partition as it was at one moment. It is immutable and may be kept and
// read from any goroutine; views of successive moments share what did not change.
// Nodes and applications are sorted by their ID, queues by name. Lists of allocations
// and asks are in no order: a reader that shows them sorts a copy.
type View struct {
	Name         string            // as configured
	Config       Config            // in effect; never to be changed
	Partition    string            // with the resource manager
	Capacity     resources.Amounts // of all nodes together
	Used         resources.Amounts // by own allocations
	Occupied     resources.Amounts // by foreign allocations
	Root         *QueueView
	Nodes        []*NodeView
	Applications []*ApplicationView
	// Groups are those of which more is known than their members, by name.
	Groups map[string]GroupView
	// ForeignUnknownNode are foreign allocations whose node is not known, by key.
	ForeignUnknownNode []*Allocation
	// Preempted counts what was preempted since the partition was made.
	Preempted Preempted
	// ReserveDelay is that of the options; less than zero says that ordinary asks never reserve.
	ReserveDelay time.Duration
	// Work counts what scheduling looked at since the partition was made.
	Work Work
	// SettlesAt is when evictions may begin, unless more is told of what is there. It
	// is zero if they may.
	SettlesAt time.Time
}

// Application is the one with an ID; nil if there is none. It takes time logarithmic in the applications.
func (v *View) Application(id ApplicationID) *ApplicationView {
	i, found := slices.BinarySearchFunc(v.Applications, id, func(a *ApplicationView, id ApplicationID) int { return cmp.Compare(a.ID, id) })
	if !found {
		return nil
	}
	return v.Applications[i]
}

// Headroom is what may still be charged to a queue, counting the queues above it. It
// is false if there is no such queue.
func (v *View) Headroom(path QueuePath) (resources.Limits, bool) {
	q, left := v.Root, v.Root.Max.Minus(v.Root.Used)
	for q.Path != path {
		if q = q.Towards(path); q == nil {
			return nil, false
		}
		left = left.Least(q.Max.Minus(q.Used))
	}
	return left, true
}

// NodeView is a node at one moment. Available is what is left of the capacity
// and may be negative.
type NodeView struct {
	ID                 NodeID
	Attributes         map[string]string
	Schedulable        bool
	Capacity           resources.Amounts
	Allocated          resources.Amounts // by Allocations
	Occupied           resources.Amounts // by ForeignAllocations
	Available          resources.Amounts
	Allocations        []*Allocation
	ForeignAllocations []*Allocation
	Reservations       []Reservation
	// Evictions are those of the allocations here that have not ended, by key.
	Evictions []Eviction
	// Nominated are the asks for which room is being made, the first in order
	// first, and NominatedAmounts the sum of them.
	Nominated        []AllocationKey
	NominatedAmounts resources.Amounts

	// Slot and UpdatedAt are what Waiting.Unresolvable knows the node by.
	Slot      int32
	UpdatedAt uint64
}

// An Eviction is an allocation that the resource manager was told to end, to make room,
// or of which it said that it is terminating, and that has not ended.
type Eviction struct {
	Key     AllocationKey
	For     AllocationKey // the ask that gets the room; empty with the trigger Quota
	Since   time.Time     // when the eviction was requested, or it began to terminate
	Overdue bool          // it did not end in time: its room is not counted on
	Late    bool          // it is reported, and its end is far off: its room is not counted on yet
	// NodeOnly says that it is overdue on a node that is not ready: its queue is not charged for it.
	NodeOnly bool
	// BlocksUntil is until when no others are requested on the node because this one is
	// overdue; zero if it does not block.
	BlocksUntil time.Time
	// Reported says that the eviction was not requested here, at least not since the
	// scheduler started: For, Trigger and Class say nothing.
	Reported bool
	// Dismissed says that it ends because of its gang. It is Reported too.
	Dismissed bool
	// Trigger is the reason, and Class that of the victim when it was chosen.
	Trigger preemptor.Trigger
	Class   preemptor.Class
}

// By is the trigger in words, or, if it is not known, that the resource manager said so.
func (e *Eviction) By() string {
	if e.Reported {
		return "the resource manager"
	}
	return e.Trigger.String()
}

// Preempted counts preemptions and their outcomes.
type Preempted struct {
	Plans        uint64      // made
	Nominations  uint64      // of asks that may run anywhere
	Cleared      uint64      // nominations that ended without a placement, while the ask waits on
	Loops        uint64      // applications that the loop guard stopped
	Victims      VictimCount // whose eviction was requested
	Overdue      VictimCount // victims that did not end in time
	Reservations uint64      // of ordinary asks that ended for a nomination or a required node
}

// A VictimCount counts victims by trigger and class.
type VictimCount [preemptor.Triggers][preemptor.Classes]uint64

// By is how many victims of a trigger there are.
func (c VictimCount) By(t preemptor.Trigger) (sum uint64) {
	for _, n := range c[t] {
		sum += n
	}
	return sum
}

// Total is how many victims there are.
func (c VictimCount) Total() (sum uint64) {
	for t := range c {
		sum += c.By(preemptor.Trigger(t))
	}
	return sum
}

// ApplicationView is an application at one moment.
type ApplicationView struct {
	ID           ApplicationID
	Queue        QueuePath
	User         string
	Groups       []string
	Group        string // that it counts for where groups are limited; empty if none is
	Ran          bool   // something was placed since it had nothing
	Counts       bool   // for limits of applications: it ran, or quota is kept for one of its asks
	Tags         map[string]string
	State        State
	Since        time.Time // of the state
	Submitted    time.Time // or when its oldest ask was created, if that is earlier
	BackoffUntil time.Time // none of its asks is tried before, as many failed; zero if that is not so
	Used         resources.Amounts
	Pending      resources.Amounts
	Allocations  []*Allocation
	Asks         []AskView
	Gang         *GangView // nil if it has no task group
}

// Waiting is why an ask waits, and what was tried for it.
type Waiting struct {
	Reason   Reason
	Detail   string // what the reason is about: a queue, a node, a text of the resource manager
	Reserved NodeID // empty without a reservation
	// Hinted says that the resource manager was told that only more nodes can help: quotas would let the ask run there.
	Hinted bool
	// Nominated is the node where room is being made for the ask; empty without
	// a nomination. Trigger is that of the nomination.
	Nominated NodeID
	Trigger   preemptor.Trigger
	// Attempts are the last preemption attempts, by trigger. The one that nominated
	// the ask comes last.
	Attempts []PreemptionAttempt
	// Plan is the last plan to make room for the ask, made at Planned; nil if
	// there was none. It is shared and must not be changed.
	Plan    *preemptor.Decision
	Planned time.Time
	// Decided is what was found out last for an ask whose required node has no room; no detail says
	// that then. It is another one than Plan while victims end. It is shared and must not be changed.
	Decided *preemptor.Decision
	// Refusals are the most frequent reasons for which the resource manager refused the
	// ask on nodes with room, the most frequent first, when it was asked last: of an ask
	// that waits since it was refused on all of them, and of one that is nominated. They
	// are shared and must not be changed.
	Refusals []Refusal
	// RefusedOn is on how many nodes it was refused, of an ask that waits since it was refused on all
	// with room. IsAsked says that the questions about them go on.
	RefusedOn int
	IsAsked   bool

	// Unresolvable is what RefusedForGood tells.
	Unresolvable nodeset.Set
}

// RefusedForGood reports whether the resource manager said of a node that the ask may not
// run there, whatever ends on it. That holds until the node is updated. Both are of one
// view. It is not told of nodes about which nothing was asked.
func (w *Waiting) RefusedForGood(n *NodeView) bool { return w.Unresolvable.Has(n.Slot, n.UpdatedAt) }

// A Refusal is a reason of the resource manager, how many nodes it gave it for, and the
// first few of those.
type Refusal struct {
	Text  string
	Nodes int
	First []NodeID
}

// A PreemptionAttempt is the result of one search over all nodes for victims that make
// room for an ask. Every node counts once in Closed, TooSmall, Insufficient, Sufficient
// or Skipped; those in Refused count in Sufficient too.
type PreemptionAttempt struct {
	At           time.Time
	Trigger      preemptor.Trigger
	Nodes        int
	Closed       int // cordoned, kept for other asks, or with overdue evictions
	TooSmall     int // could never hold the ask
	Insufficient int // victims would free too little
	Sufficient   int // victims would free enough
	Skipped      int // were not evaluated, as they could not be better
	Refused      int // by the resource manager, or since too little quota would come free
	// Node is where room is made, or, if the attempt failed, where the least is missing.
	// Plan is what was planned there. Both are empty where no node could hold the ask, or
	// the nearest is not known.
	// The plan is shared and must not be changed.
	Node NodeID
	Plan *preemptor.Decision
}

// Succeeded reports whether the ask was nominated to Node by this attempt. The nomination
// may have ended since.
func (a PreemptionAttempt) Succeeded() bool { return a.Plan != nil && a.Plan.Cost.Feasible() }

// A Reservation keeps a node for one ask, or for the one that takes the place of a member of a group that has ended.
type Reservation struct {
	Node     NodeID
	Key      AllocationKey
	At       time.Time
	Required bool              // the ask may run on no other node
	Amounts  resources.Amounts // what is kept; shared and never changed
	Lost     *Allocation       // the member that has ended, which Key names; nil for an ask
}

// Work counts what scheduling looked at. It is how tests pin the cost of a
// placement without timing it.
type Work struct {
	Nodes        uint64 // entries of node indexes visited
	Queues       uint64 // entries of queue orders visited
	Applications uint64 // entries of application orders visited
	Asks         uint64 // entries of ask orders visited or moved
	Placements   uint64
	Attempts     uint64 // asks tried, placed or not
	NodeCosts    uint64 // nodes for which the cost of making room was worked out
	Steps        uint64 // of searches for victims in preemption attempts, and what these look at for groups
}

// GangView is what an application has in task groups, at one moment.
type GangView struct {
	Placeholders resources.Amounts // of all of them, as the application said
	Style        GangStyle
	Timeout      time.Duration
	ExpiresAt    time.Time // zero while no placeholder runs
	Whole        bool      // it starts with all placeholders or none
	Started      bool      // a placeholder was placed
	Worked       bool      // something that is no placeholder ran
	Groups       []TaskGroupView
	Replacements []Replacement
}

// GroupView is what a group has done and what is kept for it, at one moment.
type GroupView struct {
	Terms       GroupTerms
	State       GroupState
	Running     int          // members that run
	Waiting     int          // members that wait
	Done        int          // members that have succeeded and count
	DoneMembers []DoneMember // those that succeeded, also such that do not count, by key
	Subgroups   []SubgroupView
	BelowSince  time.Time // it has been below its minimum since then; zero if it is not
	Detail      string    // why its members wait; may be empty
	MisfitSince time.Time // when it did not fit first; zero if it was not tried
	KeptUntil   time.Time // room is kept for it until then; zero if none is
}

// A DoneMember is a member of a group that has succeeded.
type DoneMember struct {
	Key         AllocationKey
	Application ApplicationID
	Subgroup    string // empty for none
	Index       string // empty for none
}

// A SubgroupView is the members that name a subgroup, or a part of one, at one moment.
type SubgroupView struct {
	Name    string // of a part with those that it is in, as members name it
	Least   int    // members, or parts of it, that start together; 0 where nothing was said
	Has     int    // of these: members that run or are done, or parts that have theirs
	Running int
	Waiting int
	Done    int    // that have succeeded and count
	Require string // the attribute of nodes of which its members run in one value; empty for none
}

// TaskGroupView is a task group at one moment.
type TaskGroupView struct {
	Name     string
	Least    resources.Amounts // of its first placeholder
	Made     int64             // placeholders there ever were
	Replaced int64             // those whose ask runs
	TimedOut int64             // those that ended in any other way
}

// A Replacement is a placeholder that the resource manager was told to end, and the ask that
// takes its place.
type Replacement struct {
	Placeholder AllocationKey
	Ask         AllocationKey // empty if it waits no more
}
