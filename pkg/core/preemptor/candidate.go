package preemptor

import (
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// An Ask waits for room on a node. With the trigger Quota there is none: Key is
// then whatever the story shall call the queue, and Amounts are empty.
type Ask struct {
	Trigger  Trigger
	Key      string
	Amounts  resources.Amounts
	Priority int32
	Reserved time.Time // when the node was reserved for it
}

// A Node is where the ask must run: what is free there and everything that runs
// there. Free may be negative where the node is overcommitted; that is then
// part of what must be freed.
type Node struct {
	Kinds *resources.Kinds // the names of the kinds of all amounts; not nil
	Free  resources.Amounts
	On    []Candidate // of different keys, in any order
	// Quota is what must be freed in the queue that is short, besides what is
	// leaving there already and what must be freed on the node. Every candidate
	// counts for it, those of other nodes too. What is not above zero is no need.
	Quota resources.Amounts
	// Floors and Budgets are those that any candidate counts for; the trigger
	// RequiredNode does not mind either.
	Floors  []Floor
	Budgets []Budget
	// Fits asks whether the ask may run here once these are gone, by key, for
	// reasons that are not a matter of amounts; nil means that it may. Those who
	// are leaving are among them, and nobody of another node is. It must not keep
	// the slice. Only asks of the triggers Priority and Guarantee are asked for.
	Fits func(gone []string) error
}

// A Floor is how much may be taken from the allocations below one queue before
// it falls below what is guaranteed to it.
type Floor struct {
	Queue   string
	Surplus resources.Limits // less what is leaving; Unlimited where nothing is guaranteed; negative is zero
}

// A Budget is how many of certain candidates may go at once without disrupting
// what they are part of.
type Budget struct {
	Name    string
	Allowed int // besides those who are leaving; negative is zero
}

// QoS is how well an allocation is provided for; the least goes first.
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
	Static    bool // foreign, and part of the node: nobody can take it away
	Owner     bool // the originator of its application, or owner of other allocations
	OptedOut  bool // it asks not to be preempted; a request, not a shield
	Protected bool // preemption is disabled in its queue
	Releasing bool // preempted or being released already: what it holds counts as freed to be
	Overdue   bool // told to go and did not in time: what it holds is not counted on
	Elsewhere bool // on another node: it helps the quota and not the node
	Outside   bool // of the queues that the ask may take from; no matter to RequiredNode
	SameQueue bool // as the ask, whose guarantee it shares; matters to Guarantee only
	QoS       QoS
	Floors    []int32 // of Node.Floors: those of the queues that it runs below
	Budgets   []int32 // of Node.Budgets: those that it counts for
}
