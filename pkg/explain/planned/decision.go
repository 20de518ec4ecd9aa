// Package planned says in words what the planner of preemption has decided.
package planned

import (
	"fmt"
	"strings"

	"github.com/narwhal-scheduler/narwhal/pkg/core/preemptor"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
	"github.com/narwhal-scheduler/narwhal/pkg/wording"
)

// found says that there are victims. By which strategy is a detail, for Explain.
func found(d *preemptor.Decision) string {
	if d.Given {
		return "chosen by the resource manager"
	}
	return "victims found"
}

// Victim is a victim with what makes it one.
func Victim(v *preemptor.Victim) string {
	if v.Elsewhere {
		return fmt.Sprintf("%s (%s, priority %d, on another node)", v.Key, v.Class, v.Priority)
	}
	return fmt.Sprintf("%s (%s, priority %d)", v.Key, v.Class, v.Priority)
}

// Failure says why a strategy selected no victims.
func Failure(f preemptor.Failure) string {
	switch f.Why {
	case preemptor.NotOne:
		return fmt.Sprintf("%s: no single victim%s is enough", f.Strategy, f.Among)
	case preemptor.TooLarge:
		if f.Kind != "" {
			return fmt.Sprintf("%s: %s would be enough, but holds %d.%d%% of the node's %s, which is not asked for, %d%% is the most",
				f.Strategy, f.Key, f.PerMille/10, f.PerMille%10, f.Kind, f.Most)
		}
		return fmt.Sprintf("%s: %s would be enough, but holds %d.%d%% more than the ask, %d%% is the most",
			f.Strategy, f.Key, f.PerMille/10, f.PerMille%10, f.Most)
	case preemptor.TooMany:
		return fmt.Sprintf("%s: takes %d victims or more, %d are the most", f.Strategy, f.Victims, f.Most)
	case preemptor.TooLittle:
		return fmt.Sprintf("%s: guarantees of other queues leave too little", f.Strategy)
	case preemptor.OverBudget:
		return fmt.Sprintf("%s: budgets that must not be broken leave too little", f.Strategy)
	case preemptor.NotFitting:
		return fmt.Sprintf("%s: the ask is refused even without these victims", f.Strategy)
	case preemptor.TooManyQuestions:
		return fmt.Sprintf("%s: the search for what the ask needs beside it stopped after %d questions", f.Strategy, f.Most)
	default:
		return fmt.Sprintf("%s: stopped after %d steps", f.Strategy, f.Most)
	}
}

// Summary is the decision in one sentence with the numbers that matter; kinds
// must be those of the node.
func Summary(d *preemptor.Decision, kinds *resources.Kinds) string {
	switch d.Reason {
	case preemptor.TooYoung, preemptor.Disabled, preemptor.NoCandidates:
		return fmt.Sprintf("%s: needs %s", d.Reason, needs(d, kinds)) + outranked(d)
	case preemptor.WaitsForReleasing:
		return fmt.Sprintf("%s: %s", d.Reason, kinds.Format(d.Releasing))
	case preemptor.Impossible:
		if d.Trigger == preemptor.RequiredNode {
			return fmt.Sprintf("%s: needs %s, at most %s can be freed",
				d.Reason, needs(d, kinds), kinds.Format(ofNeeded(d, d.Freeable)))
		}
		return fmt.Sprintf("%s: needs %s%s", d.Reason, needs(d, kinds), andShortBy(d, kinds)) + outranked(d)
	case preemptor.NothingHelps:
		if d.Trigger == preemptor.RequiredNode {
			return fmt.Sprintf("%s: needs %s of %s", d.Reason, needs(d, kinds), kinds.Format(ofNeeded(d, d.Freeable)))
		}
		return fmt.Sprintf("%s: needs %s%s", d.Reason, needs(d, kinds), andShortBy(d, kinds))
	case preemptor.Chosen:
		summary := found(d) + ": frees " + kinds.Format(d.Freed)
		if needsNothing(d) {
			summary += " to end a conflict"
		} else {
			summary += " for " + needs(d, kinds)
		}
		if len(d.Broken) > 0 {
			summary += ", " + breaks(d)
		}
		return summary + andShortBy(d, kinds)
	case preemptor.Refused, preemptor.NotEnough:
		if d.Refusal == "" {
			return fmt.Sprintf("%s: %s", d.Reason, shortBy(d, kinds))
		}
		return fmt.Sprintf("%s: %s", d.Reason, d.Refusal)
	default:
		return d.Reason.String()
	}
}

// outranked says how many allocations stay since they are more important, though the ask is
// under its guarantee.
func outranked(d *preemptor.Decision) string {
	switch n := d.ByFilter[preemptor.IsHigher]; {
	case d.Trigger != preemptor.Guarantee || n == 0:
		return ""
	case n == 1:
		return ", 1 allocation is more important"
	default:
		return fmt.Sprintf(", %d allocations are more important", n)
	}
}

// needs is what must be freed, on the node and of the quota. An ask that has room
// can still need the end of an allocation that conflicts with it.
func needs(d *preemptor.Decision, kinds *resources.Kinds) string {
	if needsNothing(d) {
		return "the end of a conflict"
	}
	return both(kinds, d.Needed, d.Quota)
}

func needsNothing(d *preemptor.Decision) bool { return d.Needed.IsZero() && d.Quota.IsZero() }

// shortBy is how much less can be freed than must be.
func shortBy(d *preemptor.Decision, kinds *resources.Kinds) string {
	return "short by " + both(kinds, d.Lacking, d.LackingQuota)
}

func andShortBy(d *preemptor.Decision, kinds *resources.Kinds) string {
	if d.Missing.Part == 0 {
		return ""
	}
	return ", " + shortBy(d, kinds)
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

func breaks(d *preemptor.Decision) string {
	if len(d.Broken) == 1 {
		return "breaks budget " + d.Broken[0]
	}
	return "breaks budgets " + strings.Join(d.Broken, ", ")
}

// ofNeeded is the amounts of the kinds that are needed.
func ofNeeded(d *preemptor.Decision, a resources.Amounts) resources.Amounts {
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
func Explain(d *preemptor.Decision, kinds *resources.Kinds) string {
	lines := []string{Summary(d, kinds)}
	line := func(name, format string, args ...any) {
		lines = append(lines, fmt.Sprintf("  %-11s", name)+fmt.Sprintf(format, args...))
	}
	explainNeed(d, kinds, line)
	line("candidates", "%s", classCounts(d))
	for f, count := range d.ByFilter {
		if count > 0 {
			line("filtered", "%s: %s", preemptor.Filter(f), filteredBy(d, preemptor.Filter(f)))
		}
	}
	for _, f := range d.Floors {
		line("floor", "queue %s can spare %s", f.Queue, kinds.FormatLimits(f.Surplus))
	}
	for _, f := range d.Failures {
		line("tried", "%s", Failure(f))
	}
	if d.Reason == preemptor.Chosen && !d.Given {
		line("strategy", "%s", d.Strategy)
	}
	for i := range d.Victims {
		v := &d.Victims[i]
		line("release", "%s %s", Victim(v), kinds.Format(v.Amounts))
	}
	if len(d.Broken) > 0 {
		line("violations", "%d, %s", d.Violations, breaks(d))
	}
	for _, group := range d.Stops {
		line("stops", "%s", group)
	}
	for _, queue := range d.Below {
		line("guarantee", "queue %s is left with less than is guaranteed to it", queue)
	}
	if d.Together.Asks > 0 {
		line("together", "%d asks take %s", d.Together.Asks, wording.Several(d.Together.Victims, "victim"))
		return strings.Join(lines, "\n")
	}
	if d.Reason == preemptor.Chosen && !d.Given && (d.Strategy == preemptor.Minimal || d.Proof.Stopped) {
		line("proof", "%s", proof(d))
	}
	return strings.Join(lines, "\n")
}

// explainNeed says what is needed and what is there.
func explainNeed(d *preemptor.Decision, kinds *resources.Kinds, line func(name, format string, args ...any)) {
	if d.Trigger != preemptor.RequiredNode {
		line("trigger", "%s", d.Trigger)
	}
	if d.Trigger == preemptor.Quota {
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

func classCounts(d *preemptor.Decision) string {
	var counts []string
	for class, count := range d.ByClass {
		if count > 0 {
			counts = append(counts, fmt.Sprintf("%d %s", count, preemptor.Class(class)))
		}
	}
	if len(counts) == 0 {
		return "none"
	}
	return strings.Join(counts, ", ")
}

func filteredBy(d *preemptor.Decision, why preemptor.Filter) string {
	var keys []string
	for _, f := range d.Filtered {
		if f.Why == why {
			keys = append(keys, f.Key)
		}
	}
	return strings.Join(keys, ", ")
}

func proof(d *preemptor.Decision) string {
	switch p := d.Proof; {
	case p.Stopped || !p.Proved && d.Strategy == preemptor.Minimal:
		return fmt.Sprintf("stopped after %d steps: less important victims, fewer of them or fewer violations may exist", p.Steps)
	case p.Contended && p.Later:
		return "no victims of a lower class or priority, or else with fewer violations, fewer or lighter, exist"
	case p.Contended:
		return "no victims with fewer violations, or else of a lower class or priority, fewer or lighter, exist"
	default:
		return "no victims of a lower class or priority, fewer or lighter, exist"
	}
}
