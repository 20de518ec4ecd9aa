package torture

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/simulator"
)

// A Tally is what was played.
type Tally struct {
	Worlds int
	Steps  int           // commands applied, and calls of Schedule
	Time   time.Duration // virtual
	Tries  int           // of smaller worlds that break the same law
	rows   []row
}

// A row is how often something happened in all worlds.
type row struct {
	group, what string
	count       int
}

// count adds what came out of a world. One that broke a law has no result.
func (t *Tally) count(r *simulator.Result, steps int) {
	t.Worlds++
	t.Steps += steps
	if r == nil {
		return
	}
	t.Time += r.Time.Duration()
	happened := map[string]int{}
	for _, i := range r.Incidents {
		happened[whatHappened(i)] += max(1, len(i.Nodes))
	}
	victims := 0
	if r.Preemption != nil {
		victims = r.Preemption.Victims
	}
	f := r.Faults
	t.add("pods", "asked for", r.Pods.Arrived, "ended", r.Pods.Ended, "victims", victims, "lost with their node", r.Pods.Lost,
		"evicted by drains", r.Pods.Evicted-r.Pods.Preempted, "rejected", r.Pods.Rejected, "foreign", r.Foreign.Reported,
		"placeholders", r.Gangs.Asked, "placeholders replaced", r.Gangs.Replaced, "placeholders timed out", r.Gangs.TimedOut)
	t.add("faults", "failed binds", f.BindFailures, "late messages", f.ReleasesLate, "doubled messages", f.ReleasesTwice+f.ReportsTwice,
		"lost confirmations", f.ReleasesNever, "reordered messages", f.ForeignEarly+f.Crossed,
		"nodes that failed", happened["fail"], "nodes that drained", happened["drain"], "nodes with other answers", happened["refuse"],
		"restarts", happened["restart"], "restarts with an earlier clock", happened["restart back"], "clocks that jumped", happened["clock ahead"], "new limits", happened["limit"], "queues that went", happened["queue removed"])
}

// whatHappened is an incident without its numbers.
func whatHappened(i simulator.IncidentRecord) string {
	switch i.What {
	case "limit":
		return i.What
	case "queue":
		return i.What + " " + i.Detail
	}
	return i.What + strings.TrimLeft(i.Detail, "0123456789dhms")
}

// add adds names and counts in turn to the rows of a group.
func (t *Tally) add(group string, counts ...any) {
	for i := 0; i < len(counts); i += 2 {
		r := row{group, counts[i].(string), counts[i+1].(int)}
		at := slices.IndexFunc(t.rows, func(o row) bool { return o.group == r.group && o.what == r.what })
		if at < 0 {
			t.rows = append(t.rows, r)
		} else {
			t.rows[at].count += r.count
		}
	}
}

// Counts are how often each thing happened.
func (t *Tally) Counts() map[string]int {
	counts := map[string]int{}
	for _, r := range t.rows {
		counts[r.what] = r.count
	}
	return counts
}

// laws are what is checked in each world, and when.
var laws = [][2]string{
	{"the books of the core add up, and each ask that waits will be woken", "after each step"},
	{"views show what events have told", "after each moment"},
	{"the books of the resource manager are those of the core", "after each moment"},
	{"nothing is placed, evicted or rejected that must not be", "each event"},
	{"all pods have ended", "once the faults are over"},
}

// Write writes all of it as a table.
func (t *Tally) Write(w io.Writer) error {
	var b strings.Builder
	line := func(group, what, value string) { fmt.Fprintf(&b, "%-8s %-32s %14s\n", group, what, value) }
	number := func(n int) string { return simulator.Thousands(int64(n)) }
	line("PLAYED", "worlds", number(t.Worlds))
	line("", "steps", number(t.Steps))
	line("", "virtual time", simulator.Clock(t.Time))
	group := ""
	for _, r := range t.rows {
		title := ""
		if r.group != group {
			group, title = r.group, strings.ToUpper(r.group)
			b.WriteString("\n")
		}
		line(title, r.what, number(r.count))
	}
	for i, l := range laws {
		title := ""
		if i == 0 {
			b.WriteString("\n")
			title = "LAWS"
		}
		fmt.Fprintf(&b, "%-8s %s, %s\n", title, l[0], l[1])
	}
	_, err := io.WriteString(w, b.String())
	return err
}
