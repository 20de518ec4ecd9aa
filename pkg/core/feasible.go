package core

import (
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/core/ledger"
)

// outcome is what became of an ask that was tried.
type outcome uint8

const (
	placed outcome = iota
	waits          // for quota, room or the agreement of the resource manager
	flush          // the resource manager must first hear what was done so far
	paused         // the questions go on later
	busy           // enough was worked out in this batch
)

// nodesAtOnce is the most nodes that the resource manager is asked about at once.
const nodesAtOnce = 64

// A nodeSearch looks for the first open node in order that has room for an ask and
// that the resource manager agrees to.
type nodeSearch struct {
	*refused
	ask        *ledger.Request
	chunk      []*ledger.Node // to be asked about at once
	ids        []api.NodeID
	one        [1]error
	most       int // of a chunk
	asked      bool
	lastResort *ledger.Node // where binding failed last
	wait       time.Duration
}

// firstFeasible is the first open node in order that has room and that the resource
// manager agrees to. The node that the ask is nominated to comes before all others,
// the one where binding failed last after them. With waits, asked of the search says
// that there are nodes with room and that all were refused; with paused, its wait says
// for how long.
func (p *refused) firstFeasible(r *ledger.Request) (n *ledger.Node, result outcome, s nodeSearch) {
	s = nodeSearch{refused: p, ask: r, most: 1}
	if p.Options.FeasibleOn != nil && p.ClassOf(r).Refused != nil {
		s.most = nodesAtOnce // it was refused on other nodes
	}
	if r.Nominated() != nil {
		if own := r.ReadyNode(); own != nil {
			if result := s.check(own); result != waits {
				return own, result, s
			}
		}
	}
	for n = p.order.First(r.Amounts); n != nil; n = p.order.Next(n, r.Amounts) {
		switch {
		case r.Wait != nil && r.Wait.Avoid == n.ID:
			s.lastResort = n
		case p.ClassOf(r).RefusedOn(n):
			s.asked = true
		default:
			if found, result := s.collect(n); result != waits {
				return found, result, s
			}
		}
	}
	if found, result := s.flushChunk(); result != waits {
		return found, result, s
	}
	if s.lastResort != nil {
		if result := s.check(s.lastResort); result != waits {
			return s.lastResort, result, s
		}
	}
	n, result = s.overrule()
	return n, result, s
}

// check asks about one node.
func (s *nodeSearch) check(n *ledger.Node) outcome {
	result, err := s.predicates.check(s.ask, n, true)
	if result == waits {
		s.refuse(n, err)
	}
	return result
}

// collect adds a node to those that are asked about at once, and asks about them when
// there are enough.
func (s *nodeSearch) collect(n *ledger.Node) (*ledger.Node, outcome) {
	if s.Options.Feasible == nil {
		return n, placed
	}
	if s.predicates.mustHear(s.ask, n) {
		if found, result := s.flushChunk(); result != waits {
			return found, result
		}
		return nil, flush
	}
	s.chunk = append(s.chunk, n)
	if len(s.chunk) < s.most {
		return nil, waits
	}
	return s.flushChunk()
}

// flushChunk asks about the nodes that were collected.
func (s *nodeSearch) flushChunk() (*ledger.Node, outcome) {
	if len(s.chunk) == 0 {
		return nil, waits
	}
	if s.predicates.calls >= callsMax {
		return nil, paused
	}
	if s.wait = s.predicates.wait(s.ClassOf(s.ask).Question()); s.wait > 0 {
		return nil, paused
	}
	chunk := s.chunk
	s.chunk = s.chunk[:0]
	for i, err := range s.answers(chunk) {
		result, err := s.predicates.checked(s.ask, chunk[i], true, err)
		if result == placed {
			return chunk[i], placed
		}
		s.refuse(chunk[i], err)
	}
	if s.Options.FeasibleOn != nil {
		s.most = min(4*s.most, nodesAtOnce)
	}
	return nil, waits
}

// answers asks about nodes, all at once where the resource manager can answer that.
func (s *nodeSearch) answers(nodes []*ledger.Node) []error {
	s.predicates.calls += len(nodes)
	if len(nodes) == 1 || s.Options.FeasibleOn == nil {
		s.one[0] = s.Options.Feasible(s.ask.Key, nodes[0].ID, true)
		return s.one[:]
	}
	s.ids = s.ids[:0]
	for _, n := range nodes {
		s.ids = append(s.ids, n.ID)
	}
	return s.Options.FeasibleOn(s.ask.Key, s.ids, true)
}

// refuse remembers that the resource manager refused the ask on a node. The answer
// holds for its class. Where nothing is known of what asks have in common, the ask
// gets a class of its own.
func (s *nodeSearch) refuse(n *ledger.Node, err error) {
	s.asked = true
	s.Separate(s.ask)
	s.predicates.noteUnresolvable(s.ask, n, err)
	s.begin(s.ClassOf(s.ask)).Add(n, err, s.freed)
}

// overrule looks for a node that has room for the ask if it takes what is kept for less important
// asks.
func (s *nodeSearch) overrule() (*ledger.Node, outcome) {
	r, importance := s.ask, s.ask.Importance
	if !s.Importances.Below(importance) {
		return nil, waits
	}
	for n := range s.AllNodes {
		if !n.Schedulable || !n.Yields(importance) || r.Amounts.FitsIn(n.Room) || !r.Amounts.FitsIn(n.RoomFor(importance)) {
			continue
		}
		if s.ClassOf(r).RefusedOn(n) {
			s.asked = true
			continue
		}
		if result := s.check(n); result != waits {
			return n, result
		}
	}
	return nil, waits
}
