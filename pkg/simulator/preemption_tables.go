package simulator

import (
	"fmt"
	"maps"
	"slices"
	"strings"
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
		outcomes = append(outcomes, outcome, p.Plans[outcome])
	}
	t.group("plans", outcomes...)
	t.group("victims", "told to go", p.Victims, "of these foreign", p.Foreign, "did not go in time", p.Stuck,
		"not gone at the end", p.Leaving)
	t.group("reservations", "gave way", p.Reservations)
	return t
}

// victimTable is victims by class, and by the strategy that chose them.
func (r *Result) victimTable() Table {
	t := Table{Title: "Victims by class and strategy", Words: 1}
	if r.Preemption == nil {
		return t
	}
	var classes, strategies []string
	count := map[[2]string]int{}
	for _, v := range r.Preemption.ByKind {
		if !slices.Contains(classes, v.Class) {
			classes = append(classes, v.Class)
		}
		if !slices.Contains(strategies, v.Strategy) {
			strategies = append(strategies, v.Strategy)
		}
		count[[2]string{v.Class, v.Strategy}] = v.Victims
	}
	slices.SortFunc(strategies, func(a, b string) int { return strategyRank(a) - strategyRank(b) })
	t.Head = append(append([]string{"class"}, strategies...), "all")
	for _, class := range classes {
		row, all := []string{class}, 0
		for _, strategy := range strategies {
			n := count[[2]string{class, strategy}]
			row, all = append(row, Thousands(int64(n))), all+n
		}
		t.Rows = append(t.Rows, append(row, Thousands(int64(all))))
	}
	return t
}

// daemonTable is how long the pods of daemonsets waited.
func (r *Result) daemonTable() Table {
	t := Table{Title: "Pods of daemonsets, from ask to placement", Head: []string{"pods", "count", "mean", "p50", "p90", "p99", "max"}, Words: 1}
	p := r.Preemption
	if p == nil {
		return t
	}
	for _, row := range []struct {
		name string
		of   *Waiting
	}{{"all", p.Waiting}, {"for which others went", p.Helped}} {
		if row.of != nil {
			t.Rows = append(t.Rows, append([]string{row.name, Thousands(int64(row.of.Pods))}, row.of.columns()...))
		}
	}
	return t
}

// explainedMax is how many plans the text explains.
const explainedMax = 10

// Explained are the plans that are worth reading first: the first few that differ
// in outcome, strategy or the classes of their victims.
func (p *Preemption) Explained() []PlanRecord {
	var list []PlanRecord
	seen := map[string]bool{}
	for _, one := range p.Records {
		var kind strings.Builder
		kind.WriteString(one.Outcome + one.Strategy)
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
		for _, line := range one.Explanation[1:] {
			b.WriteString("  " + Readable(line) + "\n")
		}
	}
	return b.String()
}

// Count is the number of plans, those whose records are not kept included.
func (p *Preemption) Count() int {
	n := 0
	for _, count := range p.Plans {
		n += count
	}
	return n
}

// Title says which plan it is: when, and for whom.
func (p PlanRecord) Title() string { return Clock(p.At.Duration()) + "  " + p.Ask }
