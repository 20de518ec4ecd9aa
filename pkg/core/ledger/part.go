package ledger

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
)

// A part is a subgroup of a group: the members that name it. Where groups count by subgroups, so many of them start together.
type part struct {
	Name  string
	Least int // that must run; at most 0 where nothing was said

	members  int
	running  int
	stays    int // of these, that are not being evicted
	waiting  int
	done     int // that count
	doneKept int // whether they count or not
}

// isGone reports whether a part has no members any more, nor any that are done.
func (p *part) isGone() bool { return p.members == 0 && p.doneKept == 0 }

// missing is how many more must run; not above zero once it runs.
func (p *part) missing() int { return p.Least - p.running - p.done }

// mayStart reports whether a part does not run and enough of it wait.
func (p *part) mayStart() bool { return p.missing() > 0 && p.waiting >= p.missing() }

// MissingIn is how many more members of a subgroup must run where a group counts these; not above zero once it runs.
func (g *Group) MissingIn(subgroup string) int {
	if p := g.part(subgroup); p != nil {
		return p.missing()
	}
	return 0
}

// BySubgroup reports whether a group counts by subgroups: so many of these, each with its own minimum, start together.
func (g *Group) BySubgroup() bool { return g.Terms.BySubgroup }

// part is the part of a name; nil if there is none.
func (g *Group) part(name string) *part {
	if at, found := g.findPart(name); found {
		return g.parts[at]
	}
	return nil
}

func (g *Group) findPart(name string) (at int, found bool) {
	return slices.BinarySearchFunc(g.parts, name, func(p *part, name string) int { return cmp.Compare(p.Name, name) })
}

// changePart changes the part of a name, which may be new or gone then.
func (l *Ledger) changePart(g *Group, name string, change func(*part)) {
	if name == "" {
		return
	}
	at, found := g.findPart(name)
	if !found {
		g.parts = slices.Insert(g.parts, at, &part{Name: name})
	}
	before := *g.parts[at]
	if change(g.parts[at]); g.parts[at].isGone() {
		g.parts = slices.Delete(g.parts, at, at+1)
	} else if *g.parts[at] == before {
		return
	}
	if g.missing = -1; g.BySubgroup() {
		l.Regrouped++
		l.Changes.Group(g)
	}
}

// countMember counts a member with its subgroup, or one less.
func (l *Ledger) countMember(r *Request, more int) {
	g := r.StartsWith
	l.changePart(g, r.Subgroup(), func(p *part) {
		p.members += more
		if g.Asks.Has(r) {
			p.waiting += more
		}
		if r.RunsOn != nil {
			p.running += more
		}
		if r.RunsOn != nil && r.Eviction == nil {
			p.stays += more
		}
	})
}

// hearPart takes what a member says of its subgroup, and reports whether that is new.
func (l *Ledger) hearPart(g *Group, tags map[string]string) (changed bool) {
	said, is := tags[api.TagQuorumSubgroupLeast]
	least, _ := strconv.Atoi(said)
	of := g.part(tags[api.TagQuorumSubgroup])
	if !is || of == nil || of.Least == least {
		return false
	}
	l.changePart(g, of.Name, func(p *part) { p.Least = least })
	return true
}

// runningParts visits the subgroups that run of a group that counts them.
func (g *Group) runningParts(yield func(*part) bool) {
	if !g.BySubgroup() {
		return
	}
	for _, p := range g.parts {
		if p.Least > 0 && p.missing() <= 0 && !yield(p) {
			return
		}
	}
}

// Parts is how many subgroups run, where a group counts them.
func (g *Group) Parts() (run int) {
	for range g.runningParts {
		run++
	}
	return run
}

// PartsThatRun are the names of these.
func (g *Group) PartsThatRun() (names []string) {
	for p := range g.runningParts {
		names = append(names, p.Name)
	}
	return names
}

// missingOfParts is how many asks of a group that counts by subgroups must at least be placed at once, so that enough of these run: one more than
// wait as long as too few can.
func (g *Group) missingOfParts() int {
	if g.missing < 0 {
		g.missing = g.countMissing()
	}
	return g.missing
}

func (g *Group) countMissing() (count int) {
	lacking := g.Terms.Least - g.Parts()
	if lacking <= 0 {
		return 0
	}
	var needs []int
	for _, p := range g.parts {
		if p.mayStart() {
			needs = append(needs, p.missing())
		}
	}
	if len(needs) < lacking {
		return g.Asks.Len() + 1
	}
	slices.Sort(needs)
	for _, need := range needs[:lacking] {
		count += need
	}
	return count
}

// MustRun says of the group of an allocation, or of its subgroup where the group counts these, how many members stay, and without how many of
// them the others run in vain; whole is that all of them end or none does. It is nothing where there is no such group.
func (r *Request) MustRun() (of string, stay, least int, whole bool) {
	g := r.StartsWith
	switch {
	case g == nil:
		return "", 0, 0, false
	case !g.BySubgroup() || g.EndsWhole():
		return g.Name, g.stays, g.needed(), g.EndsWhole()
	}
	if p := g.part(r.Subgroup()); p != nil {
		return g.Name + " subgroup " + p.Name, p.stays, p.Least - p.done, false
	}
	return g.Name, g.stays, 0, false // it is not counted
}
