package core

import (
	"slices"

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
	sums := map[*account]*limitSums{}
	v.p.applications.Ascend(func(app *application) bool {
		v.countsFor(app)
		for i, account := range app.accounts() {
			if i > 0 {
				v.chain(app, i == 2, account)
			}
			for ; account != nil; account = account.parent {
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
		if account.subject.limit {
			limits++
		}
	}
	if limits != len(v.p.limits) {
		v.breaks("%d accounts of limits are charged and %d are known", limits, len(v.p.limits))
	}
	v.lines(v.p.ofQueue(v.p.root))
}

// countsFor checks whether an application counts for limits of applications.
func (v *verifier) countsFor(app *application) {
	keeps := int32(0)
	for _, r := range app.asks {
		if r.keepsQuota() {
			keeps++
		}
	}
	if keeps != app.keeps || app.counts != (app.ran || keeps > 0) || len(app.allocations) > 0 && !app.ran || app.ran && app.idle() {
		v.breaks("application %s counts is %t, ran is %t, with quota for %d asks and %d counted", app.id, app.counts, app.ran, keeps, app.keeps)
	}
}

// chain checks that an application is charged to every limit that applies to it.
func (v *verifier) chain(app *application, group bool, account *account) {
	name := app.user
	if group {
		if name = app.group(); name == "" {
			if found := groupFor(app.queue, app.groups); found != "" {
				v.breaks("application %s counts for no group and is limited as one of %s", app.id, found)
			}
			return
		}
	}
	for q := app.queue; q != nil; q = q.parent {
		limit := q.limits.of(group, name)
		if limit == nil {
			continue
		}
		if account == nil || v.p.limits[limitKey{queue: q, group: group, name: name}] != account || !account.max.Equal(limit.Max) ||
			account.applicationsMax != limit.ApplicationsMax {
			v.breaks("application %s is not charged to the limit of %q in queue %s", app.id, name, q.path)
			return
		}
		account = account.parent
	}
	if account != nil {
		v.breaks("application %s is charged to %s, where no limit is", app.id, account.subject)
	}
}

func (s *limitSums) add(app *application) {
	s.applications++
	s.used.AddSum(app.used)
	if app.counts {
		s.counted++
	}
	for _, r := range app.allocations {
		switch {
		case r.eviction.isNodeOnly():
		case r.releasing():
			s.releasing.Add(r.Amounts)
		case r.eviction != nil:
			s.overdue.Add(r.Amounts)
		}
	}
	for _, r := range app.asks {
		if r.keepsQuota() {
			s.nominated.Add(r.Amounts)
		}
		if r.wait != nil && r.wait.hinted {
			s.hinted.Add(r.Amounts)
		}
	}
}

// account compares an account with what it must be charged for.
func (v *verifier) account(a *account, sum *limitSums) {
	of := a.subject.String()
	v.equal("used", of, a.used, sum.used)
	v.equal("nominated", of, a.nominated, sum.nominated)
	v.equal("releasing", of, a.releasing, sum.releasing)
	v.equal("overdue", of, a.overdue, sum.overdue)
	v.equal("told of", of, a.hinted, sum.hinted)
	var kept resources.Sum
	for i := range a.kept {
		kept.AddSum(a.kept[i].amounts)
	}
	v.equal("kept", of, kept, sum.nominated)
	if a.applications != sum.counted || a.subject.limit && a.subject.apps != sum.applications {
		v.breaks("%s: %d applications count of %d, counted %d of %d", of, a.applications, a.subject.apps, sum.counted, sum.applications)
	}
	if !a.exceeded && !a.used.Within(a.max) {
		v.breaks("%s: uses %s of %s by a placement", of, v.p.kinds.Format(a.used.Amounts), v.p.kinds.FormatLimits(a.max))
	}
	if int(a.blocked) != len(v.p.blocked[a]) {
		v.breaks("%s holds back %d lines and counts %d", of, len(v.p.blocked[a]), a.blocked)
	}
	for i, l := range v.p.blocked[a] {
		if l.user != a || !l.blocked || l.blockedAt != i {
			v.breaks("%s lists a line of queue %s that does not know", of, l.leaf.path)
		}
	}
	for _, r := range a.held {
		if v.settled && r.wait != nil && r.wait.heldBy == a && v.p.requests[r.Key] == r && r.Required != "" && r.heldBack() == nil && r.withoutRoom() == nil {
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
	for _, child := range q.children {
		v.lines(v.p.ofQueue(child))
	}
	for _, a := range q.applications {
		app := v.p.ofApplication(a)
		key := lineKey{user: app.byUser, group: app.byGroup, uncounted: !app.counts && app.isCapped()}
		if app.links.In() != (app.line != nil) || app.line != nil && app.line.lineKey != key {
			v.breaks("application %s is not in the line where it belongs", app.id)
		}
	}
	standing := q.lines.tree.Len()
	for i, l := range q.lines.list {
		standing += l.lines.Len()
		v.line(l)
		if l.at != i || q.lines.by[l.lineKey] != l || l.in != nil && q.lines.by[l.in.lineKey] != l.in {
			v.breaks("queue %s: a line of %d applications is out of place", q.path, l.apps.Len())
		}
		if !l.blocked && !l.isEmpty() {
			standing--
		}
	}
	if standing != 0 || len(q.lines.by) != len(q.lines.list) {
		v.breaks("queue %s has %d lines, lists %d, and %d more stand in an order than have anything to try", q.path, len(q.lines.by), len(q.lines.list), standing)
	}
	sorted(v, "lines", &q.lines.tree)
}

// line checks one line, and that the account which has it blocked holds all of it back.
func (v *verifier) line(l *line) {
	path := l.leaf.path
	if l.links.In() == (l.blocked || l.isEmpty()) || l.isEmpty() && l.lineKey != (lineKey{}) || l.apps.Len() > 0 && l.holds || l.lines.Len() > 0 && !l.holds {
		v.breaks("queue %s: a line of %d applications and %d lines is out of place", path, l.apps.Len(), l.lines.Len())
	}
	if l.blocked && (!l.holdsBack(&l.own) || !slices.Contains(v.p.blocked[l.user], l)) {
		v.breaks("queue %s: a line is held back by %s, which does not", path, l.user.subject)
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
