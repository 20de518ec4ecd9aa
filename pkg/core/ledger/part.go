package ledger

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
)

// A part is a subgroup of a group, or a part of one: the members that name it. Where groups count by subgroups, so many of them start together,
// each with so many of its own parts, if it has any, or else with so many of its members.
type part struct {
	Name    string // with those of the parts that it is in, as members name it
	require string // the attribute of nodes of which its members run in one domain; empty for none
	partCounts
	below    []*part // by name
	standing standing
}

type partCounts struct {
	Least int // members, or parts below, that must run; at most 0 where nothing was said

	members  int
	running  int
	stays    int // of these, that are not being evicted
	waiting  int
	done     int // that count
	doneKept int // whether they count or not
}

// isGone reports whether a part has no members any more, nor any that are done.
func (p *part) isGone() bool { return p.members == 0 && p.doneKept == 0 }

// missing is how many more must be placed at once so that a part runs; not above zero once it does, and more than wait where too few can.
func (p *part) missing() int {
	if len(p.below) > 0 {
		return missingOf(p.Least, p.below, p.waiting)
	}
	return p.Least - p.running - p.done
}

// runs reports whether a part has its minimum, where one was said.
func (p *part) runs() bool { return p.Least > 0 && p.missing() <= 0 }

// missingOf is how many asks must at least be placed at once so that so many of some parts run: one more than wait as long as too few can.
func missingOf(least int, parts []*part, waiting int) (count int) {
	var needs []int
	for _, p := range parts {
		switch need := p.missing(); {
		case p.Least > 0 && need <= 0:
			least--
		case need > 0 && need <= p.waiting:
			needs = append(needs, need)
		}
	}
	switch {
	case least <= 0:
		return 0
	case len(needs) < least:
		return waiting + 1
	}
	slices.Sort(needs)
	for _, need := range needs[:least] {
		count += need
	}
	return count
}

// BySubgroup reports whether a group counts by subgroups: so many of these, each with its own minimum, start together.
func (g *Group) BySubgroup() bool { return g.Terms.BySubgroup }

// StartsIn is the largest part of its group that an ask is in and that does not run: what it lacks starts together. It is empty if all run.
func (r *Request) StartsIn() string {
	for p := range partsOn(r.StartsWith.parts, r.part()) {
		if p.missing() > 0 {
			return p.Name
		}
	}
	return ""
}

// waysMax is how many ways there are at most in which a part may start.
const waysMax = 16

// Ways are those of some asks, in their order, that start together so that a part runs. There are several ways where it has more parts than
// must run: the first has the fewest asks. A part does not start that could in none of the first waysMax.
func (g *Group) Ways(name string, asks []*Request) [][]*Request {
	if p := g.part(name); p != nil {
		return p.ways(asks)
	}
	return nil
}

func (p *part) ways(asks []*Request) (ways [][]*Request) {
	lacks := p.missing()
	switch isLeaf := len(p.below) == 0; {
	case lacks <= 0, isLeaf && lacks > len(asks):
		return nil
	case isLeaf:
		return [][]*Request{asks[:lacks]}
	}
	in := map[string][]*Request{} // the asks by the part below that they are in
	for _, r := range asks {
		for end := range ends(r.part()) {
			if end > len(p.Name) {
				in[r.part()[:end]] = append(in[r.part()[:end]], r)
				break
			}
		}
	}
	least := p.Least
	var each [][][]*Request // of the parts that may start
	for _, below := range p.below {
		if below.runs() {
			least--
		} else if ways := below.ways(in[below.Name]); len(ways) > 0 {
			each = append(each, ways)
		}
	}
	slices.SortStableFunc(each, func(a, b [][]*Request) int { return cmp.Compare(len(a[0]), len(b[0])) })
	combine(each, least, nil, &ways)
	return ways
}

// combine adds the ways to start so many of some parts, each in one of its own ways, beside asks that start with them.
func combine(each [][][]*Request, count int, with []*Request, ways *[][]*Request) {
	if count <= 0 {
		*ways = append(*ways, with)
		return
	}
	for i := 0; i+count <= len(each); i++ {
		for _, asks := range each[i] {
			if len(*ways) < waysMax {
				combine(each[i+1:], count-1, slices.Concat(with, asks), ways)
			}
		}
	}
}

// partsOn visits the parts that one is in, from the largest on, and then itself, as far as there are any.
func partsOn(parts []*part, name string) func(func(*part) bool) {
	return func(yield func(*part) bool) {
		for end := range ends(name) {
			at, found := findPart(parts, name[:end])
			if !found || !yield(parts[at]) {
				return
			}
			parts = parts[at].below
		}
	}
}

// depthMax is how many parts are one in the other at most. What is deeper is in the last one.
const depthMax = 8

// ends visits where the names of the parts end that one is in, and then its own.
func ends(name string) func(func(int) bool) {
	return func(yield func(int) bool) {
		depth := 1
		for i, c := range name {
			if c != '/' || depth == depthMax {
				continue
			}
			if depth++; !yield(i) {
				return
			}
		}
		if name != "" {
			yield(len(name))
		}
	}
}

// part is the part of a name; nil if there is none.
func (g *Group) part(name string) *part {
	for p := range partsOn(g.parts, name) {
		if p.Name == name {
			return p
		}
	}
	return nil
}

func findPart(parts []*part, name string) (at int, found bool) {
	return slices.BinarySearchFunc(parts, name, func(p *part, name string) int { return cmp.Compare(p.Name, name) })
}

// changePart changes the part of a name, and those that it is in, which may be new or gone then.
func (l *Ledger) changePart(g *Group, name string, change func(*part)) {
	changed, parts := false, &g.parts
	for end := range ends(name) {
		at, found := findPart(*parts, name[:end])
		if !found {
			*parts = slices.Insert(*parts, at, &part{Name: name[:end]})
		}
		p := (*parts)[at]
		before := p.partCounts
		p.standing.counted = false
		change(p)
		changed = changed || p.partCounts != before
		if p.isGone() {
			*parts = slices.Delete(*parts, at, at+1)
			for range levelsOf([]*part{p}) {
				g.levels.count--
				l.Changes.Group(g)
			}
			break // with what is in it
		}
		parts = &p.below
	}
	if changed {
		l.partsChanged(g)
	}
}

// partsChanged has what a group misses be counted anew.
func (l *Ledger) partsChanged(g *Group) {
	g.missing, g.standing.counted = -1, false
	if g.BySubgroup() {
		l.Regrouped++
		l.Changes.Group(g)
	}
}

// countMember counts a member with its subgroup, or one less.
func (l *Ledger) countMember(r *Request, more int) {
	g := r.StartsWith
	l.changePart(g, r.part(), func(p *part) {
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

// hearPart takes what a member says of its subgroup and the parts in it, and reports whether that is new.
func (l *Ledger) hearPart(g *Group, tags map[string]string) (changed bool) {
	name := tags[api.TagQuorumSubgroup]
	if g.part(name) == nil {
		return false
	}
	minima, saysMinima := tags[api.TagQuorumSubgroupLeast]
	levels, saysLevels := tags[api.TagQuorumEach]
	for p := range partsOn(g.parts, name) {
		p.standing.counted = false
		if saysMinima {
			text, rest, _ := strings.Cut(minima, "/")
			least, _ := strconv.Atoi(text)
			changed = changed || p.Least != least
			p.Least, minima = least, rest
		}
		if saysLevels {
			level, rest, _ := strings.Cut(levels, ",")
			if levels = rest; g.setLevel(p, level) {
				l.Changes.Group(g)
				changed = true
			}
		}
	}
	if changed {
		l.partsChanged(g)
	}
	return changed
}

// groupLevels say whether subgroups of a group require domains, and what has changed.
type groupLevels struct {
	count   int    // of parts that require one
	changes uint64 // of what parts require that had members before
}

// setLevel has a part require one domain of a level, or, if it is empty, of none, and reports whether that is new.
func (g *Group) setLevel(p *part, level string) bool {
	if p.require == level {
		return false
	}
	if p.require != "" {
		g.levels.count--
	}
	if level != "" {
		g.levels.count++
	}
	if p.require != "" || p.members > 1 {
		g.levels.changes++
	}
	p.require = level
	return true
}

// Levels visits the parts that require a domain of a level, by name, those before others that are in them.
func (g *Group) Levels(yield func(part, level string) bool) {
	if g.levels.count > 0 {
		levelsOf(g.parts)(yield)
	}
}

func levelsOf(parts []*part) func(func(part, level string) bool) {
	return func(yield func(part, level string) bool) { visitLevels(parts, yield) }
}

func visitLevels(parts []*part, yield func(part, level string) bool) bool {
	for _, p := range parts {
		if p.require != "" && !yield(p.Name, p.require) || !visitLevels(p.below, yield) {
			return false
		}
	}
	return true
}

// Parts visits the names of the parts of its group that a member is in, from the largest on.
func (r *Request) Parts(yield func(string) bool) {
	for end := range ends(r.part()) {
		if !yield(r.part()[:end]) {
			return
		}
	}
}

// Parts is how many subgroups run, where a group counts them.
func (g *Group) Parts() int {
	if !g.BySubgroup() {
		return 0
	}
	return countRunning(g.parts)
}

// PartsThatRun are the names of these, and of the parts that run of any.
func (g *Group) PartsThatRun() []string {
	if !g.BySubgroup() {
		return nil
	}
	return namesOfRunning(nil, g.parts)
}

func countRunning(parts []*part) (run int) {
	for _, p := range parts {
		if p.runs() {
			run++
		}
	}
	return run
}

func namesOfRunning(names []string, parts []*part) []string {
	for _, p := range parts {
		if p.runs() {
			names = append(names, p.Name)
		}
		names = namesOfRunning(names, p.below)
	}
	return names
}

// missingOfParts is how many asks of a group that counts by subgroups must at least be placed at once, so that enough of these run: one more than
// wait as long as too few can.
func (g *Group) missingOfParts() int {
	if g.missing < 0 {
		g.missing = missingOf(g.Terms.Least, g.parts, g.Asks.Len())
	}
	return g.missing
}
