package scheduler

import (
	"errors"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/api"
	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"go.uber.org/zap"

	"github.com/narwhal-scheduler/narwhal/pkg/core"
	"github.com/narwhal-scheduler/narwhal/pkg/metrics"
)

// errEnding refuses every node while a partition ends. Nobody hears of what is
// still decided then.
var errEnding = errors.New("partition ends")

// A gate keeps questions behind the callbacks that concern the same node: a
// resource manager takes a placement into account when the callback that
// announces it runs, so its answer about the node is wrong before.
//
// For each node the gate knows the number of the last delivery that touches it,
// for as long as that has not been made. It belongs to the owner.
type gate struct {
	meter    meter
	outbox   *outbox
	callback api.ResourceManagerCallback
	last     map[string]uint64 // node to delivery
	trail    []touch           // every entry of last, and older ones, in order
	runsOn   map[string]string // placed allocation to node

	// What the callback can be asked beyond predicates; nil if it cannot.
	simulator PredicateSimulator
	selector  VictimSelector
	budgeter  DisruptionBudgeter
	unable    bool // there is nobody who could tell what a node would be like

	log        *zap.Logger // with the resource manager and the partition
	complained map[complaint]bool
}

// A touch is a delivery that concerns a node.
type touch struct {
	node   string
	number uint64
}

func newGate(outbox *outbox, callback api.ResourceManagerCallback, log *zap.Logger) *gate {
	g := &gate{
		outbox:     outbox,
		callback:   callback,
		last:       map[string]uint64{},
		runsOn:     map[string]string{},
		log:        log,
		complained: map[complaint]bool{},
	}
	g.simulator, _ = callback.(PredicateSimulator)
	g.selector, _ = callback.(VictimSelector)
	g.budgeter, _ = callback.(DisruptionBudgeter)
	return g
}

// feasible answers the core. It is called by the owner, which holds no lock.
func (g *gate) feasible(allocation core.AllocationKey, node core.NodeID, allocate bool) error {
	if !g.await(node) {
		return errEnding
	}
	return g.predicates(allocation, node, allocate)
}

// await waits until everything has been delivered that touches a node. It returns
// false when that will not happen any more.
func (g *gate) await(node core.NodeID) bool {
	number, ok := g.last[string(node)]
	return !ok || g.outbox.await(number)
}

func (g *gate) predicates(allocation core.AllocationKey, node core.NodeID, allocate bool) error {
	defer g.meter.took(metrics.Predicate, g.meter.now())
	return g.callback.Predicates(&si.PredicatesArgs{
		AllocationKey: string(allocation),
		NodeID:        string(node),
		Allocate:      allocate,
	})
}

// note takes down which nodes the effects touch. The last of them has the
// number that is given.
func (g *gate) note(effects core.Effects, last uint64) {
	number := last - uint64(len(effects))
	for _, effect := range effects {
		number++
		switch effect := effect.(type) {
		case *si.Allocation:
			g.runsOn[effect.AllocationKey] = effect.NodeID
			g.touch(effect.NodeID, number)
		case *si.AllocationRelease:
			g.touch(g.runsOn[effect.AllocationKey], number)
			if effect.TerminationType == si.TerminationType_STOPPED_BY_RM {
				g.forget(effect.AllocationKey)
			}
		case *si.AcceptedNode:
			g.touch(effect.NodeID, number)
		case core.Nomination:
			g.touch(string(effect.Node), number)
		}
	}
	g.trim()
}

func (g *gate) touch(node string, number uint64) {
	if node == "" {
		return
	}
	g.last[node] = number
	g.trail = append(g.trail, touch{node, number})
}

// forget drops an allocation that runs no more.
func (g *gate) forget(allocation string) { delete(g.runsOn, allocation) }

// trim drops what has been delivered, so that the gate is as large as what is
// under way and not as what ever was.
func (g *gate) trim() {
	delivered, n := g.outbox.progress(), 0
	for n < len(g.trail) && g.trail[n].number <= delivered {
		if t := g.trail[n]; g.last[t.node] == t.number {
			delete(g.last, t.node)
		}
		n++
	}
	g.trail = g.trail[n:]
}
