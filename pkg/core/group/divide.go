package group

import (
	"slices"

	"github.com/narwhal-scheduler/narwhal/pkg/core/ledger"
	"github.com/narwhal-scheduler/narwhal/pkg/core/topology"
)

// divisionsMax is how many subgroups are given domains in one attempt to make room, over all divisions.
const divisionsMax = 1 << 12

// divisions visits ways to give each subgroup of some asks a domain in which all of it may get room by evictions: one for each domain that
// comes first, the one first that fits best. A domain is given to as many subgroups as there may be room for.
func (g *groupPlan) divisions(asks []*ledger.Request, yield func(...share) bool) {
	subgroups, starts := g.subgroups(), map[*ledger.Request]bool{}
	for _, r := range asks {
		starts[r] = true
	}
	for _, of := range subgroups {
		of.asks = slices.DeleteFunc(of.asks, func(r *ledger.Request) bool { return !starts[r] })
	}
	subgroups = slices.DeleteFunc(subgroups, func(of *subgroup) bool { return len(of.asks) == 0 })
	var domains []fit
	for d := range g.each.Domains {
		is := fitOf(d, g.tallies)
		is.claims = g.claimsIn(d)
		domains = append(domains, is)
	}
	slices.SortFunc(domains, fit.compare)
	var at *topology.Domain
	if g.level != nil {
		at, _ = home(g.group.Running, g.level)
	}
	for i, first := range domains {
		if i > 0 && (i+1)*len(subgroups) > divisionsMax {
			return
		}
		root := g.rootOf(first.Domain)
		if g.level != nil && (root == nil || at != nil && root != at) {
			continue
		}
		if shares := g.divide(subgroups, root, first.Domain, domains); shares != nil && !yield(shares...) {
			return
		}
	}
}

// rootOf is the domain that the group requires and a smaller one is in; nil for none, or if it requires none.
func (g *groupPlan) rootOf(d *topology.Domain) *topology.Domain {
	if g.level != nil {
		for n := range d.AllNodes {
			return g.level.Of(n)
		}
	}
	return nil
}

// divide gives each subgroup the first domain in which it may get room beside those before, one before all others; nil if one has none.
func (g *groupPlan) divide(subgroups []*subgroup, root, first *topology.Domain, domains []fit) (shares []share) {
	at, full := map[*topology.Domain]int{}, map[*topology.Domain]int{}
	mayTake := func(of *subgroup, d *topology.Domain) bool {
		if within(d, root) != d || of.home != nil && d != of.home || full[d] > 0 && len(of.asks) >= full[d] {
			return false
		}
		asks := of.asks
		i, is := at[d]
		if is {
			asks = slices.Concat(shares[i].asks, asks)
		}
		switch {
		case !g.Attempts.MayHaveRoom(asks, d.AllNodes):
			full[d] = len(of.asks)
			return false
		case is:
			shares[i].asks = asks
		default:
			at[d] = len(shares)
			shares = append(shares, share{asks, d.AllNodes})
		}
		return true
	}
	for _, of := range subgroups {
		if of.name == "" {
			if !g.Attempts.MayHaveRoom(of.asks, g.nodesIn(root)) {
				return nil
			}
			shares = append(shares, share{of.asks, g.nodesIn(root)})
			continue
		}
		if !mayTake(of, first) && !slices.ContainsFunc(domains, func(d fit) bool { return mayTake(of, d.Domain) }) {
			return nil
		}
	}
	return shares
}
