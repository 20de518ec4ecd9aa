package preemptor

import "slices"

// stepsFirst is how many steps the search by importance gets, in addition to four for
// each candidate.
const stepsFirst = 1 << 11

// search says whether there are victims, and leaves them in best. If spare is set,
// they are those of the least importance: see spare.
//
// A plain search by importance answers nearly always. Only what it leaves open is
// worth sorting candidates into groups, and looking for relaxations.
func (x *exact) search(spare bool) answer {
	if x.refuted {
		return no
	}
	if a := x.searchByImportance(int64(stepsFirst + 4*len(x.able))); a != unknown {
		return a
	}
	x.setGroups()
	x.relax()
	a := x.findWithin(min(x.steps+x.stepsMax(), 2*x.stepsMax()))
	if a != yes {
		return a
	}
	x.best = x.victims(x.best[:0])
	if spare {
		x.spare()
	}
	return yes
}

// searchByImportance decides about one candidate after the other, the most
// important first, and tries to spare it before it takes it. So the first victims
// that it finds are those of the least importance.
func (x *exact) searchByImportance(steps int64) answer {
	w, n := len(x.bounds), len(x.able)
	x.rest = slices.Grow(x.rest[:0], (n+1)*w)[:(n+1)*w]
	x.tails = slices.Grow(x.tails[:0], (n+1)*w)[:(n+1)*w]
	copy(x.rest[n*w:], x.bounds)
	clear(x.tails[:w])
	for place := range n {
		for row, v := range x.column(place)[:x.covers] {
			x.tails[place*w+w+row] = add(x.tails[place*w+row], v)
		}
	}
	x.best = x.best[:0]
	x.stop, x.stopped = x.steps+steps, false
	switch {
	case x.spareOrTake(n):
		slices.Sort(x.best)
		return yes
	case x.stopped:
		return unknown
	default:
		return no
	}
}

// spareOrTake decides about the candidates before this place. Of those after it,
// best are victims.
func (x *exact) spareOrTake(place int) bool {
	if x.steps++; x.steps > x.stop {
		x.stopped = true
		return false
	}
	w := len(x.bounds)
	rest := x.rest[place*w : place*w+w]
	open := false
	for row, missing := range rest[:x.covers] {
		if missing > x.tails[place*w+row] {
			return false
		}
		open = open || missing > 0
	}
	if !open {
		x.chosen = append(x.chosen[:0], x.best...)
		return x.isWithinLimit(rest)
	}
	if x.limit > 0 && x.single && x.violationsOf(rest) > int64(x.limit) {
		return false
	}
	place--
	next := x.rest[place*w : place*w+w]
	copy(next, rest)
	if x.spareOrTake(place) {
		return true
	}
	if x.stopped || !x.lower(next, rest, x.column(place), 1) {
		return false
	}
	x.best = append(x.best, x.able[place])
	if x.spareOrTake(place) {
		return true
	}
	x.best = x.best[:len(x.best)-1]
	return false
}
