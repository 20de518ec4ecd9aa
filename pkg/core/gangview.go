package core

import "github.com/narwhal-scheduler/narwhal/pkg/core/api"

func (g *group) viewed() api.GroupView {
	return api.GroupView{Done: g.done, MisfitSince: g.since, KeptUntil: g.until}
}

// restore takes what a view shows, before the claims of its members are there.
func (g *group) restore(l *ledger, v api.GroupView) {
	if g.done, g.since, g.until = v.Done, v.MisfitSince, v.KeptUntil; !g.until.IsZero() {
		l.holder = g
	}
	l.changes.group(g)
}

func (a *application) viewGang() *api.GangView {
	g := a.gang
	if g == nil {
		return nil
	}
	v := &api.GangView{
		Placeholders: g.total, Style: g.style, Timeout: g.timeout, Whole: g.whole, Started: g.started, Worked: g.worked,
	}
	if g.timer.Set() {
		v.ExpiresAt = g.timer.At()
	}
	for _, group := range g.groups {
		v.Groups = append(v.Groups, api.TaskGroupView{Name: group.name, Least: group.least, Made: group.made, Replaced: group.replaced, TimedOut: group.timedOut})
	}
	for _, r := range byKey(a.allocations) {
		if !r.makesWay() {
			continue
		}
		with, shown := r.pair(), api.Replacement{Placeholder: r.Key}
		if with.ask != nil {
			shown.Ask = with.ask.Key
			if c := with.ask.claim(); c != nil {
				shown.Node = c.node.id
			}
		}
		v.Replacements = append(v.Replacements, shown)
	}
	return v
}

// restoreGang makes the gang of an application as a view shows it, without its members.
func (a *application) restoreGang(v *api.GangView) {
	a.gang = nil
	if v == nil {
		return
	}
	a.gang = &gang{
		total: v.Placeholders, style: v.Style, timeout: v.Timeout, whole: v.Whole, started: v.Started, worked: v.Worked,
	}
	for _, group := range v.Groups {
		a.gang.groups = append(a.gang.groups, &taskGroup{name: group.Name, application: a})
	}
}
