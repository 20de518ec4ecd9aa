package core

import (
	"github.com/narwhal-scheduler/narwhal/pkg/core/ledger"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// count works out in how many places the asks of a class fit, unless it is known.
func (s *slots) count(c *class) {
	k := &c.slots
	if k.at == s.Holds && k.at > 0 {
		return
	}
	before := k.impossible
	k.at, k.places, k.impossible = s.Holds, 0, ""
	var nearest *ledger.Node
	var least resources.Share
	for n := range s.AllNodes {
		most := n.WhenLeft()
		if k.places += int(min(c.amounts.TimesIn(most), placesMax)); k.places >= placesMax {
			k.places = placesMax
			break
		}
		if missing := c.amounts.MissingShare(most); nearest == nil || missing.Compare(least) < 0 {
			nearest, least = n, missing
		}
	}
	if k.places == 0 {
		k.impossible = "there is no node"
		if nearest != nil {
			k.impossible = "no node can give " + s.Kinds.Format(c.amounts) + ", " + string(nearest.ID) + " the most"
		}
	}
	if before != k.impossible {
		s.learn()
		for _, g := range c.groups {
			g.application.View = nil
		}
	}
}

// A leastPlace is the least of each kind that any allocation holds; any says that there is one.
type leastPlace struct {
	amounts resources.Amounts
	any     bool
}

// leastPlace is that of all allocations that run.
func (s *slots) leastPlace() (least leastPlace) {
	s.Root.Everywhere(func(q *ledger.Queue) bool {
		switch {
		case len(q.Running) == 0 || !q.Leaf:
		case !least.any:
			least = leastPlace{q.Smallest.Clone(), true}
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
func (p leastPlace) holds(c *class) bool { return p.any && c.amounts.FitsIn(p.amounts) }
