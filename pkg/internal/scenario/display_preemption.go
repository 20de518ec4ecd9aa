package scenario

import (
	"fmt"
	"slices"
	"strings"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/core/preemptor"
	"github.com/narwhal-scheduler/narwhal/pkg/explain/planned"
	"github.com/narwhal-scheduler/narwhal/pkg/outcomes"
)

// nominatedRows are the asks that a node keeps room for, in their order.
func (d *display) nominatedRows(n *api.NodeView, row func(...string)) {
	for _, key := range n.Nominated {
		ask, _ := d.askOf(key)
		text := fmt.Sprintf("nominated by %s, keeps %s", ask.Trigger, d.amounts(ask.Amounts))
		row("  "+string(key), "", "", "", "", text)
	}
}

// attempts prints the last preemption attempts for an ask: the trigger, how many
// nodes there were and what became of them, and the node that was chosen or the one
// where the least is missing.
func (d *display) attempts(a *arguments) (func(), error) {
	return d.ofAsk(a, func(ask api.AskView) {
		if len(ask.Attempts) == 0 {
			d.printf("no preemption attempts for %s\n", ask.Key)
		}
		for _, attempt := range ask.Attempts {
			d.printf("at %s by %s: %s\n", offset(attempt.At), attempt.Trigger, countsOf(attempt))
			if attempt.Plan == nil {
				continue
			}
			what := "near miss"
			if attempt.Plan.Cost.Feasible() {
				what = "chosen"
			}
			d.printf("  %s %s: %s\n", what, attempt.Node, strings.ReplaceAll(planned.Explain(attempt.Plan, d.kinds), "\n", "\n  "))
		}
	})
}

func countsOf(a api.PreemptionAttempt) string {
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

// victims prints how many allocations were evicted since the beginning, by
// trigger, and what became of nominations.
func (d *display) victims() {
	p := d.partition.View().Preempted
	line := fmt.Sprintf("victims %d", p.Victims.Total())
	for t := range preemptor.Trigger(preemptor.Triggers) {
		if count := p.Victims.By(t); count > 0 {
			line += fmt.Sprintf(", %d by %s", count, t)
		}
	}
	line += fmt.Sprintf("; nominations %d, cleared %d; overdue %d, loops %d", p.Nominations, p.Cleared, p.Overdue.Total(), p.Loops)
	wasted := d.outcomes.Counts().Wasted
	for cause := range outcomes.Cause(outcomes.Causes) {
		if count := wasted.By(cause); count > 0 {
			line += fmt.Sprintf("; %d wasted: %s", count, cause)
		}
	}
	d.printf("%s\n", line)
}

// plan prints the last plan to make room for an ask. Its quantities are in
// the units of messages: thousandths of a core, bytes.
func (d *display) plan(a *arguments) (func(), error) {
	return d.ofAsk(a, func(ask api.AskView) {
		if ask.Plan == nil {
			d.printf("no plan for %s\n", ask.Key)
			return
		}
		d.printf("at %s %s\n", offset(ask.Planned), planned.Explain(ask.Plan, d.kinds))
	})
}

// ofAsk prints something of a waiting ask.
func (d *display) ofAsk(a *arguments, show func(api.AskView)) (func(), error) {
	key := api.AllocationKey(a.need("the ask"))
	if _, err := d.manager.accepted(key); err != nil {
		return nil, err
	}
	return func() {
		ask, waits := d.askOf(key)
		if !waits {
			d.printf("%s does not wait\n", key)
			return
		}
		show(ask)
	}, nil
}

func (d *display) askOf(key api.AllocationKey) (ask api.AskView, waits bool) {
	for _, application := range d.partition.View().Applications {
		for _, ask := range application.Asks {
			if ask.Key == key {
				return ask, true
			}
		}
	}
	return api.AskView{}, false
}

func (d *display) preempted() {
	p := d.partition.View().Preempted
	d.printf("plans %d, victims %d, overdue %d, reservations given way %d\n", p.Plans, p.Victims.Total(), p.Overdue.Total(), p.Reservations)
}

// evictionOf says for which ask, or by which trigger, an allocation is evicted.
func (d *display) evictionOf(n *api.NodeView, key api.AllocationKey) string {
	i := slices.IndexFunc(n.Evictions, func(e api.Eviction) bool { return e.Key == key })
	if i < 0 {
		return ""
	}
	e := n.Evictions[i]
	text := fmt.Sprintf(", evicted for %s since %s", e.For, offset(e.Since))
	switch {
	case e.Reported:
		text = fmt.Sprintf(", terminating since %s", offset(e.Since))
	case e.For == "":
		text = fmt.Sprintf(", evicted by %s since %s", e.Trigger, offset(e.Since))
	}
	switch {
	case e.NodeOnly:
		text += ", overdue, its queue is not charged"
	case e.Overdue:
		text += ", overdue"
	case e.Late:
		text += ", its end is far off"
	}
	return text
}
