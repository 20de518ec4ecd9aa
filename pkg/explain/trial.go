package explain

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/core"
	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// try does what a cure says to a copy of the partition, on which nothing else waits. It returns
// on which node the ask runs then, or why it still waits; neither if the time for that was over.
func (a *Answer) try(ctx context.Context, now time.Time, c cure, q *questioner) (on api.NodeID, remains string) {
	if ctx.Err() != nil {
		return "", ""
	}
	feasible := func(key api.AllocationKey, node api.NodeID, _ bool) error {
		switch {
		case c.accepted || node == c.on || key != a.ask.Key:
			return nil // the words of the cure say so
		case c.on != "":
			return errors.New("refused") // as all others with room are
		}
		if refusal, _ := q.about(node); refusal != "" {
			return errors.New(refusal)
		}
		return nil
	}
	r := a.onCopy(q, now, feasible)
	for _, command := range c.as {
		r.p.Apply(now, command)
	}
	if _, all := r.simulate(ctx, now, now); !all {
		return "", ""
	}
	if on = a.ranOn(r); on != "" {
		return on, ""
	}
	after, err := Ask(r.p.View(), a.Kinds, a.Allocation.Application, a.ask.Key)
	if err != nil {
		return "", ""
	}
	remains = after.Reason.String()
	if after.Detail != "" {
		remains += ": " + after.Detail
	}
	return "", remains
}

// onCopy is a dry run on a copy of the partition, on which nothing waits but the ask and what starts with it.
func (a *Answer) onCopy(q *questioner, now time.Time, feasible api.Feasible) *dryRun {
	r := newDryRun()
	r.p = core.Restore(api.Options{Kinds: a.Kinds, Partition: a.view.Partition, Feasible: feasible, ReserveDelay: -1}, now, q.alone)
	return r
}

// ranOn is where the ask runs in a dry run, or one like it, which comes first; empty if neither does.
func (a *Answer) ranOn(r *dryRun) api.NodeID {
	for _, ask := range a.together() {
		if on := r.placed[ask.Key]; on != "" && ask.Amounts.Equal(a.ask.Amounts) {
			return on
		}
	}
	return ""
}

// alone is the view in which nothing waits but the ask and what starts together with it, where the
// queues have the quota that it lacks. Nothing is evicted or kept there.
func (a *Answer) alone() *api.View {
	v := *a.view
	v.Config.Preemption.Disabled = true
	more := map[api.QueuePath]resources.Amounts{}
	for _, l := range a.Quota {
		if !l.Lacking.IsZero() {
			more[l.Queue] = l.Lacking
		}
	}
	if len(more) > 0 {
		v.Root = raised(v.Root, more)
		v.Config.Root = raisedConfig(v.Config.Root, "", more)
	}
	members, group := map[api.AllocationKey]bool{}, GroupOf(a.Allocation)
	for _, ask := range a.together() {
		members[ask.Key] = true
	}
	v.Groups = nil
	if of, known := a.view.Groups[group]; known {
		of.KeptUntil = time.Time{}
		v.Groups = map[string]api.GroupView{group: of}
	}
	v.Applications = make([]*api.ApplicationView, len(a.view.Applications))
	for i, app := range a.view.Applications {
		if v.Applications[i] = app; len(app.Asks) > 0 {
			own := *app
			own.BackoffUntil = time.Time{}
			own.Asks = slices.DeleteFunc(slices.Clone(app.Asks), func(ask api.AskView) bool { return !members[ask.Key] })
			v.Applications[i] = &own
		}
	}
	v.Nodes = make([]*api.NodeView, len(a.view.Nodes))
	for i, n := range a.view.Nodes {
		if v.Nodes[i] = n; len(n.Reservations) > 0 {
			own := *n
			own.Reservations = nil
			v.Nodes[i] = &own
		}
	}
	return &v
}

// GroupOf is the name under which a view has the group of an ask, if it has one.
func GroupOf(ask *api.Allocation) string {
	if quorum := ask.Tags[api.TagQuorum]; quorum != "" {
		return api.QuorumOf + quorum
	}
	return "gang " + string(ask.Application)
}

// together are the asks that start with the ask of an answer, and itself.
func (a *Answer) together() (list []*api.AskView) {
	quorum := a.ask.Tags[api.TagQuorum]
	for _, app := range a.view.Applications {
		for i := range app.Asks {
			other := &app.Asks[i]
			if other.Key == a.ask.Key || a.ask.TaskGroup != "" && app.ID == a.Allocation.Application && other.TaskGroup != "" ||
				quorum != "" && other.Tags[api.TagQuorum] == quorum {
				list = append(list, other)
			}
		}
	}
	return list
}

// raised is a queue with a higher max there and below.
func raised(q *api.QueueView, more map[api.QueuePath]resources.Amounts) *api.QueueView {
	own := *q
	own.Max = above(q.Max, more[q.Path])
	own.Queues = make([]*api.QueueView, len(q.Queues))
	for i, child := range q.Queues {
		own.Queues[i] = raised(child, more)
	}
	return &own
}

// raisedConfig is the same of a configured queue.
func raisedConfig(q api.QueueConfig, parent api.QueuePath, more map[api.QueuePath]resources.Amounts) api.QueueConfig {
	path := parent + api.QueuePath(q.Name)
	q.Max = above(q.Max, more[path])
	q.Queues = slices.Clone(q.Queues)
	for i := range q.Queues {
		q.Queues[i] = raisedConfig(q.Queues[i], path+".", more)
	}
	return q
}

// above is limits that are raised where there are any.
func above(limits resources.Limits, more resources.Amounts) resources.Limits {
	if more.IsZero() {
		return limits
	}
	limits = limits.Clone()
	for i, quantity := range more {
		if kind := resources.Kind(i); limits.Of(kind) != resources.Unlimited {
			limits.Set(kind, limits.Of(kind)+quantity)
		}
	}
	return limits
}
