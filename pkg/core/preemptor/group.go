package preemptor

import "slices"

// fillGone has no members end.
func (p *problem) fillGone() {
	p.gone = slices.Grow(p.gone[:0], len(p.node.Groups))[:len(p.node.Groups)]
	clear(p.gone)
}

// end notes that c ends, and reports whether its group stops then that did not before. Stay is the
// opposite.
func (p *problem) end(c *Candidate) (stops bool) {
	if c.Group == 0 {
		return false
	}
	p.gone[c.Group-1]++
	return int(p.gone[c.Group-1]) == p.node.Groups[c.Group-1].Spare+1
}

func (p *problem) stay(c *Candidate) {
	if c.Group > 0 {
		p.gone[c.Group-1]--
	}
}

// stopsAlone reports whether the end of c alone stops its group.
func (p *problem) stopsAlone(c *Candidate) bool {
	return c.Group > 0 && p.node.Groups[c.Group-1].Spare == 0
}

// countStops is how many groups stop without these victims.
func (p *problem) countStops(victims []int) (count int) {
	if len(p.node.Groups) == 0 {
		return 0
	}
	p.fillGone()
	for _, i := range victims {
		if p.end(p.ranked[i].Candidate) {
			count++
		}
	}
	return count
}

// stopped lists the groups that stop without these victims, by name.
func (p *problem) stopped(victims []int) (names []string) {
	if p.countStops(victims) == 0 {
		return nil
	}
	for i, g := range p.node.Groups {
		if int(p.gone[i]) > g.Spare {
			names = append(names, g.Name)
		}
	}
	slices.Sort(names)
	return names
}

// countOf is how many allocations end with these candidates.
func (p *problem) countOf(victims []int) (count int) {
	for _, i := range victims {
		count += p.ranked[i].count
	}
	return count
}

// lostToo is how many allocations run in vain without the victims, beside these, and the sum of their
// priorities, each plus a shift. A member is taken to have the priority of the victim.
func (p *plan) lostToo() (count, sum int64) {
	if p.countStops(p.victims) == 0 {
		return 0, 0
	}
	for _, i := range p.victims {
		g := p.ranked[i].Group
		if g == 0 || int(p.gone[g-1]) <= p.node.Groups[g-1].Spare {
			continue
		}
		left := int64(max(p.node.Groups[g-1].Stay-int(p.gone[g-1])*p.ranked[i].count, 0))
		count, sum = count+left, sum+left*(int64(p.ranked[i].Priority)+shift)
		p.gone[g-1] = 0 // once
	}
	return count, sum
}
