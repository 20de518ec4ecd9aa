package ledger

import (
	"cmp"
	"slices"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
)

// A doneMember is a member of a group that has succeeded, and that the resource manager has not released since.
type doneMember struct {
	group *Group
	app   *Application
	index index
}

// An index is that of a member within its subgroup, both as they are named. Several members may have none.
type index struct{ subgroup, number string }

func indexIn(tags map[string]string) index {
	return index{tags[api.TagQuorumSubgroup], tags[api.TagQuorumIndex]}
}

// An indexUse is how many members of a group have an index. A done one counts, once, unless another one took its place.
type indexUse struct{ live, done int }

func (u indexUse) counts() int {
	if u.done > 0 && u.live == 0 {
		return 1
	}
	return 0
}

// countIndex counts members of an index that wait or run, and such that are done.
func (l *Ledger) countIndex(g *Group, of index, live, done int) {
	before := g.done
	if of.number == "" {
		g.done += done
	} else {
		if g.indices == nil {
			g.indices = map[index]indexUse{}
		}
		was := g.indices[of]
		is := indexUse{was.live + live, was.done + done}
		if g.done += is.counts() - was.counts(); is == (indexUse{}) {
			delete(g.indices, of)
		} else {
			g.indices[of] = is
		}
	}
	if g.done != before || done != 0 {
		l.changePart(g, of.subgroup, func(p *part) { p.done, p.doneKept = p.done+g.done-before, p.doneKept+done })
	}
	if g.doneKept += done; g.done != before {
		l.Regrouped++
		l.Changes.Group(g)
	}
}

// Succeeded counts a member that has done its work, until EndDone or EndDoneOf.
func (l *Ledger) Succeeded(r *Request) {
	if r.StartsWith != nil {
		l.keepDone(r.StartsWith, r.Key, r.App, indexIn(r.Tags))
	}
}

// keepDone counts a member that is done under its key.
func (l *Ledger) keepDone(g *Group, key api.AllocationKey, app *Application, at index) {
	if l.done == nil {
		l.done, l.doneOf = map[api.AllocationKey]*doneMember{}, map[*Application][]api.AllocationKey{}
	}
	l.done[key] = &doneMember{g, app, at}
	l.doneOf[app] = append(l.doneOf[app], key)
	l.countIndex(g, at, 0, 1)
}

// AddDone counts a member that had succeeded before it was ever told of, and returns its group. What names none is left out.
func (l *Ledger) AddDone(a *api.Allocation, app *Application) *Group {
	l.EndDone(a.Key)
	name := (&Request{Allocation: a, App: app}).GroupName()
	if name == "" {
		return nil
	}
	g := l.Together[name]
	if g == nil {
		g = l.newGroup(name)
	}
	l.keepDone(g, a.Key, app, indexIn(a.Tags))
	l.Hear(g, a.Tags)
	return g
}

// EndDone has a member that is done count no more: the resource manager has released it, or it comes again.
func (l *Ledger) EndDone(key api.AllocationKey) {
	of := l.done[key]
	if of == nil {
		return
	}
	delete(l.done, key)
	if list := slices.DeleteFunc(l.doneOf[of.app], func(other api.AllocationKey) bool { return other == key }); len(list) > 0 {
		l.doneOf[of.app] = list
	} else {
		delete(l.doneOf, of.app)
	}
	l.countIndex(of.group, of.index, 0, -1)
	l.forgetIfGone(of.group)
}

// EndDoneOf has the members of an application that are done count no more.
func (l *Ledger) EndDoneOf(app *Application) {
	for _, key := range slices.Clone(l.doneOf[app]) {
		l.EndDone(key)
	}
}

// Done is how many members of a group have done their work and count.
func (g *Group) Done() int { return g.done }

// ViewDone is the members that are done, by the names of their groups, each by key.
func (l *Ledger) ViewDone() map[string][]api.DoneMember {
	if len(l.done) == 0 {
		return nil
	}
	list := make(map[string][]api.DoneMember, len(l.Together))
	for key, of := range l.done {
		list[of.group.Name] = append(list[of.group.Name], api.DoneMember{Key: key, Application: of.app.ID, Subgroup: of.index.subgroup, Index: of.index.number})
	}
	for _, members := range list {
		slices.SortFunc(members, func(a, b api.DoneMember) int { return cmp.Compare(a.Key, b.Key) })
	}
	return list
}

// What stops without an allocation, where a group counts subgroups.

// MustRun says of what stops as one without an allocation how many members stay, and without how many of them the others run in vain; whole is
// that all of them end or none does. That is its group, or, where the group counts subgroups, the smallest part that it is in, or if none of
// that is spare what needs that part, and so on. It is nothing where nothing else needs the allocation.
func (r *Request) MustRun() (of string, stay, least int, whole bool) {
	g := r.StartsWith
	switch {
	case g == nil:
		return "", 0, 0, false
	case !g.BySubgroup() || g.EndsWhole():
		return g.Name, g.stays, g.needed(), g.EndsWhole()
	}
	of, stay = g.Name, g.stays
	var leaf *part
	standing := g.standing.of(g.parts)
	isSpare, stands := standing > g.Terms.Least, standing >= g.Terms.Least
	for p := range partsOn(g.parts, r.part()) {
		if isSpare {
			of, stay = p.in(g), p.stays
		}
		leaf, isSpare, stands = p, p.standing.of(p.below) > p.Least, stands && p.stands()
	}
	switch {
	case leaf == nil || len(leaf.below) > 0:
		return "", 0, 0, false
	case !stands:
		return leaf.in(g), leaf.stays, 0, false
	case leaf.stays+leaf.done > leaf.Least:
		return leaf.in(g), leaf.stays, leaf.Least - leaf.done, false
	}
	return of, stay, stay, false
}

// in is how a part of a group is called.
func (p *part) in(g *Group) string { return g.Name + " subgroup " + p.Name }

// stands reports whether as much of a part stays as must run.
func (p *part) stands() bool {
	if len(p.below) > 0 {
		return p.Least > 0 && p.standing.of(p.below) >= p.Least
	}
	return p.Least > 0 && p.stays+p.done >= p.Least
}

// A standing is how many of some parts stand, counted when it is asked for.
type standing struct {
	count   int
	counted bool
}

func (s *standing) of(parts []*part) int {
	if !s.counted {
		s.count, s.counted = 0, true
		for _, p := range parts {
			if p.stands() {
				s.count++
			}
		}
	}
	return s.count
}
