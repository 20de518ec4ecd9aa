package preemptor

import (
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// An Ask waits for room on a node. With the trigger Quota there is no ask: Key is
// then a name for the queue, used in texts, and Amounts are empty.
type Ask struct {
	Trigger  Trigger
	Key      string
	Amounts  resources.Amounts
	Priority int32
	Reserved time.Time // when the node was reserved for it
	// Behind are the asks that wait with the ask and may run on the node as well; for Priority
	// and Guarantee, and not with a quota that is short. Step divides what any of them
	// needs. Of the kinds of Unowed nothing is freed for them. If all may be served, the plan is the one that is worth most for each of them.
	Behind []Behind
	Step   resources.Amounts
	Unowed []resources.Kind
}

// A Node is the node on which the ask must run: what is free there and everything
// that runs there. Free may be negative where the node is overcommitted; the
// deficit is then part of what must be freed.
type Node struct {
	Kinds *resources.Kinds // the names of the kinds of all amounts; not nil
	Free  resources.Amounts
	On    []Candidate // of different keys, in any order
	// Quota is what must be freed in the queue that exceeds its quota, in
	// addition to what is being released there already and to what must be freed
	// on the node. Candidates of other nodes count for it, too. A
	// quantity that is not above zero is no need.
	Quota resources.Amounts
	// Above is the same for each of the queues above that exceed theirs, from the lowest on.
	Above []resources.Amounts
	// AwaitsQuota says that the ask has no quota before allocations have ended which are being
	// released. Where there are any on the node, Fits is asked about it without them.
	AwaitsQuota bool
	// Floors and Budgets are those that any candidate counts for. With the trigger
	// RequiredNode the floors are kept if any victims keep them.
	Floors  []Floor
	Budgets []Budget
	// Groups are those of which any candidate is a member.
	Groups []Group
	// Fits asks the resource manager whether the ask can run here once the
	// allocations with these keys have been removed; it is about predicates, not
	// amounts. Nil means that it can. The keys include releasing allocations and
	// none of another node. Fits must not keep the slice. It is not called for the
	// trigger Quota.
	Fits func(removed []string) error
}

// A Floor is how much may be taken from the allocations below one queue before
// it falls below what is guaranteed to it.
type Floor struct {
	Queue   string
	Surplus resources.Limits // without what is being released; Unlimited where nothing is guaranteed; negative is zero
}

// A Group is candidates of which the others run in vain once more have ended than are spare: it stops.
type Group struct {
	Name  string
	Stay  int // how many members run on any node, without those that are being released
	Spare int
}

// A Budget is how many of certain candidates may be removed at once without
// disrupting what they are part of.
type Budget struct {
	Name    string
	Allowed int // in addition to those which are being released; negative is zero
}

// QoS is the class of service of an allocation. The lowest class is preempted
// first.
type QoS uint8

// The classes of service of Kubernetes.
const (
	BestEffort QoS = iota
	Burstable
	Guaranteed
)

// A Candidate is an allocation on the node, own or foreign. A negative quantity
// counts as zero.
type Candidate struct {
	Key       string
	Amounts   resources.Amounts
	Priority  int32 // as the queue of the ask sees it
	Created   time.Time
	Required  bool // it must run on this node itself, such as a daemonset's
	Foreign   bool // another scheduler placed it
	Static    bool // foreign, and part of the node: it cannot be evicted
	Owner     bool // the originator of its application, or owner of other allocations
	OptedOut  bool // it asks not to be preempted; it is preempted last, but it can be
	Protected bool // preemption is disabled in its queue
	Releasing bool // it is being released: what it holds will be free
	Late      bool // releasing, and its end is far off: what it holds is not counted as free
	Overdue   bool // its release is overdue: what it holds is not counted as free
	Hanging   bool // its node may hang: a release there is overdue, for the trigger quota
	Needed    bool // an ask for which room is on its way where it runs needs it beside it
	Elsewhere bool // on another node: it helps the quota and not the node
	Outside   bool // outside the queues that the ask may preempt in
	FreesFrom int  // the first quota that its end frees: 0 is Node.Quota, 1 Node.Above[0]; the others above are freed, too
	Settled   bool // it has taken the place of an equal, and keeps it against other equals
	SameQueue bool // in the queue of the ask, so it shares its guarantee; for Guarantee only
	QoS       QoS
	Group     int32  // of Node.Groups, from one on; 0 is none
	Vital     bool   // the least important members of its group are spare, and it is none of these
	Unit      string // the name of the unit that ends whole, on all nodes; empty is none
	// With is the next of those that end with it, on any node, and are no candidates themselves; nil if there is
	// none. What is true of one of a unit is true of the unit: its priority, class, age and filters are those that protect most.
	With    *Candidate
	Floors  []int32 // of Node.Floors: those of the queues that it runs below
	Budgets []int32 // of Node.Budgets: those that it counts for
}
