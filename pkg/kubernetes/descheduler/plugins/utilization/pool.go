package utilization

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/framework"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/plugins/order"
	"github.com/narwhal-scheduler/narwhal/pkg/wording"
)

// costMax is the cost at which a pod is never evicted.
const costMax = 1<<31 - 1

// A pool is nodes with the same thresholds.
type pool struct {
	NodePool
	selector   labels.Selector // nil: all nodes
	condition  AnomalyCondition
	dimensions []dimension
	named      []int // all with thresholds: those of total, then those of production
	total      []int
	production []int
	weights    []int64
}

func newPool(of NodePool) (*pool, error) {
	p := &pool{NodePool: of, condition: of.AnomalyCondition.withDefaults()}
	if of.NodeSelector != nil {
		selector, err := metav1.LabelSelectorAsSelector(of.NodeSelector)
		if err != nil {
			return nil, err
		}
		p.selector = selector
	}
	p.dimensions, p.total = tracked(of.HighThresholds.names(), true)
	for _, name := range of.ProdHighThresholds.names() {
		p.production = append(p.production, len(p.dimensions))
		p.dimensions = append(p.dimensions, dimension{name: name, production: true})
	}
	p.named = slices.Concat(p.total, p.production)
	p.weights = make([]int64, len(p.dimensions))
	for _, i := range p.named {
		weight, given := of.ResourceWeights[p.dimensions[i].name]
		if !given && len(of.ResourceWeights) == 0 {
			weight = 1
		}
		p.weights[i] = weight
	}
	return p, nil
}

// A loadBalance is one call of LowNodeLoad for one pool.
type loadBalance struct {
	*load
	*cluster
	pool        *pool
	detectors   *detectors
	now         time.Time
	limits      lowLimits
	suspects    []*account // that have too much as soon as they are above the thresholds
	sources     []*account // of these, the ones above limits; nil before the first pass
	low         [3]*rooms  // with room, as total, production or both count
	touched     []*account // by moves, and not reviewed in low
	peaks, next []Percentage
}

// limitsFor are the thresholds for a mean.
func (b *loadBalance) limitsFor(sums []Percentage, nodes int64) lowLimits {
	p := b.pool
	limits := lowLimits{low: b.same(full), high: b.same(full)}
	for _, i := range p.named {
		low, high := p.LowThresholds, p.HighThresholds
		if p.dimensions[i].production {
			low, high = p.ProdLowThresholds, p.ProdHighThresholds
		}
		name := p.dimensions[i].name
		limits.low[i], limits.high[i] = low[name], high[name]
		if p.UseDeviationThresholds {
			mean := sums[i] / Percentage(max(nodes, 1))
			limits.low[i], limits.high[i] = max(0, mean-low[name]), min(full, mean+high[name])
		}
	}
	return limits
}

// balance observes all nodes once, and then moves pods.
func (b *loadBalance) balance() {
	b.sumUp()
	b.limits = b.limitsFor(b.sums, b.among)
	fresh := b.detectors.begin(b.now, b.keep)
	above := 0
	anyRoomy := slices.ContainsFunc(b.accounts, func(a *account) bool { return b.isLow(a, b.pool.named) })
	for _, a := range b.accounts {
		if !a.known {
			continue
		}
		d := b.detectors.of(a.node.Name, b.now)
		loaded := d.loaded
		if fresh {
			loaded = d.observe(b.now, a.over(b.limits.high, b.pool.named), b.pool.condition)
		}
		// Deviations change with each move. Where one observation is enough, it is made
		// again, as the next cycle would.
		if loaded || b.pool.condition.ConsecutiveAbnormalities == 1 {
			b.suspects = append(b.suspects, a)
		} else if a.over(b.limits.high, b.pool.named) {
			above++
		}
		// Without a node to go to, nothing changes, and no observation is forgotten.
		if anyRoomy && b.isLow(a, b.pool.named) {
			d.reset()
		}
	}
	if above > 0 && b.detectors.call == 1 { // later ones are no surprise
		b.run.Warn(fmt.Sprintf("%s above a high threshold, and loaded if that is so in %d cycles in a row: anomalyCondition.consecutiveAbnormalities",
			wording.Several(above, "node"), b.pool.condition.ConsecutiveAbnormalities))
	}
	b.run.Repeat(b.pass)
	for _, a := range b.accounts {
		if a.evicted > 0 && !a.over(b.limits.high, b.pool.named) {
			b.detectors.of(a.node.Name, b.now).reset()
		}
	}
}

// isLow says whether a node has room for more pods.
func (b *loadBalance) isLow(a *account, dimensions []int) bool {
	return a.known && !a.node.Spec.Unschedulable && !a.over(b.limits.low, dimensions)
}

// pass looks once at the nodes that have too much. No node that gets a pod has too much then, so
// as long as the thresholds stay it looks at those only that had too much before.
func (b *loadBalance) pass() {
	among := b.sources
	if limits := b.limitsFor(b.sums, b.among); among == nil || !limits.equal(b.limits) {
		among, b.limits = b.suspects, limits
		b.low, b.touched = [3]*rooms{}, nil
	}
	b.looks += len(among)
	b.sources = make([]*account, 0, len(b.sources))
	for _, a := range among {
		if a.over(b.limits.high, b.pool.named) {
			b.sources = append(b.sources, a)
		}
	}
	byTotal(b.sources, b.pool.weights, true)
	for _, from := range b.sources {
		b.relieve(from)
	}
}

// relieve moves pods away from a node until it is not loaded any more. Where it is
// loaded by pods in production alone, only such pods go.
func (b *loadBalance) relieve(from *account) {
	all, production := from.over(b.limits.high, b.pool.total), from.over(b.limits.high, b.pool.production)
	if !all && !production {
		return
	}
	concerned := b.concerned(all, production)
	if b.rooms.count == 0 || b.rooms.count <= b.args.NumberOfNodes {
		return
	}
	b.inTurn(b.candidates(from, all), func(by mover, pods []*v1.Pod) { b.give(by, from, pods, concerned) })
}

// give moves some of these pods away from a node until it is not loaded any more.
func (b *loadBalance) give(by mover, from *account, pods []*v1.Pod, concerned []int) {
	for _, pod := range pods {
		if b.run.Stopped() || !from.over(b.limits.high, concerned) {
			return
		}
		var got *account
		amounts, known := b.amounts(pod)
		reason := fmt.Sprintf("its node %s uses %s", from.node.Name, excess(from, b.cluster, b.limits.high))
		switch {
		case !known:
			b.run.Decline(pod, reason, unknownUse(pod))
		case !b.rooms.hold(amounts):
		case b.args.DryRun:
			b.run.Decline(pod, reason, errDryRun)
		case b.move(by, pod, amounts, reason, func(to *account) error {
			got = to
			return b.accepts(from, to, amounts)
		}):
			b.peaks = b.next
			b.touched = append(b.touched, from, got)
		}
	}
}

// concerned are the dimensions of which a node has too much. It makes those with room in
// all of them the nodes that may get pods.
func (b *loadBalance) concerned(all, production bool) []int {
	for _, r := range b.low {
		for _, a := range b.touched {
			r.review(a) // a node can be low no more, or be low now
		}
	}
	b.touched = nil
	var of []int
	which := -1
	if all {
		of, which = append(of, b.pool.total...), which+1
	}
	if production {
		of, which = append(of, b.pool.production...), which+2
	}
	if b.low[which] == nil {
		b.low[which] = newRooms(b.accounts, b.limits.high, func(a *account) bool { return b.isLow(a, of) })
	}
	b.rooms = b.low[which]
	return of
}

var errLoaded = errors.New("would be loaded")

// accepts says why a node should not get a pod.
func (b *loadBalance) accepts(from, to *account, amounts []int64) error {
	if !to.holds(amounts, b.limits.high) {
		return errLoaded
	}
	if !b.pool.UseDeviationThresholds {
		return nil
	}
	next, ok := b.staysNear(from, to, amounts, b.peaks, func(sums []Percentage, nodes int64) []Percentage {
		return b.limitsFor(sums, nodes).high
	})
	if !ok {
		return errFarAbove
	}
	b.next = next
	return nil
}

// candidates are the pods of a node that may go: the less important first, then those
// that cost less, then those that use more. Of equal ones those come first of whose workload fewer run on the
// node: schedulers spread the pods of a workload, so others find a place elsewhere also when less is
// requested of the node than of all others.
func (b *loadBalance) candidates(from *account, all bool) []*v1.Pod {
	pods := b.removable(b.handle, from, func(pod *v1.Pod) bool {
		return b.selects(pod) && (all || inProduction(pod)) && framework.EvictionCost(pod) < costMax
	})
	siblings := map[framework.Workload]int{}
	for _, pod := range b.run.PodsOn(from.node.Name) {
		if w, owned := framework.WorkloadOf(pod); owned {
			siblings[w]++
		}
	}
	uses, alike := make(map[*v1.Pod]int64, len(pods)), make(map[*v1.Pod]int, len(pods))
	for _, pod := range pods {
		amounts, _ := b.amounts(pod)
		one := account{all: from.all, used: amounts}
		uses[pod] = one.total(b.pool.weights)
		w, _ := framework.WorkloadOf(pod)
		alike[pod] = siblings[w]
	}
	// The order of the profile stays where all else is equal.
	slices.SortStableFunc(pods, func(x, y *v1.Pod) int {
		return cmp.Or(
			order.ByImportance(x, y),
			cmp.Compare(framework.DeletionCost(x), framework.DeletionCost(y)),
			cmp.Compare(framework.EvictionCost(x), framework.EvictionCost(y)),
			cmp.Compare(uses[y], uses[x]),
			cmp.Compare(alike[x], alike[y]),
		)
	})
	return pods
}
