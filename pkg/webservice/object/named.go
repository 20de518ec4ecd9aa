package object

import (
	"maps"
	"slices"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// namedMax is how many kinds get their names in a snapshot that nothing but asks name: these may be made up.
const namedMax = 64

// Named is the snapshot with a table of kinds of its own, so that questions make nothing known to the scheduler. Kinds that no node
// has and asks wait for are known there, and counted under their names.
func (at *Snapshot) Named() *Snapshot {
	own := *at
	own.kinds = at.kinds.Clone()
	if unknown, is := own.kinds.Lookup(resources.UnknownKind); is {
		own.View = named(at.View, own.kinds, unknown)
	}
	return &own
}

// named is a view in which asks want kinds by their names; the same one if all do. Kinds gets the names.
func named(view *api.View, kinds *resources.Kinds, unknown resources.Kind) *api.View {
	most := kinds.Len() + namedMax
	more := map[api.QueuePath]resources.Amounts{} // that waits in leaves then; less than zero of what is not known
	own := *view
	own.Applications = slices.Clone(view.Applications)
	for i, app := range own.Applications {
		if app.Pending.Of(unknown) == 0 {
			continue
		}
		with := *app
		with.Asks = slices.Clone(app.Asks)
		for j := range with.Asks {
			ask := &with.Asks[j]
			if len(ask.Unknown) == 0 {
				continue
			}
			known := namedAsk(ask.Allocation, kinds, most)
			by := known.Amounts.Minus(ask.Amounts)
			with.Pending, more[app.Queue] = with.Pending.Plus(by), more[app.Queue].Plus(by)
			ask.Allocation = known
		}
		own.Applications[i] = &with
	}
	if len(more) == 0 {
		return view
	}
	own.Root = namedQueue(view.Root, more)
	return &own
}

// namedAsk is an ask with the kinds that a table knows, or learns as long as it has less than so many.
func namedAsk(ask *api.Allocation, kinds *resources.Kinds, most int) *api.Allocation {
	known := func(name string) bool { _, is := kinds.Lookup(name); return is }
	for _, name := range slices.Sorted(maps.Keys(ask.Unknown)) {
		if !known(name) && kinds.Len() < most {
			_, _ = kinds.Intern(name) // a table that is full leaves it unknown
		}
	}
	return ask.WithKnown(kinds, known)
}

// namedQueue is a queue of which more waits in some leaves.
func namedQueue(q *api.QueueView, more map[api.QueuePath]resources.Amounts) *api.QueueView {
	own := *q
	own.Queues = make([]*api.QueueView, len(q.Queues))
	for i, child := range q.Queues {
		own.Queues[i] = namedQueue(child, more)
	}
	for leaf, by := range more {
		if leaf.IsWithin(q.Path) {
			own.Pending = own.Pending.Plus(by)
		}
	}
	return &own
}
