package scenario

import (
	"fmt"
	"slices"
	"strings"

	"github.com/narwhal-scheduler/narwhal/pkg/core"
	"github.com/narwhal-scheduler/narwhal/pkg/core/preemptor"
)

// nominatedRows are the asks that a node keeps room for, in their order.
func (w *world) nominatedRows(n *core.NodeView, row func(...string)) {
	for _, key := range n.Nominated {
		ask, _ := w.askOf(key)
		text := fmt.Sprintf("nominated by %s, keeps %s", ask.Trigger, w.amounts(ask.Amounts))
		row("  "+string(key), "", "", "", "", text)
	}
}

// showAttempts prints the last preemption attempts for an ask: the trigger, how many
// nodes there were and what became of them, and the node that was chosen or the one
// where the least is missing.
func (w *world) showAttempts(a *arguments) (func(), error) {
	return w.ofAsk(a, func(ask core.AskView) {
		if len(ask.Attempts) == 0 {
			w.printf("no preemption attempts for %s\n", ask.Key)
		}
		for _, attempt := range ask.Attempts {
			w.printf("at %s by %s: %s\n", w.offset(attempt.At), attempt.Trigger, countsOf(attempt))
			if attempt.Plan == nil {
				continue
			}
			what := "near miss"
			if attempt.Plan.Cost.Feasible() {
				what = "chosen"
			}
			w.printf("  %s %s: %s\n", what, attempt.Node, strings.ReplaceAll(attempt.Plan.Explain(w.kinds), "\n", "\n  "))
		}
	})
}

func countsOf(a core.PreemptionAttempt) string {
	var words []string
	for _, c := range []struct {
		count int
		what  string
	}{
		{a.Closed, "closed"},
		{a.TooSmall, "too small"},
		{a.Insufficient, "insufficient"},
		{a.Sufficient, "sufficient"},
		{a.Refused, "of them refused"},
		{a.Skipped, "skipped"},
	} {
		if c.count > 0 {
			words = append(words, fmt.Sprintf("%d %s", c.count, c.what))
		}
	}
	if len(words) == 0 {
		return fmt.Sprintf("%d nodes", a.Nodes)
	}
	return fmt.Sprintf("%d nodes, %s", a.Nodes, strings.Join(words, ", "))
}

// showVictims prints how many allocations were evicted since the beginning, by
// trigger, and what became of nominations.
func (w *world) showVictims() {
	p := w.here().View().Preempted
	line := fmt.Sprintf("victims %d", p.Victims.Total())
	for t := range preemptor.Trigger(preemptor.Triggers) {
		if count := p.Victims.By(t); count > 0 {
			line += fmt.Sprintf(", %d by %s", count, t)
		}
	}
	w.printf("%s; nominations %d, cleared %d; overdue %d, loops %d\n", line, p.Nominations, p.Cleared, p.Overdue.Total(), p.Loops)
}

func keysOf(words []string) []core.AllocationKey {
	keys := make([]core.AllocationKey, len(words))
	for i, word := range words {
		keys[i] = core.AllocationKey(word)
	}
	slices.Sort(keys)
	return keys
}
