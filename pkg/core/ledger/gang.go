package ledger

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/google/btree"
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
	Style   api.GangStyle
	Timeout time.Duration // of what was left of it when the application came
	whole   bool          // it starts only when all placeholders can be placed, see group
	started bool          // any placeholder was placed
	worked  bool          // something that is no placeholder ran

	placed       resources.Sum
	pending      resources.Sum
	Placeholders int // that run
	Groups       []*TaskGroup
	Timer        timers.Timer
}

// A TaskGroup is the members of a gang that are alike. Each placeholder keeps the place of
// one ask.
//
//	left = asks + free.count, the placeholders whose place no ask has yet
//	Held = the first asks in order that wait for one, left of them at most
//	Others = the other asks, which wait like those of no gang
type TaskGroup struct {
	Name        string
	Application *Application
	Least       resources.Amounts // of its first placeholder
	Made        int64             // placeholders there ever were
	Replaced    int64             // those whose ask runs
	TimedOut    int64             // those that ended in any other way
	asks        int               // placeholders that wait
	Free        placeholders      // that run and may be replaced
	Held        AskSet
	Others      AskSet
	Offered     uint64 // counts placeholders that ever came to be free
	changed     bool   // recorded, and not reacted to yet
}

// A Replacement is a placeholder that the resource manager was told to end, and the ask that
// takes its place then. An ask that is to run on another node has a claim there.
type Replacement struct {
	Placeholder *Request
	Ask         *Request // nil if it waits no more
}

// IsComplete reports whether as much was placed of a gang as its placeholders are to hold.
func (g *gang) IsComplete() bool { return g.total.FitsIn(g.placed.Amounts) }

// isGathered reports whether all placeholders of a gang wait or run.
func (g *gang) isGathered() bool {
	return g.total.FitsInSum(g.placed.Amounts, g.pending.Amounts)
}

// InTaskGroup is the task group of a request, nil if it has none. An ask that may run on one
// node only takes no part in a gang, as a placeholder may be anywhere.
func (r *Request) InTaskGroup() *TaskGroup {
	if r.TaskGroup == "" || r.Foreign() || r.Required != "" || r.App.Gang == nil {
		return nil
	}
	groups := r.App.Gang.Groups
	if at, found := slices.BinarySearchFunc(groups, r.TaskGroup, compareGroup); found {
		return groups[at]
	}
	return nil
}

func compareGroup(g *TaskGroup, name string) int { return strings.Compare(g.Name, name) }

// Pair is the replacement that a placeholder or ask takes part in; nil if there is none.
func (r *Request) Pair() *Replacement {
	if r.Wait == nil {
		return nil
	}
	return r.Wait.Pair
}

// MakesWay reports whether the resource manager was told to end a placeholder for an ask, which may
// wait no more.
func (r *Request) MakesWay() bool { return r.Pair() != nil && r.Pair().Placeholder == r }

// IsReplaced reports whether an ask takes the place of a placeholder: it is no victim, and its
// room is not free once it has ended.
func (r *Request) IsReplaced() bool {
	return r.MakesWay() && r.Pair().Ask != nil
}

// IsHeld reports whether an ask is in no order because of its gang.
func (r *Request) IsHeld() bool { return r.Wait != nil && r.Wait.Held }

// enroll makes the task group of a request known.
func (l *Ledger) enroll(r *Request) {
	app := r.App
	if r.Required != "" {
		return
	}
	if app.Gang == nil {
		app.Gang = &gang{Timeout: api.DefaultGangTimeout}
	}
	at, found := slices.BinarySearchFunc(app.Gang.Groups, r.TaskGroup, compareGroup)
	if !found {
		app.Gang.Groups = slices.Insert(app.Gang.Groups, at, &TaskGroup{Name: r.TaskGroup, Application: app})
	}
	if r.Placeholder {
		g := app.Gang.Groups[at]
		l.Regrouped++
		if g.Made++; g.Made == 1 {
			g.Least = r.Amounts
		}
	}
}

// beginGang notes what an application says of its gang.
func (a *Application) beginGang(c api.AddApplication) {
	whole := a.Queue.Properties.GangWhole
	if tag := c.Tags[api.TagGangStart]; tag != "" {
		whole = tag == api.GangWhole
	}
	if !whole && c.Placeholders.IsZero() && c.GangTimeout == 0 {
		return
	}
	a.Gang = &gang{total: c.Placeholders, Style: c.Style, Timeout: c.GangTimeout, whole: whole}
	a.Gang.Timeout = cmp.Or(a.Gang.Timeout, api.DefaultGangTimeout)
	if a.dated { // the time before a restart counts, that in which it waited for room here does not
		a.Gang.Timeout = max(a.Gang.Timeout-max(a.Since.Sub(a.Submitted), 0), time.Millisecond)
	}
}

// ResizeMember has what makes the gang complete follow the new amounts of a placeholder that
// runs.
func (l *Ledger) ResizeMember(r *Request, to resources.Amounts) {
	if r.InTaskGroup() == nil || r.App.Gang.total.IsZero() {
		return
	}
	total := r.App.Gang.total.Plus(to).Minus(r.Amounts)
	for i := range total {
		total[i] = max(total[i], 0)
	}
	r.App.Gang.total = total
}

// CountLost counts a placeholder that ended, and no ask took its place.
func (l *Ledger) CountLost(g *TaskGroup) {
	g.TimedOut++
	l.Regrouped++
}

// Left is how many placeholders there are whose place no ask has.
func (g *TaskGroup) Left() int { return g.asks + g.Free.Count }

// seat books a placeholder that runs, or takes one off the books.
func (l *Ledger) seat(r *Request, more int) {
	if r.InTaskGroup() == nil {
		return
	}
	gang := r.App.Gang
	if gang.Placeholders += more; more > 0 {
		gang.placed.Add(r.Amounts)
	} else {
		gang.placed.Sub(r.Amounts)
	}
	l.offer(r, more > 0)
}

// offer lists a placeholder if it may be replaced: it runs, is no victim, and no ask takes its place.
func (l *Ledger) offer(r *Request, runs bool) {
	g := r.InTaskGroup()
	if g == nil || r.RunsOn == nil {
		return
	}
	may := runs && r.Eviction == nil && !r.IsReplaced()
	if may == g.Free.Has(r) {
		return
	}
	if may {
		g.Free.add(l.Kinds, r)
		g.Offered++
	} else {
		g.Free.remove(r)
	}
	l.Changes.TaskGroup(g)
}

// JoinTaskGroup books an ask with its task group.
func (l *Ledger) JoinTaskGroup(r *Request) {
	g := r.InTaskGroup()
	if g == nil {
		return
	}
	switch {
	case r.Placeholder:
		g.asks++
		r.App.Gang.pending.Add(r.Amounts)
	case g.Left() > g.Held.Len() && (r.Wait == nil || !r.Wait.Delayed):
		l.HoldBack(r, api.AwaitsPlaceholder, g.Name)
		g.Held.Add(r)
	default:
		g.Others.Add(r)
	}
	l.Changes.TaskGroup(g)
}

// HoldBack notes that an ask stands in no order because of its gang.
func (l *Ledger) HoldBack(r *Request, why api.Reason, detail string) {
	r.Waiting().Held = true
	r.Wait.Says(why, detail)
}

// MayJoinTaskGroup notes that an ask may wait for a placeholder now which could not before: it is not delayed
// any more, or no room is kept for it.
func (l *Ledger) MayJoinTaskGroup(r *Request) {
	if g := r.InTaskGroup(); g != nil {
		l.Changes.TaskGroup(g)
	}
}

// ResignTaskGroup takes an ask off the books of its task group.
func (l *Ledger) ResignTaskGroup(r *Request) {
	g := r.InTaskGroup()
	if g == nil {
		return
	}
	if r.Placeholder {
		g.asks--
		r.App.Gang.pending.Sub(r.Amounts)
	} else {
		g.Held.Remove(r)
		g.Others.Remove(r)
		l.Unpair(r)
	}
	l.Changes.TaskGroup(g)
}

// PairUp has an ask take the place of a placeholder. It reports whether the resource manager was
// told before to end it.
func (l *Ledger) PairUp(r, placeholder *Request) (told bool) {
	told = placeholder.Pair() != nil
	with := &Replacement{placeholder, r}
	r.Waiting().Pair, placeholder.Waiting().Pair = with, with
	l.offer(placeholder, true)
	r.InTaskGroup().Held.Remove(r)
	l.HoldBack(r, api.AwaitsReplacement, string(placeholder.Key))
	l.touchTaskGroup(placeholder.RunsOn, 0)
	l.Changes.Application(r.App, 0)
	return told
}

// EndsForNone says of a placeholder that it is to end for an ask that waits no more.
func (r *Request) EndsForNone() { r.Waiting().Pair = &Replacement{Placeholder: r} }

// Unpair ends what an ask has of a placeholder, whose end the resource manager was told: the
// place is open to another ask as long as it runs.
func (l *Ledger) Unpair(r *Request) {
	with := r.Pair()
	if with == nil || with.Ask != r {
		return
	}
	r.Wait.Pair, with.Ask = nil, nil
	l.offer(with.Placeholder, true)
	l.touchTaskGroup(with.Placeholder.RunsOn, NodeYields) // it may be a victim again
	l.Changes.Application(r.App, 0)
}

// touchTaskGroup notes that what may be evicted on a node has changed.
func (l *Ledger) touchTaskGroup(n *Node, what nodeChange) {
	if n != nil {
		n.Revision++
		l.Changes.Node(n, what)
	}
}

// TaskGroup records that what a task group has or wants has changed.
func (c *changeSet) TaskGroup(g *TaskGroup) {
	if !g.changed {
		g.changed = true
		c.taskGroups = append(c.taskGroups, g)
	}
}

// ForgetGang drops what is recorded of the task groups of an application that goes.
func (c *changeSet) ForgetGang(app *Application) {
	c.taskGroups = slices.DeleteFunc(c.taskGroups, func(g *TaskGroup) bool { return g.Application == app })
}

// CountReplaced counts a placeholder whose ask runs.
func (l *Ledger) CountReplaced(g *TaskGroup) { g.Replaced++ }

// GangRan notes that an allocation of a gang runs: the gang has started, or worked.
func (l *Ledger) GangRan(r *Request) {
	switch {
	case !r.Placeholder:
		r.App.Gang.worked = true
	case r.InTaskGroup() != nil:
		r.App.Gang.started = true
	}
}

// placeholders are those of a task group that run and may be replaced: the largest first, those
// of one size in order.
//
//	First = the first of those on each node
type placeholders struct {
	on    map[*Node]*AskSet
	First AskSet
	Count int
}

func bySize(kinds *resources.Kinds) AskSet {
	return AskSet{btree.NewG(8, sizeOrder{kinds}.less)}
}

// Has reports whether a placeholder is in the set.
func (p *placeholders) Has(r *Request) bool {
	on := p.on[r.RunsOn]
	return on != nil && on.Has(r)
}

func (p *placeholders) add(kinds *resources.Kinds, r *Request) {
	if p.on == nil {
		p.on, p.First = map[*Node]*AskSet{}, bySize(kinds)
	}
	on := p.on[r.RunsOn]
	if on == nil {
		set := bySize(kinds)
		on = &set
		p.on[r.RunsOn] = on
	} else {
		p.First.Remove(on.Head())
	}
	on.Add(r)
	p.First.Add(on.Head())
	p.Count++
}

// remove takes a placeholder out that is listed.
func (p *placeholders) remove(r *Request) {
	on := p.on[r.RunsOn]
	p.First.Remove(on.Head())
	if on.Remove(r) {
		delete(p.on, r.RunsOn)
	} else {
		p.First.Add(on.Head())
	}
	p.Count--
}

// Fitting is the first placeholder on a node that is as large as an ask; nil if there is none.
func (p *placeholders) Fitting(r *Request, n *Node) *Request {
	for placeholder := range p.on[n].All {
		if r.Amounts.FitsIn(placeholder.Amounts) {
			return placeholder
		}
	}
	return nil
}
