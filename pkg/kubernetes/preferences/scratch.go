package preferences

import (
	"cmp"
	"slices"
)

// A scratch is the nodes of a question and their points; it is used again.
type scratch struct {
	names  []string
	slots  []int32
	points []int64 // in the order of nodes
	total  []int64
	raw    []int64 // of one preference
	seen   []bool  // places of a topology
	at     int     // how many of the names have come again
}

func (x *scratch) reset() {
	clear(x.names)
	x.names, x.slots, x.points, x.total = x.names[:0], x.slots[:0], x.points[:0], x.total[:0]
	x.at = 0
}

func (x *scratch) add(name string, slot int32, points int64) {
	x.names, x.slots = append(x.names, name), append(x.slots, slot)
	x.points, x.total = append(x.points, points), append(x.total, 0)
}

// rawScores is room for one number for each node.
func (x *scratch) rawScores() []int64 {
	x.raw = slices.Grow(x.raw[:0], len(x.slots))[:len(x.slots)]
	clear(x.raw)
	return x.raw
}

// addScaled adds points in the ratio of some numbers to the largest of them, or, turned round, of what is
// missing to it.
func (x *scratch) addScaled(numbers []int32, turned bool, weight int64) {
	var top int64
	for _, slot := range x.slots {
		top = max(top, int64(numbers[slot]))
	}
	for i, slot := range x.slots {
		var points int64
		if top > 0 {
			points = pointsMax * int64(numbers[slot]) / top
		}
		if turned {
			points = pointsMax - points
		}
		x.total[i] += weight * points
	}
}

// addNamed adds points in the ratio of some numbers to the largest of them, by the names of the nodes.
func (x *scratch) addNamed(numbers map[string]int64, weight int64) {
	var top int64
	for _, name := range x.names {
		top = max(top, numbers[name])
	}
	for i, name := range x.names {
		if top > 0 {
			x.total[i] += weight * (pointsMax * numbers[name] / top)
		}
	}
}

// best is the nodes with the most points, the first one first where these are equal.
func (x *scratch) best(most int) []string {
	switch {
	case len(x.names) == 0:
		return nil
	case most == 1:
		first := 0
		for i := range x.total {
			if x.total[i] > x.total[first] {
				first = i
			}
		}
		return []string{x.names[first]}
	}
	places := make([]int, len(x.names))
	for i := range places {
		places[i] = i
	}
	slices.SortStableFunc(places, func(a, b int) int { return cmp.Compare(x.total[b], x.total[a]) })
	best := make([]string, min(most, len(places)))
	for i := range best {
		best[i] = x.names[places[i]]
	}
	return best
}

// top is the nodes with the most points, in their order.
func (x *scratch) top() (names []string) {
	if len(x.names) == 0 {
		return nil
	}
	most := slices.Max(x.total)
	for i, total := range x.total {
		if total == most {
			names = append(names, x.names[i])
		}
	}
	return names
}
