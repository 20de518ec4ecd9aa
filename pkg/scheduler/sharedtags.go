package scheduler

import (
	"hash/maphash"
	"maps"
	"sync/atomic"
)

const (
	// tagsSharedMax is how many tags are shared at most: many of them name their pod, and so
	// are like no others.
	tagsSharedMax = 8
	// tagBytesMax is the most bytes of tags that are kept to be shared.
	tagBytesMax = 1024
)

// sharedTags lets allocations of other schedulers with equal tags share them: often the tags
// say no more than that. It keeps those that were seen last, as far as they do not need each
// other's place. It may be used by any number of goroutines; the zero value is ready.
type sharedTags [sharedMax]atomic.Pointer[map[string]string]

// share returns tags that are equal to those given, which it does not keep. They must not be
// changed.
func (s *sharedTags) share(tags map[string]string) map[string]string {
	place, small := placeOfTags(tags)
	if !small {
		return ownTags(tags)
	}
	kept := &s[place]
	if found := kept.Load(); found != nil && maps.Equal(*found, tags) {
		return *found
	}
	shared := maps.Clone(tags)
	kept.Store(&shared)
	return shared
}

// ownTags is a copy of tags; none is nil.
func ownTags(tags map[string]string) map[string]string {
	if len(tags) == 0 {
		return nil
	}
	return maps.Clone(tags)
}

// tagsSeed is of one process: where tags are kept decides nothing but which allocations share them.
var tagsSeed = maphash.MakeSeed()

// placeOfTags is where tags are kept in a table of sharedMax places, if there are few enough.
func placeOfTags(tags map[string]string) (place uint8, small bool) {
	if len(tags) == 0 || len(tags) > tagsSharedMax {
		return 0, false
	}
	var sum uint64 // in any order
	size := 0
	for key, value := range tags {
		if size += len(key) + len(value); size > tagBytesMax {
			return 0, false
		}
		sum += maphash.String(tagsSeed, key) ^ maphash.String(tagsSeed, value)<<1
	}
	return uint8(sum >> 8), true
}
