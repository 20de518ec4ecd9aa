package simulator

import (
	"fmt"
	"slices"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"

	"github.com/narwhal-scheduler/narwhal/pkg/core"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// A foreignPod is a pod of another scheduler on a node. It has ended a while
// before the core learns of it, and counts until then if its node is there.
type foreignPod struct {
	*Foreign
	key       core.AllocationKey
	amounts   resources.Amounts
	node      *node
	gone      bool
	releasing bool // evicted, and counted still
}

// foreignArrives reports the foreign pods of a group on the nodes that are
// there and have none yet.
func (c *cluster) foreignArrives(f *Foreign) {
	var there []*node
	for _, n := range c.order {
		if n.up && f.belongs(n) {
			there = append(there, n)
		}
	}
	if f.Count == 0 {
		for _, n := range there {
			if !slices.ContainsFunc(n.foreign, func(p *foreignPod) bool { return p.Foreign == f }) {
				c.foreignOn(f, n, f.keyOn(n))
			}
		}
		return
	}
	random := stream(c.seed, "foreign "+f.Name)
	for i := range f.Count {
		if len(there) > 0 {
			n := there[random.IntN(len(there))]
			c.foreignOn(f, n, core.AllocationKey(fmt.Sprintf("%s/%d", f.Name, i+1)))
		}
	}
}

func (f *Foreign) belongs(n *node) bool {
	return len(f.Groups) == 0 || slices.Contains(f.Groups, n.Group)
}

// keyOn names the foreign pod that a node has, anew in each life of the node.
func (f *Foreign) keyOn(n *node) core.AllocationKey {
	key := core.AllocationKey(f.Name + "/" + string(n.ID))
	if n.lives > 1 {
		return core.AllocationKey(fmt.Sprintf("%s~%d", key, n.lives))
	}
	return key
}

// foreignOf reports the foreign pods that every node has, for one that joins.
func (c *cluster) foreignOf(n *node) {
	for i := range c.scenario.Foreign {
		f := &c.scenario.Foreign[i]
		if f.Count == 0 && f.At <= c.now && f.belongs(n) {
			c.foreignOn(f, n, f.keyOn(n))
		}
	}
}

func (c *cluster) foreignOn(f *Foreign, n *node, key core.AllocationKey) {
	p := &foreignPod{Foreign: f, key: key, amounts: f.Amounts, node: n}
	c.foreignPods[key] = p
	n.foreign = append(n.foreign, p)
	c.tally.foreignReported++
	if f.Static {
		c.tally.foreignStatic++
	}
	c.books.book(c.books.occupied, p.amounts, 1)
	c.reportForeign(p)
	for _, r := range f.Resizes {
		c.after(r.After, func() { c.resizeForeign(p, r.Amounts) })
	}
	if runs, ends := f.Runs.draw(c.delays); ends {
		c.after(runs, func() { c.endForeign(p) })
	}
}

func (c *cluster) reportForeign(p *foreignPod) {
	origin := core.Foreign
	if p.Static {
		origin = core.Static
	}
	c.report(&core.Allocation{
		Key:     p.key,
		Node:    p.node.ID,
		Amounts: p.amounts,
		Created: epoch.Add(c.now),
		Origin:  origin,
	})
}

func (c *cluster) resizeForeign(p *foreignPod, amounts resources.Amounts) {
	if p.gone {
		return
	}
	c.tally.foreignResized++
	c.books.book(c.books.occupied, p.amounts, -1)
	c.books.book(c.books.occupied, amounts, 1)
	p.amounts = amounts
	c.reportForeign(p)
}

func (c *cluster) endForeign(p *foreignPod) {
	if !p.gone {
		p.gone = true
		c.tally.foreignEnded++
		c.releaseForeign(p)
	}
}

// loseForeign is what happens to the foreign pods of a node that vanishes: they
// are reported as gone a little later.
func (c *cluster) loseForeign(n *node) {
	for _, p := range n.foreign {
		c.books.book(c.books.occupied, p.amounts, -1)
		c.endForeignEviction(p)
		if !p.gone {
			p.gone = true
			c.tally.foreignLost++
			c.after(c.pause(c.scenario.Delays.Stop), func() { c.releaseForeign(p) })
		}
	}
}

// rechargeForeign is what happens to foreign pods whose node returns before their
// release was reported: the core charges them again.
func (c *cluster) rechargeForeign(n *node) {
	for _, p := range n.foreign {
		c.books.book(c.books.occupied, p.amounts, 1)
	}
}

// releaseForeign releases a foreign pod, perhaps once more.
func (c *cluster) releaseForeign(p *foreignPod) {
	if c.foreignPods[p.key] == p {
		delete(c.foreignPods, p.key)
		p.node.foreign = slices.DeleteFunc(p.node.foreign, func(other *foreignPod) bool { return other == p })
		if p.node.up {
			c.books.book(c.books.occupied, p.amounts, -1)
		}
		c.endForeignEviction(p)
	}
	c.send(core.ReleaseAllocation{Key: p.key, Termination: si.TerminationType_STOPPED_BY_RM})
}
