package core

import (
	"slices"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// An aside is the set of asks that the resource manager refused on every node
// with room. They are in no order. When a node is relieved, it is asked about
// that node again, soon but not too often; what it said of a node that has not
// changed is taken for granted. Since its mind may also be changed by what the
// core does not see, everything is asked again after a longer while.
type aside struct {
	asks     []*request
	relieved []*node   // since the last time, each once
	soon     time.Time // when relieved nodes are asked about; zero is not at all
	whole    time.Time // when everything is asked again; zero is not at all
	last     time.Time
}

// setAside takes an ask out of the order until it is to be tried again. What was
// said of it before stands where nothing is said anew.
func (p *Partition) setAside(r *request, detail string) {
	w := r.waiting()
	if detail != "" {
		w.detail = detail
	}
	w.reason, w.aside, w.refusedAt = Infeasible, true, p.changes
	r.application.queued.Remove(r)
	p.aside.asks = append(p.aside.asks, r)
	p.settleAbove(r.application)
	if p.aside.whole.IsZero() {
		p.aside.whole = p.now.Add(p.options.RetryMax)
		p.alarms.add(alarm{at: p.aside.whole, aside: true})
	}
}

// notAside takes an ask out of the set.
func (p *Partition) notAside(r *request) {
	p.aside.asks = without(p.aside.asks, r)
}

// refusedBy reports whether the resource manager refused the ask on the node,
// and the node has not changed since.
func (r *request) refusedBy(n *node) bool {
	return r.wait != nil && r.wait.refusedAt >= n.changed
}

// recallAside has the asks that were refused everywhere tried on a node again
// that was relieved.
func (p *Partition) recallAside(n *node) {
	p.changes++
	n.changed = p.changes
	if len(p.aside.asks) > 0 {
		p.recallOn(n)
	}
}

// recallOn has the resource manager asked about a node again soon.
func (p *Partition) recallOn(n *node) {
	if !n.fresh {
		n.fresh = true
		p.aside.relieved = append(p.aside.relieved, n)
	}
	if p.aside.soon.IsZero() {
		p.aside.soon = later(p.now, p.aside.last.Add(p.options.RetryDelay))
		p.alarms.add(alarm{at: p.aside.soon, aside: true})
	}
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// retryAside brings back the asks for which a relieved node has room and the
// resource manager's consent, or, after the longer while, all of them.
func (p *Partition) retryAside() {
	due := func(at time.Time) bool { return !at.IsZero() && !at.After(p.now) }
	whole := due(p.aside.whole)
	if !whole && !due(p.aside.soon) {
		return
	}
	was := p.aside
	p.aside = aside{last: p.now, whole: was.whole}
	offers := make([]offer, len(was.relieved))
	for i, n := range was.relieved {
		n.fresh = false
		offers[i] = offer{node: n, left: n.free.Clone()}
	}
	if whole {
		p.aside.whole = time.Time{}
	}
	slices.SortFunc(was.asks, inOrder)
	for _, r := range was.asks {
		switch {
		case whole:
			r.wait.refusedAt = 0
			p.bringBack(r)
		case p.anyTakes(offers, r):
			p.bringBack(r)
		default:
			p.aside.asks = append(p.aside.asks, r)
		}
	}
	for _, o := range offers {
		if o.short {
			p.recallOn(o.node)
		}
	}
}

// An offer is a relieved node and what is left of its room if the asks that are
// brought back for it take theirs. It is short if that, or the end of the batch,
// kept an ask away: then the node is looked at again, once it is known who came.
type offer struct {
	node  *node
	left  resources.Amounts
	short bool
}

// anyTakes reports whether one of the nodes has room for the ask and the
// resource manager agrees.
func (p *Partition) anyTakes(offers []offer, r *request) bool {
	for i := range offers {
		o := &offers[i]
		if !o.node.links.In() || !r.Amounts.FitsIn(o.node.free) {
			continue
		}
		if !r.Amounts.FitsIn(o.left) || p.consents >= consentsMax {
			o.short = true
			continue
		}
		if result, _ := p.consent(r, o.node, true); result != waits {
			o.left.Sub(r.Amounts)
			return true
		}
	}
	return false
}

// bringBack puts an ask that was aside in the order again.
func (p *Partition) bringBack(r *request) {
	r.wait.aside = false
	r.wait.at = time.Time{}
	r.application.queued.Insert(r)
	p.settleAbove(r.application)
}
