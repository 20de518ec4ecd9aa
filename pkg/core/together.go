package core

import (
	"math"
	"slices"

	"github.com/narwhal-scheduler/narwhal/pkg/core/preemptor"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

const (
	// togetherSizesMax is of how many classes asks are planned for together: half of them the
	// largest, and half the smallest.
	togetherSizesMax = 64
	// roundsAbove is above how many classes amounts are rounded, so that more asks count.
	roundsAbove = 8
	// togetherAsksMax is how many asks of one class are planned for together.
	togetherAsksMax = 16
	// togetherNodesMax is on how many nodes: those where room for the first ask costs least.
	togetherNodesMax = 16
)

// planTogether plans for an ask and those that wait with it in its queue, where they differ
// in amounts or are few. The plan that it makes is for the ask alone: on the node, and with
// those victims, with which all are served with the fewest. It is nil if that is not found.
// The outcome is waits unless the attempt has to go on later.
func (a *attempts) planTogether(c *nodeCosts, r *request) (*candidateNode, outcome) {
	if a.options.SelectVictims != nil || r.class.alone >= aloneMax {
		return nil, waits
	}
	like := r.application.queue.waitSet.alike(a.like[:0], r.class, togetherSizesMax)
	a.like = like
	many := len(like) == 1 && like[0].asks > togetherAsksMax+1 // equal ones: what room costs for each tells enough
	if many || !a.mayShare(c, r, like) || !a.gather(r, like, c.trigger) {
		return nil, waits
	}
	ok := true
	if c.counts[sufficient] == 0 {
		var best *nodeCost
		if best, ok = a.costs.best(c); ok && best == nil {
			return nil, waits // no room can be made, so nothing else is looked at
		}
	}
	var nodes []*node
	if ok {
		nodes, ok = a.nodesTogether(r, like, c.trigger)
	}
	if !ok {
		return nil, busy
	}
	unowed := a.costs.unowed(c)
	for _, n := range nodes {
		a.costs.together.Add(a.costs.nodeInput(c, n, nil), unowed)
	}
	at, shared, found := a.costs.together.Plan()
	if a.costs.left -= 1 + a.costs.together.Work()/stepsPerEvaluation; !found {
		return nil, waits
	}
	n := nodes[at]
	if a.predicates.any() && n.placedIn == a.batch {
		return nil, flush
	}
	planned := a.dryRun(c, r, n, dryRunOf{shared: &shared})
	switch {
	case a.predicates.paused:
		return nil, paused
	case !planned.plan.Cost.Feasible(), len(planned.plan.Victims) > 0 && planned.plan.Together.Asks == 0:
		return nil, waits
	}
	return planned, waits
}

// nodesTogether are the nodes that are planned for: half of them where victims are worth most
// if all asks were as large as the first one, and then those where they are if all were as
// small as the smallest. It is false if what room costs there has to be worked out later.
func (a *attempts) nodesTogether(r *request, like []*leafClass, trigger preemptor.Trigger) (nodes []*node, ok bool) {
	smallest := like[len(like)-1].groups[0].first()
	for _, of := range []struct {
		ask  *request
		most int
	}{{r, togetherNodesMax / 2}, {smallest, togetherNodesMax}} {
		key := a.costs.keyOf(of.ask, trigger)
		key.together = true
		if nodes, ok = a.appendBest(nodes, a.costs.of(key, a.equivalents(of.ask, like)), of.most, r.application.queue); !ok {
			return nil, false
		}
	}
	return nodes, true
}

// appendBest appends the nodes where room costs least until there are enough.
func (a *attempts) appendBest(nodes []*node, c *nodeCosts, most int, leaf *queue) ([]*node, bool) {
	var taken []nodeCost
	defer func() {
		for _, t := range taken {
			c.put(t)
		}
	}()
	for len(nodes) < most {
		next, ok := a.costs.best(c)
		if !ok {
			return nil, false
		}
		if next == nil {
			break
		}
		taken = append(taken, *next)
		n := next.node
		c.drop(n)
		if !slices.Contains(nodes, n) && !a.predicates.attempt.hopelessNow(n, failedPlan{leaf, c.trigger}) {
			nodes = append(nodes, n)
		}
	}
	return nodes, true
}

// equivalents is how many asks as large as one those that wait with it come to.
func (a *attempts) equivalents(r *request, like []*leafClass) int {
	asks := int64(preemptor.AsksMax)
	for i, asked := range r.Amounts {
		if asked <= 0 {
			continue
		}
		kind, sum := resources.Kind(i), int64(0)
		for _, leaf := range like {
			sum = resources.Total(sum, min(int64(leaf.asks), preemptor.AsksMax)*min(leaf.class.amounts.Of(kind), math.MaxInt64/preemptor.AsksMax))
		}
		asks = min(asks, min(sum, a.owed.Of(kind))/asked)
	}
	return max(int(asks), 1)
}

// unowed are the kinds that nothing may be freed of by a guarantee for more than one ask: those
// that no guarantee of the queues names.
func (p *costCache) unowed(c *nodeCosts) (kinds []resources.Kind) {
	for i, configured := range p.configured {
		if kind := resources.Kind(i); c.trigger == preemptor.Guarantee && configured > 0 && !c.isGuaranteed(kind) {
			kinds = append(kinds, kind)
		}
	}
	return kinds
}

// mayShare reports whether victims may serve more asks together than one by one, as far as
// the amounts of the largest allocations tell. If the ask needs no more victims, it may leave
// what ends already to others that do where it goes elsewhere.
func (a *attempts) mayShare(c *nodeCosts, r *request, like []*leafClass) bool {
	a.step = append(a.step[:0], r.Amounts...)
	for _, leaf := range like {
		stepBy(&a.step, leaf.class.amounts)
	}
	for i := range c.heap[:min(len(c.heap), togetherNodesMax)] {
		n := c.heap[i].node
		free, largest := n.roomToMake(r.class.importance, c.trigger), n.largestHeld()
		if !n.releasing.IsZero() && r.Amounts.FitsInSum(free, n.releasing.Amounts) {
			return true
		}
		for _, leaf := range like {
			if preemptor.MayShare(leaf.class.amounts, free, n.releasing.Amounts, largest, a.step) {
				return true
			}
		}
	}
	return false
}

// stepBy has a step divide what another ask needs as well.
func stepBy(step *resources.Amounts, amounts resources.Amounts) {
	for i := range max(len(*step), len(amounts)) {
		kind := resources.Kind(i)
		a, b := step.Of(kind), max(amounts.Of(kind), 0)
		for b != 0 {
			a, b = b, a%b
		}
		step.Set(kind, a)
	}
}

// A dryRunOf is what counts for a plan beside the ask and the node: quota that must be
// freed, or what is served with the ask.
type dryRunOf struct {
	quota  quotaNeed
	shared *preemptor.Shared
}

// gather puts together the asks that are planned for with one: those of its priority and
// constraints that may be served of its queue, the oldest first. It is false if there are
// none, or if all are equal and there are more.
func (a *attempts) gather(r *request, like []*leafClass, trigger preemptor.Trigger) bool {
	var asks []*request
	waiting := 0
	for _, leaf := range like {
		if leaf.active {
			asks, waiting = leaf.appendOldest(asks, r), waiting+leaf.asks
		}
	}
	slices.SortFunc(asks, inOrder)
	a.owed = owedTo(r, trigger, a.owed[:0])
	b, sum := &a.costs.together, r.Amounts.Clone()
	b.Begin(a.costs.plans[trigger], preemptor.Ask{Trigger: trigger, Amounts: r.Amounts, Priority: r.class.priority}, len(like) > roundsAbove)
	for _, other := range asks {
		sum.Add(other.Amounts)
		if !sum.Within(a.owed) || !b.Join(other.Amounts) {
			break
		}
	}
	return b.Asks() > 1 && (b.Sizes() > 1 || b.Asks() == waiting)
}

// appendOldest appends the oldest asks of a few groups of a class, but for one.
func (leaf *leafClass) appendOldest(asks []*request, but *request) []*request {
	from := len(asks)
	for _, g := range leaf.groups {
		for r := range g.all {
			if len(asks)-from >= togetherAsksMax {
				return asks
			}
			if r != but {
				asks = append(asks, r)
			}
		}
	}
	return asks
}
