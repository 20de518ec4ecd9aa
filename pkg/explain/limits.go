package explain

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// limits are the limits of the user and of the group that an ask counts for, as levels. It takes time linear in the
// applications for each of them.
func limits(view *api.View, ask *api.AskView, app *api.ApplicationView, asked resources.Amounts) (list []Level) {
	all := limitsOf(view)
	if len(all) == 0 {
		return nil
	}
	for _, owner := range []api.LimitOwner{{Name: app.User}, {Group: true, Name: app.Group}} {
		for path := app.Queue; path != "" && (owner.Name != "" || !owner.Group); path = path[:max(strings.LastIndexByte(string(path), '.'), 0)] {
			own := all[path][owner]
			limit := cmp.Or(own, all[path][allOthers(owner)])
			if limit == nil {
				continue
			}
			l, running := Level{Queue: path, Limit: &owner, OfAll: own == nil, Max: limit.Max}, 0
			for _, other := range view.Applications {
				if l.counts(other) {
					l.Used.Add(other.Used)
					if other.Counts {
						running++
					}
				}
			}
			l.kept = keptFrom(view, ask, app.Queue, l.counts)
			if limit.ApplicationsMax > 0 && !app.Counts && running >= limit.ApplicationsMax {
				l.Full = limit.ApplicationsMax
			}
			l.Lacking = l.lacking(asked)
			list = append(list, l)
		}
	}
	return list
}

// subject is whose level it is, in words.
func (l *Level) subject() string {
	switch {
	case l.Limit == nil:
		return "queue " + string(l.Queue)
	case l.Limit.Group:
		return "group " + l.Limit.Name
	}
	return "user " + cmp.Or(l.Limit.Name, "(without a name)")
}

// remedy is what has to happen at a level so that there is room for the ask, in words that follow "if".
func (l *Level) remedy(kinds *resources.Kinds, more higher) string {
	var parts []string
	if more.applications > 0 {
		words := fmt.Sprintf("the applications that may run in queue %s are raised to %d", l.Queue, l.Full+more.applications)
		if l.Limit != nil {
			words = fmt.Sprintf("the applications of %s that may run in queue %s are raised to %d", l.subject(), l.Queue, l.Full+more.applications)
		}
		parts = append(parts, words)
	}
	switch {
	case more.by.IsZero():
	case l.Limit == nil && !more.by.FitsIn(l.Used):
		parts = append(parts, fmt.Sprintf("the max of queue %s is raised by %s", l.Queue, kinds.Format(more.by)))
	case l.Limit == nil:
		parts = append(parts, fmt.Sprintf("queue %s uses %s less, or its max is raised by that", l.Queue, kinds.Format(more.by)))
	default:
		var raised resources.Amounts
		for i, quantity := range more.by {
			if kind := resources.Kind(i); quantity > 0 {
				raised.Set(kind, l.Max.Of(kind)+quantity)
			}
		}
		words := "the limit of %s in queue %s is raised to %s"
		if l.OfAll {
			words = "%s has a limit of its own in queue %s, of %s, instead of the one of all others"
		}
		parts = append(parts, fmt.Sprintf(words, l.subject(), l.Queue, kinds.Format(raised)))
	}
	return strings.Join(parts, ", and ")
}

// text says how much of a limit is used.
func (l *Level) text(kinds *resources.Kinds) string {
	line := fmt.Sprintf("%s uses %s", l.subject(), kinds.Format(l.Used))
	if !l.Max.Equal(nil) {
		line += " of its limit " + kinds.FormatLimits(l.Max)
	}
	line += fmt.Sprintf(" in queue %s", l.Queue)
	if !l.Lacking.IsZero() {
		line += ", lacks " + kinds.Format(l.Lacking)
	}
	if l.Full > 0 {
		line += fmt.Sprintf("; no more than %d of its applications may run", l.Full)
	}
	return line
}
