package doctor

import (
	"fmt"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/wording"
)

// victims finds allocations that were told to end and have not ended in time, by node.
func (e *examination) victims() {
	var asks map[api.AllocationKey]askOf
	for _, n := range e.view.Nodes {
		e.looked.Evictions += len(n.Evictions)
		var overdue []*api.Eviction
		for i := range n.Evictions {
			if n.Evictions[i].Overdue {
				overdue = append(overdue, &n.Evictions[i])
			}
		}
		if len(overdue) == 0 {
			continue
		}
		if asks == nil {
			asks = map[api.AllocationKey]askOf{}
			e.eachAsk(e.view.Root, func(a askOf) { asks[a.Key] = a })
		}
		e.add(e.hanging(n, overdue, asks))
	}
}

// hanging is the finding about the overdue evictions on a node.
func (e *examination) hanging(n *api.NodeView, overdue []*api.Eviction, asks map[api.AllocationKey]askOf) Finding {
	f := Finding{Kind: Hanging, Severity: Wrong, Subject: string(n.ID)}
	var h harm
	seen := map[api.AllocationKey]bool{}
	lost, blocks := false, time.Time{}
	for _, v := range overdue {
		if f.Since.IsZero() || v.Since.Before(f.Since) {
			f.Since, f.SinceOf = v.Since, "the first of them"
		}
		if a, waits := asks[v.For]; waits && !seen[v.For] {
			seen[v.For] = true
			h.add(a)
		}
		lost = lost || v.NodeOnly
		if v.BlocksUntil.After(blocks) {
			blocks = v.BlocksUntil
		}
	}
	f.Cause = fmt.Sprintf("pod %s there was told to end and is overdue", overdue[0].Key)
	if len(overdue) > 1 {
		f.Cause = fmt.Sprintf("%d pods there, such as %s, were told to end and are overdue", len(overdue), overdue[0].Key)
	}
	switch {
	case lost:
		f.Cause += "; the node is not ready"
	case !n.Schedulable:
		f.Cause += "; the node takes nothing new"
	}
	if !blocks.IsZero() {
		f.Detail = "no others are told to end on the node before " + blocks.UTC().Format(time.RFC3339)
	}
	if h.asks > 0 {
		f.Severity = Urgent
		h.to(&f)
	}
	f.try = func(e *examination, f *Finding) { e.tryEnds(f, n, overdue) }
	return f
}

// tryEnds tries what runs once the pods have ended.
func (e *examination) tryEnds(f *Finding, n *api.NodeView, overdue []*api.Eviction) {
	owners := map[api.AllocationKey]api.ApplicationID{}
	for _, a := range n.Allocations {
		owners[a.Key] = a.Application
	}
	var ends []api.Command
	for _, v := range overdue {
		ends = append(ends, api.ReleaseAllocation{Application: owners[v.Key], Key: v.Key})
	}
	run, ok := e.wouldRun(ends...)
	if !ok {
		return
	}
	f.Tried = true
	f.Remedy = fmt.Sprintf("%s would run once they have ended: see on the node, or in the cluster manager, what keeps them", wording.Several(len(run), "ask"))
	if len(run) == 0 {
		f.Remedy = "nothing that waits would run once they have ended; see on the node, or in the cluster manager, what keeps them"
	}
}
