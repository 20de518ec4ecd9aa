package driver

import (
	"cmp"
	"fmt"
	"slices"
)

// faultsMax is how many faults are told.
const faultsMax = 5

// A state is what the log says of a pod.
type state struct {
	node  string // where it runs
	asked bool   // it was sent
	ended bool   // its end was sent or confirmed
}

// A book is what follows from the log: what runs where, and what was wrong.
type book struct {
	nodes  map[string]Node
	pods   map[string]*Pod
	states map[string]*state
	used   map[string]Amounts
	most   int32 // the highest priority that was asked for
	faults []string

	refuses func(key, node string) error // as of the driver
}

func (b *book) fault(format string, args ...any) {
	if len(b.faults) < faultsMax {
		b.faults = append(b.faults, fmt.Sprintf(format, args...))
	}
}

// Check replays the log and returns what a core did wrong: a node above its capacity, a pod
// that is placed twice, or where it may not run, a pod that is refused, a victim that does
// not run, or requires its node, or is more important than all that was asked for until then.
// The first few are told.
func (d *Driver) Check() []string { return d.replay().faults }

// CheckNothingFits is Check, and in addition that no pod waits for which a node has room and
// is not refused. It holds when a core has come to rest, and no queue has a max.
func (d *Driver) CheckNothingFits() []string {
	b := d.replay()
	tried := map[Amounts]bool{} // without a node that has room
	for _, key := range b.waiting() {
		p := b.pods[key]
		if tried[p.Wants] {
			continue
		}
		room := false
		for _, id := range b.sortedNodes() {
			if !b.nodes[id].Has.holds(b.used[id].plus(p.Wants)) {
				continue
			}
			room = true
			if d.Refuses == nil || d.Refuses(key, id) == nil {
				b.fault("%s waits, and %s has room for it", key, id)
				break
			}
		}
		tried[p.Wants] = !room
	}
	return b.faults
}

func (d *Driver) replay() *book {
	d.mu.Lock()
	defer d.mu.Unlock()
	b := &book{nodes: d.nodes, pods: d.pods, states: map[string]*state{}, used: map[string]Amounts{}, refuses: d.Refuses}
	for _, e := range d.log {
		b.take(e)
	}
	return b
}

func (b *book) take(e entry) {
	s := b.states[e.key]
	if s == nil {
		s = new(state)
		b.states[e.key] = s
	}
	switch e.what {
	case asked:
		*s = state{asked: true}
		b.most = max(b.most, b.pods[e.key].Priority)
	case runs:
		*s = state{asked: true, node: e.node}
		b.charge(e.node, b.pods[e.key].Wants)
	case placed:
		b.place(s, e)
	case evicted:
		if s.node == "" || s.ended {
			b.fault("%s is evicted and does not run", e.key)
		} else if p := b.pods[e.key]; p.Required != "" {
			b.fault("%s is evicted and requires its node", e.key)
		} else if p.Priority > b.most {
			b.fault("%s is evicted, of priority %d, and nothing of more than %d was asked for", e.key, p.Priority, b.most)
		}
	case released:
		if s.node != "" && !s.ended {
			b.charge(s.node, Amounts{}.minus(b.pods[e.key].Wants))
		}
		s.ended = true
	case refused:
		b.fault("%s is refused: %s", e.key, e.node)
	}
}

// place books a placement. An echo of what runs already is none.
func (b *book) place(s *state, e entry) {
	p := b.pods[e.key]
	switch {
	case p == nil || !s.asked:
		b.fault("%s is placed and was not asked for", e.key)
		return
	case p.Node != "":
		if p.Node != e.node {
			b.fault("%s runs on %s and is placed on %s", e.key, p.Node, e.node)
		}
		return
	case s.node != "":
		b.fault("%s is placed twice, on %s and %s", e.key, s.node, e.node)
		return
	case s.ended:
		return // the end was sent while the placement was on its way
	case p.Required != "" && p.Required != e.node:
		b.fault("%s requires %s and is placed on %s", e.key, p.Required, e.node)
	case b.refuses != nil && b.refuses(e.key, e.node) != nil:
		b.fault("%s is placed on %s, which it may not run on", e.key, e.node)
	}
	s.node = e.node
	b.charge(e.node, p.Wants)
	if n, ok := b.nodes[e.node]; !ok {
		b.fault("%s is placed on %q, which is no node", e.key, e.node)
	} else if !n.Has.holds(b.used[e.node]) {
		b.fault("%s is placed on %s, which then holds %v of %v", e.key, e.node, b.used[e.node], n.Has)
	}
}

func (b *book) charge(node string, amounts Amounts) { b.used[node] = b.used[node].plus(amounts) }

// waiting is the pods that were asked for and neither placed nor ended, in order.
func (b *book) waiting() []string {
	var keys []string
	for key, s := range b.states {
		if s.asked && s.node == "" && !s.ended && b.pods[key] != nil {
			keys = append(keys, key)
		}
	}
	slices.SortFunc(keys, cmp.Compare[string])
	return keys
}

func (b *book) sortedNodes() []string {
	ids := make([]string, 0, len(b.nodes))
	for id := range b.nodes {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids
}

// Waiting is how many pods were asked for and neither placed nor ended.
func (d *Driver) Waiting() int { return len(d.replay().waiting()) }

func (a Amounts) plus(b Amounts) Amounts {
	return Amounts{a.Vcore + b.Vcore, a.Memory + b.Memory, a.GPU + b.GPU}
}

func (a Amounts) minus(b Amounts) Amounts {
	return Amounts{a.Vcore - b.Vcore, a.Memory - b.Memory, a.GPU - b.GPU}
}

// holds reports whether so much is not too much.
func (a Amounts) holds(b Amounts) bool {
	return b.Vcore <= a.Vcore && b.Memory <= a.Memory && b.GPU <= a.GPU
}
