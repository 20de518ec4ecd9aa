package ledger

import (
	"slices"
	"strings"
)

// membersCounted is what the requests say of gangs, of their task groups and of groups.
type membersCounted struct {
	gangs  map[*gang]*gang
	tasks  map[*TaskGroup]*TaskGroup
	groups map[*Group]*Group
	parts  map[*Group]map[string]*partCounts
}

// countedAs is the place in a table where something is counted.
func countedAs[K comparable, E any](table map[K]*E, of K) *E {
	if table[of] == nil {
		table[of] = new(E)
	}
	return table[of]
}

// members checks what is counted of gangs and groups, and which of their asks are held back.
func (v *verifier) members() {
	counted := membersCounted{map[*gang]*gang{}, map[*TaskGroup]*TaskGroup{}, map[*Group]*Group{}, map[*Group]map[string]*partCounts{}}
	for _, r := range v.Requests {
		if r.Foreign() {
			continue
		}
		if r.Pair() != nil {
			v.pair(r)
		}
		v.groupOf(r, &counted)
		if task := r.InTaskGroup(); task != nil && r.Placeholder {
			v.placeholder(r, task, &counted)
		} else if task != nil && r.RunsOn == nil {
			v.askOf(r, task)
		}
	}
	v.doneMembers(&counted)
	for _, g := range v.Together {
		v.group(g, countedAs(counted.groups, g))
		v.partsOf(g, counted.parts[g])
	}
	for app := range v.Applications.Ascend {
		if app.Gang == nil {
			continue
		}
		is := countedAs(counted.gangs, app.Gang)
		v.equal("placeholders", string(app.ID), app.Gang.placed, is.placed)
		v.equal("waiting placeholders", string(app.ID), app.Gang.pending, is.pending)
		if is.Placeholders != app.Gang.Placeholders {
			v.Breaks("application %s has %d placeholders and counts %d", app.ID, is.Placeholders, app.Gang.Placeholders)
		}
		for _, task := range app.Gang.Groups {
			v.taskGroup(task, countedAs(counted.tasks, task))
		}
	}
}

// pair checks that a placeholder which is to end runs, and that its ask waits.
func (v *verifier) pair(r *Request) {
	with := r.Pair()
	switch {
	case with.Placeholder.Pair() != with || with.Ask != nil && with.Ask.Pair() != with || r != with.Placeholder && r != with.Ask:
		v.Breaks("%s is in no pair with %s", r.Key, with.Placeholder.Key)
	case with.Placeholder.RunsOn == nil || v.Requests[with.Placeholder.Key] != with.Placeholder:
		v.Breaks("placeholder %s is to be replaced and does not run", with.Placeholder.Key)
	case with.Ask == nil:
	case with.Ask.RunsOn != nil || v.Requests[with.Ask.Key] != with.Ask:
		v.Breaks("%s takes the place of a placeholder and does not wait", with.Ask.Key)
	case !with.Ask.Amounts.FitsIn(with.Placeholder.Amounts):
		v.Breaks("%s takes the place of %s, which is smaller", with.Ask.Key, with.Placeholder.Key)
	}
}

// placeholder checks a placeholder, and counts it.
func (v *verifier) placeholder(r *Request, task *TaskGroup, counted *membersCounted) {
	gang, of := countedAs(counted.gangs, r.App.Gang), countedAs(counted.tasks, task)
	if r.RunsOn == nil {
		of.asks++
		gang.pending.Add(r.Amounts)
		return
	}
	gang.Placeholders++
	gang.placed.Add(r.Amounts)
	listed := task.Free.Has(r)
	if wanted := r.Eviction == nil && !r.IsReplaced(); listed != wanted {
		v.Breaks("placeholder %s may be replaced is %t, is listed is %t", r.Key, wanted, listed)
	}
	if listed {
		of.Free.Count++
	}
}

// askOf checks an ask that may take the place of a placeholder: it waits for one, or for the end
// of one, or like others.
func (v *verifier) askOf(r *Request, task *TaskGroup) {
	lists := 0
	for _, is := range [...]bool{r.Pair() != nil, task.Held.Has(r), task.Others.Has(r)} {
		if is {
			lists++
		}
	}
	if lists != 1 || r.IsHeld() == task.Others.Has(r) {
		v.Breaks("ask %s of task group %s is in %d of its lists, and held back is %t", r.Key, task.Name, lists, r.IsHeld())
	}
}

// taskGroup checks a task group against what was counted of it, and which of its asks wait for
// placeholders.
func (v *verifier) taskGroup(task, is *TaskGroup) {
	if is.asks != task.asks || is.Free.Count != task.Free.Count {
		v.Breaks("task group %s counts %d and %d placeholders and has %d and %d", task.Name, task.asks, task.Free.Count, is.asks, is.Free.Count)
	}
	for r := range task.Free.First.All {
		if !task.Free.Has(r) || task.Free.on[r.RunsOn].Head() != r {
			v.Breaks("placeholder %s is not the first one on its node", r.Key)
		}
	}
}

// groupOf checks that a request belongs to the group that it names, and counts it.
func (v *verifier) groupOf(r *Request, counted *membersCounted) {
	name := r.GroupName()
	g := r.StartsWith
	switch {
	case g == nil && name == "":
		return
	case g == nil || g.Name != name || v.Together[name] != g || g.gang != nil && g.gang != r.App.Gang:
		v.Breaks("%s is no member of group %q, which it names", r.Key, name)
		return
	case g.Asks.Has(r) != (r.RunsOn == nil && (g.gang == nil || r.Placeholder)):
		v.Breaks("%s is among the asks of group %s is %t", r.Key, name, g.Asks.Has(r))
	}
	if r.AsMember() != r.Allocation {
		v.Breaks("%s has priority %d, and group %s has %d", r.Key, r.Priority, name, g.Terms.Priority.Of)
	}
	of := countedAs(counted.groups, g)
	of.members = append(of.members, r)
	of.use(indexIn(r.Tags), 1, 0)
	if r.RunsOn != nil {
		of.running++
	}
	if r.RunsOn != nil && r.Eviction == nil {
		of.stays++
	}
	counted.partsOf(g, r.part(), func(sub *partCounts) {
		sub.members++
		if r.RunsOn != nil {
			sub.running++
		}
		if r.RunsOn != nil && r.Eviction == nil {
			sub.stays++
		}
		if g.Asks.Has(r) {
			sub.waiting++
		}
	})
}

// doneMembers counts the members of groups that are done.
func (v *verifier) doneMembers(counted *membersCounted) {
	for key, member := range v.done {
		of := countedAs(counted.groups, member.group)
		of.doneKept++
		of.use(member.index, 0, 1)
		if v.Requests[key] != nil || v.FindApplication(member.app.ID) != member.app || !slices.Contains(v.doneOf[member.app], key) {
			v.Breaks("%s is done, and waits or runs, or its application %s does not know of it", key, member.app.ID)
		}
	}
	for g, of := range counted.groups {
		for at, use := range of.indices {
			counts := use.done
			if at.number != "" {
				counts = use.counts()
			}
			of.done += counts
			counted.partsOf(g, at.subgroup, func(sub *partCounts) {
				sub.done += counts
				sub.doneKept += use.done
			})
		}
	}
}

// use counts members of an index, which may be none.
func (g *Group) use(at index, live, done int) {
	if g.indices == nil {
		g.indices = map[index]indexUse{}
	}
	g.indices[at] = indexUse{g.indices[at].live + live, g.indices[at].done + done}
}

// partsOf visits where something is counted of a part of a group, and of those that it is in.
func (c *membersCounted) partsOf(g *Group, name string, visit func(*partCounts)) {
	if c.parts[g] == nil {
		c.parts[g] = map[string]*partCounts{}
	}
	for names := strings.SplitN(name, "/", depthMax); name != "" && len(names) > 0; names = names[:len(names)-1] {
		visit(countedAs(c.parts[g], strings.Join(names, "/")))
	}
}

// partsOf checks the subgroups of a group, and the parts of these, against what was counted of them.
func (v *verifier) partsOf(g *Group, is map[string]*partCounts) {
	known := 0
	var check func(above string, parts []*part)
	check = func(above string, parts []*part) {
		known += len(parts)
		for _, p := range parts {
			var counted partCounts
			if of := is[p.Name]; of != nil {
				counted = *of
			}
			if counted.Least = p.Least; counted != p.partCounts || !strings.HasPrefix(p.Name, above) {
				v.Breaks("subgroup %s of group %s is %+v, and counts %+v", p.Name, g.Name, counted, p.partCounts)
			}
			v.standing(g, p.standing, p.below)
			check(p.Name+"/", p.below)
		}
	}
	v.standing(g, g.standing, g.parts)
	check("", g.parts)
	if len(is) != known {
		v.Breaks("group %s has %d subgroups and parts of these, and knows %d", g.Name, len(is), known)
	}
	levels := 0
	for range levelsOf(g.parts) {
		levels++
	}
	if levels != g.levels.count {
		v.Breaks("%d subgroups of group %s, and parts of these, require domains, and %d are counted", levels, g.Name, g.levels.count)
	}
	if anew := missingOf(g.Terms.Least, g.parts, g.Asks.Len()); g.BySubgroup() && g.missing >= 0 && g.missing != anew {
		v.Breaks("group %s misses %d, and takes it for %d", g.Name, anew, g.missing)
	}
}

// standing checks how many parts were counted to stand.
func (v *verifier) standing(g *Group, counted standing, parts []*part) {
	if anew := (standing{}); counted.counted && anew.of(parts) != counted.count {
		v.Breaks("of group %s %d parts stand, and it takes it for %d", g.Name, anew.count, counted.count)
	}
}

// group checks a group against what was counted of it.
func (v *verifier) group(g, is *Group) {
	if g.done != is.done || g.doneKept != is.doneKept || g.IsGone() {
		v.Breaks("group %s counts %d of %d that are done, and has %d of %d", g.Name, g.done, g.doneKept, is.done, is.doneKept)
	}
	if g.stays != is.stays || g.running != is.running || len(g.members) != len(is.members) || g.restated || g.restored {
		v.Breaks("group %s counts %d members, %d that run and %d that stay, and has %d, %d and %d",
			g.Name, len(g.members), g.running, g.stays, len(is.members), is.running, is.stays)
	}
}
