package core

import (
	"cmp"
	"slices"
)

// byKey is a copy of a list in an order that does not depend on history.
func byKey(list []*request) []*request {
	sorted := slices.Clone(list)
	slices.SortFunc(sorted, func(a, b *request) int { return cmp.Compare(a.Key, b.Key) })
	return sorted
}
