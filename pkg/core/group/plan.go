package group

import (
	"cmp"
	"iter"
	"slices"
	"strings"

	"github.com/narwhal-scheduler/narwhal/pkg/core/backlog"
	"github.com/narwhal-scheduler/narwhal/pkg/core/ledger"
	"github.com/narwhal-scheduler/narwhal/pkg/core/preemption"
	"github.com/narwhal-scheduler/narwhal/pkg/core/question"
	"github.com/narwhal-scheduler/narwhal/pkg/core/topology"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// A groupPlan finds nodes for enough asks of a group. It changes nothing.
//
// When it has found too few, it may go on as if all had left that may leave, to say where room is
// to be kept.
type groupPlan struct {
	*Groups
	group   *ledger.Group
	level   *topology.Level                  // of which the group requires one domain; nil if it may run anywhere
	prefers *topology.Level                  // of whose domains it takes as few as possible; nil if it says nothing
	levels  map[string]*topology.Level       // of which subgroups, and parts of these, require one domain, by name; nil is one too many
	trees   []*topology.Level                // one of each tree of domains that is looked at
	domains map[*topology.Level]int          // of those levels, as far as they were counted
	running map[string][]*ledger.Request     // members, by the parts that they are in; nil until they are looked for
	within  *topology.Domain                 // whose nodes alone are looked at; nil is all
	tallies []tally                          // of the classes of the asks, where it requires or prefers domains
	failed  *backlog.Class                   // of which the first ask had no node; nil if all had
	count   int                              // asks that must start
	claims  int                              // of asks of the group
	asks    []*ledger.Request                // that may: by priority, those of a class together, the oldest first
	found   map[*ledger.Request]*ledger.Node // of those for which there is one
	order   []*ledger.Request                // the same, in the order in which it was found: one may need those before it
	on      map[*ledger.Node]*plannedNode
	uses    map[*ledger.Application]*plannedUses
	planned map[*ledger.Account]*plannedUse
	emptied []preemption.CloseNode // as if all had left there, those first where the group has claims; nil at first
	calls   int
	over    int        // asks that their quotas had no room for
	short   *quotaNeed // the first of these, if all asks must start
	detail  string     // why there are too few

	balances  bool // asks are evenly divided among domains
	splits    bool // subgroups may be divided among domains
	most      int  // asks that are to be found in the domain that is looked at, beside those before; zero is any number
	avoids    bool // nodes where binding failed are left out
	strays    bool // members run in several domains, or outside of all
	refused   bool // the resource manager has refused asks
	exhausted bool // more nodes could be found, and no more questions are asked now
}

// A plannedNode is a node with what is planned on it.
type plannedNode struct {
	used   resources.Amounts
	asks   []*ledger.Request
	class  *backlog.Class    // of the asks that were tried last
	room   resources.Amounts // what is left for these
	agreed bool              // the resource manager has agreed to them
}

// plannedUse is what is planned of an account, beside what it is charged for, and plannedUses what
// is of those of an application.
type plannedUse struct {
	account *ledger.Account
	resources.Sum
	applications int // that count from then on
}

type plannedUses struct {
	of   []*plannedUse
	asks int  // that are planned
	new  bool // it does not count yet
}

// begins reports whether an application counts once another ask of it is planned.
func (u *plannedUses) begins() bool { return u.new && u.asks == 0 }

// newGroupPlan begins a plan for those of some asks of a group that may run now, of which so many must.
func (s *Groups) newGroupPlan(of *ledger.Group, asks iter.Seq[*ledger.Request], count int) *groupPlan {
	g := s.confined(of)
	g.count = count
	for r := range asks {
		if s.GroupOf(r) == nil || r.KeepsRoom() {
			continue
		}
		g.asks = append(g.asks, r)
		g.avoids = g.avoids || r.Wait != nil && r.Wait.Avoid != ""
	}
	g.beginIn(nil)
	g.byClass()
	return g
}

// byClass puts the asks in order, those of a class together, and counts what fits where for each class.
func (g *groupPlan) byClass() {
	slices.SortStableFunc(g.asks, func(a, b *ledger.Request) int {
		return cmp.Or(compareMembers(a, b), cmp.Compare(g.ClassOf(a).Key, g.ClassOf(b).Key))
	})
	g.tallies = nil
	if len(g.trees) > 0 {
		g.tally()
	}
}

// confined is a plan that knows what a group requires, and no more.
func (s *Groups) confined(of *ledger.Group) *groupPlan {
	g := &groupPlan{Groups: s, group: of, claims: s.claimsOf(of) + len(of.Lost)}
	g.findLevels()
	return g
}

// levelsMax is how many levels a group and its subgroups require at most, each within others: a subgroup that requires a further one does not start.
const levelsMax = 16

// findLevels finds the levels of a group and of its subgroups, each within that of what it is in.
func (g *groupPlan) findLevels() {
	if !g.group.IsDivided() {
		g.findLevel()
		return
	}
	var paths [][]string
	add := func(within []string, key string) int {
		path := append(slices.Clip(within), key)
		at := slices.IndexFunc(paths, func(other []string) bool { return slices.Equal(other, path) })
		if at < 0 && len(paths) < levelsMax {
			at, paths = len(paths), append(paths, path)
		}
		return at
	}
	if key := g.group.Requires(); key != "" {
		add(nil, key)
	}
	root := slices.Concat(paths...)
	parts := map[string]int{} // the path of each that requires a domain, less than zero for none
	for name, key := range g.group.Levels {
		at := -1
		if in, is := parts[above(name, parts)]; !is {
			at = add(root, key)
		} else if in >= 0 {
			at = add(paths[in], key)
		}
		parts[name] = at
	}
	levels := g.Order.Domains.Levels(paths...)
	if len(root) > 0 {
		g.level = levels[0][0]
	}
	g.levels = make(map[string]*topology.Level, len(parts))
	for name, at := range parts {
		if g.levels[name] = nil; at >= 0 {
			g.levels[name] = levels[at][len(levels[at])-1]
		}
	}
	g.trees = topology.OneOfEachTree(levels)
}

// findLevel finds the level of a group of which no subgroup requires one.
func (g *groupPlan) findLevel() {
	switch require, prefer := g.group.Requires(), g.group.Prefers(); {
	case require != "":
		g.level = g.Order.Domains.Level(require)
		g.trees = []*topology.Level{g.level}
	case prefer != "":
		g.prefers = g.Order.Domains.Level(prefer)
		g.trees = []*topology.Level{g.prefers}
	}
}

// above is the smallest part that one is in of those that are known; empty for none.
func above(name string, known map[string]int) string {
	for at := strings.LastIndexByte(name, '/'); at >= 0; at = strings.LastIndexByte(name[:at], '/') {
		if _, is := known[name[:at]]; is {
			return name[:at]
		}
	}
	return ""
}

// isDivided reports whether subgroups of the group require domains.
func (g *groupPlan) isDivided() bool { return len(g.levels) > 0 }

// finestLike is the finest domain of a node in the tree of that which is looked at, or else of the level that the group prefers.
func (g *groupPlan) finestLike(n *ledger.Node) *topology.Domain {
	if g.within != nil {
		return g.Order.Domains.FinestLike(g.within, n)
	}
	return g.prefers.Finest(n)
}

// compareMembers orders asks of a group by what each says of itself, whatever the priority of the group is, and those before others
// for which room is made: they are to start.
func compareMembers(a, b *ledger.Request) int {
	return cmp.Or(cmp.Compare(b.Within(), a.Within()), compareTrue(a.EvictsWhole(), b.EvictsWhole()))
}

// beginIn forgets what is planned, to plan on the nodes of a domain.
func (g *groupPlan) beginIn(d *topology.Domain) {
	g.within, g.failed, g.emptied, g.calls, g.over, g.detail = d, nil, nil, 0, 0, ""
	g.found, g.order, g.on = map[*ledger.Request]*ledger.Node{}, nil, map[*ledger.Node]*plannedNode{}
	g.uses, g.planned = map[*ledger.Application]*plannedUses{}, map[*ledger.Account]*plannedUse{}
	g.balances = g.group.Terms.Balanced && g.group.Runs() == 0
}

// A need is how many asks of a group have the same amounts.
type need struct {
	class *backlog.Class
	count int64
}

// needs are how many asks there are of which amounts, if they lack room only.
func (g *groupPlan) needs() (list []need) {
	if g.over > 0 || g.exhausted || len(g.asks) < g.group.Asks.Len() {
		return nil
	}
	for i, r := range g.asks {
		if i == 0 || g.ClassOf(r) != g.ClassOf(g.asks[i-1]) {
			list = append(list, need{class: g.ClassOf(r)})
		}
		list[len(list)-1].count++
	}
	return list
}

// make finds nodes for the first asks in order that fit, of those for which there are none yet.
// Where none can be passed over, the quotas must have room for all of them first.
func (g *groupPlan) make() question.Outcome {
	if g.within == nil && !g.hasQuotaForAll() { // in a domain this was looked at before
		return question.Waits
	}
	if g.isDivided() || g.group.BySubgroup() {
		return g.makeSubgroups()
	}
	return g.place(g.asks)
}

// place finds nodes for the first of some asks that fit, until there are enough. Where the resource manager has refused some of them, these are
// tried once more beside those that have nodes since, which they may need, as long as more of them have.
func (g *groupPlan) place(asks []*ledger.Request) question.Outcome {
	for over := g.over; ; g.over = over {
		before := len(g.found)
		g.refused = false
		if result := g.placeOnce(asks); result != question.Waits {
			return result
		}
		if !g.refused || g.Options.Simulate == nil || len(g.found) == before {
			g.detail = cmp.Or(g.detail, "too few of its members fit")
			return question.Waits
		}
	}
}

// placeOnce tries each ask once, those first for which room was made, where that is.
func (g *groupPlan) placeOnce(asks []*ledger.Request) question.Outcome {
	if g.placeOnClaims(asks) == question.Flush {
		return question.Flush
	}
	rest := slices.DeleteFunc(slices.Clone(asks), func(r *ledger.Request) bool { return g.found[r] != nil })
	for len(rest) > 0 && len(g.found) < g.count && g.over <= len(g.asks)-g.count {
		alike := rest
		if other := slices.IndexFunc(rest, func(r *ledger.Request) bool { return g.ClassOf(r) != g.ClassOf(rest[0]) }); other > 0 {
			alike = rest[:other]
		}
		rest = rest[len(alike):]
		result := g.placeAlike(alike)
		if result == question.Waits && g.failed == nil {
			g.failed = g.ClassOf(alike[0])
		}
		if result == question.Flush || result == question.Waits && len(g.asks) == g.count && !(g.refused && g.Options.Simulate != nil) {
			return result
		}
	}
	if len(g.found) == g.count {
		return question.Placed
	}
	return question.Waits
}

// hasQuotaForAll reports whether the quotas have room for all asks, where none can be passed over.
func (g *groupPlan) hasQuotaForAll() bool {
	if g.emptied != nil || len(g.asks) != g.count {
		return true
	}
	for _, r := range g.asks {
		if g.short == nil {
			g.short = g.lacksQuota(r)
		}
		g.charge(r)
	}
	if short := g.short; short != nil {
		g.over++
		if short.amounts != nil { // what all of them need of it
			short.amounts = g.planned[short.Account].Clone()
		}
	}
	g.uses, g.planned = map[*ledger.Application]*plannedUses{}, map[*ledger.Account]*plannedUse{}
	return g.short == nil
}

// usesOf is what is planned of the accounts of an application that have limits.
func (g *groupPlan) usesOf(app *ledger.Application) *plannedUses {
	uses := g.uses[app]
	if uses != nil {
		return uses
	}
	uses = &plannedUses{new: !app.Counts}
	g.uses[app] = uses
	for _, account := range app.Accounts() {
		for ; account != nil; account = account.Parent {
			if len(account.Max) == 0 && account.ApplicationsMax == 0 {
				continue
			}
			if g.planned[account] == nil {
				g.planned[account] = &plannedUse{account: account}
			}
			uses.of = append(uses.of, g.planned[account])
		}
	}
	return uses
}

// hasQuota reports whether the accounts of an ask have room for it beside what is planned. They may be
// of several applications and users: what is too much for one is not for all.
func (g *groupPlan) hasQuota(r *ledger.Request) bool {
	if g.lacksQuota(r) != nil {
		g.over++
		return false
	}
	return true
}

// A quotaNeed is what an account has no room for. Without amounts it takes no further application.
type quotaNeed struct {
	*ledger.Account
	amounts    resources.Amounts
	importance int32
}

// remains reports whether there is still no room for it, as far as that is known.
func (q *quotaNeed) remains() bool {
	return q != nil && q.amounts != nil && !q.HasRoom(q.amounts, q.importance)
}

// lacksQuota is the first of the accounts of an ask that has no room for it; nil for none.
func (g *groupPlan) lacksQuota(r *ledger.Request) *quotaNeed {
	uses := g.usesOf(r.App)
	for _, use := range uses.of {
		a := use.account
		switch {
		case !a.HasRoom(use.Plus(r.Amounts), r.Importance):
			g.detail = "the quota of " + a.Subject.String()
			return &quotaNeed{a, use.Plus(r.Amounts), r.Importance}
		case uses.begins() && a.ApplicationsMax > 0 && a.Applications+use.applications >= a.ApplicationsMax:
			g.detail = "too many applications of " + a.Subject.String()
			return &quotaNeed{Account: a}
		}
	}
	return nil
}

// charge plans an ask with its accounts, and its application if that does not count yet.
func (g *groupPlan) charge(r *ledger.Request) {
	uses := g.usesOf(r.App)
	for _, use := range uses.of {
		if use.Add(r.Amounts); uses.begins() {
			use.applications++
		}
	}
	uses.asks++
}

// credit takes back that an ask was charged.
func (g *groupPlan) credit(r *ledger.Request) {
	uses := g.usesOf(r.App)
	uses.asks--
	for _, use := range uses.of {
		if use.Sub(r.Amounts); uses.begins() {
			use.applications--
		}
	}
}
