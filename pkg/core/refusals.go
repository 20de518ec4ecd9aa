package core

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// refusals are the answers of the resource manager about the nodes that a class
// fits. An answer holds until the node is freed. While questions go on, asked says
// which nodes were asked about since started, and late when, for those that were freed
// since started; once all with room were asked about, since says that they were all
// refused, and the class is set aside until a node is freed, or a longer while has
// passed, since the outside may have changed.
type refusals struct {
	complete       bool
	since, started uint64 // nodes freed until then
	asked          []uint64
	late           map[int32]uint64 // by slot: nodes freed until it was asked about
	texts          map[string]int   // how often each reason was given since started
	others         int              // how often others were, beyond reasonsMax
	detail         string           // of the last time that any was given
	repeated       bool             // the questions were asked before
	aside          bool             // the class is in no order
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
	if n.freedAt > r.started {
		at, asked := r.late[n.slot]
		return asked && n.freedAt <= at
	}
	word := int(n.slot / 64)
	return word < len(r.asked) && r.asked[word]&(1<<(n.slot%64)) != 0
}

// add takes a refusal; so many nodes were freed until now.
func (r *refusals) add(n *node, err error, freed uint64) {
	r.note(n, freed)
	if r.texts == nil {
		r.texts = map[string]int{}
	}
	text := err.Error()
	if len(text) > reasonLength {
		text = strings.ToValidUTF8(text[:reasonLength], "") + "…"
	}
	if _, known := r.texts[text]; !known && len(r.texts) == reasonsMax {
		r.others++
		return
	}
	r.texts[text]++
}

// What is kept of the reasons for refusals: so many different ones, so many bytes of
// each. Every ask has its own where nothing is known of which are alike, and a resource
// manager may name the node in each.
const (
	reasonsMax   = 16
	reasonLength = 512
)

func (r *refusals) note(n *node, freed uint64) {
	if n.freedAt > r.started {
		if r.late == nil {
			r.late = map[int32]uint64{}
		}
		r.late[n.slot] = freed
		return
	}
	for int(n.slot) >= 64*len(r.asked) {
		r.asked = append(r.asked, 0)
	}
	r.asked[n.slot/64] |= 1 << (n.slot % 64)
}

// clone is the same answers for another class, which is in the order.
func (r *refusals) clone() *refusals {
	other := *r
	other.asked, other.late, other.texts = slices.Clone(r.asked), maps.Clone(r.late), maps.Clone(r.texts)
	other.aside = false
	return &other
}

// finish notes that all nodes with room were asked about since they were freed last; so
// many were until now.
func (r *refusals) finish(freed uint64) {
	if len(r.texts) > 0 {
		r.detail = r.summary()
	}
	r.complete, r.since, r.asked, r.late, r.texts, r.others = true, freed, nil, nil, nil, 0
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
		texts[i] = fmt.Sprintf("%s (%s)", text, nodesText(r.texts[text]))
	}
	if r.others > 0 {
		texts = append(texts, fmt.Sprintf("other reasons (%s)", nodesText(r.others)))
	}
	return strings.Join(texts, "; ")
}

func nodesText(n int) string {
	if n == 1 {
		return "1 node"
	}
	return fmt.Sprintf("%d nodes", n)
}
