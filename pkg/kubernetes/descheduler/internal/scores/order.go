package scores

import (
	"cmp"
	"iter"
	"slices"
)

// An order is the nodes by what is requested of them. It is kept up to date where they change.
type order struct {
	sorted  []ranked
	ranks   map[string]ranked // those in sorted; nil: nothing is sorted yet
	changed map[string]bool
}

// A ranked node.
type ranked struct {
	requested int64 // thousandths of its processors and memory; negative where full nodes are first
	name      string
}

func (r ranked) compare(other ranked) int {
	return cmp.Or(cmp.Compare(r.requested, other.requested), cmp.Compare(r.name, other.name))
}

// change notes that a node has another place.
func (o *order) change(node string) {
	if o.ranks == nil {
		return
	}
	if o.changed == nil {
		o.changed = map[string]bool{}
	}
	o.changed[node] = true
}

// manyChanges is from how many on the nodes are sorted again.
const manyChanges = 100

// Nodes are all nodes, those that the preference for free or full nodes puts first in front, then by name.
func (c *Cluster) Nodes() iter.Seq[string] {
	o := &c.order
	if o.ranks == nil || len(o.changed) > manyChanges {
		*o = order{ranks: make(map[string]ranked, len(c.nodes))}
		for name := range c.nodes {
			o.ranks[name] = c.rank(name)
			o.sorted = append(o.sorted, o.ranks[name])
		}
		slices.SortFunc(o.sorted, ranked.compare)
	}
	for name := range o.changed {
		if before, there := o.ranks[name]; there {
			at, _ := slices.BinarySearchFunc(o.sorted, before, ranked.compare)
			o.sorted = slices.Delete(o.sorted, at, at+1)
			delete(o.ranks, name)
		}
		if c.nodes[name] != nil {
			o.ranks[name] = c.rank(name)
			at, _ := slices.BinarySearchFunc(o.sorted, o.ranks[name], ranked.compare)
			o.sorted = slices.Insert(o.sorted, at, o.ranks[name])
		}
	}
	clear(o.changed)
	return func(yield func(string) bool) {
		for _, r := range o.sorted {
			if !yield(r.name) {
				return
			}
		}
	}
}

// rank is where a node stands now.
func (c *Cluster) rank(name string) ranked {
	info := c.nodes[name]
	requested := share(info.Requested.MilliCPU, info.Allocatable.MilliCPU) + share(info.Requested.Memory, info.Allocatable.Memory)
	if c.packing {
		requested = -requested
	}
	return ranked{requested, name}
}

// share is how much of all is requested, in thousandths.
func share(requested, all int64) int64 {
	if all == 0 {
		return 1000
	}
	return requested * 1000 / all
}
