package plot

import "math"

// A Tick is a value on an axis, and its text.
type Tick struct {
	At   float64
	Text string
}

// An Axis goes from Least to Most. A logarithmic one begins above zero.
type Axis struct {
	Unit        string
	Least, Most float64
	Logarithmic bool
	// Ticks are those for at most so many, as a narrow chart has room for fewer.
	Ticks func(most int) []Tick
}

// part is where a value is on the axis, between zero and one.
func (a Axis) part(value float64) float64 {
	value = max(a.Least, min(value, a.Most))
	if a.Logarithmic {
		return math.Log(value/a.Least) / math.Log(a.Most/a.Least)
	}
	return (value - a.Least) / (a.Most - a.Least)
}

// Powers is a logarithmic axis over values above zero, with a tick at each power of ten.
func Powers(unit string, values []float64, text func(float64) string) Axis {
	least, most := math.Inf(1), 0.0
	for _, v := range values {
		if v > 0 {
			least, most = min(least, v), max(most, v)
		}
	}
	if most == 0 {
		least, most = 1, 10
	}
	first := int(math.Floor(math.Log10(least) + 1e-9))
	last := max(first+1, int(math.Ceil(math.Log10(most)-1e-9)))
	return Axis{
		Unit: unit, Logarithmic: true, Least: math.Pow10(first), Most: math.Pow10(last),
		Ticks: func(most int) (ticks []Tick) {
			each := (last-first)/(most+1) + 1
			for power := first; power <= last; power += each {
				ticks = append(ticks, Tick{math.Pow10(power), text(math.Pow10(power))})
			}
			return ticks
		},
	}
}
