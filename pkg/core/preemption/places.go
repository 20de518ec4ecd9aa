package preemption

import (
	"github.com/narwhal-scheduler/narwhal/pkg/core/backlog"
	"github.com/narwhal-scheduler/narwhal/pkg/core/ledger"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// count works out in how many places the asks of a class fit, unless it is known.
func (s *Slots) count(c *backlog.Class) {
	k := s.of(c)
	if k.at == s.Holds && k.at > 0 {
		return
	}
	k.at, k.places = s.Holds, 0
	var nearest *ledger.Node
	var least resources.Share
	for n := range s.AllNodes {
		most := n.WhenLeft()
		if k.places += int(min(c.Amounts.TimesIn(most), placesMax)); k.places >= placesMax {
			k.places = placesMax
			break
		}
		if missing := c.Amounts.MissingShare(most); nearest == nil || missing.Compare(least) < 0 {
			nearest, least = n, missing
		}
	}
	switch {
	case k.places > 0:
		s.CannotRun(c, "")
	case nearest == nil:
		s.CannotRun(c, "there is no node")
	default:
		s.CannotRun(c, "no node can give "+s.Kinds.Format(c.Amounts)+", "+string(nearest.ID)+" the most")
	}
}

// placesMax is how many places of a class are counted: what has more waits for none for long.
const placesMax = 1 << 10

// A commonPlace is the least of each kind that any allocation holds; any says that there is one.
type commonPlace struct {
	amounts resources.Amounts
	any     bool
}

// leastPlace is that of all allocations that run.
func (s *Slots) leastPlace() (least commonPlace) {
	s.Root.Everywhere(func(q *ledger.Queue) bool {
		switch {
		case len(q.Running) == 0 || !q.Leaf:
		case !least.any:
			least = commonPlace{q.Smallest.Clone(), true}
		default:
			for i, v := range least.amounts {
				least.amounts[i] = min(v, q.Smallest.Of(resources.Kind(i)))
			}
		}
		return true
	})
	return least
}

// holds reports whether the asks of a class fit in the place of each allocation that runs.
func (p commonPlace) holds(c *backlog.Class) bool { return p.any && c.Amounts.FitsIn(p.amounts) }
