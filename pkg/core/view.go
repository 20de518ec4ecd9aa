package core

import (
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/core/preemptor"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// A View is a partition as it was at one moment. It is immutable and may be
// read from any goroutine; views of successive moments share what did not
// change. Nodes and applications are sorted by their ID, queues by name. Lists of
// allocations and asks are in no order: whoever shows them sorts them.
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
	// Homeless are foreign allocations whose node is not known.
	ForeignUnknownNode []*Allocation
	// Preempted counts what was preempted since the partition was made.
	Preempted Preempted
	// Work counts what scheduling looked at since the partition was made.
	Work Work
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
	// Leaving are allocations that were told to go and have not gone.
	Evictions []Eviction
	// Nominated are the asks that room is being made for, the first in order
	// first, and Promised what they get.
	Nominated        []AllocationKey
	NominatedAmounts resources.Amounts
}

// An Eviction is an allocation that the resource manager was told to end, to make
// room for an ask. It is overdue if it has not ended in time.
type Eviction struct {
	Key     AllocationKey
	For     AllocationKey
	Since   time.Time
	Overdue bool
	// Trigger is why, and Class what it was when it was chosen.
	Trigger preemptor.Trigger
	Class   preemptor.Class
}

// Preempted counts what was preempted, and what came of it.
type Preempted struct {
	Plans        uint64      // made
	Nominations  uint64      // of asks that may run anywhere
	Cleared      uint64      // nominations that came to nothing
	Loops        uint64      // applications that were stopped
	Victims      VictimCount // told to go
	Overdue      VictimCount // those of them that did not go in time
	Reservations uint64      // of ordinary asks that gave way
}

// A VictimCount counts victims by why they were to go and what they were.
type VictimCount [preemptor.Triggers][preemptor.Classes]uint64

// By is how many there are by a trigger.
func (c VictimCount) By(t preemptor.Trigger) (sum uint64) {
	for _, n := range c[t] {
		sum += n
	}
	return sum
}

// Total is how many there are.
func (c VictimCount) Total() (sum uint64) {
	for t := range c {
		sum += c.By(preemptor.Trigger(t))
	}
	return sum
}

// QueueView is a queue at one moment.
type QueueView struct {
	Path       QueuePath
	Leaf       bool
	Draining   bool
	Max        resources.Limits // as configured for this queue
	Guaranteed resources.Amounts
	Used       resources.Amounts // with everything below
	Pending    resources.Amounts
	Nominated  resources.Amounts // to nominated asks
	Releasing  resources.Amounts // of allocations that were told to go
	// OverSince is since when the queue uses more than its max; zero while it does
	// not. GivesBack is the last plan to change that, made at GaveBack; nil if
	// there was none.
	OverMaxSince time.Time
	QuotaPlan    *preemptor.Decision
	QuotaPlanned time.Time
	Share        resources.Share // by which the queues of one parent are ordered
	Priority     int32           // highest pending, as the parent sees it; PriorityNone when nothing is
	Properties   QueueProperties
	Queues       []*QueueView
	// Applications counts those of a leaf.
	Applications int
}

// ApplicationView is an application at one moment.
type ApplicationView struct {
	ID          ApplicationID
	Queue       QueuePath
	User        string
	Groups      []string
	Tags        map[string]string
	State       State
	Since       time.Time // of the state
	Submitted   time.Time
	Used        resources.Amounts
	Pending     resources.Amounts
	Allocations []*Allocation
	Asks        []AskView
}

// AskView is a pending ask and why it waits. Asks that wait for the same share the
// reasons.
type AskView struct {
	*Allocation
	*Waiting
}

// Waiting is why an ask waits, and what was tried for it.
type Waiting struct {
	Reason   Reason
	Detail   string // what the reason is about: a queue, a node, a text of the resource manager
	Reserved NodeID // empty without a reservation
	// Nominated is the node where room is being made for the ask; empty without
	// a nomination. Trigger is why.
	Nominated NodeID
	Trigger   preemptor.Trigger
	// Hunts are the last searches for room, by trigger. That of a nominated ask
	// comes last.
	Attempts []PreemptionAttempt
	// Plan is the last plan to make room for the ask, made at Planned; nil if
	// there was none. It is shared and must not be changed.
	Plan    *preemptor.Decision
	Planned time.Time
}

// A PreemptionAttempt is how the search for a node came out where others would make room for
// an ask: how many nodes there were, and what they were good for. Each node counts
// once, but that the resource manager refuses those that are enough.
type PreemptionAttempt struct {
	At           time.Time
	Trigger      preemptor.Trigger
	Nodes        int
	Closed       int // cordoned, kept for others, or with victims that do not go
	TooSmall     int // could never hold the ask
	Insufficient int // too little would come free
	Sufficient   int // room could be made
	Skipped      int // were not looked at, as they could not be better
	Refused      int // by the resource manager, whoever went
	// Node is where room is made or, in vain, where the least is missing, Plan what
	// was planned there; empty where no node could hold the ask.
	Node NodeID
	Plan *preemptor.Decision
}

// A Reservation keeps a node for one ask.
type Reservation struct {
	Node     NodeID
	Key      AllocationKey
	At       time.Time
	Required bool // the ask may run on no other node
}

// Reason says why an ask is still pending.
type Reason uint8

// The reasons: not tried yet; a queue has no room; no schedulable node has
// room; the resource manager refused every node with room; it could not bind
// and a new try is due later; the required node is not known; the required
// node has no room; room is being made on a node; room was made too often.
const (
	NotTried Reason = iota
	QuotaExceeded
	NoNodeFits
	Infeasible
	BindFailed
	NodeUnknown
	NodeFull
	RoomIsMade
	LoopStopped
)

var reasons = [...]string{
	NotTried:      "not tried yet",
	QuotaExceeded: "queue quota exceeded",
	NoNodeFits:    "no node has room",
	Infeasible:    "refused on every node with room",
	BindFailed:    "binding failed",
	NodeUnknown:   "required node is not known",
	NodeFull:      "required node has no room",
	RoomIsMade:    "room is being made",
	LoopStopped:   "preemption stopped, as it repeats itself",
}

func (r Reason) String() string { return reasons[r] }

// Work counts what scheduling looked at. It is how tests pin the cost of a
// placement without timing it.
type Work struct {
	Nodes        uint64 // entries of node indexes visited
	Queues       uint64 // entries of queue orders visited
	Applications uint64 // entries of application orders visited
	Asks         uint64 // entries of ask orders visited
	Placements   uint64
	Attempts     uint64 // asks tried, placed or not
	NodeCosts    uint64 // nodes assessed for room that others could make
}
