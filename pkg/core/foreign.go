package core

import (
	"time"
)

// addForeign books what another scheduler placed, on its node only. The same
// key again means other amounts or another node; whether it is static was
// decided when it was first seen. Nobody is told, but for an event.
func (p *Partition) addForeign(a *Allocation, known *request) {
	if a.Node == "" {
		p.refuse(a, "foreign allocation %s names no node", a.Key)
		return
	}
	if known != nil && !known.foreign() {
		p.refuse(a, "allocation %s is known as one of application %s and cannot become foreign", a.Key, known.Application)
		return
	}
	if p.uncountable(a.Amounts) {
		p.refuse(a, "foreign allocation %s is more than can be counted", a.Key)
		return
	}
	if known == nil && p.gone.has(a.Key, p.now) {
		p.refuse(a, "foreign allocation %s was released already", a.Key)
		return
	}
	r := known
	if r == nil {
		r = &request{Allocation: a}
		p.requests[a.Key] = r
	} else {
		if r.Node == a.Node && r.Amounts.Equal(a.Amounts) {
			return
		}
		p.unsettleForeign(r)
		p.foreign.Sub(r.Amounts)
		if r.Node != a.Node {
			r.going = nil // it went
		}
		updated := *r.Allocation
		updated.Amounts, updated.Node, updated.Tags, updated.Priority = a.Amounts, a.Node, a.Tags, a.Priority
		r.Allocation = &updated
	}
	p.foreign.Add(r.Amounts)
	n := p.findNode(a.Node)
	if n == nil {
		p.homeless[a.Node] = append(p.homeless[a.Node], r)
		return
	}
	p.settleForeign(r, n)
	p.relieved(n)
}

// releaseForeign takes a foreign allocation off the books. That it was released
// is remembered for a while, so that an addition that was overtaken by the
// release, or is repeated after it, books nothing that nobody will release.
func (p *Partition) releaseForeign(key AllocationKey) {
	p.gone.add(key, p.now)
	if r := p.requests[key]; r != nil && r.foreign() {
		p.unsettleForeign(r)
		p.foreign.Sub(r.Amounts)
		delete(p.requests, key)
	}
}

// settleForeign charges a foreign allocation to its node.
func (p *Partition) settleForeign(r *request, n *node) {
	n.charge(r)
	n.tolerate()
	p.occupied.Add(r.Amounts)
	p.tell(ForeignAdded{r.Allocation})
}

// unsettleForeign takes a foreign allocation off its node, or off the list of
// those whose node is not known.
func (p *Partition) unsettleForeign(r *request) {
	if n := r.node; n != nil {
		n.discharge(r)
		p.occupied.Sub(r.Amounts)
		p.tell(ForeignRemoved{r.Allocation})
		p.relieved(n)
		return
	}
	dropFrom(p.homeless, r.Node, r)
}

// goneMax and goneFor bound the memory of foreign allocations that were
// released: the latest so many, for so long. A key is the UID of a pod, which
// does not come back.
const (
	goneMax = 1 << 14
	goneFor = 10 * time.Minute
)

// gone remembers the latest releases, oldest first.
type gone struct {
	at   map[AllocationKey]time.Time
	keys []AllocationKey
}

func (g *gone) add(key AllocationKey, now time.Time) {
	if g.at == nil {
		g.at = map[AllocationKey]time.Time{}
	}
	if _, again := g.at[key]; again {
		return
	}
	for len(g.keys) > 0 && (len(g.keys) == goneMax || g.at[g.keys[0]].Add(goneFor).Before(now)) {
		delete(g.at, g.keys[0])
		g.keys = g.keys[1:]
	}
	g.at[key] = now
	g.keys = append(g.keys, key)
}

func (g *gone) has(key AllocationKey, now time.Time) bool {
	at, ok := g.at[key]
	return ok && !at.Add(goneFor).Before(now)
}
