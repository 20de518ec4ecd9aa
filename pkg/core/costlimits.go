package core

import "maps"

// costLimits bound how many keys are kept, and how many nodes of all of them stand in heaps. Of a
// node that does not only the status is known, which takes a part of the space. What was not used
// for the longest time gives way. It is worked out again when it is needed, so no decision depends
// on these limits. Evaluations bounds what is worked out in one batch: see evaluationsMax.
type costLimits struct{ keys, heaps, evaluations int }

const (
	keysMax         = 1 << 13
	heapsMax        = 1 << 19
	statusesOfEntry = 64 // that take as much space as an entry of a heap
)

// makeSpace drops the costs that were not used for the longest time, so that there is space for
// those of another key. Of keys the older half goes, so that the next is not due soon.
func (p *costCache) makeSpace() {
	if len(p.known) >= p.limits.keys {
		older := p.uses - uint64(p.limits.keys/2)
		maps.DeleteFunc(p.known, func(_ preemptionKey, c *nodeCosts) bool { return c.used <= older })
	}
	for (len(p.known)+1)*p.Nodes.Len() > p.limits.heaps {
		entries := p.Nodes.Len()
		var oldest *nodeCosts
		for _, c := range p.known {
			entries += cap(c.heap) + len(c.status)/statusesOfEntry
			if oldest == nil || c.used < oldest.used {
				oldest = c
			}
		}
		if oldest == nil || entries <= p.limits.heaps {
			return
		}
		delete(p.known, oldest.preemptionKey)
		p.spare = costMemory{oldest.heap[:0], oldest.at[:0], oldest.status[:0]}
	}
}
