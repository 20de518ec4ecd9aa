package group

import (
	"cmp"
	"fmt"
	"iter"
	"slices"

	"github.com/narwhal-scheduler/narwhal/pkg/core/backlog"
	"github.com/narwhal-scheduler/narwhal/pkg/core/ledger"
	"github.com/narwhal-scheduler/narwhal/pkg/core/question"
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
// run anywhere.
type subgroup struct {
	name  string
	asks  []*ledger.Request
	ways  [][]*ledger.Request // in which other asks of it may start in their place
	home  *topology.Domain    // in which members of it run; nil if none does
	why   string              // no other may start: those that run are not in one domain
	whole bool                // all of its asks start together or none does
	later bool                // it may start when enough subgroups run
}

// hasRoom reports whether room is made for a subgroup.
func (s *subgroup) hasRoom() bool {
	return s.whole && slices.ContainsFunc(s.asks, (*ledger.Request).EvictsWhole)
}

// subgroups are those of the asks, in the order in which they are given domains.
func (g *groupPlan) subgroups() (list []*subgroup) {
	byName, running := map[string]*subgroup{}, map[string][]*ledger.Request{}
	if g.each != nil {
		for r := range g.group.Running {
			running[r.Subgroup()] = append(running[r.Subgroup()], r)
		}
	}
	for _, r := range g.asks {
		name := startsIn(r)
		of := byName[name]
		if of == nil {
			of = &subgroup{name: name, later: name != r.Subgroup()}
			if name != "" && g.each != nil {
				of.home, of.why = home(slices.Values(running[r.Subgroup()]), g.each)
			}
			of.whole = name != "" && of.home == nil
			byName[name] = of
			list = append(list, of)
		}
		of.asks = append(of.asks, r)
	}
	if g.group.BySubgroup() {
		list = g.minima(list)
	}
	for _, of := range list { // those that have room come first, and others join them
		if of.hasRoom() {
			of.asks = slices.DeleteFunc(of.asks, func(r *ledger.Request) bool { return !r.EvictsWhole() })
		}
	}
	slices.SortStableFunc(list, func(a, b *subgroup) int {
		return cmp.Or(compareTrue(a.home != nil, b.home != nil), compareTrue(a.whole, b.whole), compareTrue(a.hasRoom(), b.hasRoom()), cmp.Compare(len(b.asks), len(a.asks)))
	})
	return list
}

// startsIn is the subgroup with which an ask starts, or the part of it where others of it run without that.
func startsIn(r *ledger.Request) string {
	if r.StartsWith.BySubgroup() {
		return cmp.Or(r.StartsIn(), r.Subgroup())
	}
	return r.Subgroup()
}

// minima are those subgroups that may start, where so many of them must, each with as many asks as it lacks. Once enough run, others that do are joined too, and so is the group by asks that name none.
func (g *groupPlan) minima(list []*subgroup) (may []*subgroup) {
	starts := g.group.Missing() > 0
	for _, of := range list {
		of.whole = of.asks[0].StartsIn() != ""
		if !of.whole {
			of.later = true
		} else if of.ways = g.group.Ways(of.name, of.asks); len(of.ways) > 0 {
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

// A subgroupSearch gives subgroups domains within that of a plan, if it has one.
type subgroupSearch struct {
	*groupPlan
	root   *topology.Domain // nil is everywhere
	want   int              // asks that must have nodes in all
	parts  int              // subgroups that must have in all, where the group counts by these
	given  int              // subgroups that have
	tries  int              // asks that may still be tried
	placed map[placedIn]int64
	why    string // the first subgroup that had no domain had none
}

// placedIn is where asks of a class are planned.
type placedIn struct {
	domain *topology.Domain
	class  *backlog.Class
}

// makeSubgroups makes the plan subgroup by subgroup.
func (g *groupPlan) makeSubgroups() question.Outcome {
	s := subgroupSearch{groupPlan: g, root: g.within, want: g.count, placed: map[placedIn]int64{}}
	list := g.subgroups()
	if g.group.BySubgroup() {
		s.parts = max(g.group.Terms.Least-g.group.Parts(), 1)
	}
	s.tries = subgroupTriesMax + asksOf(list)
	result := s.next(list)
	if g.within, g.count = s.root, max(s.want, len(g.found)); result == question.Waits {
		g.detail = cmp.Or(s.why, g.detail, "too few of its members fit")
	}
	return result
}

// next gives the first of some subgroups a domain, and then the others; without enough of them it leaves nothing planned.
func (s *subgroupSearch) next(list []*subgroup) question.Outcome {
	lacking, has := s.want-len(s.found), asksOf(list)
	if s.parts > 0 {
		lacking, has = s.parts-s.given, len(list)
	}
	switch {
	case lacking <= 0:
		return question.Placed
	case has < lacking:
		return question.Waits
	}
	first, rest, over := list[0], list[1:], s.over
	for i := -1; i < len(first.ways); i++ {
		of := *first
		if i >= 0 {
			of.asks = first.ways[i]
		}
		if result := s.give(&of, rest); result != question.Waits || s.tries < 0 {
			return result
		}
		over += s.over
		if s.over > 0 { // no other domain has more quota
			break
		}
	}
	s.over = over
	return s.next(rest)
}

// give gives a subgroup a domain, and then the others; if that comes to nothing, it is where any of it had no quota.
func (s *subgroupSearch) give(first *subgroup, rest []*subgroup) question.Outcome {
	over := 0
	for d := range s.domainsOf(first) {
		for most := len(first.asks); most > 0; {
			if s.tries -= most; s.tries < 0 {
				s.why = cmp.Or(s.why, "too many ways to divide it among domains were tried")
				return question.Waits
			}
			before := len(s.found)
			s.over = 0
			result := s.placeIn(first, d, most)
			most = len(s.found) - before - 1 // fewer of it may be enough beside the others
			s.given++
			if result == question.Placed {
				result = s.next(rest)
			}
			if result != question.Waits {
				return result
			}
			s.given--
			s.unplace(first)
			over += s.over
			if first.whole {
				break
			}
		}
		if s.over > 0 { // no other domain has more quota
			break
		}
	}
	s.over = over
	return question.Waits
}

// asksOf is how many asks some subgroups have.
func asksOf(list []*subgroup) (count int) {
	for _, of := range list {
		count += len(of.asks)
	}
	return count
}

// domainsOf visits the domains in which a subgroup may run, the best first.
func (s *subgroupSearch) domainsOf(of *subgroup) iter.Seq[*topology.Domain] {
	switch {
	case of.why != "":
		s.why = cmp.Or(s.why, fmt.Sprintf("subgroup %s: %s", of.name, of.why))
		return func(func(*topology.Domain) bool) {}
	case of.name == "" || s.each == nil:
		return func(yield func(*topology.Domain) bool) { yield(s.root) }
	}
	domains, nearest, fits := 0, fit{}, []fit(nil)
	for d := range s.each.Domains {
		in := within(d, s.root) // the plan may be for a part of it
		if in == nil || of.home != nil && d != of.home {
			continue
		}
		domains++
		is := s.fitFor(in, of)
		if nearest.Domain == nil || is.compare(nearest) < 0 {
			nearest = is
		}
		if s.emptied != nil || is.holds == len(of.asks) || !of.whole && is.holds > 0 {
			fits = append(fits, is)
		}
	}
	if len(fits) == 0 {
		s.why = cmp.Or(s.why, s.explainSubgroup(of, domains, nearest))
	}
	slices.SortFunc(fits, fit.compare)
	return func(yield func(*topology.Domain) bool) {
		for _, is := range fits {
			if !yield(is.Domain) {
				return
			}
		}
	}
}

// within is what a domain and another one share: the smaller of them if it is in the larger; nil if nothing.
func within(d, root *topology.Domain) *topology.Domain {
	switch {
	case root == nil || isIn(d, root):
		return d
	case isIn(root, d):
		return root
	}
	return nil
}

// isIn reports whether a domain is another one or in it.
func isIn(d, other *topology.Domain) bool {
	for ; d != nil; d = d.Parent {
		if d == other {
			return true
		}
	}
	return false
}

// fitFor is what a domain has for a subgroup, beside what is planned there.
func (s *subgroupSearch) fitFor(d *topology.Domain, of *subgroup) (is fit) {
	is.Domain = d
	for from := 0; from < len(of.asks); {
		class, to := s.ClassOf(of.asks[from]), from
		for to < len(of.asks) && s.ClassOf(of.asks[to]) == class {
			to++
		}
		slots := max(s.tallyOf(class).in(d)-s.placed[placedIn{d, class}], 0)
		has := min(slots, int64(to-from))
		is.holds, is.left, from = is.holds+int(has), is.left+slots-has, to
	}
	if s.claims > 0 && s.emptied != nil {
		is.claims = s.claimsIn(d)
	}
	return is
}

// placeIn finds nodes of a domain for the asks of a subgroup: for all of them, or, where members of it run, for so many at most.
func (s *subgroupSearch) placeIn(of *subgroup, d *topology.Domain, most int) question.Outcome {
	before := len(s.found)
	s.within, s.count = d, before+most
	if !of.whole {
		s.count = min(s.count, s.want)
	}
	result := s.place(of.asks)
	for r, n := range s.foundOf(of) {
		s.countIn(r, n, 1)
	}
	if result == question.Waits && !of.whole && len(s.found) > before {
		return question.Placed
	}
	return result
}

// unplace takes the asks of a subgroup out of the plan.
func (s *subgroupSearch) unplace(of *subgroup) {
	for r, n := range s.foundOf(of) {
		on := s.on[n]
		on.asks = slices.DeleteFunc(on.asks, func(other *ledger.Request) bool { return other == r })
		on.used.Sub(r.Amounts)
		on.class = nil
		s.credit(r)
		s.countIn(r, n, -1)
		delete(s.found, r)
	}
	s.order = s.order[:len(s.found)] // they were found last
}

// countIn counts an ask that is planned in a domain, or one less.
func (s *subgroupSearch) countIn(r *ledger.Request, n *ledger.Node, more int64) {
	if s.each != nil {
		s.placed[placedIn{within(s.each.Of(n), s.root), s.ClassOf(r)}] += more
	}
}

// foundOf visits the asks of a subgroup that have nodes.
func (s *subgroupSearch) foundOf(of *subgroup) iter.Seq2[*ledger.Request, *ledger.Node] {
	return func(yield func(*ledger.Request, *ledger.Node) bool) {
		for _, r := range of.asks {
			if n := s.found[r]; n != nil && !yield(r, n) {
				return
			}
		}
	}
}

// explainSubgroup says why a subgroup has no domain.
func (s *subgroupSearch) explainSubgroup(of *subgroup, domains int, nearest fit) string {
	in := ""
	if s.root != nil {
		in = " in " + s.root.Name
	}
	switch {
	case domains == 0:
		return fmt.Sprintf("subgroup %s: there is no domain of %s%s for it", of.name, s.each.Key, in)
	case of.home != nil:
		return fmt.Sprintf("subgroup %s: %s %s, where it runs, has no room", of.name, s.each.Key, of.home.Name)
	}
	return fmt.Sprintf("subgroup %s: none of %s of %s%s has room for %d; %s has the most, for %d",
		of.name, domainsText(domains), s.each.Key, in, len(of.asks), nearest.Name, nearest.holds)
}

// togetherWith visits the asks that start with one whose group runs: itself, or all of its subgroup, or of a part of that.
func togetherWith(r *ledger.Request) iter.Seq[*ledger.Request] {
	return func(yield func(*ledger.Request) bool) {
		g := r.StartsWith
		if g.Each() == "" && !g.BySubgroup() || r.Subgroup() == "" {
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

func (g *groupPlan) tallyOf(c *backlog.Class) *tally {
	at := slices.IndexFunc(g.tallies, func(t tally) bool { return t.class == c })
	return &g.tallies[at]
}
