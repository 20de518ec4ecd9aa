package ledger

import (
	"slices"

	"github.com/narwhal-scheduler/narwhal/pkg/core/tables"
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
	sums := map[*Account]*limitSums{}
	v.Applications.Ascend(func(app *Application) bool {
		v.countsFor(app)
		for i, account := range app.Accounts() {
			if i > 0 {
				v.chain(app, i == 2, account)
			}
			for ; account != nil; account = account.Parent {
				if sums[account] == nil {
					sums[account] = &limitSums{}
				}
				v.charge(sums[account], app)
			}
		}
		return v.Err == nil
	})
	limits := 0
	for account, sum := range sums {
		v.account(account, sum)
		if account.Subject.Limit {
			limits++
		}
	}
	if limits != len(v.Limits) {
		v.Breaks("%d accounts of limits are charged and %d are known", limits, len(v.Limits))
	}
}

// keep finds what keeps quota, of each application: asks, and members that have ended. It does not look at the list of them.
func (v *verifier) keep() {
	v.keepers = map[*Application][]*Request{}
	note := func(r *Request) {
		if r.KeepsQuota() {
			v.keepers[r.App] = append(v.keepers[r.App], r)
		}
	}
	v.Applications.Ascend(func(app *Application) bool {
		for _, r := range app.Asks {
			note(r)
		}
		return true
	})
	for _, g := range v.Together {
		for _, r := range g.Lost {
			note(r)
		}
	}
}

// countsFor checks whether an application counts for limits of applications.
func (v *verifier) countsFor(app *Application) {
	keeps := int32(len(v.keepers[app]))
	if keeps != app.keeps || app.Counts != (app.Ran || keeps > 0) || len(app.Allocations) > 0 && !app.Ran || app.Ran && app.Idle() {
		v.Breaks("application %s counts is %t, ran is %t, with quota for %d asks and %d counted", app.ID, app.Counts, app.Ran, keeps, app.keeps)
	}
}

// chain checks that an application is charged to every limit that applies to it.
func (v *verifier) chain(app *Application, group bool, account *Account) {
	name := app.User
	if group {
		if name = app.Group(); name == "" {
			if found := groupFor(app.Queue, app.Groups); found != "" {
				v.Breaks("application %s counts for no group and is limited as one of %s", app.ID, found)
			}
			return
		}
	}
	for q := app.Queue; q != nil; q = q.Parent {
		limit := q.limits.of(group, name)
		if limit == nil {
			continue
		}
		if account == nil || v.Limits[limitKey{queue: q, group: group, name: name}] != account || !account.Max.Equal(limit.Max) ||
			account.ApplicationsMax != limit.ApplicationsMax {
			v.Breaks("application %s is not charged to the limit of %q in queue %s", app.ID, name, q.Path)
			return
		}
		account = account.Parent
	}
	if account != nil {
		v.Breaks("application %s is charged to %s, where no limit is", app.ID, account.Subject)
	}
}

func (v *verifier) charge(s *limitSums, app *Application) {
	s.applications++
	s.used.AddSum(app.Used)
	if app.Counts {
		s.counted++
	}
	for _, r := range app.Allocations {
		switch {
		case r.Eviction.isNodeOnly():
		case r.Releasing():
			s.releasing.Add(r.Amounts)
		case r.Eviction != nil:
			s.overdue.Add(r.Amounts)
		}
	}
	for _, r := range v.keepers[app] {
		s.nominated.Add(r.Amounts)
	}
	for _, r := range app.Asks {
		if r.IsHinted() {
			s.hinted.Add(r.Amounts)
		}
	}
}

// account compares an account with what it must be charged for.
func (v *verifier) account(a *Account, sum *limitSums) {
	of := a.Subject.String()
	v.equal("used", of, a.Used, sum.used)
	v.equal("nominated", of, a.Nominated, sum.nominated)
	v.equal("releasing", of, a.Releasing, sum.releasing)
	v.equal("overdue", of, a.Overdue, sum.overdue)
	v.equal("told of", of, a.Hinted, sum.hinted)
	var kept resources.Sum
	for i := range a.Kept {
		kept.AddSum(a.Kept[i].amounts)
	}
	v.equal("kept", of, kept, sum.nominated)
	if a.Applications != sum.counted || a.Subject.Limit && a.Subject.apps != sum.applications {
		v.Breaks("%s: %d applications count of %d, counted %d of %d", of, a.Applications, a.Subject.apps, sum.counted, sum.applications)
	}
	if !a.exceeded && !a.Used.Within(a.Max) {
		v.Breaks("%s: uses %s of %s by a placement", of, v.Kinds.Format(a.Used.Amounts), v.Kinds.FormatLimits(a.Max))
	}
}

// keptIn is the quota that is kept in a queue for asks of an importance, counted anew.
func (v *verifier) keptIn(q *Queue, importance int32) (sum keptQuota) {
	for _, child := range q.Children {
		below := v.keptIn(child, importance)
		sum.amounts.AddSum(below.amounts)
		sum.asks += below.asks
	}
	for _, app := range q.Applications {
		for _, r := range v.keepers[app] {
			if r.Importance == importance {
				sum.amounts.Add(r.Amounts)
				sum.asks++
			}
		}
	}
	return sum
}

// sums checks what is kept for nominated asks and what is evicted along the tree of
// queues.
func (v *verifier) sums(q *Queue) {
	var nominated, releasing, overdue, kept, hinted resources.Sum
	var running tables.Counts
	for _, child := range q.Children {
		v.sums(child)
		nominated.AddSum(child.Nominated)
		releasing.AddSum(child.Releasing)
		overdue.AddSum(child.Overdue)
		hinted.AddSum(child.Hinted)
	}
	for _, app := range q.Applications {
		for _, r := range v.keepers[app] {
			nominated.Add(r.Amounts)
		}
		for _, r := range app.Asks {
			if r.IsHinted() {
				hinted.Add(r.Amounts)
			}
		}
		for _, r := range app.Allocations {
			running.Add(r.Priority)
			v.running.Add(r.Priority)
			for i, least := range q.Smallest {
				if least > r.Amounts.Of(resources.Kind(i)) {
					v.Breaks("queue %s: %s holds less than all are noted to hold", q.Path, r.Key)
				}
			}
			switch {
			case r.Eviction.isNodeOnly():
			case r.Releasing():
				releasing.Add(r.Amounts)
			case r.Eviction != nil:
				overdue.Add(r.Amounts)
			}
		}
	}
	for i, k := range q.Kept {
		kept.AddSum(k.amounts)
		if want := v.keptIn(q, k.importance); !k.amounts.Same(want.amounts) || k.asks != want.asks || slices.ContainsFunc(q.Kept[:i], func(o keptQuota) bool { return o.importance == k.importance }) {
			v.Breaks("queue %s: keeps %s for %d asks, counted %s for %d", q.Path, v.Kinds.Format(k.amounts.Amounts), k.asks, v.Kinds.Format(want.amounts.Amounts), want.asks)
		}
	}
	v.equal("kept", string(q.Path), kept, nominated)
	v.equal("nominated", string(q.Path), q.Nominated, nominated)
	v.equal("releasing", string(q.Path), q.Releasing, releasing)
	v.equal("overdue", string(q.Path), q.Overdue, overdue)
	if !slices.Equal(running, q.Running) {
		v.Breaks("queue %s: priorities counted %v, booked %v", q.Path, running, q.Running)
	}
	v.equal("told of", string(q.Path), q.Hinted, hinted)
}

// assumedOn checks what is counted of what runs on a node and asks for nothing of a kind.
func (v *verifier) assumedOn(n *Node) {
	var assumed resources.Sum
	for r := range n.AllOn {
		assumed.Add(v.Ledger.assumed(r))
	}
	v.equal("assumed", string(n.ID), n.Details.Read().assumed, assumed)
}
