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
// may run stands in no order: it is blocked at the account that holds all of it back, and is
// looked at again when that changes. So what a limit holds back costs a search nothing,
// however many applications it is of.
//
//	apps    = the applications in it that stand in an order
//	blocked = nil if it stands in the order of its leaf, or has no application
type section struct {
	sectionKey
	leaf *queue
	at   int // the place in the list of the leaf

	apps      order.Tree[*application]
	blocked   *account
	blockedAt int // the place in its list

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
	age := cmp.Compare(s.place.submitted, other.submitted)
	first := age
	if s.leaf.properties.ApplicationSort == Fair {
		first = s.place.share.Compare(other.share)
	}
	if s.leaf.properties.IgnorePriority {
		priority, first = first, priority
	}
	return cmp.Or(priority, first, age, strings.Compare(string(s.place.id), string(other.id)))
}

// precedes reports whether an application in it may come before an ask. The first one comes
// before none of them, with whichever of its asks.
func (s *section) precedes(r *request) bool {
	if r == nil {
		return true
	}
	place := sectionPlace{r.application.place, r.application.id}
	return s.compare(place, cmp.Compare(r.Priority, s.place.priority)) < 0
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
	tree order.Tree[*section] // of which something may be tried
	list []*section
	by   map[sectionKey]*section
}

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
		s.apps.Looked, l.tree.Looked = q.apps.Looked, q.apps.Looked
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
		own = top.below
		for top.links.Left != nil {
			top = top.links.Left
		}
		place = sectionPlace{top.place, top.id}
	}
	s.blockAt(s.blocker(&own))
	wanted := s.apps.Len() > 0 && s.blocked == nil
	q.sections.tree.Settle(s, wanted, place != s.place, own != s.own, func() { s.place, s.own = place, own })
	s.place, s.own = place, own // also of one that is in no order
	if s.apps.Len() == 0 {
		q.sections.drop(s)
	}
}

func (l *sections) drop(s *section) {
	if l.by[s.sectionKey] != s {
		return
	}
	delete(l.by, s.sectionKey)
	last := len(l.list) - 1
	moved := l.list[last]
	l.list[s.at], moved.at = moved, s.at
	l.list[last] = nil
	l.list = l.list[:last]
}

// clear takes all applications out of their sections, so that what decides the
// orders may change, and returns them.
func (l *sections) clear() (apps []*application) {
	for _, s := range l.list {
		apps = slices.AppendSeq(apps, s.apps.All)
		s.blockAt(nil)
	}
	for _, app := range apps {
		app.links, app.section = order.Links[*application]{}, nil
	}
	*l = sections{tree: order.Tree[*section]{Looked: l.tree.Looked}}
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
	for s := range q.sections.tree.All {
		s.apps.All(func(app *application) bool {
			more = more && yield(app)
			return more
		})
	}
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

// blockAt blocks a section at an account, or nowhere.
func (s *section) blockAt(a *account) {
	if s.blocked == a {
		return
	}
	if before := s.blocked; before != nil {
		last := len(before.blocked) - 1
		moved := before.blocked[last]
		before.blocked[s.blockedAt], moved.blockedAt = moved, s.blockedAt
		before.blocked[last] = nil
		before.blocked = before.blocked[:last]
	}
	s.blocked = a
	if a != nil {
		s.blockedAt = len(a.blocked)
		a.blocked = append(a.blocked, s)
	}
}

// headroomWithin is what is left of the quotas and limits in a section.
func (s *section) headroomWithin(above *headroom) *headroom {
	if s.user == nil && s.group == nil {
		return above
	}
	h := &s.headroom
	h.in, h.kept, h.over, h.limited = above.in, above.kept, above.over, true
	h.limits = h.limits[:0]
	for _, account := range [...]*account{s.user, s.group} {
		for ; account != nil; account = account.parent {
			h.limits = withinMax(h.limits, account.max, account.used.Amounts)
		}
	}
	h.left = append(append(h.left[:0], h.limits...), above.left[min(len(h.limits), len(above.left)):]...)
	h.most = append(append(h.most[:0], h.limits...), above.most[min(len(h.limits), len(above.most)):]...)
	for i := range h.limits {
		h.left[i] = min(h.left[i], above.left.Of(resources.Kind(i)))
		h.most[i] = min(h.most[i], above.most.Of(resources.Kind(i)))
	}
	return h
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
