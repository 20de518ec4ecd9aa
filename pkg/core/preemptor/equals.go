package preemptor

import (
	"cmp"
	"math"
	"slices"

	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// Equal asks that wait one behind the other can share a victim that holds more than one
// of them needs. So with Ask.Waiting a plan is worth what it costs for each ask that it
// serves: victims for one ask are compared with victims for several, of the same class
// and priority and with no more violations. Of the best of them the first ask gets
// those that it needs; the asks behind find the room that is left on the node.

// wholeAsk is a multiple of every number of asks that a plan may serve. Figures for each
// of them are counted in parts of it, so they are compared exactly.
const wholeAsk = 720720

// numbersOfAsks are how many asks a plan may serve, beside one.
var numbersOfAsks = [...]int64{2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 20, 24, 30, 40, 48, 60, 80, 120, 240}

// AsksMax is how many equal asks a plan serves at most.
const AsksMax = 240

// triesMax is for how many numbers of asks victims are searched on one node. Mostly the
// first is the best, since it is the one with the lowest bound.
const triesMax = 4

// A sharing is the search for the number of asks for which the victims on a node are
// worth most. Its plan is that for several asks.
type sharing struct {
	plan
	single *plan
	limit  limit
	most   int64   // the importance of the most important victim of the single plan
	sizes  []int64 // scratch, like the next one
	needs  resources.Amounts
	least  [len(numbersOfAsks)]int64 // victims for so many asks at the least; zero if there are too few, or tried

	asks    int64 // that the best plan serves
	worth   int64 // of these, in parts of 1/720720 of the first
	count   int64 // of its victims
	best    Cost
	victims []*Candidate
	found   bool // they serve the ask better than its own plan
	more    bool // if more asks waited, a plan might cost less for each
}

// Together says that victims were chosen for several equal asks at once, of which the
// ask is the first. It is zero for a plan that serves one ask.
type Together struct{ Asks, Victims int }

// CostEach is the cost of the best plan for the ask and any number of those that wait,
// for each of the asks that it serves; how many these are; and whether a plan might cost
// less if more waited. Without Ask.Waiting it is what Cost says.
func (pl *Planner) CostEach(cfg Config, ask Ask, node Node) (cost Cost, asks int, more bool) {
	s := &pl.sharing
	s.share(pl.chosen(cfg, ask, node))
	return s.best, int(s.asks), s.more
}

// share looks for a plan that serves several asks and costs less for each of them than
// the plan that was made for one.
func (s *sharing) share(p *plan) {
	s.single, s.asks, s.worth, s.found = p, 1, wholeAsk, false
	s.count, s.more, s.best = int64(len(p.victims)), false, p.cost()
	if p.reason != Chosen {
		return
	}
	s.setLimit()
	if together := p.ask.Shared; together != nil {
		s.best[0] = 1
		s.tryFor(together.Amounts, int64(together.Asks), int64(together.Asks)*wholeAsk)
		return
	}
	if p.ask.Waiting == 0 || s.isRuledOut() {
		return
	}
	s.fillLeast()
	for range triesMax {
		at := s.promising()
		if at < 0 {
			break
		}
		s.tryForEquals(numbersOfAsks[at])
		s.least[at] = 0
	}
	for at, m := range numbersOfAsks {
		s.more = s.more || m > int64(s.single.ask.Waiting) && s.isCheaper(at)
	}
}

// isCheaper reports whether so many asks may be served with fewer victims for each.
func (s *sharing) isCheaper(at int) bool {
	return s.least[at] > 0 && s.least[at]*s.asks < s.count*numbersOfAsks[at]
}

// isRuledOut reports whether victims cannot be worth more for several asks, by the
// largest candidate alone.
func (s *sharing) isRuledOut() bool {
	p := s.single
	s.needs = s.needs[:0]
	for i := range p.node.On {
		if c := &p.node.On[i]; !c.Releasing && !c.Foreign {
			s.needs.Raise(c.Amounts)
		}
	}
	return LeastVictims(p.ask.Amounts, p.node.Free, p.releasing, s.needs) >= s.count*wholeAsk
}

// setLimit takes the limit that victims for several asks keep from those for one.
func (s *sharing) setLimit() {
	s.limit, s.most = limit{priority: math.MinInt32}, math.MinInt64
	for _, i := range s.single.victims {
		e := &s.single.ranked[i]
		s.limit.class, s.limit.priority = max(s.limit.class, e.class), max(s.limit.priority, e.Priority)
		s.most = max(s.most, e.importance)
	}
}

// allows reports whether a candidate may be a victim for several asks. Where priority
// comes before class, a lower priority allows a later class.
func (s *sharing) allows(c *Candidate) bool {
	if s.single.rules.byPriority {
		return s.single.importanceOf(c, classOf(c)) <= s.most
	}
	return classOf(c) <= s.limit.class && c.Priority <= s.limit.priority
}

// fillLeast fills in how many victims the numbers of asks take at least, by what the
// largest of them hold of one kind.
func (s *sharing) fillLeast() {
	p := s.single
	for at := range s.least {
		s.least[at] = 1
	}
	for i, asked := range p.ask.Amounts {
		kind := resources.Kind(i)
		if asked <= 0 {
			continue
		}
		s.sizes = s.sizes[:0]
		for i := range p.node.On {
			if c := &p.node.On[i]; !c.Releasing && !c.Foreign && s.allows(c) {
				s.sizes = append(s.sizes, c.Amounts.Of(kind))
			}
		}
		slices.SortFunc(s.sizes, func(a, b int64) int { return cmp.Compare(b, a) })
		there, taken := p.node.Free.Of(kind)+p.releasing.Of(kind), 0
		for at, m := range numbersOfAsks {
			need := times(m, asked)
			for ; there < need && taken < len(s.sizes); taken++ {
				there = add(max(there, 0), max(s.sizes[taken], 0)) + min(there, 0)
			}
			if there < need {
				clear(s.least[at:])
				break
			}
			if s.least[at] > 0 {
				s.least[at] = max(s.least[at], int64(taken))
			}
		}
	}
}

// promising is the number of asks with the fewest victims for each by their bound, by its
// place; less than zero if no bound is below the best plan.
func (s *sharing) promising() int {
	best := -1
	for at, m := range numbersOfAsks {
		if m <= int64(s.single.ask.Waiting) && s.isCheaper(at) && (best < 0 || s.least[at]*numbersOfAsks[best] < s.least[best]*m) {
			best = at
		}
	}
	return best
}

// tryForEquals looks for the fewest victims for so many equal asks.
func (s *sharing) tryForEquals(m int64) {
	ask := s.single.ask.Amounts
	s.needs = append(s.needs[:0], ask...)
	for i, asked := range ask {
		s.needs[i] = times(m, max(asked, 0))
	}
	s.tryFor(s.needs, m, m*wholeAsk)
}

// tryFor looks for the fewest victims for several asks that need so much together.
func (s *sharing) tryFor(needs resources.Amounts, asks, worth int64) {
	p, q := s.single, &s.plan
	ask := p.ask
	ask.Amounts = needs
	q.start(p.cfg, ask, p.node)
	q.fits, q.reporting, q.worth = nil, false, worth
	q.filter()
	q.ranked = slices.DeleteFunc(q.ranked, func(e eligible) bool { return !s.allows(e.Candidate) })
	if q.fillShares(); len(q.ranked) == 0 || len(q.short) == 0 || !q.reached(q.total) {
		return
	}
	q.rank()
	q.reason = NothingHelps
	strategy, most := Minimal, VictimsLimit
	if q.floored() {
		most = ProvedMax
	}
	if len(q.ranked) > most {
		strategy = Reprieve
	}
	if !q.took(strategy, strategies[strategy].choose(q)) {
		return
	}
	// More violations of budgets, and more important victims, cost more whatever they serve.
	if cost := q.cost(); cost.Compare(s.best) < 0 {
		s.asks, s.worth, s.count, s.best = asks, worth, int64(len(q.victims)), cost
		s.found, s.victims = true, s.victims[:0]
		for _, i := range q.victims {
			s.victims = append(s.victims, q.ranked[i].Candidate)
		}
	}
}

// giveFirst has the single plan take those victims of the best plan that the first ask
// needs. Nothing changes if the resource manager does not agree.
func (s *sharing) giveFirst() {
	p, q := s.single, &s.plan
	if !s.found {
		return
	}
	q.start(p.cfg, p.ask, p.node)
	q.reporting = false
	q.filter()
	q.ranked = slices.DeleteFunc(q.ranked, func(e eligible) bool { return !slices.Contains(s.victims, e.Candidate) })
	if q.fillShares(); len(q.ranked) == 0 || !q.reached(q.total) {
		return
	}
	q.choose()
	if q.reason != Chosen || p.node.FitsBeside != nil && p.node.FitsBeside(q.keysOf(q.victims)) != nil {
		return
	}
	p.victims = p.victims[:0]
	for i := range p.ranked {
		if slices.ContainsFunc(q.victims, func(at int) bool { return q.ranked[at].Candidate == p.ranked[i].Candidate }) {
			p.victims = append(p.victims, i)
		}
	}
	p.strategy, p.violations, p.proof = q.strategy, q.violations, Proof{}
	p.together, p.costEach = Together{int(s.asks), len(s.victims)}, s.best
}
