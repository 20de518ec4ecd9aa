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
	v.sections(v.p.root)
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
		if account == nil || v.p.limits[limitKey{q, group, name}] != account || !account.max.Equal(limit.Max) ||
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
	for i, l := range a.blocked {
		if l.account != a || !l.blocked || l.blockedAt != i {
			v.breaks("%s lists a line of queue %s that does not know", of, l.leaf.path)
		}
	}
	for _, r := range a.held {
		if v.settled && r.wait != nil && r.wait.limit == a && v.p.requests[r.Key] == r && r.heldBack() == nil {
			v.breaks("%s waits for %s, which lets it run", r.Key, of)
		}
	}
}

// sections checks the sections of all leaves: what stands in them belongs there, and one that is
// in no order holds nothing that may run.
func (v *verifier) sections(q *queue) {
	if !v.settled {
		return
	}
	for _, child := range q.children {
		v.sections(child)
	}
	for _, app := range q.applications {
		key := sectionKey{app.byUser, app.byGroup, !app.counts && app.isCapped()}
		if app.links.In() && (app.section == nil) != (key == sectionKey{}) || app.section != nil && app.section.sectionKey != key {
			v.breaks("application %s is not in the section where it belongs", app.id)
		}
	}
	for i, s := range q.sections.list {
		if s.at != i || q.sections.by[s.sectionKey] != s || s.apps.Len() == 0 || !s.links.In() {
			v.breaks("queue %s: a section of %d applications is out of place", q.path, s.apps.Len())
			continue
		}
		sorted(v, "applications of a section", &s.apps)
		v.summary("a section of "+string(q.path), &s.own, ownOf(&s.apps, func(app *application) *summary { return &app.own }))
		if s.line != nil && q.sections.lines[s.line.lineKey] != s.line {
			v.breaks("queue %s: a section stands in a line that is not known", q.path)
		}
	}
	if len(q.sections.by) != len(q.sections.list) {
		v.breaks("queue %s has %d sections and lists %d", q.path, len(q.sections.by), len(q.sections.list))
	}
	sorted(v, "sections", &q.sections.tree)
	sorted(v, "lines", &q.sections.open)
	checkLines(v, q)
}

// checkLines checks that each account which has a line blocked holds all of it back.
func checkLines(v *verifier, q *queue) {
	standing := q.sections.tree.Len()
	for key, l := range q.sections.lines {
		standing += l.sections.Len()
		if l.lineKey != key || l.links.In() == l.blocked || l.sections.Len() == 0 {
			v.breaks("queue %s: a line of %d sections is out of place", q.path, l.sections.Len())
		}
		if l.blocked && (!l.holdsBack(&l.own) || !slices.Contains(l.account.blocked, l)) {
			v.breaks("queue %s: a line is held back by %s, which does not", q.path, l.account.subject)
		}
		sorted(v, "sections of a line", &l.sections)
		v.summary("a line of "+string(q.path), &l.own, ownOf(&l.sections, func(s *section) *summary { return &s.own }))
	}
	if standing != len(q.sections.list) {
		v.breaks("queue %s has %d sections and %d stand in an order", q.path, len(q.sections.list), standing)
	}
}

// ownOfLeaf is what the applications of a leaf have themselves that stand in an order.
func ownOfLeaf(q *queue) (all []*summary) {
	for s := range ownOf(&q.apps, func(app *application) *summary { return &app.own }) {
		all = append(all, s)
	}
	for s := range q.sections.tried {
		all = append(all, &s.own)
	}
	return all
}
