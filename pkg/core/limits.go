package core

import (
	"cmp"
	"fmt"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// allOthers is the name in a limit that stands for all others.
const allOthers = "*"

// A subject is whose account it is: that of a queue, or that of a user or group in a queue
// that limits it. An account of a user or group is charged for the applications below the
// queue that count for it, and there is one as long as there are such applications.
type subject struct {
	queue *queue
	group bool
	name  string // empty for the queue itself, and for a user without a name
	limit bool   // of a user or group
	apps  int    // applications that the account of a limit is charged for
}

func (s *subject) String() string {
	switch {
	case !s.limit:
		return "queue " + string(s.queue.path)
	case s.group:
		return fmt.Sprintf("group %s in queue %s", s.name, s.queue.path)
	}
	return fmt.Sprintf("user %s in queue %s", cmp.Or(s.name, "(without a name)"), s.queue.path)
}

// limitAccounts are those of all users and groups that are limited and have applications.
type limitAccounts map[limitKey]*account

// A limitKey finds the account of a user or group in a queue.
type limitKey struct {
	queue *queue
	group bool
	name  string
}

// queueLimits are the limits of one queue by name.
type queueLimits struct {
	users, groups map[string]*api.Limit
	// place is that of a group in the order of the configuration. Without it each application
	// would cost a look at all names.
	place map[string]int
}

func newQueueLimits(limits []api.Limit) *queueLimits {
	if len(limits) == 0 {
		return nil
	}
	out := &queueLimits{users: map[string]*api.Limit{}, groups: map[string]*api.Limit{}, place: map[string]int{}}
	for i := range limits {
		for _, user := range limits[i].Users {
			out.users[user] = &limits[i]
		}
		for _, group := range limits[i].Groups {
			out.groups[group] = &limits[i]
			out.place[group] = len(out.place)
		}
	}
	return out
}

// of is the limit of a user or group; nil if there is none.
func (l *queueLimits) of(group bool, name string) *api.Limit {
	if l == nil {
		return nil
	}
	names := l.users
	if group {
		names = l.groups
	}
	if limit := names[name]; limit != nil {
		return limit
	}
	return names[allOthers]
}

// groupFor is the group that a user of some groups counts for in a queue: the first that is
// limited there or above, nearest first. Where all others are limited it is the first of the
// user; users without a group count together. It is empty if no limit applies.
func groupFor(q *queue, groups []string) string {
	for ; q != nil; q = q.parent {
		if found := q.limits.firstOf(groups); found != "" {
			return found
		}
	}
	return ""
}

// firstOf is the group of some that is limited first, in the order of the configuration; empty
// if none is.
func (l *queueLimits) firstOf(groups []string) (found string) {
	if l == nil {
		return ""
	}
	first := len(l.place)
	for _, name := range groups {
		if at, limited := l.place[name]; limited && at < first {
			found, first = name, at
		}
	}
	if at, limited := l.place[allOthers]; limited && at < first {
		found = allOthers
		if len(groups) > 0 {
			found = groups[0]
		}
	}
	return found
}

// limitsGroup reports whether a group is limited here or above.
func limitsGroup(q *queue, name string) bool {
	for ; q != nil; q = q.parent {
		if q.limits.of(true, name) != nil {
			return true
		}
	}
	return false
}

// isLimited reports whether a limit of its user or group applies to an application.
func (a *application) isLimited() bool { return a.byUser != nil || a.byGroup != nil }

// isCapped reports whether anything limits how many applications run beside this one.
func (a *application) isCapped() bool {
	for _, account := range a.accounts() {
		for ; account != nil; account = account.parent {
			if account.applicationsMax > 0 {
				return true
			}
		}
	}
	return false
}

// join finds the accounts of the limits that apply to an application. The group it
// counts for stays as long as that is limited.
func (l limitAccounts) join(app *application) {
	group := app.group()
	if group == "" || !limitsGroup(app.queue, group) {
		group = groupFor(app.queue, app.groups)
	}
	l.countFor(app, group)
}

// countFor finds the accounts of the limits that apply to an application which counts for a
// group, or for none.
func (l limitAccounts) countFor(app *application, group string) {
	app.byUser, app.byGroup = l.charged(app.queue, false, app.user), nil
	if group != "" {
		app.byGroup = l.charged(app.queue, true, group)
	}
}

// tellGroup tells for which group an application counts, if that is another one than before.
func (l *ledger) tellGroup(app *application, before string) {
	if group := app.group(); group != before {
		l.tell(&api.ApplicationGroup{ID: app.id, Queue: app.queue.path, Before: before, Group: group})
	}
}

// group is that which an application counts for where groups are limited; empty if it counts
// for none.
func (a *application) group() string {
	if a.byGroup == nil {
		return ""
	}
	return a.byGroup.subject.name
}

// limited reports whether limits may hold asks back that stand in no order then.
func (l *ledger) limited() bool { return l.capped || len(l.limits) > 0 }

// charged is the lowest account of a user or group on the way from a queue to the root,
// which is charged for one more application; nil if no limit applies.
func (l limitAccounts) charged(q *queue, group bool, name string) *account {
	if q == nil {
		return nil
	}
	above := l.charged(q.parent, group, name)
	limit := q.limits.of(group, name)
	if limit == nil {
		return above
	}
	key := limitKey{q, group, name}
	found := l[key]
	if found == nil {
		found = &account{
			parent: above, max: limit.Max, applicationsMax: limit.ApplicationsMax,
			subject: &subject{queue: q, group: group, name: name, limit: true},
		}
		l[key] = found
	}
	found.subject.apps++
	return found
}

// leave drops the accounts of an application that ends, if they are those of no other.
func (l limitAccounts) leave(app *application) {
	for _, account := range [...]*account{app.byUser, app.byGroup} {
		for ; account != nil; account = account.parent {
			s := account.subject
			if s.apps--; s.apps == 0 {
				delete(l, limitKey{s.queue, s.group, s.name})
			}
		}
	}
}

// rebuildLimits makes the accounts of all limits anew after the configuration has changed.
// What runs counts for a new limit too.
func (l *ledger) rebuildLimits() {
	l.stamp++
	l.limits = limitAccounts{}
	l.applications.Ascend(func(app *application) bool {
		before := app.group()
		l.limits.join(app)
		l.tellGroup(app, before)
		for _, account := range [...]*account{app.byUser, app.byGroup} {
			account.takeOver(app, l.stamp)
		}
		app.view = nil
		return true
	})
	for _, account := range l.limits {
		account.exceeded = !account.used.Within(account.max)
	}
}

// takeOver charges all that an application has, here and above.
func (a *account) takeOver(app *application, stamp uint64) {
	for above := a; above != nil; above = above.parent {
		above.used.AddSum(app.used)
		above.stamp(stamp)
		if app.counts {
			above.applications++
		}
	}
	for _, r := range app.allocations {
		a.addEnding(r)
	}
	for _, r := range app.asks {
		if r.keepsQuota() {
			a.keep(r.Amounts, r.importance, stamp)
		}
		if r.wait != nil && r.wait.hinted {
			a.hint(r.Amounts)
		}
	}
}

// full is the topmost account that lets no other application run; nil if there is none.
func (a *application) full() (found *account) {
	if a.counts {
		return nil
	}
	for _, account := range a.accounts() {
		for ; account != nil; account = account.parent {
			if account.isFull() {
				found = account
			}
		}
		if found != nil {
			return found
		}
	}
	return nil
}

// heldBack is the account of a limit that holds an ask back, nil if there is none: of
// applications, or of what its user or group may have, in this order; the topmost of a kind.
// Nothing is evicted for such an ask, as evictions free quota of queues and room on nodes.
func (r *request) heldBack() (found *account) {
	app := r.application
	if found = app.full(); found != nil || !app.isLimited() {
		return found
	}
	for _, account := range [...]*account{app.byUser, app.byGroup} {
		for ; account != nil; account = account.parent {
			if !account.allows(r) {
				found = account
			}
		}
		if found != nil {
			return found
		}
	}
	return nil
}

// mayHoldBack reports whether a limit may hold back asks of those that are charged to it with an
// application and for which quota is kept: more is used and kept than it allows, or no other application may run.
func (a *application) mayHoldBack() bool {
	for i, account := range a.accounts() {
		for ; account != nil; account = account.parent {
			if account.isFull() || i > 0 && !account.max.Holds(account.nominated.Amounts, account.used.Amounts, account.nominated.Amounts) {
				return true
			}
		}
	}
	return false
}

// allows reports whether a limit has room for an ask. Nothing ends for a limit, so what is
// kept for an ask counts beside what is kept from it since then.
func (a *account) allows(r *request) bool {
	if r.keepsQuota() {
		return a.keepsRoom(r.Amounts, r.importance)
	}
	return a.hasRoom(r.Amounts, r.importance)
}

// whyHeldBack is the reason why an account holds an ask back.
func (r *request) whyHeldBack(a *account) (api.Reason, string) {
	reason := api.QueueApplications
	switch s := a.subject; {
	case s.limit && r.application.full() == a && s.group:
		reason = api.GroupApplications
	case s.limit && r.application.full() == a:
		reason = api.UserApplications
	case s.limit && s.group:
		reason = api.GroupLimit
	case s.limit:
		reason = api.UserLimit
	}
	return reason, a.subject.String()
}

// keep keeps quota for an ask of the application, and unkeep gives it back.
func (a *application) keep(amounts resources.Amounts, importance int32, stamp uint64) {
	for _, account := range a.accounts() {
		account.keep(amounts, importance, stamp)
	}
}

func (a *application) unkeep(amounts resources.Amounts, importance int32, stamp uint64) {
	for _, account := range a.accounts() {
		account.unkeep(amounts, importance, stamp)
	}
}

// allowExcess accepts that more is used than quotas and limits allow.
func (a *application) allowExcess() {
	for _, account := range a.accounts() {
		account.allowExcess()
	}
}
