package core

import (
	"slices"
	"strings"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// An ask is bound to a node when it may run there only, when it holds a
// reservation there, or when it is nominated to it. Bound asks are tried whenever their node changes, before
// any ordinary ask.

// bind lists an ask that may run on one node only with that node.
func (p *Partition) bind(r *request) {
	n := p.findNode(r.Required)
	if n == nil {
		r.waiting().reason = NodeUnknown
		p.stranded[r.Required] = insertSorted(p.stranded[r.Required], r)
		return
	}
	n.wanted = insertSorted(n.wanted, r)
	p.disturb(n)
}

// unbind takes such an ask off the list again.
func (p *Partition) unbind(r *request) {
	if r.Required == "" {
		return
	}
	if n := p.findNode(r.Required); n != nil {
		n.wanted = without(n.wanted, r)
		return
	}
	dropFrom(p.stranded, r.Required, r)
}

func insertSorted(list []*request, r *request) []*request {
	at, _ := slices.BinarySearchFunc(list, r, inOrder)
	return slices.Insert(list, at, r)
}

// boundTo is the node that an ask is bound to, if it still waits.
func (p *Partition) boundTo(r *request) *node {
	switch {
	case r.node != nil || p.requests[r.Key] != r:
		return nil
	case r.Required != "":
		return p.findNode(r.Required)
	case r.reservation() != nil:
		return p.findNode(r.reservation().Node)
	case r.nominated() != nil:
		return r.nominated().node
	}
	return nil
}

// awaitQuota has a bound ask tried again when there is quota in the queue.
func (p *Partition) awaitQuota(r *request, q *queue) {
	if p.boundTo(r) != nil && !slices.Contains(q.bound, r) {
		q.bound = append(q.bound, r)
	}
}

// placeBound places bound asks on nodes that have changed. It reports whether
// there may be more to place.
func (p *Partition) placeBound() (more bool) {
	for len(p.dirty) > 0 {
		if p.left <= 0 {
			return true
		}
		n := p.dirty[0]
		p.dirty[0] = nil
		p.dirty = p.dirty[1:]
		n.dirty = false // what is done here may disturb it again
		if !n.gone && p.tryBound(n) == tellNow {
			p.disturb(n)
			return true
		}
	}
	p.dirty = nil
	return false
}

// tryBound tries the asks of one node: those that may run here only by their
// order, then the one that holds a reservation. Room that is on its way for one
// ask is kept from those after it.
func (p *Partition) tryBound(n *node) outcome {
	var promised resources.Amounts
	for _, r := range slices.Clone(n.wanted) {
		if r.wait != nil && r.wait.aside {
			continue
		}
		if p.tryOn(r, n, promised.Plus(n.promisedAbove(r.Priority))) == tellNow {
			return tellNow
		}
		if r.node == nil && r.promises() {
			promised.Add(r.Amounts)
		}
	}
	if p.placeAbove(n) == tellNow {
		return tellNow
	}
	if n.reserved != nil && n.schedulable && !n.claimed() {
		return p.tryOn(n.reserved, n, nil)
	}
	return p.tryNominated(n)
}

// placeAbove tries the asks first that fit on a node and are more important
// than one that may run anywhere and is bound to it.
func (p *Partition) placeAbove(n *node) outcome {
	lowest := n.reserved
	if len(n.nominated) > 0 {
		lowest = n.nominated[len(n.nominated)-1]
	}
	if lowest == nil || !n.schedulable {
		return waits
	}
	p.only = slots{}
	for _, s := range p.shapes.all {
		if s.asks > 0 && s.standing > lowest.holds() && n.openTo(s.standing) && n.hasRoom(s.amounts, s.standing) {
			p.only.set(s.slot)
		}
	}
	defer func() { p.only = allSlots }()
	for p.only != (slots{}) {
		r := p.nextInQueue(p.root, p.shapes.ready)
		if r == nil {
			break
		}
		if p.left <= 0 || p.try(r) == tellNow {
			return tellNow
		}
	}
	return waits
}

// tryOn places a bound ask, or notes why it cannot be. An ask that may run here
// only then keeps the node, if it could ever hold the ask, and has room made.
func (p *Partition) tryOn(r *request, n *node, promised resources.Amounts) outcome {
	p.work.Attempts++
	w := r.waiting()
	r.application.view = nil
	if q := r.withoutRoom(); q != nil {
		w.reason, w.detail = QuotaExceeded, string(q.path)
		w.plan = nil // what was promised to it is of use to those after it
		p.awaitQuota(r, q)
		return waits
	}
	free := n.free
	if len(promised) > 0 {
		free = free.Minus(promised)
	}
	fits := r.Amounts.FitsIn(free)
	switch {
	case !fits && r.Required == "":
		w.reason, w.detail = NoNodeFits, ""
		return waits
	case !fits && r.planStands(n, p.now):
		return waits
	}
	// Nobody is killed for an ask that the resource manager would then refuse.
	switch result, err := p.consent(r, n, fits); {
	case result == tellNow:
		return tellNow
	case result == waits:
		p.refusedOnItsNode(r, err)
		return waits
	case !fits:
		w.reason = NodeFull
		if r.Amounts.FitsIn(n.capacity) {
			p.claim(r, n)
		}
		p.makeRoom(r, n, promised)
		return waits
	}
	p.place(r, n)
	return placed
}

// refusedOnItsNode lets go of the node of a bound ask that the resource manager
// refuses there. One that may run on no other is asked about again later.
func (p *Partition) refusedOnItsNode(r *request, err error) {
	p.unreserve(r)
	w := r.waiting()
	w.plan = nil
	w.reason, w.detail = Infeasible, err.Error()
	if r.Required == "" {
		return
	}
	w.at = p.now.Add(p.options.RetryMax)
	p.alarms.add(alarm{at: w.at, request: r})
}

// claim reserves a node for an ask that may run on no other. Ordinary
// reservations there give way.
func (p *Partition) claim(r *request, n *node) {
	if r.reservation() != nil {
		return
	}
	if n.reserved != nil {
		p.preempted.Reservations++
		p.unreserve(n.reserved)
	}
	p.reserve(r, n)
}

// reserve closes a node for everyone but an ask.
func (p *Partition) reserve(r *request, n *node) {
	required := r.Required != ""
	r.waiting().reservation = &Reservation{Node: n.id, Key: r.Key, At: p.now, Required: required}
	if !required {
		n.reserved = r
		r.shape.reserved = r
		p.reserved++
		p.reservers.add(r.standing())
		p.alarms.add(alarm{at: p.now.Add(p.options.ReserveMax), request: r})
	}
	n.view, r.application.view = nil, nil
	p.settleNode(n)
	p.tell(&Reserved{r.Allocation, n.id})
}

// unreserve opens the node that an ask holds, if it holds one.
func (p *Partition) unreserve(r *request) {
	held := r.reservation()
	if held == nil {
		return
	}
	r.wait.reservation = nil
	r.wait.since = p.now
	n := p.findNode(held.Node)
	if !held.Required {
		n.reserved = nil
		r.shape.reserved = nil
		p.reserved--
		p.reservers.remove(r.standing())
		p.shapes.unblock(r.shape)
	}
	n.view, r.application.view = nil, nil
	p.tell(&Unreserved{r.Allocation, n.id})
	p.relieved(n)
}

// reserveLater lets an ask that fits no node reserve one, if it still fits
// none after a while. One reservation for each shape is enough: it is handed on
// when it is served.
func (p *Partition) reserveLater(r *request) {
	w := r.waiting()
	w.reason = NoNodeFits
	r.application.view = nil
	if p.options.ReserveDelay < 0 || r.shape.reserved != nil || r.nominated() != nil {
		return
	}
	if w.since.IsZero() {
		w.since = p.now
	}
	p.alarms.add(alarm{at: w.since.Add(p.options.ReserveDelay), request: r})
}

// wake looks at an ask whose time has come.
func (p *Partition) wake(r *request) {
	w := r.wait
	switch {
	case p.requests[r.Key] != r:
		return
	case r.going != nil:
		p.overdue(r)
		return
	case w == nil || r.node != nil:
		return
	}
	p.wakeHunter(r)
	held := w.reservation
	switch {
	case !w.at.IsZero() && !w.at.After(p.now):
		p.tryAgain(r)
	case w.aside || r.Required != "":
	case held != nil && !held.At.Add(p.options.ReserveMax).After(p.now):
		p.unreserve(r)
	case held == nil && w.nomination == nil && r.shape.full && r.shape.reserved == nil && !w.since.Add(p.options.ReserveDelay).After(p.now):
		p.reserveBest(r)
	}
}

// tryAgain ends the wait of an ask that was put off until now.
func (p *Partition) tryAgain(r *request) {
	if r.Required == "" {
		p.bringBack(r)
		return
	}
	r.wait.at, r.wait.aside = time.Time{}, false
	if n := p.boundTo(r); n != nil {
		p.disturb(n)
	}
}

// reserveBest reserves the node that comes closest to having room: the one
// where the largest missing share of the ask is smallest, of those where no room
// is being made for others. At most one open
// node in ten is ever reserved by ordinary asks.
func (p *Partition) reserveBest(r *request) {
	if p.reserved >= max(1, p.nodes.Len()/10) || r.withoutRoom() != nil {
		return
	}
	type option struct {
		node    *node
		missing resources.Share
	}
	var options []option
	for n := range p.open.All {
		if len(n.nominated) == 0 && r.Amounts.FitsIn(n.capacity) {
			options = append(options, option{n, missingShare(r.Amounts, n.free)})
		}
	}
	slices.SortFunc(options, func(a, b option) int {
		if c := a.missing.Compare(b.missing); c != 0 {
			return c
		}
		return strings.Compare(string(a.node.id), string(b.node.id))
	})
	for _, o := range options[:min(len(options), reserveTriesMax)] {
		if result, _ := p.consent(r, o.node, false); result == placed {
			p.reserve(r, o.node)
			return
		}
	}
}

// reserveTriesMax bounds how many nodes the resource manager is asked about for
// one reservation.
const reserveTriesMax = 16

// missingShare is the largest part of what is asked for that is not free.
func missingShare(ask, free resources.Amounts) resources.Share {
	var most resources.Share
	for i, short := range ask.Shortfall(free) {
		if short <= 0 {
			continue
		}
		share := resources.Share{Part: short, Whole: ask[i]}
		if share.Compare(most) > 0 {
			most = share
		}
	}
	return most
}
