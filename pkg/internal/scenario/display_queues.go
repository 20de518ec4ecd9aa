package scenario

import (
	"fmt"
	"strings"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/explain/planned"
)

// A column is what is shown of every queue.
type column struct {
	head string
	of   func(*api.View, *api.QueueView) string
}

func (d *display) columns() []column {
	return []column{
		{"used", func(_ *api.View, q *api.QueueView) string { return d.amounts(q.Used) }},
		{"pending", func(_ *api.View, q *api.QueueView) string { return d.amounts(q.Pending) }},
		{"guaranteed", func(_ *api.View, q *api.QueueView) string { return d.amounts(q.Guaranteed) }},
		{"max", func(_ *api.View, q *api.QueueView) string { return d.limits(q.Max) }},
		{"headroom", func(v *api.View, q *api.QueueView) string {
			headroom, _ := v.Headroom(q.Path)
			return d.limits(headroom)
		}},
		{"share", func(_ *api.View, q *api.QueueView) string { return fmt.Sprintf("%d‰", q.Share.PerMille()) }},
		{"priority", func(_ *api.View, q *api.QueueView) string {
			if q.Priority == api.PriorityNone {
				return none
			}
			return fmt.Sprint(q.Priority)
		}},
		{"applications", func(_ *api.View, q *api.QueueView) string {
			if !q.Leaf {
				return ""
			}
			return fmt.Sprint(q.Applications)
		}},
	}
}

// sometimes are the columns that are shown only if a queue has anything in them.
func (d *display) sometimes() []column {
	return []column{
		{"releasing", func(_ *api.View, q *api.QueueView) string { return d.amounts(q.Releasing) }},
		{"nominated", func(_ *api.View, q *api.QueueView) string { return d.amounts(q.Nominated) }},
		{"may run", func(_ *api.View, q *api.QueueView) string {
			if q.ApplicationsMax == 0 {
				return none
			}
			return fmt.Sprintf("%d of %d", q.Counted, q.ApplicationsMax)
		}},
	}
}

func (d *display) queues() {
	view := d.partition.View()
	shown := d.columns()
	for _, c := range d.sometimes() {
		some := false
		everyQueue(view.Root, func(q *api.QueueView) { some = some || c.of(view, q) != none })
		if some {
			shown = append(shown, c)
		}
	}
	d.table(func(row func(...string)) {
		heads := []string{"queue"}
		for _, c := range shown {
			heads = append(heads, c.head)
		}
		row(heads...)
		everyQueue(view.Root, func(q *api.QueueView) {
			cells := []string{queueName(q)}
			for _, c := range shown {
				cells = append(cells, c.of(view, q))
			}
			row(cells...)
		})
	})
}

// queueName is the last part of the path, at the depth of the queue.
func queueName(q *api.QueueView) string {
	name := string(q.Path[strings.LastIndex(string(q.Path), ".")+1:])
	switch {
	case q.Draining:
		name += " (draining)"
	case q.Dynamic:
		name += " (dynamic)"
	}
	return strings.Repeat("  ", strings.Count(string(q.Path), ".")) + name
}

// everyQueue visits a queue and those below it.
func everyQueue(q *api.QueueView, visit func(*api.QueueView)) {
	visit(q)
	for _, below := range q.Queues {
		everyQueue(below, visit)
	}
}

// excess prints the last plan to free quota of every queue that is over its
// max.
func (d *display) excess() {
	found := false
	everyQueue(d.partition.View().Root, func(q *api.QueueView) {
		if q.OverMaxSince.IsZero() {
			return
		}
		found = true
		d.printf("%s is over its max since %s\n", q.Path, offset(q.OverMaxSince))
		if q.QuotaPlan != nil {
			d.printf("at %s %s\n", offset(q.QuotaPlanned), planned.Explain(q.QuotaPlan, d.kinds))
		}
	})
	if !found {
		d.printf("no queue is over its max\n")
	}
}
