package preemption

import (
	"slices"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/core/backlog"
	"github.com/narwhal-scheduler/narwhal/pkg/core/ledger"
	"github.com/narwhal-scheduler/narwhal/pkg/core/timers"
)

// settlingMost is how many times SettleDelay the settling time lasts at most, however
// many nodes come.
const settlingMost = 10

// A Settling is the time after a start in which the resource manager tells of nodes and
// of what runs on them. Until it is over, nothing is evicted: the next node may be empty.
// A node that is registered drained takes no ask that requires it for as long, since what
// runs there is not known yet.
type Settling struct {
	*backlog.Backlog
	until  time.Time // unless more comes; zero before the first node
	latest time.Time
	timer  timers.Timer

	held      []heldNode // registered drained, the first first
	heldTimer timers.Timer
}

// A heldNode is a node that is kept from asks which require it, until a time at the latest.
type heldNode struct {
	node  *ledger.Node
	until time.Time
}

// End is when the settling time ends unless more comes; zero if it is over or no node has
// come.
func (s *Settling) End() time.Time {
	if s.Settled {
		return time.Time{}
	}
	return s.until
}

// Extend is called for a node that comes or becomes schedulable, and for something that
// runs already.
func (s *Settling) Extend() {
	if s.Settled {
		return
	}
	if s.latest.IsZero() {
		s.latest = s.Now.Add(settlingMost * s.Options.SettleDelay)
	}
	s.until = s.Now.Add(s.Options.SettleDelay)
	if s.until.After(s.latest) {
		s.until = s.latest
	}
	s.Timers.Set(&s.timer, timers.Later(s.until, s.Now), timers.Due{What: timers.Settled})
}

// Hold keeps asks that require a node from it until it is schedulable, or SettleDelay is
// over.
func (s *Settling) Hold(n *ledger.Node) {
	if s.Options.SettleDelay <= 0 {
		return
	}
	s.held = append(s.held, heldNode{n, s.Now.Add(s.Options.SettleDelay)})
	s.schedule()
}

// Holds reports whether asks that require a node are kept from it.
func (s *Settling) Holds(n *ledger.Node) bool {
	return slices.ContainsFunc(s.held, func(held heldNode) bool { return held.node == n })
}

// Release opens a node that is schedulable now.
func (s *Settling) Release(n *ledger.Node) {
	s.held = slices.DeleteFunc(s.held, func(held heldNode) bool { return held.node == n })
}

func (s *Settling) schedule() {
	if len(s.held) > 0 && !s.heldTimer.Set() {
		s.Timers.Set(&s.heldTimer, timers.Later(s.held[0].until, s.Now), timers.Due{What: timers.Held})
	}
}

// LetGo opens the nodes that were held long enough for the asks that require them.
func (s *Settling) LetGo() {
	for len(s.held) > 0 && !s.held[0].until.After(s.Now) {
		n := s.held[0].node
		s.held = s.held[1:]
		if !n.Gone {
			s.Changes.Node(n, ledger.NodeRetry)
		}
	}
	s.schedule()
}
