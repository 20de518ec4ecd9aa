package group

import (
	"cmp"
	"fmt"
	"iter"
	"slices"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/core/backlog"
	"github.com/narwhal-scheduler/narwhal/pkg/core/ledger"
	"github.com/narwhal-scheduler/narwhal/pkg/core/question"
	"github.com/narwhal-scheduler/narwhal/pkg/core/topology"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// A group that requires a level runs in one domain of it. Members that run fix the domain. Before, it is the one that fits
// best, of those in which a plan is found: most members beyond the minimum have room there, something runs there already,
// least room is left then, most is used of the domain above, it has the first name. A domain that has too few slots for the
// classes of the asks is not looked at.

// A fit is a domain with what it has for the asks of a plan, as far as amounts and former refusals tell.
type fit struct {
	*topology.Domain
	holds int   // asks that have a slot
	left  int64 // slots beside these

	claims int // of the group, where that was counted
}

// fitOf is what a domain has for asks of some classes.
func fitOf(d *topology.Domain, tallies []tally) fit {
	is := fit{Domain: d}
	for i := range tallies {
		slots := max(tallies[i].in(d), 0)
		has := min(slots, int64(tallies[i].count))
		is.holds, is.left = is.holds+int(has), is.left+slots-has
	}
	return is
}

// compare orders domains: the one to be taken first, which is where the group has claims, if that was counted.
func (f fit) compare(other fit) int {
	return cmp.Or(
		cmp.Compare(other.claims, f.claims),
		cmp.Compare(other.holds, f.holds),
		compareBusy(f.Domain, other.Domain),
		cmp.Compare(f.left, other.left),
		cmp.Compare(other.Parent.Used(), f.Parent.Used()),
		f.Compare(other.Domain),
	)
}

// compareBusy orders domains in which something runs before others.
func compareBusy(a, b *topology.Domain) int { return compareTrue(a.Busy > 0, b.Busy > 0) }

// compareTrue orders what is true before what is not.
func compareTrue(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	}
	return 1
}

// home is the domain in which some members of a group run; nil if none does. Why is why no other may start, where these are not in one
// domain; empty if they are.
func home(running iter.Seq[*ledger.Request], level *topology.Level) (d *topology.Domain, why string) {
	var outside *ledger.Request // of those in no domain, the first key
	var last *topology.Domain   // of the domains, the last by name
	for r := range running {
		switch is := level.Of(r.RunsOn); {
		case is == nil && (outside == nil || r.Key < outside.Key):
			outside = r
		case is == nil:
		case d == nil:
			d, last = is, is
		case is.Compare(d) < 0:
			d = is
		case is.Compare(last) > 0:
			last = is
		}
	}
	switch {
	case outside != nil:
		return nil, fmt.Sprintf("%s runs on node %s, which is in no domain of %s", outside.Key, outside.RunsOn.ID, level.Key)
	case d != last:
		return nil, fmt.Sprintf("members run in two domains of %s, %s and %s", level.Key, d.Name, last.Name)
	}
	return d, ""
}

// A survey is what was found of the domains for a plan.
type survey struct {
	domains int    // that there are
	home    string // the one in which the group runs; empty for none
	fits    []fit  // those with enough slots
	nearest fit    // the best of all
	refused int    // have enough slots, but for what was refused before
	why     string // there is no plan in the best of those with enough, or it was refused
}

// find makes the plan: anywhere, or in the best domain in which there is one. Subgroups are divided only if there is none otherwise.
func (g *groupPlan) find() question.Outcome {
	g.splits = false
	result := g.findOnce()
	if result == question.Waits && g.group.Terms.Split && g.isDivided() && !g.strays && g.short == nil {
		g.splits = true
		result = g.findOnce()
	}
	return result
}

func (g *groupPlan) findOnce() question.Outcome {
	switch {
	case g.prefers != nil:
		return g.makeInFew()
	case g.level == nil:
		return g.makeIn(nil)
	}
	if !g.hasQuotaForAll() {
		return question.Waits
	}
	at, why := home(g.group.Running, g.level)
	if why != "" {
		g.detail, g.strays = why, true
		return question.Waits
	}
	is := g.look(at)
	for i, one := range is.fits {
		result := g.makeIn(one.Domain)
		if result != question.Waits || g.over > len(g.asks)-g.count { // no other domain has more quota
			return result
		}
		if i == 0 {
			is.why = g.detail
		}
	}
	g.detail = g.explain(&is)
	return question.Waits
}

// look finds the domains with enough slots, the best first.
func (g *groupPlan) look(at *topology.Domain) (is survey) {
	if at != nil {
		is.home = at.Name
	}
	for d := range g.domainsFor(at) {
		is.domains++
		one := fitOf(d, g.tallies)
		if is.nearest.Domain == nil || one.compare(is.nearest) < 0 {
			is.nearest = one
		}
		switch {
		case one.holds >= g.count:
			is.fits = append(is.fits, one)
		case g.wouldHold(d) >= g.count:
			is.refused++
		}
	}
	if is.refused > 0 {
		for i := range g.tallies {
			if refused := g.tallies[i].class.Refused; refused != nil && is.why == "" {
				is.why = refused.Text()
			}
		}
	}
	slices.SortFunc(is.fits, fit.compare)
	return is
}

// wouldHold is how many asks would have a slot in a domain if none had been refused.
func (g *groupPlan) wouldHold(d *topology.Domain) (holds int) {
	for i := range g.tallies {
		holds += int(min(max(g.tallies[i].In(d), g.tallies[i].in(d)), int64(g.tallies[i].count)))
	}
	return holds
}

// domainsFor visits the domains in which a group may run: that in which it does, or all.
func (g *groupPlan) domainsFor(at *topology.Domain) func(func(*topology.Domain) bool) {
	if at != nil {
		return func(yield func(*topology.Domain) bool) { yield(at) }
	}
	return g.level.Domains
}

// makeInFew makes the plan in few domains of the level that the group prefers; where asks of several classes do not all find a node so, as if
// it preferred none.
func (g *groupPlan) makeInFew() question.Outcome {
	result := g.makeIn(nil)
	if result == question.Waits && g.over == 0 && g.areMixed(g.asks) {
		g.prefers = nil
		return g.makeIn(nil)
	}
	return result
}

// makeIn makes the plan in one domain, or, with nil, on all nodes. Where the asks are of several classes, those with the least slots for each of them come
// first, or, where slots are not counted, the largest; if that fails, once more those that had no node; and, where more are there than must start, the others
// first.
func (g *groupPlan) makeIn(d *topology.Domain) question.Outcome {
	if !g.areMixed(g.asks) {
		g.beginIn(d)
		return g.make()
	}
	try := func(order func(a, b *ledger.Request) int) question.Outcome {
		slices.SortStableFunc(g.asks, order)
		g.beginIn(d)
		return g.make()
	}
	hardest := g.hardestFirst(d)
	result := try(hardest)
	if first := g.failed; result == question.Waits && first != nil && g.over == 0 {
		result = try(func(a, b *ledger.Request) int {
			return cmp.Or(compareTrue(g.ClassOf(a) == first, g.ClassOf(b) == first), hardest(a, b))
		})
	}
	if result == question.Waits && len(g.asks) > g.count && g.over == 0 {
		result = try(g.easiestFirst(d))
	}
	return result
}

// areMixed reports whether some asks are of several classes.
func (g *groupPlan) areMixed(asks []*ledger.Request) bool {
	return slices.ContainsFunc(asks, func(r *ledger.Request) bool { return g.ClassOf(r) != g.ClassOf(asks[0]) })
}

// hardestFirst orders asks by what each says of itself, and then by how hard it is to find nodes of a domain for all of their classes, or, with nil,
// of all nodes.
func (g *groupPlan) hardestFirst(d *topology.Domain) func(a, b *ledger.Request) int {
	harder := g.harder(d)
	return func(a, b *ledger.Request) int {
		return cmp.Or(compareMembers(a, b), harder(g.ClassOf(a), g.ClassOf(b)))
	}
}

// easiestFirst is the same, with the classes the other way round.
func (g *groupPlan) easiestFirst(d *topology.Domain) func(a, b *ledger.Request) int {
	harder := g.harder(d)
	return func(a, b *ledger.Request) int {
		return cmp.Or(compareMembers(a, b), harder(g.ClassOf(b), g.ClassOf(a)))
	}
}

// harder orders classes for that.
func (g *groupPlan) harder(d *topology.Domain) func(a, b *backlog.Class) int {
	hard := func(c *backlog.Class) (slots, count int64) {
		t := g.tallyOf(c)
		if d == nil {
			return t.All(), int64(t.count)
		}
		return t.in(d), int64(t.count)
	}
	share := func(c *backlog.Class) resources.Share {
		return resources.DominantShare(c.Amounts, g.Capacity.Amounts, nil)
	}
	return func(a, b *backlog.Class) int {
		switch {
		case a == b:
			return 0
		case g.tallies == nil:
			return cmp.Or(share(b).Compare(share(a)), cmp.Compare(a.Key, b.Key))
		}
		slotsA, countA := hard(a)
		slotsB, countB := hard(b)
		return cmp.Or(cmp.Compare(slotsA*countB, slotsB*countA), cmp.Compare(a.Key, b.Key))
	}
}

// explain says why there is no plan in any domain: which is the nearest, and for how many what came first.
func (g *groupPlan) explain(is *survey) string {
	key, lacking := g.level.Key, is.domains-len(is.fits)-is.refused
	switch {
	case is.domains == 0:
		return fmt.Sprintf("no node has a value of %s", key)
	case is.home != "" && lacking > 0:
		return fmt.Sprintf("%s %s, where it runs, has room for %d of %d", key, is.home, is.nearest.holds, g.count)
	case is.home != "":
		return fmt.Sprintf("%s %s, where it runs, takes none: %s", key, is.home, is.why)
	case lacking == is.domains && is.nearest.holds == 0:
		return fmt.Sprintf("none of %s of %s has room for any", domainsText(is.domains), key)
	case lacking == is.domains:
		return fmt.Sprintf("none of %s of %s has room for %d; %s has the most, for %d", domainsText(is.domains), key, g.count, is.nearest.Name, is.nearest.holds)
	}
	text := fmt.Sprintf("none of %s of %s takes %d", domainsText(is.domains), key, g.count)
	if lacking > 0 {
		text += fmt.Sprintf("; %d lack room", lacking)
	}
	return fmt.Sprintf("%s; %d have room, but: %s", text, is.domains-lacking, is.why)
}

func domainsText(n int) string {
	if n == 1 {
		return "1 domain"
	}
	return fmt.Sprintf("%d domains", n)
}

// isShortOfDomains reports whether no domain has become of use to a group since it was tried last: none has the slots for what
// it needs, or those that have did not change.
func (s *Groups) isShortOfDomains(g *ledger.Group) bool {
	at, level := s.at(g), s.Order.Domains.Level(g.Requires())
	d, why := home(g.Running, level)
	if why != "" {
		return true
	}
	tallies := make([]tally, len(at.needs))
	for i, need := range at.needs {
		tallies[i] = s.tally(g, []*topology.Level{level}, need.class)
		tallies[i].count = int(need.count)
	}
	helps := func(d *topology.Domain) bool {
		if fitOf(d, tallies).holds < max(g.Missing(), 1) {
			return false
		}
		for n := range d.AllNodes {
			if n.FreedAt > at.tried {
				return true
			}
		}
		return false
	}
	if d != nil {
		return !helps(d)
	}
	for d := range level.Domains {
		if helps(d) {
			return false
		}
	}
	return true
}

// forgetRefusals has nodes asked again about the members of a group that looks at domains.
func (s *Groups) forgetRefusals(g *ledger.Group) {
	if !g.IsConfined() && g.Prefers() == "" {
		return
	}
	for r := range g.Asks.All {
		if c := s.ClassOf(r); c.Refused != nil {
			c.Refused.Again(s.NodesFreed)
		}
	}
}

// heldReason is why an ask of a group waits that is held back.
func heldReason(at *waitingGroup) api.Reason {
	if at.runs {
		return api.NoNodeFits // in the domain of the group
	}
	return api.AwaitsGang
}
