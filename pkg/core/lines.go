package core

import (
	"cmp"
	"slices"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/core/ledger"
	"github.com/narwhal-scheduler/narwhal/pkg/core/order"
	"github.com/narwhal-scheduler/narwhal/pkg/core/tables"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// A line is the applications of a leaf that wait and are bound by the same limits: those of the
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
//	apps  = of the applications that it is of those which stand in an order; none if holds is set
//	lines = those that the account holds back; none if holds is not set
//	in    = nil if it stands in the order of its leaf, or in none
type line struct {
	lineKey
	leaf *waitingQueue
	at   int // the place in the list of the leaf

	apps  order.Tree[*waitingApplication]
	lines order.Tree[*line]
	in    *line

	blocked   bool // the account holds back all of it, and it stands in no order
	blockedAt int  // the place in the list of the account

	links order.Links[*line]
	place linePlace
	own   summary // of what stands in it
	below summary // of the subtree of the order that it stands in

	headroom headroom // scratch of searches
}

// A lineKey is what binds the applications of a line: the lowest accounts of limits of their user
// and group, nil if there is none, and whether they are still to be counted where the number of
// applications is limited. If holds is set, it is the account that holds lines back.
type lineKey struct {
	user, group *ledger.Account
	uncounted   bool
	holds       bool
}

// linePlace is that of the first application.
type linePlace struct {
	applicationPlace
	id api.ApplicationID
}

// Before orders like the first applications.
func (l *line) Before(other *line) bool {
	return l.leaf.compareFirsts(l.place, other.place, cmp.Compare(other.place.priority, l.place.priority)) < 0
}

// Links are the place in the order of the leaf, or of another line.
func (l *line) Links() *order.Links[*line] { return &l.links }

// Summarise works out the summary of a subtree of the order.
func (l *line) Summarise() bool {
	return l.below.become(&l.own, l.links.Left.subtree(), l.links.Right.subtree())
}

func (l *line) subtree() *summary {
	if l == nil {
		return nil
	}
	return &l.below
}

// lines are those of one leaf.
type lines struct {
	tree order.Tree[*line] // of which something may be tried
	list []*line
	by   map[lineKey]*line
}

// find is where an application belongs that waits.
func (l *lines) find(app *waitingApplication) *line {
	key := lineKey{user: app.ByUser, group: app.ByGroup, uncounted: !app.Counts && app.IsCapped()}
	if app.line != nil && app.line.lineKey == key {
		return app.line
	}
	return l.of(key, app.leaf)
}

// of finds or makes the line of a key.
func (l *lines) of(key lineKey, leaf *waitingQueue) *line {
	found := l.by[key]
	if found == nil {
		found = &line{lineKey: key, leaf: leaf, at: len(l.list), own: emptySummary}
		found.apps.Looked, found.lines.Looked = l.tree.Looked, l.tree.Looked
		if l.by == nil {
			l.by = map[lineKey]*line{}
		}
		l.by[key] = found
		l.list = append(l.list, found)
	}
	return found
}

// settle brings the place of a line up to date.
func (l *line) settle() {
	if l.leaf.alone() == l && l.apps.Len() > 0 {
		return
	}
	own, place := l.summed()
	from, to := l.in, (*line)(nil)
	if held := l.blocker(&own); held != nil {
		to = l.leaf.lines.of(lineKey{user: held, uncounted: l.uncounted, holds: true}, l.leaf)
	}
	if to != from && l.links.In() {
		l.order().Remove(l)
		if from != nil {
			from.settle() // first, as no two lines of an order stand in the same place
		}
	}
	l.in = to
	l.block(l.holdsBack(&own))
	if other := l.leaf.alone(); other != nil && other != l {
		other.own, other.place = other.summed()
		other.Summarise()
	}
	l.order().Settle(l, !l.isEmpty() && !l.blocked, place != l.place, own != l.own, func() { l.own, l.place = own, place })
	l.own, l.place = own, place // also of one that is in no order
	if to != nil {
		to.settle()
	}
	if l.isEmpty() {
		l.leaf.lines.drop(l)
	}
}

// summed is the summary of what stands in a line, and its place.
func (l *line) summed() (own summary, place linePlace) {
	own, place = emptySummary, l.place
	if top := l.apps.Root(); top != nil {
		first := l.apps.First()
		own, place = top.below, linePlace{first.place, first.ID}
	} else if top := l.lines.Root(); top != nil {
		own, place = top.below, l.lines.First().place
	}
	return own, place
}

// isFree reports whether nothing limits the applications of a line.
func (l *line) isFree() bool { return l.user == nil && l.group == nil && !l.uncounted }

// isBound reports whether anything may hold an application back that stands in an order.
func (a *waitingApplication) isBound() bool { return a.line != nil && !a.line.isFree() }

func (l *line) isEmpty() bool { return l.apps.Len()+l.lines.Len() == 0 }

// order is that in which a line stands.
func (l *line) order() *order.Tree[*line] {
	if l.in != nil {
		return &l.in.lines
	}
	return &l.leaf.lines.tree
}

// drop forgets a line in which nothing stands, but for that of applications which nothing limits:
// they come and go one by one.
func (l *lines) drop(empty *line) {
	if empty.isFree() || l.by[empty.lineKey] != empty {
		return
	}
	delete(l.by, empty.lineKey)
	l.list = tables.SwapRemove(l.list, empty.at, func(l *line) *int { return &l.at })
}

// block lists a line with its account, to be looked at when that changes, or takes it off.
func (l *line) block(blocked bool) {
	if l.blocked == blocked {
		return
	}
	l.blocked = blocked
	a, list := l.user, l.leaf.backlog.blocked[l.user]
	if blocked {
		l.blockedAt = len(list)
		list = append(list, l)
	} else {
		list = tables.SwapRemove(list, l.blockedAt, func(l *line) *int { return &l.blockedAt })
	}
	l.leaf.backlog.blocked[a] = list
	if a.Blocked = int32(len(list)); len(list) == 0 {
		delete(l.leaf.backlog.blocked, a)
	}
}

// clear takes all applications out of the lines, so that what decides the orders may change, and
// returns them.
func (l *lines) clear() (apps []*waitingApplication) {
	for _, line := range l.list {
		apps = slices.AppendSeq(apps, line.apps.All)
		line.block(false)
	}
	for _, app := range apps {
		app.links, app.line = order.Links[*waitingApplication]{}, nil
	}
	*l = lines{tree: order.Tree[*line]{Looked: l.tree.Looked}}
	return apps
}

// tried visits the lines of applications that no limit holds back as far as that is known.
func (l *lines) tried(yield func(*line) bool) {
	more := true
	visit := func(line *line) bool {
		more = more && yield(line)
		return more
	}
	l.tree.All(func(line *line) bool {
		if line.holds {
			line.lines.All(visit)
			return more
		}
		return visit(line)
	})
}

// holdsBack reports whether the account of a line lets none of the asks run which wait with a
// summary.
func (l *line) holdsBack(own *summary) bool {
	if !l.holds || own.top == api.PriorityNone {
		return false
	}
	return l.uncounted && l.user.IsFull() || l.user.Subject.Limit && !mayHold(l.user, own)
}

// blocker is an account that lets no ask of a line run which waits with a summary; nil if there is
// none.
func (l *line) blocker(own *summary) *ledger.Account {
	if l.holds || own.top == api.PriorityNone {
		return nil
	}
	if l.uncounted {
		for _, account := range [...]*ledger.Account{&l.leaf.Account, l.user, l.group} {
			for ; account != nil; account = account.Parent {
				if account.IsFull() {
					return account
				}
			}
		}
	}
	for _, account := range [...]*ledger.Account{l.user, l.group} {
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
func mayHold(a *ledger.Account, own *summary) bool {
	if own.untried || own.nominated != nil || own.open == nil && own.parked == nil && own.wanted == nil {
		return true
	}
	for _, least := range [...]*resources.Amounts{own.open, own.parked, own.wanted} {
		if least != nil && a.Max.Room(a.Used.Amounts, *least) {
			return true
		}
	}
	return false
}
