package metrics

import (
	"time"

	dto "github.com/prometheus/client_model/go"

	"github.com/narwhal-scheduler/narwhal/pkg/archive"
	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/core/preemptor"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// A reading makes series of the view of one partition. It goes over the view
// once: nodes, applications with their asks, queues.
type reading struct {
	page      *page
	view      *api.View
	partition *dto.LabelPair
	resource  []*dto.LabelPair // by kind
	busy      []bool           // by kind: it is used or asked for
	leaves    map[api.QueuePath]*leafCounts
}

// newReading is made after the view, so that the table knows its kinds.
func newReading(p *page, view *api.View, partition *dto.LabelPair, kinds *resources.Kinds) *reading {
	r := &reading{page: p, view: view, partition: partition, leaves: map[api.QueuePath]*leafCounts{}}
	n := kinds.Len()
	r.resource, r.busy = make([]*dto.LabelPair, n), make([]bool, n)
	for i := range n {
		kind := resources.Kind(i)
		r.resource[i] = label("resource", kinds.Name(kind))
		r.busy[i] = view.Root.Used.Of(kind) != 0 || view.Root.Pending.Of(kind) != 0
	}
	return r
}

func (r *reading) all(arrived []archive.Arrivals) {
	r.amounts()
	r.nodes()
	r.asks()
	r.owners(arrived)
	r.groups()
	r.queue(r.view.Root, nil)
	r.counters()
}

// groups are those whose members name them.
func (r *reading) groups() {
	var states [len(groupStates)]int
	var first time.Time
	for _, g := range r.view.Groups {
		if g.Terms.Least == 0 {
			continue // the placeholders of a gang
		}
		if states[g.State]++; !g.BelowSince.IsZero() && (first.IsZero() || g.BelowSince.Before(first)) {
			first = g.BelowSince
		}
	}
	for state, n := range states {
		r.page.add(groupsByState, float64(n), r.partition, groupLabels[state])
	}
	r.page.add(groupsBelowSince, secondsOf(first), r.partition)
}

// groupStates are the values of the label state of groups.
var groupStates = [...]string{api.GroupWaits: "waiting", api.GroupRuns: "running", api.GroupIsBelow: "below_minimum"}

// Labels with a fixed choice of values.
var (
	groupLabels   = labelled("state", groupStates[:])
	amountStates  = labelled("state", []string{"capacity", "allocated", "occupied"})
	workLabels    = labelled("what", []string{"nodes", "queues", "applications", "asks", "attempts", "node_costs"})
	outcomeLabels = labelled("outcome", []string{"plans", "nominations", "cleared", "loops", "reservations"})
	triggerLabels = named("trigger", preemptor.Triggers, preemptor.Trigger.String)
)

// amounts are those of the partition, of the kinds that there are, and the foreign
// allocations that are in none of them.
func (r *reading) amounts() {
	r.page.add(foreignUnknownNode, float64(len(r.view.ForeignUnknownNode)), r.partition)
	for i, resource := range r.resource {
		kind := resources.Kind(i)
		values := [...]int64{r.view.Capacity.Of(kind), r.view.Used.Of(kind), r.view.Occupied.Of(kind)}
		if values == [3]int64{} {
			continue
		}
		for state, value := range values {
			r.page.add(partitionResource, float64(value), r.partition, resource, amountStates[state])
		}
	}
}

// counters are counted by the partition, since it was made.
func (r *reading) counters() {
	w, p := &r.view.Work, &r.view.Preempted
	for i, n := range [...]uint64{w.Nodes, w.Queues, w.Applications, w.Asks, w.Attempts, w.NodeCosts} {
		r.page.add(work, float64(n), r.partition, workLabels[i])
	}
	r.page.add(placements, float64(w.Placements), r.partition)
	for i, n := range [...]uint64{p.Plans, p.Nominations, p.Cleared, p.Loops, p.Reservations} {
		r.page.add(preemptionOutcomes, float64(n), outcomeLabels[i], r.partition)
	}
}
