package client

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// QueuesTable shows a queue and all below it, a level further in for each: a row for each
// kind that it uses, waits for, is guaranteed or limited in. Kinds picks the kinds; none
// are all.
func QueuesTable(root *Queue, kinds ...string) *Table {
	t := &Table{
		Headings: []string{"QUEUE", "APPS", "KIND", "USED", "GUARANTEED", "MAX", "PENDING", "STATE"},
		numbers:  []int{1, 3, 4, 5, 6},
	}
	rows := queueRows{table: t, kinds: importantKinds(root), picked: kinds}
	rows.add(root, 0)
	return t
}

// queueRows adds the rows of queues to a table.
type queueRows struct {
	table  *Table
	kinds  []string // in the order of their rows
	picked []string // what is to be shown; none is all
}

func (r *queueRows) add(q *Queue, depth int) {
	name := strings.Repeat("  ", depth) + q.Name[strings.LastIndexByte(q.Name, '.')+1:]
	applications := "-"
	if q.IsLeaf {
		applications = strconv.Itoa(q.Apps)
	}
	named := false
	row := func(tone Tone, state string, cells ...string) {
		if named {
			r.table.addIn(tone, append(append([]string{"", ""}, cells...), state)...)
			return
		}
		named = true
		if q.Status != "Active" {
			state = strings.TrimSuffix(strings.ToLower(q.Status)+", "+state, ", -")
		}
		r.table.addIn(tone, append(append([]string{name, applications}, cells...), state)...)
	}
	for _, kind := range r.kinds {
		if r.shows(q, kind) {
			state, tone := q.state(kind)
			row(tone, state, label(kind), Quantity(kind, q.Used[kind]), amountOrDash(q.Guaranteed, kind), amountOrDash(q.Max, kind),
				Quantity(kind, q.Pending[kind]))
		}
	}
	if !named {
		row(Plain, "-", "-", "-", "-", "-", "-")
	}
	for _, child := range q.Children {
		r.add(child, depth+1)
	}
}

// shows reports whether there is something to say of a kind in a queue.
func (r *queueRows) shows(q *Queue, kind string) bool {
	_, guaranteed := q.Guaranteed[kind]
	_, limited := q.Max[kind]
	return isPicked(kind, r.picked, guaranteed || limited || q.Used[kind] != 0 || q.Pending[kind] != 0)
}

// state says how a queue stands with its guarantee and its max of a kind.
func (q *Queue) state(kind string) (string, Tone) {
	used, guaranteed := q.Used[kind], q.States[kind]
	most, limited := q.Max[kind]
	switch {
	case limited && used > most:
		return "over its max", Bad
	case guaranteed == "under and waiting":
		return "under its guarantee, waits", Bad
	case guaranteed == "over":
		return "over its guarantee, " + percent(used, q.Guaranteed[kind]), Warning
	case q.Pending[kind] > 0:
		return "waits", Plain
	}
	return "-", Plain
}

// KindsOfQueues are the kinds that a queue and those below have to do with, by their names in
// tables. The root has all that there are.
func KindsOfQueues(root *Queue) []string { return labels(importantKinds(root)) }

func amountOrDash(amounts Amounts, kind string) string {
	quantity, stated := amounts[kind]
	if !stated {
		return "-"
	}
	return Quantity(kind, quantity)
}

// importantKinds are the kinds of a tree of queues, those first that are guaranteed
// somewhere below the root, then those that are limited there. What the root is limited to
// is all that there is.
func importantKinds(root *Queue) []string {
	weight := map[string]int{}
	var see func(q *Queue)
	see = func(q *Queue) {
		for _, amounts := range []Amounts{q.Used, q.Pending, q.Guaranteed, q.Max} {
			for kind := range amounts {
				weight[kind] = max(weight[kind], 0)
			}
		}
		if q != root {
			for kind := range q.Guaranteed {
				weight[kind] = 2
			}
			for kind := range q.Max {
				weight[kind] = max(weight[kind], 1)
			}
		}
		for _, child := range q.Children {
			see(child)
		}
	}
	see(root)
	kinds := make([]string, 0, len(weight))
	for kind := range weight {
		kinds = append(kinds, kind)
	}
	slices.SortFunc(kinds, func(a, b string) int {
		return cmp.Or(cmp.Compare(weight[b], weight[a]), resources.CompareKinds(a, b))
	})
	return kinds
}
