package descheduler

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.uber.org/zap"
	v1 "k8s.io/api/core/v1"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/framework"
)

// nodesMin is how many nodes a cycle needs: with fewer there is no other place for a pod.
const nodesMin = 2

// roundsMax is how often a cycle runs plugins again for which evictions may have made room. The log
// says that it was reached.
const roundsMax = 10

// Cycle runs all plugins once: deschedule of all profiles, then balance of all profiles,
// in the order of the policy. A plugin that fails or panics does not stop others; the
// error names all that did. The report is never nil.
func (d *Descheduler) Cycle(ctx context.Context) (*Report, error) {
	set, _ := d.current()
	return d.cycle(ctx, set)
}

// cycle runs the plugins of one policy once.
func (d *Descheduler) cycle(ctx context.Context, set *profiles) (*Report, error) {
	d.cycles.Lock()
	defer d.cycles.Unlock()
	ctx, span := d.span(ctx, "Cycle")
	c := &cycle{d: d, set: set, report: &Report{Started: d.options.Clock.Now(), DryRun: d.options.DryRun}}
	d.running.Store(true)
	err := c.run(ctx)
	d.running.Store(false)
	c.finish()
	endSpan(span, err)
	return c.report, err
}

// A cycle is one run of all plugins.
type cycle struct {
	d      *Descheduler
	set    *profiles
	report *Report
	errs   []error
}

func (c *cycle) run(ctx context.Context) error {
	d := c.d
	c.report.Cycle = d.decisions.begin()
	d.events.begin()
	err := contain(func() error {
		d.limits.begin(d.background(c.set))
		if d.options.DryRun {
			d.expected.forget() // what it would evict is there in the next cycle
		}
		v, err := d.newView(c.set, "", &d.ofCycles)
		if err == nil {
			d.view.Store(v)
		}
		return err
	})
	if err != nil {
		c.skip("there is no view of the cluster: " + err.Error())
		return err
	}
	nodes := usable(d.view.Load().snapshot.Nodes(), c.set.policy.NodeSelector)
	c.report.Nodes = len(nodes)
	if len(nodes) < nodesMin {
		c.skip(fmt.Sprintf("%d nodes are selected and ready, and %d are needed", len(nodes), nodesMin))
		return nil
	}
	for _, point := range []framework.Point{framework.Deschedule, framework.Balance} {
		for _, p := range c.set.list {
			c.profile(ctx, p, point, nodes, func(s step) bool {
				s.missed.begin()
				return true
			})
		}
	}
	c.previews(ctx)
	rounds := 0
	for rounds < roundsMax && c.again(ctx, nodes) {
		rounds++
	}
	if rounds == roundsMax {
		d.options.Log.Info("plugins were run again as often as in one cycle at the most, the next one goes on", zap.Int("rounds", rounds))
	}
	return errors.Join(c.errs...)
}

// previews has controllers say what they would do first, in a dry run of one cycle.
func (c *cycle) previews(ctx context.Context) {
	for _, p := range c.set.list {
		for _, of := range p.controller {
			if of.preview == nil || !c.d.previews() {
				continue
			}
			s := step{name: of.plugin}
			if err := c.d.guarded(p.name, of.plugin, func() error { return of.preview(ctx) }); err != nil {
				c.fail(p, s, framework.Controller, err)
			}
		}
	}
}

// previews says whether controllers do not run and show what they would do.
func (d *Descheduler) previews() bool { return d.options.DryRun && d.options.Interval == 0 }

// again runs those plugins once more for which evictions may have made room, and says whether
// there was any: at deschedule those that found no place for a pod before, at balance those
// that had returned before. Of the latter only built-in ones and such that ask for it are run:
// what a plugin at balance may do in one call can be limited.
func (c *cycle) again(ctx context.Context, nodes []*v1.Node) (ran bool) {
	due := func(s step, room bool) bool {
		if room {
			s.missed.begin()
			ran = true
		}
		return room
	}
	evictions := func() int { return int(c.d.view.Load().evictions.Load()) }
	for _, p := range c.set.list {
		c.profile(ctx, p, framework.Deschedule, nodes, func(s step) bool { return due(s, s.missed.before(evictions())) })
	}
	for _, p := range c.set.list {
		c.profile(ctx, p, framework.Balance, nodes, func(s step) bool {
			return due(s, s.repeats && s.missed.behind(evictions()))
		})
	}
	return ran
}

func (c *cycle) skip(why string) {
	c.report.Skipped = why
	c.d.options.Metrics.skippedCount.Inc()
	c.d.options.Log.Info("cycle skipped", zap.String("why", why))
}

// profile runs the plugins of a profile at one point that are due, on those of the nodes
// that the profile selects.
func (c *cycle) profile(ctx context.Context, p *profile, point framework.Point, nodes []*v1.Node, due func(step) bool) {
	steps := p.deschedule
	if point == framework.Balance {
		steps = p.balance
	}
	steps = slices.DeleteFunc(slices.Clone(steps), func(s step) bool { return !due(s) })
	nodes = usable(nodes, p.selector)
	if len(steps) == 0 || len(nodes) == 0 {
		return
	}
	ctx, span := c.d.span(ctx, "Profile", attribute.String("profile", p.name), attribute.String("point", string(point)))
	defer span.End()
	for _, s := range steps {
		if err := c.step(ctx, p, s, nodes); err != nil {
			s.missed.giveUp()
			c.fail(p, s, point, err)
		}
	}
}

// step runs one plugin, on a copy of the nodes in the order of the profile.
func (c *cycle) step(ctx context.Context, p *profile, s step, nodes []*v1.Node) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("not run: %w", err)
	}
	ctx, span := c.d.span(ctx, "Plugin", attribute.String("profile", p.name), attribute.String("plugin", s.name))
	ctx, end := context.WithCancel(ctx)
	defer end() // what the plugin has left running evicts nothing more with it
	start := c.d.options.Clock.Now()
	nodes, sortErr := c.ordered(p, nodes)
	err := c.d.guarded(p.name, s.name, func() error {
		if status := s.run(ctx, nodes); status != nil {
			return status.Err
		}
		return nil
	})
	s.missed.returned(int(c.d.view.Load().evictions.Load()))
	c.d.options.Metrics.strategy.WithLabelValues(s.name, p.name).Observe(c.since(start).Seconds())
	err = errors.Join(sortErr, err)
	endSpan(span, err)
	return err
}

// ordered has the pre-sort plugins of a profile order nodes. One that returns other nodes
// than it was given, or panics, changes nothing.
func (c *cycle) ordered(p *profile, nodes []*v1.Node) ([]*v1.Node, error) {
	nodes = slices.Clone(nodes)
	var errs []error
	for _, by := range p.preSort {
		err := c.d.guarded(p.name, by.Name(), func() error {
			sorted := by.PreSort(slices.Clone(nodes))
			if !sameNodes(nodes, sorted) {
				return errors.New("it returned other nodes than it was given")
			}
			nodes = slices.Clone(sorted)
			return nil
		})
		if err != nil {
			errs = append(errs, fmt.Errorf("pre-sort by %s: %w", by.Name(), err))
		}
	}
	return nodes, errors.Join(errs...)
}

func sameNodes(a, b []*v1.Node) bool {
	if len(a) != len(b) {
		return false
	}
	in := make(map[*v1.Node]bool, len(a))
	for _, n := range a {
		in[n] = true
	}
	for _, n := range b {
		if !in[n] {
			return false
		}
		delete(in, n)
	}
	return true
}

func (c *cycle) fail(p *profile, s step, point framework.Point, err error) {
	c.errs = append(c.errs, fmt.Errorf("profile %s: plugin %s at %s: %w", p.name, s.name, point, err))
	c.report.Failures = append(c.report.Failures, Failure{p.name, s.name, string(point), err.Error()})
	c.d.options.Metrics.failures.WithLabelValues(s.name, p.name).Inc()
	c.d.options.Log.Error("plugin failed", field(p, s.name, err)...)
}

// finish fills in the report.
func (c *cycle) finish() {
	d, r := c.d, c.report
	r.Duration = c.since(r.Started)
	r.Evictions, r.Unlisted = d.pending.take()
	r.Warnings = d.warnings.take()
	r.Kept, r.Reasons, r.Cut = d.decisions.count()
	delete(r.Kept, Considered)
	delete(r.Kept, Evicted)
	d.options.Metrics.loop.Observe(r.Duration.Seconds())
	d.options.Metrics.inFlight.Set(float64(len(d.limits.inFlight())))
	d.options.Log.Info("cycle ended", zap.Int("cycle", r.Cycle), zap.Int("evictions", len(r.Evictions)+r.Unlisted),
		zap.Duration("duration", r.Duration), zap.Bool("dryRun", r.DryRun))
}

func (c *cycle) since(start time.Time) time.Duration { return c.d.options.Clock.Now().Sub(start) }

// A panicError is a panic of a plugin, with where it was.
type panicError struct {
	value any
	stack []byte
}

func (p *panicError) Error() string { return fmt.Sprintf("panic: %v", p.value) }

// contain calls a function of a plugin, and makes a panic an error.
func contain(f func() error) (err error) {
	defer func() {
		if value := recover(); value != nil {
			err = &panicError{value, debug.Stack()}
		}
	}()
	return f()
}
