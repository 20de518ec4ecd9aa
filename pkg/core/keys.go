package core

import (
	"cmp"
	"encoding/binary"
	"slices"
	"strings"
)

// A keyed request has the first bytes in which its key may differ from others of a
// list as a number.
type keyed struct {
	word uint64
	*request
}

// byKey is a copy of a list in an order that does not depend on history.
func byKey(list []*request) []*request {
	sorted := make([]*request, len(list))
	for i, one := range inKeyOrder(list, nil) {
		sorted[i] = one.request
	}
	return sorted
}

// inKeyOrder is a list in the order of the keys, in the given memory if it suffices.
// Most comparisons are of numbers, without a look at the requests.
func inKeyOrder(list []*request, memory []keyed) []keyed {
	if len(list) == 0 {
		return nil
	}
	all := slices.Grow(memory[:0], len(list))
	skip := commonPrefix(list)
	for _, r := range list {
		all = append(all, keyed{firstWord(string(r.Key[skip:])), r})
	}
	slices.SortFunc(all, func(a, b keyed) int {
		if a.word != b.word {
			return cmp.Compare(a.word, b.word)
		}
		return strings.Compare(string(a.Key[skip:]), string(b.Key[skip:]))
	})
	return all
}

// commonPrefix is how many bytes the keys of a list begin with in common.
func commonPrefix(list []*request) int {
	first := string(list[0].Key)
	n := len(first)
	for _, r := range list[1:] {
		key := string(r.Key)
		n = min(n, len(key))
		for key[:n] != first[:n] {
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
