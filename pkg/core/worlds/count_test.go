package worlds

import "testing"

func count(is bool) int {
	if is {
		return 1
	}
	return 0
}

// short is how many seeds there are, or some of them with -short.
func short(seeds uint64) uint64 {
	if testing.Short() {
		return seeds / 10
	}
	return seeds
}
