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

// A Trial is what remedies are tried with.
type Trial struct {
	Now time.Time
	// MayRun asks the resource manager; nil if it cannot be asked. Free says that it refuses
	// nothing.
	MayRun MayRun
	Free   bool
	// Without asks it whether an ask, or what takes the place of an allocation, may run on a node that some allocations have left; nil if it is
	// not asked.
	Without func(of api.AllocationKey, node api.NodeID, left []api.AllocationKey) (refused error)
	// Stays are allocations that do not move; nil for none but those that never do.
	Stays func(api.AllocationKey) bool
}

// Copy is a copy of a partition on which nothing is evicted and no node kept, and on which asks run where the resource manager lets them.
// Unasked, if not nil, is called where that was not asked.
func (t Trial) Copy(view *api.View, kinds *resources.Kinds, unasked func()) *core.Partition {
	still := *view
	still.Config.Preemption.Disabled = true
	feasible := func(key api.AllocationKey, node api.NodeID, _ bool) error {
		if t.Free {
			return nil
		}
		if t.MayRun != nil {
			if asked, refused := t.MayRun(key, node); asked {
				return refused
			}
		}
		if unasked != nil {
			unasked()
		}
		return nil
	}
	return core.Restore(api.Options{Kinds: kinds, Partition: view.Partition, Feasible: feasible, ReserveDelay: -1}, t.Now, &still)
}

// try does what a cure says to a copy of the partition, on which nothing else waits. It returns
// on which node the ask runs then, or why it still waits; neither if the time for that was over.
func (a *Answer) try(ctx context.Context, now time.Time, c cure, q *questioner) (on api.NodeID, remains string) {
	if ctx.Err() != nil {
		return "", ""
	}
	r := a.onCopy(q, now, func(key api.AllocationKey, node api.NodeID, _ bool) error {
		if key != a.ask.Key {
			return nil
		}
		return a.accepts(c, q, node)
	})
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

// accepts says why the resource manager does not accept the ask on a node after a cure.
func (a *Answer) accepts(c cure, q *questioner, node api.NodeID) error {
	switch {
	case c.accepted || node == c.on:
		return nil // the words of the cure say so
	case c.on != "":
		return errors.New("refused") // as all others with room are
	}
	if refusal, _ := q.about(node); refusal != "" {
		return errors.New(refusal)
	}
	return nil
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
	v := a.withRoom(a.raise(nil))
	v.Config.Preemption.Disabled = true
	members, group := a.members(), GroupOf(a.Allocation)
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
	return v
}

// GroupOf is the name under which a view has the group of an ask, if it has one.
func GroupOf(ask *api.Allocation) string {
	if quorum := ask.Tags[api.TagQuorum]; quorum != "" {
		return api.QuorumOf + quorum
	}
	return "gang " + string(ask.Application)
}

// startsWith is what must start at once with the ask: its amounts, or those of all of its group that are missing.
func (a *Answer) startsWith() (sum resources.Amounts) {
	if a.Reason != api.AwaitsGang && a.Reason != api.GroupBelow {
		return a.ask.Amounts
	}
	for _, ask := range a.starting() {
		sum.Add(ask.Amounts)
	}
	return sum
}

// starting are the asks of its group that must start at once.
func (a *Answer) starting() []*api.AskView {
	asks := a.together()
	if group, known := a.view.Groups[GroupOf(a.Allocation)]; known && group.Terms.Least > 0 {
		asks = asks[:min(len(asks), missing(&group))]
	}
	return asks
}

// missing is how many members of a group must start at once, one at least.
func missing(g *api.GroupView) int { return max(g.Terms.Least-g.Running-g.Done, 1) }

// members are the keys of the asks that start with the ask of an answer, and of itself.
func (a *Answer) members() map[api.AllocationKey]bool {
	members := map[api.AllocationKey]bool{}
	for _, ask := range a.together() {
		members[ask.Key] = true
	}
	return members
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
