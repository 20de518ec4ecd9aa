package api

import (
	"slices"
	"time"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"

	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// A Command is one request to a partition: AddNode, UpdateNode, DrainNode,
// UndrainNode, RemoveNode, AddApplication, RemoveApplication, AddAllocation,
// ReleaseAllocation or Reconfigure. A command belongs to the partition once it
// is applied; its slices and maps must not be changed any more. Its amounts must be
// made with the Kinds of the partition.
type Command interface{ command() }

// AddNode registers a node. It is answered with an accepted or rejected node.
type AddNode struct {
	ID         NodeID
	Capacity   resources.Amounts
	Attributes map[string]string
	Drained    bool // not schedulable until UndrainNode
}

// UpdateNode replaces the capacity or the attributes of a node; nil leaves them as
// they are.
type UpdateNode struct {
	ID         NodeID
	Capacity   resources.Amounts
	Attributes map[string]string
}

// DrainNode keeps further ordinary allocations off a node.
type DrainNode struct{ ID NodeID }

// UndrainNode makes a node schedulable.
type UndrainNode struct{ ID NodeID }

// RemoveNode decommissions a node: what ran there is released.
type RemoveNode struct{ ID NodeID }

// AddApplication registers an application. It is answered with an accepted or
// rejected application.
type AddApplication struct {
	ID     ApplicationID
	Queue  QueuePath // as requested, in any case: a full path, one below root, or empty
	User   string
	Groups []string
	Tags   map[string]string
	// Forced accepts the application because its allocations already run, even in a
	// queue that drains or that its user may not use. If there is no such leaf queue, it
	// goes to RecoveryQueue.
	Forced bool
	// Placeholders is the sum of all placeholders of the gang, by kinds that are known. The
	// application runs when they all do.
	Placeholders resources.Amounts
	// Style says what becomes of the application when its placeholders were not replaced
	// within GangTimeout; zero is DefaultGangTimeout. The time starts with the first that is
	// placed, or with Created if that is stated.
	Style       GangStyle
	GangTimeout time.Duration
	// Quota is what a queue gets that is not configured and takes the application; nil
	// leaves it as it is.
	Quota *QueueQuota
	// Created is how old the application is, for its place in the order. Zero is now, or
	// when the oldest of its asks and allocations was created, if that is earlier.
	Created time.Time
}

// A QueueQuota is the quota of a queue that is not configured, in place of that of its
// template, and how many applications may run there, if it says that.
type QueueQuota struct {
	Guaranteed resources.Amounts
	Max        resources.Limits
	// ApplicationsMax is how many applications may run; zero is no limit.
	ApplicationsMax int
}

// Equal reports whether two quotas say the same; nil equals none.
func (q *QueueQuota) Equal(other *QueueQuota) bool {
	return q != nil && q.Guaranteed.Equal(other.Guaranteed) && slices.Equal(q.Max, other.Max) && q.ApplicationsMax == other.ApplicationsMax
}

// UpdateApplication gives an application other tags, and the queue that took it another quota if it is not configured; nil
// leaves that as it is. One that is not known is left out.
type UpdateApplication struct {
	ID    ApplicationID
	Tags  map[string]string
	Quota *QueueQuota
}

// RemoveApplication removes an application with all it has.
type RemoveApplication struct{ ID ApplicationID }

// AddAllocation is a new ask, an allocation that is already placed, a foreign
// allocation, or new amounts for one that is known.
type AddAllocation struct{ Allocation *Allocation }

// ReleaseAllocation removes an allocation or ask, or, with an empty key, all
// of an application. A key alone names it as well; of a foreign allocation no application
// counts. One of another application than that is gone already.
type ReleaseAllocation struct {
	Application ApplicationID
	Key         AllocationKey
	// Termination says why the allocation or ask is released.
	Termination si.TerminationType
	Message     string // Succeeded, or anything for people; may be empty
}

// Reconfigure replaces the configuration of the partition.
type Reconfigure struct{ Config Config }

func (AddNode) command()           {}
func (UpdateNode) command()        {}
func (DrainNode) command()         {}
func (UndrainNode) command()       {}
func (RemoveNode) command()        {}
func (AddApplication) command()    {}
func (UpdateApplication) command() {}
func (RemoveApplication) command() {}
func (AddAllocation) command()     {}
func (ReleaseAllocation) command() {}
func (Reconfigure) command()       {}

// Succeeded is the message of a release with which the resource manager says that an allocation
// has done its work. It counts in its quorum like one that runs, until the resource manager releases it once more or its
// application is gone.
const Succeeded = "succeeded"

// SchedulingFailed is the termination type of a release with which the resource
// manager says that it could not bind an allocation: the ask is pending again.
// The interface module names it only in versions after the one in use.
const SchedulingFailed = si.TerminationType(5)
