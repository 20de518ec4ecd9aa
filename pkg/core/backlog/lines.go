package backlog

import (
	"cmp"
	"slices"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/core/ledger"
	"github.com/narwhal-scheduler/narwhal/pkg/core/order"
	"github.com/narwhal-scheduler/narwhal/pkg/core/tables"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// A Line is the applications of a leaf that wait and are bound by the same limits: those of the
// same user and group, as far as these are limited, which all count for limits of applications, or
// all do not. Where nothing is limited there is one line. Lines stand in the order of their leaf by
// their first application.
//
// One in which no ask may run stands in the line of the account that holds it back, with all others
// of the leaf that the same account holds back. That one is looked at again when the account
// changes, and stands in the order of the leaf then if the account may hold any of it. So what a
// limit holds back costs a search nothing, and to let the next one run costs a look at one line,
// however many applications and users wait.
//
//	Apps  = of the applications that it is of those which stand in an order; none if holds is set
//	Lines = those that the account holds back; none if holds is not set
//	In    = nil if it stands in the order of its leaf, or in none
type Line struct {
	LineKey
	Leaf *Queue
	At   int // the place in the list of the leaf

	Apps  order.Tree[*Application]
	Lines order.Tree[*Line]
	In    *Line

	Blocked   bool // the account holds back all of it, and it stands in no order
	BlockedAt int  // the place in the list of the account

	links order.Links[*Line]
	place linePlace
	Own   Summary // of what stands in it
	below Summary // of the subtree of the order that it stands in

	headroom headroom // scratch of searches
}

// A LineKey is what binds the applications of a line: the lowest accounts of limits of their user
// and group, nil if there is none, and whether they are still to be counted where the number of
// applications is limited. If holds is set, it is the account that holds lines back.
type LineKey struct {
	User, Group *ledger.Account
	Uncounted   bool
	Holds       bool
}

// linePlace is that of the first application.
type linePlace struct {
	ApplicationPlace
	id api.ApplicationID
}

// Before orders like the first applications.
func (l *Line) Before(other *Line) bool {
	return l.Leaf.compareFirsts(l.place, other.place, cmp.Compare(other.place.priority, l.place.priority)) < 0
}

// Links are the place in the order of the leaf, or of another line.
func (l *Line) Links() *order.Links[*Line] { return &l.links }

// Summarise works out the summary of a subtree of the order.
func (l *Line) Summarise() bool {
	return l.below.Become(&l.Own, l.links.Left.subtree(), l.links.Right.subtree())
}

func (l *Line) subtree() *Summary {
	if l == nil {
		return nil
	}
	return &l.below
}

// lines are those of one leaf.
type lines struct {
	Tree order.Tree[*Line] // of which something may be tried
	List []*Line
	By   map[LineKey]*Line
}

// find is where an application belongs that waits.
func (l *lines) find(app *Application) *Line {
	key := LineKey{User: app.ByUser, Group: app.ByGroup, Uncounted: !app.Counts && app.IsCapped()}
	if app.Line != nil && app.Line.LineKey == key {
		return app.Line
	}
	return l.of(key, app.Leaf)
}

// of finds or makes the line of a key.
func (l *lines) of(key LineKey, leaf *Queue) *Line {
	found := l.By[key]
	if found == nil {
		found = &Line{LineKey: key, Leaf: leaf, At: len(l.List), Own: EmptySummary}
		found.Apps.Looked, found.Lines.Looked = l.Tree.Looked, l.Tree.Looked
		if l.By == nil {
			l.By = map[LineKey]*Line{}
		}
		l.By[key] = found
		l.List = append(l.List, found)
	}
	return found
}

// Settle brings the place of a line up to date.
func (l *Line) Settle() {
	if l.Leaf.Alone() == l && l.Apps.Len() > 0 {
		return
	}
	own, place := l.summed()
	from, to := l.In, (*Line)(nil)
	if held := l.blocker(&own); held != nil {
		to = l.Leaf.Lines.of(LineKey{User: held, Uncounted: l.Uncounted, Holds: true}, l.Leaf)
	}
	if to != from && l.links.In() {
		l.order().Remove(l)
		if from != nil {
			from.Settle() // first, as no two lines of an order stand in the same place
		}
	}
	l.In = to
	l.block(l.HoldsBack(&own))
	if other := l.Leaf.Alone(); other != nil && other != l {
		other.Own, other.place = other.summed()
		other.Summarise()
	}
	l.order().Settle(l, !l.IsEmpty() && !l.Blocked, place != l.place, own != l.Own, func() { l.Own, l.place = own, place })
	l.Own, l.place = own, place // also of one that is in no order
	if to != nil {
		to.Settle()
	}
	if l.IsEmpty() {
		l.Leaf.Lines.drop(l)
	}
}

// summed is the summary of what stands in a line, and its place.
func (l *Line) summed() (own Summary, place linePlace) {
	own, place = EmptySummary, l.place
	if top := l.Apps.Root(); top != nil {
		first := l.Apps.First()
		own, place = top.below, linePlace{first.Place, first.ID}
	} else if top := l.Lines.Root(); top != nil {
		own, place = top.below, l.Lines.First().place
	}
	return own, place
}

// isFree reports whether nothing limits the applications of a line.
func (l *Line) isFree() bool { return l.User == nil && l.Group == nil && !l.Uncounted }

// isBound reports whether anything may hold an application back that stands in an order.
func (a *Application) isBound() bool { return a.Line != nil && !a.Line.isFree() }

// IsEmpty reports whether nothing stands in a line.
func (l *Line) IsEmpty() bool { return l.Apps.Len()+l.Lines.Len() == 0 }

// order is that in which a line stands.
func (l *Line) order() *order.Tree[*Line] {
	if l.In != nil {
		return &l.In.Lines
	}
	return &l.Leaf.Lines.Tree
}

// drop forgets a line in which nothing stands, but for that of applications which nothing limits:
// they come and go one by one.
func (l *lines) drop(empty *Line) {
	if empty.isFree() || l.By[empty.LineKey] != empty {
		return
	}
	delete(l.By, empty.LineKey)
	l.List = tables.SwapRemove(l.List, empty.At, func(l *Line) *int { return &l.At })
}

// block lists a line with its account, to be looked at when that changes, or takes it off.
func (l *Line) block(blocked bool) {
	if l.Blocked == blocked {
		return
	}
	l.Blocked = blocked
	a, list := l.User, l.Leaf.backlog.Blocked[l.User]
	if blocked {
		l.BlockedAt = len(list)
		list = append(list, l)
	} else {
		list = tables.SwapRemove(list, l.BlockedAt, func(l *Line) *int { return &l.BlockedAt })
	}
	l.Leaf.backlog.Blocked[a] = list
	if a.Blocked = int32(len(list)); len(list) == 0 {
		delete(l.Leaf.backlog.Blocked, a)
	}
}

// clear takes all applications out of the lines, so that what decides the orders may change, and
// returns them.
func (l *lines) clear() (apps []*Application) {
	for _, line := range l.List {
		apps = slices.AppendSeq(apps, line.Apps.All)
		line.block(false)
	}
	for _, app := range apps {
		app.links, app.Line = order.Links[*Application]{}, nil
	}
	*l = lines{Tree: order.Tree[*Line]{Looked: l.Tree.Looked}}
	return apps
}

// Tried visits the lines of applications that no limit holds back as far as that is known.
func (l *lines) Tried(yield func(*Line) bool) {
	more := true
	visit := func(line *Line) bool {
		more = more && yield(line)
		return more
	}
	l.Tree.All(func(line *Line) bool {
		if line.Holds {
			line.Lines.All(visit)
			return more
		}
		return visit(line)
	})
}

// HoldsBack reports whether the account of a line lets none of the asks run which wait with a
// summary.
func (l *Line) HoldsBack(own *Summary) bool {
	if !l.Holds || own.Top == api.PriorityNone {
		return false
	}
	return l.Uncounted && l.User.IsFull() || l.User.Subject.Limit && !mayHold(l.User, own)
}

// blocker is an account that lets no ask of a line run which waits with a summary; nil if there is
// none.
func (l *Line) blocker(own *Summary) *ledger.Account {
	if l.Holds || own.Top == api.PriorityNone {
		return nil
	}
	if l.Uncounted {
		for _, account := range [...]*ledger.Account{&l.Leaf.Account, l.User, l.Group} {
			for ; account != nil; account = account.Parent {
				if account.IsFull() {
					return account
				}
			}
		}
	}
	for _, account := range [...]*ledger.Account{l.User, l.Group} {
		for ; account != nil; account = account.Parent {
			if !mayHold(account, own) {
				return account
			}
		}
	}
	return nil
}

// mayHold reports whether an account may hold any ask that waits with a summary. What is kept
// for nominated asks is theirs.
func mayHold(a *ledger.Account, own *Summary) bool {
	if own.Untried || own.Nominated != nil || own.Open == nil && own.Parked == nil && own.Wanted == nil {
		return true
	}
	for _, least := range [...]*resources.Amounts{own.Open, own.Parked, own.Wanted} {
		if least != nil && a.Max.Room(a.Used.Amounts, *least) {
			return true
		}
	}
	return false
}
