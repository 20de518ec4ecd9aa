package doctor

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/wording"
)

// ofOthers is the subject of evictions of what other schedulers run.
const ofOthers = "other schedulers"

// An overdue eviction is of an allocation that did not end in time.
type overdue struct {
	*api.Eviction
	on          *api.NodeView
	application api.ApplicationID
}

// victims finds allocations that were told to end and have not ended in time, by queue.
func (e *examination) victims() {
	var by map[string][]overdue // by queue, made with the first
	var owners map[api.AllocationKey]*api.ApplicationView
	for _, n := range e.view.Nodes {
		e.looked.Evictions += len(n.Evictions)
		for i := range n.Evictions {
			v := overdue{Eviction: &n.Evictions[i], on: n}
			if !v.Overdue {
				continue
			}
			if by == nil {
				by, owners = map[string][]overdue{}, e.owners()
			}
			queue := ofOthers
			if app := owners[v.Key]; app != nil {
				queue, v.application = string(app.Queue), app.ID
			}
			by[queue] = append(by[queue], v)
		}
	}
	if by == nil {
		return
	}
	asks := map[api.AllocationKey]askOf{}
	e.eachAsk(e.view.Root, func(a askOf) { asks[a.Key] = a })
	for queue, all := range by { // each for itself; the report has its own order
		slices.SortFunc(all, func(a, b overdue) int {
			return cmp.Or(a.Since.Compare(b.Since), strings.Compare(string(a.Key), string(b.Key)))
		})
		e.add(e.hanging(queue, all, asks))
	}
}

// owners are the applications of all that runs.
func (e *examination) owners() map[api.AllocationKey]*api.ApplicationView {
	owners := map[api.AllocationKey]*api.ApplicationView{}
	for _, app := range e.view.Applications {
		for _, a := range app.Allocations {
			owners[a.Key] = app
		}
	}
	return owners
}

// hanging is the finding about the overdue evictions of a queue, the oldest first.
func (e *examination) hanging(queue string, all []overdue, asks map[api.AllocationKey]askOf) Finding {
	f := Finding{Kind: Hanging, Severity: Wrong, Subject: queue, Since: all[0].Since, SinceOf: "the oldest of them"}
	var h harm
	seen := map[api.AllocationKey]bool{}
	nodes, closed := map[api.NodeID]bool{}, map[api.NodeID]bool{}
	lost, blocks := map[api.NodeID]bool{}, time.Time{}
	for _, v := range all {
		if a, waits := asks[v.For]; waits && !seen[v.For] {
			seen[v.For] = true
			h.add(a)
		}
		nodes[v.on.ID] = true
		switch {
		case v.NodeOnly:
			lost[v.on.ID] = true
		case !v.on.Schedulable:
			closed[v.on.ID] = true
		}
		if v.BlocksUntil.After(blocks) {
			blocks = v.BlocksUntil
		}
	}
	f.Cause = fmt.Sprintf("pod %s of it on node %s was told to end and is overdue", all[0].Key, all[0].on.ID)
	if len(all) > 1 {
		f.Cause = fmt.Sprintf("%d pods of it on %s were told to end and are overdue, the oldest is %s on node %s",
			len(all), wording.Several(len(nodes), "node"), all[0].Key, all[0].on.ID)
	} else {
		f.SinceOf = "the eviction"
	}
	if len(lost) > 0 {
		f.Cause += "; " + ofThese(lost, nodes, "not ready")
	}
	if len(closed) > 0 {
		f.Cause += "; " + ofThese(closed, nodes, "closed to new pods")
	}
	if !blocks.IsZero() {
		f.Detail = "no others are told to end there before " + blocks.UTC().Format(time.RFC3339)
	}
	if h.asks > 0 {
		f.Severity = Urgent
		h.to(&f)
	}
	f.try = func(e *examination, f *Finding) { e.tryEnds(f, all) }
	return f
}

// ofThese says how many of some nodes are in a state.
func ofThese(some, all map[api.NodeID]bool, state string) string {
	switch {
	case len(all) == 1:
		return "the node is " + state
	case len(some) == len(all):
		return "the nodes are " + state
	case len(some) == 1:
		return "1 of the nodes is " + state
	}
	return fmt.Sprintf("%d of the nodes are %s", len(some), state)
}

// tryEnds tries what runs once the pods have ended.
func (e *examination) tryEnds(f *Finding, all []overdue) {
	var ends []api.Command
	for _, v := range all {
		ends = append(ends, api.ReleaseAllocation{Application: v.application, Key: v.Key})
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
