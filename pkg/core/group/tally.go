package group

import (
	"iter"
	"slices"

	"github.com/narwhal-scheduler/narwhal/pkg/core/backlog"
	"github.com/narwhal-scheduler/narwhal/pkg/core/ledger"
	"github.com/narwhal-scheduler/narwhal/pkg/core/topology"
)

// A tally is how many asks of a class fit where, for a group: with what is kept for this group, and without nodes that refused
// the class.
type tally struct {
	*topology.Slots
	class *backlog.Class
	count int                        // asks of the plan
	but   map[*topology.Domain]int64 // more, or less, than the slots say
}

func (t *tally) in(d *topology.Domain) int64 { return t.In(d) + t.but[d] }

// tally counts what fits where for each class of the asks.
func (g *groupPlan) tally() {
	for _, r := range g.asks {
		if last := len(g.tallies) - 1; last < 0 || g.tallies[last].class != g.ClassOf(r) {
			g.tallies = append(g.tallies, g.Groups.tally(g.group, g.trees, g.ClassOf(r)))
		}
		g.tallies[len(g.tallies)-1].count++
	}
}

// tally counts what fits where for a class of the asks of a group.
func (s *Groups) tally(of *ledger.Group, trees []*topology.Level, c *backlog.Class) tally {
	t := tally{Slots: s.Order.Domains.Slots(c.Amounts, c.Importance), class: c}
	correct := func(n *ledger.Node, fit int64) {
		by := fit - t.On(n)
		if by == 0 {
			return
		}
		for d := range domainsIn(trees, n) {
			if t.but == nil {
				t.but = map[*topology.Domain]int64{}
			}
			t.but[d] += by
		}
	}
	if c.Refused != nil {
		for n := range s.AllNodes {
			if t.On(n) > 0 && c.Refused.Has(n) {
				correct(n, 0)
			}
		}
	}
	isKept := func(other *ledger.Request) bool { return isKeptFrom(of, c.Importance, other, nil) }
	kept := map[*ledger.Node]bool{}
	for r := range of.Keeping {
		if held := r.Claim(); held.Whole && !kept[held.Node] {
			kept[held.Node] = true
			if n := held.Node; n.Schedulable && !c.Refused.Has(n) {
				correct(n, c.Amounts.TimesIn(roomNow(of, n, isKept)))
			}
		}
	}
	return t
}

// domainsIn visits the domains in which a node is, of some trees.
func domainsIn(trees []*topology.Level, n *ledger.Node) iter.Seq[*topology.Domain] {
	return func(yield func(*topology.Domain) bool) {
		for _, tree := range trees {
			for d := tree.Finest(n); d != nil; d = d.Parent {
				if !yield(d) {
					return
				}
			}
		}
	}
}

func (g *groupPlan) tallyOf(c *backlog.Class) *tally {
	at := slices.IndexFunc(g.tallies, func(t tally) bool { return t.class == c })
	return &g.tallies[at]
}
