package core

import (
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/core/preemptor"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// A View is a partition as it was at one moment. It is immutable and may be
// read from any goroutine; views of successive moments share what did not
// change. Lists are sorted by their ID, queues by name.
type View struct {
	Name         string            // as configured
	Partition    string            // with the resource manager
	Capacity     resources.Amounts // of all nodes together
	Used         resources.Amounts // by own allocations
	Occupied     resources.Amounts // by foreign allocations
	Root         *QueueView
	Nodes        []*NodeView
	Applications []*ApplicationView
	// Homeless are foreign allocations whose node is not known.
	Homeless []*Allocation
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
	Leaving []Leaving
}

// Leaving is an allocation that was told to go to make room for an ask. It is
// stuck if it has not gone in time.
type Leaving struct {
	Key   AllocationKey
	For   AllocationKey
	Since time.Time
	Stuck bool
}

// Preempted counts what was preempted, and what came of it.
type Preempted struct {
	Plans        uint64 // made
	Victims      uint64 // told to go
	Stuck        uint64 // victims that did not go in time
	Reservations uint64 // of ordinary asks that gave way
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
	Share      resources.Share // by which the queues of one parent are ordered
	Priority   int32           // highest pending, as the parent sees it; PriorityNone when nothing is
	Properties QueueProperties
	Queues     []*QueueView
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

// AskView is a pending ask and why it waits.
type AskView struct {
	*Allocation
	Reason   Reason
	Detail   string // what the reason is about: a queue, a node, a text of the resource manager
	Reserved NodeID // empty without a reservation
	// Plan is the last plan to make room for the ask, made at Planned; nil if
	// there was none. It is shared and must not be changed.
	Plan    *preemptor.Decision
	Planned time.Time
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
// node has no room.
const (
	NotTried Reason = iota
	QuotaExceeded
	NoNodeFits
	Infeasible
	BindFailed
	NodeUnknown
	NodeFull
)

var reasons = [...]string{
	NotTried:      "not tried yet",
	QuotaExceeded: "queue quota exceeded",
	NoNodeFits:    "no node has room",
	Infeasible:    "refused on every node with room",
	BindFailed:    "binding failed",
	NodeUnknown:   "required node is not known",
	NodeFull:      "required node has no room",
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
}
