package doctor

import (
	"fmt"
	"slices"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/wording"
)

const (
	// refusedMax is of how many applications the resource manager is asked about an ask, and askedMax about how many nodes each.
	refusedMax = 5
	askedMax   = 50
)

// refused finds asks that the resource manager refuses on every node that could hold them, such as those for a label that no node has. Of
// the applications it looks at those that wait longest.
func (e *examination) refused() {
	if e.trial.MayRun == nil {
		return
	}
	known := map[string]bool{}
	for i := range e.found {
		known[e.found[i].Subject] = known[e.found[i].Subject] || e.found[i].Kind == Impossible
	}
	var first []askOf
	for _, app := range e.view.Applications {
		var h harm
		for i := range app.Asks {
			if a := (askOf{&app.Asks[i], app}); a.Nominated == "" && (a.Reason == api.Infeasible || a.Reason == api.NoNodeFits) {
				h.add(a)
			}
		}
		if h.asks > 0 && !known["application "+string(app.ID)] {
			first = append(first, h.first)
		}
	}
	slices.SortStableFunc(first, func(a, b askOf) int { return a.Created.Compare(b.Created) })
	for _, a := range first[:min(len(first), refusedMax)] {
		if e.ctx.Err() != nil {
			return
		}
		if nodes, text := e.refusedOn(a); nodes > 0 {
			var h harm
			for i := range a.of.Asks {
				if other := (askOf{&a.of.Asks[i], a.of}); other.Reason == a.Reason && other.Amounts.Equal(a.Amounts) {
					h.add(other)
				}
			}
			f := Finding{Kind: Impossible, Severity: Wrong, Subject: "application " + string(a.of.ID)}
			f.Cause = fmt.Sprintf("%s of it is refused on %s that could hold it: %s", a.Key, wording.Several(nodes, "node"), text)
			if nodes == askedMax {
				f.Cause = fmt.Sprintf("%s of it is refused on all of %d nodes that were asked about: %s", a.Key, nodes, text)
			}
			f.Remedy = "none was tried: a node that the resource manager accepts it on has to come, or it asks for another"
			h.to(&f)
			e.add(f)
		}
	}
}

// refusedOn is on how many nodes an ask is refused, if that is so on all that could hold it and that were asked about, and why on the first.
func (e *examination) refusedOn(a askOf) (nodes int, text string) {
	for _, n := range e.view.Nodes {
		if !n.Schedulable || !a.Amounts.FitsIn(n.Capacity) || a.Required != "" && a.Required != n.ID {
			continue
		}
		if nodes == askedMax {
			break
		}
		asked, refused := e.trial.MayRun(a.Key, n.ID)
		if !asked || refused == nil {
			return 0, ""
		}
		if nodes++; nodes == 1 {
			text = refused.Error()
		}
	}
	return nodes, text
}
