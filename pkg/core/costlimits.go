package core

import (
	"maps"
	"slices"
)

// costLimits bound how many keys are kept, and how many nodes of all of them: those in
// heaps, and those of which only the status is known. What was not used for the longest
// time gives way. It is worked out again when it is needed, so no decision depends on these
// limits. Evaluations bounds what is worked out in one batch: see evaluationsMax.
type costLimits struct{ keys, heaps, statuses, evaluations int }

const (
	keysMax     = 1 << 13
	heapsMax    = 1 << 19
	statusesMax = 1 << 25
)

// A costMemory is the memory of costs that were dropped, to be used for those of another key.
type costMemory struct {
	heap   []nodeCost
	at     []int32
	status []nodeStatus
}

// take hands the memory over.
func (m *costMemory) take() costMemory {
	taken := *m
	*m = costMemory{}
	return taken
}

// zeros are so many of them, in the memory of a slice where that is enough.
func zeros[T any](memory []T, count int) []T {
	memory = slices.Grow(memory[:0], count)[:count]
	clear(memory)
	return memory
}

// makeSpace drops the costs that were not used for the longest time, so that there is
// space for those of another key.
func (p *costCache) makeSpace() {
	if len(p.known) >= p.limits.keys {
		p.dropOlderHalf()
	}
	if (len(p.known)+1)*p.nodes.Len() <= min(p.limits.heaps, p.limits.statuses) {
		return // all together are within the limits
	}
	for {
		heaps, statuses := p.nodes.Len(), p.nodes.Len()
		var oldest *nodeCosts
		for _, c := range p.known {
			heaps, statuses = heaps+cap(c.heap), statuses+len(c.status)
			if oldest == nil || c.used < oldest.used {
				oldest = c
			}
		}
		if oldest == nil || heaps <= p.limits.heaps && statuses <= p.limits.statuses {
			return
		}
		delete(p.known, oldest.preemptionKey)
		p.spare = costMemory{oldest.heap[:0], oldest.at[:0], oldest.status[:0]}
	}
}

// dropOlderHalf drops the half of the costs that were not used for the longest time, so
// that the next is not due soon.
func (p *costCache) dropOlderHalf() {
	used := make([]uint64, 0, len(p.known))
	for _, c := range p.known {
		used = append(used, c.used)
	}
	slices.Sort(used)
	middle := used[len(used)/2]
	maps.DeleteFunc(p.known, func(_ preemptionKey, c *nodeCosts) bool { return c.used <= middle })
}
