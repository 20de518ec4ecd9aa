package preemption

import (
	"maps"

	"github.com/narwhal-scheduler/narwhal/pkg/core/preemptor"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// CostLimits bound how many keys are kept, and how many nodes of all of them stand in heaps. Of a
// node that does not only the status is known, which takes a part of the space. What was not used
// for the longest time gives way. It is worked out again when it is needed, so no decision depends
// on these limits. Evaluations bounds what is worked out in one batch: see EvaluationsMax.
type CostLimits struct{ Keys, Heaps, Evaluations int }

// How many keys and nodes are kept.
const (
	KeysMax         = 1 << 13
	HeapsMax        = 1 << 19
	statusesOfEntry = 64 // that take as much space as an entry of a heap
)

// makeSpace drops the costs that were not used for the longest time, so that there is space for
// those of another key. Of keys the older half goes, so that the next is not due soon.
func (p *CostCache) makeSpace() {
	if len(p.Known) >= p.Bounds.Keys {
		older := p.uses - uint64(p.Bounds.Keys/2)
		maps.DeleteFunc(p.Known, func(_ Key, c *NodeCosts) bool { return c.used <= older })
	}
	for (len(p.Known)+1)*p.Nodes.Len() > p.Bounds.Heaps {
		entries := p.Nodes.Len()
		var oldest *NodeCosts
		for _, c := range p.Known {
			entries += cap(c.Heap) + len(c.Status)/statusesOfEntry
			if oldest == nil || c.used < oldest.used {
				oldest = c
			}
		}
		if oldest == nil || entries <= p.Bounds.Heaps {
			return
		}
		delete(p.Known, oldest.Key)
		p.spare = costMemory{oldest.Heap[:0], oldest.at[:0], oldest.Status[:0]}
	}
}

// Configure takes the configuration: whether only priority counts between queues, and of which kinds any has a max
// or a guarantee.
func (p *CostCache) Configure(flat bool, configured resources.Amounts) {
	p.Flat, p.Configured = flat, configured
	for t := range p.Plans {
		p.Plans[t] = p.Preemption.PlanFor(preemptor.Trigger(t))
	}
}

// BeginBatch counts what may be worked out in a batch.
func (p *CostCache) BeginBatch() { p.Remaining = p.Bounds.Evaluations }
