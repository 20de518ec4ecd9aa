package preemptor

import "slices"

// A Cost is what a plan costs whom it takes from, so that plans on different
// nodes compare: from the first figure to the last, the lower is the better. What
// the figures are is a matter of the trigger.
type Cost [7]int64

// Compare is negative if c is the better of two costs.
func (c Cost) Compare(other Cost) int { return slices.Compare(c[:], other[:]) }
