package simulator

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/narwhal-scheduler/narwhal/pkg/core/preemptor"
)

// preemptionTable is what plans came to.
func (r *Result) preemptionTable() Table {
	t := Table{Title: "Preemption", Head: []string{"", "what", "count"}, Words: 2}
	p := r.Preemption
	if p == nil {
		return t
	}
	var outcomes []any
	for _, outcome := range slices.Sorted(maps.Keys(p.Plans)) {
		outcomes = append(outcomes, plainOutcome(outcome), p.Plans[outcome])
	}
	t.group("plans", outcomes...)
	t.group("victims", "evicted", p.Victims, "of these foreign", p.Foreign, "overdue", p.Overdue,
		"releasing at the end", p.Releasing, "exceeded a budget", p.Violations)
	var wasted []any
	for _, cause := range slices.Sorted(maps.Keys(p.Wasted)) {
		wasted = append(wasted, cause, p.Wasted[cause])
	}
	t.group("wasted", wasted...)
	t.group("nominations", "made", p.Nominations, "cleared", p.Cleared)
	t.group("reservations", "cancelled", p.Reservations)
	t.group("loops", "stopped", p.Loops)
	return t
}

// plainOutcome is what came of a plan in plain words.
func plainOutcome(outcome string) string {
	if outcome == preemptor.Chosen.String() {
		return "victims found"
	}
	return outcome
}

// triggerTable is what each reason to make room came to. Without nominations
// there is only one, and nothing to compare.
func (r *Result) triggerTable() Table {
	t := Table{
		Title: "Preemption by trigger",
		Head:  []string{"trigger", "plans", "failed", "victims", "nominations", "cleared", "placed elsewhere"}, Words: 1,
	}
	if r.Preemption == nil || !r.Preemption.mixed() {
		return t
	}
	for _, one := range r.Preemption.ByTrigger {
		row := []string{one.Trigger}
		for _, n := range []int{one.Plans, one.Failed, one.Victims, one.Nominations, one.Cleared, one.Elsewhere} {
			row = append(row, Thousands(int64(n)))
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// mixed reports whether there is anything but victims for required nodes.
func (p *Preemption) mixed() bool {
	return len(p.ByTrigger) > 1 || p.Nominations > 0 || len(p.ByTrigger) == 1 && p.ByTrigger[0].Trigger != requiredNode
}

// requiredNode is the trigger of pods of daemonsets.
var requiredNode = preemptor.RequiredNode.String()

// victimTable is victims by class, and by the strategy that chose them.
func (r *Result) victimTable() Table {
	t := Table{Title: "Victims by class and strategy", Words: 1}
	if r.Preemption == nil {
		return t
	}
	mixed := r.Preemption.mixed()
	var rows, strategies []string
	count := map[[2]string]int{}
	for _, v := range r.Preemption.ByKind {
		row := v.Class
		if mixed {
			row = v.Trigger + ": " + v.Class
		}
		if !slices.Contains(rows, row) {
			rows = append(rows, row)
		}
		if !slices.Contains(strategies, v.Strategy) {
			strategies = append(strategies, v.Strategy)
		}
		count[[2]string{row, v.Strategy}] = v.Victims
	}
	slices.SortFunc(strategies, func(a, b string) int { return strategyRank(a) - strategyRank(b) })
	if len(strategies) == 1 {
		t.Title, strategies = "Victims by class", nil // the strategy says nothing
	}
	t.Head = append(append([]string{"class"}, strategies...), "all")
	for _, name := range rows {
		row, all := []string{name}, 0
		for _, strategy := range strategies {
			row = append(row, Thousands(int64(count[[2]string{name, strategy}])))
		}
		for key, n := range count {
			if key[0] == name {
				all += n
			}
		}
		t.Rows = append(t.Rows, append(row, Thousands(int64(all))))
	}
	return t
}

// strategies are the columns of a table.
var strategies = []preemptor.Strategy{preemptor.Single, preemptor.Multiple, preemptor.Minimal, preemptor.Reprieve}

func strategyRank(name string) int {
	return slices.IndexFunc(strategies, func(s preemptor.Strategy) bool { return s.String() == name })
}

// helpedTable is how long the pods waited that had room made for them.
func (r *Result) helpedTable() Table {
	t := Table{Title: "Pods that room is made for, from ask to placement", Head: []string{"pods", "count", "mean", "p50", "p90", "p99", "max"}, Words: 1}
	p := r.Preemption
	if p == nil {
		return t
	}
	row := func(name string, of *Waiting) {
		if of != nil {
			t.Rows = append(t.Rows, append([]string{name, Thousands(int64(of.Pods))}, of.columns()...))
		}
	}
	row("of daemonsets, all", p.Waiting)
	for _, one := range p.ByTrigger {
		if one.Trigger == requiredNode {
			row("of daemonsets, with victims", one.Helped)
		} else {
			row("with victims by "+one.Trigger, one.Helped)
		}
	}
	return t
}

// byQueueTable is the victims by queues, unless all were for daemonsets.
func (r *Result) byQueueTable() Table {
	t := Table{Title: "Victims by queue", Head: []string{"trigger", "for queue", "from queue", "victims"}, Words: 3}
	if r.Preemption == nil || !r.Preemption.mixed() {
		return t
	}
	for _, one := range r.Preemption.ByQueue {
		from := one.From
		switch from {
		case "":
			from = "foreign pods"
		case one.By:
			from = "itself"
		}
		t.Rows = append(t.Rows, []string{one.Trigger, one.By, from, Thousands(int64(one.Victims))})
	}
	return t
}

func (r *Result) budgetTable() Table {
	t := Table{Title: "Disruption budgets", Head: []string{"budget", "allowed", "most down at once"}, Words: 1}
	if r.Preemption != nil {
		for _, b := range r.Preemption.Budgets {
			t.Rows = append(t.Rows, []string{b.Name, Thousands(int64(b.Allowed)), Thousands(int64(b.Peak))})
		}
	}
	return t
}

// failedShown is how many reasons the table of failed attempts lists.
const failedShown = 12

// failedTable is why no room can be made for pods that wait at the end.
func (r *Result) failedTable(shown rowsShown) Table {
	t := Table{
		Title: "Waiting at the end, and why no room can be made",
		Words: 4,
		Head: []string{
			"queue", "trigger", "near miss", "for example",
			"nodes", "too small", "insufficient", "closed", "refused", "pods",
		},
	}
	if r.Preemption == nil {
		return t
	}
	for i, one := range r.Preemption.Failed {
		if i == shown.failed {
			t.Rows = append(t.Rows, []string{"", "", fmt.Sprintf("and %d more", len(r.Preemption.Failed)-i), "", "", "", "", "", "", ""})
			break
		}
		nearMiss := Readable(one.Summary)
		if one.NearMiss != "" {
			nearMiss = one.NearMiss + ": " + nearMiss
		}
		row := []string{one.Queue, one.Trigger, nearMiss, one.Example}
		for _, n := range []int{one.Nodes, one.TooSmall, one.Insufficient, one.Closed, one.Refused, one.Pods} {
			row = append(row, Thousands(int64(n)))
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// explainedMax is how many plans the text explains.
const explainedMax = 12

// Explained are the plans to read first: the first few that differ
// in trigger, outcome, strategy or the classes of their victims.
func (p *Preemption) Explained() []PlanRecord {
	var list []PlanRecord
	seen := map[string]bool{}
	for _, one := range p.Records {
		var kind strings.Builder
		kind.WriteString(one.Trigger + one.Outcome + one.Strategy)
		for _, v := range one.Victims {
			kind.WriteString(" " + v.Class)
		}
		if !seen[kind.String()] && len(list) < explainedMax {
			seen[kind.String()] = true
			list = append(list, one)
		}
	}
	return list
}

// explanations are a few plans for people to read in a terminal.
func (p *Preemption) explanations() string {
	if p == nil {
		return ""
	}
	some := p.Explained()
	var b strings.Builder
	fmt.Fprintf(&b, "\nPLANS EXPLAINED: the first of each kind, %d of %d; all are in --output json\n", len(some), p.Count())
	for _, one := range some {
		fmt.Fprintf(&b, "\n  %s  %s\n", one.Title(), Readable(one.Explanation[0]))
		for i, line := range one.Explanation[1:] {
			if i == linesShown {
				fmt.Fprintf(&b, "    and %d lines more\n", len(one.Explanation)-1-i)
				break
			}
			b.WriteString("  " + shorten(Readable(line)) + "\n")
		}
	}
	return b.String()
}

// linesShown is how many lines of an explanation a terminal gets, and namesShown
// how many names of a list on one line.
const linesShown, namesShown = 24, 12

// shorten leaves the first names of a list.
func shorten(line string) string {
	names := strings.Split(line, ", ")
	if len(names) <= namesShown {
		return line
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:namesShown], ", "), len(names)-namesShown)
}

// Count is the number of plans, those whose records are not kept included.
func (p *Preemption) Count() int {
	n := 0
	for _, count := range p.Plans {
		n += count
	}
	return n
}

// Title says which plan it is: when, for which ask, and the node if it was chosen.
func (p PlanRecord) Title() string {
	title := Clock(p.At.Duration()) + "  " + p.Ask
	if p.Node != "" && p.Trigger != requiredNode {
		title += " on " + p.Node
	}
	return title
}
