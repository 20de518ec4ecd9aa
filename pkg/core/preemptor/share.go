package preemptor

import (
	"cmp"
	"math"
	"slices"

	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// Asks that wait behind one can use what a victim holds more than it needs. So a plan is
// worth what it costs for as much as the ask: the victims for it alone are compared with the
// largest ones, which serve others too, none of them more important and none beyond a budget.
// Of the best of them the ask gets those that it needs; the others find the room that is
// left on the node.

// A Behind is how many asks of one size wait behind an ask.
type Behind struct {
	Amounts resources.Amounts
	Asks    int64
}

// Together says how many asks, the first included, the victims of a plan serve. All says
// that these are all that wait, so that the plan might be worth more if others came.
type Together struct {
	Asks, Victims int
	All           bool
}

// A sharing looks for the victims on a node that are worth most.
type sharing struct {
	plan // of the ask, among the victims that are worth most
	packing
	lot    lot
	order  []int        // the candidates of the lot
	limit  limit        // up to which candidates may go for several asks, and up to which importance
	most   int64        // of them
	chosen []*Candidate // the victims that are worth most, if they serve more than one ask
	best   Cost
	served Together
}

// share compares the victims of a plan for the ask alone with those that serve more.
func (s *sharing) share(p *plan) {
	s.chosen, s.best, s.served = s.chosen[:0], p.cost(), Together{Asks: 1, Victims: len(p.victims)}
	if p.reason != Chosen || p.isLeast() {
		return
	}
	if s.served.All = len(p.ask.Behind) == 0; s.served.All || p.onNode == 0 {
		return
	}
	s.measure(p, p.ask.Behind)
	s.keepWithin(p)
	s.fill(p)
	s.room = append(s.room[:0], s.lot.free...)
	for at := range s.order {
		s.room.Add(s.lot.held[at])
		worth, asks, all := s.pack(p.ask.Amounts, p.ask.Behind)
		if asks > 1 {
			s.consider(p, worth, Together{Asks: asks, Victims: at + 1, All: all})
		}
		if all {
			break
		}
	}
}

// consider compares the first candidates of the lot, which serve some asks, with the best.
func (s *sharing) consider(p *plan, worth int64, served Together) {
	alone, violations := p.victims, p.violations
	p.victims, p.violations, p.worth = s.order[:served.Victims], 0, worth
	cost := p.cost()
	p.victims, p.violations, p.worth = alone, violations, 0
	if cost.Compare(s.best) >= 0 {
		return
	}
	s.best, s.served, s.chosen = cost, served, s.chosen[:0]
	for _, i := range s.order[:served.Victims] {
		s.chosen = append(s.chosen, p.ranked[i].Candidate)
	}
}

// isLeast reports whether no victims can be worth more, by the largest candidate alone.
func (p *plan) isLeast() bool {
	p.scratch = p.scratch[:0]
	for i := range p.ranked {
		if e := &p.ranked[i]; !e.Elsewhere {
			p.scratch.Raise(e.Amounts)
		}
	}
	return LeastVictims(p.ask.Amounts, p.node.Free, p.releasing, p.scratch, p.ask.Step) >= times(int64(p.countOf(p.victims)), wholeAsk)
}

// keepWithin keeps to the class, priority and importance of the victims for the ask alone.
func (s *sharing) keepWithin(p *plan) {
	s.limit, s.most = limitOf(p.ranked, p.victims), math.MinInt64
	for _, i := range p.victims {
		s.most = max(s.most, p.ranked[i].importance)
	}
}

// fill puts the candidates into the lot that may go for several asks. Where priority comes before
// class, a lower priority allows a later class.
func (s *sharing) fill(p *plan) {
	s.lot.begin(p)
	p.rank()
	s.order = append(s.order[:0], p.ranks()...)
	slices.SortStableFunc(s.order, func(a, b int) int { return cmp.Compare(s.of(p.ranked[b].Amounts), s.of(p.ranked[a].Amounts)) })
	p.fillFloors()
	p.fillBudgets()
	p.fillGone()
	s.order = slices.DeleteFunc(s.order, func(i int) bool {
		e := &p.ranked[i]
		allowed := e.class <= s.limit.class && e.Priority <= s.limit.priority
		if p.rules.byPriority {
			allowed = e.importance <= s.most
		}
		if !allowed || e.Elsewhere || e.With != nil || !p.keepsFloors(e.Candidate) {
			return true
		}
		if p.end(e.Candidate) {
			p.stay(e.Candidate)
			return true
		}
		if p.spend(e.Candidate) {
			p.unspend(e.Candidate)
			return true
		}
		p.charge(e.Candidate, 1)
		s.lot.add(e.Amounts, p.ask.Unowed)
		return false
	})
}

// giveFirst has a plan take those of the victims which are worth most that the ask needs.
// Nothing changes if the resource manager does not agree.
func (s *sharing) giveFirst(p *plan) {
	q := &s.plan
	if len(s.chosen) == 0 {
		return
	}
	q.start(p.cfg, p.ask, p.node)
	q.reporting = false
	q.filter()
	q.ranked = slices.DeleteFunc(q.ranked, func(e eligible) bool { return !slices.Contains(s.chosen, e.Candidate) })
	if q.fillShares(); !q.reached(q.total) {
		return
	}
	q.choose()
	if q.reason != Chosen {
		return
	}
	p.victims = p.victims[:0]
	for i := range p.ranked {
		if slices.ContainsFunc(q.victims, func(at int) bool { return q.ranked[at].Candidate == p.ranked[i].Candidate }) {
			p.victims = append(p.victims, i)
		}
	}
	p.strategy, p.violations, p.proof = q.strategy, q.violations, Proof{}
	p.together, p.costEach = s.served, s.best
}
