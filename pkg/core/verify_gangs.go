package core

import (
	"fmt"
	"slices"

	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// gang checks what is counted of the task groups of an application.
func (v *verifier) gang(app *application) {
	g := app.gang
	if g == nil {
		return
	}
	var placed, pending resources.Sum
	placeholders, groups := 0, map[*taskGroup]*taskGroup{}
	for _, group := range g.groups {
		groups[group] = &taskGroup{}
	}
	for _, r := range app.allocations {
		group := r.taskGroup()
		if !r.Placeholder || group == nil {
			continue
		}
		placeholders++
		placed.Add(r.Amounts)
		listed := group.free.has(r)
		if wanted := r.eviction == nil && !r.replaced(); listed != wanted {
			v.breaks("placeholder %s may be replaced is %t, is listed is %t", r.Key, wanted, listed)
		}
		if listed {
			groups[group].free.count++
		}
	}
	for _, r := range app.asks {
		if group := r.taskGroup(); group != nil {
			checkMember(v, r, group, groups[group], &pending)
		}
	}
	v.equal("placeholders", string(app.id), g.placed, placed)
	v.equal("waiting placeholders", string(app.id), g.pending, pending)
	if placeholders != g.placeholders {
		v.breaks("application %s has %d placeholders and counts %d", app.id, placeholders, g.placeholders)
	}
	for _, group := range g.groups {
		checkTaskGroup(v, group, groups[group])
	}
}

// checkTaskGroup checks a task group against what was counted of it, and which of its asks wait for
// placeholders.
func checkTaskGroup(v *verifier, group, counted *taskGroup) {
	of := fmt.Sprintf("task group %s of %s", group.name, group.application.id)
	if counted.asks != group.asks || counted.free.count != group.free.count || counted.made != int64(group.held.len()) || counted.replaced != int64(group.others.len()) {
		v.breaks("%s counts %d and %d placeholders and has %d and %d", of, group.asks, group.free.count, counted.asks, counted.free.count)
	}
	for r := range group.free.first.all {
		if !group.free.has(r) || group.free.on[r.node].head() != r {
			v.breaks("placeholder %s is not the first one on its node", r.Key)
		}
	}
	if !v.settled {
		return
	}
	if r := group.nextToHold(); r != nil {
		v.breaks("%s: ask %s waits for no placeholder, and there is one left or one that comes later waits", of, r.Key)
	}
	if group.held.len() > group.left() {
		v.breaks("%s: %d asks wait for %d placeholders", of, group.held.len(), group.left())
	}
}

// checkMember checks an ask of a task group, and counts it.
func checkMember(v *verifier, r *request, group, counted *taskGroup, pending *resources.Sum) {
	if r.Placeholder {
		counted.asks++
		pending.Add(r.Amounts)
		return
	}
	pairs := 0
	if r.pair != nil {
		pairs++
	}
	if group.held.has(r) {
		pairs++
		counted.made++
	}
	if r.isHeld() != (pairs == 1) || pairs > 1 {
		v.breaks("ask %s is held back is %t, and waits for %d placeholders", r.Key, r.isHeld(), pairs)
	}
	if group.others.has(r) {
		pairs++
		counted.replaced++
	}
	if pairs != 1 {
		v.breaks("ask %s of task group %s is in %d of its lists", r.Key, group.name, pairs)
	}
}

// checkPair checks that a placeholder which is to end runs, and that its ask waits.
func checkPair(v *verifier, r *request) {
	with := r.pair
	switch {
	case with.placeholder.pair != with || with.ask != nil && with.ask.pair != with || r != with.placeholder && r != with.ask:
		v.breaks("%s is in no pair with %s", r.Key, with.placeholder.Key)
	case with.placeholder.node == nil || v.p.requests[with.placeholder.Key] != with.placeholder:
		v.breaks("placeholder %s is to be replaced and does not run", with.placeholder.Key)
	case with.ask == nil:
	case with.ask.node != nil || v.p.requests[with.ask.Key] != with.ask:
		v.breaks("%s takes the place of a placeholder and does not wait", with.ask.Key)
	case !with.ask.Amounts.FitsIn(with.placeholder.Amounts):
		v.breaks("%s takes the place of %s, which is smaller", with.ask.Key, with.placeholder.Key)
	}
}

// expected checks the room that is kept for asks whose placeholders run elsewhere.
func (v *verifier) expected(n *node) {
	v.equal("awaited", string(n.id), n.details.read().awaited, v.add(n.details.read().expected))
	if n.expects != (len(n.details.read().expected) > 0) {
		v.breaks("node %s expects %d asks, and says %t", n.id, len(n.details.read().expected), n.expects)
	}
	for _, r := range n.details.read().expected {
		if with := r.pair; with == nil || with.ask != r || with.node != n {
			v.breaks("node %s expects %s, which runs elsewhere", n.id, r.Key)
		}
	}
}

// checkGroupOf checks that the requests of an application belong to the group that they name.
func checkGroupOf(v *verifier, app *application) {
	for i, list := range [][]*request{app.allocations, app.asks} {
		for _, r := range list {
			name, _ := r.groupName()
			switch g := r.startsWith; {
			case g == nil && name == "":
			case g == nil || g.name != name || v.p.together[name] != g || g.gang != nil && g.gang != app.gang:
				v.breaks("%s is no member of group %q, which it names", r.Key, name)
			case g.asks.has(r) != (i == 1 && (g.gang == nil || r.Placeholder)):
				v.breaks("%s is among the asks of group %s is %t", r.Key, name, i == 0)
			}
		}
	}
}

// checkGroups checks what is counted of groups, and which of their asks are held back.
func checkGroups(v *verifier) {
	counted := map[*group]*group{}
	for _, g := range v.p.together {
		counted[g] = &group{}
	}
	for _, r := range v.p.requests {
		if r.pair != nil {
			checkPair(v, r)
		}
		g := r.startsWith
		if g == nil {
			continue
		}
		of := counted[g]
		of.members++
		if c := r.claim(); c != nil && c.whole {
			of.claims++
		}
		if r.node != nil {
			of.running++
			if r.eviction == nil {
				of.stays++
			}
		}
		if v.settled && g.asks.has(r) && r.isHeld() && !g.holds {
			v.breaks("ask %s is held back and its group %s is not", r.Key, g.name)
		}
	}
	for _, g := range v.p.together {
		if of := counted[g]; g.stays != of.stays || g.running != of.running || g.members != of.members || g.claims != of.claims {
			v.breaks("group %s counts %d members, %d that run and %d that stay, and has %d, %d and %d",
				g.name, g.members, g.running, g.stays, of.members, of.running, of.stays)
		}
		if hold := g.missing() > 0 && (g.asks.len() < g.missing() || g.waits); v.settled && hold != g.holds {
			v.breaks("group %s misses %d with %d that wait, and holds is %t", g.name, g.missing(), g.asks.len(), g.holds)
		}
		if g.waits && !slices.Contains(v.p.groupWork.waiting, g) {
			v.breaks("group %s waits for nothing", g.name)
		}
		if g.until.IsZero() != (v.p.holder != g) {
			v.breaks("room is kept for group %s until %v, and it has its turn is %t", g.name, g.until, v.p.holder == g)
		}
	}
}
