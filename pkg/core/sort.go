package core

import (
	"cmp"
	"encoding/binary"
	"slices"
	"strings"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
)

// byKey is a copy of a list in an order that does not depend on history.
func byKey(list []*request) []*request {
	sorted := slices.Clone(list)
	sortByKey(sorted, func(r *request) api.AllocationKey { return r.Key })
	return sorted
}

// A keyed thing has the first bytes in which its key may differ from the others of a
// list as a number.
type keyed[T any] struct {
	word  uint64
	thing T
}

// sortByKey puts a list in the order of the keys. Most comparisons are of numbers,
// without a look at the things.
func sortByKey[T any](list []T, key func(T) api.AllocationKey) {
	if len(list) < 2 {
		return
	}
	var few [64]keyed[T] // as many as a node mostly has
	all := few[:0]
	if len(list) > len(few) {
		all = make([]keyed[T], 0, len(list))
	}
	skip := commonPrefix(list, key)
	for _, thing := range list {
		all = append(all, keyed[T]{firstWord(string(key(thing)[skip:])), thing})
	}
	slices.SortFunc(all, func(a, b keyed[T]) int {
		if a.word != b.word {
			return cmp.Compare(a.word, b.word)
		}
		return strings.Compare(string(key(a.thing)[skip:]), string(key(b.thing)[skip:]))
	})
	for i := range all {
		list[i] = all[i].thing
	}
}

// commonPrefix is how many bytes the keys of a list begin with in common.
func commonPrefix[T any](list []T, key func(T) api.AllocationKey) int {
	first := string(key(list[0]))
	n := len(first)
	for _, thing := range list[1:] {
		other := string(key(thing))
		n = min(n, len(other))
		for other[:n] != first[:n] {
			n--
		}
	}
	return n
}

// firstWord is the first eight bytes as a number that is as much greater as they are.
// A text that is shorter counts as if zeros followed.
func firstWord(text string) uint64 {
	var bytes [8]byte
	copy(bytes[:], text)
	return binary.BigEndian.Uint64(bytes[:])
}
