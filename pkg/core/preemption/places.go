package preemption

import (
	"github.com/narwhal-scheduler/narwhal/pkg/core/backlog"
	"github.com/narwhal-scheduler/narwhal/pkg/core/ledger"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// count works out in how many places the asks of a class fit, unless it is known.
func (s *Slots) count(c *backlog.Class) {
	k := &c.Slots
	if k.At == s.Holds && k.At > 0 {
		return
	}
	before := k.Impossible
	k.At, k.Places, k.Impossible = s.Holds, 0, ""
	var nearest *ledger.Node
	var least resources.Share
	for n := range s.AllNodes {
		most := n.WhenLeft()
		if k.Places += int(min(c.Amounts.TimesIn(most), backlog.PlacesMax)); k.Places >= backlog.PlacesMax {
			k.Places = backlog.PlacesMax
			break
		}
		if missing := c.Amounts.MissingShare(most); nearest == nil || missing.Compare(least) < 0 {
			nearest, least = n, missing
		}
	}
	if k.Places == 0 {
		k.Impossible = "there is no node"
		if nearest != nil {
			k.Impossible = "no node can give " + s.Kinds.Format(c.Amounts) + ", " + string(nearest.ID) + " the most"
		}
	}
	if before != k.Impossible {
		s.Learn()
		for _, g := range c.Groups {
			g.Application.DropView()
		}
	}
}

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
