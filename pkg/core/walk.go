package core

import (
	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/core/ledger"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// What follows is for readers of the asks that wait as they are now. Other than a View these belong to
// the goroutine of the partition, and cost what is shown, however many wait.

// CountAsks is how many asks wait, and a number that rises when anything changes that may matter to
// them.
func (p *Partition) CountAsks() (asks int, changes uint64) { return p.Waiting, p.Stamp }

// A Bookmark is a place among the asks that wait: an ask of an application, by its place, or, if
// there is no such ask or application, the next application. The zero value is before them all.
type Bookmark struct {
	application api.ApplicationID
	ask         int
}

// WalkAsks shows asks that wait, each with the queue of its application, from a bookmark on. An
// application costs a look too, whether it has asks or not; after so many looks the walk stops. Next
// is where to go on, the zero value at the end. Asks that change places between two calls may be
// missed.
func (p *Partition) WalkAsks(from Bookmark, looks int, show func(api.QueuePath, api.AskView)) (next Bookmark) {
	next = from
	p.ApplicationsFrom(from.application, func(app *ledger.Application) bool {
		if app.ID != next.application {
			next = Bookmark{application: app.ID}
		}
		for ; next.ask < len(app.Asks) && looks > 0; next.ask++ {
			looks--
			r := app.Asks[next.ask]
			show(app.Queue.Path, api.AskView{Allocation: r.Allocation, Waiting: p.waitsFor(r), Number: r.Number})
		}
		looks--
		return looks > 0
	})
	if looks > 0 {
		return Bookmark{}
	}
	return next
}

// FindAsk is an ask that waits, and the queue of its application. It is false if none of that key waits.
func (p *Partition) FindAsk(key api.AllocationKey) (api.QueuePath, api.AskView, bool) {
	r := p.Requests[key]
	if r == nil || r.Foreign() || r.Node != "" {
		return "", api.AskView{}, false
	}
	return r.App.Queue.Path, api.AskView{Allocation: r.Allocation, Waiting: p.waitsFor(r), Number: r.Number}, true
}

// WithoutQuota is the highest queue that has no quota for an ask that waits; empty if all have.
func (p *Partition) WithoutQuota(ask api.AllocationKey) api.QueuePath {
	if r := p.Requests[ask]; r != nil && p.ClassOf(r) != nil {
		if over := r.WithoutRoom(); over != nil {
			return over.Path
		}
	}
	return ""
}

// QuotaLeft is what a queue above an ask that waits has left for it, of the kinds that it wants.
func (p *Partition) QuotaLeft(ask api.AllocationKey, path api.QueuePath) resources.Limits {
	r := p.Requests[ask]
	q := r.App.Queue
	for q.Parent != nil && q.Path != path {
		q = q.Parent
	}
	left := q.Max.Minus(q.Used.Amounts)
	for i := range left {
		if r.Amounts.Of(resources.Kind(i)) <= 0 {
			left[i] = resources.Unlimited
		}
		if left[i] != resources.Unlimited {
			left[i] = resources.Total(left[i], -q.KeptFrom(r.Importance, resources.Kind(i)))
		}
	}
	return left
}

// Budgets asks the resource manager for the disruption budgets of allocations, as they
// are now. It says false if the resource manager knows of none.
func (p *Partition) Budgets(allocations []api.AllocationKey) ([]api.DisruptionBudget, bool) {
	if p.Options.Budgets == nil {
		return nil, false
	}
	return p.Options.Budgets(allocations), true
}

// MayRun asks the resource manager of a partition whether an ask that waits may run on a
// node, for readers: nothing comes of the answer. It says false if the resource manager
// refuses nothing. An ask that does not wait, as an empty key, is not asked about.
func (p *Partition) MayRun(ask api.AllocationKey, node api.NodeID) (known bool, refused error) {
	if p.Options.Feasible == nil {
		return false, nil
	}
	if r := p.Requests[ask]; r == nil || r.Foreign() || r.Node != "" || p.FindNode(node) == nil {
		return true, nil
	}
	return true, p.Options.Feasible(ask, node, true)
}
