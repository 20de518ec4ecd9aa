package core

import "slices"

// membersCounted is what the requests say of gangs, of their task groups and of groups.
type membersCounted struct {
	gangs  map[*gang]*gang
	tasks  map[*taskGroup]*taskGroup
	groups map[*group]*group
}

// countedAs is the place in a table where something is counted.
func countedAs[E any](table map[*E]*E, of *E) *E {
	if table[of] == nil {
		table[of] = new(E)
	}
	return table[of]
}

// checkMembers checks what is counted of gangs and groups, and which of their asks are held back.
func checkMembers(v *verifier) {
	counted := membersCounted{map[*gang]*gang{}, map[*taskGroup]*taskGroup{}, map[*group]*group{}}
	for _, r := range v.p.requests {
		if r.foreign() {
			continue
		}
		if r.pair() != nil {
			checkPair(v, r)
		}
		checkGroupOf(v, r, &counted)
		if task := r.taskGroup(); task != nil && r.Placeholder {
			checkPlaceholder(v, r, task, &counted)
		} else if task != nil && r.node == nil {
			checkAskOf(v, r, task)
		}
	}
	for _, g := range v.p.together {
		checkGroup(v, g, countedAs(counted.groups, g))
	}
	for app := range v.p.applications.Ascend {
		if app.gang == nil {
			continue
		}
		is := countedAs(counted.gangs, app.gang)
		v.equal("placeholders", string(app.id), app.gang.placed, is.placed)
		v.equal("waiting placeholders", string(app.id), app.gang.pending, is.pending)
		if is.placeholders != app.gang.placeholders {
			v.breaks("application %s has %d placeholders and counts %d", app.id, is.placeholders, app.gang.placeholders)
		}
		for _, task := range app.gang.groups {
			checkTaskGroup(v, task, countedAs(counted.tasks, task))
		}
	}
}

// checkPair checks that a placeholder which is to end runs, and that its ask waits.
func checkPair(v *verifier, r *request) {
	with := r.pair()
	switch {
	case with.placeholder.pair() != with || with.ask != nil && with.ask.pair() != with || r != with.placeholder && r != with.ask:
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

// checkPlaceholder checks a placeholder, and counts it.
func checkPlaceholder(v *verifier, r *request, task *taskGroup, counted *membersCounted) {
	gang, of := countedAs(counted.gangs, r.application.gang), countedAs(counted.tasks, task)
	if r.node == nil {
		of.asks++
		gang.pending.Add(r.Amounts)
		return
	}
	gang.placeholders++
	gang.placed.Add(r.Amounts)
	listed := task.free.has(r)
	if wanted := r.eviction == nil && !r.replaced(); listed != wanted {
		v.breaks("placeholder %s may be replaced is %t, is listed is %t", r.Key, wanted, listed)
	}
	if listed {
		of.free.count++
	}
}

// checkAskOf checks an ask that may take the place of a placeholder: it waits for one, or for the end
// of one, or like others.
func checkAskOf(v *verifier, r *request, task *taskGroup) {
	lists := 0
	for _, is := range [...]bool{r.pair() != nil, task.held.has(r), task.others.has(r)} {
		if is {
			lists++
		}
	}
	if lists != 1 || r.isHeld() == task.others.has(r) {
		v.breaks("ask %s of task group %s is in %d of its lists, and held back is %t", r.Key, task.name, lists, r.isHeld())
	}
}

// checkTaskGroup checks a task group against what was counted of it, and which of its asks wait for
// placeholders.
func checkTaskGroup(v *verifier, task, is *taskGroup) {
	if is.asks != task.asks || is.free.count != task.free.count {
		v.breaks("task group %s counts %d and %d placeholders and has %d and %d", task.name, task.asks, task.free.count, is.asks, is.free.count)
	}
	for r := range task.free.first.all {
		if !task.free.has(r) || task.free.on[r.node].head() != r {
			v.breaks("placeholder %s is not the first one on its node", r.Key)
		}
	}
	if r := v.p.nextToHold(task); v.settled && (r != nil || task.held.len() > task.left()) {
		v.breaks("task group %s: %d asks wait for %d placeholders, and another one is to: %t", task.name, task.held.len(), task.left(), r != nil)
	}
}

// checkGroupOf checks that a request belongs to the group that it names, and counts it.
func checkGroupOf(v *verifier, r *request, counted *membersCounted) {
	name, _ := r.groupName()
	g := r.startsWith
	switch {
	case g == nil && name == "":
		return
	case g == nil || g.name != name || v.p.together[name] != g || g.gang != nil && g.gang != r.application.gang:
		v.breaks("%s is no member of group %q, which it names", r.Key, name)
		return
	case g.asks.has(r) != (r.node == nil && (g.gang == nil || r.Placeholder)):
		v.breaks("%s is among the asks of group %s is %t", r.Key, name, g.asks.has(r))
	case v.settled && g.asks.has(r) && r.isHeld() && !g.holds:
		v.breaks("ask %s is held back and its group %s is not", r.Key, name)
	}
	of := countedAs(counted.groups, g)
	of.members++
	if c := r.claim(); c != nil && c.whole {
		of.claims++
	}
	if r.node != nil {
		of.running++
	}
	if r.node != nil && r.eviction == nil {
		of.stays++
	}
}

// checkGroup checks a group against what was counted of it.
func checkGroup(v *verifier, g, is *group) {
	hold := g.missing() > 0 && (g.asks.len() < g.missing() || g.waits)
	switch {
	case g.stays != is.stays || g.running != is.running || g.members != is.members || g.claims != is.claims:
		v.breaks("group %s counts %d members, %d that run and %d that stay, and has %d, %d and %d",
			g.name, g.members, g.running, g.stays, is.members, is.running, is.stays)
	case v.settled && hold != g.holds:
		v.breaks("group %s misses %d with %d that wait, and holds is %t", g.name, g.missing(), g.asks.len(), g.holds)
	case g.waits && !slices.Contains(v.p.groupWork.waiting, g):
		v.breaks("group %s waits for nothing", g.name)
	case g.until.IsZero() != (v.p.holder != g):
		v.breaks("room is kept for group %s until %v, and it has its turn is %t", g.name, g.until, v.p.holder == g)
	}
}
