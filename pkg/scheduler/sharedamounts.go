package scheduler

import (
	"sync/atomic"

	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// sharedMax is how many amounts are kept, to be used again.
const sharedMax = 256

// sharedAmounts lets asks with equal amounts share them, since most asks are like
// many others. It keeps those that were seen last, as far as they do not need each
// other's place. It may be used by any number of goroutines; the zero value is
// ready.
type sharedAmounts [sharedMax]atomic.Pointer[resources.Amounts]

// share returns amounts that are equal to those given, which it does not keep. They must not
// be changed.
func (s *sharedAmounts) share(amounts resources.Amounts) resources.Amounts {
	kept := &s[placeOf(amounts)]
	if found := kept.Load(); found != nil && found.Equal(amounts) {
		return *found
	}
	shared := amounts.Clone()
	kept.Store(&shared)
	return shared
}

// placeOf is where amounts are kept in a table of sharedMax places. It is asked for each ask and each
// placement: package hash/fnv takes eight times as long for as good a spread.
func placeOf(amounts resources.Amounts) uint8 {
	var hash uint64
	for _, v := range amounts {
		hash = (hash ^ uint64(v)) * 0x9E3779B97F4A7C15
		hash ^= hash >> 32
	}
	return uint8(hash)
}
