package preemption

import (
	"cmp"
	"slices"

	"github.com/narwhal-scheduler/narwhal/pkg/core/ledger"
	"github.com/narwhal-scheduler/narwhal/pkg/core/preemptor"
)

// A groupInput collects what the preemptor is told of groups.
type groupInput struct {
	node    *ledger.Node // where room is made; nil if only quota is freed
	grouped []groupedCandidate
	units   []*ledger.Group // that end whole, of which any member may be a victim
	withs   []preemptor.Candidate
	groups  []preemptor.Group
	anyway  *endingAnyway // what ends for others; nil if nothing does
}

// An endingAnyway is victims that end for others.
type endingAnyway struct {
	keys map[string]bool
	of   map[string]int // by group
}

func (e *endingAnyway) add(victims []preemptor.Victim) {
	if e.keys == nil {
		e.keys, e.of = map[string]bool{}, map[string]int{}
	}
	for i := range victims {
		e.keys[victims[i].Key] = true
		e.of[victims[i].Of]++
	}
}

func (e *endingAnyway) has(key string) bool { return e != nil && e.keys[key] }

// reset begins with no groups.
func (in *groupInput) reset() {
	in.node, in.anyway = nil, nil
	in.grouped, in.units, in.groups = in.grouped[:0], in.units[:0], in.groups[:0]
}

// A groupedCandidate is a candidate, by its place, of a group. Of so many as are spare the others need
// none: of one that runs in vain anyhow, of any.
type groupedCandidate struct {
	at          int
	group       string
	stay, spare int
}

// addGrouped notes the group of the candidate that comes next.
func (in *victimInput) addGrouped(r *ledger.Request) {
	if r.Eviction != nil || r.StartsWith == nil {
		return
	}
	m := minimumOf(r)
	if m.least <= 1 || m.stay < m.least {
		m.least = 0
	}
	in.grouped = append(in.grouped, groupedCandidate{len(in.candidates), m.of, m.stay, m.stay - m.least})
}

// isOfUnit reports whether an allocation ends with others, and notes the unit.
func (in *victimInput) isOfUnit(r *ledger.Request) bool {
	g := r.StartsWith
	if g == nil || r.Eviction != nil || !g.EndsWhole() || in.anyway.has(string(r.Key)) {
		return false
	}
	if !slices.Contains(in.units, g) {
		in.units = append(in.units, g)
	}
	return true
}

// addUnits adds each unit as one candidate, which is a member on the node, if there is one, with all others.
// What protects a member most protects all.
func (in *victimInput) addUnits(c *NodeCosts) {
	if len(in.units) == 0 {
		return
	}
	count := 0
	for _, g := range in.units {
		count += g.Stays()
	}
	in.withs = slices.Grow(in.withs[:0], count)[:0] // which is not moved
	for _, g := range in.units {
		from := len(in.withs)
		for _, r := range g.Staying() {
			in.withs = append(in.withs, in.candidateOf(c, r, r.RunsOn != in.node))
		}
		unit := in.withs[from:]
		slices.SortStableFunc(unit, func(a, b preemptor.Candidate) int { return cmp.Compare(placeOf(&a), placeOf(&b)) })
		head := &unit[0]
		for i := range unit {
			one := &unit[i]
			one.Unit, one.With = g.Name, nil
			if i > 0 {
				unit[i-1].With = one
			}
			head.Priority, head.QoS = max(head.Priority, one.Priority), max(head.QoS, one.QoS)
			if one.Created.Before(head.Created) {
				head.Created = one.Created
			}
		}
		in.grouped = append(in.grouped, groupedCandidate{len(in.candidates), g.Name, len(unit), 0})
		in.candidates = append(in.candidates, *head)
	}
}

// placeOf is the place of a member of a unit: those on the node come first.
func placeOf(c *preemptor.Candidate) int {
	if c.Elsewhere {
		return 1
	}
	return 0
}

// markGroups says of which groups candidates are. Of each group the least important are spare.
func (in *victimInput) markGroups() {
	if len(in.grouped) == 0 {
		return
	}
	slices.SortFunc(in.grouped, func(a, b groupedCandidate) int {
		x, y := &in.candidates[a.at], &in.candidates[b.at]
		return cmp.Or(cmp.Compare(a.group, b.group), cmp.Compare(x.Priority, y.Priority), y.Created.Compare(x.Created), cmp.Compare(x.Key, y.Key))
	})
	seen := 0
	for i, g := range in.grouped {
		if i == 0 || g.group != in.grouped[i-1].group {
			in.groups = append(in.groups, in.without(preemptor.Group{Name: g.group, Stay: g.stay, Spare: g.spare}))
			seen = 0
		}
		c := &in.candidates[g.at]
		if c.Group = int32(len(in.groups)); !c.Releasing {
			seen++
			c.Vital = seen > in.groups[len(in.groups)-1].Spare
		}
	}
}

// without is a group without those of its members that end for others. If it stops without them, the rest is
// spare.
func (in *groupInput) without(g preemptor.Group) preemptor.Group {
	if in.anyway == nil {
		return g
	}
	ends := in.anyway.of[g.Name]
	if g.Stay, g.Spare = g.Stay-ends, g.Spare-ends; g.Spare < 0 {
		g.Spare = g.Stay
	}
	return g
}
