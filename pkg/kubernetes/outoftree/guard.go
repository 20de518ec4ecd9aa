package outoftree

import (
	"context"
	"sync/atomic"
	"time"

	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"
)

// A guarded plugin is one behind its guard. It is a plugin of each kind for the framework, and asks the plugin where it is one and
// the profile enables it.
type guarded struct {
	set     *Set
	name    string
	points  map[point]bool // at which the plugin is asked
	calls   calls
	running atomic.Int32 // calls for Scored

	inner fwk.Plugin
	// The plugin as each kind; nil if it is none or is not asked there.
	preFilters fwk.PreFilterPlugin
	filters    fwk.FilterPlugin
	preScores  fwk.PreScorePlugin
	scores     fwk.ScorePlugin
	reserves   fwk.ReservePlugin
	permits    fwk.PermitPlugin
	preBinds   fwk.PreBindPlugin
	postBinds  fwk.PostBindPlugin
	signs      fwk.SignPlugin
}

var (
	_ fwk.PreFilterPlugin     = (*guarded)(nil)
	_ fwk.PreFilterExtensions = (*guarded)(nil)
	_ fwk.FilterPlugin        = (*guarded)(nil)
	_ fwk.PreScorePlugin      = (*guarded)(nil)
	_ fwk.ScorePlugin         = (*guarded)(nil)
	_ fwk.ScoreExtensions     = (*guarded)(nil)
	_ fwk.ReservePlugin       = (*guarded)(nil)
	_ fwk.PermitPlugin        = (*guarded)(nil)
	_ fwk.PreBindPlugin       = (*guarded)(nil)
	_ fwk.PostBindPlugin      = (*guarded)(nil)
)

func newGuarded(s *Set, name string) *guarded { return &guarded{set: s, name: name} }

// guard takes the plugin when it was made.
func (g *guarded) guard(inner fwk.Plugin) (err error) {
	if g.points, err = g.set.pointsOf(g.name, inner); err != nil {
		return err
	}
	g.inner = inner
	g.signs, _ = inner.(fwk.SignPlugin)
	as(g, preFilter, &g.preFilters)
	as(g, filter, &g.filters)
	as(g, preScore, &g.preScores)
	as(g, score, &g.scores)
	as(g, reserve, &g.reserves)
	as(g, permit, &g.permits)
	as(g, preBind, &g.preBinds)
	as(g, postBind, &g.postBinds)
	return nil
}

// as sets a plugin as a kind if it is asked at a point.
func as[T any](g *guarded, at point, to *T) {
	if g.points[at] {
		*to, _ = g.inner.(T)
	}
}

// Name is that of the plugin.
func (g *guarded) Name() string { return g.name }

// PreFilter says nothing to the framework, which asks while the cluster is locked. Set.PreFilter asks the plugin.
func (g *guarded) PreFilter(context.Context, fwk.CycleState, *v1.Pod, []fwk.NodeInfo) (*fwk.PreFilterResult, *fwk.Status) {
	return nil, nil
}

// preFilter is shown all nodes.
func (g *guarded) preFilter(ctx context.Context, state fwk.CycleState, pod *v1.Pod) (*fwk.PreFilterResult, *fwk.Status) {
	nodes, err := g.set.lister.NodeInfos().List()
	if err != nil {
		return nil, fwk.AsStatus(err)
	}
	type said struct {
		result *fwk.PreFilterResult
		status *fwk.Status
	}
	answer, failure := ask(g, "PreFilter", pod, func() said {
		result, status := g.preFilters.PreFilter(ctx, state, pod, nodes)
		return said{result, status}
	})
	return answer.result, g.told("PreFilter", pod, answer.status, failure)
}

// PreFilterExtensions are those of the plugin, behind the guard.
func (g *guarded) PreFilterExtensions() fwk.PreFilterExtensions {
	if g.preFilters == nil || g.preFilters.PreFilterExtensions() == nil {
		return nil
	}
	return g
}

// AddPod has the plugin count a pod.
func (g *guarded) AddPod(ctx context.Context, state fwk.CycleState, pod *v1.Pod, other fwk.PodInfo, node fwk.NodeInfo) *fwk.Status {
	return g.askStatus("AddPod", pod, func() *fwk.Status {
		return g.preFilters.PreFilterExtensions().AddPod(ctx, state, pod, other, node)
	})
}

// RemovePod has the plugin count a pod no more.
func (g *guarded) RemovePod(ctx context.Context, state fwk.CycleState, pod *v1.Pod, other fwk.PodInfo, node fwk.NodeInfo) *fwk.Status {
	return g.askStatus("RemovePod", pod, func() *fwk.Status {
		return g.preFilters.PreFilterExtensions().RemovePod(ctx, state, pod, other, node)
	})
}

// Filter asks about one node.
func (g *guarded) Filter(ctx context.Context, state fwk.CycleState, pod *v1.Pod, node fwk.NodeInfo) *fwk.Status {
	if g.filters == nil {
		return nil
	}
	return g.askStatus("Filter", pod, func() *fwk.Status { return g.filters.Filter(ctx, state, pod, node) })
}

// Reserve has the plugin keep what a pod takes.
func (g *guarded) Reserve(ctx context.Context, state fwk.CycleState, pod *v1.Pod, node string) *fwk.Status {
	if g.reserves == nil {
		return nil
	}
	return g.askStatus("Reserve", pod, func() *fwk.Status { return g.reserves.Reserve(ctx, state, pod, node) })
}

// Unreserve has it given back. The plugin is always asked, also while it is not asked other things, or it would keep it for ever.
func (g *guarded) Unreserve(ctx context.Context, state fwk.CycleState, pod *v1.Pod, node string) {
	if g.reserves != nil {
		g.tell("Unreserve", pod, func() { g.reserves.Unreserve(ctx, state, pod, node) })
	}
}

// Permit asks whether a pod may be bound, now or later.
func (g *guarded) Permit(ctx context.Context, state fwk.CycleState, pod *v1.Pod, node string) (*fwk.Status, time.Duration) {
	if g.permits == nil {
		return nil, 0
	}
	type said struct {
		status *fwk.Status
		most   time.Duration
	}
	answer, failure := ask(g, "Permit", pod, func() said {
		status, most := g.permits.Permit(ctx, state, pod, node)
		return said{status, most}
	})
	return g.told("Permit", pod, answer.status, failure), answer.most
}

// PreBindPreFlight asks whether the plugin has something to do before the pod is bound.
func (g *guarded) PreBindPreFlight(ctx context.Context, state fwk.CycleState, pod *v1.Pod, node string) (*fwk.PreBindPreFlightResult, *fwk.Status) {
	if g.preBinds == nil {
		return nil, fwk.NewStatus(fwk.Skip)
	}
	type said struct {
		result *fwk.PreBindPreFlightResult
		status *fwk.Status
	}
	answer, failure := ask(g, "PreBindPreFlight", pod, func() said {
		result, status := g.preBinds.PreBindPreFlight(ctx, state, pod, node)
		return said{result, status}
	})
	return answer.result, g.told("PreBindPreFlight", pod, answer.status, failure)
}

// PreBind has the plugin do what must be done before the pod is bound. It may take as long as the context allows, since nothing
// but the pod waits for it.
func (g *guarded) PreBind(ctx context.Context, state fwk.CycleState, pod *v1.Pod, node string) *fwk.Status {
	if g.preBinds == nil {
		return nil
	}
	over, stop := afterEnd(ctx)
	defer stop()
	status, failure := wait(call{g, "PreBind", pod}, over, errEnded, func() *fwk.Status { return g.preBinds.PreBind(ctx, state, pod, node) })
	return g.told("PreBind", pod, status, failure)
}

// PostBind tells the plugin that a pod is bound.
func (g *guarded) PostBind(ctx context.Context, state fwk.CycleState, pod *v1.Pod, node string) {
	if g.postBinds != nil {
		g.tell("PostBind", pod, func() { g.postBinds.PostBind(ctx, state, pod, node) })
	}
}

// tell calls what gives no answer.
func (g *guarded) tell(at string, pod *v1.Pod, do func()) {
	_, _ = inTime(call{g, at, pod}, func() struct{} { // a failure is logged
		do()
		return struct{}{}
	})
}

// sign is what makes pods alike for the plugin; not ok if it does not say so.
func (g *guarded) sign(pod *v1.Pod) (fragments []fwk.SignFragment, ok bool) {
	if g.signs == nil {
		return nil, false
	}
	status := g.askStatus("SignPod", pod, func() (status *fwk.Status) {
		fragments, status = g.signs.SignPod(context.Background(), pod)
		return status
	})
	if !status.IsSuccess() {
		return nil, false
	}
	return fragments, true
}
