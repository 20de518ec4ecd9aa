package core

import (
	"cmp"
	"slices"
	"strings"

	"github.com/narwhal-scheduler/narwhal/pkg/core/order"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// A section is the applications of a leaf that wait and are bound by the same limits: those
// of the same user and group, as far as these are limited, which all count for limits of
// applications, or all do not. Applications that nothing limits are in none.
//
// The sections of a leaf stand in the order of their first application. One in which no ask
// may run stands in a line with all others that the same account holds back, which is
// looked at again when that changes. So what a limit holds back costs a search nothing,
// however many applications it is of.
//
//	apps = the applications in it that stand in an order
//	line = nil if it stands in the order of its leaf, or has no application
type section struct {
	sectionKey
	leaf *queue
	at   int // the place in the list of the leaf

	apps order.Tree[*application]
	line *line

	links order.Links[*section]
	place sectionPlace
	own   summary // of its applications
	below summary // of the subtree of the leaf's order

	headroom headroom // scratch of searches
}

// A sectionKey is what binds the applications of a section: the lowest accounts of limits of
// their user and group, nil if there is none, and whether they are still to be counted where
// the number of applications is limited.
type sectionKey struct {
	user, group *account
	uncounted   bool
}

// sectionPlace is that of the first application.
type sectionPlace struct {
	applicationPlace
	id ApplicationID
}

// Before orders like the first applications.
func (s *section) Before(other *section) bool {
	return s.compare(other.place, cmp.Compare(other.place.priority, s.place.priority)) < 0
}

// compare orders the first application and another place, which compare in a way by priority.
func (s *section) compare(other sectionPlace, priority int) int {
	return s.leaf.compareFirsts(s.place, other, priority)
}

// compareFirsts orders two places of applications of a leaf, which compare in a way by priority.
func (q *queue) compareFirsts(a, b sectionPlace, priority int) int {
	age := cmp.Compare(a.submitted, b.submitted)
	first := age
	if q.properties.ApplicationSort == Fair {
		first = a.share.Compare(b.share)
	}
	if q.properties.IgnorePriority {
		priority, first = first, priority
	}
	if order := cmp.Or(priority, first, age); order != 0 {
		return order
	}
	return strings.Compare(string(a.id), string(b.id))
}

// leads reports whether an ask is the one that gave its section the place in the order: what comes
// after the section there does not come before the ask.
func leads(r *request) bool {
	s := r.application.section
	return s != nil && r.Priority == s.place.priority && r.application.id == s.place.id
}

// precedes reports whether an application from a place on may come before an ask of a leaf. The
// first one comes before none of them, with whichever of its asks.
func (p sectionPlace) precedes(q *queue, r *request) bool {
	if r == nil {
		return true
	}
	place := sectionPlace{r.application.place, r.application.id}
	return q.compareFirsts(p, place, cmp.Compare(r.Priority, p.priority)) < 0
}

// Links are the place in the order of the leaf.
func (s *section) Links() *order.Links[*section] { return &s.links }

// Summarise works out the summary of a subtree of the leaf's order.
func (s *section) Summarise() bool {
	return s.below.become(&s.own, s.links.Left.subtree(), s.links.Right.subtree())
}

func (s *section) subtree() *summary {
	if s == nil {
		return nil
	}
	return &s.below
}

// sections are those of one leaf.
type sections struct {
	tree  order.Tree[*section] // of which something may be tried
	open  order.Tree[*line]    // of which something may be tried
	list  []*section
	by    map[sectionKey]*section
	lines map[lineKey]*line
}

// waits reports whether any is in an order.
func (l *sections) waits() bool { return l.tree.Len() > 0 || l.open.Len() > 0 }

// find is where an application belongs that waits; nil if nothing limits it.
func (l *sections) find(app *application) *section {
	q := app.queue
	key := sectionKey{app.byUser, app.byGroup, !app.counts && app.isCapped()}
	if key == (sectionKey{}) {
		return nil
	}
	s := l.by[key]
	if s == nil {
		s = &section{sectionKey: key, leaf: q, at: len(l.list), own: emptySummary}
		s.apps.Looked, l.tree.Looked, l.open.Looked = q.apps.Looked, q.apps.Looked, q.apps.Looked
		if l.by == nil {
			l.by = map[sectionKey]*section{}
		}
		l.by[key] = s
		l.list = append(l.list, s)
	}
	return s
}

// settle brings the place of a section in the order of its leaf up to date.
func (s *section) settle() {
	q, own, place := s.leaf, emptySummary, s.place
	if top := s.apps.Root(); top != nil {
		first := s.apps.First()
		own, place = top.below, sectionPlace{first.place, first.id}
	}
	var to *line
	if held := s.blocker(&own); held != nil && s.apps.Len() > 0 {
		to = q.sections.line(held, s)
	}
	from := s.line
	if to != from && s.links.In() {
		s.order().Remove(s)
	}
	s.line = to
	s.order().Settle(s, s.apps.Len() > 0, place != s.place, own != s.own, func() { s.place, s.own = place, own })
	for _, l := range [...]*line{from, to} {
		if l != nil {
			l.settle()
		}
	}
	if s.apps.Len() == 0 {
		q.sections.drop(s)
	}
}

// order is that in which a section stands.
func (s *section) order() *order.Tree[*section] {
	if s.line != nil {
		return &s.line.sections
	}
	return &s.leaf.sections.tree
}

func (l *sections) drop(s *section) {
	if l.by[s.sectionKey] != s {
		return
	}
	delete(l.by, s.sectionKey)
	l.list = swapRemove(l.list, s.at, func(s *section) *int { return &s.at })
}

// clear takes all applications out of their sections, so that what decides the
// orders may change, and returns them.
func (l *sections) clear() (apps []*application) {
	for _, s := range l.list {
		apps = slices.AppendSeq(apps, s.apps.All)
		if s.line != nil {
			s.line.block(false)
		}
	}
	for _, app := range apps {
		app.links, app.section = order.Links[*application]{}, nil
	}
	*l = sections{tree: order.Tree[*section]{Looked: l.tree.Looked}, open: order.Tree[*line]{Looked: l.tree.Looked}}
	return apps
}

// tried visits the applications of a leaf that stand in an order and that no limit holds back
// as far as that is known.
func tried(q *queue, yield func(*application) bool) {
	more := true
	q.apps.All(func(app *application) bool {
		more = yield(app)
		return more
	})
	for s := range q.sections.tried {
		s.apps.All(func(app *application) bool {
			more = more && yield(app)
			return more
		})
	}
}

// tried visits the sections that stand in an order, and those of lines that do.
func (l *sections) tried(yield func(*section) bool) {
	more := true
	visit := func(s *section) bool {
		more = more && yield(s)
		return more
	}
	l.tree.All(visit)
	l.open.All(func(open *line) bool {
		open.sections.All(visit)
		return more
	})
}

// blockerWithin is the blocker of a section as it stands, of which is known what is left of its limits.
func (s *section) blockerWithin(left *headroom) *account {
	if !s.uncounted && left.surelyAllows(s.own.open) {
		return nil
	}
	return s.blocker(&s.own)
}

// blocker is an account that lets no ask of a section run which waits with a summary; nil if
// there is none.
func (s *section) blocker(own *summary) *account {
	if own.top == PriorityNone {
		return nil
	}
	if s.uncounted {
		for _, account := range [...]*account{&s.leaf.account, s.user, s.group} {
			for ; account != nil; account = account.parent {
				if account.isFull() {
					return account
				}
			}
		}
	}
	for _, account := range [...]*account{s.user, s.group} {
		for ; account != nil; account = account.parent {
			if !account.mayHold(own) {
				return account
			}
		}
	}
	return nil
}

// mayHold reports whether an account may hold any ask that waits with a summary. What is kept
// for nominated asks is theirs.
func (a *account) mayHold(own *summary) bool {
	if own.untried || own.nominated != nil || own.open == nil && own.closed == nil && own.wanted == nil {
		return true
	}
	for _, least := range [...]*resources.Amounts{own.open, own.closed, own.wanted} {
		if least != nil && a.max.Room(a.used.Amounts, *least) {
			return true
		}
	}
	return false
}

// headroomWithin is what is left of the quotas and limits in a section.
func (s *section) headroomWithin(above *headroom) *headroom {
	if s.user == nil && s.group == nil {
		return above
	}
	return s.headroom.within(above, s.user, s.group)
}

// withinMax is the least of limits and of what is left of a max.
func withinMax(limits, most resources.Limits, used resources.Amounts) resources.Limits {
	for len(limits) < len(most) {
		limits = append(limits, resources.Unlimited)
	}
	for i, v := range most {
		if v != resources.Unlimited {
			limits[i] = min(limits[i], resources.Total(v, -used.Of(resources.Kind(i))))
		}
	}
	return limits
}
