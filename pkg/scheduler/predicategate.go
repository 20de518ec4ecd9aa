package scheduler

import (
	"errors"
	"slices"
	"time"

	siapi "github.com/apache/yunikorn-scheduler-interface/lib/go/api"
	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"go.uber.org/zap"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/metrics/stage"
)

// errEnding refuses every node while a partition ends. What is still decided then is
// never sent.
var errEnding = errors.New("partition ends")

// A predicateGate keeps questions behind the callbacks that concern the same node: a
// resource manager takes a placement into account when the callback that
// announces it runs, so its answer about the node is wrong before.
//
// For each node the gate knows the number of the last delivery that touches it,
// for as long as that has not been made. It belongs to the owner.
type predicateGate struct {
	meter    meter
	outbox   *outbox
	callback siapi.ResourceManagerCallback
	last     map[api.NodeID]uint64 // node to delivery
	every    uint64                // the delivery that all questions wait for
	tiedNext bool                  // the next one is
	order    []touch               // every entry of last, and older ones, in order
	trimmed  int                   // of order, at its head: they are done with

	pace   pace
	asking api.Question        // that the next question is
	args   []si.PredicatesArgs // memory for the next questions

	// What the callback can be asked beyond predicates; nil if it cannot.
	classifier PredicateClassifier
	ties       PredicateTies
	several    NodesPredicates
	prefers    NodePreferences
	simulator  PredicateSimulator
	selector   VictimSelector
	budgeter   DisruptionBudgeter
	unable     bool // the callback cannot simulate changes of a node

	log      *zap.Logger // with the resource manager and the partition
	reported map[badAnswer]bool
}

// A touch is a delivery that concerns a node.
type touch struct {
	node   api.NodeID
	number uint64
}

func newPredicateGate(outbox *outbox, callback siapi.ResourceManagerCallback, log *zap.Logger) *predicateGate {
	g := &predicateGate{
		outbox:   outbox,
		callback: callback,
		last:     map[api.NodeID]uint64{},
		log:      log,
		reported: map[badAnswer]bool{},
	}
	g.classifier, _ = callback.(PredicateClassifier)
	g.ties, _ = callback.(PredicateTies)
	g.several, _ = callback.(NodesPredicates)
	g.prefers, _ = callback.(NodePreferences)
	g.simulator, _ = callback.(PredicateSimulator)
	g.selector, _ = callback.(VictimSelector)
	g.budgeter, _ = callback.(DisruptionBudgeter)
	return g
}

// feasible answers the core. It is called by the owner, which holds no lock.
func (g *predicateGate) feasible(allocation api.AllocationKey, node api.NodeID, allocate bool) error {
	if !g.await(node) {
		return errEnding
	}
	began := time.Now()
	err := g.predicates(allocation, node, allocate, began)
	g.answered(began, err != nil)
	return err
}

// answered takes down the time of a question that began at a time and ends now. Where
// it does not matter how long that took no clock is read.
func (g *predicateGate) answered(began time.Time, refused bool) {
	now := began
	if refused || g.asking == api.RepeatedQuestion {
		now = time.Now()
	}
	g.pace.answered(g.asking, now, now.Sub(began), refused)
}

// await waits until everything has been delivered that touches a node. It returns
// false when that will not happen any more.
func (g *predicateGate) await(node api.NodeID) bool {
	number := max(g.last[node], g.every)
	return number == 0 || g.outbox.await(number)
}

// awaitAll is await for several nodes.
func (g *predicateGate) awaitAll(nodes []api.NodeID) bool {
	number := g.every
	for _, node := range nodes {
		number = max(number, g.last[node])
	}
	return number == 0 || g.outbox.await(number)
}

// argsMax is for how many questions memory is taken at once, which costs less than for one by
// one. It is few, as a resource manager that keeps one question keeps them all.
const argsMax = 15

// predicates asks a question at a time.
func (g *predicateGate) predicates(allocation api.AllocationKey, node api.NodeID, allocate bool, now time.Time) error {
	if g.several != nil {
		return g.predicatesOn(allocation, []api.NodeID{node}, allocate)[0]
	}
	defer g.meter.took(stage.Predicate, now)
	if len(g.args) == 0 {
		g.args = make([]si.PredicatesArgs, argsMax)
	}
	args := &g.args[0]
	g.args = g.args[1:]
	args.AllocationKey, args.NodeID, args.Allocate = string(allocation), string(node), allocate
	return g.ask("Predicates", func() error { return g.callback.Predicates(args) })
}

// wait answers the core how long to wait before the next question, which is of a kind.
func (g *predicateGate) wait(kind api.Question) time.Duration {
	g.asking = kind
	if kind == api.FirstQuestion {
		return 0
	}
	return g.pace.wait(kind, time.Now())
}

// note takes down which nodes events touch. Their deliveries are numbered from the
// one after before.
func (g *predicateGate) note(effects api.Effects, before uint64) {
	number := before
	var left []*api.ClaimEnded // without a message of their own
	for _, event := range effects {
		if kindOf(event) == noMessage {
			if e, ok := event.(*api.ClaimEnded); ok && e.Nominated {
				left = append(left, e)
			}
			continue
		}
		number++
		g.touch(touchedBy(event), number)
		if placed, ok := event.(api.Placed); ok {
			// That it is placed tells that it is not nominated any more, elsewhere too.
			for _, e := range left {
				if e.Key == placed.Key {
					g.touch(e.Node, number)
				}
			}
		}
	}
	if g.tiedNext {
		g.every, g.tiedNext = number, false
	}
	g.trim()
}

func (g *predicateGate) touch(node api.NodeID, number uint64) {
	if node == "" {
		return
	}
	g.last[node] = number
	g.order = append(g.order, touch{node, number})
}

// touchedBy is the node that the message of an event concerns, if there is one. Events
// without a message are confirmations of what the resource manager said itself: it
// knows of them.
func touchedBy(event api.Event) api.NodeID {
	switch e := event.(type) {
	case api.Placed:
		return e.Allocation.Node
	case api.Adopted:
		return e.Allocation.Node
	case *api.Ended:
		return e.Allocation.Node
	case *api.EvictionRequested:
		return e.Allocation.Node
	case *api.ReleaseRequested:
		return e.Allocation.Node
	case *api.Claimed:
		return e.Node
	case *api.ClaimEnded:
		return e.Node
	case *api.NodeAdded:
		return e.ID
	default:
		return ""
	}
}

// trim drops what has been delivered, so that the gate is as large as what is
// under way and not as what ever was.
func (g *predicateGate) trim() {
	delivered := g.outbox.progress()
	for g.trimmed < len(g.order) && g.order[g.trimmed].number <= delivered {
		if t := g.order[g.trimmed]; g.last[t.node] == t.number {
			delete(g.last, t.node)
		}
		g.trimmed++
	}
	// The rest moves to the front seldom enough to cost little, and often enough that the list
	// needs no new memory while as much is under way as before. The memory of a flood is given up.
	switch {
	case g.trimmed <= len(g.order)/2:
		return
	case cap(g.order) > sparesMax:
		g.order = slices.Clone(g.order[g.trimmed:])
	default:
		g.order = slices.Delete(g.order, 0, g.trimmed)
	}
	g.trimmed = 0
}
