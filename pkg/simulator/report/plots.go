package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/narwhal-scheduler/narwhal/pkg/core/preemptor"
	"github.com/narwhal-scheduler/narwhal/pkg/plot"
	"github.com/narwhal-scheduler/narwhal/pkg/simulator"
)

// coloursMax is how many queues have a colour of their own; the rest is drawn
// together. marksMax is how many incidents are drawn.
const coloursMax, marksMax = 8, 60

// plots are the charts of a result: utilisation, pending pods, and what the
// queues have of each resource.
func plots(r *simulator.Result) []plot.Chart {
	base := chart{step: r.Series.Step.Duration(), end: r.Time.Duration(), marks: marks(r)}
	charts := []chart{utilisation(base, r), pending(base, r)}
	if r.Series.Preemption != nil {
		charts = append(charts, victims(base, r), underWay(base, r))
	}
	for i := range r.Series.Resources {
		charts = append(charts, shares(base, r, i))
	}
	drawn := make([]plot.Chart, len(charts))
	for i, c := range charts {
		drawn[i] = c.plot()
	}
	return drawn
}

func marks(r *simulator.Result) []plot.Mark {
	var all []plot.Mark
	for i, h := range r.Incidents {
		if i == marksMax {
			break
		}
		verbs := map[string]string{"fail": "failed", "return": "back", "drain": "drained", "undrain": "undrained"}
		text := fmt.Sprintf("%d %s", len(h.Nodes), verbs[h.What])
		if h.Queue != "" {
			text = "limits of " + shortName(h.Queue)
		}
		all = append(all, plot.Mark{At: float64(h.At.Duration()), Text: text})
	}
	return all
}

func utilisation(c chart, r *simulator.Result) chart {
	c.Title = "Utilisation"
	c.Note = "What queues use of the capacity that is there, the mean of each " + stepText(r) + "."
	c.unit, c.top = "% of capacity", 100
	for i, s := range r.Series.Resources {
		c.lines = append(c.lines, line{name: s.Kind, class: colour(i), values: percent(s.Used, s.Capacity)})
	}
	return c
}

func stepText(r *simulator.Result) string {
	return simulator.Clock(r.Series.Step.Duration())
}

func pending(c chart, r *simulator.Result) chart {
	c.Title = "Pending pods"
	c.Note = "Pods that wait for a place, the most in each " + stepText(r) + "."
	c.unit, c.whole = "pods", true
	c.lines = append(c.lines, line{name: "all queues", class: "other", area: true, values: counts(r.Series.Pending)})
	for i, q := range ranked(r) {
		if i < coloursMax && slices.Max(append(q.Pending, 0)) > 0 {
			c.lines = append(c.lines, line{name: shortName(q.Path), class: colour(i), values: counts(q.Pending)})
		}
	}
	if len(c.lines) == 2 {
		c.lines = c.lines[:1] // one queue is all there is to see
	}
	return c
}

// victims are the evicted pods, by trigger.
func victims(c chart, r *simulator.Result) chart {
	c.Title = "Victims"
	c.Note = "Pods evicted up to then, by trigger, on top of each other."
	if one := r.Series.Preemption.ByTrigger; len(one) == 1 {
		c.Note = "Pods evicted up to then, by " + one[0].Trigger + "."
	}
	c.unit, c.whole, c.stack = "pods", true, true
	for _, s := range r.Series.Preemption.ByTrigger {
		c.lines = append(c.lines, line{name: "by " + s.Trigger, class: triggerColours[s.Trigger], values: counts(s.Victims)})
	}
	return c
}

// triggerColours are the same whichever triggers there are.
var triggerColours = map[string]string{
	preemptor.RequiredNode.String(): colour(0), preemptor.Priority.String(): colour(1),
	preemptor.Guarantee.String(): colour(2), preemptor.Quota.String(): colour(3),
}

// underWay is the room that is being made.
func underWay(c chart, r *simulator.Result) chart {
	s := r.Series.Preemption
	c.Title = "Room being made"
	c.Note = "Evicted pods that have not ended, and pods that wait for the room, the most in each " + stepText(r) + "."
	c.unit, c.whole = "pods", true
	for _, l := range []line{
		{name: "evicted and not ended", class: colour(7), area: true, values: counts(s.Releasing)},
		{name: "nominated to a node", class: colour(4), values: counts(s.Nominated)},
		{name: "pods of daemonsets that wait", class: colour(0), values: counts(s.Daemons)},
	} {
		if slices.Max(append(l.values, 0)) > 0 {
			c.lines = append(c.lines, l)
		}
	}
	return c
}

// shares is what the queues have of one kind, foreign pods at the bottom.
func shares(c chart, r *simulator.Result, kind int) chart {
	s := r.Series.Resources[kind]
	c.Title = "Queue shares of " + s.Kind
	c.Note = "What each queue uses of the capacity that is there, on top of each other, the mean of each " + stepText(r) + "."
	c.unit, c.top, c.stack = "% of capacity", 100, true
	if slices.Max(append(s.Foreign, 0)) > 0 {
		c.lines = append(c.lines, line{name: "foreign pods", class: "foreign", values: percent(s.Foreign, s.Capacity)})
	}
	var rest []int64
	for i, q := range ranked(r) {
		used := q.Used[s.Kind]
		if i >= coloursMax {
			rest = sum(rest, used)
			continue
		}
		if slices.Max(append(used, 0)) > 0 {
			c.lines = append(c.lines, line{name: shortName(q.Path), class: colour(i), values: percent(used, s.Capacity)})
		}
	}
	if rest != nil && slices.Max(rest) > 0 {
		c.lines = append(c.lines, line{name: "other queues", class: "other", values: percent(rest, s.Capacity)})
	}
	return c
}

// ranked lists the leaf queues. If there are more than colours, those that had
// the largest share come first; otherwise they stay as configured.
func ranked(r *simulator.Result) []simulator.QueueSeries {
	queues := slices.Clone(r.Series.Queues)
	if len(queues) <= coloursMax {
		return queues
	}
	share := map[string]int64{}
	for _, q := range r.Queues {
		share[q.Path] = q.Share
	}
	slices.SortStableFunc(queues, func(a, b simulator.QueueSeries) int {
		return cmp.Compare(share[b.Path], share[a.Path])
	})
	return queues
}

func shortName(path string) string { return strings.TrimPrefix(path, "root.") }

func colour(i int) string { return fmt.Sprintf("c%d", i%coloursMax) }

func sum(a, b []int64) []int64 {
	if len(a) < len(b) {
		a = append(a, make([]int64, len(b)-len(a))...)
	}
	for i, v := range b {
		a[i] += v
	}
	return a
}

func counts(values []int64) []float64 {
	out := make([]float64, len(values))
	for i, v := range values {
		out[i] = float64(v)
	}
	return out
}

// percent is a part of a whole, step by step; of nothing it is nothing.
func percent(part, whole []int64) []float64 {
	out := make([]float64, len(part))
	for i, v := range part {
		if i < len(whole) && whole[i] > 0 {
			out[i] = 100 * float64(v) / float64(whole[i])
		}
	}
	return out
}

// tiles are the few numbers that stand on top.
func tiles(r *simulator.Result) []tile {
	all := []tile{
		{simulator.Thousands(int64(r.Pods.Placed)), "pods placed"},
		{simulator.Thousands(int64(r.Pods.Pending)), "pending at the end"},
	}
	if w := r.Waiting; w != nil {
		all = append(all,
			tile{simulator.Clock(w.P50.Duration()), "50% waited at most"},
			tile{simulator.Clock(w.P99.Duration()), "99% waited at most"})
	}
	for _, u := range r.Resources[:min(3, len(r.Resources))] {
		all = append(all, tile{simulator.Percent(u.MeanPerMille), u.Kind + " used on average"})
	}
	if p := r.Preemption; p != nil && p.Victims > 0 {
		all = append(all, tile{simulator.Thousands(int64(p.Victims)), "pods evicted to make room"})
	}
	if n := r.Pods.Evicted - r.Pods.Preempted + r.Pods.Lost; n > 0 {
		all = append(all, tile{simulator.Thousands(int64(n)), "pods drained or lost"})
	}
	return all
}
