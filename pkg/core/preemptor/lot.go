package preemptor

import (
	"cmp"
	"math"
	"math/bits"
	"slices"

	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// wholeAsk is what serving an ask is worth, so that costs for each are whole numbers.
const wholeAsk = 1 << 20

// A lot is what is free on a node, or soon, and what the candidates hold, the largest first.
type lot struct {
	free resources.Amounts
	held []resources.Amounts
}

func (l *lot) begin(p *plan) {
	l.free = append(l.free[:0], p.node.Free...)
	l.free.Add(p.releasing)
	l.held = l.held[:0]
}

// add adds what a candidate holds, but for kinds that are not owed.
func (l *lot) add(amounts resources.Amounts, unowed []resources.Kind) {
	for _, kind := range unowed {
		if amounts.Of(kind) > 0 {
			amounts = amounts.Clone()
			amounts.Set(kind, 0)
		}
	}
	l.held = append(l.held, amounts)
}

// take has the largest go.
func (l *lot) take(victims int) {
	for _, held := range l.held[:victims] {
		l.free.Add(held)
	}
	l.held = l.held[victims:]
}

// A packing puts asks into the room of a node: one, and of those behind as many as fit, the
// largest first.
type packing struct {
	first      resources.Amounts // of the ask by which sizes are measured
	kinds      []resources.Kind  // that it asks for
	room, rest resources.Amounts
	parts      []int64 // what one ask of each size behind is of the first
	packed     []int64 // how many of each fit
}

func (k *packing) measure(p *plan, behind []Behind) {
	k.first, k.kinds = p.ask.Amounts, k.kinds[:0]
	for _, kind := range p.kinds {
		if k.first.Of(kind) > 0 {
			k.kinds = append(k.kinds, kind)
		}
	}
	k.parts = k.parts[:0]
	for _, b := range behind {
		k.parts = append(k.parts, k.of(b.Amounts))
	}
}

// of is how much of the ask amounts are, over all kinds, in parts of 1/2^20.
func (k *packing) of(amounts resources.Amounts) (parts int64) {
	for _, kind := range k.kinds {
		parts = add(parts, scaled(max(amounts.Of(kind), 0), wholeAsk, k.first.Of(kind)))
	}
	return parts / int64(max(len(k.kinds), 1))
}

// pack says what the asks are worth for which there is room, how many they are, and whether
// these are all. There are none if the first does not fit.
func (k *packing) pack(ask resources.Amounts, behind []Behind) (worth int64, asks int, all bool) {
	if !ask.FitsIn(k.room) {
		return 0, 0, false
	}
	k.rest = append(k.rest[:0], k.room...)
	k.rest.Sub(ask)
	k.packed = k.packed[:0]
	worth, asks, all = k.of(ask), 1, true
	for at, b := range behind {
		served := min(b.Asks, b.Amounts.TimesIn(k.rest))
		for i, asked := range b.Amounts {
			if served > 0 && asked > 0 {
				k.rest[i] -= served * asked
			}
		}
		k.packed = append(k.packed, served)
		worth, asks, all = add(worth, times(served, k.parts[at])), asks+int(served), all && served == b.Asks
	}
	return worth, asks, all
}

// A Backlog chooses a node for an ask where those behind are of other sizes: the one with which
// all of them together take the fewest victims, if the others go one after the other, the largest
// first, where victims are worth most. The zero value is ready, and its memory is used again.
type Backlog struct {
	AsksMax int // about how many asks behind are looked at, of each size a part; zero is BacklogAsks
	sharing
	cfg      Config
	ask, all Ask // the first, and one as large as all
	limited  bool
	lots     []lot // of the nodes
	ways     []way
	victims  int64 // the fewest that were found for what they are worth
	worth    int64
	now      []lot // scratch, like the next ones
	left     []Behind
	taken    []int64
}

// BacklogAsks is how many asks behind are looked at unless it is said.
const BacklogAsks = 16

// Begin forgets everything but the ask.
func (b *Backlog) Begin(cfg Config, ask Ask) {
	waiting := int64(0)
	for _, other := range ask.Behind {
		waiting += other.Asks
	}
	b.cfg, b.ask, b.lots, b.limited = cfg, ask, b.lots[:0], false
	b.ask.Behind, b.all = nil, ask
	b.all.Amounts = ask.Amounts.Clone()
	most := cmp.Or(b.AsksMax, BacklogAsks)
	for _, other := range ask.Behind[:min(len(ask.Behind), most)] {
		asks := max(1, min(other.Asks, scaled(other.Asks, int64(most), waiting)))
		b.ask.Behind = append(b.ask.Behind, Behind{other.Amounts, asks})
		for range asks {
			b.all.Amounts.Add(other.Amounts)
		}
	}
}

// Add adds the next node, in the order of what room for the ask costs. Victims are up to those of
// the ask on the first node where it needs any.
func (b *Backlog) Add(node Node) {
	p := &b.plan
	if !b.limited {
		p.start(b.cfg, b.ask, node)
		p.filter()
		b.measure(p, b.ask.Behind)
		b.limit, b.most = boundless, math.MaxInt64
		if b.limited = !p.nothingToChoose(); b.limited {
			p.choose()
			b.keepWithin(p)
		}
	}
	p.start(b.cfg, b.all, node)
	p.filter()
	b.fill(p)
	b.lots = append(b.lots, lot{b.lot.free.Clone(), slices.Clone(b.lot.held)})
}

// Best is the best of so many nodes that were added first. Of several it is that where the most room
// for those behind is left, a victim taken for what it serves at the best.
func (b *Backlog) Best(of int) (best int) {
	b.victims, b.worth = 1, 1
	b.ways = b.ways[:0]
	for at := range min(of, len(b.lots)) {
		b.ways = append(b.ways, b.put(at))
	}
	for at, w := range b.ways {
		if cmp.Or(cmp.Compare(w.all, b.ways[best].all), cmp.Compare(b.net(w), b.net(b.ways[best]))) < 0 {
			best = at
		}
	}
	return best
}

// A way is to have the ask go to a node.
type way struct {
	all     int   // victims of all asks
	victims int64 // of the first
	gained  int64 // room for the asks, as far as they can use it
}

func (b *Backlog) net(w way) int64 { return w.victims*b.worth - b.victims*w.gained }

// put has the first ask go to a node, and the others one after the other.
func (b *Backlog) put(at int) (w way) {
	b.now, b.left = b.now[:0], append(b.left[:0], b.ask.Behind...)
	for _, l := range b.lots {
		b.now = append(b.now, lot{l.free.Clone(), l.held})
	}
	first := &b.now[at]
	b.room = append(b.room[:0], first.free...)
	before, _, _ := b.pack(nil, b.left)
	for !b.ask.Amounts.FitsIn(first.free) {
		if len(first.held) == 0 {
			return way{all: math.MaxInt}
		}
		first.take(1)
		w.victims++
	}
	b.room = append(b.room[:0], first.free...)
	after, _, _ := b.pack(b.ask.Amounts, b.left)
	first.free.Sub(b.ask.Amounts)
	w.all, w.gained = int(w.victims), after-before
	for i := range b.left {
		for b.left[i].Asks > 0 {
			b.left[i].Asks--
			w.all += b.serve(b.left[i].Amounts)
		}
	}
	return w
}

// unserved counts as so many victims.
const unserved = 1 << 16

// serve serves an ask and those that go with it where victims are worth most.
func (b *Backlog) serve(ask resources.Amounts) int {
	var best *lot
	var victims, worth, rest int64
	for i := range b.now {
		l := &b.now[i]
		b.room = append(b.room[:0], l.free...)
		for v := range int64(len(l.held) + 1) {
			if v > 0 {
				b.room.Add(l.held[v-1])
			}
			serves, _, all := b.pack(ask, b.left)
			less := cmp.Compare(times(v, worth), times(victims, serves))
			if serves > 0 && (best == nil || less < 0 || less == 0 && b.of(b.rest) < rest) {
				best, victims, worth, rest = l, v, serves, b.of(b.rest)
				b.taken = append(b.taken[:0], b.packed...)
			}
			if all {
				break
			}
		}
	}
	if best == nil {
		return unserved
	}
	if victims > 0 && times(victims, b.worth) < times(b.victims, worth) {
		b.victims, b.worth = victims, worth
	}
	best.take(int(victims))
	best.free.Sub(ask)
	for i, served := range b.taken {
		b.left[i].Asks -= served
		for range served {
			best.free.Sub(b.left[i].Amounts)
		}
	}
	return int(victims)
}

// manyVictims is from how many victims on what is there already adds little to each.
const manyVictims = 16

// LeastVictims is a lower bound of the victims for an ask and what waits behind it, for as
// much as the ask, in parts of 1/2^20, if none holds more than the largest amounts and what waits
// needs the kinds in the proportions of the ask. In others it may be a little above the least.
func LeastVictims(ask, free, releasing, largest, step resources.Amounts) int64 {
	least, short := int64(0), false
	for i, asked := range ask {
		kind := resources.Kind(i)
		there := free.Of(kind) + releasing.Of(kind)
		if asked <= 0 || there >= asked {
			continue
		}
		short = true
		if largest.Of(kind) <= 0 {
			return math.MaxInt64
		}
		least = max(least, leastOfKind(asked, there, largest.Of(kind), max(step.Of(kind), 1)))
	}
	if !short {
		return wholeAsk
	}
	return least
}

// MayShare reports whether victims may be fewer for an ask that shares them with others.
func MayShare(ask, free, releasing, largest, step resources.Amounts) bool {
	alone := int64(1)
	for i, asked := range ask {
		kind := resources.Kind(i)
		if need := max(asked, 0) - free.Of(kind) - releasing.Of(kind); asked > 0 && need > 0 && largest.Of(kind) > 0 {
			alone = max(alone, (need-1)/largest.Of(kind)+1)
		}
	}
	return LeastVictims(ask, free, releasing, largest, step) < times(alone, wholeAsk)
}

// leastOfKind is LeastVictims for one kind, of which so much is there, one victim holds
// so much, and what waits comes in whole steps.
func leastOfKind(asked, there, one, step int64) int64 {
	if there < one && step%one == 0 {
		return times(asked/one, wholeAsk) // what is there serves nothing
	}
	first := (asked-there-1)/one + 1
	beyond := first + manyVictims
	least := scaled(asked, wholeAsk, add(one, (max(there, 0)+beyond-1)/beyond))
	for victims := first; victims < beyond; victims++ {
		serve := add(times(victims, one), max(there, 0)) + min(there, 0)
		serve -= serve % step
		if serve >= asked {
			least = min(least, scaled(times(victims, wholeAsk), asked, serve))
		}
	}
	return least
}

// scaled is v * by / of rounded down, or the most there is.
func scaled(v, by, of int64) int64 {
	high, low := bits.Mul64(uint64(v), uint64(by))
	if high >= uint64(of) {
		return math.MaxInt64
	}
	result, _ := bits.Div64(high, low, uint64(of))
	return int64(min(result, math.MaxInt64))
}
