package doctor

import (
	"fmt"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/archive"
	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
	"github.com/narwhal-scheduler/narwhal/pkg/wording"
)

// closedNodes finds nodes that take nothing new: they are drained, cordoned or not ready.
func (e *examination) closedNodes() {
	var closed []*api.NodeView
	var free resources.Amounts
	var opens []api.Command
	left := 0
	for _, n := range e.view.Nodes {
		if !n.Schedulable {
			closed, opens = append(closed, n), append(opens, api.UndrainNode{ID: n.ID})
			free.Add(n.Available)
			left += len(n.Allocations)
		}
	}
	if len(closed) == 0 {
		return
	}
	f := Finding{Kind: ClosedNodes, Severity: Note, Subject: string(closed[0].ID)}
	f.Cause = fmt.Sprintf("the node takes nothing new; %s is free there, and %s", e.kinds.Format(free), still(left))
	if len(closed) > 1 {
		f.Subject = fmt.Sprintf("%d nodes", len(closed))
		f.Cause = fmt.Sprintf("%d nodes, such as %s, take nothing new; %s is free there, and %s", len(closed), closed[0].ID, e.kinds.Format(free), still(left))
	}
	f.Since = e.drained(closed)
	if !f.Since.IsZero() {
		if f.SinceOf = "when it was closed"; len(closed) > 1 {
			f.SinceOf = "when the first of them was closed"
		}
	}
	e.tryOpen(&f, opens)
	e.add(f)
}

// drained is when the first of some nodes took no new pods any more, of those of which that is known.
func (e *examination) drained(nodes []*api.NodeView) (first time.Time) {
	at := map[string]time.Time{}
	for i := range e.changes {
		for _, name := range e.changes[i].Names {
			if _, known := at[name]; !known && e.changes[i].Kind == archive.NodesDrained {
				at[name] = e.changes[i].At
			}
		}
	}
	for _, n := range nodes {
		if since, known := at[string(n.ID)]; known && (first.IsZero() || since.Before(first)) {
			first = since
		}
	}
	return first
}

// tryOpen tries what runs on the nodes if they take new pods again: how bad it is depends on that.
func (e *examination) tryOpen(f *Finding, opens []api.Command) {
	if e.looked.Asks == 0 {
		f.Remedy = "none was tried: nothing waits"
		return
	}
	them := "it"
	if len(opens) > 1 {
		them = "they"
	}
	e.tryRuns(f, opens, them+" took new pods again")
}

// tryRuns tries which asks would run after commands, in words that follow "if": these are the ones for which it is bad that things are
// as they are.
func (e *examination) tryRuns(f *Finding, commands []api.Command, words string) {
	run, ok := e.wouldRun(commands...)
	if !ok {
		f.Remedy, e.partial = notTried, true
		return
	}
	var h harm
	e.eachAsk(e.view.Root, func(a askOf) {
		if run[a.Key] != "" {
			h.add(a)
		}
	})
	f.Tried = true
	if h.asks == 0 {
		f.Remedy = "no ask would run at once if " + words
		return
	}
	f.Severity = Wrong
	f.Remedy = wording.Several(h.asks, "ask") + " would run at once if " + words
	h.to(f)
}

// lostTime is how long a node that went is missed.
const lostTime = time.Hour

// lostNodes finds nodes that went lately and have not come back.
func (e *examination) lostNodes() {
	there := map[string]bool{}
	for _, n := range e.view.Nodes {
		there[string(n.ID)] = true
	}
	var names []string
	var back []api.Command
	var first time.Time
	went, came := 0, 0
	for i := range e.changes {
		c := &e.changes[i]
		if c.Until.Before(e.trial.Now.Add(-lostTime)) {
			continue
		}
		if c.Kind == archive.NodesCame {
			came += c.Count
		}
		if c.Kind != archive.NodesWent {
			continue
		}
		went += c.Count
		for k, name := range c.Names {
			if !there[name] {
				there[name] = true
				names, first = append(names, name), c.At
				if k < len(c.Had) && !c.Had[k].IsZero() {
					back = append(back, api.AddNode{ID: api.NodeID(name), Capacity: c.Had[k].Clone()})
				}
			}
		}
	}
	if len(names) == 0 {
		return
	}
	f := Finding{Kind: LostNodes, Severity: Note, Subject: names[0], Since: first, SinceOf: "the first of them", Cause: "the node went, and has not come back"}
	n := max(len(names), went-came)
	if n > 1 {
		f.Subject, f.Cause = fmt.Sprintf("%d nodes", n), fmt.Sprintf("%d nodes, such as %s, went, and have not come back", n, names[0])
	}
	e.tryBack(&f, back, n)
	e.add(f)
}

// tryBack tries what would run if nodes came back with what they had: how bad it is that they went depends on that.
func (e *examination) tryBack(f *Finding, back []api.Command, of int) {
	f.Remedy = "none was tried: what they had is not known"
	if len(back) == 0 {
		return
	}
	if e.looked.Asks == 0 {
		f.Remedy = "none was tried: nothing waits"
		return
	}
	e.refusedBefore = map[api.AllocationKey]bool{}
	e.eachAsk(e.view.Root, func(a askOf) { e.refusedBefore[a.Key] = a.Reason == api.Infeasible && a.Created.Before(f.Since) })
	them := "it"
	switch {
	case len(back) < of:
		them = fmt.Sprintf("%d of them, of which it is known what they had,", len(back))
	case of > 1:
		them = "they"
	}
	them += " came back"
	if !e.trial.Free {
		them += " and the resource manager, which was not asked, accepts them there"
	}
	e.tryRuns(f, back, them)
}

func still(pods int) string {
	if pods == 1 {
		return "1 pod still runs"
	}
	return fmt.Sprintf("%d pods still run", pods)
}
