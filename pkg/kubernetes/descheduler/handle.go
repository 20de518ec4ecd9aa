package descheduler

import (
	"slices"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/clock"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/framework"
)

// A handle is what one plugin of one profile is given. It is its evictor too: see
// evictor.go.
type handle struct {
	d       *Descheduler
	set     *profiles
	profile *profile
	plugin  string
	id      string
	// controller says that events trigger the plugin, mixed that it also works at
	// another point, which a cycle calls.
	controller, mixed bool
	// balances says that cycles call the plugin at balance and not at deschedule.
	balances bool
	missed   missed // in the cycle that runs

	mu  sync.Mutex
	own *view // of a controller: the last one
}

var _ framework.DynamicHandle = (*handle)(nil)

// ClientSet implements framework.Handle.
func (h *handle) ClientSet() kubernetes.Interface { return h.d.options.Client }

// DynamicClient implements framework.DynamicHandle.
func (h *handle) DynamicClient() dynamic.Interface { return h.d.options.Dynamic }

// SharedInformerFactory implements framework.Handle.
func (h *handle) SharedInformerFactory() informers.SharedInformerFactory {
	return h.d.options.Informers
}

// Evictor implements framework.Handle.
func (h *handle) Evictor() framework.PodEvictor { return evictor{h} }

// sharedMax is the age up to which a plugin that works at other points too is given its last
// snapshot again.
const sharedMax = time.Second

// Snapshot implements framework.Handle. A plugin that is a controller and is also called at
// other points gets the one of the cycle while a cycle runs, and otherwise its last one for
// sharedMax, since a fresh one for each pod would cost a look at all pods.
func (h *handle) Snapshot() *framework.Snapshot {
	if h.inCycle() {
		return h.view().snapshot
	}
	if v := h.recent(); v != nil {
		return v.snapshot
	}
	v, err := h.d.newView(h.set, h.profile.name, &h.d.ofControllers)
	if err != nil {
		h.d.options.Log.Error("a controller has no view of the cluster", field(h.profile, h.plugin, err)...)
		v = emptyView(h.d.options.Clock)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.own = v
	return v.snapshot
}

// inCycle says whether the plugin works with the view of the cycle: if it is no controller, and otherwise while a cycle runs that
// calls it too, at another point or for a preview.
func (h *handle) inCycle() bool {
	return !h.controller || (h.mixed || h.d.options.Interval == 0) && h.d.running.Load()
}

// recent is the last view, where it may be used again.
func (h *handle) recent() *view {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.own == nil || !h.mixed || h.d.options.Clock.Since(h.own.snapshot.Now()) >= sharedMax {
		return nil
	}
	return h.own
}

// view is what evictions of this plugin are decided with: that of the cycle, or of a
// controller the one which it asked for last.
func (h *handle) view() *view {
	if h.inCycle() {
		return h.d.view.Load()
	}
	h.mu.Lock()
	v := h.own
	h.mu.Unlock()
	if v != nil {
		return v
	}
	h.Snapshot()
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.own
}

// emptyView is a cluster without anything, so that a plugin which reads it does nothing.
func emptyView(c clock.PassiveClock) *view {
	s := framework.NewSnapshot(framework.Objects{}, c.Now())
	return &view{snapshot: s, landing: nowhere{}, budgets: newBudgets(s), shared: new(sync.Mutex)}
}

// Landing implements framework.Handle.
func (h *handle) Landing() framework.Landing {
	v := h.view()
	v.expect(&h.d.expected)
	return v.landing
}

// Usage implements framework.Handle.
func (h *handle) Usage() framework.Usage { return h.d.options.Usage }

// Less implements framework.Handle.
func (h *handle) Less(a, b *v1.Pod) bool {
	if h.profile.sort != nil {
		return h.profile.sort.Less(a, b)
	}
	return less(a, b)
}

// Clock implements framework.Handle.
func (h *handle) Clock() clock.WithTicker { return h.d.options.Clock }

// ProfileName implements framework.Handle.
func (h *handle) ProfileName() string { return h.profile.name }

// InstanceID implements framework.Handle.
func (h *handle) InstanceID() string { return h.id }

// Installation implements framework.Installed.
func (h *handle) Installation() string { return h.d.options.Installation }

// DryRun implements framework.Handle.
func (h *handle) DryRun() bool { return h.d.options.DryRun }

var (
	_ framework.NodeAnnouncer = (*handle)(nil)
	_ framework.ProfileKnower = (*handle)(nil)
)

// AnnounceNode implements framework.NodeAnnouncer.
func (h *handle) AnnounceNode(node *v1.Node, kind, reason, note string) {
	h.d.events.node(h.d.options.Clock.Now(), node, kind, reason, note)
}

// Selects implements framework.ProfileKnower.
func (h *handle) Selects(node *v1.Node) bool {
	of := labels.Set(node.Labels)
	return h.set.policy.NodeSelector.Matches(of) && h.profile.selector.Matches(of)
}

// OtherProfiles implements framework.ProfileKnower.
func (h *handle) OtherProfiles() (names []string) {
	for i := range h.set.policy.Profiles {
		of := &h.set.policy.Profiles[i]
		if of.Name != h.profile.name && slices.Contains(of.Plugins[framework.Controller], h.plugin) {
			names = append(names, of.Name)
		}
	}
	return names
}
