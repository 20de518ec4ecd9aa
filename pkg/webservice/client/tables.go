package client

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
)

// A Table is rows of cells below headings.
type Table struct {
	Headings []string
	Rows     [][]string
}

// Write writes the table with columns as wide as they need to be.
func (t *Table) Write(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 8, 3, ' ', 0)
	for _, row := range append([][]string{t.Headings}, t.Rows...) {
		if _, err := fmt.Fprintln(w, strings.TrimRight(strings.Join(row, "\t"), "\t")); err != nil {
			return err
		}
	}
	return w.Flush()
}

func (t *Table) add(cells ...string) { t.Rows = append(t.Rows, cells) }

// QueuesTable shows a queue and all below it, a level further in for each.
func QueuesTable(root *Queue) *Table {
	t := &Table{Headings: []string{"NAME", "STATUS", "APPLICATIONS", "USED", "GUARANTEED", "MAX", "PENDING"}}
	t.addQueue(root, 0)
	return t
}

func (t *Table) addQueue(q *Queue, depth int) {
	applications := "-"
	if q.IsLeaf {
		applications = strconv.Itoa(q.Apps)
	}
	name := strings.Repeat("  ", depth) + q.Name[strings.LastIndexByte(q.Name, '.')+1:]
	t.add(name, q.Status, applications, q.Used.String(), q.Guaranteed.limits(), q.Max.limits(), q.Pending.String())
	for _, child := range q.Children {
		t.addQueue(child, depth+1)
	}
}

// NodesTable shows nodes: how much of them is in use, and what is left.
func NodesTable(nodes []*Node) *Table {
	t := &Table{Headings: []string{"NAME", "STATUS", "PODS", "FOREIGN", "CPU", "MEMORY", "FREE", "EVICTING"}}
	for _, n := range nodes {
		status := "Ready"
		if !n.Schedulable {
			status = "SchedulingDisabled"
		}
		t.add(n.Name, status, strconv.Itoa(n.Allocations), strconv.Itoa(len(n.Foreign)), n.use("vcore"), n.use("memory"),
			n.Available.String(), n.evicting())
	}
	return t
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
			state := victim.State
			if victim.Wasted != "" {
				state = "wasted: " + victim.Wasted
			}
			victims = append(victims, fmt.Sprintf("%s (%s)", name(victim.Key), state))
		}
		outcome := p.Outcome
		if p.Placed != "" {
			outcome += " on " + p.Placed
		}
		t.add(Age(now.Sub(p.When())), p.Trigger, orDash(name(p.Key)), orDash(p.Queue), orDash(p.Node), orDash(strings.Join(victims, ", ")), outcome)
	}
	return t
}

// AsksTable shows asks that wait, and why.
func AsksTable(asks []*Ask, name func(key string) string, now time.Time) *Table {
	t := &Table{Headings: []string{"NAME", "QUEUE", "APPLICATION", "PRIORITY", "ASKS FOR", "AGE", "WHY"}}
	for _, a := range asks {
		why := a.Why
		if a.Detail != "" {
			why += ": " + a.Detail
		}
		t.add(name(a.Key), a.Queue, a.Application, a.Priority, a.Resource.String(), Age(now.Sub(time.Unix(0, a.Requested))), why)
	}
	return t
}

// WriteOutcome writes what would come of a question: a row for each ask, then what would be
// evicted, and what is not known.
func WriteOutcome(out io.Writer, o *Outcome, name func(key string) string) error {
	t := &Table{Headings: []string{"NAME", "RESULT", "NODE", "WHY"}}
	for _, a := range o.Asks {
		switch {
		case a.Refused != "":
			t.add(a.Key, "refused", "-", a.Refused)
		case a.Node != "":
			t.add(a.Key, "runs at once", a.Node, "-")
		case a.Nominated != "":
			t.add(a.Key, "room is made", a.Nominated, waits(a.Waits))
		default:
			t.add(a.Key, "waits", "-", waits(a.Waits))
		}
	}
	if err := t.Write(out); err != nil {
		return err
	}
	var lines []string
	for _, r := range o.Rejected {
		lines = append(lines, fmt.Sprintf("application %s would be rejected: %s", r.Application, r.Message))
	}
	if len(o.Victims) == 0 {
		lines = append(lines, "nothing would be evicted")
	}
	for _, v := range o.Victims {
		lines = append(lines, fmt.Sprintf("%s of application %s would be evicted: %s", name(v.Key), v.Application, v.Message))
	}
	if len(o.Victims) > 0 && o.Budgets == "not asked" {
		lines = append(lines, "disruption budgets were not asked: some of these may be protected")
	}
	if o.Partial {
		lines = append(lines, "this is only the first part of the time asked about: it took too long")
	}
	_, err := fmt.Fprintf(out, "\n%s\n", strings.Join(lines, "\n"))
	return err
}

func waits(e *Explanation) string {
	if e == nil || e.Why == "" {
		return "-"
	}
	return e.Why
}

func orDash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}

// Age writes a length of time as kubectl does, in its largest unit.
func Age(d time.Duration) string {
	switch {
	case d < 0:
		return "0s"
	case d < 2*time.Minute:
		return fmt.Sprintf("%ds", d/time.Second)
	case d < 2*time.Hour:
		return fmt.Sprintf("%dm", d/time.Minute)
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh", d/time.Hour)
	default:
		return fmt.Sprintf("%dd", d/(24*time.Hour))
	}
}
