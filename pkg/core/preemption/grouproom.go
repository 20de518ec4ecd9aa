package preemption

import (
	"iter"
	"math"
	"slices"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/core/ledger"
	"github.com/narwhal-scheduler/narwhal/pkg/core/preemptor"
	"github.com/narwhal-scheduler/narwhal/pkg/core/question"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// A GroupRoom is where room is made for asks that start together: a node for each of them, where it fits beside
// the others once all victims have ended. None of these can be left out.
type GroupRoom struct {
	places []groupPlace
	cost   groupCost
}

// String is what the room costs, in words.
func (r *GroupRoom) String() string { return r.cost.String() }

// isThere reports whether nothing ends for the room, nor is ending.
func (r *GroupRoom) isThere() bool {
	return !slices.ContainsFunc(r.places, func(p groupPlace) bool { return p.Plan.Reason != preemptor.RoomIsThere })
}

// A groupPlace is the node of one ask, and the plan of which the victims are for it. They may be none.
type groupPlace struct {
	Ask  *ledger.Request
	Node *ledger.Node
	Plan *preemptor.Decision

	spends []string // the budgets that victims count for, one for each victim
}

// A groupSearch finds the nodes where room for asks that start together costs least. It takes one ask after the
// other, each on the node where it costs least beside what was chosen before. So it uses up what it has freed, and what
// stops anyhow, before it harms anything else. It changes nothing.
type groupSearch struct {
	*Attempts
	trigger preemptor.Trigger
	shares  []share
	spares  func(group string) bool // groups that may not stop
	only    map[string]bool         // the keys of the victims that there may be; nil is any

	asks     []*ledger.Request
	found    GroupRoom
	taken    map[*ledger.Node]*takenRoom
	ended    []preemptor.Victim
	anyway   endingAnyway          // the same
	together map[*ledger.Group]int // the most members on one node
	budget   map[string]*budgetUse
	costs    *NodeCosts // of the class of the asks under way
	over     question.Outcome
}

// takenRoom is what the asks take that were placed on a node before.
type takenRoom struct {
	used resources.Amounts
	asks []api.AllocationKey
}

// A budgetUse is how many of a budget end, and may.
type budgetUse struct{ ends, allowed int }

// search begins a search.
func (a *Attempts) search(t preemptor.Trigger, shares []share, spares func(string) bool) *groupSearch {
	return &groupSearch{
		Attempts: a, trigger: t, shares: shares, spares: spares, over: question.Waits,
		taken: map[*ledger.Node]*takenRoom{}, budget: map[string]*budgetUse{}, together: map[*ledger.Group]int{},
	}
}

// place finds room for all of some asks, those of a class one after the other. It is false if there is none.
func (s *groupSearch) place(asks []*ledger.Request) bool {
	before := s.Costs.group
	s.Costs.group, s.asks = s, asks
	defer func() { s.Costs.group = before }()
	for _, of := range s.shares {
		for rest := of.asks; len(rest) > 0; {
			count := 1
			for count < len(rest) && s.ClassOf(rest[count]) == s.ClassOf(rest[0]) && rest[count].App.Queue == rest[0].App.Queue {
				count++
			}
			if !s.placeAlike(rest[:count], of.nodes) {
				return false
			}
			rest = rest[count:]
		}
	}
	s.giveBack()
	s.found.cost = s.cost()
	s.placeAnew()
	return true
}

// placeAlike does so for asks of one class and queue, on some nodes.
func (s *groupSearch) placeAlike(asks []*ledger.Request, nodes iter.Seq[*ledger.Node]) bool {
	r := asks[0]
	key := s.Costs.keyOf(r, s.trigger)
	var behind []preemptor.Behind
	if len(asks) > 1 {
		behind = []preemptor.Behind{{Amounts: r.Amounts, Asks: int64(len(asks) - 1)}}
	}
	s.costs = &NodeCosts{all: s.askedIn(r.App.Queue)}
	s.Costs.begin(s.costs, key, behind, nodes)
	for n := range s.taken {
		s.again(n)
	}
	for i, r := range asks {
		at, ok := s.cheapest(r)
		if !ok {
			return false
		}
		s.take(r, at)
		if served := at.Plan.Together.Asks; served > len(asks)-i-1 && len(behind) > 0 {
			behind[0].Asks = int64(max(len(asks)-i-2, 0))
			s.Costs.expect(s.costs, slices.Clone(behind))
		}
	}
	return true
}

// askedIn is what the asks want in a queue together.
func (s *groupSearch) askedIn(q *ledger.Queue) (sum resources.Amounts) {
	for _, r := range s.asks {
		if r.App.Queue == q {
			sum.Add(r.Amounts)
		}
	}
	return sum
}

// cheapest is the node where room for an ask costs least now, with the plan.
func (s *groupSearch) cheapest(r *ledger.Request) (best groupPlace, ok bool) {
	var closed []*ledger.Node
	late := false
	for top := range s.Costs.cheapest(s.costs, &late) {
		if ok && top.Cost.Compare(best.Plan.Cost) >= 0 {
			break
		}
		at := s.planOn(r, top.Node)
		if s.over != question.Waits {
			return best, false
		}
		switch {
		case !at.Plan.Cost.Feasible():
			closed = append(closed, top.Node)
		case !ok || at.Plan.Cost.Compare(best.Plan.Cost) < 0:
			best, ok = at, true
		}
	}
	for _, n := range closed {
		s.costs.drop(n)
	}
	if late && !ok {
		s.over = question.Busy
	}
	return best, ok
}

// planOn plans for an ask on a node, beside what was planned before.
func (s *groupSearch) planOn(r *ledger.Request, n *ledger.Node) groupPlace {
	if s.Predicates.Any() && n.PlacedIn == s.Batch {
		s.over = question.Flush // the resource manager has not heard of it
	}
	on := s.Costs.nodeInput(s.costs, n, nil)
	s.Counts.Plans++
	if s.Predicates.Filters() {
		on.Fits = s.fits(r, n)
	}
	plan := s.Costs.Planner.Plan(s.Now, s.Costs.Plans[s.trigger], s.costs.askOf(r), on)
	s.Costs.Remaining -= 1 + s.Costs.stepsTaken()
	at := groupPlace{Ask: r, Node: n, Plan: &plan}
	for i := range plan.Victims {
		for _, b := range plan.Victims[i].Budgets {
			name := on.Budgets[b].Name
			if at.spends = append(at.spends, name); s.budget[name] == nil {
				s.budget[name] = &budgetUse{allowed: max(on.Budgets[b].Allowed, 0)}
			}
		}
	}
	return at
}

// fits is the question whether an ask may run on a node beside those of its group, without some
// allocations.
func (s *groupSearch) fits(r *ledger.Request, n *ledger.Node) func([]string) error {
	return func(removed []string) error {
		var others []api.AllocationKey
		if at := s.taken[n]; at != nil && s.Options.Simulate != nil {
			others = at.asks
		}
		return s.ask(r, n, others, removed)
	}
}

// take takes the room of a place.
func (s *groupSearch) take(r *ledger.Request, p groupPlace) {
	at := s.taken[p.Node]
	if at == nil {
		at = &takenRoom{}
		s.taken[p.Node] = at
	}
	at.used.Add(r.Amounts)
	at.asks = append(at.asks, r.Key)
	s.found.places = append(s.found.places, p)
	s.ended = append(s.ended, p.Plan.Victims...)
	s.anyway.add(p.Plan.Victims)
	for _, name := range p.spends {
		s.budget[name].ends++
	}
	s.again(p.Node)
	ends, groups := map[minimum]int{}, map[minimum]*ledger.Group{}
	for i := range p.Plan.Victims {
		victim := s.Requests[api.AllocationKey(p.Plan.Victims[i].Key)]
		s.again(victim.RunsOn)
		if m := minimumOf(victim); m.of != "" {
			ends[m]++
			groups[m] = victim.StartsWith
		}
	}
	for m, n := range ends {
		s.againBeside(groups[m], m, n)
	}
}

// againBeside has it worked out anew what room costs on nodes with members of a group of which so many more end, unless that is the
// same there: the group stopped for others before, or more may end yet than run on any node.
func (s *groupSearch) againBeside(g *ledger.Group, m minimum, ends int) {
	after := s.anyway.of[m.of]
	if !m.whole && (!m.stopsWithout(math.MaxInt32) || m.stopsWithout(after-ends) || !m.stopsWithout(after+s.mostOnNode(g))) {
		return
	}
	for _, other := range g.Staying() {
		s.again(other.RunsOn)
	}
}

// mostOnNode is the most members of a group that run on one node.
func (s *groupSearch) mostOnNode(g *ledger.Group) int {
	if most, known := s.together[g]; known {
		return most
	}
	on, most := map[*ledger.Node]int{}, 0
	for r := range g.Running {
		on[r.RunsOn]++
		most = max(most, on[r.RunsOn])
	}
	s.together[g] = most
	return most
}

// again has it worked out anew what room on a node costs.
func (s *groupSearch) again(n *ledger.Node) {
	if int(n.Slot) < len(s.costs.Status) && s.costs.Status[n.Slot] != absent {
		s.costs.put(NodeCost{Node: n, Cost: leastOfAll, Status: notEvaluated})
	}
}

// begin has the input of a node begin with what was chosen before.
func (s *groupSearch) begin(n *ledger.Node, on *preemptor.Node) {
	s.Costs.Input.anyway = &s.anyway
	if at := s.taken[n]; at != nil {
		on.Free = on.Free.Minus(at.used)
	}
}

// adjust has the input of a node count what was chosen on others.
func (s *groupSearch) adjust(c *NodeCosts, on *preemptor.Node) {
	for i, q := range c.guarded {
		if number := c.numbers[i]; number > 0 && len(on.Floors) > 0 {
			f := &on.Floors[number-1]
			f.Surplus = f.Surplus.Minus(s.endedIn(q))
		}
	}
	for i := range on.Budgets {
		if use := s.budget[on.Budgets[i].Name]; use != nil {
			on.Budgets[i].Allowed -= use.ends
		}
	}
	for i := range on.On {
		c := &on.On[i]
		c.Protected = c.Protected || s.only != nil && !s.only[c.Key]
		if c.Group == 0 {
			continue
		}
		isOfIts := s.Requests[api.AllocationKey(c.Key)].StartsWith == s.asks[0].StartsWith // no member ends for another
		c.Protected = c.Protected || c.Vital && s.spares(on.Groups[c.Group-1].Name) || isOfIts
	}
}

// endedIn is what victims hold in a queue and below.
func (s *groupSearch) endedIn(q *ledger.Queue) (sum resources.Amounts) {
	for i := range s.ended {
		if r := s.Requests[api.AllocationKey(s.ended[i].Key)]; r.App != nil && r.App.Queue.Within(q) {
			sum.Add(r.Amounts)
		}
	}
	return sum
}
