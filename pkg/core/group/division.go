package group

import (
	"cmp"
	"maps"
	"slices"

	"github.com/narwhal-scheduler/narwhal/pkg/core/ledger"
	"github.com/narwhal-scheduler/narwhal/pkg/core/topology"
)

// divisionsMax is how many subgroups are given domains in one attempt to make room, over all divisions.
const divisionsMax = 1 << 12

// divisionMax is how many are in one of them, beyond four times for each.
const divisionMax = 1 << 6

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
	var at *topology.Domain
	if g.level != nil {
		at, _ = home(g.group.Running, g.level)
	}
	domains, given := map[*topology.Level][]fit{}, 0
	each, around := g.requiredLevels(), map[*topology.Domain][]*topology.Domain{}
	level := slices.MaxFunc(each, func(a, b *topology.Level) int { return cmp.Compare(g.domainsAt(a), g.domainsAt(b)) })
	firsts := g.domainsOf(level, domains)
	for i, first := range firsts {
		if i > 0 && given+len(subgroups) > divisionsMax {
			return
		}
		root := g.rootOf(first.Domain)
		if g.level != nil && (root == nil || at != nil && root != at) {
			continue
		}
		v := division{
			groupPlan: g, each: each, whole: around, level: level, first: first.Domain, domains: domains,
			in: map[*topology.Domain][]*ledger.Request{}, full: map[*topology.Domain]int{}, left: divisionMax + 4*len(subgroups),
		}
		for _, of := range subgroups {
			of.in = root
		}
		most := v.left
		if v.giveAll(subgroups) && !yield(v.shares...) {
			return
		}
		given += max(most-v.left, 1)
	}
}

// requiredLevels are those of the group, if it requires one, and of its subgroups, by name.
func (g *groupPlan) requiredLevels() (list []*topology.Level) {
	if g.level != nil {
		list = append(list, g.level)
	}
	for name := range g.group.Levels {
		if level := g.levels[name]; level != nil && !slices.Contains(list, level) {
			list = append(list, level)
		}
	}
	return list
}

// domainsOf are the domains of a level, the best first, which are kept.
func (g *groupPlan) domainsOf(level *topology.Level, known map[*topology.Level][]fit) []fit {
	if _, is := known[level]; !is {
		known[level] = g.sortByFit(level.Domains)
	}
	return known[level]
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

// A division gives each subgroup the first domain in which it may get room beside those before, one before all others.
type division struct {
	*groupPlan
	each    []*topology.Level                       // that are required
	whole   map[*topology.Domain][]*topology.Domain // what a domain is in, as far as it was looked for
	level   *topology.Level                         // of these, that with the most domains
	first   *topology.Domain                        // of that
	domains map[*topology.Level][]fit
	in      map[*topology.Domain][]*ledger.Request // asks that get room in a domain; nil is everywhere
	full    map[*topology.Domain]int               // so many asks get none there
	shares  []share
	of      []*topology.Domain // of each share
	left    int                // how many subgroups may yet be given domains
}

// giveAll gives some subgroups domains, those first that come first; false if one has none beside the others.
func (v *division) giveAll(list []*subgroup) bool {
	if len(list) == 0 {
		return true
	}
	of, rest := list[0], list[1:]
	takes := func(d *topology.Domain) bool {
		if v.left <= 0 {
			return false
		}
		before := v.take(of, d)
		if before == nil {
			return false
		}
		v.left--
		shares, on := slices.Clone(v.shares), v.of
		others := rest
		if inner := v.inner(of, d); inner != nil {
			others = among(inner, rest)
		} else {
			v.share(of.asks, d)
		}
		if v.giveAll(others) {
			return true
		}
		maps.Copy(v.in, before)
		v.shares, v.of = shares, on
		return false
	}
	if of.level == nil {
		return takes(of.in)
	}
	mayTake := func(d *topology.Domain) bool {
		return of.level.IsIn(d, of.in) && (of.home == nil || d == of.home) && takes(d)
	}
	return of.level == v.level && mayTake(v.first) ||
		slices.ContainsFunc(v.domainsOf(of.level, v.domains), func(d fit) bool { return mayTake(d.Domain) })
}

// take counts a subgroup in a domain, and in what that is in, if it gets room there beside others that have it. It returns what was counted before; nil if
// it gets none.
func (v *division) take(of *subgroup, d *topology.Domain) (before map[*topology.Domain][]*ledger.Request) {
	var counted []*topology.Domain // with what it is in
	if of.below {
		counted = v.around(of.in)
	}
	with := map[*topology.Domain][]*ledger.Request{}
	for _, is := range v.around(d) {
		if slices.Contains(counted, is) {
			continue
		}
		asks := slices.Concat(v.in[is], of.asks)
		if full := v.full[is]; full > 0 && len(asks) >= full {
			return nil
		}
		if !v.Attempts.MayHaveRoom(asks, v.nodesIn(is)) {
			v.full[is] = len(asks)
			return nil
		}
		with[is] = asks
	}
	before = map[*topology.Domain][]*ledger.Request{}
	for is, asks := range with {
		before[is], v.in[is] = v.in[is], asks
	}
	return before
}

// around are a domain and those that it is in, of the levels that the group and its subgroups require; nil is everywhere.
func (v *division) around(d *topology.Domain) []*topology.Domain {
	if list, known := v.whole[d]; known {
		return list
	}
	list := []*topology.Domain{d}
	for _, level := range v.each {
		var in *topology.Domain
		for n := range v.nodesIn(d) {
			is := level.Of(n)
			if in != nil && is != in {
				in = nil
				break
			}
			if in = is; in == nil {
				break
			}
		}
		if in != nil && !slices.Contains(list, in) {
			list = append(list, in)
		}
	}
	v.whole[d] = list
	return list
}

// share has some asks get room in a domain.
func (v *division) share(asks []*ledger.Request, d *topology.Domain) {
	at := slices.Index(v.of, d)
	if at < 0 {
		at, v.of, v.shares = len(v.of), append(slices.Clip(v.of), d), append(v.shares, share{nodes: v.nodesIn(d)})
	}
	v.shares[at].asks = slices.Concat(v.shares[at].asks, asks)
}
