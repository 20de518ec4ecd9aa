package core

import (
	"encoding/binary"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/core/order"
	"github.com/narwhal-scheduler/narwhal/pkg/core/timers"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// A class is what asks have in common that fit the same nodes and the same quotas:
// what was learnt of one of them holds for all until a node or a queue changes.
// (Kubernetes and Borg call it an equivalence class.) Its asks stand in groups, one
// for each application, and in one leafClass for each leaf queue.
//
//	asks   = the asks that wait with the class, in groups or elsewhere
//	closed = no open node has room for it, but for nodes with new room
type class struct {
	amounts      resources.Amounts // shared by all its asks
	priority     int32
	rootPriority int32 // the priority as the root sees it, by which asks compare on a node
	preempts     bool  // room may be made for its asks; not for those that are nominated or back off
	nominated    bool  // its asks are nominated
	constraints  string
	key          string

	asks   int
	idle   bool // among the classes that may have no asks
	groups []*askGroup
	leaves []*leafClass

	closed  bool
	checked uint64 // the rooms.epoch in which new room was too little for it
	links   order.Links[*class]
	below   least // of the subtree of the closed classes

	refused  *refusals // by predicates; nil if there are none
	reserved *request  // the ask that holds the reservation of this class, if one does
	since    time.Time // when it first fitted no node, or one of its asks was placed last
	timer    timers.Timer[due]

	passive int  // leaves in which no room can be made for it
	listed  bool // among the classes to be tried again when a node changes
}

// Before orders closed classes, for a search by amounts: the order is as good as
// any that does not depend on history.
func (c *class) Before(other *class) bool { return c.key < other.key }

// Links are the place among the closed classes.
func (c *class) Links() *order.Links[*class] { return &c.links }

// Summarise works out the least of a subtree of the closed classes.
func (c *class) Summarise() bool {
	var left, right *least
	if c.links.Left != nil {
		left = &c.links.Left.below
	}
	if c.links.Right != nil {
		right = &c.links.Right.below
	}
	return c.below.become(&least{true, c.amounts}, left, right)
}

// appendKey writes the key by which the class is known.
func (c *class) appendKey(key []byte) []byte {
	flags := byte(0)
	if c.preempts {
		flags |= 1
	}
	if c.nominated {
		flags |= 2
	}
	key = binary.BigEndian.AppendUint32(append(key, flags), uint32(c.priority))
	key = binary.BigEndian.AppendUint32(key, uint32(c.rootPriority))
	key = binary.BigEndian.AppendUint32(key, uint32(len(c.amounts)))
	for _, v := range c.amounts {
		key = binary.BigEndian.AppendUint64(key, uint64(v))
	}
	return append(key, c.constraints...)
}

// A classTable knows the classes. A class without asks is remembered for a while, so
// that equal asks which come one after the other make no garbage.
type classTable struct {
	known   map[string]*class
	idle    []*class // those that may have no asks
	scratch []byte
}

// idleMax is how many classes without asks are remembered, besides as many as have
// asks.
const idleMax = 64

// of finds or makes a class like the one that is given, whose amounts it keeps.
func (t *classTable) of(like class) *class {
	for len(like.amounts) > 0 && like.amounts[len(like.amounts)-1] == 0 {
		like.amounts = like.amounts[:len(like.amounts)-1]
	}
	t.scratch = like.appendKey(t.scratch[:0])
	if c, ok := t.known[string(t.scratch)]; ok {
		return c
	}
	c := new(class)
	*c = like
	c.key = string(t.scratch)
	t.known[c.key] = c
	t.list(c)
	return c
}

// list remembers a class that may have no asks.
func (t *classTable) list(c *class) {
	if !c.idle {
		c.idle = true
		t.idle = append(t.idle, c)
	}
}

// release notes that a class has no ask any more. What was learnt of it is
// forgotten.
func (t *classTable) release(c *class) {
	c.refused = nil
	t.list(c)
	if len(t.idle) <= idleMax+len(t.known)/2 {
		return
	}
	for _, c := range t.idle {
		c.idle = false
		if c.asks == 0 {
			delete(t.known, c.key)
		}
	}
	clear(t.idle)
	t.idle = t.idle[:0]
}
