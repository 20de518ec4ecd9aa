package preemptor

import (
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// An Ask waits for room on the one node it may run on.
type Ask struct {
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
}

// A Candidate is an allocation on the node, own or foreign. A negative quantity
// counts as zero.
type Candidate struct {
	Key       string
	Amounts   resources.Amounts
	Priority  int32
	Created   time.Time
	Required  bool // it must run on this node itself, such as a daemonset's
	Foreign   bool // another scheduler placed it
	Static    bool // foreign, and part of the node: nobody can take it away
	Owner     bool // the originator of its application, or owner of other allocations
	OptedOut  bool // it asks not to be preempted; a request, not a shield
	Protected bool // preemption is disabled in its queue
	Leaving   bool // preempted or being released already: what it holds counts as freed to be
	Stuck     bool // told to go and did not in time: what it holds is not counted on
}
