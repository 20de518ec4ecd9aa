package scheduler

import (
	"fmt"
	"iter"
	"runtime/debug"
	"time"
)

// This file is what a resource manager can do beyond api.ResourceManagerCallback.
// Its callback may implement any of these interfaces; nothing has to be announced. They are about predicates: which asks are alike, several nodes at once;
// which nodes suit an ask best; and about preemption: which ask is nominated, what a node would be like without some
// allocations, which allocations are evicted, what must not be disrupted.
//
// What holds for all of them:
//
//   - Strings are keys of allocations and nodes as they were in requests. Slices
//     belong to the side that receives them.
//   - Questions are asked by the goroutine of the partition, one at a time, after
//     the callbacks that concern the node have returned. The partition waits for
//     the answer, and no other does.
//   - A panic is caught and logged. An answer that makes no sense is left out as far
//     as it makes none, with one warning for each thing that can be wrong.

// A PredicateClassifier knows which asks are alike for predicates. What Predicates says
// of one of them on a node then holds for all until something ends there or the node changes.
// Without it every ask is asked about by itself, since a request says nothing of selectors, affinity or
// volumes.
type PredicateClassifier interface {
	// PredicateClass names the class of an ask; an empty name says that it is like
	// no other. It is called once for each ask, before the first question about it.
	// A panic counts as an empty name, and so does a name of more than 1024 bytes.
	PredicateClass(allocationKey string) string
}

// A PredicateTies knows which asks have ties to an allocation: about which of them answers change on
// other nodes than its own when it comes or goes, by affinity, or since they are spread over zones.
// They are asked about anew then, at once. Without it such asks are asked about again
// when something ends on a node that refused them, and else after a minute.
type PredicateTies interface {
	// TiedClasses names the classes of such asks that wait (see PredicateClassifier), each once. It
	// is called after an allocation of the scheduler's own was placed on a node, before the callback that
	// announces it, and, with an empty node, for any that comes or has ended otherwise: also one that the
	// resource manager itself knows no more of, for which it may name none. A panic counts as none.
	//
	// The named classes are not asked about before the placement is announced. A class of which an ask comes first after
	// that may be: answers about it should count what was decided and is not announced yet.
	TiedClasses(allocationKey, nodeID string) []string
}

// NodePreferences knows which nodes suit an ask better than others, such as those in a zone where few like it
// run. Otherwise the order of nodes of the partition decides alone.
type NodePreferences interface {
	// BestNodes returns the nodes of those it is shown that suit an ask best, the best first, and no more than asked
	// for. These are tried in turn, and it is asked for more if Predicates refuses them all. With none, the
	// order of nodes decides, as after a panic. What is none of these nodes is left out.
	//
	// It is asked while not all callbacks may have returned. A resource manager that wants to count each placement
	// before the next question hears of it by PredicateTies.
	BestNodes(args *BestNodesArgs) []string
}

// BestNodesArgs is the question which nodes suit an ask best.
type BestNodesArgs struct {
	AllocationKey string
	// Nodes are those that have room for the ask and have not refused it, in the order of nodes of the partition, with
	// how well each suits that order, from 0 to 100. They may be gone through during the call only.
	Nodes iter.Seq2[string, int64]
	Most  int // how many are asked for, at least 1
}

// PredicatesOnNodesArgs is the question which of some nodes an ask may run on.
type PredicatesOnNodesArgs struct {
	AllocationKey string
	NodeIDs       []string
	// Allocate says that the ask is to be placed now, not to reserve a node.
	Allocate bool
}

// NodesPredicates answers for several nodes at once, which saves it the preparation of
// each answer and lets it look at the nodes in parallel. Predicates is not asked then.
type NodesPredicates interface {
	// PredicatesOnNodes returns an answer for each node, in their order: nil if the
	// ask may run there, else the reason, which is shown to people. A panic or any
	// other number of answers counts as a refusal of all of them.
	PredicatesOnNodes(args *PredicatesOnNodesArgs) []error
}

// A NominationCallback is told for which ask room is being made, and where. It may
// show that to others, as the nominated node of a pod does for autoscalers and
// other schedulers.
type NominationCallback interface {
	// Nominate says that room is made for an ask on a node. It comes before the
	// evictions, and again with another node if that changes. The ask may be placed
	// elsewhere all the same. Once it is placed or released it is not nominated any
	// more; no call says so.
	Nominate(allocationKey, nodeID string)
	// ClearNomination says that an ask which still waits is not nominated any more.
	ClearNomination(allocationKey string)
}

// A WaitCallback is told why each ask waits, in place of reading event records.
type WaitCallback interface {
	// AskWaits says why an ask waits, a second after that has changed. It is not called for an ask that waits for
	// its turn only, nor where UpdateContainerSchedulingState or Nominate says why.
	AskWaits(args *AskWaitsArgs)
}

// A GroupCallback is told what groups do whose members name them by the tag quorum.name. Without it, event records of applications
// say it.
type GroupCallback interface {
	// UpdateGroup says what a group does from now on, after the callbacks about what was placed or ended. Why one waits is said
	// again when that changes. A group that has no members any more is not told of.
	UpdateGroup(args *UpdateGroupArgs)
}

// UpdateGroupArgs says what a group does.
type UpdateGroupArgs struct {
	Name    string // as its members name it
	State   GroupState
	Running int // members that run
	Done    int // members that have succeeded and count
	Least   int // how many members, or subgroups, must run or be done
	// Subgroups are those of which enough members or parts run or are done, by name, and such parts, where Least counts subgroups. They are said
	// again when they change.
	Subgroups []string
	// BelowSince is when it fell below its minimum. If it runs now, it was below until now. Zero says that it was not.
	BelowSince time.Time
	Message    string // for people
}

// A GroupState is one word for what a group does.
type GroupState string

// The states. A group that runs may have done so before; one below its minimum has started, and what is left of it runs.
const (
	GroupWaits        GroupState = "Waits"
	GroupRuns         GroupState = "Runs"
	GroupBelowMinimum GroupState = "BelowMinimum"
)

// AskWaitsArgs says why an ask waits.
type AskWaitsArgs struct {
	AllocationKey string
	Reason        WaitReason
	Message       string // for people
}

// A WaitReason is one word for why an ask waits, as Kubernetes writes it in conditions.
type WaitReason string

// The reasons. WaitsForNodes is that of an ask which more nodes would help, and which quotas would let run there: what
// brings nodes acts on it alone. WaitsForRoom is one that fits no node as they are, while the quotas have no room for
// it beside those that wait for nodes, or before it is known that they have.
const (
	WaitsForTurn         WaitReason = "Queued"
	WaitsForNodes        WaitReason = "Unschedulable"
	WaitsForRoom         WaitReason = "NoNodeFits"
	WaitsForVictims      WaitReason = "RoomIsMade"
	WaitsForQuota        WaitReason = "QuotaExceeded"
	WaitsForLimit        WaitReason = "LimitExceeded"        // of its user or group
	WaitsForApplications WaitReason = "TooManyApplications"  // of its queue, user or group
	WaitsForBinding      WaitReason = "BindingFailed"        // it is tried again later
	WaitsForItsNode      WaitReason = "RequiredNodeNotReady" // not there, not ready or full
	WaitsForGroup        WaitReason = "AwaitsGroup"          // or a placeholder of it
)

// PredicatesWithArgs is a question about a node that is changed in thought.
type PredicatesWithArgs struct {
	AllocationKey string // of the ask; it is on no node
	NodeID        string
	// Add are asks that count as running on the node: room is kept for them.
	Add []string
	// Remove are allocations that count as gone from the node.
	Remove []string
}

// A PredicateSimulator answers whether an ask may run on a node after some
// changes of it: affinity, ports, volumes, spread and whatever else there is.
//
// Without it, PreemptionPredicates is asked instead, which has no place for asks
// that were added. A resource manager that answers it with nil cannot simulate at
// all: from then on Predicates decides, as for a reservation, whatever is removed.
type PredicateSimulator interface {
	// PredicatesWith returns nil if the ask may run there, else the reason, which
	// is shown to people. An error that has a method
	//
	//	Unresolvable() bool
	//
	// which returns true says that the ask may not run there whatever is removed, as
	// with a label that the node lacks. It may be wrapped. The node is then not
	// looked at any further.
	//
	// A refusal holds until the node, the ask or the configuration changes, and one that
	// is unresolvable until a message about the node comes. So a resource manager sends
	// the node again (UPDATE) when labels, taints or volumes have changed there, and the
	// ask when its own constraints have.
	PredicatesWith(args *PredicatesWithArgs) error
}

// SelectVictimsArgs is the question which allocations make room for an ask on a node.
type SelectVictimsArgs struct {
	AllocationKey string // of the ask
	NodeID        string
	// Candidates are the allocations that may be evicted, the most important
	// first. Without all of them, the ask may run.
	Candidates []string
	// Violating says of each candidate whether its end would exceed a disruption
	// budget.
	Violating []bool
}

// A VictimSelector chooses victims in place of the scheduler, which saves it the
// questions one by one. The choice is checked: victims that leave too little room
// or take a queue below its guarantee are not accepted.
type VictimSelector interface {
	// SelectVictims returns the candidates to evict, in the order of their release
	// messages. What is no candidate, or is given twice, is left out.
	// An error says why there is no choice to be made on this node.
	SelectVictims(args *SelectVictimsArgs) ([]string, error)
}

// A ForeignPodEnder ends allocations of other schedulers when they are released. Most
// resource managers ignore such a release: then they are no victims, and nothing is
// evicted beside them in vain.
type ForeignPodEnder interface {
	// EndsForeignPods says so. It is called once, when a partition begins.
	EndsForeignPods() bool
}

// A LeastUser knows how much allocations use that ask for nothing. Otherwise a node would seem empty that is full of
// them.
type LeastUser interface {
	// LeastUse is with how much of each kind, in the units of messages, an allocation counts in the order of nodes
	// that asks for nothing of it. No quota and no node is charged for it. It is called once, when a partition begins.
	LeastUse() map[string]int64
}

// A DisruptionBudget is how many of some allocations may be ended at once without
// disrupting what they are part of. The scheduler knows no more of it.
type DisruptionBudget struct {
	Name string // shown to people
	// Allowed is how many may be ended now, at least 0. Evictions that are under way
	// are taken off already.
	Allowed int
	// Allocations are those asked about that count for the budget, each once.
	Allocations []string
}

// A DisruptionBudgeter knows the disruption budgets of allocations. What a budget
// is worth is up to the configuration of the partition.
type DisruptionBudgeter interface {
	// DisruptionBudgets returns every budget that any of the allocations counts
	// for; an allocation may count for several. It is asked when every callback
	// so far has returned. An allocation that was not asked about is left out of
	// the answer, less than 0 counts as 0, and a panic counts as one budget of all
	// the allocations that allows nothing.
	DisruptionBudgets(allocationKeys []string) []DisruptionBudget
}

// protected calls what belongs to a resource manager. The error is that it panicked,
// and where.
func protected(call func()) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	call()
	return nil
}
