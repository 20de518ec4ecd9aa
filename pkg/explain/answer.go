package explain

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/core/preemptor"
	"github.com/narwhal-scheduler/narwhal/pkg/explain/planned"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// ErrUnknown is what Ask returns, wrapped, for an application or an allocation
// that the view does not have.
var ErrUnknown = errors.New("is not known")

// An Answer is what is known of one ask or allocation. It shares what it holds
// with the view.
type Answer struct {
	Allocation *api.Allocation
	Queue      api.QueuePath
	Kinds      *resources.Kinds

	// Of an ask that waits:
	Reason    api.Reason
	Detail    string
	Nominated api.NodeID // where room is being made
	Reserved  api.NodeID // where what becomes free is kept for it
	Nodes     []Group    // every node is in one of them
	Quota     []Level    // from the leaf to the root
	Limits    []Level    // of its user, and then of its group, from the leaf to the root
	Before    int        // asks of its application that are tried before it
	Lack      Lack       // of what is guaranteed
	Remedies  Remedies   // none before Try
	Moves     []Move     // one of Remedies: what may run elsewhere, so that it runs; with
	Opens     string     // the domain in which it runs then, if it needs one
	Attempts  []api.PreemptionAttempt
	Plan      *Plan     // the last one to make room for it
	SettlesAt time.Time // nothing is evicted before, after a start; zero if it may be

	// Of an allocation:
	Eviction *Eviction // if it is evicted

	view   *api.View
	ask    *api.AskView // nil of an allocation
	bounds []bound      // of it, the widest first
}

// A Group is the nodes that have one reason in common.
type Group struct {
	Why   Why
	Nodes int
	// Nearest is the node that comes closest to taking the ask, Lacking what it
	// lacks of the kinds asked for; for the other reasons the first by ID, and nil.
	Nearest api.NodeID
	Lacking resources.Amounts
	// For is the ask that Nearest is kept for, and Free what is free there of what is lacking beside that; empty for most reasons.
	For  api.AllocationKey
	Free resources.Amounts
	// First are the first few nodes by ID. Text is what the resource manager said of those
	// that it refused, and of those in no domain of its group where that runs. For the other reasons it is what it said of Nearest, if it has
	// refused that and no other node is known to be better.
	First []api.NodeID
	Text  string
}

// Why is the first reason that keeps an ask from a node.
type Why uint8

// The reasons, in the order in which they are looked at.
const (
	OtherNode        Why = iota // the ask may run on another node only
	OtherDomain                 // its group, or its subgroup, runs in another domain, or must run in one and the node is in none
	Cordoned                    // takes nothing new
	TooSmall                    // could never hold it
	Claimed                     // kept for an ask that may run there only
	Reserved                    // kept for an ask that waited long
	KeptForLost                 // kept for the one that takes the place of a member of a group that has ended
	NoRoom                      // too little is free
	KeptForNominated            // what is free is kept for nominated asks
	Refused                     // has room, and the resource manager refused it
	HasRoom                     // has room: a quota keeps the ask away, or it waits for its turn

	whys = iota
)

var texts = [whys]string{
	OtherNode:        "is not the node it must run on",
	OtherDomain:      "is not in the domain of its group",
	Cordoned:         "takes nothing new",
	TooSmall:         "could never hold it",
	Claimed:          "is kept for an ask that must run there",
	Reserved:         "is reserved for an ask that waited long",
	KeptForLost:      "is kept for a member of a group that is to come again",
	NoRoom:           "has too little free",
	KeptForNominated: "keeps what is free for nominated asks",
	Refused:          "was refused by the resource manager",
	HasRoom:          "has room",
}

// String is the reason in words, after "the node".
func (w Why) String() string { return texts[w] }

// A Level is a queue on the way from the leaf of an ask to the root, or the limit of its user or group there.
type Level struct {
	Queue      api.QueuePath
	Limit      *api.LimitOwner // nil of the queue itself
	OfAll      bool            // the limit is that of all others, by the name *
	Max        resources.Limits
	Used       resources.Amounts
	Nominated  resources.Amounts
	Guaranteed resources.Amounts
	Lacking    resources.Amounts // what the ask, and what starts with it, lacks here of quota; zero if it has room
	Full       int               // applications that may run here, if no other may

	kept resources.Amounts // for others, from the ask
}

// A Plan is a plan to make room: the victims, when it was made. That time may be long ago.
type Plan struct {
	At      time.Time
	Summary string
	Lines   []string // the whole explanation; the first begins with the time
}

// NewPlan is a plan that was made at a time. Kinds must be those of the decision.
func NewPlan(at time.Time, decision *preemptor.Decision, kinds *resources.Kinds) *Plan {
	p := &Plan{At: at, Summary: planned.Summary(decision, kinds), Lines: strings.Split(planned.Explain(decision, kinds), "\n")}
	p.Lines[0] = fmt.Sprintf("at %s %s", at.UTC().Format(time.RFC3339), p.Lines[0])
	return p
}

// An Eviction says why an allocation is evicted.
type Eviction struct {
	For     api.AllocationKey // empty if its queue is over its max, or if the resource manager reported it
	Trigger string
	Since   time.Time
	Overdue bool
	Plan    *Plan // of the ask in For, with all candidates; nil if that ask does not wait any more
}
