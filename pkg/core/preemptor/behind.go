package preemptor

import (
	"cmp"
	"math"
	"math/bits"
	"slices"

	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// Behind is what waits behind an ask in its queue, of the same priority and constraints,
// where asks differ in amounts. A plan is then worth what it serves of all of them, in
// parts of the ask: victims for the ask are compared with those for it and for what of the
// others fits beside it.
type Behind struct {
	Asks []Waiting // the largest first, equal ones among them
	// Owed is the most that a plan may serve, the ask included.
	Owed resources.Limits
	// Step divides what any of them asks for, by kind; zero where none does.
	Step resources.Amounts
}

// Waiting is how many asks of certain amounts wait.
type Waiting struct {
	Amounts resources.Amounts
	Count   int
}

const (
	// bundleMax is for how many victims it is looked at what they serve.
	bundleMax = 16
	// fillStepsMax bounds the search for what fits beside an ask.
	fillStepsMax = 500
	// worthMax keeps sums of what asks are worth within 64 bits.
	worthMax = math.MaxInt64 / AsksMax / 2
)

// A bundle is the ask and what of those behind it fits beside it with some victims.
type bundle struct {
	victims int64 // at the least; zero if there are too few, or it is tried
	asks    int64
	worth   int64 // in parts of 1/720720 of the ask
	amounts resources.Amounts
}

// bundles are the bundles of one node.
type bundles struct {
	list   [bundleMax]bundle
	worths []int64                      // of each of Behind.Asks
	rooms  [bundleMax]resources.Amounts // by victims
	spare  resources.Amounts            // of the room, and of what is owed

	counts, best []int64 // of the search, by Behind.Asks
	most         int64   // what the best are worth
	steps        int     // that are left
}

// shareAmong looks for a plan that serves more for its victims than the plan that was made
// for the ask alone.
func (s *sharing) shareAmong() {
	s.weighBehind()
	s.fillBundles()
	for range triesMax {
		best := (*bundle)(nil)
		for i := range s.bundles.list {
			if b := &s.bundles.list[i]; b.victims > 0 && isLess(b.victims, b.worth, s.count, s.worth) &&
				(best == nil || isLess(b.victims, b.worth, best.victims, best.worth)) {
				best = b
			}
		}
		if best == nil {
			return
		}
		s.tryFor(best.amounts, best.asks, best.worth)
		best.victims = 0
	}
}

// isLess compares two fractions.
func isLess(a, b, c, d int64) bool {
	high, low := bits.Mul64(uint64(a), uint64(d))
	otherHigh, otherLow := bits.Mul64(uint64(c), uint64(b))
	return cmp.Or(cmp.Compare(high, otherHigh), cmp.Compare(low, otherLow)) < 0
}

// weighBehind works out what the asks behind are worth: of the kinds that the ask lacks on
// the node that one counts of which another ask has the least part.
func (s *sharing) weighBehind() {
	p := s.single
	s.bundles.worths = s.bundles.worths[:0]
	for i := range p.ask.Behind.Asks {
		worth := int64(worthMax)
		for _, kind := range p.short[:p.onNode] {
			worth = min(worth, scaled(max(p.ask.Behind.Asks[i].Amounts.Of(kind), 0), wholeAsk, p.ask.Amounts.Of(kind)))
		}
		s.bundles.worths = append(s.bundles.worths, worth)
	}
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

// fillBundles fills in what fits with any number of victims, if they are the largest of
// each kind.
func (s *sharing) fillBundles() {
	p, all, largest := s.single, &s.bundles, s.allowed()
	for i := range all.rooms {
		all.rooms[i], all.list[i].victims = append(all.rooms[i][:0], p.node.Free...), 0
	}
	count := min(len(largest), bundleMax)
	for kind := range resources.Kind(p.width) {
		slices.SortFunc(largest, func(a, b *Candidate) int { return cmp.Compare(b.Amounts.Of(kind), a.Amounts.Of(kind)) })
		room := resources.Total(p.node.Free.Of(kind), p.releasing.Of(kind))
		for i := range count {
			room = resources.Total(room, max(largest[i].Amounts.Of(kind), 0))
			all.rooms[i].Set(kind, room)
		}
	}
	for i := range count {
		if p.ask.Amounts.FitsIn(all.rooms[i]) {
			s.fillBundle(&all.list[i], all.rooms[i])
			all.list[i].victims = int64(i + 1)
		}
	}
}

// allowed are the candidates that may be victims for several asks.
func (s *sharing) allowed() []*Candidate {
	s.victims = s.victims[:0]
	for i := range s.single.node.On {
		if c := &s.single.node.On[i]; !c.Releasing && !c.Foreign && s.allows(c) {
			s.victims = append(s.victims, c)
		}
	}
	return s.victims
}

// fillBundle adds to the ask what is worth most of those behind that fit beside it into
// the room.
func (s *sharing) fillBundle(b *bundle, room resources.Amounts) {
	p, all := s.single, &s.bundles
	all.spare = slices.Grow(all.spare[:0], p.width)[:p.width]
	for i := range all.spare {
		kind := resources.Kind(i)
		all.spare[i] = min(room.Of(kind), p.ask.Behind.Owed.Of(kind)) - p.ask.Amounts.Of(kind)
	}
	n := len(p.ask.Behind.Asks)
	all.counts, all.best = slices.Grow(all.counts[:0], n)[:n], slices.Grow(all.best[:0], n)[:n]
	clear(all.best)
	all.steps, all.most = fillStepsMax, 0
	s.fillFrom(0, 0, 0)
	b.asks, b.worth, b.amounts = 1, wholeAsk, append(b.amounts[:0], p.ask.Amounts...)
	for i, count := range all.best {
		b.asks, b.worth = b.asks+count, b.worth+count*all.worths[i]
		for k, asked := range p.ask.Behind.Asks[i].Amounts {
			if count > 0 && asked > 0 {
				b.amounts.Set(resources.Kind(k), b.amounts.Of(resources.Kind(k))+count*asked)
			}
		}
	}
}

// fillFrom fills what is spare with asks from one on, as many of the largest as fit first,
// and then fewer, until nothing can be worth more.
func (s *sharing) fillFrom(from int, asks, worth int64) {
	p, all := s.single, &s.bundles
	if worth > all.most {
		all.most = worth
		copy(all.best, all.counts[:from])
		clear(all.best[from:])
	}
	if all.steps--; from == len(all.counts) || asks >= AsksMax-1 || all.steps < 0 || worth+s.atMost() <= all.most {
		return
	}
	amounts := p.ask.Behind.Asks[from].Amounts
	count := min(int64(p.ask.Behind.Asks[from].Count), AsksMax-1-asks)
	for k, asked := range amounts {
		if asked > 0 {
			count = min(count, max(all.spare.Of(resources.Kind(k)), 0)/asked)
		}
	}
	if all.worths[from] == 0 {
		count = 0
	}
	for ; count >= 0; count-- {
		all.counts[from] = count
		all.spend(amounts, count)
		s.fillFrom(from+1, asks+count, worth+count*all.worths[from])
		all.spend(amounts, -count)
	}
}

// spend takes so many asks from what is spare.
func (b *bundles) spend(amounts resources.Amounts, count int64) {
	for k, asked := range amounts {
		if count != 0 && asked > 0 {
			b.spare[k] -= count * asked
		}
	}
}

// atMost is the most that what is spare may be worth.
func (s *sharing) atMost() int64 {
	p, most := s.single, int64(worthMax)
	for _, kind := range p.short[:p.onNode] {
		most = min(most, scaled(max(s.bundles.spare.Of(kind), 0), wholeAsk, p.ask.Amounts.Of(kind)))
	}
	return most
}

// LeastAmong is a lower bound of the victims for an ask and what waits behind it, for as
// much as the ask, in parts of 1/720720, if none holds more than the largest amounts and
// what waits comes in whole steps.
func LeastAmong(ask, free, releasing, largest, step resources.Amounts) int64 {
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

// leastOfKind is LeastAmong for one kind, of which so much is there, and one victim holds
// so much.
func leastOfKind(asked, there, one, step int64) int64 {
	if there < one && step%one == 0 {
		return times(asked/one, wholeAsk) // what is there serves nothing
	}
	first := (asked-there-1)/one + 1
	// With many victims what is there adds little to each.
	beyond := first + bundleMax
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
