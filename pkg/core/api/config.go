package api

import (
	"cmp"
	"math"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/core/access"
	"github.com/narwhal-scheduler/narwhal/pkg/core/placement"
	"github.com/narwhal-scheduler/narwhal/pkg/core/preemptor"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// Options are what a partition is built with and what a configuration reload
// does not change. The zero value works. Apply and Schedule call the functions in it
// on their own goroutine, one at a time; a function must not call the partition.
type Options struct {
	// Partition is the full name, with the resource manager: "[rm]default". It
	// is written into messages.
	Partition string
	// Kinds is the table of resource kinds; partitions may share one.
	Kinds *resources.Kinds
	// Feasible asks the resource manager whether an allocation may run on a
	// node. Nil means that everything that fits may run.
	Feasible Feasible
	// FeasibleOn asks about several nodes at once. Nil means that Feasible is asked
	// about one after the other.
	FeasibleOn FeasibleOn
	// Constraints says which asks Feasible answers alike. Nil means that an answer
	// holds for one ask only.
	Constraints ConstraintsOf
	// Tied says about which asks answers may change on other nodes when an allocation comes or
	// goes. Nil means about none.
	Tied TiedTo
	// Best chooses the nodes that suit an ask best, which are tried first. Nil means that the
	// order of nodes decides.
	Best Best
	// KeepsForeign says that the resource manager does not end allocations of other
	// schedulers: they are no victims, whatever is configured.
	KeepsForeign bool
	// Least is with how much of each kind an allocation counts in the order of nodes that asks for nothing of
	// that kind, as it uses some. No quota and no node is charged for it. Nil counts nothing.
	Least resources.Amounts
	// Pace holds questions back, so that they do not keep other work waiting. Nil
	// means that all may be asked at once.
	Pace Pace
	// Simulate asks the same for a node that has been changed in thought. Nil
	// means that only amounts decide what preemption can bring about.
	Simulate Simulate
	// SelectVictims has the resource manager choose among candidates. Nil means
	// that the core chooses.
	SelectVictims SelectVictims
	// Budgets are the disruption budgets of allocations. Nil means that there
	// are none.
	Budgets DisruptionBudgets
	// BatchMax is the most placements of one call of Schedule; zero means 256.
	BatchMax int
	// ReserveDelay is the age at which an ask that fits no node reserves one;
	// zero means two seconds, less than zero that ordinary asks never reserve.
	ReserveDelay time.Duration
	// SettleDelay is how long after a start, since a node last came or became schedulable, or
	// something that runs was reported, nothing is evicted, at most ten times that since
	// the first; a node that is registered drained takes no ask that requires it for as
	// long, unless it becomes schedulable. Zero or less is for partitions that are known
	// whole when they start.
	SettleDelay time.Duration
	// EndingMax is how far off the expected end of an allocation may be that ends by itself,
	// from its tags, for its room to be counted on: zero means a minute, less than zero that
	// it always is. Beyond that other room, or victims, are better than to wait for it.
	EndingMax time.Duration
	// ReserveMax is how long a reservation of an ordinary ask lasts; zero means
	// an hour.
	ReserveMax time.Duration
	// CompletingDelay is how long an application without asks and allocations
	// waits for more before it is completed; zero means thirty seconds.
	CompletingDelay time.Duration
	// UnusedDelay is how long an application that never asked for anything is kept, or for nothing
	// since a soft gang timed out. Then it is completed. Zero or less keeps it for ever.
	UnusedDelay time.Duration
	// RetryDelay is how long an ask waits that the resource manager failed to
	// bind, or for which it refused every node; it doubles with each failure to
	// bind, up to RetryMax. Zero means one second and one minute.
	RetryDelay, RetryMax time.Duration
}

// WithDefaults fills in what is zero.
func (o Options) WithDefaults() Options {
	o.BatchMax = cmp.Or(o.BatchMax, 256)
	o.ReserveDelay = cmp.Or(o.ReserveDelay, 2*time.Second)
	o.EndingMax = cmp.Or(o.EndingMax, time.Minute)
	o.ReserveMax = cmp.Or(o.ReserveMax, time.Hour)
	o.CompletingDelay = cmp.Or(o.CompletingDelay, 30*time.Second)
	o.RetryDelay = cmp.Or(o.RetryDelay, time.Second)
	o.RetryMax = cmp.Or(o.RetryMax, time.Minute)
	if o.Kinds == nil {
		o.Kinds = new(resources.Kinds)
	}
	return o
}

// Config is what an operator configures of a partition. It is validated whole
// by package config before a partition sees it.
type Config struct {
	Name string // as configured, without the resource manager
	Root QueueConfig
	// Rules place applications, tried in their order. Without any, an application goes to
	// the queue it asks for, or to DefaultQueue if it asks for none.
	Rules []placement.Rule
	// Closed says that access lists count: a queue takes applications only of those users
	// that its lists or those above name. Otherwise all queues are open to all users.
	Closed bool
	Nodes  NodeOrder
	// Levels are lists of attributes of nodes, coarse to fine, such as blocks and racks; an attribute is in one of them, once.
	// Nodes with equal values of a list down to an attribute are a domain of that level.
	Levels     [][]string
	Preemption PreemptionConfig
	// Resolver finds the groups of users before an application is sent: empty, os, ldap or
	// test. The partition itself has no use for it.
	Resolver string
}

// QueueConfig is one queue and what is below it. Its properties hold what it inherits.
type QueueConfig struct {
	Name       string // one element of the path, in lower case
	Parent     bool   // may have children and no applications
	Guaranteed resources.Amounts
	Max        resources.Limits
	// ApplicationsMax is how many applications may run here and below; zero is no limit.
	ApplicationsMax int
	Limits          []Limit // of users and groups
	Properties      QueueProperties
	Submit          access.List // may submit applications here and below
	Admin           access.List // may do so too
	// Below is what queues are made with that rules of placement make below a parent. Nil
	// is a queue without quotas, with the properties of the parent.
	Below  *QueueTemplate
	Queues []QueueConfig
}

// A QueueTemplate is what queues get that are made while the scheduler runs: leaf queues
// all of it, and queues between them and a configured one only its Parent properties.
type QueueTemplate struct {
	Guaranteed resources.Amounts
	Max        resources.Limits
	Leaf       QueueProperties
	Parent     QueueProperties

	ApplicationsMax int
}

// A Limit bounds what each of some users and groups may have in a queue and below it. The
// name * stands for all others, each by itself.
type Limit struct {
	Users, Groups []string
	// Max is what they may use; nil is no limit, and a zero is none of a kind.
	Max resources.Limits
	// ApplicationsMax is how many of their applications may run; zero is no limit.
	ApplicationsMax int
}

// A LimitOwner is the user or group that a limit is for.
type LimitOwner struct {
	Group bool
	Name  string
}

// LimitsByOwner is the limits of a queue by whose they are. The name of all others is a star.
func LimitsByOwner(limits []Limit) map[LimitOwner]*Limit {
	out := make(map[LimitOwner]*Limit, len(limits))
	for i := range limits {
		for _, name := range limits[i].Users {
			out[LimitOwner{Name: name}] = &limits[i]
		}
		for _, name := range limits[i].Groups {
			out[LimitOwner{Group: true, Name: name}] = &limits[i]
		}
	}
	return out
}

// QueueProperties are the settings that children inherit.
type QueueProperties struct {
	ApplicationSort  SortPolicy
	IgnorePriority   bool // fairness or age goes before priority
	PriorityFence    bool // priorities below do not count above
	PriorityOffset   int32
	PreemptionPolicy PreemptionPolicy
	BackoffAfter     int               // asks that fail on nodes make their application back off; 0 is never
	BackoffDelay     time.Duration     // for how long
	GangWhole        bool              // gangs start with all their placeholders or none
	GuaranteePerKind bool              // only the kinds that an ask lacks decide whether it is under the guarantee
	PreemptionDelay  time.Duration     // age at which an ask may preempt by guarantee
	QuotaDelay       time.Duration     // time above max before allocations are evicted; zero is never
	Texts            map[string]string // every property as merged, to show
}

// SeenFromAbove is a priority as the parent of a queue sees it.
func (p *QueueProperties) SeenFromAbove(priority int32) int32 {
	switch {
	case priority == PriorityNone:
		return PriorityNone
	case p.PriorityFence:
		return p.PriorityOffset
	}
	sum := int64(priority) + int64(p.PriorityOffset)
	return int32(min(max(sum, math.MinInt32+1), math.MaxInt32))
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

// PreemptionConfig says which allocations are evicted for which asks, in a partition.
type PreemptionConfig struct {
	Disabled bool // nothing is evicted
	Quota    bool // queues evict what they use beyond their max
	// RequiredNode bounds the plans for asks that must run on a certain node.
	// Without strategies it is preemptor.DefaultConfig.
	RequiredNode preemptor.Config
	// VictimTimeout is how long an eviction may take before its room is no longer
	// counted on; zero means DefaultVictimTimeout.
	VictimTimeout time.Duration
	// Priority says whether room is made for asks of a higher priority.
	Priority PriorityPreemption
	// Budgets says how disruption budgets count in the choice of victims.
	Budgets preemptor.BudgetPolicy
	// ByQoS evicts, of allocations of the same priority, those of the lower class of
	// service first; otherwise age decides.
	ByQoS bool
	// LoopMax is how often room may be made for an application within
	// LoopWindow, for each ask and allocation that it has; beyond that it is taken
	// for a loop and stopped. Zero means DefaultLoopMax and DefaultLoopWindow.
	LoopMax    int
	LoopWindow time.Duration
}

// PriorityPreemption says which allocations an ask may replace because of its priority.
type PriorityPreemption uint8

// The ways of priority preemption: victims are strictly lower; or lower or
// equal; or there is none.
const (
	StrictlyLower PriorityPreemption = iota
	EqualToo
	PriorityOff
)

// What holds where nothing is configured.
const (
	DefaultVictimTimeout = 2 * time.Minute
	DefaultLoopMax       = 5
	DefaultLoopWindow    = 10 * time.Minute
)

// NodeOrder says which node is tried first.
type NodeOrder struct {
	// Packing tries the fullest node first; otherwise the emptiest is tried first.
	Packing bool
	// Weights say how much each kind counts, in any unit; a kind without a
	// weight does not count. Empty means vcore and memory alike.
	Weights map[string]int64
	// Devices are the kinds that come in devices, such as GPUs, each with the amount of one
	// device. If there are any, the node is tried first on which an ask wastes least of its
	// devices (package devices), and Packing does not count.
	Devices map[string]int64
	// Scarcity has asks leave nodes to others that can run on few only (package scarcity). Otherwise
	// nodes are tried by their devices, or, without any, the fullest first; Packing does not count.
	Scarcity bool
}

// PlanFor is how plans of a trigger are bounded.
func (c PreemptionConfig) PlanFor(t preemptor.Trigger) preemptor.Config {
	plan := preemptor.DefaultConfig()
	plan.VictimsMax = preemptor.VictimsLimit
	if t == preemptor.RequiredNode {
		plan = c.RequiredNode
	}
	plan.Budgets, plan.ByQoS, plan.EqualsToo = c.Budgets, c.ByQoS, c.Priority == EqualToo
	return plan
}

// WithDefaults fills in what is not configured.
func (c PreemptionConfig) WithDefaults() PreemptionConfig {
	if len(c.RequiredNode.Strategies) == 0 {
		c.RequiredNode = preemptor.DefaultConfig()
	}
	c.RequiredNode.Disabled = c.RequiredNode.Disabled || c.Disabled
	c.VictimTimeout = cmp.Or(c.VictimTimeout, DefaultVictimTimeout)
	c.LoopMax = cmp.Or(c.LoopMax, DefaultLoopMax)
	c.LoopWindow = cmp.Or(c.LoopWindow, DefaultLoopWindow)
	return c
}

// PriorityNone is the priority of a queue or application in which no ask waits.
const PriorityNone = math.MinInt32

// GangStyle says what becomes of an application whose placeholders were not replaced in
// time.
type GangStyle uint8

// The styles: it goes on without the placeholders; or it fails.
const (
	Soft GangStyle = iota
	Hard
)

func (s GangStyle) String() string { return [...]string{"Soft", "Hard"}[s] }

// DefaultGangTimeout is how long placeholders wait where an application does not say.
const DefaultGangTimeout = 15 * time.Minute

// TagGangStart is the tag of an application, and the property of a queue, that says how gangs
// start: "whole" is all placeholders at once or none.
const (
	TagGangStart = "gang.start"
	GangWhole    = "whole"
)

// DefaultQueue is where an application goes that names no queue, if there is
// such a queue.
const DefaultQueue QueuePath = "root.default"

// RecoveryQueue is where applications go whose allocations already run and whose own
// queue is not there any more. It has no limits, takes no others, and is removed when it
// is empty.
const RecoveryQueue QueuePath = "root." + RecoveryName

// RecoveryName is the name of the recovery queue, below root.
const RecoveryName = "@recovery@"
