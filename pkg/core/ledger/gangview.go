package ledger

import "github.com/narwhal-scheduler/narwhal/pkg/core/api"

// RestoreGroup takes what a view shows of a group, once its members are there.
func (l *Ledger) RestoreGroup(g *Group, v api.GroupView) {
	for _, of := range v.DoneMembers {
		l.keepDone(g, of.Key, l.FindApplication(of.Application), index{of.Subgroup, of.Index})
	}
	for _, of := range v.Subgroups {
		if p := g.part(of.Name); p != nil {
			p.Least, p.standing.counted = of.Least, false
			g.setLevel(p, of.Require)
		}
	}
	l.partsChanged(g)
	g.Terms, g.restored, g.restated = v.Terms, false, false
	l.Changes.Group(g)
}

// ViewParts is what a view shows of the subgroups of a group, by name, each with the parts in it.
func (g *Group) ViewParts() []api.SubgroupView { return viewParts(nil, g.parts) }

func viewParts(list []api.SubgroupView, parts []*part) []api.SubgroupView {
	for _, p := range parts {
		of := api.SubgroupView{Name: p.Name, Least: max(p.Least, 0), Has: p.running + p.done, Running: p.running, Waiting: p.waiting, Done: p.done, Require: p.require}
		if len(p.below) > 0 {
			of.Has = countRunning(p.below)
		}
		list = viewParts(append(list, of), p.below)
	}
	return list
}

// ViewGang is the gang of an application for readers; nil if it has none.
func (a *Application) ViewGang() *api.GangView {
	g := a.Gang
	if g == nil {
		return nil
	}
	v := &api.GangView{
		Placeholders: g.total, Style: g.Style, Timeout: g.Timeout, Whole: g.whole, Started: g.started, Worked: g.worked,
	}
	if g.Timer.Set() {
		v.ExpiresAt = g.Timer.At()
	}
	for _, group := range g.Groups {
		v.Groups = append(v.Groups, api.TaskGroupView{Name: group.Name, Least: group.Least, Made: group.Made, Replaced: group.Replaced, TimedOut: group.TimedOut})
	}
	for _, r := range ByKey(a.Allocations) {
		if !r.MakesWay() {
			continue
		}
		with, shown := r.Pair(), api.Replacement{Placeholder: r.Key}
		if with.Ask != nil {
			shown.Ask = with.Ask.Key
		}
		v.Replacements = append(v.Replacements, shown)
	}
	return v
}

// restoreGang makes the gang of an application as a view shows it, without its members.
func (a *Application) restoreGang(v *api.GangView) {
	a.Gang = nil
	if v == nil {
		return
	}
	a.Gang = &gang{
		total: v.Placeholders, Style: v.Style, Timeout: v.Timeout, whole: v.Whole, started: v.Started, worked: v.Worked,
	}
	for _, group := range v.Groups {
		a.Gang.Groups = append(a.Gang.Groups, &TaskGroup{Name: group.Name, Application: a})
	}
}

// RestoreCounts takes what a view shows of the placeholders that there were, after those that are there have come.
func (a *Application) RestoreCounts(v *api.GangView) {
	for i, group := range v.Groups {
		g := a.Gang.Groups[i]
		g.Least, g.Made, g.Replaced, g.TimedOut = group.Least, group.Made, group.Replaced, group.TimedOut
	}
}
