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
	e.tryOpen(&f, opens)
	e.add(f)
}

// tryOpen tries what runs on the nodes if they take new pods again: how bad it is depends on that.
func (e *examination) tryOpen(f *Finding, opens []api.Command) {
	if e.looked.Asks == 0 {
		f.Remedy = "none was tried: nothing waits"
		return
	}
	run, ok := e.wouldRun(opens...)
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
		f.Remedy = "no ask would run at once if it took new pods again"
		return
	}
	f.Severity = Wrong
	f.Remedy = wording.Several(h.asks, "ask") + " would run at once if it took new pods again"
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
		for _, name := range c.Names {
			if !there[name] {
				names, first = append(names, name), c.At
			}
		}
	}
	if len(names) == 0 {
		return
	}
	f := Finding{Kind: LostNodes, Severity: Note, Subject: names[0], Since: first, SinceOf: "the first of them", Cause: "the node went, and has not come back"}
	if n := max(len(names), went-came); n > 1 {
		f.Subject, f.Cause = fmt.Sprintf("%d nodes", n), fmt.Sprintf("%d nodes, such as %s, went, and have not come back", n, names[0])
	}
	f.Remedy = "none was tried: what they had is not known any more"
	var h harm
	e.eachAsk(e.view.Root, func(a askOf) {
		switch a.Reason {
		case api.NoNodeFits, api.NodeUnknown, api.Impossible, api.KindUnknown, api.GroupBelow:
			h.add(a)
		}
	})
	if h.asks > 0 {
		f.Severity = Wrong
		f.Detail = "these asks wait for room on nodes"
	}
	h.to(&f)
	e.add(f)
}

func still(pods int) string {
	if pods == 1 {
		return "1 pod still runs"
	}
	return fmt.Sprintf("%d pods still run", pods)
}
