package client

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/wording"
)

// WriteOutcome writes what would come of a question, in lines of any length.
func WriteOutcome(out io.Writer, o *Outcome, name func(key string) string) error {
	return WriteOutcomeIn(out, o, name, Layout{})
}

// WriteOutcomeIn writes what would come of a question: a row for each pod that is asked
// about, that moves, or that waits now and would not; then what would be evicted, which
// queues would be over their max, and what is not known. Name says what an allocation key
// is called.
func WriteOutcomeIn(out io.Writer, o *Outcome, name func(key string) string, l Layout) error {
	t := &Table{Headings: []string{"NAME", "RESULT", "NODE", "WHY"}}
	evicted := map[string]bool{}
	for _, v := range o.Victims {
		evicted[v.Key] = true
	}
	for _, a := range o.Asks {
		t.addOutcome(a.Key, a, evicted[a.Key])
	}
	for _, a := range o.Moved {
		t.addOutcome(name(a.Key)+" again", a, evicted[a.Key])
	}
	for _, a := range o.Others {
		t.addOutcome(name(a.Key), a, evicted[a.Key])
	}
	if len(t.Rows) > 0 {
		if err := t.WriteIn(out, l); err != nil {
			return err
		}
		if _, err := fmt.Fprintln(out); err != nil {
			return err
		}
	}
	for _, line := range o.lines(name) {
		if l.Width > 0 {
			line = strings.Join(wrap(line, l.Width), "\n")
		}
		if _, err := fmt.Fprintln(out, line); err != nil {
			return err
		}
	}
	return nil
}

// addOutcome adds what would become of one pod.
func (t *Table) addOutcome(called string, a AskOutcome, evicted bool) {
	switch {
	case a.Refused != "":
		t.addIn(Bad, called, "refused", "-", Readable(a.Refused))
	case a.Node != "" && evicted:
		t.addIn(Bad, called, "runs, then is evicted", a.Node, "-")
	case a.Node != "" && a.Unasked:
		t.add(called, "has room"+after(a.After), a.Node, "the resource manager was not asked")
	case a.Node != "" && a.After > 0:
		t.add(called, "runs"+after(a.After), a.Node, "-")
	case a.Node != "":
		t.add(called, "runs at once", a.Node, "-")
	case a.Nominated != "":
		t.addIn(Warning, called, "room is made", a.Nominated, waits(a.Waits))
	default:
		t.addIn(Bad, called, "waits", "-", waits(a.Waits))
	}
}

// lines say what else would come, and what is not known.
func (o *Outcome) lines(name func(key string) string) []string {
	var lines []string
	for _, r := range o.Rejected {
		lines = append(lines, fmt.Sprintf("application %s would be rejected: %s", r.Application, r.Message))
	}
	for _, s := range o.Staying {
		lines = append(lines, fmt.Sprintf("%s would stay on node %s, which takes no others", wording.Several(s.Allocations, "pod"), s.Node))
	}
	if o.Waited > 0 {
		lines = append(lines, o.stillWaiting(name))
	}
	lines = append(lines, o.Evictions(name)...)
	for _, over := range o.OverUse {
		lines = append(lines, fmt.Sprintf("queue %s would be over its max by %s", over.Queue, over.By))
	}
	for _, over := range o.OverLimits {
		lines = append(lines, over.String())
	}
	if len(o.Victims) > 0 && o.Budgets == "not asked" {
		lines = append(lines, "disruption budgets were not asked: some of these may be protected")
	}
	switch o.Predicates {
	case "not asked":
		lines = append(lines, "only amounts were looked at: affinity, taints and ports may keep pods from these nodes")
	case "in part":
		lines = append(lines, "of new pods and new nodes only amounts were looked at: affinity, taints and ports may keep pods away")
	}
	if o.Partial {
		lines = append(lines, "this is only the first part of the time asked about: it took too long")
	}
	return lines
}

// Evictions say what would be evicted and when, or for how long nothing would be, and which delays were not waited for.
func (o *Outcome) Evictions(name func(key string) string) (lines []string) {
	for _, v := range o.Victims {
		lines = append(lines, fmt.Sprintf("%s of application %s would be evicted%s: %s", name(v.Key), v.Application, after(v.After), Readable(v.Message)))
	}
	switch {
	case len(lines) > 0:
	case o.Simulated > 0:
		lines = append(lines, "nothing would be evicted within "+seconds(o.Simulated))
	default:
		lines = append(lines, "nothing would be evicted")
	}
	if o.Delays > 0 {
		lines = append(lines, fmt.Sprintf("a delay that goes on for %s more was not waited for: something may be evicted then", seconds(o.Delays)))
	}
	return lines
}

// after is the time until something comes, in words that follow; empty at once.
func after(nanoseconds int64) string {
	if nanoseconds == 0 {
		return ""
	}
	return " after " + seconds(nanoseconds)
}

// seconds is a length of time that is rounded up to whole seconds.
func seconds(nanoseconds int64) string {
	return wording.Age((time.Duration(nanoseconds) + time.Second - 1).Truncate(time.Second))
}

// stillWaiting says what would become of those that wait now, and why the rest would go on waiting.
func (o *Outcome) stillWaiting(name func(key string) string) string {
	runs, unasked, made := 0, 0, 0
	for _, a := range o.Others {
		switch {
		case a.Node == "":
			made++
		case a.Unasked:
			unasked++
		default:
			runs++
		}
	}
	when := " at once"
	if slices.ContainsFunc(o.Others, func(a AskOutcome) bool { return a.After > 0 }) {
		when = ""
	}
	parts := []string{fmt.Sprintf("%d would run%s", runs, when)}
	if unasked > 0 {
		parts = append(parts, fmt.Sprintf("for %d there would be room", unasked))
	}
	if made > 0 {
		parts = append(parts, fmt.Sprintf("for %d room would be made", made))
	}
	for _, w := range o.Waiting {
		parts = append(parts, fmt.Sprintf("%d would go on waiting, such as %s: %s", w.Asks, name(w.Key), Readable(w.Why)))
	}
	return fmt.Sprintf("of %s now, %s", waitingThat(o.Waited), strings.Join(parts, "; "))
}

// waitingThat is so many pods that wait.
func waitingThat(n int) string {
	if n == 1 {
		return "1 pod that waits"
	}
	return fmt.Sprintf("%d pods that wait", n)
}

// IsRefused reports whether something of the question would not be taken in.
func (o *Outcome) IsRefused() bool {
	return len(o.Rejected) > 0 || slices.ContainsFunc(o.Asks, func(a AskOutcome) bool { return a.Refused != "" })
}

func waits(e *Explanation) string {
	if e == nil || e.Why == "" {
		return "-"
	}
	return e.Why
}
