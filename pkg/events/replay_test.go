package events_test

import (
	"fmt"
	"slices"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// A replay is what a partition holds, according to its events and nothing else.
type replay struct {
	applications map[api.ApplicationID]*api.ApplicationView // without lists and sums
	nodes        map[api.NodeID]*api.NodeView               // as those
	asks         map[api.AllocationKey]*api.Allocation
	running      map[api.AllocationKey]*api.Allocation
	foreign      map[api.AllocationKey]*api.Allocation
	moving       *api.Allocation // the foreign one that was just removed, in the same step
	evicted      api.Eviction    // of that one, if there was one
	reserved     map[api.AllocationKey]api.Reservation
	nominated    map[api.AllocationKey]api.NodeID
	triggers     map[api.AllocationKey]string // of nominations
	evictions    map[api.AllocationKey]api.Eviction
	total        resources.Amounts
	root         api.QueueConfig
	recovery     bool           // there is a recovery queue
	met          map[string]int // events by type
}

func newReplay() *replay {
	return &replay{
		applications: map[api.ApplicationID]*api.ApplicationView{}, nodes: map[api.NodeID]*api.NodeView{},
		asks: map[api.AllocationKey]*api.Allocation{}, running: map[api.AllocationKey]*api.Allocation{}, foreign: map[api.AllocationKey]*api.Allocation{},
		reserved: map[api.AllocationKey]api.Reservation{}, nominated: map[api.AllocationKey]api.NodeID{}, triggers: map[api.AllocationKey]string{},
		evictions: map[api.AllocationKey]api.Eviction{}, met: map[string]int{},
	}
}

// begin puts an allocation into a list in which it must not be.
func begin(list map[api.AllocationKey]*api.Allocation, a *api.Allocation) error {
	if list[a.Key] != nil {
		return fmt.Errorf("%s is there already", a.Key)
	}
	list[a.Key] = a
	return nil
}

// end takes an allocation out of a list in which it must be, as it is.
func end(list map[api.AllocationKey]*api.Allocation, a *api.Allocation) error {
	if known := list[a.Key]; known == nil || allocationText(known) != allocationText(a) {
		return fmt.Errorf("%s is not there as it was: %+v", a.Key, known)
	}
	delete(list, a.Key)
	return nil
}

// take replays an event; it fails if the event makes no sense after those before.
func (r *replay) take(now time.Time, event api.Event) error {
	r.met[fmt.Sprintf("%T", event)]++
	moving := r.moving
	r.moving = nil
	switch e := event.(type) {
	case api.AskAdded:
		if app := r.applications[e.Application]; e.Created.Before(app.Submitted) {
			app.Submitted = e.Created
		}
		return begin(r.asks, e.Allocation)
	case api.AskResized:
		r.asks[e.Key] = e.Allocation
	case *api.AskEnded:
		return end(r.asks, e.Allocation)
	case api.Placed:
		return r.placed(e.Allocation, true)
	case api.Adopted:
		if app := r.applications[e.Application]; e.Created.Before(app.Submitted) {
			app.Submitted = e.Created
		}
		return r.placed(e.Allocation, false)
	case *api.Resized:
		if before := r.running[e.Key]; !before.Amounts.Equal(e.Before) {
			return fmt.Errorf("it had %v before", before.Amounts)
		}
		r.running[e.Key] = e.Allocation
	case *api.Ended:
		eviction, evicted := r.evictions[e.Key]
		if (evicted && !eviction.Reported) != e.Evicted {
			return fmt.Errorf("evicted: %t", evicted)
		}
		delete(r.evictions, e.Key)
		return end(r.running, e.Allocation)
	case *api.EvictionRequested:
		r.evictions[e.Key] = api.Eviction{Key: e.Key, For: e.For, Since: now, Trigger: e.Trigger, Class: e.Class}
	case *api.ReleaseRequested:
		if e.Cause == api.CauseTimedOut && e.Node != "" {
			r.evictions[e.Key] = api.Eviction{Key: e.Key, Since: now, Reported: true, Dismissed: true}
		}
	case api.ForeignAdded:
		if moving != nil && moving.Key == e.Key && moving.Node == e.Node && r.evicted.Key == e.Key {
			r.evictions[e.Key] = r.evicted // it has other amounts and is still to go
		}
		return begin(r.foreign, e.Allocation)
	case api.ForeignRemoved:
		r.moving, r.evicted = e.Allocation, r.evictions[e.Key]
		delete(r.evictions, e.Key)
		return end(r.foreign, e.Allocation)
	default:
		return r.takeRest(now, event)
	}
	return nil
}

func (r *replay) placed(a *api.Allocation, waited bool) error {
	if r.asks[a.Key] == nil && waited {
		return fmt.Errorf("%s did not wait", a.Key)
	}
	delete(r.asks, a.Key)
	return begin(r.running, a)
}

func (r *replay) takeRest(now time.Time, event api.Event) error {
	switch e := event.(type) {
	case *api.Claimed:
		if e.Plan != nil {
			r.nominated[e.Key], r.triggers[e.Key] = e.Node, e.Plan.Trigger.String()
			return nil
		}
		r.reserved[e.Key] = api.Reservation{Node: e.Node, Key: e.Key, At: now, Required: e.Required != ""}
	case *api.ClaimEnded:
		switch {
		case e.Nominated && r.nominated[e.Key] != e.Node, !e.Nominated && r.reserved[e.Key].Node != e.Node:
			return fmt.Errorf("it had no claim on %q", e.Node)
		case e.Nominated:
			delete(r.nominated, e.Key)
		default:
			delete(r.reserved, e.Key)
		}
	case *api.ApplicationAccepted:
		r.applications[e.ID] = &api.ApplicationView{
			ID: e.ID, Queue: e.Queue, User: e.User, Groups: e.Groups, Tags: e.Tags, State: api.New, Since: now, Submitted: now,
		}
	case *api.ApplicationChanged:
		app := r.applications[e.ID]
		if app.State != e.From || app.Queue != e.Queue {
			return fmt.Errorf("it is %s in %s", app.State, app.Queue)
		}
		app.State, app.Since = e.State, now
	case *api.ApplicationGone:
		if app := r.applications[e.ID]; app.State != e.State || app.Queue != e.Queue {
			return fmt.Errorf("it is %s in %s", app.State, app.Queue)
		}
		delete(r.applications, e.ID)
	case *api.NodeAdded:
		r.nodes[e.ID] = &api.NodeView{ID: e.ID, Capacity: e.Capacity, Attributes: e.Attributes, Schedulable: e.Schedulable}
		r.total = e.Total
	case *api.NodeResized:
		r.nodes[e.ID].Capacity, r.total = e.Capacity, e.Total
	case *api.NodeAttributes:
		r.nodes[e.ID].Attributes = e.Attributes
	case *api.NodeSchedulable:
		if r.nodes[e.ID].Schedulable == e.Schedulable {
			return fmt.Errorf("it is so already")
		}
		r.nodes[e.ID].Schedulable = e.Schedulable
	case *api.NodeRemoved:
		delete(r.nodes, e.ID)
		r.total = e.Total
	case *api.QueueAdded:
		if r.recovery || e.Queue != api.RecoveryQueue {
			return fmt.Errorf("%s is there already, or is configured", e.Queue)
		}
		r.recovery = true
	case *api.QueueRemoved:
		for id, app := range r.applications {
			if app.Queue == e.Queue {
				return fmt.Errorf("%s is in it", id)
			}
		}
		r.recovery = false
	case *api.Reconfigured:
		if fmt.Sprint(r.root) != fmt.Sprint(e.Before) || !r.total.Equal(e.Total) {
			return fmt.Errorf("it was %v, of %v", r.root, r.total)
		}
		r.root = e.After
	}
	return nil
}

// allocationText is all of an allocation.
func allocationText(a *api.Allocation) string { return fmt.Sprintf("%+v", *a) }

func applicationText(a *api.ApplicationView, used, pending resources.Amounts) string {
	return fmt.Sprintf("application %s in %s of %s %v %v: %s since %d, submitted %d, used %s pending %s", a.ID, a.Queue, a.User, a.Groups, a.Tags,
		a.State, a.Since.UnixNano(), a.Submitted.UnixNano(), sumText(used), sumText(pending))
}

func nodeText(n *api.NodeView, allocated, occupied resources.Amounts) string {
	return fmt.Sprintf("node %s %v %t: %s, allocated %s occupied %s", n.ID, n.Attributes, n.Schedulable, sumText(n.Capacity), sumText(allocated), sumText(occupied))
}

func sumText(sum resources.Amounts) string { return fmt.Sprint(sum.Of(0), ":", sum.Of(1)) }

// reservationText is a reservation. For an ask with a required node it is as old as the ask waits
// there, though it may be given up and made again.
func reservationText(r api.Reservation) string {
	if r.Required {
		r.At = time.Time{}
	}
	r.Amounts = nil // those of the ask
	return fmt.Sprintf("reservation %+v", r)
}

func nominationText(key api.AllocationKey, node api.NodeID, trigger string) string {
	return fmt.Sprintf("nomination of %s to %s by %s", key, node, trigger)
}

// foreignText is a foreign allocation. No event tells of another priority of it.
func foreignText(a *api.Allocation) string {
	own := *a
	own.Priority = 0
	return "foreign " + allocationText(&own)
}

func evictionText(node api.NodeID, e api.Eviction) string {
	e.Overdue = false // which is a matter of time, not an event
	return fmt.Sprintf("eviction on %s: %+v", node, e)
}

// shown is all that the events say, one thing a line.
func (r *replay) shown() (lines []string) {
	used, pending := map[api.ApplicationID]resources.Amounts{}, map[api.ApplicationID]resources.Amounts{}
	allocated, occupied := map[api.NodeID]resources.Amounts{}, map[api.NodeID]resources.Amounts{}
	var allUsed, allOccupied resources.Amounts
	for _, a := range r.asks {
		lines = append(lines, "ask "+allocationText(a))
		pending[a.Application] = pending[a.Application].Plus(a.Amounts)
	}
	for _, a := range r.running {
		lines = append(lines, "runs "+allocationText(a))
		used[a.Application], allocated[a.Node] = used[a.Application].Plus(a.Amounts), allocated[a.Node].Plus(a.Amounts)
		allUsed.Add(a.Amounts)
	}
	for _, a := range r.foreign {
		lines = append(lines, foreignText(a))
		occupied[a.Node] = occupied[a.Node].Plus(a.Amounts)
		allOccupied.Add(a.Amounts)
	}
	for _, app := range r.applications {
		lines = append(lines, applicationText(app, used[app.ID], pending[app.ID]))
	}
	for _, n := range r.nodes {
		lines = append(lines, nodeText(n, allocated[n.ID], occupied[n.ID]))
	}
	for _, held := range r.reserved {
		lines = append(lines, reservationText(held))
	}
	for key, node := range r.nominated {
		lines = append(lines, nominationText(key, node, r.triggers[key]))
	}
	for key, e := range r.evictions {
		if a := r.running[key]; a != nil {
			lines = append(lines, evictionText(a.Node, e))
		} else if a := r.foreign[key]; a != nil {
			lines = append(lines, evictionText(a.Node, e))
		}
	}
	lines = append(lines, fmt.Sprint("sums ", sumText(r.total), sumText(allUsed), sumText(allOccupied), r.recovery))
	slices.Sort(lines)
	return lines
}

// shownBy is the same, made of a view.
func shownBy(v *api.View) (lines []string) {
	for _, n := range v.Nodes {
		lines = append(lines, nodeText(n, n.Allocated, n.Occupied))
		for _, a := range n.Allocations {
			lines = append(lines, "runs "+allocationText(a))
		}
		for _, a := range n.ForeignAllocations {
			lines = append(lines, foreignText(a))
		}
		for _, held := range n.Reservations {
			lines = append(lines, reservationText(held))
		}
		for _, e := range n.Evictions {
			e.BlocksUntil = time.Time{} // follows from the others and the clock
			lines = append(lines, evictionText(n.ID, e))
		}
	}
	for _, app := range v.Applications {
		lines = append(lines, applicationText(app, app.Used, app.Pending))
		for _, ask := range app.Asks {
			lines = append(lines, "ask "+allocationText(ask.Allocation))
			if ask.Nominated != "" {
				lines = append(lines, nominationText(ask.Key, ask.Nominated, ask.Trigger.String()))
			}
		}
	}
	recovery := slices.ContainsFunc(v.Root.Queues, func(q *api.QueueView) bool { return q.Path == api.RecoveryQueue })
	lines = append(lines, fmt.Sprint("sums ", sumText(v.Capacity), sumText(v.Used), sumText(v.Occupied), recovery))
	slices.Sort(lines)
	return lines
}
