package scarcity

import (
	"fmt"
	"iter"
	"slices"

	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// Verify returns the first law that is broken, given all nodes and what waits:
//
//   - what is free of a class, and how many nodes it has, is the sum over its nodes;
//   - as many asks of a profile wait as there are.
func (c *Cluster) Verify(places iter.Seq[*Place], waits iter.Seq[*Profile]) error {
	free, nodes := make([][]int64, len(c.classes)), make([]int, len(c.classes))
	all, capacity := make([]int64, len(c.kinds)), make([]int64, len(c.kinds))
	for i := range free {
		free[i] = make([]int64, len(c.kinds))
	}
	for p := range places {
		nodes[p.Class]++
		for i := range c.kinds {
			free[p.Class][i] += p.free[i]
			all[i] += p.free[i]
			capacity[i] += p.capacity[i]
		}
	}
	for i := range c.classes {
		if s := &c.classes[i]; s.nodes != nodes[i] || !slices.Equal(s.free, free[i]) {
			return fmt.Errorf("class %d counts %d nodes with %d, its nodes are %d with %d", i, s.nodes, s.free, nodes[i], free[i])
		}
	}
	if !slices.Equal(c.free, all) || !slices.Equal(c.capacity, capacity) {
		return fmt.Errorf("free are %d of %d, the nodes have %d of %d", c.free, c.capacity, all, capacity)
	}
	waiting := map[*Profile]int64{}
	for p := range waits {
		waiting[p]++
	}
	for _, p := range c.profiles {
		if p.waits != waiting[p] {
			return fmt.Errorf("%d asks of %q wait, %d are counted", waiting[p], p.selector, p.waits)
		}
		delete(waiting, p)
	}
	if len(waiting) > 0 {
		return fmt.Errorf("%d profiles are forgotten of which asks wait", len(waiting))
	}
	return nil
}

// Counts reports whether a node is counted with a capacity and with what is free.
func (c *Cluster) Counts(p *Place, capacity, free resources.Amounts) bool {
	for i, kind := range c.kinds {
		if !p.known || p.free[i] != min(max(free.Of(kind), 0), countedMax) || p.capacity[i] != min(max(capacity.Of(kind), 0), countedMax) {
			return false
		}
	}
	return true
}
