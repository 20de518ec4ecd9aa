package preemptor

import (
	"math"
	"math/bits"

	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// LeastVictims is a lower bound of the victims for each of any number of equal asks, in
// parts of 1/720720, if none holds more than the largest amounts.
func LeastVictims(ask, free, releasing, largest resources.Amounts) int64 {
	least := int64(0)
	for i, asked := range ask {
		kind := resources.Kind(i)
		// Where one victim holds a part of an ask, another ask needs as many again.
		if one := largest.Of(kind); asked > 0 && one > 0 && asked%one == 0 && free.Of(kind)+releasing.Of(kind) < one {
			least = max(least, asked/one)
		}
	}
	if least > 0 {
		return times(least, wholeAsk)
	}
	least = times(leastFor(1, ask, free, releasing, largest), wholeAsk)
	for _, m := range numbersOfAsks {
		least = min(least, times(leastFor(m, ask, free, releasing, largest), wholeAsk/m))
	}
	return least
}

// leastFor is a lower bound of the victims for so many asks, at least one.
func leastFor(m int64, ask, free, releasing, largest resources.Amounts) int64 {
	least := int64(1)
	for i, asked := range ask {
		kind := resources.Kind(i)
		one := largest.Of(kind)
		need := times(m, max(asked, 0)) - free.Of(kind) - releasing.Of(kind)
		switch {
		case asked <= 0 || need <= 0:
		case one <= 0:
			return math.MaxInt64
		default:
			least = max(least, (need-1)/one+1)
		}
	}
	return least
}

// stepsMax is for how many victims LeastAmong looks at what they serve.
const stepsMax = 16

// MayShare reports whether victims on a node may be fewer for an ask that shares them with
// others. What they ask for comes in whole steps, and none holds more than the largest.
func MayShare(ask, free, releasing, largest, step resources.Amounts) bool {
	return LeastAmong(ask, free, releasing, largest, step) < times(leastFor(1, ask, free, releasing, largest), wholeAsk)
}

// LeastAmong is a lower bound of the victims for an ask and what waits behind it, for as
// much as the ask, in parts of 1/720720, if none holds more than the largest amounts and
// what waits comes in whole steps.
func LeastAmong(ask, free, releasing, largest, step resources.Amounts) int64 {
	least, short := int64(0), false
	for i, asked := range ask {
		kind := resources.Kind(i)
		there := free.Of(kind) + releasing.Of(kind)
		if asked <= 0 || there >= asked {
			continue
		}
		short = true
		if largest.Of(kind) <= 0 {
			return math.MaxInt64
		}
		least = max(least, leastOfKind(asked, there, largest.Of(kind), max(step.Of(kind), 1)))
	}
	if !short {
		return wholeAsk
	}
	return least
}

// leastOfKind is LeastAmong for one kind, of which so much is there, and one victim holds
// so much.
func leastOfKind(asked, there, one, step int64) int64 {
	if there < one && step%one == 0 {
		return times(asked/one, wholeAsk) // what is there serves nothing
	}
	first := (asked-there-1)/one + 1
	// With many victims what is there adds little to each.
	beyond := first + stepsMax
	least := scaled(asked, wholeAsk, add(one, (max(there, 0)+beyond-1)/beyond))
	for victims := first; victims < beyond; victims++ {
		serve := add(times(victims, one), max(there, 0)) + min(there, 0)
		serve -= serve % step
		if serve >= asked {
			least = min(least, scaled(times(victims, wholeAsk), asked, serve))
		}
	}
	return least
}

// scaled is v * by / of rounded down, or the most there is.
func scaled(v, by, of int64) int64 {
	high, low := bits.Mul64(uint64(v), uint64(by))
	if high >= uint64(of) {
		return math.MaxInt64
	}
	result, _ := bits.Div64(high, low, uint64(of))
	return int64(min(result, math.MaxInt64))
}
