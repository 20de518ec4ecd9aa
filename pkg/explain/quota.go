package explain

import (
	"slices"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// levels are the queues from the leaf to the root, with what the ask lacks in
// each. What is kept for other asks counts, as far as it is kept from this one. Asked is
// what starts together with it.
func levels(view *api.View, ask *api.AskView, app *api.ApplicationView, asked resources.Amounts) []Level {
	var list []Level
	for q := view.Root; q != nil; q = q.Towards(app.Queue) {
		nominated := q.Nominated
		if ask.Nominated != "" {
			nominated = less(nominated, ask.Amounts)
		}
		l := Level{Queue: q.Path, Max: q.Max, Used: q.Used, Nominated: nominated, Guaranteed: q.Guaranteed}
		if !nominated.IsZero() {
			l.kept = keptFrom(view, ask, app.Queue, func(other *api.ApplicationView) bool { return l.counts(other) })
		}
		if q.ApplicationsMax > 0 && !app.Counts && q.Counted >= q.ApplicationsMax {
			l.Full = q.ApplicationsMax
		}
		l.Lacking = l.lacking(asked)
		list = append(list, l)
	}
	slices.Reverse(list)
	return list
}

// lacking is what a level lacks of quota for some amounts.
func (l *Level) lacking(asked resources.Amounts) (lacking resources.Amounts) {
	for i, quantity := range asked {
		kind := resources.Kind(i)
		most := l.Max.Of(kind)
		if over := resources.Total(l.Used.Of(kind), l.kept.Of(kind), quantity, -most); quantity > 0 && most != resources.Unlimited && over > 0 {
			lacking.Set(kind, over)
		}
	}
	return lacking
}

// isShort reports whether a level keeps the ask away.
func (l *Level) isShort() bool { return l.Full > 0 || !l.Lacking.IsZero() }

// counts reports whether an application is charged to a level.
func (l *Level) counts(app *api.ApplicationView) bool {
	switch {
	case !app.Queue.IsWithin(l.Queue):
		return false
	case l.Limit == nil:
		return true
	case l.Limit.Group:
		return app.Group == l.Limit.Name
	}
	return app.User == l.Limit.Name
}

// less is what is left of some amounts without others, nothing where that is
// negative.
func less(from, taken resources.Amounts) resources.Amounts {
	left := from.Minus(taken)
	for i := range left {
		left[i] = max(left[i], 0)
	}
	return left
}
