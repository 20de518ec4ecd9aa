package client

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/resources"
	"github.com/narwhal-scheduler/narwhal/pkg/wording"
)

// NodesTable shows nodes: how much of them is in use, and what is left. Kinds picks the
// kinds; without any they are CPU, memory and the devices that there are.
func NodesTable(nodes []*Node, kinds ...string) *Table {
	kinds = nodeKinds(nodes, kinds)
	t := &Table{Headings: []string{"NAME", "STATUS", "PODS", "FOREIGN"}}
	for _, name := range shortNames(kinds) {
		t.Headings = append(t.Headings, strings.ToUpper(name))
	}
	t.Headings = append(t.Headings, "FREE", "EVICTING")
	for _, n := range nodes {
		status, tone := "Ready", Plain
		if !n.Schedulable {
			status, tone = "SchedulingDisabled", Warning
		}
		row := []string{n.Name, status, strconv.Itoa(n.Allocations), strconv.Itoa(len(n.Foreign))}
		for _, kind := range kinds {
			row = append(row, n.use(kind))
		}
		if n.isOverdue() || isNegative(n.Available) {
			tone = Bad
		}
		t.addIn(tone, append(row, n.Available.of(kinds).String(), n.evicting())...)
	}
	return t
}

// nodeKinds are the kinds of nodes that are picked.
func nodeKinds(nodes []*Node, picked []string) []string {
	kinds := []string{resources.VCore, resources.Memory}
	if len(picked) > 0 {
		kinds = nil
	}
	for _, n := range nodes {
		for kind, capacity := range n.Capacity {
			if capacity > 0 && !slices.Contains(kinds, kind) && isPicked(kind, picked, resources.IsDevice(kind)) {
				kinds = append(kinds, kind)
			}
		}
	}
	slices.SortFunc(kinds, resources.CompareKinds)
	return kinds
}

// KindsOfNodes are the kinds that nodes have, by their names in tables.
func KindsOfNodes(nodes []*Node) []string {
	known := map[string]bool{}
	for _, n := range nodes {
		for kind := range n.Capacity {
			known[kind] = true
		}
	}
	return labels(slices.SortedFunc(maps.Keys(known), resources.CompareKinds))
}

// HasKind reports whether a kind is among some, by either of its names.
func HasKind(kinds []string, kind string) bool { return slices.Contains(kinds, label(kind)) }

// isPicked reports whether a kind is among those picked, by either of its names; if none
// are, it is up to otherwise.
func isPicked(kind string, picked []string, otherwise bool) bool {
	if len(picked) == 0 {
		return otherwise
	}
	return slices.Contains(picked, kind) || slices.Contains(picked, label(kind))
}

// shortNames are the names of kinds without their domain, unless two would read the same.
func shortNames(kinds []string) []string {
	bare := func(kind string) string {
		name := label(kind)
		return name[strings.LastIndexByte(name, '/')+1:]
	}
	count := map[string]int{}
	for _, kind := range kinds {
		count[bare(kind)]++
	}
	names := make([]string, len(kinds))
	for i, kind := range kinds {
		if names[i] = bare(kind); count[names[i]] > 1 {
			names[i] = label(kind)
		}
	}
	return names
}

func isNegative(a Amounts) bool {
	for _, quantity := range a {
		if quantity < 0 {
			return true
		}
	}
	return false
}

func (n *Node) isOverdue() bool {
	for _, eviction := range n.Evictions {
		if eviction.Overdue {
			return true
		}
	}
	return false
}

// use is how much of a kind is in use, by all schedulers.
func (n *Node) use(kind string) string {
	return percent(n.Allocated[kind]+n.Occupied[kind], n.Capacity[kind])
}

func (n *Node) evicting() string {
	if len(n.Evictions) == 0 {
		return "-"
	}
	overdue := 0
	for _, eviction := range n.Evictions {
		if eviction.Overdue {
			overdue++
		}
	}
	if overdue > 0 {
		return fmt.Sprintf("%d (%d overdue)", len(n.Evictions), overdue)
	}
	return strconv.Itoa(len(n.Evictions))
}

// PreemptionsTable shows plans to make room. Name says what an allocation key is called;
// now is the time that ages count from.
func PreemptionsTable(plans []*Preemption, name func(key string) string, now time.Time) *Table {
	t := &Table{Headings: []string{"AGE", "TRIGGER", "FOR", "QUEUE", "NODE", "VICTIMS", "OUTCOME"}}
	for _, p := range plans {
		var victims []string
		for _, victim := range p.Victims {
			state, ran := victim.State, ", had run "
			if state == "ended" {
				ran = ", ran "
			}
			if victim.Wasted != "" {
				state = "wasted: " + victim.Wasted
			}
			if victim.RunTime > 0 {
				state += ran + Age(time.Duration(victim.RunTime))
			}
			victims = append(victims, fmt.Sprintf("%s (%s)", name(victim.Key), state))
		}
		outcome := p.Outcome
		if p.Placed != "" {
			outcome += " on " + p.Placed
		}
		tone := Plain
		if strings.Contains(strings.Join(victims, " "), "wasted: ") {
			tone = Warning
		}
		t.addIn(tone, Age(now.Sub(p.When())), p.Trigger, orDash(name(p.Key)), orDash(p.Queue), orDash(p.Node), orDash(strings.Join(victims, ", ")), outcome)
	}
	return t
}

// AsksTable shows asks that wait, and why; the one that waits longest comes first.
func AsksTable(asks []*Ask, name func(key string) string, now time.Time) *Table {
	t := &Table{Headings: []string{"NAME", "QUEUE", "APPLICATION", "PRIORITY", "ASKS FOR", "AGE", "WHY"}}
	for _, a := range longestFirst(asks) {
		why := a.Why
		if a.Detail != "" {
			why += ": " + Readable(a.Detail)
		}
		called := name(a.Key)
		if called == a.Key {
			called = a.Name()
		}
		t.add(called, a.Queue, a.Application, a.Priority, a.Resource.String(), Age(now.Sub(time.Unix(0, a.Requested))), why)
	}
	return t
}

// GroupsTable shows groups, by name: how many of their members run, must run, wait and are done, and how long they have been below
// their minimum.
func GroupsTable(groups []*Group, now time.Time) *Table {
	t := &Table{Headings: []string{"NAME", "PRIORITY", "RUNS", "DONE", "NEEDS", "WAITS", "BELOW FOR", "STATE"}}
	for _, g := range groups {
		priority, below, tone, state := "", "", Plain, g.State
		if g.Priority != nil {
			priority = strconv.Itoa(int(*g.Priority))
		}
		if g.BelowSince != 0 {
			below, tone = Age(now.Sub(time.Unix(0, g.BelowSince))), Warning
		}
		if g.Why != "" {
			state += ": " + Readable(g.Why)
		}
		t.addIn(tone, g.Name, priority, strconv.Itoa(g.Running), strconv.Itoa(g.Done), g.Needs(), strconv.Itoa(g.Waiting), below, state)
	}
	return t
}

// DomainsTable shows domains of nodes, each before those in it: how many nodes take asks and how many are idle, what is left, which
// groups run there and for which room is kept there.
func DomainsTable(domains []*Domain) *Table {
	t := &Table{Headings: []string{"NAME", "LEVEL", "NODES", "TAKE ASKS", "IDLE", "FREE", "RUNS", "KEPT FOR"}}
	for _, d := range domains {
		var kinds []string
		for kind := range d.Available {
			if kind == resources.VCore || kind == resources.Memory || resources.IsDevice(kind) {
				kinds = append(kinds, kind)
			}
		}
		idle, tone := strconv.Itoa(d.Idle), Plain
		if d.Intact {
			idle = "all"
		}
		if d.Schedulable < d.Nodes {
			tone = Warning
		}
		t.addIn(tone, d.Name, d.Level, strconv.Itoa(d.Nodes), strconv.Itoa(d.Schedulable), idle, d.Available.of(kinds).String(),
			orDash(strings.Join(d.Groups, ", ")), orDash(strings.Join(d.KeptFor, ", ")))
	}
	return t
}

// ReasonsLine says how many asks wait for each reason, the most frequent first.
func ReasonsLine(asks []*Ask) string {
	count := map[string]int{}
	for _, a := range asks {
		count[a.Why]++
	}
	reasons := slices.SortedFunc(maps.Keys(count), func(a, b string) int {
		return cmp.Or(cmp.Compare(count[b], count[a]), strings.Compare(a, b))
	})
	if len(reasons) > 1 { // else the count is that of the asks
		for i, reason := range reasons {
			reasons[i] = fmt.Sprintf("%s (%d)", reason, count[reason])
		}
	}
	verb := "pods wait"
	if len(asks) == 1 {
		verb = "pod waits"
	}
	return fmt.Sprintf("%d %s: %s", len(asks), verb, strings.Join(reasons, ", "))
}

// longestFirst orders asks by how long they wait.
func longestFirst(asks []*Ask) []*Ask {
	sorted := slices.Clone(asks)
	slices.SortStableFunc(sorted, func(a, b *Ask) int { return cmp.Compare(a.Requested, b.Requested) })
	return sorted
}

func orDash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}

// Age writes a length of time as kubectl does, in its largest unit.
func Age(d time.Duration) string { return wording.Age(d) }
