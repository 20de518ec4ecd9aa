package scenario

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/narwhal-scheduler/narwhal/pkg/core"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// none stands for an empty field.
const none = "-"

func (w *world) show(a *arguments) (func(), error) {
	switch what := a.need("what to show"); what {
	case "nodes":
		return w.showNodes(a)
	case "queues":
		return w.showQueues, nil
	case "applications":
		return w.showApplications, nil
	case "asks":
		return w.showAsks, nil
	case "foreign":
		return w.showForeign, nil
	case "due":
		return w.showDue, nil
	case "plan":
		return w.showPlan(a)
	case "attempts":
		return w.showAttempts(a)
	case "excess":
		return w.showExcess, nil
	case "victims":
		return w.showVictims, nil
	case "preempted":
		return w.showPreempted, nil
	case "events":
		return w.showEvents, nil
	default:
		return nil, fmt.Errorf("cannot show %q", what)
	}
}

// showNodes prints the nodes that are named, or all, and below each what runs
// on it: own allocations, then foreign ones, then reservations.
func (w *world) showNodes(a *arguments) (func(), error) {
	var shown []*core.NodeView
	for name := a.name(); name != ""; name = a.name() {
		nodes := w.here().View().Nodes
		i := slices.IndexFunc(nodes, func(n *core.NodeView) bool { return string(n.ID) == name })
		if i < 0 {
			return nil, fmt.Errorf("no node %s to show", name)
		}
		shown = append(shown, nodes[i])
	}
	return func() {
		if len(shown) == 0 {
			shown = w.here().View().Nodes
		}
		if len(shown) == 0 {
			w.printf("no nodes\n")
			return
		}
		w.table(func(row func(...string)) {
			row("node", "capacity", "allocated", "occupied", "available", "state")
			for _, n := range shown {
				w.nodeRows(n, row)
			}
		})
	}, nil
}

func (w *world) nodeRows(n *core.NodeView, row func(...string)) {
	state := "schedulable"
	if !n.Schedulable {
		state = "drained"
	}
	if len(n.Attributes) > 0 {
		state += " " + formatPairs(n.Attributes)
	}
	row(string(n.ID), w.amounts(n.Capacity), w.amounts(n.Allocated), w.amounts(n.Occupied), w.amounts(n.Available), state)
	for _, a := range byKey(n.Allocations) {
		row("  "+string(a.Key), "", w.amounts(a.Amounts), "", "", "of "+string(a.Application)+w.evictionOf(n, a.Key))
	}
	for _, a := range byKey(n.ForeignAllocations) {
		row("  "+string(a.Key), "", "", w.amounts(a.Amounts), "", originName(a.Origin)+w.evictionOf(n, a.Key))
	}
	for _, r := range n.Reservations {
		text := "reserved at " + w.offset(r.At)
		if r.Required {
			text += ", required"
		}
		row("  "+string(r.Key), "", "", "", "", text)
	}
	w.nominatedRows(n, row)
}

func (w *world) showApplications() {
	applications := w.here().View().Applications
	if len(applications) == 0 {
		w.printf("no applications\n")
		return
	}
	w.table(func(row func(...string)) {
		row("application", "queue", "state", "used", "pending", "allocations", "asks")
		for _, a := range applications {
			row(string(a.ID), string(a.Queue), fmt.Sprintf("%s since %s", a.State, w.offset(a.Since)),
				w.amounts(a.Used), w.amounts(a.Pending), fmt.Sprint(len(a.Allocations)), fmt.Sprint(len(a.Asks)))
		}
	})
}

func (w *world) showAsks() {
	found := false
	w.table(func(row func(...string)) {
		for _, application := range w.here().View().Applications {
			for _, a := range sortedBy(application.Asks, func(ask core.AskView) core.AllocationKey { return ask.Key }) {
				if !found {
					row("ask", "application", "amounts", "priority", "why it waits")
				}
				found = true
				why := a.Reason.String() + unlessEmpty(": ", a.Detail)
				if a.Nominated != "" {
					why += ", by " + a.Trigger.String()
				}
				if a.Reserved != "" {
					why += ", reserves " + string(a.Reserved)
				}
				row(string(a.Key), string(a.Application), w.amounts(a.Amounts), fmt.Sprint(a.Priority), why)
			}
		}
	})
	if !found {
		w.printf("no asks\n")
	}
}

// byKey is a list of allocations in the order in which it is shown.
func byKey(list []*core.Allocation) []*core.Allocation {
	return sortedBy(list, func(a *core.Allocation) core.AllocationKey { return a.Key })
}

func sortedBy[T any](list []T, key func(T) core.AllocationKey) []T {
	return slices.SortedFunc(slices.Values(list), func(a, b T) int { return cmp.Compare(key(a), key(b)) })
}

// showForeign prints the foreign allocations that are on no node, because their
// node is not known.
func (w *world) showForeign() {
	unknown := w.here().View().ForeignUnknownNode
	if len(unknown) == 0 {
		w.printf("every foreign allocation is on a known node\n")
		return
	}
	w.table(func(row func(...string)) {
		row("foreign", "unknown node", "amounts", "origin")
		for _, a := range byKey(unknown) {
			row(string(a.Key), string(a.Node), w.amounts(a.Amounts), originName(a.Origin))
		}
	})
}

func (w *world) showDue() {
	due, ok := w.here().Due()
	if !ok {
		w.printf("due never\n")
		return
	}
	w.printf("due at %s\n", w.offset(due))
}

func (w *world) showEvents() {
	for _, record := range w.records {
		w.printf("%s\n", record)
	}
	if len(w.records) == 0 {
		w.printf("no events\n")
	}
	w.records = nil
}

// table aligns the cells of rows and leaves no space at the end of a line.
func (w *world) table(fill func(row func(cells ...string))) {
	var b strings.Builder
	aligned := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fill(func(cells ...string) {
		fmt.Fprintln(aligned, strings.Join(cells, "\t"))
	})
	aligned.Flush() //nolint:errcheck // a Builder takes everything
	for line := range strings.Lines(b.String()) {
		w.printf("%s\n", strings.TrimRight(line, " \n"))
	}
}

func originName(origin core.Origin) string {
	switch origin {
	case core.Foreign:
		return "foreign"
	case core.Static:
		return "foreign, static"
	default:
		return "own"
	}
}

// amounts prints quantities as one would write them.
func (w *world) amounts(a resources.Amounts) string {
	return quantities(w.kinds.Map(a))
}

func (w *world) limits(l resources.Limits) string {
	return quantities(w.kinds.LimitMap(l))
}
