package frameworktest

import (
	"context"
	"errors"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/framework"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/plugins/order"
)

var errNeither = errors.New("the plugin is neither for deschedule nor for balance")

// Options are what a test may set. The zero value has no limits and no measured use.
type Options struct {
	// Now is the time of the cycle. Zero: the variable Now.
	Now time.Time
	// Limits bound evictions.
	Limits Limits
	// Usage is the measured use.
	Usage framework.Usage
	// Refuse stands for budgets and the API server: the error that it returns is that
	// of the eviction.
	Refuse func(pod *v1.Pod) error
	// Packing makes the scheduler prefer nodes that are used more.
	Packing bool
	// Cluster is the API server. Nil: a fake one with the namespaces of the objects.
	Cluster kubernetes.Interface
}

// Handle implements framework.Handle over one picture of a cluster. The order of pods
// is that of PrioritySort.
type Handle struct {
	options  Options
	objects  framework.Objects
	client   kubernetes.Interface
	factory  informers.SharedInformerFactory
	snapshot *framework.Snapshot
	landing  *landing
	evictor  *evictor
	clock    *clocktesting.FakeClock
	warnings []string
}

// NewHandle makes a Handle whose informers run.
func NewHandle(t testing.TB, objects framework.Objects, o Options) *Handle {
	t.Helper()
	if o.Now.IsZero() {
		o.Now = Now
	}
	h := &Handle{options: o, objects: objects, client: o.Cluster, clock: clocktesting.NewFakeClock(o.Now)}
	if h.client == nil {
		known := []runtime.Object{}
		for _, n := range objects.Namespaces {
			known = append(known, n)
		}
		h.client = fake.NewClientset(known...)
	}
	h.factory = informers.NewSharedInformerFactory(h.client, 0)
	h.snapshot = framework.NewSnapshot(objects, o.Now)
	h.evictor = &evictor{handle: h, counts: map[framework.LimitError]int{}}
	h.landing = newLanding(t, h.client, h.factory, objects)
	h.landing.packing, h.landing.now = o.Packing, o.Now
	return h
}

// ClientSet implements framework.Handle.
func (h *Handle) ClientSet() kubernetes.Interface { return h.client }

// SharedInformerFactory implements framework.Handle.
func (h *Handle) SharedInformerFactory() informers.SharedInformerFactory { return h.factory }

// Evictor implements framework.Handle.
func (h *Handle) Evictor() framework.PodEvictor { return h.evictor }

// Snapshot implements framework.Handle.
func (h *Handle) Snapshot() *framework.Snapshot { return h.snapshot }

// Landing implements framework.Handle.
func (h *Handle) Landing() framework.Landing { return h.landing }

// Usage implements framework.Handle.
func (h *Handle) Usage() framework.Usage { return h.options.Usage }

// Less implements framework.Handle.
func (h *Handle) Less(a, b *v1.Pod) bool { return order.Compare(a, b) < 0 }

// Clock implements framework.Handle.
func (h *Handle) Clock() clock.WithTicker { return h.clock }

// ProfileName implements framework.Handle.
func (h *Handle) ProfileName() string { return "test" }

// InstanceID implements framework.Handle.
func (h *Handle) InstanceID() string { return "0-0" }

// Warn implements framework.Warner.
func (h *Handle) Warn(text string) { h.warnings = append(h.warnings, text) }

// Warnings are those of plugins, in their order.
func (h *Handle) Warnings() []string { return h.warnings }

// DryRun implements framework.Handle.
func (h *Handle) DryRun() bool { return false }

// Step sets the clock forward and begins another cycle over other objects, with no
// evictions yet. Filters that were added stay.
func (h *Handle) Step(t testing.TB, forward time.Duration, objects framework.Objects) {
	t.Helper()
	h.clock.Step(forward)
	o := h.options
	o.Now, o.Cluster = h.clock.Now(), h.client
	next := NewHandle(t, objects, o)
	h.snapshot, h.landing, h.objects = next.snapshot, next.landing, objects
	h.evictor.done, h.evictor.asked, h.evictor.declined = nil, nil, nil
	clear(h.evictor.counts)
}

// Replaced is the cluster after the evictions: pods that were evicted are gone, and
// their replacements run where they were placed.
func (h *Handle) Replaced() framework.Objects {
	o := h.objects
	o.Pods = h.snapshot.Pods()
	o.Pods = append(o.Pods, h.landing.stands...)
	return o
}

// Run builds a plugin from its definition and calls it at deschedule, or else at
// balance, for all nodes of the cluster. Args nil are the defaults.
func (h *Handle) Run(t testing.TB, d framework.Definition, args any) *framework.Status {
	t.Helper()
	return h.Call(t.Context(), h.Build(t, d, args))
}

// Build validates arguments and builds a plugin.
func (h *Handle) Build(t testing.TB, d framework.Definition, args any) framework.Plugin {
	t.Helper()
	if args == nil && d.Args != nil {
		args = d.Args()
	}
	if d.Validate != nil {
		if err := d.Validate(args); err != nil {
			t.Fatal(err)
		}
	}
	p, err := d.New(t.Context(), args, h)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// Call calls a plugin at deschedule, or else at balance.
func (h *Handle) Call(ctx context.Context, p framework.Plugin) *framework.Status {
	switch p := p.(type) {
	case framework.DeschedulePlugin:
		return p.Deschedule(ctx, h.snapshot.Nodes())
	case framework.BalancePlugin:
		return p.Balance(ctx, h.snapshot.Nodes())
	default:
		return &framework.Status{Err: errNeither}
	}
}
