package ledger

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
	queue *Queue
	group bool
	name  string // empty for the queue itself, and for a user without a name
	Limit bool   // of a user or group
	apps  int    // applications that the account of a limit is charged for
}

// String names the queue, or the limit and its user or group.
func (s *subject) String() string {
	switch {
	case !s.Limit:
		return "queue " + string(s.queue.Path)
	case s.group:
		return fmt.Sprintf("group %s in queue %s", s.name, s.queue.Path)
	}
	return fmt.Sprintf("user %s in queue %s", cmp.Or(s.name, "(without a name)"), s.queue.Path)
}

// limitAccounts are those of all users and groups that are limited and have applications.
type limitAccounts map[limitKey]*Account

// A limitKey finds the account of a user or group in a queue.
type limitKey struct {
	queue *Queue
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
func groupFor(q *Queue, groups []string) string {
	for ; q != nil; q = q.Parent {
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
func limitsGroup(q *Queue, name string) bool {
	for ; q != nil; q = q.Parent {
		if q.limits.of(true, name) != nil {
			return true
		}
	}
	return false
}

// IsLimited reports whether a limit of its user or group applies to an application.
func (a *Application) IsLimited() bool { return a.ByUser != nil || a.ByGroup != nil }

// IsCapped reports whether anything limits how many applications run beside this one.
func (a *Application) IsCapped() bool {
	for _, account := range a.Accounts() {
		for ; account != nil; account = account.Parent {
			if account.ApplicationsMax > 0 {
				return true
			}
		}
	}
	return false
}

// join finds the accounts of the limits that apply to an application. The group it
// counts for stays as long as that is limited.
func (l limitAccounts) join(app *Application) {
	group := app.Group()
	if group == "" || !limitsGroup(app.Queue, group) {
		group = groupFor(app.Queue, app.Groups)
	}
	l.CountFor(app, group)
}

// CountFor finds the accounts of the limits that apply to an application which counts for a
// group, or for none.
func (l limitAccounts) CountFor(app *Application, group string) {
	app.ByUser, app.ByGroup = l.charged(app.Queue, false, app.User), nil
	if group != "" {
		app.ByGroup = l.charged(app.Queue, true, group)
	}
}

// TellGroup tells for which group an application counts, if that is another one than before.
func (l *Ledger) TellGroup(app *Application, before string) {
	if group := app.Group(); group != before {
		l.Tell(&api.ApplicationGroup{ID: app.ID, Queue: app.Queue.Path, Before: before, Group: group})
	}
}

// Group is that which an application counts for where groups are limited; empty if it counts
// for none.
func (a *Application) Group() string {
	if a.ByGroup == nil {
		return ""
	}
	return a.ByGroup.Subject.name
}

// Limited reports whether limits may hold asks back that stand in no order then.
func (l *Ledger) Limited() bool { return l.capped || len(l.Limits) > 0 }

// charged is the lowest account of a user or group on the way from a queue to the root,
// which is charged for one more application; nil if no limit applies.
func (l limitAccounts) charged(q *Queue, group bool, name string) *Account {
	if q == nil {
		return nil
	}
	above := l.charged(q.Parent, group, name)
	limit := q.limits.of(group, name)
	if limit == nil {
		return above
	}
	key := limitKey{q, group, name}
	found := l[key]
	if found == nil {
		found = &Account{
			Parent: above, Max: limit.Max, ApplicationsMax: limit.ApplicationsMax,
			Subject: &subject{queue: q, group: group, name: name, Limit: true},
		}
		l[key] = found
	}
	found.Subject.apps++
	return found
}

// Leave drops the accounts of an application that ends, if they are those of no other.
func (l limitAccounts) Leave(app *Application) {
	for _, account := range [...]*Account{app.ByUser, app.ByGroup} {
		for ; account != nil; account = account.Parent {
			s := account.Subject
			if s.apps--; s.apps == 0 {
				delete(l, limitKey{s.queue, s.group, s.name})
			}
		}
	}
}

// RebuildLimits makes the accounts of all limits anew after the configuration has changed.
// What runs counts for a new limit too.
func (l *Ledger) RebuildLimits() {
	l.Stamp++
	l.Limits = limitAccounts{}
	l.Applications.Ascend(func(app *Application) bool {
		before := app.Group()
		l.Limits.join(app)
		l.TellGroup(app, before)
		for _, account := range [...]*Account{app.ByUser, app.ByGroup} {
			account.takeOver(app, l.Stamp)
		}
		app.View = nil
		return true
	})
	for _, r := range l.QuotaClaims {
		for _, account := range [...]*Account{r.App.ByUser, r.App.ByGroup} {
			account.keep(r.Amounts, r.Importance, l.Stamp)
		}
	}
	for _, account := range l.Limits {
		account.exceeded = !account.Used.Within(account.Max)
	}
}

// takeOver charges all that an application has, here and above.
func (a *Account) takeOver(app *Application, stamp uint64) {
	for above := a; above != nil; above = above.Parent {
		above.Used.AddSum(app.Used)
		above.stamp(stamp)
		if app.Counts {
			above.Applications++
		}
	}
	for _, r := range app.Allocations {
		a.addEnding(r)
	}
	for _, r := range app.Asks {
		if r.IsHinted() {
			a.hint(r.Amounts)
		}
	}
}

// full is the topmost account that lets no other application run; nil if there is none.
func (a *Application) full() (found *Account) {
	if a.Counts {
		return nil
	}
	for _, account := range a.Accounts() {
		for ; account != nil; account = account.Parent {
			if account.IsFull() {
				found = account
			}
		}
		if found != nil {
			return found
		}
	}
	return nil
}

// HeldBack is the account of a limit that holds an ask back, nil if there is none: of
// applications, or of what its user or group may have, in this order; the topmost of a kind.
// Nothing is evicted for such an ask, as evictions free quota of queues and room on nodes.
func (r *Request) HeldBack() (found *Account) {
	app := r.App
	if found = app.full(); found != nil || !app.IsLimited() {
		return found
	}
	for _, account := range [...]*Account{app.ByUser, app.ByGroup} {
		for ; account != nil; account = account.Parent {
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

// MayHoldBack reports whether a limit may hold back asks of those that are charged to it with an
// application and for which quota is kept: more is used and kept than it allows, or no other application may run.
func (a *Application) MayHoldBack() bool {
	for i, account := range a.Accounts() {
		for ; account != nil; account = account.Parent {
			if account.IsFull() || i > 0 && !account.Max.Holds(account.Nominated.Amounts, account.Used.Amounts, account.Nominated.Amounts) {
				return true
			}
		}
	}
	return false
}

// allows reports whether a limit has room for an ask. Nothing ends for a limit, so what is
// kept for an ask counts beside what is kept from it since then.
func (a *Account) allows(r *Request) bool {
	if r.KeepsQuota() {
		return a.keepsRoom(r.Amounts, r.Importance)
	}
	return a.HasRoom(r.Amounts, r.Importance)
}

// WhyHeldBack is the reason why an account holds an ask back.
func (r *Request) WhyHeldBack(a *Account) (api.Reason, string) {
	reason := api.QueueApplications
	switch s := a.Subject; {
	case s.Limit && r.App.full() == a && s.group:
		reason = api.GroupApplications
	case s.Limit && r.App.full() == a:
		reason = api.UserApplications
	case s.Limit && s.group:
		reason = api.GroupLimit
	case s.Limit:
		reason = api.UserLimit
	}
	return reason, a.Subject.String()
}

// keep keeps quota for an ask of the application, and unkeep gives it back.
func (a *Application) keep(amounts resources.Amounts, importance int32, stamp uint64) {
	for _, account := range a.Accounts() {
		account.keep(amounts, importance, stamp)
	}
}

// unkeep is the opposite of keep.
func (a *Application) unkeep(amounts resources.Amounts, importance int32, stamp uint64) {
	for _, account := range a.Accounts() {
		account.unkeep(amounts, importance, stamp)
	}
}

// AllowExcess accepts that more is used than quotas and limits allow.
func (a *Application) AllowExcess() {
	for _, account := range a.Accounts() {
		account.allowExcess()
	}
}
