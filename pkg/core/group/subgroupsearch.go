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

// A subgroupSearch gives subgroups domains within that of a plan, if it has one.
type subgroupSearch struct {
	*groupPlan
	want   int // asks that must have nodes in all
	parts  int // subgroups that must have in all, where the group counts by these
	given  int // subgroups that have
	tries  int // asks that may still be tried
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
	s := subgroupSearch{groupPlan: g, want: g.count, placed: map[placedIn]int64{}}
	root, list := g.within, g.subgroups()
	if g.group.BySubgroup() {
		s.parts = max(g.group.Terms.Least-g.group.Parts(), 1)
	}
	s.tries = subgroupTriesMax + asksOf(list)
	result := s.next(list)
	if g.within, g.count = root, max(s.want, len(g.found)); result == question.Waits {
		g.detail = cmp.Or(s.why, g.detail, "too few of its members fit")
	}
	return result
}

// next gives the first of some subgroups a domain, and then the others; without enough of them it leaves nothing planned.
func (s *subgroupSearch) next(list []*subgroup) question.Outcome {
	lacking, has := s.want-len(s.found), asksOf(list)
	if s.parts > 0 {
		lacking, has = s.parts-s.given, outerOf(list)
	}
	switch {
	case len(list) > 0 && list[0].inner:
		return s.give(list[0], list[1:])
	case lacking <= 0:
		if at := slices.IndexFunc(list, func(of *subgroup) bool { return of.inner }); at >= 0 {
			return s.next(list[at:])
		}
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
		result, overIn := s.giveIn(d, first, rest)
		if result != question.Waits || s.tries < 0 {
			return result
		}
		over += overIn
		if s.over > 0 { // no other domain has more quota
			break
		}
	}
	s.over = over
	return question.Waits
}

// giveIn gives a subgroup a domain, and then the others theirs. Over is for how many asks there was no quota in all.
func (s *subgroupSearch) giveIn(d *topology.Domain, first *subgroup, rest []*subgroup) (result question.Outcome, over int) {
	if inner := s.inner(first, d); inner != nil {
		if !s.mayTry(1) {
			return question.Waits, over
		}
		result = s.giveInner(first, inner, rest)
		return result, s.over
	}
	for most := len(first.asks); most > 0; {
		if !s.mayTry(most) {
			return question.Waits, over
		}
		before := len(s.found)
		s.over = 0
		result = s.placeIn(first, d, most)
		most = len(s.found) - before - 1 // fewer of it may be enough beside the others
		s.countGiven(first, 1)
		if result == question.Placed {
			result = s.next(rest)
		}
		if result != question.Waits {
			return result, over
		}
		s.countGiven(first, -1)
		s.unplace(first)
		over += s.over
		if first.whole {
			break
		}
	}
	return question.Waits, over
}

// mayTry reports whether nodes may be looked for, for so many asks more.
func (s *subgroupSearch) mayTry(asks int) bool {
	if s.tries -= asks; s.tries < 0 {
		s.why = cmp.Or(s.why, "too many ways to divide it among domains were tried")
	}
	return s.tries >= 0
}

// countGiven counts a subgroup that has a domain, or one less; what starts with one that has counts with it.
func (s *subgroupSearch) countGiven(of *subgroup, more int) {
	if !of.inner {
		s.given += more
	}
}

// giveInner gives the parts of a subgroup domains within its own, and then the others theirs. If it is not whole, they count.
func (s *subgroupSearch) giveInner(first *subgroup, inner, rest []*subgroup) (result question.Outcome) {
	if s.over = 0; first.whole {
		s.countGiven(first, 1)
	}
	result = s.next(among(inner, rest))
	if first.whole && result == question.Waits {
		s.countGiven(first, -1)
	}
	return result
}

// domainsOf visits the domains in which a subgroup may run, the best first.
func (s *subgroupSearch) domainsOf(of *subgroup) iter.Seq[*topology.Domain] {
	switch {
	case of.why != "":
		s.why = cmp.Or(s.why, fmt.Sprintf("subgroup %s: %s", of.name, of.why))
		return func(func(*topology.Domain) bool) {}
	case of.level == nil:
		return func(yield func(*topology.Domain) bool) { yield(of.in) }
	}
	domains, nearest, fits := 0, fit{}, []fit(nil)
	for d := range of.level.DomainsIn(of.in) {
		if of.home != nil && d != of.home {
			continue
		}
		domains++
		is := s.fitFor(d, of)
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
	if s.group.Terms.Split && of.home == nil {
		s.theirsFirst(fits, of)
	}
	return func(yield func(*topology.Domain) bool) {
		for _, is := range fits {
			if !yield(is.Domain) {
				return
			}
		}
		if s.splits {
			yield(of.in)
		}
	}
}

// theirsFirst puts domains first in which many of a subgroup run.
func (s *subgroupSearch) theirsFirst(fits []fit, of *subgroup) {
	run := map[*topology.Domain]int{}
	for _, r := range s.runningIn()[of.part] {
		run[of.level.Of(r.RunsOn)]++
	}
	slices.SortStableFunc(fits, func(a, b fit) int { return cmp.Compare(run[b.Domain], run[a.Domain]) })
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
	if s.splits && d == nil {
		s.prefers = of.level
		defer func() { s.prefers = nil }()
	}
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

// countIn counts an ask that is planned in the domains of a node, or one less.
func (s *subgroupSearch) countIn(r *ledger.Request, n *ledger.Node, more int64) {
	if s.isDivided() {
		for d := range domainsIn(s.trees, n) {
			s.placed[placedIn{d, s.ClassOf(r)}] += more
		}
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
	if of.in != nil {
		in = " in " + of.in.Name
	}
	switch {
	case domains == 0:
		return fmt.Sprintf("subgroup %s: there is no domain of %s%s for it", of.name, of.level.Key, in)
	case of.home != nil:
		return fmt.Sprintf("subgroup %s: %s %s, where it runs, has no room", of.name, of.level.Key, of.home.Name)
	}
	return fmt.Sprintf("subgroup %s: none of %s of %s%s has room for %d; %s has the most, for %d",
		of.name, domainsText(domains), of.level.Key, in, len(of.asks), nearest.Name, nearest.holds)
}
