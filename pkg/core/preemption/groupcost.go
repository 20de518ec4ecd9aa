package preemption

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/core/ledger"
	"github.com/narwhal-scheduler/narwhal/pkg/core/preemptor"
	"github.com/narwhal-scheduler/narwhal/pkg/core/question"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// A groupCost is what room for asks that start together costs. It is compared as plans for one ask are, in the order of
// its trigger: by violations of budgets, the class of the worst victim and the highest priority, then by the groups that stop,
// the allocations that end or run in vain, and how long the victims ran.
type groupCost struct {
	Trigger    preemptor.Trigger
	Violations int
	Class      preemptor.Class
	Highest    int32
	Stops      []string // groups, by name
	Count      int      // of victims
	Lost       int      // members of groups that stop and are none
	Ran        time.Duration
}

// compare is below zero if the first costs less. Budgets that come later are compared after the priority.
func (c *groupCost) compare(other *groupCost, budgets preemptor.BudgetPolicy) int {
	first, then := cmp.Compare(c.Violations, other.Violations), 0
	if budgets == preemptor.StrictPriority {
		first, then = 0, first
	}
	class, highest := cmp.Compare(c.Class, other.Class), cmp.Compare(c.Highest, other.Highest)
	if c.Trigger == preemptor.Priority {
		class, highest = highest, class
	}
	return cmp.Or(first, class, highest, then,
		cmp.Compare(len(c.Stops), len(other.Stops)), cmp.Compare(c.Count+c.Lost, other.Count+other.Lost),
		cmp.Compare(c.Count, other.Count), cmp.Compare(c.Ran, other.Ran))
}

// String is the cost in words.
func (c *groupCost) String() string {
	if c.Count == 0 {
		return "nothing ends"
	}
	parts := []string{fmt.Sprintf("class %s, priority %d", c.Class, c.Highest)}
	if c.Violations > 0 {
		parts = append([]string{fmt.Sprintf("%d violations of budgets", c.Violations)}, parts...)
	}
	if len(c.Stops) > 0 {
		parts = append(parts, "stops "+strings.Join(c.Stops, " and "))
	}
	return strings.Join(append(parts, fmt.Sprintf("%d allocations end", c.Count)), ", ")
}

// cost is what the victims of a search cost.
func (s *groupSearch) cost() groupCost {
	c := groupCost{Trigger: s.trigger, Highest: api.PriorityNone}
	for _, b := range s.budget {
		c.Violations += max(b.ends-b.allowed, 0)
	}
	ends := map[minimum]int{}
	for i := range s.ended {
		v := &s.ended[i]
		r := s.Requests[api.AllocationKey(v.Key)]
		c.Class, c.Highest, c.Count = max(c.Class, v.Class), max(c.Highest, v.Priority), c.Count+1
		c.Ran += s.Now.Sub(v.Created)
		ends[minimumOf(r)]++
	}
	for m, n := range ends {
		if m.stopsWithout(n) {
			c.Stops = append(c.Stops, m.of)
			c.Lost += m.stay - n
		}
	}
	slices.Sort(c.Stops)
	return c
}

// A victimOf is a victim and its node.
type victimOf struct {
	*preemptor.Victim
	node *ledger.Node
}

// unitsEnded are the victims, those that end together as one, the most important first.
func (s *groupSearch) unitsEnded() (list [][]victimOf) {
	at := map[string]int{}
	for i := range s.ended {
		v := victimOf{&s.ended[i], s.runsOn(&s.ended[i])}
		if i, known := at[v.Unit]; known && v.Unit != "" {
			list[i] = append(list[i], v)
			continue
		}
		at[v.Unit] = len(list)
		list = append(list, []victimOf{v})
	}
	slices.SortStableFunc(list, func(a, b []victimOf) int {
		class, priority := cmp.Compare(b[0].Class, a[0].Class), cmp.Compare(b[0].Priority, a[0].Priority)
		if s.trigger == preemptor.Priority {
			class, priority = priority, class
		}
		return cmp.Or(class, priority, a[0].Created.Compare(b[0].Created))
	})
	return list
}

// giveBack has all victims stay without which all asks fit too, the most important first. It is called once all
// are placed: what is freed for one may be enough for another.
func (s *groupSearch) giveBack() {
	g := givenBack{groupSearch: s, room: map[*ledger.Node]resources.Amounts{}, stays: map[string]bool{}}
	for n, at := range s.taken {
		g.room[n] = at.room(s, n)
	}
	units := s.unitsEnded()
	for _, unit := range units {
		for _, v := range unit {
			if room, is := g.room[v.node]; is {
				g.room[v.node] = room.Plus(v.Amounts)
			}
		}
	}
	for _, unit := range units {
		g.consider(unit)
	}
	isGivenBack := func(v preemptor.Victim) bool { return g.stays[v.Key] }
	s.ended = slices.DeleteFunc(s.ended, isGivenBack)
	for i := range s.found.places {
		plan := s.found.places[i].Plan
		plan.Victims = slices.DeleteFunc(plan.Victims, isGivenBack)
	}
}

// A givenBack is the victims of a search that may stay after all.
type givenBack struct {
	*groupSearch
	room  map[*ledger.Node]resources.Amounts // what there is where asks were placed
	stays map[string]bool
}

// consider has some victims stay that end together, if all asks fit all the same.
func (g *givenBack) consider(unit []victimOf) {
	var nodes []*ledger.Node
	left := map[*ledger.Node]resources.Amounts{}
	for _, v := range unit {
		room, is := g.room[v.node]
		if !is {
			continue
		}
		if left[v.node] == nil {
			left[v.node], nodes = room, append(nodes, v.node)
		}
		left[v.node] = left[v.node].Minus(v.Amounts)
		if !g.taken[v.node].used.FitsIn(left[v.node]) {
			return
		}
	}
	for _, v := range unit {
		g.stays[v.Key] = true
	}
	for _, n := range nodes {
		if g.agrees(n, g.removed(n)) {
			continue
		}
		for _, v := range unit {
			delete(g.stays, v.Key)
		}
		return
	}
	for _, n := range nodes {
		g.room[n] = left[n]
	}
}

// removed are the allocations of a node that end.
func (g *givenBack) removed(n *ledger.Node) []string {
	if !g.Predicates.Filters() {
		return nil
	}
	removed := n.OwnKeys((*ledger.Request).Releasing)
	for i := range g.ended {
		if v := &g.ended[i]; !g.stays[v.Key] && g.runsOn(v) == n {
			removed = append(removed, v.Key)
		}
	}
	return removed
}

// room is what is free on a node for the least important of the asks there, or ends anyhow.
func (t *takenRoom) room(s *groupSearch, n *ledger.Node) resources.Amounts {
	least := s.Requests[t.asks[0]].Importance
	for _, key := range t.asks {
		least = min(least, s.Requests[key].Importance)
	}
	return n.RoomToMake(least, s.trigger).Plus(n.Releasing.Amounts)
}

// agrees reports whether the resource manager agrees to all asks on a node without some allocations.
func (s *groupSearch) agrees(n *ledger.Node, removed []string) bool {
	if !s.Predicates.Filters() {
		return true
	}
	at := s.taken[n]
	for i, key := range at.asks {
		others := slices.Delete(slices.Clone(at.asks), i, i+1)
		if s.Options.Simulate == nil {
			others = nil
		}
		if s.ask(s.Requests[key], n, others, removed) != nil {
			return false
		}
	}
	return true
}

// ask asks the resource manager about one ask beside others.
func (s *groupSearch) ask(r *ledger.Request, n *ledger.Node, others []api.AllocationKey, removed []string) error {
	s.Costs.Remaining -= evaluationsPerQuestion
	if len(others) > 0 {
		return s.Predicates.Beside(r, n, slices.Clone(others), question.KeysOf(removed))
	}
	return s.Predicates.Simulate(r, n, question.KeysOf(removed))
}

// evaluationsPerQuestion is how many nodes are looked at in the time of a question to the resource manager.
const evaluationsPerQuestion = 4

// runsOn is the node of a victim.
func (s *groupSearch) runsOn(v *preemptor.Victim) *ledger.Node {
	return s.Requests[api.AllocationKey(v.Key)].RunsOn
}
