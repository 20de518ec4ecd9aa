package core

import (
	"slices"

	"github.com/narwhal-scheduler/narwhal/pkg/core/ledger"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// limitSums is what the account of a limit must be charged for.
type limitSums struct {
	used, nominated, releasing, overdue, hinted resources.Sum
	applications, counted                       int
}

// limits recounts the accounts of limits of users and groups, and how many applications count
// for limits of applications.
func (v *verifier) limits() {
	sums := map[*ledger.Account]*limitSums{}
	v.p.Applications.Ascend(func(app *ledger.Application) bool {
		v.countsFor(app)
		for i, account := range app.Accounts() {
			if i > 0 {
				v.chain(app, i == 2, account)
			}
			for ; account != nil; account = account.Parent {
				if sums[account] == nil {
					sums[account] = &limitSums{}
				}
				sums[account].add(app)
			}
		}
		return v.broken == nil
	})
	limits := 0
	for account, sum := range sums {
		v.account(account, sum)
		if account.Subject.Limit {
			limits++
		}
	}
	if limits != len(v.p.Limits) {
		v.breaks("%d accounts of limits are charged and %d are known", limits, len(v.p.Limits))
	}
	v.lines(v.p.ofQueue(v.p.Root))
}

// countsFor checks whether an application counts for limits of applications.
func (v *verifier) countsFor(app *ledger.Application) {
	keeps := int32(0)
	for _, r := range app.Asks {
		if r.KeepsQuota() {
			keeps++
		}
	}
	if keeps != app.Keeps || app.Counts != (app.Ran || keeps > 0) || len(app.Allocations) > 0 && !app.Ran || app.Ran && app.Idle() {
		v.breaks("application %s counts is %t, ran is %t, with quota for %d asks and %d counted", app.ID, app.Counts, app.Ran, keeps, app.Keeps)
	}
}

// chain checks that an application is charged to every limit that applies to it.
func (v *verifier) chain(app *ledger.Application, group bool, account *ledger.Account) {
	name := app.User
	if group {
		if name = app.Group(); name == "" {
			if found := ledger.GroupFor(app.Queue, app.Groups); found != "" {
				v.breaks("application %s counts for no group and is limited as one of %s", app.ID, found)
			}
			return
		}
	}
	for q := app.Queue; q != nil; q = q.Parent {
		limit := q.Limits.Of(group, name)
		if limit == nil {
			continue
		}
		if account == nil || v.p.Limits[ledger.LimitKey{Queue: q, Group: group, Name: name}] != account || !account.Max.Equal(limit.Max) ||
			account.ApplicationsMax != limit.ApplicationsMax {
			v.breaks("application %s is not charged to the limit of %q in queue %s", app.ID, name, q.Path)
			return
		}
		account = account.Parent
	}
	if account != nil {
		v.breaks("application %s is charged to %s, where no limit is", app.ID, account.Subject)
	}
}

func (s *limitSums) add(app *ledger.Application) {
	s.applications++
	s.used.AddSum(app.Used)
	if app.Counts {
		s.counted++
	}
	for _, r := range app.Allocations {
		switch {
		case r.Eviction.IsNodeOnly():
		case r.Releasing():
			s.releasing.Add(r.Amounts)
		case r.Eviction != nil:
			s.overdue.Add(r.Amounts)
		}
	}
	for _, r := range app.Asks {
		if r.KeepsQuota() {
			s.nominated.Add(r.Amounts)
		}
		if r.Wait != nil && r.Wait.Hinted {
			s.hinted.Add(r.Amounts)
		}
	}
}

// account compares an account with what it must be charged for.
func (v *verifier) account(a *ledger.Account, sum *limitSums) {
	of := a.Subject.String()
	v.equal("used", of, a.Used, sum.used)
	v.equal("nominated", of, a.Nominated, sum.nominated)
	v.equal("releasing", of, a.Releasing, sum.releasing)
	v.equal("overdue", of, a.Overdue, sum.overdue)
	v.equal("told of", of, a.Hinted, sum.hinted)
	var kept resources.Sum
	for i := range a.Kept {
		kept.AddSum(a.Kept[i].Amounts)
	}
	v.equal("kept", of, kept, sum.nominated)
	if a.Applications != sum.counted || a.Subject.Limit && a.Subject.Apps != sum.applications {
		v.breaks("%s: %d applications count of %d, counted %d of %d", of, a.Applications, a.Subject.Apps, sum.counted, sum.applications)
	}
	if !a.Exceeded && !a.Used.Within(a.Max) {
		v.breaks("%s: uses %s of %s by a placement", of, v.p.Kinds.Format(a.Used.Amounts), v.p.Kinds.FormatLimits(a.Max))
	}
	if int(a.Blocked) != len(v.p.blocked[a]) {
		v.breaks("%s holds back %d lines and counts %d", of, len(v.p.blocked[a]), a.Blocked)
	}
	for i, l := range v.p.blocked[a] {
		if l.user != a || !l.blocked || l.blockedAt != i {
			v.breaks("%s lists a line of queue %s that does not know", of, l.leaf.Path)
		}
	}
	for _, r := range a.Held {
		if v.settled && r.Wait != nil && r.Wait.HeldBy == a && v.p.Requests[r.Key] == r && r.Required != "" && r.HeldBack() == nil && r.WithoutRoom() == nil {
			v.breaks("%s waits for %s, which lets it run", r.Key, of)
		}
	}
}

// lines checks the lines of all leaves: what stands in them belongs there, and one that is in no
// order holds nothing that may run.
func (v *verifier) lines(q *waitingQueue) {
	if !v.settled {
		return
	}
	for _, child := range q.Children {
		v.lines(v.p.ofQueue(child))
	}
	for _, a := range q.Applications {
		app := v.p.ofApplication(a)
		key := lineKey{user: app.ByUser, group: app.ByGroup, uncounted: !app.Counts && app.IsCapped()}
		if app.links.In() != (app.line != nil) || app.line != nil && app.line.lineKey != key {
			v.breaks("application %s is not in the line where it belongs", app.ID)
		}
	}
	standing := q.lines.tree.Len()
	for i, l := range q.lines.list {
		standing += l.lines.Len()
		v.line(l)
		if l.at != i || q.lines.by[l.lineKey] != l || l.in != nil && q.lines.by[l.in.lineKey] != l.in {
			v.breaks("queue %s: a line of %d applications is out of place", q.Path, l.apps.Len())
		}
		if !l.blocked && !l.isEmpty() {
			standing--
		}
	}
	if standing != 0 || len(q.lines.by) != len(q.lines.list) {
		v.breaks("queue %s has %d lines, lists %d, and %d more stand in an order than have anything to try", q.Path, len(q.lines.by), len(q.lines.list), standing)
	}
	sorted(v, "lines", &q.lines.tree)
}

// line checks one line, and that the account which has it blocked holds all of it back.
func (v *verifier) line(l *line) {
	path := l.leaf.Path
	if l.links.In() == (l.blocked || l.isEmpty()) || l.isEmpty() && l.lineKey != (lineKey{}) || l.apps.Len() > 0 && l.holds || l.lines.Len() > 0 && !l.holds {
		v.breaks("queue %s: a line of %d applications and %d lines is out of place", path, l.apps.Len(), l.lines.Len())
	}
	if l.blocked && (!l.holdsBack(&l.own) || !slices.Contains(v.p.blocked[l.user], l)) {
		v.breaks("queue %s: a line is held back by %s, which does not", path, l.user.Subject)
	}
	sorted(v, "applications of a line", &l.apps)
	sorted(v, "lines of a line", &l.lines)
	if l == l.leaf.alone() {
		return
	}
	parts := slices.Collect(ownOf(&l.apps, func(app *waitingApplication) *summary { return &app.own }))
	parts = slices.AppendSeq(parts, ownOf(&l.lines, func(in *line) *summary { return &in.own }))
	v.summary("a line of "+string(path), &l.own, slices.Values(parts))
}

// ownOfLeaf is what the applications of a leaf have themselves that stand in an order.
func ownOfLeaf(q *waitingQueue) (all []*summary) {
	for l := range q.lines.tried {
		all = slices.AppendSeq(all, ownOf(&l.apps, func(app *waitingApplication) *summary { return &app.own }))
	}
	return all
}
