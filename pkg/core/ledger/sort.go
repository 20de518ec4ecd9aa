package ledger

import (
	"cmp"
	"slices"
)

// ByKey is a copy of a list in an order that does not depend on history.
func ByKey(list []*Request) []*Request {
	sorted := slices.Clone(list)
	slices.SortFunc(sorted, func(a, b *Request) int { return cmp.Compare(a.Key, b.Key) })
	return sorted
}
