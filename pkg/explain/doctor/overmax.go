package doctor

import (
	"fmt"
	"strings"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/archive"
	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/core/preemptor"
	"github.com/narwhal-scheduler/narwhal/pkg/explain"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
	"github.com/narwhal-scheduler/narwhal/pkg/wording"
)

// overMax finds queues that use more than their max: what runs there stays, and what waits there waits until it has ended.
func (e *examination) overMax(q *api.QueueView) {
	var parts []string
	for i, used := range q.Used {
		kind := resources.Kind(i)
		if most := q.Max.Of(kind); most != resources.Unlimited && used > most {
			parts = append(parts, fmt.Sprintf("%s of %s", e.one(kind, used), e.one(kind, most)))
		}
	}
	if len(parts) > 0 && q != e.view.Root {
		f := Finding{Kind: OverMax, Severity: Note, Subject: string(q.Path), Queue: q.Path}
		f.Cause = "it uses more than its max: " + strings.Join(parts, " and ") + e.lowered(q, &f)
		var h harm
		e.eachAsk(q, func(a askOf) {
			if a.Reason == api.QuotaExceeded {
				h.add(a)
			}
		})
		switch ending := e.givenBack(q.Path); {
		case ending > 0:
			f.Remedy = fmt.Sprintf("none is needed: %d of its pods were told to end", ending)
		case h.asks > 0:
			f.Severity, f.try = Wrong, tryFirst
		default:
			f.Remedy = "none was tried: nothing waits for its quota; what runs may end, or its max is raised"
		}
		h.to(&f)
		f.Queue, f.Detail = q.Path, e.givesBack(q)
		e.add(f)
	}
	for _, child := range q.Queues {
		e.overMax(child)
	}
}

// lowered says how the max of a queue came below what it uses, and dates the finding by that, as far as it is known.
func (e *examination) lowered(q *api.QueueView, f *Finding) string {
	var parts []string
	at := e.past.LoweredMax(q.Path)
	for i, used := range q.Used {
		kind := resources.Kind(i)
		was, known := at[kind]
		if !known || used <= q.Max.Of(kind) {
			continue
		}
		if f.Since.IsZero() || was.At.Before(f.Since) {
			f.Since, f.SinceOf = was.At, "when its max was lowered"
		}
		before := "no max of " + e.kinds.Name(kind)
		if was.From != resources.Unlimited {
			before = e.one(kind, was.From)
		}
		parts = append(parts, before)
	}
	if len(parts) == 0 {
		return ""
	}
	return "; that was lowered from " + strings.Join(parts, " and ") + e.configuredAt(f.Since)
}

// configuredAt names the configuration that came into use at a time, if it is known.
func (e *examination) configuredAt(at time.Time) string {
	for i := len(e.changes) - 1; i >= 0; i-- { // it is noted once it is in use
		if c := &e.changes[i]; c.Kind == archive.Configured && c.Before != "" && !c.At.Before(at) {
			return fmt.Sprintf(" by configuration %s -> %s", wording.ShortSum(c.Before), wording.ShortSum(c.After))
		}
	}
	return ""
}

// givesBack says when something is evicted because a queue is over its max, or why nothing is.
func (e *examination) givesBack(q *api.QueueView) string {
	off := ""
	switch p := e.view.Config.Preemption; {
	case p.Disabled:
		off = "preemption is off"
	case !p.Quota:
		off = "quota preemption is off in the partition"
	case q.Properties.QuotaDelay <= 0:
		off = "quota preemption is off there, as it has no quota.preemption.delay"
	}
	at, _ := explain.GivesBackAt(e.view, q)
	switch {
	case off != "":
		return "nothing is evicted for that: " + off
	case at.After(e.trial.Now):
		return "evictions for that begin at " + at.UTC().Format(time.RFC3339)
	case q.QuotaPlan != nil && len(q.QuotaPlan.Victims) == 0:
		return fmt.Sprintf("evictions for that were due at %s; at %s nothing more was found to evict", at.UTC().Format(time.RFC3339), q.QuotaPlanned.UTC().Format(time.RFC3339))
	}
	return "evictions for that began at " + at.UTC().Format(time.RFC3339)
}

// givenBack is how many allocations of a queue were told to end because it is over its max.
func (e *examination) givenBack(queue api.QueuePath) (n int) {
	of := map[api.AllocationKey]bool{}
	for _, app := range e.view.Applications {
		if app.Queue.IsWithin(queue) {
			for _, a := range app.Allocations {
				of[a.Key] = true
			}
		}
	}
	for _, node := range e.view.Nodes {
		for i := range node.Evictions {
			if v := &node.Evictions[i]; v.Trigger == preemptor.Quota && !v.Reported && of[v.Key] {
				n++
			}
		}
	}
	return n
}
