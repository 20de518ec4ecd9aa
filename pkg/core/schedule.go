package core

import (
	"fmt"
	"slices"
	"strings"

	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// outcome is what became of an ask that was tried.
type outcome uint8

const (
	placed  outcome = iota
	waits           // for quota, room or consent
	tellNow         // the resource manager must hear what was done so far first
)

// ring does what has become due.
func (p *Partition) ring() {
	for {
		a, ok := p.alarms.pop(p.now)
		switch {
		case !ok:
			return
		case a.application != nil:
			p.complete(a.application)
		case a.aside:
			p.retryAside()
		case a.hints:
			p.hintWaiting()
		case a.hunts:
			p.huntAgain()
		case a.queue != nil:
			p.giveBack(a.queue)
		default:
			p.wake(a.request)
		}
	}
}

// consentsMax is how often the resource manager is asked about a node before a
// batch ends, so that commands are not kept waiting by asks that it refuses.
const consentsMax = 4096

// placeOrdinary places the asks that may run anywhere, in order. It reports
// whether there may be more to place.
func (p *Partition) placeOrdinary() (more bool) {
	for p.left > 0 && p.consents < consentsMax {
		r := p.nextInQueue(p.root, p.shapes.ready)
		if r == nil {
			return false
		}
		if p.try(r) == tellNow {
			return true
		}
	}
	return true
}

// nextInQueue is the first ask in order, here or below, of a shape that may be
// placed; nil if there is none.
func (p *Partition) nextInQueue(q *queue, ready slots) *request {
	ready.drop(&q.overSlots)
	if q.leaf {
		ready.add(&q.hunting)
		ready.keep(&p.only)
		return p.nextOfApplications(q.apps.Root(), &ready)
	}
	return p.nextOfQueues(q.queues.Root(), &ready)
}

func (p *Partition) nextOfQueues(top *queue, ready *slots) *request {
	if top == nil {
		return nil
	}
	p.work.Queues++
	if !top.below.shapes.meets(ready) && !top.below.hunts {
		return nil
	}
	if r := p.nextOfQueues(top.links.Left, ready); r != nil {
		return r
	}
	if top.backlog.shapes.meets(ready) || top.backlog.hunts {
		if r := p.nextInQueue(top, *ready); r != nil {
			return r
		}
	}
	return p.nextOfQueues(top.links.Right, ready)
}

func (p *Partition) nextOfApplications(top *application, ready *slots) *request {
	if top == nil {
		return nil
	}
	p.work.Applications++
	if !top.below.shapes.meets(ready) {
		return nil
	}
	if r := p.nextOfApplications(top.links.Left, ready); r != nil {
		return r
	}
	if r := p.nextOfAsks(top.queued.Root(), ready); r != nil {
		return r
	}
	return p.nextOfApplications(top.links.Right, ready)
}

func (p *Partition) nextOfAsks(top *request, ready *slots) *request {
	if top == nil {
		return nil
	}
	p.work.Asks++
	if !top.below.shapes.meets(ready) {
		return nil
	}
	if r := p.nextOfAsks(top.links.Left, ready); r != nil {
		return r
	}
	if top.mayFit(ready) {
		return top
	}
	return p.nextOfAsks(top.links.Right, ready)
}

// mayFit reports whether nothing is known that speaks against the ask, or room
// may be made for it.
func (r *request) mayFit(ready *slots) bool {
	if !ready.has(r.shape.slot) {
		return false
	}
	if !r.shape.shared() {
		return true
	}
	return !r.shape.full && r.overQueue() == nil || r.mayHunt()
}

// overQueue is the topmost queue in which the shape of the ask is known to be over quota.
func (r *request) overQueue() *queue {
	var found *queue
	for q := r.application.queue; q != nil; q = q.parent {
		if q.over[r.shape] {
			found = q
		}
	}
	return found
}

// withoutRoom is the topmost queue on the way to the root whose quota has no
// room for the ask.
func (r *request) withoutRoom() *queue {
	var found *queue
	for q := r.application.queue; q != nil; q = q.parent {
		if !q.hasRoomFor(r) {
			found = q
		}
	}
	return found
}

// try places an ordinary ask on the first node in order that has room. If there
// is none, it has room made, or notes why nothing could be done.
func (p *Partition) try(r *request) outcome {
	p.work.Attempts++
	over := r.withoutRoom()
	var refusals map[string]int
	if over == nil && !r.shape.full {
		n, refused, result := p.firstFeasible(r)
		switch {
		case result == tellNow:
			return tellNow
		case n != nil:
			p.place(r, n)
			return placed
		}
		refusals = refused
	}
	if r.mayHunt() {
		if result := p.hunt(r); result != waits {
			return result
		}
	}
	p.putOff(r, over, refusals)
	return waits
}

// putOff notes why an ask was not placed, so that it is not tried in vain.
func (p *Partition) putOff(r *request, over *queue, refusals map[string]int) {
	switch {
	case over != nil:
		over.exclude(r.shape)
		p.awaitQuota(r, over)
		over.settleUp()
	case refusals != nil:
		p.setAside(r, summary(refusals))
		if r.nominated() == nil {
			p.hint(r)
		}
	default:
		p.shapes.block(r.shape)
		p.reserveLater(r)
		p.hintLater()
	}
}

// firstFeasible is the first open node in order that has room and that the
// resource manager agrees to. The node that a nominated ask has in view comes
// before all others, the one where binding failed last after them. Where there
// is no node, refusals counts what was said.
func (p *Partition) firstFeasible(r *request) (n *node, refusals map[string]int, result outcome) {
	if own := r.readyNode(); own != nil {
		result, err := p.consent(r, own, true)
		if result != waits {
			return own, nil, result
		}
		refusals = counted(refusals, err)
	}
	var lastResort *node
	for n = p.firstFit(p.open.Root(), r.Amounts); n != nil; n = p.nextFit(p.open.Root(), n, r.Amounts) {
		if r.wait != nil && r.wait.avoid == n.id {
			lastResort = n
			continue
		}
		if r.refusedBy(n) {
			refusals = counted(refusals, nil)
			continue
		}
		result, err := p.consent(r, n, true)
		if result != waits {
			return n, nil, result
		}
		refusals = counted(refusals, err)
	}
	if lastResort == nil {
		return p.overrule(r, refusals)
	}
	result, err := p.consent(r, lastResort, true)
	if result != waits {
		return lastResort, nil, result
	}
	return nil, counted(refusals, err), waits
}

// overrule looks for a node that has room for an ask if it takes what is
// promised to asks of lower priorities, or reserved for them.
func (p *Partition) overrule(r *request, refusals map[string]int) (*node, map[string]int, outcome) {
	if !p.nominees.below(r.standing()) && !p.reservers.below(r.standing()) {
		return nil, refusals, waits
	}
	for n := range p.allNodes {
		if n.links.In() && r.Amounts.FitsIn(n.room) || !n.openTo(r.standing()) || !n.hasRoom(r.Amounts, r.standing()) {
			continue
		}
		result, err := p.consent(r, n, true)
		if result != waits {
			return n, nil, result
		}
		refusals = counted(refusals, err)
	}
	return nil, refusals, waits
}

// counted counts what was said of a node; nothing is said anew of one that was
// refused before.
func counted(refusals map[string]int, err error) map[string]int {
	if refusals == nil {
		refusals = map[string]int{}
	}
	if err != nil {
		refusals[err.Error()]++
	}
	return refusals
}

// summary is what the resource manager said, the most frequent first.
func summary(refusals map[string]int) string {
	texts := make([]string, 0, len(refusals))
	for text := range refusals {
		texts = append(texts, text)
	}
	slices.SortFunc(texts, func(a, b string) int {
		if refusals[a] != refusals[b] {
			return refusals[b] - refusals[a]
		}
		return strings.Compare(a, b)
	})
	for i, text := range texts {
		nodes := "nodes"
		if refusals[text] == 1 {
			nodes = "node"
		}
		texts[i] = fmt.Sprintf("%s (%d %s)", text, refusals[text], nodes)
	}
	return strings.Join(texts, "; ")
}

// consent asks the resource manager about an ask and a node. The answer waits
// means no, with the reason.
func (p *Partition) consent(r *request, n *node, allocate bool) (outcome, error) {
	if p.options.Feasible == nil {
		return placed, nil
	}
	if n.touched == p.batch {
		return tellNow, nil
	}
	p.consents++
	if err := p.options.Feasible(r.Key, n.id, allocate); err != nil {
		r.remember(n, err)
		return waits, err
	}
	if added := r.before(n); p.options.Simulate != nil && allocate && len(added) > 0 {
		if err := p.options.Simulate(r.Key, n.id, added, nil); err != nil {
			return waits, err
		}
	}
	return placed, nil
}

// firstFit is the first node in order, within a subtree, that has room.
func (p *Partition) firstFit(top *node, ask resources.Amounts) *node {
	if top == nil {
		return nil
	}
	p.work.Nodes++
	if !ask.FitsIn(top.most) {
		return nil
	}
	if n := p.firstFit(top.links.Left, ask); n != nil {
		return n
	}
	if ask.FitsIn(top.room) {
		return top
	}
	return p.firstFit(top.links.Right, ask)
}

// nextFit is the first node after another in order that has room.
func (p *Partition) nextFit(top, after *node, ask resources.Amounts) *node {
	if top == nil {
		return nil
	}
	p.work.Nodes++
	if !ask.FitsIn(top.most) {
		return nil
	}
	if !after.Before(top) {
		return p.nextFit(top.links.Right, after, ask)
	}
	if n := p.nextFit(top.links.Left, after, ask); n != nil {
		return n
	}
	if ask.FitsIn(top.room) {
		return top
	}
	return p.firstFit(top.links.Right, ask)
}

// place commits a decision: the ask becomes an allocation on the node.
func (p *Partition) place(r *request, n *node) {
	app := r.application
	if n.reserved != nil && n.reserved != r && r.Required == "" {
		p.unreserve(n.reserved) // of a lower priority
	}
	arrives := r.nominated() != nil && r.nominated().node == n
	if arrives {
		p.unnominate(r, "placed", false) // and take what was promised
	}
	p.withdraw(r)
	r.Allocation = r.placedOn(n.id, p.now)
	p.book(r, n)
	n.touched = p.batch
	p.settleNode(n)
	p.rouseRobbed(n, r)
	if arrives && p.preemption.Priority == EqualToo {
		p.rouseBy(n) // its equals respected the promise, and may take its place
	}
	p.disturb(n) // who waits for it may not fit beside this one
	p.settleAbove(app)
	p.work.Placements++
	p.tell(Placed{r.Allocation})
	p.left--
}
