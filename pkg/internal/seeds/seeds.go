// Package seeds says which random worlds a test plays. go test plays a fifth of them, always the
// same. make torture plays all, from a seed that moves by the day.
package seeds

import (
	"fmt"
	"iter"
	"os"
	"testing"
)

// share is which part of all worlds go test plays: one of so many.
const share = 5

// Torture reads TORTURE="seed count": the first seed of every test, and how many worlds a test
// plays that has no number of its own.
func Torture(t testing.TB) (first, count uint64, asked bool) {
	t.Helper()
	text := os.Getenv("TORTURE")
	if text == "" {
		return 0, 0, false
	}
	if _, err := fmt.Sscan(text, &first, &count); err != nil {
		t.Fatalf("TORTURE=%q is not a seed and a count: %v", text, err)
	}
	return first, count, true
}

// Of are the seeds of a test that has so many worlds in all.
func Of(t testing.TB, all uint64) iter.Seq[uint64] {
	t.Helper()
	first, _, _ := Torture(t)
	count := Part(t, all)
	return func(yield func(uint64) bool) {
		for i := range count {
			if !yield(first + i) {
				return
			}
		}
	}
}

// Part is as much of a number as is played of all worlds. What must come about so often in all
// must come about so often in those. A test that compares a mean with a number of its own plays
// so many from the same seed each time, since with others the mean is another.
func Part[N int | uint64](t testing.TB, all N) N {
	t.Helper()
	if _, _, asked := Torture(t); asked {
		return all
	}
	return (all + share - 1) / share
}
