// Package user uses another.
package user

import "tiny/counter"

// Four is four times a number.
func Four(n int) int { return counter.Twice(counter.Twice(n)) }
