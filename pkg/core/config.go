package core

import (
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/core/preemptor"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// Options are what a partition is built with and what a configuration reload
// does not change. The zero value works.
type Options struct {
	// Partition is the full name, with the resource manager: "[rm]default". It
	// is written into messages.
	Partition string
	// Kinds is the table of resource kinds; partitions may share one.
	Kinds *resources.Kinds
	// Feasible asks the resource manager whether an allocation may run on a
	// node. Nil means that everything that fits may run.
	Feasible Feasible
	// BatchMax is the most placements of one call of Schedule; zero means 256.
	BatchMax int
	// ReserveDelay is the age at which an ask that fits no node reserves one;
	// zero means two seconds, less than zero that ordinary asks never reserve.
	ReserveDelay time.Duration
	// ReserveMax is how long a reservation of an ordinary ask lasts; zero means
	// an hour.
	ReserveMax time.Duration
	// CompletingDelay is how long an application without asks and allocations
	// waits for more before it is completed; zero means thirty seconds.
	CompletingDelay time.Duration
	// RetryDelay is how long an ask waits that the resource manager failed to
	// bind, or for which it refused every node; it doubles with each failure to
	// bind, up to RetryMax. Zero means one second and one minute.
	RetryDelay, RetryMax time.Duration
}

func (o Options) withDefaults() Options {
	setDefault(&o.BatchMax, 256)
	setDefault(&o.ReserveDelay, 2*time.Second)
	setDefault(&o.ReserveMax, time.Hour)
	setDefault(&o.CompletingDelay, 30*time.Second)
	setDefault(&o.RetryDelay, time.Second)
	setDefault(&o.RetryMax, time.Minute)
	if o.Kinds == nil {
		o.Kinds = new(resources.Kinds)
	}
	return o
}

func setDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

// Feasible asks the resource manager whether an allocation may run on a node:
// affinity, taints, ports. It is the only question the core asks anybody. With
// allocate it asks for a placement now, without it for a reservation. Nil means
// yes; the text of an error is shown to people.
type Feasible func(allocation AllocationKey, node NodeID, allocate bool) error

// Config is what an operator configures of a partition. It is validated whole
// by package config before a partition sees it.
type Config struct {
	Name       string // as configured, without the resource manager
	Root       QueueConfig
	Nodes      NodeOrder
	Preemption PreemptionConfig
}

// QueueConfig is one queue and what is below it. Inheritance of properties is
// already worked out.
type QueueConfig struct {
	Name       string // one element of the path, in lower case
	Parent     bool   // may have children and no applications
	Guaranteed resources.Amounts
	Max        resources.Limits
	Properties QueueProperties
	Queues     []QueueConfig
}

// QueueProperties are the settings that children inherit.
type QueueProperties struct {
	ApplicationSort  SortPolicy
	IgnorePriority   bool // fairness or age goes before priority
	PriorityFence    bool // priorities below do not count above
	PriorityOffset   int32
	PreemptionPolicy PreemptionPolicy
	PreemptionDelay  time.Duration
	QuotaDelay       time.Duration     // zero: lowering max preempts nothing
	Texts            map[string]string // every property as merged, to show
}

// SortPolicy orders the applications of a leaf queue.
type SortPolicy uint8

// The sort policies: oldest first, or smallest share first.
const (
	FIFO SortPolicy = iota
	Fair
)

// PreemptionPolicy says how a queue takes part in preemption.
type PreemptionPolicy uint8

// The preemption policies: take part; take part only below this queue; never
// lose an allocation.
const (
	PreemptionDefault PreemptionPolicy = iota
	PreemptionFence
	PreemptionDisabled
)

// PreemptionConfig says who makes room for whom, in a partition.
type PreemptionConfig struct {
	Disabled bool // nobody makes room for anybody
	Quota    bool
	// RequiredNode bounds the plans for asks that must run on a certain node.
	// Without strategies it is preemptor.DefaultConfig.
	RequiredNode preemptor.Config
	// VictimTimeout is how long a victim has to go before its room is no longer
	// counted on; zero means DefaultVictimTimeout.
	VictimTimeout time.Duration
}

// DefaultVictimTimeout is the victim timeout where none is configured.
const DefaultVictimTimeout = 2 * time.Minute

// NodeOrder says which node is tried first.
type NodeOrder struct {
	// Packing tries the fullest node first; otherwise the emptiest is.
	Packing bool
	// Weights say how much each kind counts, in any unit; a kind without a
	// weight does not count. Empty means vcore and memory alike.
	Weights map[string]int64
}
