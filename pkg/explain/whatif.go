package explain

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/core"
	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// A Question is what might be done to a partition.
type Question struct {
	// Config replaces the configuration; nil leaves it.
	Config *api.Config
	// Nodes are changed, after the configuration and before all that follows.
	Nodes Nodes
	// Feasible asks the resource manager whether an ask that waits now may run on a node;
	// nil is a resource manager that refuses nothing.
	Feasible api.Feasible
	// Applications are added, before the asks. Their identifiers must be new.
	Applications []api.AddApplication
	// Asks are added, to applications that are known or added. Their keys must be new.
	Asks []*api.Allocation
	// Budgets are the disruption budgets of the allocations that run, as they are now;
	// nil is a resource manager that knows of none. Each eviction takes one off.
	Budgets []api.DisruptionBudget
	// Within is how long to wait for what only time brings, such as the delay
	// after which a guarantee is claimed. No evicted allocation ends within it, and
	// none becomes overdue.
	Within time.Duration
	// Delays says to wait, in place of Within, for the delays that run once all the rest is done, such as that of a
	// queue which is over its max then; an hour at most.
	Delays bool
}

// An Outcome is what would come of a question, if the resource manager refused nothing
// that it was not asked about and nothing else happened meanwhile.
type Outcome struct {
	// Rejected are the applications of the question that would not be taken in, with
	// the reasons.
	Rejected map[api.ApplicationID]string

	Asks    []AskOutcome // of the asks of the question, in their order
	Victims []Victim     // that would be evicted, in that order
	Moved   []AskOutcome // of the allocations on removed nodes, which are asked for again
	Others  []AskOutcome // asks that wait now and would not, by key

	Waited  int            // asks that wait now, without those of the question
	Waiting []StillWaiting // those that would go on waiting, by reason, the most first
	Staying []Staying      // on drained nodes

	OverUse []OverUse // queues that would be over their max, from the root down
	// OverLimits are users and groups that would be over their limits.
	OverLimits []OverLimit

	// Simulated is how much time the outcome is of. Partial says that the time for the answer was over
	// before everything was simulated.
	Partial   bool
	Simulated time.Duration
	// Delays is for how long after that one of the delays goes on which were not waited for; zero if there are none.
	Delays time.Duration

	// Unasked says that amounts alone decided about asks or nodes of which the resource
	// manager knows nothing.
	Unasked bool
}

// An AskOutcome is what becomes of an ask.
type AskOutcome struct {
	Key       api.AllocationKey
	Placed    api.NodeID    // where it would run at once
	Nominated api.NodeID    // where room would be made for it
	After     time.Duration // when it would be placed; zero is at once
	Refused   string        // why it would not be taken in at all
	Waits     *Answer       // why it would wait, if it is neither placed nor refused
	// Unasked says that amounts alone decided that it would run there: the resource manager refuses some, and knows nothing of this.
	Unasked bool
}

// A Victim is an allocation that would be evicted.
type Victim struct {
	Key         api.AllocationKey
	Application api.ApplicationID
	Message     string // for which ask, and why
	After       time.Duration
}

// OverUse is how much a queue would use over its max.
type OverUse struct {
	Queue api.QueuePath
	By    resources.Amounts
}

// WhatIf answers a question with a partition of its own, which it makes from the
// view; nothing else is touched. It takes time linear in the size of the view, and
// then as long as there is something to simulate. If the deadline of the context passes
// meanwhile, the outcome is partial. The error says what is wrong with the
// configuration or the nodes of the question, or is the cause why the context ended otherwise.
func WhatIf(ctx context.Context, view *api.View, kinds *resources.Kinds, now time.Time, q Question) (*Outcome, error) {
	start := *view
	start.Config = withoutTimeouts(view.Config)
	r := newDryRun()
	r.asks, r.added, r.waited = q.Feasible != nil, map[api.NodeID]bool{}, waitingNow(view)
	if err := q.Nodes.check(view); err != nil {
		return nil, err
	}
	options := api.Options{Kinds: kinds, Partition: view.Partition, Feasible: r.feasible(q.Feasible, view, q.Nodes)}
	if q.Budgets != nil {
		r.allowances = newAllowances(q.Budgets)
		options.Budgets = r.allowances.of
	}
	r.p = core.Restore(options, now, &start)
	moved, err := r.ask(view, now, q)
	if err != nil {
		return nil, err
	}
	reached, all := r.wait(ctx, now, q)
	out := &Outcome{Rejected: r.rejected, Victims: r.victims, Partial: !all, Simulated: reached.Sub(now), Unasked: r.unasked}
	after := r.p.View()
	if ends := delays(after, reached); len(ends) > 0 {
		out.Delays = last(ends).Sub(reached)
	}
	for _, ask := range q.Asks {
		if isOver(ctx) {
			return nil, context.Cause(ctx)
		}
		out.Asks = append(out.Asks, r.outcomeOf(after, kinds, ask))
	}
	for _, ask := range moved {
		if isOver(ctx) {
			return nil, context.Cause(ctx)
		}
		out.Moved = append(out.Moved, r.outcomeOf(after, kinds, ask))
	}
	out.Others = r.otherOutcomes(view, after, q.Asks)
	out.Waited, out.Waiting = stillWaiting(view, after, q.Asks, out.Others)
	out.Staying = staying(after, q.Nodes.Drain)
	out.OverUse, out.OverLimits = overUse(after.Root, nil), overLimits(after)
	return out, nil
}

// ask does to the partition what the question says. It returns what is asked for again.
func (r *dryRun) ask(view *api.View, now time.Time, q Question) ([]*api.Allocation, error) {
	if q.Config != nil {
		config := withoutTimeouts(*q.Config)
		if err := r.p.Convertible(config); err != nil {
			return nil, fmt.Errorf("configuration: %w", err)
		}
		r.p.Apply(now, api.Reconfigure{Config: config})
	}
	moved := r.changeNodes(view, now, q.Nodes)
	for _, app := range q.Applications {
		r.observe(r.p.Apply(now, app))
	}
	for _, ask := range q.Asks {
		own := *ask
		r.observe(r.p.Apply(now, api.AddAllocation{Allocation: &own}))
	}
	return moved, nil
}

// withoutTimeouts is a configuration under which no eviction becomes overdue. As
// nothing ends in a dry run, others would be evicted in its place.
func withoutTimeouts(config api.Config) api.Config {
	config.Preemption.VictimTimeout = 100 * 365 * 24 * time.Hour
	return config
}

// A dryRun simulates a partition of its own, and collects what happens there.
type dryRun struct {
	p       *core.Partition
	passed  time.Duration // since it began
	placed  map[api.AllocationKey]api.NodeID
	later   map[api.AllocationKey]time.Duration // when those were placed that were not at once
	refused map[api.AllocationKey]string
	victims []Victim

	rejected   map[api.ApplicationID]string
	allowances *allowances // nil without budgets

	asks    bool                       // the resource manager
	added   map[api.NodeID]bool        // by the question
	waited  map[api.AllocationKey]bool // asks of which the resource manager knows
	unasked bool                       // something was decided without it that it might refuse
}

func newDryRun() *dryRun {
	return &dryRun{
		placed: map[api.AllocationKey]api.NodeID{}, later: map[api.AllocationKey]time.Duration{},
		refused: map[api.AllocationKey]string{}, rejected: map[api.ApplicationID]string{},
	}
}

// isOver reports whether nothing waits for the outcome any more, not even for a
// partial one.
func isOver(ctx context.Context) bool {
	err := ctx.Err()
	return err != nil && !errors.Is(err, context.DeadlineExceeded)
}

// simulate lets the partition do all there is to do until a time, as long as the context
// lasts. It returns how far it came, and whether that was all.
func (r *dryRun) simulate(ctx context.Context, now, until time.Time) (reached time.Time, all bool) {
	for {
		for more := true; more; {
			if ctx.Err() != nil {
				return now, false
			}
			var fx api.Effects
			fx, more = r.p.Schedule(now)
			r.observe(fx)
		}
		due, ok := r.p.Due()
		if !ok || due.After(until) {
			return until, true
		}
		r.passed += due.Sub(now)
		now = due
	}
}

func (r *dryRun) observe(fx api.Effects) {
	for _, event := range fx {
		switch e := event.(type) {
		case api.Placed:
			r.placed[e.Key] = e.Node
			if r.passed > 0 {
				r.later[e.Key] = r.passed
			}
		case api.Adopted:
			r.placed[e.Key] = e.Node
		case *api.AllocationRejected:
			r.refused[e.Key] = e.Reason
		case *api.ApplicationRejected:
			r.rejected[e.ID] = e.Reason
		case *api.EvictionRequested:
			r.allowances.take(e.Key)
			r.victims = append(r.victims, Victim{Key: e.Key, Application: e.Application, Message: e.Message, After: r.passed})
		}
	}
}

func (r *dryRun) outcomeOf(after *api.View, kinds *resources.Kinds, ask *api.Allocation) AskOutcome {
	out := AskOutcome{Key: ask.Key, Placed: r.placed[ask.Key], After: r.later[ask.Key], Refused: r.refused[ask.Key]}
	out.Unasked = r.isUnasked(out.Key, out.Placed)
	if out.Placed == "" && out.Refused == "" {
		if waits, err := Ask(after, kinds, ask.Application, ask.Key); err == nil {
			out.Waits, out.Nominated = waits, waits.Nominated
		}
	}
	return out
}

// otherOutcomes are the asks that waited before and are placed or nominated after,
// but for those of the question.
func (r *dryRun) otherOutcomes(before, after *api.View, asked []*api.Allocation) []AskOutcome {
	had := map[api.AllocationKey]api.NodeID{}
	for _, app := range before.Applications {
		for i := range app.Asks {
			had[app.Asks[i].Key] = app.Asks[i].Nominated
		}
	}
	for _, ask := range asked {
		delete(had, ask.Key)
	}
	var list []AskOutcome
	for key := range had {
		if node, ok := r.placed[key]; ok {
			list = append(list, AskOutcome{Key: key, Placed: node, After: r.later[key], Unasked: r.isUnasked(key, node)})
		}
	}
	for _, app := range after.Applications {
		for i := range app.Asks {
			ask := &app.Asks[i]
			if was, ok := had[ask.Key]; ok && ask.Nominated != "" && ask.Nominated != was {
				list = append(list, AskOutcome{Key: ask.Key, Nominated: ask.Nominated})
			}
		}
	}
	slices.SortFunc(list, func(a, b AskOutcome) int { return cmp.Compare(a.Key, b.Key) })
	return list
}

// overUse lists the queues that are over their max.
func overUse(q *api.QueueView, list []OverUse) []OverUse {
	if by := beyond(q.Used, q.Max); !by.IsZero() {
		list = append(list, OverUse{Queue: q.Path, By: by})
	}
	for _, child := range q.Queues {
		list = overUse(child, list)
	}
	return list
}
