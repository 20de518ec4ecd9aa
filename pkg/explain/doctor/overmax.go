package doctor

import (
	"fmt"
	"strings"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/core/preemptor"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
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
		f.Cause = "it uses more than its max: " + strings.Join(parts, " and ")
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
		f.Queue = q.Path
		e.add(f)
	}
	for _, child := range q.Queues {
		e.overMax(child)
	}
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
