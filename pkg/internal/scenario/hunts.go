package scenario

import (
	"fmt"
	"slices"
	"strings"

	"github.com/narwhal-scheduler/narwhal/pkg/core"
	"github.com/narwhal-scheduler/narwhal/pkg/core/preemptor"
)

// nominatedRows are the asks that a node keeps room for, the first in order
// first.
func (w *world) nominatedRows(n *core.NodeView, row func(...string)) {
	for _, key := range n.Nominated {
		ask, _ := w.askOf(key)
		text := fmt.Sprintf("nominated by %s, promised %s", ask.Trigger, w.amounts(ask.Amounts))
		row("  "+string(key), "", "", "", "", text)
	}
}

// showHunts prints the last searches for room: which trigger, how many nodes there
// were and what they were good for, and where room is made or the least is missing.
func (w *world) showHunts(a *arguments) (func(), error) {
	return w.ofAsk(a, func(ask core.AskView) {
		if len(ask.Attempts) == 0 {
			w.printf("%s has not hunted\n", ask.Key)
		}
		for _, h := range ask.Attempts {
			w.printf("at %s by %s: %s\n", w.offset(h.At), h.Trigger, countsOf(h))
			if h.Plan == nil {
				continue
			}
			what := "nearest"
			if h.Plan.Cost.Feasible() {
				what = "chosen"
			}
			w.printf("  %s is %s: %s\n", what, h.Node, strings.ReplaceAll(h.Plan.Explain(w.kinds), "\n", "\n  "))
		}
	})
}

func countsOf(h core.PreemptionAttempt) string {
	var words []string
	for _, c := range []struct {
		count int
		what  string
	}{
		{h.Closed, "closed to it"},
		{h.TooSmall, "too small"},
		{h.Insufficient, "where too little comes free"},
		{h.Sufficient, "where enough does"},
		{h.Refused, "of them refused whoever goes"},
		{h.Skipped, "not looked at"},
	} {
		if c.count > 0 {
			words = append(words, fmt.Sprintf("%d %s", c.count, c.what))
		}
	}
	if len(words) == 0 {
		return fmt.Sprintf("%d nodes", h.Nodes)
	}
	return fmt.Sprintf("%d nodes, %s", h.Nodes, strings.Join(words, ", "))
}

// showVictims prints how many were told to go since the beginning, by trigger,
// and what became of nominations.
func (w *world) showVictims() {
	p := w.here().View().Preempted
	line := fmt.Sprintf("victims %d", p.Victims.Total())
	for t := range preemptor.Trigger(preemptor.Triggers) {
		if count := p.Victims.By(t); count > 0 {
			line += fmt.Sprintf(", %d by %s", count, t)
		}
	}
	w.printf("%s; nominations %d, cleared %d; stuck %d, loops %d\n", line, p.Nominations, p.Cleared, p.Overdue.Total(), p.Loops)
}

func keysOf(words []string) []core.AllocationKey {
	keys := make([]core.AllocationKey, len(words))
	for i, word := range words {
		keys[i] = core.AllocationKey(word)
	}
	slices.Sort(keys)
	return keys
}
