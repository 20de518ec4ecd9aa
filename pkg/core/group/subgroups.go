package group

import (
	"cmp"
	"iter"
	"slices"

	"github.com/narwhal-scheduler/narwhal/pkg/core/ledger"
	"github.com/narwhal-scheduler/narwhal/pkg/core/topology"
)

// Members of a group that name a subgroup run in one domain of the level that is said for each. Where none of a subgroup runs, all of it
// that wait start in one domain, or none of them does; others join those that run. Subgroups are given domains one after the other: those
// that run somewhere first, then the largest, each the domain that fits best. One that has none is passed over if the others are enough,
// or those before it are given other domains.

// subgroupTriesMax is for how many asks nodes of a domain are looked for, in one plan, beyond once for each.
const subgroupTriesMax = 1 << 13

// Where the group counts by subgroups, as many of each as must run start together, and so many subgroups as must: the others come later, one by one.
// So do parts of a subgroup that runs without them.

// A subgroup is the asks of a plan that name it, or those of a part of it that starts by itself; without a name, those that name none, which may
// run anywhere. Once it has a domain, those of each part of it are one, if any of these requires a domain within that.
type subgroup struct {
	name  string
	asks  []*ledger.Request
	ways  [][]*ledger.Request // in which other asks of it may start in their place
	part  string              // of which the domain is looked for: the subgroup, or a part of it; empty for none
	level *topology.Level     // of which that requires one; nil for none
	fine  int                 // how many domains the finest level has that any of it requires
	in    *topology.Domain    // of what it is in; nil is everywhere
	home  *topology.Domain    // in which members of it run; nil if none does
	why   string              // no other may start: those that run are not in one domain
	whole bool                // all of its asks start together or none does
	later bool                // it may start when enough subgroups run
	below bool                // it is a part of a subgroup that has its domain
	inner bool                // and starts with that, or that does not
}

// hasRoom reports whether room is made for a subgroup.
func (s *subgroup) hasRoom() bool {
	return s.whole && slices.ContainsFunc(s.asks, (*ledger.Request).EvictsWhole)
}

// subgroups are those of the asks, in the order in which they are given domains.
func (g *groupPlan) subgroups() (list []*subgroup) {
	byName := map[string]*subgroup{}
	for _, r := range g.asks {
		name := startsIn(r)
		of := byName[name]
		if of == nil {
			of = &subgroup{name: name, part: r.Subgroup(), in: g.within, later: name != r.Subgroup()}
			byName[name] = of
			list = append(list, of)
		}
		of.asks = append(of.asks, r)
	}
	for _, of := range list {
		g.findHome(of)
	}
	if g.group.BySubgroup() {
		list = g.minima(list)
	} else {
		for _, of := range list { // those that have room come first, and others join them
			if of.hasRoom() {
				of.asks = slices.DeleteFunc(of.asks, func(r *ledger.Request) bool { return !r.EvictsWhole() })
			}
		}
	}
	sortSubgroups(list)
	return list
}

// sortSubgroups puts subgroups in the order in which they are given domains.
func sortSubgroups(list []*subgroup) {
	slices.SortStableFunc(list, func(a, b *subgroup) int {
		return cmp.Or(
			compareTrue(a.home != nil, b.home != nil), compareTrue(a.whole, b.whole), compareTrue(a.hasRoom(), b.hasRoom()),
			cmp.Compare(b.fine, a.fine), cmp.Compare(len(b.asks), len(a.asks)),
		)
	})
}

// findHome finds which domain a subgroup requires, and where it runs.
func (g *groupPlan) findHome(of *subgroup) {
	level, requires := g.levels[of.part]
	switch of.level = level; {
	case requires && level == nil:
		of.why = "its group requires too many levels"
	case requires:
		if of.home, of.why = home(slices.Values(g.runningIn()[of.part]), level); of.why != "" && g.group.Terms.Split {
			of.home, of.why = nil, ""
		}
	}
	for _, r := range of.asks {
		for name := range r.Parts {
			of.fine = max(of.fine, g.domainsAt(g.levels[name]))
		}
	}
	of.whole = of.whole || of.part != "" && of.fine > 0 && len(g.runningIn()[of.part]) == 0
}

// runningIn are the members that run, by the parts that they are in.
func (g *groupPlan) runningIn() map[string][]*ledger.Request {
	if g.running == nil {
		g.running = map[string][]*ledger.Request{}
		for r := range g.group.Running {
			for part := range r.Parts {
				g.running[part] = append(g.running[part], r)
			}
		}
	}
	return g.running
}

// domainsAt is how many domains a level has; zero of nil.
func (g *groupPlan) domainsAt(level *topology.Level) int {
	count, known := g.domains[level]
	if known || level == nil {
		return count
	}
	if g.domains == nil {
		g.domains = map[*topology.Level]int{}
	}
	for range level.Domains {
		count++
	}
	g.domains[level] = count
	return count
}

// requiresBelow reports whether a part that an ask is in requires a domain, of those that are in another part.
func (g *groupPlan) requiresBelow(r *ledger.Request, part string) bool {
	for name := range r.Parts {
		if _, requires := g.levels[name]; requires && len(name) > len(part) {
			return true
		}
	}
	return false
}

// inner are the parts of a subgroup that has a domain, or needs none, in the order in which they are given domains within it; nil if none
// requires one.
func (g *groupPlan) inner(of *subgroup, d *topology.Domain) (list []*subgroup) {
	if !slices.ContainsFunc(of.asks, func(r *ledger.Request) bool { return g.requiresBelow(r, of.part) }) {
		return nil
	}
	byPart := map[string]*subgroup{}
	for _, r := range of.asks {
		part := ""
		for name := range r.Parts {
			if len(name) > len(of.part) {
				part = name
				break
			}
		}
		in := byPart[part]
		if in == nil {
			in = &subgroup{name: cmp.Or(part, of.name), part: part, in: d, whole: of.whole, inner: of.whole, below: true}
			byPart[part] = in
			list = append(list, in)
		}
		in.asks = append(in.asks, r)
	}
	for _, in := range list {
		g.findHome(in)
	}
	sortSubgroups(list)
	return list
}

// startsIn is the subgroup with which an ask starts, or the part of it where others of it run without that.
func startsIn(r *ledger.Request) string {
	if r.StartsWith.BySubgroup() {
		return cmp.Or(r.StartsIn(), r.Subgroup())
	}
	return r.Subgroup()
}

// minima are those subgroups that may start, where so many of them must, each with as many asks as it lacks: those for which room was made, if
// it was for all of these. Once enough run, others that do are joined too, and so is the group by asks that name none.
func (g *groupPlan) minima(list []*subgroup) (may []*subgroup) {
	starts := g.group.Missing() > 0
	for _, of := range list {
		of.whole = of.asks[0].StartsIn() != ""
		if !of.whole {
			of.later = true
		} else if of.ways = g.group.Ways(of.name, haveRoomFirst(of.asks)); len(of.ways) > 0 {
			slices.SortStableFunc(of.ways, func(a, b []*ledger.Request) int { return compareTrue(haveRoom(a), haveRoom(b)) })
			of.asks, of.ways = of.ways[0], of.ways[1:]
		} else {
			continue
		}
		if !of.later || !starts {
			may = append(may, of)
		}
	}
	return may
}

// haveRoomFirst puts those asks first for which room is made.
func haveRoomFirst(asks []*ledger.Request) []*ledger.Request {
	slices.SortStableFunc(asks, func(a, b *ledger.Request) int { return compareTrue(a.EvictsWhole(), b.EvictsWhole()) })
	return asks
}

// haveRoom reports whether room is made for each of some asks.
func haveRoom(asks []*ledger.Request) bool {
	return !slices.ContainsFunc(asks, func(r *ledger.Request) bool { return !r.EvictsWhole() })
}

// togetherWith visits the asks that start with one whose group runs: itself, or all of its subgroup, or of a part of that.
func togetherWith(r *ledger.Request) iter.Seq[*ledger.Request] {
	return func(yield func(*ledger.Request) bool) {
		g := r.StartsWith
		if !g.IsDivided() && !g.BySubgroup() || r.Subgroup() == "" {
			yield(r)
			return
		}
		in := startsIn(r)
		for other := range g.Asks.All {
			if other.Subgroup() == r.Subgroup() && startsIn(other) == in && !yield(other) {
				return
			}
		}
	}
}

// among are the parts of a subgroup among others that have no domains yet: those come first that have the fewest nodes to choose from.
func among(inner, rest []*subgroup) []*subgroup {
	rest = slices.Clone(rest)
	for _, of := range slices.Backward(inner) {
		at := slices.IndexFunc(rest, func(other *subgroup) bool { return other.fine <= of.fine })
		if at < 0 {
			at = len(rest)
		}
		rest = slices.Insert(rest, at, of)
	}
	return rest
}

// outerOf is how many of some subgroups count.
func outerOf(list []*subgroup) (count int) {
	for _, of := range list {
		if !of.inner {
			count++
		}
	}
	return count
}

// asksOf is how many asks some subgroups have.
func asksOf(list []*subgroup) (count int) {
	for _, of := range list {
		count += len(of.asks)
	}
	return count
}
