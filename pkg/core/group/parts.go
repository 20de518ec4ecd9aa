package group

import (
	"cmp"
	"iter"
	"slices"

	"github.com/narwhal-scheduler/narwhal/pkg/core/ledger"
	"github.com/narwhal-scheduler/narwhal/pkg/core/topology"
)

// Inside a domain, members take as few of the domains below as they can, and those of a group that prefers a level as few of its
// domains: first those where members run, then, if one has room for all that are left, the one that fits best, else the one with the most
// room, and so on, or, where the group is to be balanced, as many as are needed, with equal shares. In a domain without others below, the order of nodes decides.

// looksByDomain reports whether nodes are looked at one domain after the other.
func (g *groupPlan) looksByDomain() bool { return g.within != nil || g.prefers != nil }

// parts visits the nodes for asks of a class in groups: all that may be looked at, or those of the finest domains within the one
// that is looked at, or within those of the level that the group prefers, one after the other.
func (g *groupPlan) parts(asks []*ledger.Request) iter.Seq[iter.Seq[*ledger.Node]] {
	return func(yield func(iter.Seq[*ledger.Node]) bool) {
		r := asks[0]
		if !g.looksByDomain() || g.emptied != nil {
			yield(g.candidates(r))
			return
		}
		s := split{groupPlan: g, ask: r, slots: g.tallyOf(g.ClassOf(r)), left: int64(min(len(asks), g.count-len(g.found))), taken: g.taken()}
		if g.within != nil {
			s.among(g.within.Below(), g.within.OwnNodes, yield)
			return
		}
		s.among(slices.Collect(g.prefers.Domains), func(yield func(*ledger.Node) bool) {
			g.visit(func(n *ledger.Node) bool { return g.prefers.Of(n) == nil }, yield)
		}, yield)
	}
}

// taken are the domains in which members run or are planned.
func (g *groupPlan) taken() map[*topology.Domain]bool {
	taken := map[*topology.Domain]bool{}
	add := func(n *ledger.Node) {
		for d := g.finestLike(n); d != nil && !taken[d]; d = d.Parent {
			taken[d] = true
		}
	}
	for r := range g.group.Running {
		add(r.RunsOn)
	}
	for n, on := range g.on {
		if len(on.asks) > 0 {
			add(n)
		}
	}
	return taken
}

// A split divides asks of a class among domains.
type split struct {
	*groupPlan
	ask   *ledger.Request // one of them
	slots *tally
	left  int64 // asks that have none yet
	taken map[*topology.Domain]bool
}

// among visits the nodes of some domains, and then others beside them, until there are none or no more are asked for.
func (s *split) among(domains []*topology.Domain, beside iter.Seq[*ledger.Node], yield func(iter.Seq[*ledger.Node]) bool) bool {
	if shares := s.shares(domains); shares != nil {
		return s.evenly(shares, yield)
	}
	for domains = slices.Clone(domains); len(domains) > 0; {
		next := s.first(domains)
		d, before := domains[next], s.left
		if s.slots.in(d) <= 0 {
			break // nor do the others have any
		}
		if !s.among(d.Below(), d.OwnNodes, yield) {
			return false
		}
		s.left = before - s.slots.in(d)
		domains = slices.Delete(domains, next, next+1)
	}
	return yield(slices.Values(s.inOrder(beside, s.ask)))
}

// A part is how many asks are to run in a domain.
type part struct {
	*topology.Domain
	share int64
}

// shares divide what is left among as few of some domains as have room for it, as evenly as can be: of those that are large enough for that, the
// smallest. It is nil where that is not to be, or one has room for all.
func (s *split) shares(domains []*topology.Domain) []part {
	if !s.balances {
		return nil
	}
	var list []part
	for _, d := range domains {
		if slots := s.slots.in(d); slots > 0 {
			list = append(list, part{d, slots})
		}
	}
	slices.SortFunc(list, func(a, b part) int {
		return cmp.Or(cmp.Compare(a.share, b.share), compareBusy(a.Domain, b.Domain), a.Compare(b.Domain))
	})
	sum, count := int64(0), 0
	for ; count < len(list) && sum < s.left; count++ {
		sum += list[len(list)-1-count].share
	}
	if count < 2 || sum < s.left {
		return nil
	}
	least := min(list[len(list)-count].share, s.left/int64(count))
	from := 0
	for ; list[from].share < least || sumOf(list[from:from+count]) < s.left; from++ {
	}
	list = list[from : from+count]
	left := s.left
	for i := range list {
		list[i].share = min(list[i].share, left/int64(count-i))
		left -= list[i].share
	}
	return list
}

func sumOf(parts []part) (sum int64) {
	for _, p := range parts {
		sum += p.share
	}
	return sum
}

// evenly visits the nodes of some domains, each for its share.
func (s *split) evenly(shares []part, yield func(iter.Seq[*ledger.Node]) bool) bool {
	left, most := s.left, s.most
	for _, p := range shares {
		s.left, s.most = p.share, len(s.found)+int(p.share)
		more := s.among(p.Below(), p.OwnNodes, yield)
		s.most = most
		if !more {
			return false
		}
		left -= p.share
	}
	s.left = left
	return true
}

// first is the first of some domains in order.
func (s *split) first(of []*topology.Domain) (best int) {
	for i := range of {
		if s.compare(of[i], of[best]) < 0 {
			best = i
		}
	}
	return best
}

// compare orders domains: the one to be taken first. Those without room come last.
func (s *split) compare(a, b *topology.Domain) int {
	slotsA, slotsB := s.slots.in(a), s.slots.in(b)
	holdsA, holdsB := slotsA >= s.left && s.left > 0, slotsB >= s.left && s.left > 0
	by := cmp.Or(compareTrue(slotsA > 0, slotsB > 0), compareTrue(s.taken[a], s.taken[b]), compareTrue(holdsA, holdsB))
	switch {
	case by != 0:
		return by
	case holdsA:
		return cmp.Or(compareBusy(a, b), cmp.Compare(slotsA, slotsB), a.Compare(b))
	}
	return cmp.Or(cmp.Compare(slotsB, slotsA), compareBusy(a, b), a.Compare(b))
}

// inOrder are those of some nodes that may have room for an ask: those on which the group has claims, then those with room in
// order, then those that have room if what is kept there for less important asks is taken.
func (g *groupPlan) inOrder(nodes iter.Seq[*ledger.Node], r *ledger.Request) (list []*ledger.Node) {
	slots := g.tallyOf(g.ClassOf(r))
	for n := range nodes {
		if n.Schedulable && (slots.On(n) > 0 || g.claims > 0 && g.keeps(n)) {
			list = append(list, n)
		}
	}
	rank := func(n *ledger.Node) int {
		switch {
		case g.claims > 0 && g.keeps(n):
			return 0
		case r.Amounts.FitsIn(n.Room):
			return 1
		}
		return 2
	}
	compare := g.Order.Compare(r.Amounts)
	slices.SortFunc(list, func(a, b *ledger.Node) int { return cmp.Or(cmp.Compare(rank(a), rank(b)), compare(a, b)) })
	return list
}
