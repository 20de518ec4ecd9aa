package simulator

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/core"
	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/internal/recount"
	"github.com/narwhal-scheduler/narwhal/pkg/reports"
)

const (
	// quietMax is how long after the last event a run without until goes on to follow the
	// timers of the partition, where no delay is configured that is longer than half of it.
	// It is more than the longest pause of an ask that could be placed.
	quietMax = 5 * time.Minute
	// quietLongest is how long it goes on whatever is configured: some timers fire for ever.
	quietLongest = 24 * time.Hour
	// roundsMax is how often a partition may be asked to schedule at one moment
	// without any effect.
	roundsMax = 10_000
	// settleDelay is how long a scheduler that was restarted evicts nothing, as is its default.
	settleDelay = 5 * time.Second
)

// Options are what a run is given beside its scenario. The zero value works.
type Options struct {
	// Seed decides everything that is random; zero means the seed of
	// the scenario.
	Seed uint64
	// Verify checks the laws of the partition after every step, and that its
	// books agree with those of the virtual resource manager after every moment.
	Verify bool
	// Progress is called after every moment of virtual time, if it is set.
	Progress func(Progress)
	// AtRest is called with what is left when nothing happens any more, if it is set. It
	// says which law that breaks. It is not called where a scenario says when it stops.
	AtRest func(now time.Time, view *api.View) error
}

// Progress is how far a run is.
type Progress struct {
	Now     time.Duration // virtual time
	Placed  int           // placements so far
	Pending int           // pods that wait now
	Running int           // pods that are placed now
	Nodes   int           // that are there now
	Steps   int           // commands applied, and calls of Schedule

	Until    time.Duration // when the run stops; zero is when nothing happens any more
	Arrived  int           // applications that have come; pods, of those that come one by one
	Expected int           // that come in all
}

// Run plays a scenario to its end. The result depends on the scenario and the
// seed alone. An error is a scenario that cannot be run, or a partition that
// broke one of its laws. The scenario is not changed.
func Run(s *Scenario, options Options) (*Result, error) {
	if err := s.CheckQueues(); err != nil {
		return nil, fmt.Errorf("scenario %s: %w", s.Name, err)
	}
	r := newRun(s, options)
	r.cluster.build()
	r.cluster.startWork()
	if err := r.play(); err != nil {
		return nil, fmt.Errorf("scenario %s, seed %d: %w", s.Name, r.cluster.seed, err)
	}
	return r.result(), nil
}

// A run is a partition and the cluster it serves.
type run struct {
	*cluster
	options   Options
	partition *core.Partition
	reports   *reports.Book
	lastEvent time.Duration
	stopped   *Stop          // why it is over although a timer was due
	rounds    int            // at this moment, since the last effect
	steps     int            // commands applied, and calls of Schedule
	told      *recount.Books // what the events of the partition told, to verify views
}

func newRun(s *Scenario, options Options) *run {
	r := &run{cluster: newCluster(s, cmp.Or(options.Seed, s.Seed, 1)), options: options}
	r.pods.explain = r.reasonOf
	r.anew = func() { r.begin(settleDelay) }
	r.begin(0)
	return r
}

// begin makes the partition.
func (r *run) begin(settles time.Duration) {
	s := r.scenario
	o := api.Options{Partition: "[simulator]" + s.Config.Name, Kinds: s.Kinds, SettleDelay: settles}
	if s.Constrained() {
		o.Feasible, o.Simulate, o.Constraints = r.feasible, r.simulate, r.predicateClass
	}
	if len(s.Budgets) > 0 {
		o.Budgets = r.allowances
	}
	r.partition = core.NewPartition(o, r.config)
	r.reports = reports.NewBook(r.partition, o.Kinds)
	r.told = recount.New()
}

// Constrained reports whether any pod cares for more than amounts, or the answers change.
func (s *Scenario) Constrained() bool {
	return slices.ContainsFunc(s.Incidents, func(i Incident) bool { return i.Kind == Refuses }) ||
		slices.ContainsFunc(s.Workloads, func(w Workload) bool { return w.Demand.Count > 0 || len(w.Selector) > 0 }) ||
		slices.ContainsFunc(s.Trace, func(p TracePod) bool { return p.Demand.Count > 0 })
}

// play goes from one moment with events to the next.
func (r *run) play() error {
	for {
		next, ok := r.next()
		if !ok {
			break
		}
		if err := r.moment(next); err != nil {
			return err
		}
	}
	if until := r.scenario.Until; until > r.now {
		r.now = until
		r.books.advance(until)
	}
	r.books.finish()
	if left := r.unfinished(); left != nil && r.options.Verify {
		return fmt.Errorf("at %s: %w", r.now, left)
	}
	if r.options.AtRest == nil || r.scenario.Until > 0 {
		return nil
	}
	return r.options.AtRest(r.clock(), r.partition.View())
}

// next is the next moment, unless the run is over.
func (r *run) next() (time.Duration, bool) {
	at, planned := r.events.next()
	if planned {
		r.lastEvent = max(r.lastEvent, at)
	}
	if due, ok := r.partition.Due(); ok {
		wake := max(due.Sub(epoch)-r.ahead, r.now)
		if quiet := r.scenario.quiet(); !planned && r.scenario.Until == 0 && wake > r.lastEvent+quiet && r.unfinished() == nil {
			r.stopped = &Stop{At: seconds(r.now), Quiet: seconds(quiet), Due: seconds(wake)}
			return 0, false
		}
		if !planned || wake < at {
			at, planned = wake, true
		}
	}
	if until := max(r.scenario.Until, r.scenario.Ends); until > 0 && at > until {
		return 0, false
	}
	return at, planned
}

// quiet is how long after the last event the timers of the partition are followed, where
// the scenario does not say when it stops.
func (s *Scenario) quiet() time.Duration {
	longest := s.Config.Preemption.RequiredNode.StartDelay
	longest = max(longest, s.Config.Preemption.VictimTimeout, longestDelay(&s.Config.Root))
	for i := range s.Workloads {
		if g := s.Workloads[i].Gang; g != nil {
			longest = max(longest, g.Timeout)
		}
	}
	return max(quietMax, 2*min(longest, quietLongest/2))
}

// longestDelay is the longest delay of preemption in a queue or below.
func longestDelay(q *api.QueueConfig) time.Duration {
	longest := max(q.Properties.PreemptionDelay, q.Properties.QuotaDelay)
	for i := range q.Queues {
		longest = max(longest, longestDelay(&q.Queues[i]))
	}
	return longest
}

// moment carries out the events of a time, and what follows from them.
func (r *run) moment(at time.Duration) error {
	if at > r.now {
		r.rounds = 0
	}
	r.now = at
	r.books.advance(at)
	for _, e := range r.events.take(at) {
		e.do()
	}
	if err := r.settle(); err != nil {
		return err
	}
	if r.options.Verify {
		view := r.partition.View()
		if err := errors.Join(r.agree(view), r.told.Agree(view)); err != nil {
			return fmt.Errorf("at %s: %w", at, err)
		}
	}
	if r.options.Progress != nil {
		r.options.Progress(Progress{
			Now:     at,
			Placed:  r.counts.placements,
			Pending: int(r.books.pending.value),
			Running: int(r.books.running.value),
			Nodes:   int(r.books.nodes.value),
			Steps:   r.steps,
			Until:   r.scenario.Until, Arrived: r.cluster.come, Expected: r.cluster.expected,
		})
	}
	return nil
}

// settle applies what the resource manager sent and schedules, until both have
// nothing more to say.
func (r *run) settle() error {
	now := r.clock()
	for more := true; more || len(r.inbox) > 0; {
		for held := r.crosses(); len(r.inbox) > held; {
			command := r.inbox[0]
			r.inbox = r.inbox[1:]
			r.steps++
			if err := r.took(r.partition.Apply(now, command)); err != nil {
				return fmt.Errorf("%T: %w", command, err)
			}
		}
		if r.rounds++; r.rounds > roundsMax {
			return fmt.Errorf("at %s: the partition schedules without end at one time", r.now)
		}
		r.steps++
		var effects api.Effects
		effects, more = r.partition.Schedule(now)
		if !more {
			r.deliver(r.outcomes.Settle())
		}
		if len(effects) == 0 {
			continue // nothing was placed, so there is nothing new to verify
		}
		r.rounds = 0
		if err := r.took(effects); err != nil {
			return err
		}
	}
	return nil
}

// took delivers effects and checks that all is well.
func (r *run) took(effects api.Effects) error {
	if r.options.Verify {
		for _, e := range effects {
			r.told.Take(e)
		}
	}
	r.deliver(r.reports.Observe(r.clock(), effects))
	if r.broken != nil {
		return r.broken
	}
	if r.options.Verify {
		if err := r.partition.Verify(); err != nil {
			return fmt.Errorf("at %s: %w", r.now, err)
		}
	}
	r.preemption.keepPlans(r.partition.View)
	return nil
}

// reasonOf asks the core why a pod waits.
func (r *run) reasonOf(p *pod) pendingReason {
	if app, ask := r.partition.View().Ask(p.app.id, p.key); ask != nil {
		return r.reasonIn(app.Queue, *ask)
	}
	return pendingReason{queue: p.app.command.Queue.Full(), reason: api.NotTried.String()}
}
