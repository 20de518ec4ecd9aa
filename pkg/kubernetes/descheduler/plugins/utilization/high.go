package utilization

import (
	"context"
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/framework"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/plugins/eviction"
)

// HighName is the name of the plugin.
const HighName = "HighNodeUtilization"

// HighDefinition is HighNodeUtilization.
func HighDefinition() framework.Definition {
	return framework.Typed(framework.Definition{
		Name:   HighName,
		Points: []framework.Point{framework.Balance},
		Args:   func() any { return &HighArgs{} },
	}, validateHigh, func(a *HighArgs, handle framework.Handle) (framework.Plugin, error) {
		return &high{args: a, handle: handle}, nil
	})
}

type high struct {
	args   *HighArgs
	handle framework.Handle
}

// Name implements framework.Plugin.
func (h *high) Name() string { return HighName }

// Repeats implements framework.Repeater.
func (h *high) Repeats() bool { return true }

// errSpreads is what is wrong where the scheduler fills the nodes that this plugin empties.
const errSpreads = "the scheduler prefers nodes of which little is requested, so pods may come back to the nodes that are to be emptied; " +
	"if it prefers full nodes, say nodeOrder: MostAllocated in the policy"

// Balance implements framework.BalancePlugin: pods go from nodes with little in use to
// those with more. The scheduler has to prefer such nodes, or else nothing moves.
func (h *high) Balance(ctx context.Context, nodes []*v1.Node) *framework.Status {
	run := eviction.Start(ctx, h.handle, HighName)
	dimensions, named := tracked(h.args.Thresholds.names(), true)
	c := newCluster(run, nodes, dimensions, named)
	c.byRequests()
	if o, ok := h.handle.Landing().(framework.OrderedLanding); ok && o.NodeOrder() != framework.MostAllocated {
		run.Warn(errSpreads)
	}
	run.Repeat(func() { h.pass(c) })
	return run.Status()
}

// pass looks at all nodes with little in use once.
func (h *high) pass(c *cluster) {
	low := c.thresholds(h.args.Thresholds)
	var sources, others []*account
	for _, a := range c.accounts {
		switch {
		case !a.over(low, c.named):
			sources = append(sources, a)
		case !a.node.Spec.Unschedulable:
			others = append(others, a)
		}
	}
	if len(sources) <= h.args.NumberOfNodes || len(others) == 0 {
		return
	}
	byTotal(sources, c.equally(), false)
	c.rooms = newRooms(others, c.same(full), anyAccount)
	for _, from := range sources {
		for _, pod := range c.removable(h.handle, from, h.selects(c)) {
			amounts, _ := c.amounts(pod)
			if c.run.Stopped() {
				return
			}
			if !c.rooms.hold(amounts) {
				continue
			}
			c.move(c.run.Move, pod, amounts, "its node has so little in use that it should be emptied", func(to *account) error {
				if !c.rooms.has(to) {
					return errAlsoLittle
				}
				return nil
			})
		}
	}
}

// selects returns what says whether a pod may go.
func (h *high) selects(c *cluster) func(*v1.Pod) bool {
	allowed := evictable(h.args.EvictableNamespaces)
	if !slices.Contains(h.args.EvictionModes, OnlyThresholdingResources) {
		return allowed
	}
	return func(pod *v1.Pod) bool {
		if !allowed(pod) {
			return false
		}
		amounts, _ := c.amounts(pod)
		return slices.ContainsFunc(c.named, func(i int) bool { return amounts[i] > 0 })
	}
}
