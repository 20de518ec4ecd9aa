package core

import (
	"fmt"
	"slices"

	"github.com/narwhal-scheduler/narwhal/pkg/core/preemptor"
)

// DropViews makes the next view from scratch, for tests that compare it with
// the one that was kept.
func (p *Partition) DropViews() {
	for n := range p.allNodes {
		n.view = nil
	}
	p.applications.Ascend(func(app *application) bool {
		app.view = nil
		return true
	})
	p.root.dropViews()
}

func (q *queue) dropViews() {
	q.view = nil
	for _, child := range q.children {
		child.dropViews()
	}
}

// KeepSlots leaves only so many shapes a slot of their own, so that a test with
// few asks meets what happens with many. It is for a partition without asks.
func (p *Partition) KeepSlots(n int) {
	p.shapes.free = p.shapes.free[len(p.shapes.free)-n:]
}

// KnownShapes is how many shapes are remembered.
func (p *Partition) KnownShapes() int { return len(p.shapes.all) }

// VerifyHunts checks that what is remembered of hunts is what a look at every
// node gives now: the costs, and that what was in vain still is.
func (p *Partition) VerifyHunts() error {
	for _, g := range p.grounds {
		p.catchUp(g)
		stale := map[*node]bool{}
		for _, n := range p.trail[g.seen-(p.moves-uint64(len(p.trail))):] {
			stale[n] = true
		}
		for _, n := range g.fleeting {
			stale[n] = true
		}
		for _, known := range slices.Clone(g.heap) {
			if stale[known.node] {
				continue
			}
			if known.verdict == notAssessed {
				if fresh := p.assess(g, known.node); known.cost.Compare(fresh.cost) > 0 && !slices.Contains(g.fleeting, known.node) {
					return fmt.Errorf("node %s at best costs %v, and costs %v", known.node.id, known.cost, fresh.cost)
				}
			} else if fresh := p.assess(g, known.node); fresh != known {
				return fmt.Errorf("node %s was assessed as %v and is %v", known.node.id, known, fresh)
			}
		}
	}
	if !p.flat || p.consults() || p.preemption.Disabled || p.preemption.Priority == PriorityOff {
		return nil
	}
	for _, s := range p.shapes.all {
		for _, q := range s.huntsIn {
			if q.hunts[s].eager {
				continue
			}
			for cur := q; cur != nil; cur = cur.parent {
				if !cur.hasRoom(s.amounts) {
					q = nil
					break
				}
			}
			if q == nil {
				continue
			}
			g := &ground{hunter: hunter{s, p.root, p.root, preemptor.Priority}, relations: map[*queue]*relation{}}
			for n := range p.allNodes {
				if fresh := p.assess(g, n); fresh.verdict == enough && !n.hasRoom(s.amounts, s.priority) && n.leaving.IsZero() {
					return fmt.Errorf("%s of priority %d hunted in vain and node %s would do: %v", p.kinds.Format(s.amounts), s.priority, n.id, fresh)
				}
			}
		}
	}
	return nil
}

// KeyOrder sorts keys as lists of requests are.
func KeyOrder(keys []AllocationKey) (sorted []AllocationKey) {
	list := make([]*request, len(keys))
	for i, key := range keys {
		list[i] = &request{Allocation: &Allocation{Key: key}}
	}
	for _, r := range byKey(list) {
		sorted = append(sorted, r.Key)
	}
	return sorted
}
