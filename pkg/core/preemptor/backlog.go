package preemptor

import (
	"cmp"
	"math"
	"slices"

	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// A Backlog plans for asks of several amounts that wait together: which of them share which
// node, so that all are served with the fewest victims. By amounts it is exact: what any of
// the asks take on a node is known, and then what any of them take on all nodes so far. If
// not all can be served, the most from the first on are. Of the plan the first ask is
// told its node, and what is served beside it there. The zero value is ready, and its memory
// is used again.
type Backlog struct {
	plan   plan // that filters candidates
	cfg    Config
	ask    Ask
	asks   []int         // the places of their sizes
	sizes  []backlogSize // that the asks are of, the first ask's first
	states int           // how many ways there are to take some of the asks
	needs  []resources.Amounts
	work   int  // of the last plan, in comparisons
	rounds bool // amounts that are close are rounded up
	nodes  []backlogNode
	spare  resources.Limits // what guarantees leave of all victims, at the least
	most   int64            // the importance of victims that serve the first ask

	best, next   []int32             // victims for some of the asks
	digits, used []int32             // scratch
	enough       []int32             // scratch: victims for some of the asks on one node, and
	rooms        []resources.Amounts // what is free there, by the number of victims
}

// A backlogSize is how many asks are of one size. Some of all asks are numbered: how many
// of each size, times its step.
type backlogSize struct {
	amounts resources.Amounts
	count   int32
	step    int
}

// A backlogNode is a node by what its candidates hold.
type backlogNode struct {
	room   resources.Amounts // free, or soon
	held   []heldBy
	fewest []int32 // victims for some of the asks
	here   []int32 // the asks on the node, by those on all nodes up to this one
}

type heldBy struct {
	amounts    resources.Amounts
	importance int64
}

// A Shared says what is served together on the node of an ask.
type Shared struct {
	Amounts resources.Amounts // of all asks
	Asks    int
}

const (
	// pairsMax bounds the ways to divide the asks in two: those on a node and those on the
	// nodes before it.
	pairsMax = 1 << 13
	// roundTo is of how many parts one is disregarded where amounts are rounded.
	roundTo = 20
	// tooManyVictims is more victims than there are.
	tooManyVictims = math.MaxInt32 / 4
)

// Begin forgets everything but the first ask. Priority and trigger are those of all asks.
func (b *Backlog) Begin(cfg Config, ask Ask, rounds bool) {
	b.rounds, b.work = rounds, 0
	b.cfg, b.ask, b.most = cfg, ask, math.MaxInt64
	b.asks, b.sizes, b.nodes = b.asks[:0], b.sizes[:0], b.nodes[:0]
	b.ask.Amounts, b.spare = nil, nil
	b.Join(ask.Amounts)
}

// Join adds the next ask. It is false if that makes too many.
func (b *Backlog) Join(amounts resources.Amounts) bool {
	at := slices.IndexFunc(b.sizes, func(s backlogSize) bool { return b.isClose(s.amounts, amounts) })
	pairs := 1
	if at < 0 {
		pairs = 3
	}
	for i, s := range b.sizes {
		n := int(s.count)
		if i == at {
			n++
		}
		pairs *= (n + 1) * (n + 2) / 2
	}
	if pairs > pairsMax {
		return false
	}
	if at < 0 {
		at = len(b.sizes)
		b.sizes = append(b.sizes, backlogSize{amounts: amounts})
	}
	size := &b.sizes[at]
	if size.count++; !size.amounts.Equal(amounts) {
		size.amounts = size.amounts.Clone()
		size.amounts.Raise(amounts)
	}
	b.asks = append(b.asks, at)
	b.ask.Amounts = b.ask.Amounts.Plus(amounts)
	return true
}

// isClose reports whether asks may be planned for as if they were of one size.
func (b *Backlog) isClose(one, other resources.Amounts) bool {
	for i := range max(len(one), len(other)) {
		kind := resources.Kind(i)
		small, large := min(one.Of(kind), other.Of(kind)), max(one.Of(kind), other.Of(kind))
		if small < large && (!b.rounds || large-small > large/roundTo) {
			return false
		}
	}
	return true
}

// Sizes is of how many sizes.
func (b *Backlog) Sizes() int { return len(b.sizes) }

// Work is how many comparisons the last plan took.
func (b *Backlog) Work() int { return b.work }

// Asks is how many asks there are.
func (b *Backlog) Asks() int { return len(b.asks) }

// Add adds a node. Those that come first are taken first. Of the kinds that are not owed
// what victims hold does not count.
func (b *Backlog) Add(node Node, unowed []resources.Kind) {
	p := &b.plan
	p.start(b.cfg, b.ask, node)
	p.filter()
	if len(b.nodes) < cap(b.nodes) {
		b.nodes = b.nodes[:len(b.nodes)+1]
	} else {
		b.nodes = append(b.nodes, backlogNode{})
	}
	n := &b.nodes[len(b.nodes)-1]
	n.room = append(n.room[:0], node.Free...)
	n.room.Add(p.releasing)
	n.held = n.held[:0]
	for i := range node.Floors {
		b.spare = b.spare.Least(node.Floors[i].Surplus)
	}
	if len(node.Budgets) > 0 {
		return
	}
	for i := range p.ranked {
		e := &p.ranked[i]
		importance := e.importance
		if !p.rules.byPriority {
			importance >>= 8
		}
		amounts := e.Amounts
		for _, kind := range unowed {
			if amounts.Of(kind) > 0 {
				amounts = amounts.Clone()
				amounts.Set(kind, 0)
			}
		}
		n.held = append(n.held, heldBy{amounts, importance})
	}
}

// Plan is the node of the first ask, by its place, and what is served there.
func (b *Backlog) Plan() (at int, shared Shared, ok bool) {
	b.number()
	b.limit()
	b.best = slices.Grow(b.best[:0], b.states)[:b.states]
	for i := range b.best {
		b.best[i] = tooManyVictims
	}
	b.best[0] = 0
	for i := range b.nodes {
		b.fillFewest(&b.nodes[i])
		b.divide(&b.nodes[i])
	}
	some := b.served()
	if !b.keepsGuarantees(some) || some != b.states-1 {
		return 0, Shared{}, false
	}
	return b.first(some)
}

// number numbers the ways to take some of the asks, and works out what they need.
func (b *Backlog) number() {
	b.states = 1
	for i := range b.sizes {
		b.sizes[i].step = b.states
		b.states *= int(b.sizes[i].count) + 1
	}
	for len(b.needs) < b.states {
		b.needs = append(b.needs, nil)
	}
	b.needs[0] = b.needs[0][:0]
	for i := range b.sizes {
		for some, less := range b.ofSize(i) {
			b.needs[some] = append(b.needs[some][:0], b.needs[less]...)
			b.needs[some].Add(b.sizes[i].amounts)
		}
	}
}

// ofSize visits some of the asks, of which at least one is of a size and none of those after it,
// with the same but for one ask of that size.
func (b *Backlog) ofSize(size int) func(func(some, less int) bool) {
	return func(yield func(some, less int) bool) {
		step := b.sizes[size].step
		for some := step; some < step*(int(b.sizes[size].count)+1); some++ {
			if !yield(some, some-step) {
				return
			}
		}
	}
}

// countOf is how many of a size are among some of the asks.
func (b *Backlog) countOf(some, size int) int32 {
	return int32(some/b.sizes[size].step) % (b.sizes[size].count + 1)
}

// limit finds the least importance of victims with which the first ask can be served.
// More important ones do not count.
func (b *Backlog) limit() {
	first := b.sizes[0].amounts
	for i := range b.nodes {
		n := &b.nodes[i]
		slices.SortFunc(n.held, func(a, b heldBy) int { return cmp.Compare(a.importance, b.importance) })
		room := n.room.Clone()
		for _, h := range n.held {
			room.Add(h.amounts)
			if first.FitsIn(room) {
				b.most = min(b.most, h.importance)
				break
			}
		}
	}
}

// fillFewest works out the fewest victims on a node for some of the asks: the largest of
// one kind.
func (b *Backlog) fillFewest(n *backlogNode) {
	n.fewest = slices.Grow(n.fewest[:0], b.states)[:b.states]
	for some := range n.fewest {
		n.fewest[some] = tooManyVictims
	}
	n.fewest[0] = 0
	n.held = slices.DeleteFunc(n.held, func(h heldBy) bool { return h.importance > b.most })
	for i, asked := range b.ask.Amounts {
		if asked > 0 {
			b.fewestByKind(n, resources.Kind(i))
		}
	}
}

// fewestByKind works out how many victims are enough if those go first that hold most of a
// kind. For one ask more it is no fewer.
func (b *Backlog) fewestByKind(n *backlogNode, kind resources.Kind) {
	slices.SortStableFunc(n.held, func(a, b heldBy) int { return cmp.Compare(b.amounts.Of(kind), a.amounts.Of(kind)) })
	for len(b.rooms) <= len(n.held) {
		b.rooms = append(b.rooms, nil)
	}
	rooms := b.rooms[:len(n.held)+1]
	rooms[0] = append(rooms[0][:0], n.room...)
	for i, h := range n.held {
		rooms[i+1] = append(rooms[i+1][:0], rooms[i]...)
		rooms[i+1].Add(h.amounts)
	}
	b.enough = slices.Grow(b.enough[:0], b.states)[:b.states]
	b.enough[0] = 0
	for size := range b.sizes {
		for some, less := range b.ofSize(size) {
			victims := b.enough[less]
			for int(victims) < len(rooms) && !b.needs[some].FitsIn(rooms[victims]) {
				victims++
			}
			if b.enough[some] = victims; int(victims) < len(rooms) {
				n.fewest[some] = min(n.fewest[some], victims)
			}
		}
	}
}

// divide has the next node take any of the asks.
func (b *Backlog) divide(n *backlogNode) {
	b.next = append(b.next[:0], b.best...)
	n.here = slices.Grow(n.here[:0], b.states)[:b.states]
	clear(n.here)
	for here := 1; here < b.states; here++ {
		if n.fewest[here] < tooManyVictims {
			b.takeHere(n, here)
		}
	}
	b.best, b.next = b.next, b.best
}

// takeHere has a node take some of the asks, beside any others on the nodes before. Those
// others that differ in the first size only are numbered one after the other.
func (b *Backlog) takeHere(n *backlogNode, here int) {
	sizes := len(b.sizes)
	b.digits, b.used = slices.Grow(b.digits[:0], sizes)[:sizes], slices.Grow(b.used[:0], sizes)[:sizes]
	clear(b.digits)
	for i := range b.sizes {
		b.used[i] = b.sizes[i].count - b.countOf(here, i)
	}
	more, run := n.fewest[here], int(b.used[0])+1
	for rest, ok := 0, true; ok; rest, ok = b.following(rest) {
		b.work += run
		before := b.best[rest : rest+run]
		next, on := b.next[rest+here:][:len(before)], n.here[rest+here:][:len(before)]
		for i, victims := range before {
			if victims += more; victims < next[i] {
				next[i], on[i] = victims, int32(here)
			}
		}
	}
}

// following is what comes after some of the asks, of which none is of the first size: the
// digits of the other sizes count up to those used. It reports false after the last.
func (b *Backlog) following(rest int) (int, bool) {
	for i := 1; i < len(b.sizes); i++ {
		step := b.sizes[i].step
		if b.digits[i] < b.used[i] {
			b.digits[i]++
			return rest + step, true
		}
		rest -= int(b.digits[i]) * step
		b.digits[i] = 0
	}
	return rest, false
}

// served are the most asks from the first on that can be served.
func (b *Backlog) served() (some int) {
	for _, ask := range b.asks {
		some += b.sizes[ask].step
	}
	for _, ask := range slices.Backward(b.asks) {
		if b.best[some] < tooManyVictims {
			return some
		}
		some -= b.sizes[ask].step
	}
	return 0
}

// keepsGuarantees reports whether guarantees allow what victims may hold that serve some of
// the asks.
func (b *Backlog) keepsGuarantees(some int) bool {
	if len(b.spare) == 0 {
		return true
	}
	var taken resources.Amounts
	for i := range slices.Backward(b.nodes) {
		n := &b.nodes[i]
		here := int(n.here[some])
		for k := range b.spare {
			kind := resources.Kind(k)
			slices.SortStableFunc(n.held, func(a, b heldBy) int { return cmp.Compare(b.amounts.Of(kind), a.amounts.Of(kind)) })
			for _, h := range n.held[:n.fewest[here]] {
				taken.Set(kind, resources.Total(taken.Of(kind), max(h.amounts.Of(kind), 0)))
			}
		}
		some -= here
	}
	return taken.Within(b.spare)
}

// first is the node of the first ask among those that take some of the asks: where victims
// serve most of them, so that what serves few is left to the asks that may yet come.
func (b *Backlog) first(some int) (at int, shared Shared, ok bool) {
	victims := int32(0)
	for i := range slices.Backward(b.nodes) {
		n := &b.nodes[i]
		here := int(n.here[some])
		some -= here
		if b.countOf(here, 0) == 0 {
			continue
		}
		asks := 0
		for size := range b.sizes {
			asks += int(b.countOf(here, size))
		}
		if !ok || int(n.fewest[here])*shared.Asks <= int(victims)*asks {
			at, ok, victims = i, true, n.fewest[here]
			shared = Shared{b.needs[here], asks}
		}
	}
	return at, shared, ok
}
