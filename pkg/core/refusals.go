package core

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// refusals are the answers of the resource manager about the nodes that a class
// fits. An answer holds until the node is freed. While questions go on, asked says
// which nodes were asked about since started; once all with room were, since says
// that they were all refused, and the class is set aside until a node is freed, or a
// longer while has passed, since the outside may have changed.
type refusals struct {
	complete       bool
	since, started uint64 // nodes freed until then
	asked          []uint64
	texts          map[string]int // how often each reason was given since started
	detail         string         // of the last time that any was given
	repeated       bool           // the questions were asked before
	aside          bool           // the class is in no order
	resume         time.Time      // when questions go on, if they were broken off
}

// isRefused reports whether a class is set aside.
func (c *class) isRefused() bool { return c.refused != nil && c.refused.aside }

// refusedOn reports whether the resource manager refused a class on a node, and the
// node has not been freed since.
func (c *class) refusedOn(n *node) bool {
	r := c.refused
	switch {
	case r == nil:
		return false
	case r.complete && n.freedAt <= r.since:
		return true
	}
	word := int(n.slot / 64)
	return n.freedAt <= r.started && word < len(r.asked) && r.asked[word]&(1<<(n.slot%64)) != 0
}

// add takes a refusal.
func (r *refusals) add(n *node, err error) {
	for int(n.slot) >= 64*len(r.asked) {
		r.asked = append(r.asked, 0)
	}
	r.asked[n.slot/64] |= 1 << (n.slot % 64)
	if r.texts == nil {
		r.texts = map[string]int{}
	}
	r.texts[err.Error()]++
}

// forget drops what was said about a node.
func (r *refusals) forget(n *node) {
	if word := int(n.slot / 64); word < len(r.asked) {
		r.asked[word] &^= 1 << (n.slot % 64)
	}
}

// clone is the same answers for another class, which is in the order.
func (r *refusals) clone() *refusals {
	other := *r
	other.asked, other.texts, other.aside = slices.Clone(r.asked), maps.Clone(r.texts), false
	return &other
}

// finish notes that all nodes with room were asked about.
func (r *refusals) finish() {
	if len(r.texts) > 0 {
		r.detail = r.summary()
	}
	r.complete, r.since, r.asked, r.texts = true, r.started, nil, nil
}

// summary is what the resource manager said, the most frequent first.
func (r *refusals) summary() string {
	texts := make([]string, 0, len(r.texts))
	for text := range r.texts {
		texts = append(texts, text)
	}
	slices.SortFunc(texts, func(a, b string) int {
		return cmp.Or(cmp.Compare(r.texts[b], r.texts[a]), strings.Compare(a, b))
	})
	for i, text := range texts {
		nodes := "nodes"
		if r.texts[text] == 1 {
			nodes = "node"
		}
		texts[i] = fmt.Sprintf("%s (%d %s)", text, r.texts[text], nodes)
	}
	return strings.Join(texts, "; ")
}
