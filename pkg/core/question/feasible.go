package question

import (
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/core/ledger"
)

// Outcome is what became of an ask that was tried.
type Outcome uint8

// The outcomes of a try.
const (
	Placed Outcome = iota
	Waits          // for quota, room or the agreement of the resource manager
	Flush          // the resource manager must first hear what was done so far
	Paused         // the questions go on later
	Busy           // enough was worked out in this batch
)

// nodesAtOnce is the most nodes that the resource manager is asked about at once.
const nodesAtOnce = 64

// A NodeSearch looks for the first open node in order that has room for an ask and
// that the resource manager agrees to.
type NodeSearch struct {
	*Refused
	ask        *ledger.Request
	chunk      []*ledger.Node // to be asked about at once
	ids        []api.NodeID
	one        [1]error
	most       int // of a chunk
	Asked      bool
	lastResort *ledger.Node // where binding failed last
	Wait       time.Duration
}

// FirstFeasible is the first open node in order that has room and that the resource
// manager agrees to. The node that the ask is nominated to comes before all others,
// the one where binding failed last after them. With waits, asked of the search says
// that there are nodes with room and that all were refused; with paused, its wait says
// for how long.
func (p *Refused) FirstFeasible(r *ledger.Request) (n *ledger.Node, result Outcome, s NodeSearch) {
	s = NodeSearch{Refused: p, ask: r, most: 1}
	if p.Options.FeasibleOn != nil && p.ClassOf(r).Refused != nil {
		s.most = nodesAtOnce // it was refused on other nodes
	}
	if r.Nominated() != nil {
		if own := r.ReadyNode(); own != nil {
			if result := s.check(own); result != Waits {
				return own, result, s
			}
		}
	}
	if p.Options.Best != nil {
		if n, result, best := p.bestFirst(r); result != Waits {
			return n, result, best
		}
	}
	for n = p.Order.First(r.Amounts); n != nil; n = p.Order.Next(n, r.Amounts) {
		switch {
		case r.Wait != nil && r.Wait.Avoid == n.ID:
			s.lastResort = n
		case p.ClassOf(r).Refused.Has(n):
			s.Asked = true
		default:
			if found, result := s.collect(n); result != Waits {
				return found, result, s
			}
		}
	}
	if found, result := s.flushChunk(); result != Waits {
		return found, result, s
	}
	if s.lastResort != nil {
		if result := s.check(s.lastResort); result != Waits {
			return s.lastResort, result, s
		}
	}
	n, result = s.overrule()
	return n, result, s
}

// bestFirst asks about the nodes that suit an ask best, while there are any: first about the best one, and each time
// after these were refused about four times as many.
func (p *Refused) bestFirst(r *ledger.Request) (*ledger.Node, Outcome, NodeSearch) {
	s := NodeSearch{Refused: p, ask: r, most: 1}
	for most := 1; ; most *= 4 {
		asked := false
		for _, id := range s.Options.Best(r.Key, s.open, most) {
			n := s.FindNode(id)
			if !s.mayTry(n) {
				continue
			}
			asked = true
			if found, result := s.collect(n); result != Waits {
				return found, result, s
			}
		}
		if found, result := s.flushChunk(); result != Waits || !asked {
			return found, result, s
		}
	}
}

// mayTry reports whether a node is open and has room, and nothing is known against it.
func (s *NodeSearch) mayTry(n *ledger.Node) bool {
	return n != nil && n.Schedulable && s.ask.Amounts.FitsIn(n.Room) && s.isNew(n)
}

// isNew reports whether nothing is known against a node that has room.
func (s *NodeSearch) isNew(n *ledger.Node) bool {
	return (s.ask.Wait == nil || s.ask.Wait.Avoid != n.ID) && !s.ClassOf(s.ask).Refused.Has(n)
}

// open are the nodes with room that nothing is known against, in order, with how well they suit that order.
func (s *NodeSearch) open(yield func(api.NodeID, int64) bool) {
	for n, points := range s.Order.WithRoom(s.ask.Amounts) {
		if s.isNew(n) && !yield(n.ID, points) {
			return
		}
	}
}

// check asks about one node.
func (s *NodeSearch) check(n *ledger.Node) Outcome {
	result, err := s.Predicates.Check(s.ask, n, true)
	if result == Waits {
		s.refuse(n, err)
	}
	return result
}

// collect adds a node to those that are asked about at once, and asks about them when
// there are enough.
func (s *NodeSearch) collect(n *ledger.Node) (*ledger.Node, Outcome) {
	if s.Options.Feasible == nil {
		return n, Placed
	}
	if s.Predicates.MustHear(s.ask, n) {
		if found, result := s.flushChunk(); result != Waits {
			return found, result
		}
		return nil, Flush
	}
	s.chunk = append(s.chunk, n)
	if len(s.chunk) < s.most {
		return nil, Waits
	}
	return s.flushChunk()
}

// flushChunk asks about the nodes that were collected.
func (s *NodeSearch) flushChunk() (*ledger.Node, Outcome) {
	if len(s.chunk) == 0 {
		return nil, Waits
	}
	if s.Predicates.Calls >= CallsMax {
		return nil, Paused
	}
	if s.Wait = s.Predicates.Wait(s.ClassOf(s.ask).Refused.Question()); s.Wait > 0 {
		return nil, Paused
	}
	chunk := s.chunk
	s.chunk = s.chunk[:0]
	for i, err := range s.answers(chunk) {
		err = s.Predicates.checked(s.ask, chunk[i], true, err)
		if err == nil {
			return chunk[i], Placed
		}
		s.refuse(chunk[i], err)
	}
	if s.Options.FeasibleOn != nil {
		s.most = min(4*s.most, nodesAtOnce)
	}
	return nil, Waits
}

// answers asks about nodes, all at once where the resource manager can answer that.
func (s *NodeSearch) answers(nodes []*ledger.Node) []error {
	s.Predicates.Calls += len(nodes)
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
func (s *NodeSearch) refuse(n *ledger.Node, err error) {
	s.Asked = true
	s.Separate(s.ask)
	s.Predicates.NoteUnresolvable(s.ask, n, err)
	s.Begin(s.ClassOf(s.ask)).Add(n, err, s.NodesFreed)
}

// overrule looks for a node that has room for the ask if it takes what is kept for less important
// asks.
func (s *NodeSearch) overrule() (*ledger.Node, Outcome) {
	r, importance := s.ask, s.ask.Importance
	if !s.Importances.Below(importance) {
		return nil, Waits
	}
	for n := range s.AllNodes {
		if !n.Schedulable || !n.Yields(importance) || r.Amounts.FitsIn(n.Room) || !r.Amounts.FitsIn(n.RoomFor(importance)) {
			continue
		}
		if s.ClassOf(r).Refused.Has(n) {
			s.Asked = true
			continue
		}
		if result := s.check(n); result != Waits {
			return n, result
		}
	}
	return nil, Waits
}
