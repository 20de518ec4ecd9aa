package core

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/core/timers"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// A gang is what an application has in task groups: placeholders, which hold room, and the
// asks that take their places.
//
//	placed  = the sum of the placeholders that run
//	pending = the sum of the placeholders that wait
type gang struct {
	total   resources.Amounts // of all placeholders, as the application said
	style   api.GangStyle
	timeout time.Duration // of what was left of it when the application came
	whole   bool          // it starts only when all placeholders can be placed, see group
	started bool          // any placeholder was placed
	worked  bool          // something that is no placeholder ran

	placed       resources.Sum
	pending      resources.Sum
	placeholders int // that run
	groups       []*taskGroup
	timer        timers.Timer[due]
}

// A taskGroup is the members of a gang that are alike. Each placeholder keeps the place of
// one ask.
//
//	left = asks + free.count, the placeholders whose place no ask has yet
//	held = the first asks in order that wait for one, left of them at most
//	others = the other asks, which wait like those of no gang
type taskGroup struct {
	name        string
	application *application
	least       resources.Amounts // of its first placeholder
	made        int64             // placeholders there ever were
	replaced    int64             // those whose ask runs
	timedOut    int64             // those that ended in any other way
	asks        int               // placeholders that wait
	free        placeholders      // that run and may be replaced
	held        askSet
	others      askSet
	change      bool // recorded, and not reacted to yet
	ready       bool // a placeholder may be replaced
	waits       bool // an ask took the place of none, and is tried again later

	searches map[string]*placeholderSearch
	freed    uint64 // refused.freed when they began
	again    bool   // those that are over are to begin anew
	goesOn   bool   // one is not over, and goes on in a later batch
}

// A replacement is a placeholder that the resource manager was told to end, and the ask that
// takes its place then. An ask that is to run on another node has a claim there.
type replacement struct {
	placeholder *request
	ask         *request // nil if it waits no more
}

func (g *gang) isComplete() bool { return g.total.FitsIn(g.placed.Amounts) }

// isGathered reports whether all placeholders of a gang wait or run.
func (g *gang) isGathered() bool {
	return g.total.FitsInSum(g.placed.Amounts, g.pending.Amounts)
}

// taskGroup is the task group of a request, nil if it has none. An ask that may run on one
// node only takes no part in a gang, as a placeholder may be anywhere.
func (r *request) taskGroup() *taskGroup {
	if r.TaskGroup == "" || r.foreign() || r.Required != "" || r.application.gang == nil {
		return nil
	}
	groups := r.application.gang.groups
	if at, found := slices.BinarySearchFunc(groups, r.TaskGroup, compareGroup); found {
		return groups[at]
	}
	return nil
}

func compareGroup(g *taskGroup, name string) int { return strings.Compare(g.name, name) }

// pair is the replacement that a placeholder or ask takes part in; nil if there is none.
func (r *request) pair() *replacement {
	if r.wait == nil {
		return nil
	}
	return r.wait.pair
}

// makesWay reports whether the resource manager was told to end a placeholder for an ask, which may
// wait no more.
func (r *request) makesWay() bool { return r.pair() != nil && r.pair().placeholder == r }

// replaced reports whether an ask takes the place of a placeholder: it is no victim, and its
// room is not free once it has ended.
func (r *request) replaced() bool {
	return r.makesWay() && r.pair().ask != nil
}

// isHeld reports whether an ask is in no order because of its gang.
func (r *request) isHeld() bool { return r.wait != nil && r.wait.held }

// enroll makes the task group of a request known.
func (l *ledger) enroll(r *request) {
	app := r.application
	if r.Required != "" {
		return
	}
	if app.gang == nil {
		app.gang = &gang{timeout: api.DefaultGangTimeout}
	}
	at, found := slices.BinarySearchFunc(app.gang.groups, r.TaskGroup, compareGroup)
	if !found {
		app.gang.groups = slices.Insert(app.gang.groups, at, &taskGroup{name: r.TaskGroup, application: app})
	}
	if r.Placeholder {
		g := app.gang.groups[at]
		l.regrouped++
		if g.made++; g.made == 1 {
			g.least = r.Amounts
		}
	}
}

// beginGang notes what an application says of its gang.
func (a *application) beginGang(c api.AddApplication) {
	whole := a.queue.properties.GangWhole
	if tag := c.Tags[api.TagGangStart]; tag != "" {
		whole = tag == api.GangWhole
	}
	if !whole && c.Placeholders.IsZero() && c.GangTimeout == 0 {
		return
	}
	a.gang = &gang{total: c.Placeholders, style: c.Style, timeout: c.GangTimeout, whole: whole}
	a.gang.timeout = cmp.Or(a.gang.timeout, api.DefaultGangTimeout)
	if a.dated { // the time before a restart counts, that in which it waited for room here does not
		a.gang.timeout = max(a.gang.timeout-max(a.since.Sub(a.submitted), 0), time.Millisecond)
	}
}

// resizeMember has what makes the gang complete follow the new amounts of a placeholder that
// runs.
func (l *ledger) resizeMember(r *request, to resources.Amounts) {
	if r.taskGroup() == nil || r.application.gang.total.IsZero() {
		return
	}
	total := r.application.gang.total.Plus(to).Minus(r.Amounts)
	for i := range total {
		total[i] = max(total[i], 0)
	}
	r.application.gang.total = total
}

// countLost counts a placeholder that ended, and no ask took its place.
func (l *ledger) countLost(g *taskGroup) {
	g.timedOut++
	l.regrouped++
}

// left is how many placeholders there are whose place no ask has.
func (g *taskGroup) left() int { return g.asks + g.free.count }

// seat books a placeholder that runs, or takes one off the books.
func (l *ledger) seat(r *request, more int) {
	if r.taskGroup() == nil {
		return
	}
	gang := r.application.gang
	if gang.placeholders += more; more > 0 {
		gang.placed.Add(r.Amounts)
	} else {
		gang.placed.Sub(r.Amounts)
	}
	l.offer(r, more > 0)
}

// offer lists a placeholder if it may be replaced: it runs, is no victim, and no ask takes its place.
func (l *ledger) offer(r *request, runs bool) {
	g := r.taskGroup()
	if g == nil || r.node == nil {
		return
	}
	may := runs && r.eviction == nil && !r.replaced()
	if may == g.free.has(r) {
		return
	}
	if may {
		g.free.add(l.kinds, r)
		g.again = true
	} else {
		g.free.remove(r)
	}
	l.changes.taskGroup(g)
}

// joinTaskGroup books an ask with its task group.
func (l *ledger) joinTaskGroup(r *request) {
	g := r.taskGroup()
	if g == nil {
		return
	}
	switch {
	case r.Placeholder:
		g.asks++
		r.application.gang.pending.Add(r.Amounts)
	case g.left() > g.held.len() && (r.wait == nil || !r.wait.delayed):
		l.holdBack(r, api.AwaitsPlaceholder, g.name)
		g.held.add(r)
	default:
		g.others.add(r)
	}
	l.changes.taskGroup(g)
}

// holdBack notes that an ask stands in no order because of its gang.
func (l *ledger) holdBack(r *request, why api.Reason, detail string) {
	w := r.waiting()
	w.held, w.reason, w.detail = true, why, detail
}

// mayJoinTaskGroup notes that an ask may wait for a placeholder now which could not before: it is not delayed
// any more, or no room is kept for it.
func (l *ledger) mayJoinTaskGroup(r *request) {
	if g := r.taskGroup(); g != nil {
		l.changes.taskGroup(g)
	}
}

// resignTaskGroup takes an ask off the books of its task group.
func (l *ledger) resignTaskGroup(r *request) {
	g := r.taskGroup()
	if g == nil {
		return
	}
	if r.Placeholder {
		g.asks--
		r.application.gang.pending.Sub(r.Amounts)
	} else {
		g.held.remove(r)
		g.others.remove(r)
		l.unpair(r)
	}
	l.changes.taskGroup(g)
}

// pairUp has an ask take the place of a placeholder. It reports whether the resource manager was
// told before to end it.
func (l *ledger) pairUp(r, placeholder *request) (told bool) {
	told = placeholder.pair() != nil
	with := &replacement{placeholder, r}
	r.waiting().pair, placeholder.waiting().pair = with, with
	l.offer(placeholder, true)
	r.taskGroup().held.remove(r)
	l.holdBack(r, api.AwaitsReplacement, string(placeholder.Key))
	l.touchTaskGroup(placeholder.node, 0)
	l.changes.application(r.application, 0)
	return told
}

// unpair ends what an ask has of a placeholder, whose end the resource manager was told: the
// place is open to another ask as long as it runs.
func (l *ledger) unpair(r *request) {
	with := r.pair()
	if with == nil || with.ask != r {
		return
	}
	r.wait.pair, with.ask = nil, nil
	l.offer(with.placeholder, true)
	l.touchTaskGroup(with.placeholder.node, nodeYields) // it may be a victim again
	l.changes.application(r.application, 0)
}

// touchTaskGroup notes that what may be evicted on a node has changed.
func (l *ledger) touchTaskGroup(n *node, what nodeChange) {
	if n != nil {
		n.view = nil
		n.revision++
		l.changes.node(n, what)
	}
}

// taskGroup records that what a task group has or wants has changed.
func (c *changeSet) taskGroup(g *taskGroup) {
	if !g.change {
		g.change = true
		c.taskGroups = append(c.taskGroups, g)
	}
}
