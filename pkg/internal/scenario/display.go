package scenario

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/core"
	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/explain"
	"github.com/narwhal-scheduler/narwhal/pkg/outcomes"
)

// A display prints what there is, for the verb show. It changes no partition.
type display struct {
	*output
	partition *core.Partition
	manager   *manager
	outcomes  *outcomes.Book
	next      func() (time.Time, bool) // when something is due
}

// show is what to print, by its name.
func (d *display) show(a *arguments) (func(), error) {
	switch what := a.need("what to show"); what {
	case "nodes":
		return d.nodes(a)
	case "queues":
		return d.queues, nil
	case "applications":
		return d.applications, nil
	case "asks":
		return d.asks, nil
	case "foreign":
		return d.foreign, nil
	case "due":
		return d.due, nil
	case "plan":
		return d.plan(a)
	case "attempts":
		return d.attempts(a)
	case "excess":
		return d.excess, nil
	case "victims":
		return d.victims, nil
	case "preempted":
		return d.preempted, nil
	case "events":
		return d.events, nil
	default:
		return nil, fmt.Errorf("cannot show %q", what)
	}
}

// nodes prints the nodes that are named, or all, and below each what runs
// on it: own allocations, then foreign ones, then reservations.
func (d *display) nodes(a *arguments) (func(), error) {
	var shown []*api.NodeView
	for name := a.name(); name != ""; name = a.name() {
		nodes := d.partition.View().Nodes
		i := slices.IndexFunc(nodes, func(n *api.NodeView) bool { return string(n.ID) == name })
		if i < 0 {
			return nil, fmt.Errorf("no node %s to show", name)
		}
		shown = append(shown, nodes[i])
	}
	return func() {
		if len(shown) == 0 {
			shown = d.partition.View().Nodes
		}
		if len(shown) == 0 {
			d.printf("no nodes\n")
			return
		}
		d.table(func(row func(...string)) {
			row("node", "capacity", "allocated", "occupied", "available", "state")
			for _, n := range shown {
				d.nodeRows(n, row)
			}
		})
	}, nil
}

func (d *display) nodeRows(n *api.NodeView, row func(...string)) {
	state := "schedulable"
	if !n.Schedulable {
		state = "drained"
	}
	if len(n.Attributes) > 0 {
		state += " " + formatPairs(n.Attributes)
	}
	row(string(n.ID), d.amounts(n.Capacity), d.amounts(n.Allocated), d.amounts(n.Occupied), d.amounts(n.Available), state)
	for _, a := range byKey(n.Allocations) {
		row("  "+string(a.Key), "", d.amounts(a.Amounts), "", "", "of "+string(a.Application)+d.evictionOf(n, a.Key))
	}
	for _, a := range byKey(n.ForeignAllocations) {
		row("  "+string(a.Key), "", "", d.amounts(a.Amounts), "", originName(a.Origin)+d.evictionOf(n, a.Key))
	}
	for _, r := range n.Reservations {
		text := "reserved at " + offset(r.At)
		switch {
		case r.Required:
			text += ", required"
		case r.Lost != nil:
			text += ", for the one that takes its place"
		}
		row("  "+string(r.Key), "", "", "", "", text)
	}
	d.nominatedRows(n, row)
}

func (d *display) applications() {
	applications := d.partition.View().Applications
	if len(applications) == 0 {
		d.printf("no applications\n")
		return
	}
	d.table(func(row func(...string)) {
		row("application", "queue", "state", "used", "pending", "allocations", "asks")
		for _, a := range applications {
			row(string(a.ID), string(a.Queue), fmt.Sprintf("%s since %s", a.State, offset(a.Since)),
				d.amounts(a.Used), d.amounts(a.Pending), fmt.Sprint(len(a.Allocations)), fmt.Sprint(len(a.Asks)))
		}
	})
}

func (d *display) asks() {
	found := false
	d.table(func(row func(...string)) {
		for _, application := range d.partition.View().Applications {
			for _, a := range sortedBy(application.Asks, func(ask api.AskView) api.AllocationKey { return ask.Key }) {
				if !found {
					row("ask", "application", "amounts", "priority", "why it waits")
				}
				found = true
				why := a.Reason.String() + unlessEmpty(": ", explain.Detail(a.Waiting, d.kinds))
				if a.Nominated != "" {
					why += ", by " + a.Trigger.String()
				}
				if a.Reserved != "" {
					why += ", reserves " + string(a.Reserved)
				}
				row(string(a.Key), string(a.Application), d.amounts(a.Amounts), fmt.Sprint(a.Priority), why)
			}
		}
	})
	if !found {
		d.printf("no asks\n")
	}
}

// byKey is a list of allocations in the order in which it is shown.
func byKey(list []*api.Allocation) []*api.Allocation {
	return sortedBy(list, func(a *api.Allocation) api.AllocationKey { return a.Key })
}

func sortedBy[T any](list []T, key func(T) api.AllocationKey) []T {
	return slices.SortedFunc(slices.Values(list), func(a, b T) int { return cmp.Compare(key(a), key(b)) })
}

// foreign prints the foreign allocations that are on no node, because their
// node is not known.
func (d *display) foreign() {
	unknown := d.partition.View().ForeignUnknownNode
	if len(unknown) == 0 {
		d.printf("every foreign allocation is on a known node\n")
		return
	}
	d.table(func(row func(...string)) {
		row("foreign", "unknown node", "amounts", "origin")
		for _, a := range byKey(unknown) {
			row(string(a.Key), string(a.Node), d.amounts(a.Amounts), originName(a.Origin))
		}
	})
}

func (d *display) due() {
	due, ok := d.next()
	if !ok {
		d.printf("due never\n")
		return
	}
	d.printf("due at %s\n", offset(due))
}

func (d *display) events() {
	for _, record := range d.records {
		d.printf("%s\n", record)
	}
	if len(d.records) == 0 {
		d.printf("no events\n")
	}
	d.records = nil
}

func originName(origin api.Origin) string {
	switch origin {
	case api.Foreign:
		return "foreign"
	case api.Static:
		return "foreign, static"
	default:
		return "own"
	}
}
