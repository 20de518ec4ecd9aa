package doctor

import (
	"fmt"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// sizesMax is of how many different sizes of asks it is looked at all nodes whether one could hold them.
const sizesMax = 100

// A never finds out which asks can run nowhere.
type never struct {
	e       *examination
	largest resources.Amounts // of each kind on any node
	sizes   map[string]bool   // whether no node could hold asks of a size
}

// newNever looks at all nodes.
func newNever(e *examination) *never {
	v := &never{e: e, sizes: map[string]bool{}}
	for _, n := range e.view.Nodes {
		v.largest.Raise(n.Capacity)
	}
	return v
}

// why is why an ask can run nowhere; empty if it may, or if that is not known.
func (v *never) why(a askOf) string {
	switch a.Reason {
	case api.Impossible, api.KindUnknown, api.NodeUnknown:
		if a.Detail != "" {
			return a.Reason.String() + ": " + a.Detail
		}
		return a.Reason.String()
	case api.QuotaExceeded:
		for q := v.e.view.Root; q != nil; q = q.Towards(a.of.Queue) {
			if !a.Amounts.Within(q.Max) {
				return fmt.Sprintf("it asks for %s, more than the max of queue %s, %s", v.e.kinds.Format(a.Amounts), q.Path, v.e.kinds.FormatLimits(q.Max))
			}
		}
	}
	if (a.Reason == api.NoNodeFits || a.Reason == api.QuotaExceeded || a.Reason.IsLimit()) && v.noNode(a.Amounts) {
		return fmt.Sprintf("it asks for %s, more than any node has", v.e.kinds.Format(a.Amounts))
	}
	return ""
}

// noNode reports whether no node could hold some amounts.
func (v *never) noNode(amounts resources.Amounts) bool {
	if !amounts.FitsIn(v.largest) {
		return true
	}
	size := v.e.kinds.Format(amounts)
	none, known := v.sizes[size]
	if known || len(v.sizes) == sizesMax {
		return none
	}
	none = true
	for _, n := range v.e.view.Nodes {
		if amounts.FitsIn(n.Capacity) {
			none = false
			break
		}
	}
	v.sizes[size] = none
	return none
}

// impossible finds asks that can run nowhere, by application and reason.
func (e *examination) impossible() {
	e.byApplication(e.never.why, func(a askOf, why string) Finding {
		return Finding{Kind: Impossible, Severity: Wrong, Cause: fmt.Sprintf("%s of it can run nowhere: %s", a.Key, why), try: tryFirst}
	})
}

// loops finds applications for which no more room is made for now, as that came to nothing again and again, and those of which
// no ask is tried for now, as many failed.
func (e *examination) loops() {
	e.byApplication(func(a askOf) string {
		switch {
		case a.Reason == api.LoopStopped && a.Detail != "":
			return a.Reason.String() + ": " + a.Detail
		case a.Reason == api.LoopStopped:
			return a.Reason.String()
		case a.of.BackoffUntil.After(e.trial.Now):
			return "many of its asks failed, so none is tried before " + a.of.BackoffUntil.UTC().Format(time.RFC3339)
		}
		return ""
	}, func(a askOf, why string) Finding {
		f := Finding{Kind: LoopStopped, Severity: Wrong, Cause: why, try: tryFirst}
		if !a.Planned.IsZero() {
			f.Since, f.SinceOf = a.Planned, "the last plan"
		}
		return f
	})
}

// byApplication adds a finding for each application with asks that something is said of and no room is made for, about the one that waits longest.
func (e *examination) byApplication(said func(askOf) string, finding func(a askOf, why string) Finding) {
	for _, app := range e.view.Applications {
		var h harm
		for i := range app.Asks {
			if a := (askOf{&app.Asks[i], app}); a.Nominated == "" && said(a) != "" {
				h.add(a)
			}
		}
		if h.asks == 0 {
			continue
		}
		f := finding(h.first, said(h.first))
		f.Subject = "application " + string(app.ID)
		h.to(&f)
		e.add(f)
	}
}
