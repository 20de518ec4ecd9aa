package core_test

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/internal/seeds"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// inOrder is the order of asks; no two are of the same age.
func inOrder(a, b *api.AskView) int {
	return cmp.Or(cmp.Compare(b.Priority, a.Priority), a.Created.Compare(b.Created))
}

// mayTake reports whether an ask may take the place of an allocation by priority. An
// allocation that has taken the place of an equal keeps it against equals.
func (w *world) mayTake(ask *api.AskView, other *api.Allocation) bool {
	return ask.Priority > other.Priority || ask.Priority == other.Priority && w.priority == api.EqualToo && !other.Settled
}

// importance orders allocations, the most important first: by priority, the
// class of victim, how well they are provided for, age and key.
func (w *world) importance(a, b *api.Allocation) int {
	return cmp.Or(
		cmp.Compare(b.Priority, a.Priority), cmp.Compare(classRank(b), classRank(a)), cmp.Compare(w.qosRank(b), w.qosRank(a)),
		a.Created.Compare(b.Created), -strings.Compare(string(a.Key), string(b.Key)),
	)
}

func classRank(a *api.Allocation) int {
	switch {
	case a.Preemptable.Stated && !a.Preemptable.AllowSelf:
		return 2
	case a.Originator:
		return 1
	}
	return 0
}

func (w *world) qosRank(a *api.Allocation) int {
	if w.byQoS {
		return slices.Index([]string{"BestEffort", "Burstable", "Guaranteed"}, a.Tags[api.TagQoS])
	}
	return 0
}

// A victimCost is what the room on a node costs: the highest priority of a victim,
// the sum of the priorities, each counted up from zero, the number of victims,
// and how old the oldest of the highest is. No victim costs least.
type victimCost [4]int64

// assess evicts all allocations below the ask from a node, and from elsewhere for the
// quota, and lets the most important stay that are not needed.
func (w *world) assess(ask *api.AskView, n *api.NodeView) (gone []*api.Allocation, cost victimCost, ok bool) {
	if !n.Schedulable || len(n.Reservations) > 0 || !ask.Amounts.FitsIn(n.Capacity) {
		return nil, cost, false
	}
	for _, l := range n.Evictions {
		if l.Overdue && l.BlocksUntil.After(w.now) {
			return nil, cost, false
		}
	}
	need := oracle{world: w, ask: ask}.need(n)
	frees := func(a *api.Allocation) bool {
		return slices.ContainsFunc(w.upFrom(w.queueOf(ask.Allocation)), func(q *api.QueueView) bool {
			return w.isWithin(a, q) && !w.holds(q, ask, true).IsZero()
		})
	}
	for _, other := range w.view.Nodes {
		for _, a := range other.Allocations {
			if a.Application != "" && evictionOn(other, a.Key) == nil && a.Required == "" && w.mayTake(ask, a) && (other == n || frees(a)) {
				gone = append(gone, a)
			}
		}
	}
	enough := func() bool {
		var here resources.Amounts
		for _, a := range gone {
			if a.Node == n.ID {
				here.Add(a.Amounts)
			}
		}
		return need.FitsIn(here) && w.freesQuota(ask, gone)
	}
	if !enough() {
		return nil, cost, false
	}
	slices.SortFunc(gone, w.importance)
	for i := 0; i < len(gone); {
		was := gone
		gone = slices.Delete(slices.Clone(gone), i, i+1)
		if !enough() {
			gone = was
			i++
		}
	}
	return gone, victimCostOf(gone), true
}

func victimCostOf(gone []*api.Allocation) victimCost {
	cost := victimCost{math.MinInt64, math.MinInt64, math.MinInt64, math.MinInt64}
	for i, a := range gone {
		if i == 0 {
			cost = victimCost{int64(a.Priority), 0, int64(len(gone)), math.MinInt64}
		}
		if int64(a.Priority) == cost[0] {
			cost[3] = max(cost[3], -a.Created.UnixNano())
		}
		cost[1] += int64(a.Priority) + 1<<31
	}
	return cost
}

// attempt is the nomination that costs least, the first of them by the name of the
// node. It depends on quota if quota is short now.
func (w *world) attempt(ask *api.AskView) (best action, cost victimCost, found, byQuota bool) {
	// An equal that keeps its place is no victim, but there are attempts then: evictions that
	// run already may do.
	lower := slices.ContainsFunc(w.view.Nodes, func(n *api.NodeView) bool {
		return slices.ContainsFunc(n.Allocations, func(a *api.Allocation) bool {
			return ask.Priority > a.Priority || ask.Priority == a.Priority && w.priority == api.EqualToo
		})
	})
	spares := ask.Preemptable.Stated && !ask.Preemptable.AllowOthers
	if w.disabled || w.priority == api.PriorityOff || ask.Nominated != "" || spares || !lower {
		return action{}, cost, false, false
	}
	byQuota = len(w.short(ask)) > 0
	for _, n := range w.view.Nodes {
		gone, price, ok := w.assess(ask, n)
		if ok && (!found || slices.Compare(price[:], cost[:]) < 0) {
			best = action{what: "nominate", key: ask.Key, node: n.ID}
			for _, a := range gone {
				best.victims = append(best.victims, a.Key)
			}
			slices.Sort(best.victims)
			cost, found = price, true
		}
	}
	return best, cost, found, byQuota
}

// decide is what becomes of the first ask in order for which anything may be
// done, those not counted that are to be left out.
func (w *world) decide(leftOut func(api.AskView) bool) (d action, byQuota, found bool) {
	try := func(_ *api.QueueView, ask api.AskView) bool {
		if leftOut(ask) {
			return false
		}
		if len(w.short(&ask)) == 0 {
			node, ok := w.best(func(n *api.NodeView) bool {
				return ask.Amounts.FitsIn(w.roomFor(n, math.MinInt32))
			})
			if !ok {
				node, ok = w.overruled(&ask)
			}
			if ok {
				d, byQuota = action{what: "place", key: ask.Key, node: node}, false
				return true
			}
		}
		var ok bool
		d, _, ok, byQuota = w.attempt(&ask)
		return ok
	}
	found = w.first(try, try)
	return d, byQuota, found
}

// overruled is the node that has room for an ask if it takes what is kept for
// lower ones: its own, or the first by name.
func (w *world) overruled(ask *api.AskView) (api.NodeID, bool) {
	if own := w.nodes[ask.Nominated]; own != nil && own.Schedulable && ask.Amounts.FitsIn(w.roomFor(own, ask.Priority).Plus(ask.Amounts)) {
		return own.ID, true
	}
	for _, n := range w.view.Nodes {
		if n.Schedulable && len(n.Reservations) == 0 && ask.Amounts.FitsIn(w.roomFor(n, ask.Priority)) {
			return n.ID, true
		}
	}
	return "", false
}

// keep is what becomes of the asks that are nominated to a node, in order.
func (w *world) keep(id api.NodeID) (actions []action) {
	n := w.nodes[id]
	var kept resources.Amounts
	for _, key := range slices.Clone(n.Nominated) {
		ask := w.ask(key)
		free, short := n.Available.Minus(kept), w.short(ask)
		d := action{what: "clear", key: key}
		switch {
		case len(short) == 0 && n.Schedulable && ask.Amounts.FitsIn(free):
			d.what, d.node = "place", n.ID
		case !ask.Amounts.FitsIn(free.Plus(releasingOn(n))):
		case len(short) > 0 && !w.quotaToFree(ask).IsZero():
		default:
			kept.Add(ask.Amounts)
			continue
		}
		w.do(d)
		actions = append(actions, d)
	}
	return actions
}

// followBound goes through what becomes of nominated asks on their nodes, and of
// those that come before them. It returns what is left of the actions, and says
// whether so much was done that the call ends.
func (w *world) followBound(actions []action) (rest []action, ended bool) {
	for ; len(actions) > 0; actions = actions[1:] {
		d := actions[0]
		ask := w.ask(d.key)
		if ask == nil {
			break
		}
		var own []action
		if ask.Nominated != "" {
			own = w.copied().keep(ask.Nominated)
		}
		due := slices.ContainsFunc(own, func(o action) bool { return o.String() == d.String() })
		if !due && !w.comesFirst(d) {
			break
		}
		w.do(d)
		ended = ended || d.what != "clear"
	}
	return actions, ended
}

func (w *world) copied() *world { return worldOf(w.view, w.naive) }

// follow checks the actions of one call of Schedule that ends after a placement
// or an attempt. Nothing need be done yet if there is more to do.
func (w *world) follow(actions []action, more bool) error {
	actions, ended := w.followBound(actions)
	if ended {
		return noneLeft(actions)
	}
	if len(actions) == 0 && more {
		return nil // an attempt that failed
	}
	for _, n := range w.view.Nodes {
		if still := w.copied().keep(n.ID); len(still) > 0 {
			return fmt.Errorf("nothing is done for the asks nominated to %s: should %v", n.ID, still)
		}
	}
	var late []api.AllocationKey
	for {
		want, byQuota, found := w.decide(func(ask api.AskView) bool { return slices.Contains(late, ask.Key) })
		waiting := byQuota || want.what == "nominate" && !releasingOn(w.nodes[want.node]).IsZero()
		switch {
		case !found:
			return noneLeft(actions)
		case waiting && (len(actions) == 0 || actions[0].key != want.key):
			late = append(late, want.key) // its attempt is repeated somewhat later, or when the evictions have ended
		case len(actions) == 0:
			return fmt.Errorf("%v was not done", want)
		case byQuota:
			return cmp.Or(w.asGood(actions[0], want), w.displaces(actions[0], actions[1:]))
		case actions[0].String() != want.String():
			return fmt.Errorf("%v; should %v", actions[0], want)
		default:
			return w.displaces(actions[0], actions[1:])
		}
	}
}

// comesFirst reports whether an action is for the first ask in order of those that
// fit on a node and are more important than one that is nominated there.
func (w *world) comesFirst(d action) bool {
	return d.what != "clear" && slices.ContainsFunc(w.view.Nodes, func(n *api.NodeView) bool {
		if len(n.Nominated) == 0 || !n.Schedulable {
			return false
		}
		lowest := w.ask(n.Nominated[len(n.Nominated)-1])
		want, _, _ := w.decide(func(ask api.AskView) bool {
			return ask.Priority <= lowest.Priority || !ask.Amounts.FitsIn(w.roomFor(n, ask.Priority))
		})
		return want.String() == d.String()
	})
}

// displaces does an action, after which only nominations end whose room or quota is lost
// because of it.
func (w *world) displaces(d action, rest []action) error {
	w.do(d)
	for len(rest) > 0 {
		ask := w.ask(rest[0].key)
		if rest[0].what != "clear" || ask == nil || ask.Nominated == "" {
			break
		}
		lost := w.copied().keep(ask.Nominated)
		if !slices.ContainsFunc(lost, func(o action) bool { return o.String() == rest[0].String() }) {
			break
		}
		w.do(rest[0])
		rest = rest[1:]
	}
	return noneLeft(rest)
}

// noneLeft returns an error if there are actions that were not expected.
func noneLeft(actions []action) error {
	if len(actions) == 0 {
		return nil
	}
	return fmt.Errorf("%v should not be done", actions)
}

// asGood checks a nomination that frees quota: the victims are those of its
// node, and none of lower priorities would do anywhere.
func (w *world) asGood(got, want action) error {
	ask := w.ask(got.key)
	gone, cost, ok := w.assess(ask, w.nodes[got.node])
	var keys []api.AllocationKey
	for _, a := range gone {
		keys = append(keys, a.Key)
	}
	slices.Sort(keys)
	_, least, _, _ := w.attempt(ask)
	if !ok || !slices.Equal(keys, got.victims) || cost[0] != least[0] {
		return fmt.Errorf("%v costs %v; should %v, which costs %v", got, cost, want, least)
	}
	return nil
}

// TestAttemptsLikeTheNaiveTwin compares every placement, and every nomination with
// its victims, with what trying everything everywhere gives, where only
// priorities count between the queues. The twin knows nothing of asks that wait behind, for which
// another node is the better one in one of some five hundred histories: so it plays the same ones.
func TestAttemptsLikeTheNaiveTwin(t *testing.T) {
	victims, done := 0, map[string]int{}
	for seed := range seeds.Part(t, uint64(240)) {
		h := newFlatHistory(rand.New(rand.NewPCG(seed, 2)))
		for i := range 100 {
			h.flatStep(i)
			for range 200 {
				w := worldOf(h.p.View(), naive{weights: map[resources.Kind]int64{0: 3, 1: 1}, packing: h.current.Nodes.Packing})
				w.priority, w.byQoS, w.disabled = h.current.Preemption.Priority, h.current.Preemption.ByQoS, h.current.Preemption.Disabled
				w.markOverdue(h.now, h.current.Preemption.VictimTimeout)
				fx, more := h.p.Schedule(h.now)
				w.promise(h.p.View())
				actions, err := actionsOf(fx)
				assert.NilError(t, err, "seed %d, step %d", seed, i)
				err = w.follow(actions, more)
				assert.NilError(t, err, "seed %d, step %d", seed, i)
				for _, d := range actions {
					done[d.what]++
				}
				if !more {
					break
				}
			}
			assert.NilError(t, h.p.Verify(), "seed %d, step %d", seed, i)
			assert.NilError(t, h.p.VerifyAttempts(), "seed %d, step %d", seed, i)
		}
		victims += int(h.p.View().Preempted.Victims.Total())
	}
	t.Logf("%v and %d victims compared", done, victims)
	assert.Assert(t, done["nominate"] > seeds.Part(t, 700) && done["place"] > seeds.Part(t, 2000) && done["clear"] > seeds.Part(t, 100) && victims > seeds.Part(t, 700))
}

// markOverdue notes which evictions did not end in time.
func (w *world) markOverdue(now time.Time, timeout time.Duration) {
	w.now = now
	for _, n := range w.view.Nodes {
		for i := range n.Evictions {
			l := &n.Evictions[i]
			if l.Overdue || l.Since.Add(timeout).After(now) {
				continue
			}
			l.Overdue, l.BlocksUntil = true, now.Add(timeout)
			if a := w.allocation(l.Key); a != nil {
				for _, q := range w.upFrom(w.queueOf(a)) {
					q.Releasing.Sub(a.Amounts)
				}
			}
		}
	}
}
