package ledger

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
