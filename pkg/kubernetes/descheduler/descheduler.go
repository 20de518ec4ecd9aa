package descheduler

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/trace"
	"go.uber.org/zap"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/framework"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/policy"
)

// A Descheduler evicts pods by a policy. It is safe for concurrent use.
type Descheduler struct {
	options   Options
	registry  *framework.Registry
	tracer    trace.Tracer
	limits    *limits
	decisions *decisions
	pending   *pending
	expected  expected
	events    *announcer
	overdue   overdue
	troubles  troubles
	warnings  warnings

	ofCycles, ofControllers landingMaker

	view    atomic.Pointer[view] // of the cycle that runs, or of the last one; never nil
	running atomic.Bool          // a cycle runs
	cycles  sync.Mutex           // held by the cycle that runs

	mu       sync.Mutex
	set      *profiles
	reloaded chan struct{} // closed when set is replaced
}

// New builds all plugins of a policy. An error names each profile and plugin that could
// not be built.
func New(ctx context.Context, p *policy.Policy, registry *framework.Registry, options Options) (*Descheduler, error) {
	if err := options.complete(); err != nil {
		return nil, err
	}
	d := &Descheduler{
		options:   options,
		registry:  registry,
		tracer:    options.Tracing.Tracer(tracer),
		limits:    newLimits(options.ControllerWindow, options.DryRun),
		decisions: newDecisions(options.DecisionsMax),
		pending:   &pending{},
		events:    &announcer{recorder: options.Recorder, log: options.Log},
		reloaded:  make(chan struct{}),
	}
	d.ofCycles.maker, d.ofControllers.maker = options.Landing, options.ControllerLanding
	d.troubles.reading(options.Informers != nil)
	d.events.begin()
	d.view.Store(emptyView(options.Clock))
	set, err := d.build(ctx, p)
	if err != nil {
		return nil, err
	}
	d.set = set
	d.limits.set(p)
	drains := d.drains
	options.Metrics.drains.of.Store(&drains)
	return d, nil
}

// Reload replaces the policy. A cycle that runs ends with the old one, controllers are
// started anew, and what was counted stays. After an error the old policy holds. Informers
// that only the new plugins need are started by Run.
func (d *Descheduler) Reload(ctx context.Context, p *policy.Policy) error {
	set, err := d.build(ctx, p)
	if err != nil {
		return err
	}
	d.cycles.Lock()
	defer d.cycles.Unlock()
	d.mu.Lock()
	defer d.mu.Unlock()
	d.set = set
	d.limits.set(p)
	close(d.reloaded)
	d.reloaded = make(chan struct{})
	return nil
}

// current returns the policy in use, and a channel that is closed when it is replaced.
func (d *Descheduler) current() (*profiles, <-chan struct{}) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.set, d.reloaded
}

// Why says why a pod was evicted or was not, as far as it is remembered.
func (d *Descheduler) Why(namespace, name string) Answer { return d.decisions.why(namespace, name) }

// Run starts the informers, and when they are filled runs cycles and controllers until
// the context ends. With an interval of zero it runs one cycle and returns its error.
func (d *Descheduler) Run(ctx context.Context) (err error) {
	ctx, span := d.span(ctx, "Run")
	defer func() { endSpan(span, err) }()
	for {
		set, reloaded := d.current()
		if err := d.fillInformers(ctx); err != nil {
			return err
		}
		d.takeBack(ctx, set)
		if d.options.Interval == 0 {
			d.sayNotStarted(set)
			return d.cycleAndTell(ctx, set)
		}
		d.runPolicy(ctx, set, reloaded)
		if ctx.Err() != nil {
			return nil
		}
	}
}

// sayNotStarted names the controllers that a single cycle leaves out. In a dry run an evict plugin would
// have nothing to carry out.
func (d *Descheduler) sayNotStarted(set *profiles) {
	for _, p := range set.list {
		for _, c := range p.controller {
			if d.options.DryRun && c.plugin == p.evict.Name() || d.previews() && c.preview != nil {
				continue
			}
			d.options.Log.Warn("controller not started, since there is no interval: it acts on events, and one cycle has none", field(p, c.plugin, nil)...)
		}
	}
}

// ErrUnread ends a Run of one cycle that could not read the cluster in time.
var ErrUnread = errors.New("the objects of the cluster were not read")

// readMax is how long a Run of one cycle tries to read the cluster. With an interval it goes on: an
// operator can look at Troubles.
const readMax = 2 * time.Minute

// fillInformers starts all informers that were asked for, and waits until they are filled.
func (d *Descheduler) fillInformers(ctx context.Context) error {
	if d.options.Informers == nil {
		return nil
	}
	d.troubles.reading(true)
	d.options.Informers.Start(ctx.Done())
	reading := ctx
	if d.options.Interval == 0 {
		bounded, cancel := context.WithTimeout(ctx, readMax)
		defer cancel()
		reading = bounded
	}
	var unread []string
	for kind, filled := range d.options.Informers.WaitForCacheSync(reading.Done()) {
		if !filled {
			unread = append(unread, strings.TrimPrefix(kind.String(), "*"))
		}
	}
	if len(unread) > 0 {
		slices.Sort(unread)
		return fmt.Errorf("%w: %s: %w", ErrUnread, strings.Join(unread, ", "), context.Cause(reading))
	}
	d.troubles.reading(false)
	return nil
}

// runPolicy runs the cycles and controllers of one policy until it is replaced or the
// context ends. No controller runs any more when it returns.
func (d *Descheduler) runPolicy(ctx context.Context, set *profiles, reloaded <-chan struct{}) {
	inner, stop := context.WithCancel(ctx)
	var running sync.WaitGroup
	defer running.Wait()
	defer stop()
	for _, p := range set.list {
		for _, c := range p.controller {
			running.Go(func() { d.supervise(inner, c) })
		}
	}
	for {
		if err := d.cycleAndTell(ctx, set); err != nil {
			d.options.Log.Error("a cycle had failures", zap.Error(err))
		}
		wait := d.options.Clock.NewTimer(d.options.Interval)
		select {
		case <-ctx.Done():
			wait.Stop()
			return
		case <-reloaded:
			wait.Stop()
			return
		case <-wait.C():
			d.takeBack(ctx, set)
		}
	}
}

func (d *Descheduler) cycleAndTell(ctx context.Context, set *profiles) error {
	report, err := d.cycle(ctx, set)
	if d.options.Reported != nil {
		d.options.Reported(report)
	}
	return err
}

// field are the fields of a log line about a plugin, with the stack of a panic.
func field(p *profile, plugin string, err error) []zap.Field {
	fields := []zap.Field{zap.String("profile", p.name), zap.String("plugin", plugin)}
	if err != nil {
		fields = append(fields, zap.Error(err))
	}
	if panicked, ok := errors.AsType[*panicError](err); ok {
		fields = append(fields, zap.ByteString("stack", panicked.stack))
	}
	return fields
}
