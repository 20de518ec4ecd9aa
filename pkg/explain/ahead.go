package explain

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/core"
	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/wording"
)

// aheadMax is for how many asks that come before another one room on one node is a remedy; for more only where nothing else is.
const aheadMax = 10

// othersAskedMax is how many questions about what waits beside the ask are asked for one explanation. Beyond that it
// is taken to be accepted everywhere.
const othersAskedMax = 500

// A playing tries what helps an ask by itself where all waits that waits now: what comes before it may take the room.
type playing struct {
	*Answer
	t    Trial
	q    *questioner
	told map[placing]error // what the resource manager said of others
	// members are the ask and what starts with it.
	members map[api.AllocationKey]bool
}

// A placing is an ask on a node.
type placing struct {
	ask  api.AllocationKey
	node api.NodeID
}

// play tells what is enough where the others wait. If nothing is, it tries room for those too that come before, and then what
// makes the ask come first.
func (a *Answer) play(ctx context.Context, t Trial, q *questioner, helps []cure) {
	p := &playing{Answer: a, t: t, q: q, told: map[placing]error{}, members: a.members()}
	var failed []cure
	var took []earlier
	enough := false
	quotas := a.quotaRemedies(nil)
	for _, c := range helps {
		runs, others, all := p.try(ctx, a.withRoom(raise{}), a.raise(nil), c)
		switch {
		case runs:
			enough = true
			if a.Remedies.Quota = quotas; c.words != "" {
				a.Remedies.Nodes = append(a.Remedies.Nodes, c.words)
			}
			continue
		case all && took == nil:
			took = others
		}
		if c.moves {
			a.Moves, a.Opens = nil, ""
		}
		if all {
			failed = append(failed, c)
		}
	}
	if enough || len(failed) == 0 {
		return
	}
	before := p.before(ctx)
	if p.wider(ctx, failed, took, aheadMax) || p.wider(ctx, failed, before, aheadMax) {
		return
	}
	a.Remedies = Remedies{Quota: quotas, Remains: ahead(before, took)}
	for _, c := range failed {
		if c.words != "" {
			a.Remedies.Nodes = append(a.Remedies.Nodes, c.words)
		}
	}
	if p.instead(ctx, failed[0], slices.Concat(before, took)); len(a.Remedies.Instead) == 0 {
		p.wider(ctx, failed, before, len(before))
	}
}

// ahead says what comes before an ask, and what of it gets the room.
func ahead(before, took []earlier) string {
	gets := ""
	if len(took) > 0 {
		gets = string(took[0].ask.Key) + " gets that"
	}
	switch {
	case len(before) == 1 && len(took) > 0 && before[0].ask.Key == took[0].ask.Key:
		return string(before[0].ask.Key) + " is ahead of it, and gets that"
	case len(before) == 1:
		return "1 ask is ahead of it" + and(gets)
	case len(before) > 0:
		return wording.Several(len(before), "ask") + " are ahead of it" + and(gets)
	case gets != "":
		return gets + " first"
	}
	return "it does not come first"
}

func and(words string) string {
	if words == "" {
		return ""
	}
	return ", and " + words
}

// try does what a cure says to a copy of a view. What is more important may evict there, too. It returns whether the ask runs then, what
// else did before it, in the order of keys, and whether there was time enough.
func (p *playing) try(ctx context.Context, view *api.View, more raise, c cure) (runs bool, others []earlier, all bool) {
	if ctx.Err() != nil {
		return false, nil, false
	}
	r := newDryRun()
	r.p = core.Restore(api.Options{Kinds: p.Kinds, Partition: view.Partition, Feasible: p.feasible(c)}, p.t.Now, view)
	commands := c.played
	if commands == nil {
		commands = c.as
	}
	if len(more.queues)+len(more.owners) > 0 {
		r.p.Apply(p.t.Now, api.Reconfigure{Config: withoutTimeouts(p.withRoom(more).Config)})
	}
	for _, command := range commands {
		r.p.Apply(p.t.Now, command)
	}
	_, all = r.simulate(ctx, p.t.Now, p.t.Now)
	runs = p.ranOn(r) != ""
	for _, app := range p.view.Applications {
		for i := range app.Asks {
			if key := app.Asks[i].Key; r.placed[key] != "" && !p.members[key] {
				others = append(others, earlier{app, app.Asks[i].Allocation})
			}
		}
	}
	return runs, others, all || runs
}

// feasible asks the resource manager about the ask, as far as a cure does not answer that, and so often about others.
func (p *playing) feasible(c cure) api.Feasible {
	if p.t.Free {
		return nil
	}
	return func(key api.AllocationKey, node api.NodeID, _ bool) error {
		refused, known := p.told[placing{key, node}]
		switch {
		case key == p.ask.Key && p.refusedForGood(node):
			return errors.New("refused whatever ends there")
		case key == p.ask.Key:
			return p.accepts(c, p.q, node)
		case known || p.t.MayRun == nil || len(p.told) == othersAskedMax:
			return refused
		}
		_, refused = p.t.MayRun(key, node)
		p.told[placing{key, node}] = refused
		return refused
	}
}

// refusedForGood reports whether the resource manager has refused the ask on a node, whatever ends there.
func (p *playing) refusedForGood(node api.NodeID) bool {
	n, known := find(p.view.Nodes, node, func(n *api.NodeView) api.NodeID { return n.ID })
	return known && p.ask.RefusedForGood(n)
}

// before is what comes before the ask in line.
func (p *playing) before(ctx context.Context) (list []earlier) {
	apps, found := map[api.ApplicationID]*api.ApplicationView{}, false
	for _, app := range p.view.Applications {
		apps[app.ID] = app
	}
	InLine(ctx, p.view, p.Kinds, p.t.Now, func(next *api.Allocation) bool {
		if found = p.members[next.Key]; !found {
			list = append(list, earlier{apps[next.Application], next})
		}
		return !found
	})
	if !found {
		return nil
	}
	return list
}

// wider tries more of the first cure that can be more, so that there is room for what comes before the ask, on a node for so much at most.
func (p *playing) wider(ctx context.Context, failed []cure, before []earlier, onNodeMax int) bool {
	if len(before) == 0 {
		return false
	}
	more := p.raise(before)
	for _, c := range failed {
		switch {
		case c.more != nil && len(before) > onNodeMax:
			return false
		case c.more != nil:
			c = c.more(before)
		case len(more.queues)+len(more.owners) == 0 || c.on != "":
			continue
		}
		runs, others, _ := p.try(ctx, p.withRoom(raise{}), more, c)
		if runs {
			p.Remedies = Remedies{Quota: p.quotaRemedies(before), Ahead: both(before, others)}
			if c.words != "" {
				p.Remedies.Nodes = []string{c.words}
			}
		}
		return runs
	}
	return false
}

// both counts the asks that are in two lists.
func both(before, others []earlier) (count int) {
	ran := map[api.AllocationKey]bool{}
	for _, one := range others {
		ran[one.ask.Key] = true
	}
	for _, one := range before {
		if ran[one.ask.Key] {
			count++
		}
	}
	return count
}

// instead tries what makes the ask come first, or room for it: more that is guaranteed to its queues, or a higher priority.
func (p *playing) instead(ctx context.Context, c cure, before []earlier) {
	evicts := !p.view.Config.Preemption.Disabled && !p.ask.NeverPreempts() && p.ask.Required == "" && len(p.Limits)+len(p.raise(nil).queues) == 0
	for _, others := range [][]earlier{nil, before} {
		config, words := p.guaranteed(others)
		if evicts && words != "" {
			if evicted, runs := p.evicts(ctx, p.view, &config); runs {
				p.Remedies.Instead = append(p.Remedies.Instead, words+evicted)
				break
			}
		}
	}
	priority := p.above(before)
	important, words := p.moreImportant(priority), fmt.Sprintf("its priority is %d", priority)
	if evicts && p.view.Config.Preemption.Priority != api.PriorityOff {
		if evicted, runs := p.evicts(ctx, important, nil); runs {
			p.Remedies.Instead = append(p.Remedies.Instead, words+evicted)
			return
		}
	}
	if runs, _, _ := p.try(ctx, important, p.raise(nil), c); runs {
		for _, quota := range append(p.quotaRemedies(nil), c.words) {
			if quota != "" {
				words += ", and " + quota
			}
		}
		p.Remedies.Instead = append(p.Remedies.Instead, words)
	}
}

// evicts tries a view with another configuration, where room is made by evictions. It says how many there are, and whether
// the ask runs, or will when they have ended.
func (p *playing) evicts(ctx context.Context, view *api.View, config *api.Config) (words string, runs bool) {
	if ctx.Err() != nil {
		return "", false
	}
	out, err := WhatIf(ctx, view, p.Kinds, p.t.Now, Question{Config: config, Feasible: p.feasible(cure{}), Within: p.leaf().Properties.PreemptionDelay + time.Second})
	if err != nil || !slices.ContainsFunc(out.Others, func(o AskOutcome) bool { return o.Key == p.ask.Key }) {
		return "", false
	}
	switch len(out.Victims) {
	case 0:
		return "", true
	case 1:
		return ", for which " + string(out.Victims[0].Key) + " is evicted", true
	}
	return fmt.Sprintf(", for which %d allocations are evicted", len(out.Victims)), true
}

// leaf is the queue of the ask.
func (a *Answer) leaf() *api.QueueView {
	leaf := a.view.Root
	for q := leaf; q != nil; q = q.Towards(a.Queue) {
		leaf = q
	}
	return leaf
}

// above is the priority with which the ask is more important than others, and than it is now.
func (p *playing) above(others []earlier) int32 {
	own, most := importance(p.view, p.ask.Priority, p.Queue), int32(0)
	for _, one := range others {
		most = max(most, importance(p.view, one.ask.Priority, one.app.Queue)-own)
	}
	return p.ask.Priority + most + 1
}

// moreImportant is the view in which the ask, and what starts with it, has a priority.
func (p *playing) moreImportant(priority int32) *api.View {
	v := *p.view
	v.Applications = slices.Clone(v.Applications)
	for i, app := range v.Applications {
		if !slices.ContainsFunc(app.Asks, func(ask api.AskView) bool { return p.members[ask.Key] }) {
			continue
		}
		own := *app
		own.Asks = slices.Clone(app.Asks)
		for j := range own.Asks {
			if ask := &own.Asks[j]; p.members[ask.Key] {
				raised := *ask.Allocation
				raised.Priority, ask.Allocation = priority, &raised
			}
		}
		v.Applications[i] = &own
	}
	return &v
}
