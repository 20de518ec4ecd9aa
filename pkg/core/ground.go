package core

import (
	"math"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/core/preemptor"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// A hunter is what asks have in common that find the same when they hunt.
type hunter struct {
	shape   *shape
	leaf    *queue // they are in; nil for a queue that gives back, without ask
	root    *queue // victims are in
	trigger preemptor.Trigger
}

// A ground is where the asks of one shape in one queue hunt: every node, with
// what it costs to make room there, the cheapest first. What was worked out for
// a node holds until the node changes, so the next ask of the shape looks at the
// nodes that changed and at the best one only. Until it is worked out, and again
// after a change, a node stands where it would be at best.
type ground struct {
	hunter

	heap []prospect
	at   []int32 // the places in the heap by node.slot, from one
	seen uint64  // the moves of nodes that are taken into account

	relations    map[*queue]*relation
	guarded      []*queue
	floorNumbers map[*queue]int32  // of guarded
	floors       []preemptor.Floor // of guarded, as of this hunt
	numbers      []int32           // of guarded, in the quarry that is being made, from one
	// needs are, by guarded, the most of its surplus that anybody could use up on
	// one node. While there is more, what was worked out for the nodes holds.
	needs []resources.Amounts
	// fleeting are the nodes where a surplus does not reach for everybody, or
	// budgets count: what they cost depends on more than the node.
	fleeting []*node
	dues     []bool // what is due to the queues of the asks, as of this hunt
	counts   [verdicts]int
}

// A prospect is a node and the cost of making room there, at least.
type prospect struct {
	node    *node
	cost    preemptor.Cost
	verdict verdict
}

// verdict is what is known of a node.
type verdict uint8

const (
	notAssessed verdict = iota
	closed              // to the ask: cordoned, kept for others, or with victims that do not go
	small               // it could never hold the ask
	lacking             // too little would come free
	enough
	verdicts = iota
)

func (g *ground) before(i, j int) bool {
	a, b := &g.heap[i], &g.heap[j]
	for k := range a.cost {
		if a.cost[k] != b.cost[k] {
			return a.cost[k] < b.cost[k]
		}
	}
	return a.node.id < b.node.id
}

func (g *ground) swap(i, j int) {
	g.heap[i], g.heap[j] = g.heap[j], g.heap[i]
	g.at[g.heap[i].node.slot], g.at[g.heap[j].node.slot] = int32(i+1), int32(j+1)
}

func (g *ground) up(i int) int {
	for i > 0 && g.before(i, (i-1)/2) {
		g.swap(i, (i-1)/2)
		i = (i - 1) / 2
	}
	return i
}

func (g *ground) down(i int) {
	for {
		least := i
		for child := 2*i + 1; child <= 2*i+2 && child < len(g.heap); child++ {
			if g.before(child, least) {
				least = child
			}
		}
		if least == i {
			return
		}
		g.swap(i, least)
		i = least
	}
}

// heapify puts a heap in order that was only filled, with nodes not assessed.
func (g *ground) heapify() {
	slots := int32(0)
	for i := range g.heap {
		slots = max(slots, g.heap[i].node.slot+1)
	}
	g.at = append(g.at, make([]int32, slots)...)
	for i := range g.heap {
		g.at[g.heap[i].node.slot] = int32(i + 1)
	}
	g.counts[notAssessed] = len(g.heap)
	for i := len(g.heap)/2 - 1; i >= 0; i-- {
		g.down(i)
	}
}

// find is the place of a node in the heap.
func (g *ground) find(n *node) (int, bool) {
	for len(g.at) <= int(n.slot) {
		g.at = append(g.at, 0)
	}
	i := int(g.at[n.slot]) - 1
	return i, i >= 0 && g.heap[i].node == n
}

// put sets what is known of a node.
func (g *ground) put(next prospect) {
	i, known := g.find(next.node)
	if !known {
		i = len(g.heap)
		g.heap = append(g.heap, next)
		g.at[next.node.slot] = int32(i + 1)
	} else {
		g.counts[g.heap[i].verdict]--
		g.heap[i] = next
	}
	g.counts[next.verdict]++
	g.down(g.up(i))
}

// drop forgets a node.
func (g *ground) drop(n *node) {
	i, known := g.find(n)
	if !known {
		return
	}
	g.counts[g.heap[i].verdict]--
	last := len(g.heap) - 1
	g.swap(i, last)
	g.heap[last] = prospect{}
	g.heap = g.heap[:last]
	g.at[n.slot] = 0
	if i < last {
		g.down(g.up(i))
	}
}

// The bounds of how many grounds are kept, and of the prospects in all of them.
// The ground that was not used for the longest time is given up for another.
const (
	groundsMin   = 4
	groundsMax   = 64
	prospectsMax = 1 << 19
)

// hunterOf is an ask as a hunter. Where only priorities count and quota is no
// matter, all queues hunt as one.
func (p *Partition) hunterOf(r *request, trigger preemptor.Trigger) hunter {
	if p.flat && r.withoutRoom() == nil {
		return hunter{r.shape, p.root, p.root, trigger}
	}
	return hunter{r.shape, r.application.queue, p.huntedIn(r), trigger}
}

// groundFor finds or makes the ground of a hunter, and brings it up to date.
func (p *Partition) groundFor(h hunter) *ground {
	for i, g := range p.grounds {
		if g.hunter == h {
			copy(p.grounds[1:i+1], p.grounds[:i])
			p.grounds[0] = g
			p.catchUp(g)
			return g
		}
	}
	g := &ground{hunter: h, relations: map[*queue]*relation{}}
	if len(p.grounds) < max(groundsMin, min(groundsMax, prospectsMax/(p.nodes.Len()+1))) {
		p.grounds = append(p.grounds, &ground{heap: make([]prospect, 0, p.nodes.Len())})
	}
	oldest := p.grounds[len(p.grounds)-1]
	g.heap, g.at = oldest.heap[:0], oldest.at[:0]
	copy(p.grounds[1:], p.grounds)
	p.grounds[0] = g
	g.seen, p.caughtUp = p.moves, p.moves
	g.dueChanged()
	for n := range p.allNodes {
		g.heap = append(g.heap, prospect{node: n, cost: p.atBest(g, n)})
	}
	g.heapify()
	return g
}

// huntedIn is the queue that the victims of an ask are in: the first on the way
// to the root that is fenced, or has no quota for the ask.
func (p *Partition) huntedIn(r *request) *queue {
	q := r.application.queue
	for q.parent != nil && q.properties.PreemptionPolicy != PreemptionFence && q.hasRoomFor(r) {
		q = q.parent
	}
	return q
}

// catchUp looks anew at what has changed since the last hunt.
func (p *Partition) catchUp(g *ground) {
	first := p.moves - uint64(len(p.trail))
	for _, n := range p.trail[g.seen-first:] {
		p.lookAnew(g, n)
	}
	p.weighGuarantees(g)
	g.seen, p.caughtUp = p.moves, p.moves
}

// weighGuarantees looks anew at the nodes for which it matters how much of the
// guarantees is used.
func (p *Partition) weighGuarantees(g *ground) {
	moved, holds := p.options.Budgets != nil, true
	for i, q := range g.guarded {
		surplus := q.surplus()
		if surplus.Equal(g.floors[i].Surplus) {
			continue
		}
		g.floors[i].Surplus, moved = surplus, true
		holds = holds && g.needs[i].Within(surplus)
	}
	if g.trigger == preemptor.Guarantee && g.dueChanged() {
		holds = false
	}
	again := g.fleeting
	if !holds {
		again = make([]*node, 0, len(g.heap))
		for _, known := range g.heap {
			again = append(again, known.node)
		}
		for i := range g.needs {
			g.needs[i] = nil
		}
	}
	if moved || !holds {
		g.fleeting = nil
		for _, n := range again {
			p.lookAnew(g, n)
		}
	}
}

func (p *Partition) lookAnew(g *ground, n *node) {
	if n.gone {
		g.drop(n)
		return
	}
	g.put(prospect{node: n, cost: p.atBest(g, n)})
}

// changed notes that a node is no longer what it was when somebody hunted.
func (p *Partition) changed(n *node) {
	p.huntLater()
	last := len(p.trail) - 1
	if last >= 0 && p.trail[last] == n && p.caughtUp < p.moves {
		return // nobody has looked since
	}
	p.moves++
	if len(p.grounds) > 0 {
		p.trail = append(p.trail, n)
		if len(p.trail) > max(4*p.nodes.Len(), 1024) {
			p.forgetTrail()
		}
	}
}

// forgetTrail keeps the newer half of the trail, and the grounds that need no more.
func (p *Partition) forgetTrail() {
	p.trail = append(p.trail[:0:0], p.trail[len(p.trail)/2:]...)
	first := p.moves - uint64(len(p.trail))
	kept := p.grounds[:0]
	for _, g := range p.grounds {
		if g.seen >= first {
			kept = append(kept, g)
		}
	}
	clear(p.grounds[len(kept):])
	p.grounds = kept
}

// atBest is the least that making room on a node can cost.
func (p *Partition) atBest(g *ground, n *node) preemptor.Cost {
	if !n.leaving.IsZero() || n.hasRoom(g.shape.amounts, g.shape.standing) {
		return leastOfAll
	}
	switch {
	case n.weakest.is == nil:
		return preemptor.LeastCost(p.plans[g.trigger], g.trigger, math.MaxInt32, time.Time{})
	case !p.plain:
		return preemptor.LeastCost(p.plans[g.trigger], g.trigger, math.MinInt32, time.Time{})
	}
	return preemptor.LeastCost(p.plans[g.trigger], g.trigger, n.weakest.priority, n.weakest.created)
}

// leastOfAll is what it costs to wait.
var leastOfAll = preemptor.Cost{0, math.MinInt64, math.MinInt64, math.MinInt64, math.MinInt64, math.MinInt64, math.MinInt64}

// best is the node where room costs least, worked out. It is nil if there are
// no nodes.
func (p *Partition) best(g *ground) *prospect {
	for len(g.heap) > 0 && g.heap[0].verdict == notAssessed {
		p.work.NodeCosts++
		g.put(p.assess(g, g.heap[0].node))
	}
	if len(g.heap) == 0 {
		return nil
	}
	return &g.heap[0]
}

// assess works out what room on a node costs.
func (p *Partition) assess(g *ground, n *node) prospect {
	if v := g.outOfReach(n); v != notAssessed {
		return prospect{n, preemptor.Cost{2, int64(v)}, v}
	}
	on := p.quarry(g, n, nil)
	if p.tight(g) || len(on.Budgets) > 0 {
		g.fleeting = append(g.fleeting, n)
	}
	cost := p.planner.Cost(p.plans[g.trigger], g.ask(), on)
	if !cost.Feasible() {
		return prospect{n, cost, lacking}
	}
	return prospect{n, cost, enough}
}

// outOfReach is why no room can be made on a node whoever runs there, or
// notAssessed.
func (h *hunter) outOfReach(n *node) verdict {
	switch {
	case !h.mayUse(n):
		return closed
	case !h.shape.amounts.FitsIn(n.capacity):
		return small
	}
	return notAssessed
}

// mayUse reports whether room may be made on a node for a hunter. A reservation
// of the same standing gives way to what is due to a queue, and to asks of the
// shape that holds it. Where victims do not go, no others are sent after them.
func (h *hunter) mayUse(n *node) bool {
	if n.isStuck() {
		return false
	}
	if held := n.reserved; held != nil && held.standing() == h.shape.standing {
		due := h.trigger == preemptor.Guarantee || held.Amounts.Equal(h.shape.amounts)
		return due && n.schedulable && !n.claimed()
	}
	return n.openTo(h.shape.standing)
}

// isStuck reports whether anybody was told to go and did not in time.
func (n *node) isStuck() bool {
	for _, list := range [2][]*request{n.own, n.foreign} {
		for _, r := range list {
			if r.going != nil && r.going.stuck {
				return true
			}
		}
	}
	return false
}
