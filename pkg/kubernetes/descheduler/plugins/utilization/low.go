package utilization

import (
	"context"
	"errors"
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/framework"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/plugins/eviction"
)

// LowName is the name of the plugin.
const LowName = "LowNodeUtilization"

// LowDefinition is LowNodeUtilization.
func LowDefinition() framework.Definition {
	return framework.Typed(framework.Definition{
		Name:   LowName,
		Points: []framework.Point{framework.Balance},
		Args:   func() any { return &LowArgs{} },
	}, validateLow, func(a *LowArgs, handle framework.Handle) (framework.Plugin, error) {
		return &low{args: a, handle: handle}, nil
	})
}

type low struct {
	args   *LowArgs
	handle framework.Handle
}

// Name implements framework.Plugin.
func (l *low) Name() string { return LowName }

// Repeats implements framework.Repeater. Where the evictions of a call are limited, it is called
// once in a cycle.
func (l *low) Repeats() bool {
	query, measured := l.args.MetricsUtilization.query()
	return l.args.EvictionLimits == nil && !(measured && query.Source == framework.Prometheus)
}

// Balance implements framework.BalancePlugin: pods go from nodes with too much to such
// that stay at or below the target with them.
func (l *low) Balance(ctx context.Context, nodes []*v1.Node) *framework.Status {
	run := eviction.Start(ctx, l.handle, LowName)
	query, measured := l.args.MetricsUtilization.query()
	dimensions, named := tracked(l.args.Thresholds.names(), query.Source != framework.Prometheus)
	c := newCluster(run, nodes, dimensions, named)
	if measured {
		usage, err := usageOf(ctx, l.handle, query)
		if err != nil {
			return &framework.Status{Err: err}
		}
		c.byUse(usage)
	} else {
		c.byRequests()
	}
	balance := &lowBalance{low: l, cluster: c}
	if query.Source == framework.Prometheus {
		balance.blind, balance.perNode = true, 1
	}
	if limits := l.args.EvictionLimits; limits != nil && limits.Node != nil {
		balance.perNode = int(min(*limits.Node, 1<<30))
		balance.none = *limits.Node == 0
	}
	run.Repeat(balance.pass)
	return run.Status()
}

// A lowBalance is one call of the plugin.
type lowBalance struct {
	*low
	*cluster
	blind   bool // it is not known what pods use
	perNode int  // most evictions from a node; zero is any number
	none    bool // no evictions at all
	limits  lowLimits
	// peaks are the greatest shares of the nodes that have got pods; next are those with
	// the move that is thought of.
	peaks, next []Percentage
}

// lowLimits are the thresholds of one pass.
type lowLimits struct {
	low, high []Percentage
}

func (l lowLimits) equal(other lowLimits) bool {
	return slices.Equal(l.low, other.low) && slices.Equal(l.high, other.high)
}

// pass looks at all nodes with too much once.
func (b *lowBalance) pass() {
	b.sumUp()
	b.limits = b.limitsFor(b.sums, b.among)
	var sources, roomy []*account
	for _, a := range b.accounts {
		switch {
		case !a.known:
			continue
		case a.over(b.limits.high, b.named):
			sources = append(sources, a)
		case !a.node.Spec.Unschedulable && !a.over(b.limits.low, b.named):
			roomy = append(roomy, a)
		}
	}
	if b.none || len(roomy) == 0 || len(roomy) <= b.args.NumberOfNodes {
		return
	}
	byTotal(sources, b.equally(), true)
	b.rooms = newRooms(roomy, b.limits.high, anyAccount)
	for _, from := range sources {
		b.relieve(from)
	}
}

// limitsFor are the thresholds for a mean.
func (b *lowBalance) limitsFor(sums []Percentage, nodes int64) lowLimits {
	if !b.args.UseDeviationThresholds {
		return lowLimits{low: b.thresholds(b.args.Thresholds), high: b.thresholds(b.args.TargetThresholds)}
	}
	return lowLimits{
		low:  b.around(sums, nodes, b.args.Thresholds, -1),
		high: b.around(sums, nodes, b.args.TargetThresholds, 1),
	}
}

// relieve moves pods away from a node until it has not too much any more.
func (b *lowBalance) relieve(from *account) {
	b.inTurn(b.removable(b.handle, from, evictable(b.args.EvictableNamespaces)), func(by mover, pods []*v1.Pod) { b.give(by, from, pods) })
}

func (b *lowBalance) give(by mover, from *account, pods []*v1.Pod) {
	for _, pod := range pods {
		if b.run.Stopped() || !from.over(b.limits.high, b.named) || b.perNode > 0 && from.evicted >= b.perNode {
			return
		}
		reason := b.reason(from)
		amounts, known := b.amounts(pod)
		switch {
		case !known && !b.blind:
			b.run.Decline(pod, reason, unknownUse(pod))
			continue
		case !b.rooms.hold(amounts):
			continue
		}
		if b.move(by, pod, amounts, reason, func(to *account) error { return b.accepts(from, to, amounts) }) {
			b.peaks = b.next
		}
	}
}

// Why a node should not get a pod.
var (
	errUnknown    = errors.New("uses what is not known")
	errBlind      = errors.New("is not one with room, or has got pods whose use is not known")
	errFull       = errors.New("would have too much in use")
	errFarAbove   = errors.New("or one that has got pods before, would be too far above the mean")
	errAlsoLittle = errors.New("has little in use, too")
)

// accepts says why a node should not get a pod.
func (b *lowBalance) accepts(from, to *account, amounts []int64) error {
	if b.blind && (!b.rooms.has(to) || to.received >= b.perNode) {
		return errBlind
	}
	if !to.holds(amounts, b.limits.high) {
		return errFull
	}
	if !b.args.UseDeviationThresholds {
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

// reason names what the node has too much of.
func (b *lowBalance) reason(a *account) string {
	return "its node uses " + excess(a, b.cluster, b.limits.high)
}

// excess is such as "cpu 90% (above 50%)".
func excess(a *account, c *cluster, thresholds []Percentage) string {
	text := ""
	for _, i := range c.named {
		if above(a.used[i], a.all[i], thresholds[i]) {
			if text != "" {
				text += ", "
			}
			text += fmt.Sprintf("%s %s%% (above %s%%)", c.dimensions[i], shareOf(a.used[i], a.all[i], false), thresholds[i])
		}
	}
	return text
}
