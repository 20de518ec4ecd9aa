package image

// Places are numbers by places in memory. An image is made while a partition waits, and most of that time is looking for places, so
// this is a table of its own: a power of two of entries, half of which are in use at most.
type places struct {
	at      []uintptr // zero for none
	numbers []int32
	used    int
}

func (p *places) slot(at uintptr) int {
	mask := uintptr(len(p.at) - 1)
	for i := (at >> 3) * 0x9E3779B97F4A7C15 >> 20 & mask; ; i = (i + 1) & mask {
		if p.at[i] == at || p.at[i] == 0 {
			return int(i)
		}
	}
}

// put gives a place a number, unless it has one. It returns the number that it has, and whether it had it.
func (p *places) put(at uintptr, number int) (has int, had bool) {
	if 2*p.used >= len(p.at) {
		p.grow()
	}
	i := p.slot(at)
	if p.at[i] == at {
		return int(p.numbers[i]), true
	}
	p.at[i], p.numbers[i] = at, int32(number)
	p.used++
	return number, false
}

// of is the number of a place that has one.
func (p *places) of(at uintptr) int { return int(p.numbers[p.slot(at)]) }

func (p *places) grow() {
	before := *p
	size := max(1<<12, 2*len(before.at))
	p.at, p.numbers = make([]uintptr, size), make([]int32, size)
	for i, at := range before.at {
		if at != 0 {
			k := p.slot(at)
			p.at[k], p.numbers[k] = at, before.numbers[i]
		}
	}
}
