package explain

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// Where what is free lies in pieces, a few allocations that run elsewhere make room for an ask, or for all that must start with it, and no work
// is given up for another. Which ones is guessed from amounts, for one set of nodes after the other; the best guesses are tried on a
// copy, with the same rules as everything else, and what is not needed is left out.

// The bounds of moves.
const (
	movesMax     = 8   // allocations that move
	movesForMax  = 100 // asks that start together
	movesSetsMax = 3   // sets of nodes that are tried on a copy
)

// A Move is an allocation that would end, and where what takes its place would run.
type Move struct {
	Key         api.AllocationKey
	Application api.ApplicationID
	From, To    api.NodeID
}

// moving is what may move off some nodes, so that asks run there that start together.
type moving struct {
	domain string // in which the nodes are; empty for none
	hosts  []api.NodeID
	of     []*api.Allocation
}

// again is added to the key of an allocation for what takes its place.
const again = " again"

// FindMoves finds what may run elsewhere so that the ask of an answer runs, as Try does, and nothing else.
func (a *Answer) FindMoves(ctx context.Context, t Trial) {
	if a.ask != nil && a.ask.Nominated == "" {
		a.findMoves(ctx, t, &questioner{ask: a.ask, mayRun: t.MayRun, free: t.Free, told: map[api.NodeID]string{}, alone: a.alone()})
	}
}

// findMoves finds moves after which the ask runs, as was tried on a copy; none if there is no such thing, or the context is over. It takes time
// linear in the asks times the allocations, and for each try in the size of the view.
func (a *Answer) findMoves(ctx context.Context, t Trial, q *questioner) {
	asks := a.mustStart()
	if lacksRoom := a.Reason == api.NoNodeFits || a.Reason == api.AwaitsGang || a.Reason == api.GroupBelow; !lacksRoom || len(asks) == 0 || len(asks) > movesForMax {
		return
	}
	guesses := a.guessMoves(t, q, asks)
	for _, guess := range guesses[:min(len(guesses), movesSetsMax)] {
		moves := a.tryMoves(ctx, t, guess, q)
		if moves == nil {
			continue
		}
		for i := len(guess.of) - 1; i >= 0 && len(guess.of) > 1; i-- {
			fewer := guess
			fewer.of = slices.Delete(slices.Clone(guess.of), i, i+1)
			if enough := a.tryMoves(ctx, t, fewer, q); enough != nil {
				guess, moves = fewer, enough
			}
		}
		a.Moves, a.Opens = moves, guess.domain
		return
	}
}

// mustStart are the asks that start together or not at all; none where that cannot be told from
// amounts: of gangs with placeholders, of subgroups, and of asks that are bound to a node.
func (a *Answer) mustStart() []*api.AskView {
	group, known := a.view.Groups[GroupOf(a.Allocation)]
	switch {
	case a.ask.Required != "" || a.ask.TaskGroup != "" || len(group.Subgroups) > 0:
		return nil
	case !known || a.ask.Tags[api.TagQuorum] == "":
		return []*api.AskView{a.ask}
	}
	asks := a.together()
	return asks[:min(len(asks), missing(&group))]
}

// guessMoves are guesses by amounts, those with the fewest moves first.
func (a *Answer) guessMoves(t Trial, q *questioner, asks []*api.AskView) (list []moving) {
	said := refusalsOf(a.ask, q.told)
	sets := map[string][]*api.NodeView{}
	for _, n := range a.view.Nodes {
		set := string(n.ID) // an ask by itself needs one node
		if len(asks) > 1 || len(a.bounds) > 0 {
			set = a.domainOf(n)
		}
		if n.Schedulable && a.ask.Amounts.FitsIn(n.Capacity) && !keeps(n, asks) && said.of(n) == "" && !a.isOutside(n) {
			sets[set] = append(sets[set], n)
		}
	}
	others := &elsewhere{a.view.Nodes, asks, t.Stays, map[string][]api.NodeID{}}
	for set, nodes := range sets {
		if guess, possible := guessOn(nodes, asks, others); possible && len(guess.of) > 0 {
			if len(a.bounds) > 0 {
				guess.domain = set
			}
			list = append(list, guess)
		}
	}
	slices.SortFunc(list, func(x, y moving) int {
		return cmp.Or(cmp.Compare(len(x.of), len(y.of)), slices.Compare(x.hosts, y.hosts))
	})
	return list
}

// An elsewhere knows which amounts have room on which nodes, of each the first two.
type elsewhere struct {
	nodes []*api.NodeView
	asks  []*api.AskView // that are to run
	stays func(api.AllocationKey) bool
	known map[string][]api.NodeID
}

// keeps reports whether a node keeps room for others than some asks.
func keeps(n *api.NodeView, asks []*api.AskView) bool {
	isOther := func(key api.AllocationKey) bool {
		return !slices.ContainsFunc(asks, func(ask *api.AskView) bool { return ask.Key == key })
	}
	return slices.ContainsFunc(n.Nominated, isOther) || slices.ContainsFunc(n.Reservations, func(r api.Reservation) bool { return isOther(r.Key) })
}

// has reports whether there is room for an allocation on a node that is not its own.
func (e *elsewhere) has(m *api.Allocation) bool {
	key := fmt.Sprint(m.Amounts)
	found, known := e.known[key]
	if !known {
		for _, n := range e.nodes {
			if n.Schedulable && m.Amounts.FitsIn(n.Available) && !keeps(n, e.asks) {
				if found = append(found, n.ID); len(found) == 2 {
					break
				}
			}
		}
		e.known[key] = found
	}
	return slices.ContainsFunc(found, func(id api.NodeID) bool { return id != m.Node })
}

// guessOn guesses what moves off some nodes for asks: each goes where the fewest have to.
func guessOn(nodes []*api.NodeView, asks []*api.AskView, others *elsewhere) (moving, bool) {
	guess, free := moving{}, map[api.NodeID]resources.Amounts{}
	stays := map[api.NodeID][]*api.Allocation{}
	for _, n := range nodes {
		free[n.ID], stays[n.ID] = n.Available, movable(n, others)
	}
	for _, ask := range asks {
		var best api.NodeID
		var leaving []*api.Allocation
		for _, n := range nodes {
			leave, fits := fewest(ask.Amounts, free[n.ID], stays[n.ID])
			if fits && (best == "" || len(leave) < len(leaving)) {
				best, leaving = n.ID, leave
			}
		}
		if guess.of = append(guess.of, leaving...); best == "" || len(guess.of) > movesMax {
			return moving{}, false
		}
		left := free[best].Minus(ask.Amounts)
		for _, m := range leaving {
			left = left.Plus(m.Amounts)
			stays[best] = slices.DeleteFunc(stays[best], func(other *api.Allocation) bool { return other == m })
		}
		if free[best] = left; !slices.Contains(guess.hosts, best) {
			guess.hosts = append(guess.hosts, best)
		}
	}
	return guess, true
}

// fewest are the allocations that leave a node so that an ask fits there: none, the smallest that is enough, or the largest ones.
func fewest(ask, free resources.Amounts, stays []*api.Allocation) (leave []*api.Allocation, fits bool) {
	if ask.FitsIn(free) {
		return nil, true
	}
	for _, m := range slices.Backward(stays) {
		if ask.FitsInSum(free, m.Amounts) {
			return []*api.Allocation{m}, true
		}
	}
	for _, m := range stays {
		free, leave = free.Plus(m.Amounts), append(leave, m)
		if ask.FitsIn(free) || len(leave) > movesMax {
			break
		}
	}
	return leave, ask.FitsIn(free)
}

// movable are the allocations of a node that have room elsewhere, the largest first. Those of groups and gangs, and those of which the policy
// says that they are not preempted, stay.
func movable(n *api.NodeView, others *elsewhere) (list []*api.Allocation) {
	for _, m := range n.Allocations {
		ending := slices.ContainsFunc(n.Evictions, func(e api.Eviction) bool { return e.Key == m.Key })
		stays := m.Preemptable.Stated && !m.Preemptable.AllowSelf || others.stays != nil && others.stays(m.Key)
		if !ending && !stays && m.Required == "" && m.Origin == api.Own && m.TaskGroup == "" && m.Tags[api.TagQuorum] == "" && others.has(m) {
			list = append(list, m)
		}
	}
	slices.SortStableFunc(list, func(x, y *api.Allocation) int {
		return resources.DominantShare(y.Amounts, n.Capacity, nil).Compare(resources.DominantShare(x.Amounts, n.Capacity, nil))
	})
	return list
}

// tryMoves has allocations run elsewhere, on a copy: their nodes take nothing new meanwhile, nor do those that keep room
// for others. It is where, if the ask runs then; else nil.
func (a *Answer) tryMoves(ctx context.Context, t Trial, m moving, q *questioner) (moves []Move) {
	left, now := make([]api.AllocationKey, len(m.of)), t.Now
	for i, of := range m.of {
		left[i] = of.Key
	}
	feasible := func(key api.AllocationKey, node api.NodeID, _ bool) error {
		switch {
		case t.Without != nil:
			return t.Without(api.AllocationKey(strings.TrimSuffix(string(key), again)), node, left)
		case key != a.ask.Key || slices.Contains(m.hosts, node): // it would be answered as if nothing had left
			return nil
		}
		if refusal, _ := q.about(node); refusal != "" {
			return fmt.Errorf("refused: %s", refusal)
		}
		return nil
	}
	r := a.onCopy(q, now, feasible)
	asks := a.together()
	for _, n := range a.view.Nodes {
		if keeps(n, asks) || slices.Contains(m.hosts, n.ID) {
			r.p.Apply(now, api.DrainNode{ID: n.ID})
		}
	}
	for _, of := range m.of {
		ask := *of
		ask.Key, ask.Node, ask.Placed, ask.Settled = of.Key+again, "", time.Time{}, false
		r.p.Apply(now, api.AddAllocation{Allocation: &ask})
		r.p.Apply(now, api.ReleaseAllocation{Application: of.Application, Key: of.Key})
	}
	if _, all := r.simulate(ctx, now, now); !all {
		return nil
	}
	for _, of := range m.of {
		to := r.placed[of.Key+again]
		if to == "" {
			return nil
		}
		moves = append(moves, Move{Key: of.Key, Application: of.Application, From: of.Node, To: to})
	}
	for _, id := range m.hosts {
		r.p.Apply(now, api.UndrainNode{ID: id})
	}
	if _, all := r.simulate(ctx, now, now); !all || a.ranOn(r) == "" {
		return nil
	}
	return moves
}

// moveCure is moves as what might be done, as far as that is known.
func (t Trial) moveCure(view *api.View, moves []Move, opens string) cure {
	return cure{words: t.moveWords(moves, opens), moves: true, played: moved(view, moves)}
}

// moved is what is done for moves: what runs ends, and runs elsewhere.
func moved(view *api.View, moves []Move) (commands []api.Command) {
	for _, m := range moves {
		n, _ := find(view.Nodes, m.From, func(n *api.NodeView) api.NodeID { return n.ID })
		for _, a := range n.Allocations {
			if a.Key == m.Key {
				there := *a
				there.Node = m.To
				commands = append(commands, api.ReleaseAllocation{Application: m.Application, Key: m.Key}, api.AddAllocation{Allocation: &there})
			}
		}
	}
	return commands
}

// movesNamed is how many moves a sentence names.
const movesNamed = 3

// moveWords are moves in words that follow "if".
func (t Trial) moveWords(moves []Move, opens string) string {
	var parts []string
	for _, m := range moves[:min(len(moves), movesNamed)] {
		parts = append(parts, fmt.Sprintf("%s moves from %s to %s", m.Key, m.From, m.To))
	}
	if more := len(moves) - len(parts); more > 0 {
		parts = append(parts, fmt.Sprintf("%d more move", more))
	}
	words := strings.Join(parts, " and ")
	if opens != "" {
		words += ", which opens " + opens
	}
	return words + t.unaskedMoves()
}

// unaskedMoves is what has to be added to moves about which the resource manager was not asked.
func (t Trial) unaskedMoves() string {
	if t.Free || t.Without != nil {
		return ""
	}
	return " and the resource manager, which was not asked, accepts that"
}
