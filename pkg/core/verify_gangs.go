package core

import (
	"slices"

	"github.com/narwhal-scheduler/narwhal/pkg/core/ledger"
)

// membersCounted is what the requests say of gangs, of their task groups and of groups.
type membersCounted struct {
	gangs  map[*ledger.Gang]*ledger.Gang
	tasks  map[*ledger.TaskGroup]*ledger.TaskGroup
	groups map[*ledger.Group]*ledger.Group
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
	counted := membersCounted{map[*ledger.Gang]*ledger.Gang{}, map[*ledger.TaskGroup]*ledger.TaskGroup{}, map[*ledger.Group]*ledger.Group{}}
	for _, r := range v.p.Requests {
		if r.Foreign() {
			continue
		}
		if r.Pair() != nil {
			checkPair(v, r)
		}
		checkGroupOf(v, r, &counted)
		if task := r.InTaskGroup(); task != nil && r.Placeholder {
			checkPlaceholder(v, r, task, &counted)
		} else if task != nil && r.RunsOn == nil {
			checkAskOf(v, r, task)
		}
	}
	for _, g := range v.p.Together {
		checkGroup(v, g, countedAs(counted.groups, g))
	}
	for app := range v.p.Applications.Ascend {
		if app.Gang == nil {
			continue
		}
		is := countedAs(counted.gangs, app.Gang)
		v.equal("placeholders", string(app.ID), app.Gang.Placed, is.Placed)
		v.equal("waiting placeholders", string(app.ID), app.Gang.Pending, is.Pending)
		if is.Placeholders != app.Gang.Placeholders {
			v.breaks("application %s has %d placeholders and counts %d", app.ID, is.Placeholders, app.Gang.Placeholders)
		}
		for _, task := range app.Gang.Groups {
			checkTaskGroup(v, task, countedAs(counted.tasks, task))
		}
	}
}

// checkPair checks that a placeholder which is to end runs, and that its ask waits.
func checkPair(v *verifier, r *ledger.Request) {
	with := r.Pair()
	switch {
	case with.Placeholder.Pair() != with || with.Ask != nil && with.Ask.Pair() != with || r != with.Placeholder && r != with.Ask:
		v.breaks("%s is in no pair with %s", r.Key, with.Placeholder.Key)
	case with.Placeholder.RunsOn == nil || v.p.Requests[with.Placeholder.Key] != with.Placeholder:
		v.breaks("placeholder %s is to be replaced and does not run", with.Placeholder.Key)
	case with.Ask == nil:
	case with.Ask.RunsOn != nil || v.p.Requests[with.Ask.Key] != with.Ask:
		v.breaks("%s takes the place of a placeholder and does not wait", with.Ask.Key)
	case !with.Ask.Amounts.FitsIn(with.Placeholder.Amounts):
		v.breaks("%s takes the place of %s, which is smaller", with.Ask.Key, with.Placeholder.Key)
	}
}

// checkPlaceholder checks a placeholder, and counts it.
func checkPlaceholder(v *verifier, r *ledger.Request, task *ledger.TaskGroup, counted *membersCounted) {
	gang, of := countedAs(counted.gangs, r.App.Gang), countedAs(counted.tasks, task)
	if r.RunsOn == nil {
		of.Asks++
		gang.Pending.Add(r.Amounts)
		return
	}
	gang.Placeholders++
	gang.Placed.Add(r.Amounts)
	listed := task.Free.Has(r)
	if wanted := r.Eviction == nil && !r.IsReplaced(); listed != wanted {
		v.breaks("placeholder %s may be replaced is %t, is listed is %t", r.Key, wanted, listed)
	}
	if listed {
		of.Free.Count++
	}
}

// checkAskOf checks an ask that may take the place of a placeholder: it waits for one, or for the end
// of one, or like others.
func checkAskOf(v *verifier, r *ledger.Request, task *ledger.TaskGroup) {
	lists := 0
	for _, is := range [...]bool{r.Pair() != nil, task.Held.Has(r), task.Others.Has(r)} {
		if is {
			lists++
		}
	}
	if lists != 1 || r.IsHeld() == task.Others.Has(r) {
		v.breaks("ask %s of task group %s is in %d of its lists, and held back is %t", r.Key, task.Name, lists, r.IsHeld())
	}
}

// checkTaskGroup checks a task group against what was counted of it, and which of its asks wait for
// placeholders.
func checkTaskGroup(v *verifier, task, is *ledger.TaskGroup) {
	if is.Asks != task.Asks || is.Free.Count != task.Free.Count {
		v.breaks("task group %s counts %d and %d placeholders and has %d and %d", task.Name, task.Asks, task.Free.Count, is.Asks, is.Free.Count)
	}
	for r := range task.Free.First.All {
		if !task.Free.Has(r) || task.Free.On[r.RunsOn].Head() != r {
			v.breaks("placeholder %s is not the first one on its node", r.Key)
		}
	}
	if r := v.p.nextToHold(task); v.settled && (r != nil || task.Held.Len() > task.Left()) {
		v.breaks("task group %s: %d asks wait for %d placeholders, and another one is to: %t", task.Name, task.Held.Len(), task.Left(), r != nil)
	}
}

// checkGroupOf checks that a request belongs to the group that it names, and counts it.
func checkGroupOf(v *verifier, r *ledger.Request, counted *membersCounted) {
	name, _ := r.GroupName()
	g := r.StartsWith
	switch {
	case g == nil && name == "":
		return
	case g == nil || g.Name != name || v.p.Together[name] != g || g.Gang != nil && g.Gang != r.App.Gang:
		v.breaks("%s is no member of group %q, which it names", r.Key, name)
		return
	case g.Asks.Has(r) != (r.RunsOn == nil && (g.Gang == nil || r.Placeholder)):
		v.breaks("%s is among the asks of group %s is %t", r.Key, name, g.Asks.Has(r))
	case v.settled && g.Asks.Has(r) && r.IsHeld() && !g.Holds:
		v.breaks("ask %s is held back and its group %s is not", r.Key, name)
	}
	of := countedAs(counted.groups, g)
	of.Members++
	if c := r.Claim(); c != nil && c.Whole {
		of.Claims++
	}
	if r.RunsOn != nil {
		of.Running++
	}
	if r.RunsOn != nil && r.Eviction == nil {
		of.Stays++
	}
}

// checkGroup checks a group against what was counted of it.
func checkGroup(v *verifier, g, is *ledger.Group) {
	hold := g.Missing() > 0 && (g.Asks.Len() < g.Missing() || g.Waits)
	switch {
	case g.Stays != is.Stays || g.Running != is.Running || g.Members != is.Members || g.Claims != is.Claims:
		v.breaks("group %s counts %d members, %d that run and %d that stay, and has %d, %d and %d",
			g.Name, g.Members, g.Running, g.Stays, is.Members, is.Running, is.Stays)
	case v.settled && hold != g.Holds:
		v.breaks("group %s misses %d with %d that wait, and holds is %t", g.Name, g.Missing(), g.Asks.Len(), g.Holds)
	case g.Waits && !slices.Contains(v.p.groupWork.waiting, g):
		v.breaks("group %s waits for nothing", g.Name)
	case g.Until.IsZero() != (v.p.Holder != g):
		v.breaks("room is kept for group %s until %v, and it has its turn is %t", g.Name, g.Until, v.p.Holder == g)
	}
}
