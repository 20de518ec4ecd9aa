package scarcity

import (
	"encoding/binary"
	"math/bits"

	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// classesMax is how many classes are told apart. Nodes beyond them share the last one, which any
// ask can use.
const classesMax = 64

// A nodeClass is what nodes have in common.
type nodeClass struct {
	key      string
	capacity resources.Amounts // coarse
	values   map[string]string // of the attributes that selectors name, and of taints
	nodes    int
	free     []int64 // by the kinds that count, of the nodes that are open
}

// A Place is what a Cluster knows of a node. The zero value is a node that it does not know.
type Place struct {
	Class    int
	known    bool
	free     []int64
	capacity []int64
}

// coarse brings amounts into classes: the three leading bits stay.
func coarse(v int64) int64 {
	if shift := bits.Len64(uint64(max(v, 0))) - 3; shift > 0 {
		return v >> shift << shift
	}
	return max(v, 0)
}

// countedMax is the most that a node counts with, so that sums are exact.
const countedMax = 1 << 45

// Enter counts a node of which class it is, or counts it anew after its capacity or its attributes have changed.
func (c *Cluster) Enter(p *Place, capacity resources.Amounts, attributes map[string]string) {
	c.Leave(p)
	for _, taint := range taintsOf(attributes) {
		c.name(taint)
	}
	p.known, p.Class = true, c.classOf(capacity, attributes)
	p.free, p.capacity = make([]int64, len(c.kinds)), make([]int64, len(c.kinds))
	for i, kind := range c.kinds {
		p.capacity[i] = min(max(capacity.Of(kind), 0), countedMax)
		c.capacity[i] += p.capacity[i]
	}
	c.classes[p.Class].nodes++
	c.stale++
}

// SetFree says what is free on a node. Nothing is, where none may be placed.
func (c *Cluster) SetFree(p *Place, free resources.Amounts) {
	of := c.classes[p.Class].free
	for i, kind := range c.kinds {
		now := min(max(free.Of(kind), 0), countedMax)
		of[i] += now - p.free[i]
		c.free[i] += now - p.free[i]
		p.free[i] = now
	}
	c.stale++
}

// Leave takes a node off the books.
func (c *Cluster) Leave(p *Place) {
	if !p.known {
		return
	}
	c.SetFree(p, nil)
	for i := range c.kinds {
		c.capacity[i] -= p.capacity[i]
	}
	c.classes[p.Class].nodes--
	*p = Place{}
}

// classOf is the class of a node. One of which no node is left gives its number to a new one.
func (c *Cluster) classOf(capacity resources.Amounts, attributes map[string]string) int {
	key := c.scratch[:0]
	for i, v := range capacity {
		if v > 0 {
			key = binary.AppendVarint(binary.AppendVarint(key, int64(i)), coarse(v))
		}
	}
	values := make(map[string]string, len(c.labels))
	for _, label := range c.labels {
		values[label] = attributes[label]
		key = append(append(key, 0), attributes[label]...)
	}
	c.scratch = key
	unused := -1
	for i := range c.classes {
		s := &c.classes[i]
		switch {
		case s.key == string(key) && i < classesMax-1:
			return i
		case s.nodes == 0 && unused < 0 && i < classesMax-1:
			unused = i
		}
	}
	if unused < 0 {
		if len(c.classes) == classesMax {
			c.tooMany()
			return classesMax - 1
		}
		unused = len(c.classes)
		c.classes = append(c.classes, nodeClass{free: make([]int64, len(c.kinds))})
		c.prices = append(c.prices, make([]int64, len(c.kinds)))
	}
	s := &c.classes[unused]
	s.key, s.values, s.capacity = string(key), values, nil
	for i, v := range capacity {
		s.capacity.Set(resources.Kind(i), coarse(v))
	}
	c.epoch++
	return unused
}

// tooMany drops the attribute that selectors named last, since there are more classes than are told apart: one of which
// every node has a value of its own, such as its name, says nothing of what is scarce.
func (c *Cluster) tooMany() {
	if last := len(c.labels) - 1; last >= 0 && !c.relabel {
		c.useless = append(c.useless, c.labels[last])
		c.labels, c.relabel = c.labels[:last], true
	}
}
