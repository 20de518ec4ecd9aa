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
//	Apps  = of the applications that it is of those which stand in an order; none if holds is set
//	lines = those that the account holds back; none if holds is not set
//	in    = nil if it stands in the order of its leaf, or in none
type line struct {
	lineKey
	Leaf *Queue
	at   int // the place in the list of the leaf

	Apps  order.Tree[*Application]
	lines order.Tree[*line]
	in    *line

	Blocked   bool // the account holds back all of it, and it stands in no order
	blockedAt int  // the place in the list of the account

	links order.Links[*line]
	place linePlace
	own   Summary // of what stands in it
	below Summary // of the subtree of the order that it stands in

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
	return l.Leaf.compareFirsts(l.place, other.place, cmp.Compare(other.place.priority, l.place.priority)) < 0
}

// Links are the place in the order of the leaf, or of another line.
func (l *line) Links() *order.Links[*line] { return &l.links }

// Summarise works out the summary of a subtree of the order.
func (l *line) Summarise() bool {
	return l.below.Become(&l.own, l.links.Left.subtree(), l.links.Right.subtree())
}

func (l *line) subtree() *Summary {
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
func (l *lines) find(app *Application) *line {
	key := lineKey{user: app.ByUser, group: app.ByGroup, uncounted: !app.Counts && app.IsCapped()}
	if app.line != nil && app.line.lineKey == key {
		return app.line
	}
	return l.of(key, app.leaf)
}

// of finds or makes the line of a key.
func (l *lines) of(key lineKey, leaf *Queue) *line {
	found := l.by[key]
	if found == nil {
		found = &line{lineKey: key, Leaf: leaf, at: len(l.list), own: emptySummary}
		found.Apps.CountIn(l.tree.Looked)
		found.lines.CountIn(l.tree.Looked)
		if l.by == nil {
			l.by = map[lineKey]*line{}
		}
		l.by[key] = found
		l.list = append(l.list, found)
	}
	return found
}

// Settle brings the place of a line up to date.
func (l *line) Settle() {
	if l.Leaf.alone() == l && l.Apps.Len() > 0 {
		return
	}
	own, place := l.summed()
	from, to := l.in, (*line)(nil)
	if held := l.blocker(&own); held != nil {
		to = l.Leaf.Lines.of(lineKey{user: held, uncounted: l.uncounted, holds: true}, l.Leaf)
	}
	if to != from && l.links.In() {
		l.order().Remove(l)
		if from != nil {
			from.Settle() // first, as no two lines of an order stand in the same place
		}
	}
	l.in = to
	l.block(l.holdsBack(&own))
	if other := l.Leaf.alone(); other != nil && other != l {
		other.own, other.place = other.summed()
		other.Summarise()
	}
	l.order().Settle(l, !l.isEmpty() && !l.Blocked, place != l.place, own != l.own, func() { l.own, l.place = own, place })
	l.own, l.place = own, place // also of one that is in no order
	if to != nil {
		to.Settle()
	}
	if l.isEmpty() {
		l.Leaf.Lines.drop(l)
	}
}

// summed is the summary of what stands in a line, and its place.
func (l *line) summed() (own Summary, place linePlace) {
	own, place = emptySummary, l.place
	if top := l.Apps.Root(); top != nil {
		first := l.Apps.First()
		own, place = top.below, linePlace{first.place, first.ID}
	} else if top := l.lines.Root(); top != nil {
		own, place = top.below, l.lines.First().place
	}
	return own, place
}

// isFree reports whether nothing limits the applications of a line.
func (l *line) isFree() bool { return l.user == nil && l.group == nil && !l.uncounted }

// isBound reports whether anything may hold an application back that stands in an order.
func (a *Application) isBound() bool { return a.line != nil && !a.line.isFree() }

// isEmpty reports whether nothing stands in a line.
func (l *line) isEmpty() bool { return l.Apps.Len()+l.lines.Len() == 0 }

// order is that in which a line stands.
func (l *line) order() *order.Tree[*line] {
	if l.in != nil {
		return &l.in.lines
	}
	return &l.Leaf.Lines.tree
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
	if l.Blocked == blocked {
		return
	}
	l.Blocked = blocked
	a, list := l.user, l.Leaf.backlog.blocked[l.user]
	if blocked {
		l.blockedAt = len(list)
		list = append(list, l)
	} else {
		list = tables.SwapRemove(list, l.blockedAt, func(l *line) *int { return &l.blockedAt })
	}
	l.Leaf.backlog.blocked[a] = list
	if a.Blocks(len(list)); len(list) == 0 {
		delete(l.Leaf.backlog.blocked, a)
	}
}

// clear takes all applications out of the lines, so that what decides the orders may change, and
// returns them.
func (l *lines) clear() (apps []*Application) {
	for _, line := range l.list {
		apps = slices.AppendSeq(apps, line.Apps.All)
		line.block(false)
	}
	for _, app := range apps {
		app.links, app.line = order.Links[*Application]{}, nil
	}
	*l = lines{tree: order.Tree[*line]{Looked: l.tree.Looked}}
	return apps
}

// Tried visits the lines of applications that no limit holds back as far as that is known.
func (l *lines) Tried(yield func(*line) bool) {
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
func (l *line) holdsBack(own *Summary) bool {
	if !l.holds || own.Top == api.PriorityNone {
		return false
	}
	return l.uncounted && l.user.IsFull() || l.user.Subject.Limit && !mayHold(l.user, own)
}

// blocker is an account that lets no ask of a line run which waits with a summary; nil if there is
// none.
func (l *line) blocker(own *Summary) *ledger.Account {
	if l.holds || own.Top == api.PriorityNone {
		return nil
	}
	if l.uncounted {
		for _, account := range [...]*ledger.Account{&l.Leaf.Account, l.user, l.group} {
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
func mayHold(a *ledger.Account, own *Summary) bool {
	if own.untried || own.nominated != nil || own.Open == nil && own.parked == nil && own.wanted == nil {
		return true
	}
	for _, least := range [...]*resources.Amounts{own.Open, own.parked, own.wanted} {
		if least != nil && a.Max.Room(a.Used.Amounts, *least) {
			return true
		}
	}
	return false
}

// SettleStale blocks the lines that a search found to be held back, and reports whether there were any.
func (b *Backlog) SettleStale() bool {
	if len(b.stale) == 0 {
		return false
	}
	for _, l := range b.stale {
		b.settle(l)
	}
	clear(b.stale)
	b.stale = b.stale[:0]
	return true
}

// LetGo has the lines looked at again that an account holds back, which may hold more now.
func (b *Backlog) LetGo(account *ledger.Account) {
	held := b.blocked[account]
	delete(b.blocked, account)
	account.Blocks(0)
	for _, l := range held {
		l.Blocked = false
		b.settle(l)
	}
}

// settle puts a line where it belongs, and its queue in order soon.
func (b *Backlog) settle(l *line) {
	l.Settle()
	b.Changes.Queue(l.Leaf.Queue, 0)
}
