package preemptor

import (
	"fmt"
	"strings"

	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// String is the decision on one line, without quantities.
func (d Decision) String() string {
	if d.Reason != Chosen {
		return d.Reason.String()
	}
	keys := make([]string, len(d.Victims))
	for i, v := range d.Victims {
		keys[i] = v.Key
	}
	return fmt.Sprintf("chosen by %s: %s", d.by(), strings.Join(keys, ", "))
}

// by is the strategy that chose the victims, or the resource manager.
func (d Decision) by() string {
	if d.Given {
		return "the resource manager"
	}
	return d.Strategy.String()
}

// found says that there are victims. By which strategy is a detail, for Explain.
func (d Decision) found() string {
	if d.Given {
		return "chosen by the resource manager"
	}
	return "victims found"
}

// String is the victim with what makes it one.
func (v Victim) String() string {
	if v.Elsewhere {
		return fmt.Sprintf("%s (%s, priority %d, on another node)", v.Key, v.Class, v.Priority)
	}
	return fmt.Sprintf("%s (%s, priority %d)", v.Key, v.Class, v.Priority)
}

// String says why the strategy selected no victims.
func (f Failure) String() string {
	switch f.Why {
	case NotOne:
		return fmt.Sprintf("%s: no single victim%s is enough", f.Strategy, f.Among)
	case TooLarge:
		if f.Kind != "" {
			return fmt.Sprintf("%s: %s would be enough, but holds %d.%d%% of the node's %s, which is not asked for, %d%% is the most",
				f.Strategy, f.Key, f.PerMille/10, f.PerMille%10, f.Kind, f.Most)
		}
		return fmt.Sprintf("%s: %s would be enough, but holds %d.%d%% more than the ask, %d%% is the most",
			f.Strategy, f.Key, f.PerMille/10, f.PerMille%10, f.Most)
	case TooMany:
		return fmt.Sprintf("%s: takes %d victims or more, %d are the most", f.Strategy, f.Victims, f.Most)
	case TooLittle:
		return fmt.Sprintf("%s: guarantees of other queues leave too little", f.Strategy)
	case OverBudget:
		return fmt.Sprintf("%s: budgets that must not be broken leave too little", f.Strategy)
	case NotFitting:
		return fmt.Sprintf("%s: the ask is refused even without these victims", f.Strategy)
	case TooManyQuestions:
		return fmt.Sprintf("%s: the search for what the ask needs beside it stopped after %d questions", f.Strategy, f.Most)
	default:
		return fmt.Sprintf("%s: stopped after %d steps", f.Strategy, f.Most)
	}
}

// Summary is the decision in one sentence with the numbers that matter; kinds
// must be those of the node.
func (d Decision) Summary(kinds *resources.Kinds) string {
	switch d.Reason {
	case TooYoung, Disabled, NoCandidates:
		return fmt.Sprintf("%s: needs %s", d.Reason, d.needs(kinds)) + d.outranked()
	case WaitsForReleasing:
		return fmt.Sprintf("%s: %s", d.Reason, kinds.Format(d.Releasing))
	case Impossible:
		if d.Trigger == RequiredNode {
			return fmt.Sprintf("%s: needs %s, at most %s can be freed",
				d.Reason, d.needs(kinds), kinds.Format(d.of(d.Freeable)))
		}
		return fmt.Sprintf("%s: needs %s%s", d.Reason, d.needs(kinds), d.andShortBy(kinds)) + d.outranked()
	case NothingHelps:
		if d.Trigger == RequiredNode {
			return fmt.Sprintf("%s: needs %s of %s", d.Reason, d.needs(kinds), kinds.Format(d.of(d.Freeable)))
		}
		return fmt.Sprintf("%s: needs %s%s", d.Reason, d.needs(kinds), d.andShortBy(kinds))
	case Chosen:
		summary := d.found() + ": frees " + kinds.Format(d.Freed)
		if d.needsNothing() {
			summary += " to end a conflict"
		} else {
			summary += " for " + d.needs(kinds)
		}
		if len(d.Broken) > 0 {
			summary += ", " + d.breaks()
		}
		return summary + d.andShortBy(kinds)
	case Refused, NotEnough:
		return fmt.Sprintf("%s: %s", d.Reason, d.Refusal)
	default:
		return d.Reason.String()
	}
}

// outranked says how many allocations stay since they are more important, though the ask is
// under its guarantee.
func (d Decision) outranked() string {
	switch n := d.ByFilter[IsHigher]; {
	case d.Trigger != Guarantee || n == 0:
		return ""
	case n == 1:
		return ", 1 allocation is more important"
	default:
		return fmt.Sprintf(", %d allocations are more important", n)
	}
}

// needs is what must be freed, on the node and of the quota. An ask that has room
// can still need the end of an allocation that conflicts with it.
func (d Decision) needs(kinds *resources.Kinds) string {
	if d.needsNothing() {
		return "the end of a conflict"
	}
	return both(kinds, d.Needed, d.Quota)
}

func (d Decision) needsNothing() bool { return d.Needed.IsZero() && d.Quota.IsZero() }

// shortBy is how much less can be freed than must be.
func (d Decision) shortBy(kinds *resources.Kinds) string {
	return "short by " + both(kinds, d.Lacking, d.LackingQuota)
}

func (d Decision) andShortBy(kinds *resources.Kinds) string {
	if d.Missing.Part == 0 {
		return ""
	}
	return ", " + d.shortBy(kinds)
}

// both is amounts of the node and of the quota, the one that there is or both.
func both(kinds *resources.Kinds, node, quota resources.Amounts) string {
	switch {
	case quota.IsZero():
		return kinds.Format(node)
	case node.IsZero():
		return kinds.Format(quota) + " of the quota"
	default:
		return kinds.Format(node) + ", and " + kinds.Format(quota) + " of the quota"
	}
}

func (d Decision) breaks() string {
	if len(d.Broken) == 1 {
		return "breaks budget " + d.Broken[0]
	}
	return "breaks budgets " + strings.Join(d.Broken, ", ")
}

// of is the amounts of the kinds that are needed.
func (d Decision) of(a resources.Amounts) resources.Amounts {
	var some resources.Amounts
	for kind, needed := range d.Needed {
		if needed > 0 {
			some.Set(resources.Kind(kind), a.Of(resources.Kind(kind)))
		}
	}
	return some
}

// Explain is the whole decision in a few lines for people to read, without a last
// line end; kinds must be those of the node.
func (d Decision) Explain(kinds *resources.Kinds) string {
	lines := []string{d.Summary(kinds)}
	line := func(name, format string, args ...any) {
		lines = append(lines, fmt.Sprintf("  %-11s", name)+fmt.Sprintf(format, args...))
	}
	d.explainNeed(kinds, line)
	line("candidates", "%s", d.classCounts())
	for f, count := range d.ByFilter {
		if count > 0 {
			line("filtered", "%s: %s", Filter(f), d.filteredBy(Filter(f)))
		}
	}
	for _, f := range d.Floors {
		line("floor", "queue %s can spare %s", f.Queue, kinds.FormatLimits(f.Surplus))
	}
	for _, f := range d.Failures {
		line("tried", "%s", f)
	}
	if d.Reason == Chosen && !d.Given {
		line("strategy", "%s", d.Strategy)
	}
	for _, v := range d.Victims {
		line("release", "%s %s", v, kinds.Format(v.Amounts))
	}
	if len(d.Broken) > 0 {
		line("violations", "%d, %s", d.Violations, d.breaks())
	}
	for _, queue := range d.Below {
		line("guarantee", "queue %s is left with less than is guaranteed to it", queue)
	}
	if d.Together.Asks > 0 {
		line("together", "%d asks take %s", d.Together.Asks, victims(d.Together.Victims))
		return strings.Join(lines, "\n")
	}
	if d.Reason == Chosen && !d.Given && (d.Strategy == Minimal || d.Proof.Stopped) {
		line("proof", "%s", d.Proof.of(d))
	}
	return strings.Join(lines, "\n")
}

// explainNeed says what is needed and what is there.
func (d Decision) explainNeed(kinds *resources.Kinds, line func(name, format string, args ...any)) {
	if d.Trigger != RequiredNode {
		line("trigger", "%s", d.Trigger)
	}
	if d.Trigger == Quota {
		line("queue", "%s over its max by %s", d.Ask, kinds.Format(d.Quota))
		return
	}
	line("ask", "%s %s", d.Ask, kinds.Format(d.Asked))
	line("free", "%s", kinds.Format(d.Free))
	if !d.Releasing.IsZero() {
		line("releasing", "%s", kinds.Format(d.Releasing))
	}
	if !d.Quota.IsZero() {
		line("quota", "short by %s", kinds.Format(d.Quota))
	}
}

func (d Decision) classCounts() string {
	var counts []string
	for class, count := range d.ByClass {
		if count > 0 {
			counts = append(counts, fmt.Sprintf("%d %s", count, Class(class)))
		}
	}
	if len(counts) == 0 {
		return "none"
	}
	return strings.Join(counts, ", ")
}

func (d Decision) filteredBy(why Filter) string {
	var keys []string
	for _, f := range d.Filtered {
		if f.Why == why {
			keys = append(keys, f.Key)
		}
	}
	return strings.Join(keys, ", ")
}

func (p Proof) of(d Decision) string {
	switch {
	case p.Stopped || !p.Proved && d.Strategy == Minimal:
		return fmt.Sprintf("stopped after %d steps: less important victims, fewer of them or fewer violations may exist", p.Steps)
	case p.Contended && p.Later:
		return "no victims of a lower class or priority, or else with fewer violations, fewer or lighter, exist"
	case p.Contended:
		return "no victims with fewer violations, or else of a lower class or priority, fewer or lighter, exist"
	default:
		return "no victims of a lower class or priority, fewer or lighter, exist"
	}
}

func victims(count int) string {
	if count == 1 {
		return "1 victim"
	}
	return fmt.Sprintf("%d victims", count)
}
