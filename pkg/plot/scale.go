package plot

import "math"

// RoundStep is the smallest of 1, 2 and 5 times a power of ten, times the least step, that
// makes at most so many steps up to the top.
func RoundStep(top, least float64, most int) float64 {
	for power := least; ; power *= 10 {
		for _, factor := range []float64{1, 2, 5} {
			if step := factor * power; top <= step*float64(most) {
				return step
			}
		}
	}
}

// RoundUp is the next multiple of the step, at least one.
func RoundUp(value, step float64) float64 { return math.Max(1, math.Ceil(value/step-1e-9)) * step }
