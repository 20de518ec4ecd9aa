package archive

import "time"

// minutesMax is how far back counts go.
const minutesMax = 1440

// A Count is how much there was at one moment.
type Count struct {
	At           time.Time // the end of a minute
	Applications int64     // that run
	Containers   int64     // that are placed
}

func (c Count) plus(other Count) Count {
	c.Applications += other.Applications
	c.Containers += other.Containers
	return c
}

// counts are how much there is, and was at the end of each minute. What was at a
// minute's end is known with the first step after it: until then it is what there
// is.
type counts struct {
	Count
	began    bool
	from, to int64 // the ends that are known: after from, up to to
	ends     [minutesMax]Count
}

func minuteOf(t time.Time) int64 { return t.Unix() / 60 }

// pass lets time go by until a step. Clocks that go back are waited for.
func (c *counts) pass(minute int64) {
	if !c.began {
		c.began, c.from, c.to = true, minute, minute
		return
	}
	if minute <= c.to {
		return
	}
	for m := max(c.to+1, minute-minutesMax+1); m <= minute; m++ {
		c.ends[m%minutesMax] = c.Count
	}
	c.from, c.to = max(c.from, minute-minutesMax), minute
}

// each calls yield with every end of a minute that is known at another one.
func (c *counts) each(last int64, yield func(minute int64, at Count)) {
	if !c.began {
		return
	}
	for m := max(c.from+1, last-minutesMax+1); m <= last; m++ {
		if m <= c.to {
			yield(m, c.ends[m%minutesMax])
		} else {
			yield(m, c.Count)
		}
	}
}
