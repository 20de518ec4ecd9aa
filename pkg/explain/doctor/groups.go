package doctor

import (
	"fmt"
	"maps"
	"slices"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/explain"
	"github.com/narwhal-scheduler/narwhal/pkg/wording"
)

// groups finds groups below their minimum: such as started and of which too little runs now, and such as cannot start, as too few
// of their members are there.
func (e *examination) groups() {
	harms := map[string]*harm{}
	e.eachAsk(e.view.Root, func(a askOf) {
		name := explain.GroupOf(a.Allocation)
		if _, known := e.view.Groups[name]; known {
			if harms[name] == nil {
				harms[name] = new(harm)
			}
			harms[name].add(a)
		}
	})
	for _, name := range slices.Sorted(maps.Keys(e.view.Groups)) {
		g := e.view.Groups[name]
		h := harms[name]
		if g.Terms.BySubgroup || g.Terms.Least == 0 {
			h = nil // how many are there says nothing
		}
		there := g.Running + g.Waiting + g.Done
		switch {
		case !g.BelowSince.IsZero():
			f := Finding{Kind: BrokenGroup, Severity: Wrong, Subject: name, Since: g.BelowSince, SinceOf: "when too few ran first"}
			f.Cause = fmt.Sprintf("it has started, and %d of the %d members that it needs run; %s", g.Running+g.Done, g.Terms.Least, waiting(g.Waiting))
			if g.Terms.BySubgroup {
				f.Cause = fmt.Sprintf("it has started, and of the %d subgroups that it needs too few are whole; %s", g.Terms.Least, waiting(g.Waiting))
			}
			e.group(f, g, harms[name])
		case h != nil && g.Running == 0 && there < g.Terms.Least:
			f := Finding{Kind: BrokenGroup, Severity: Wrong, Subject: name}
			f.Cause = fmt.Sprintf("it cannot start: %d of the %d members that it needs are there", there, g.Terms.Least)
			e.group(f, g, h)
		}
	}
}

// group adds the finding about a group.
func (e *examination) group(f Finding, g api.GroupView, h *harm) {
	f.Detail = g.Detail
	if h == nil {
		if f.Remedy = notTried; g.Waiting == 0 {
			f.Remedy = "none was tried: none of its members waits; more of them have to come"
		}
		e.add(f)
		return
	}
	if f.try = tryFirst; g.Running+g.Waiting+g.Done < g.Terms.Least {
		f.try = nil
		f.Remedy = "none was tried: " + wording.Several(g.Terms.Least-g.Running-g.Waiting-g.Done, "member") + " more must come"
	}
	h.to(&f)
	e.add(f)
}
