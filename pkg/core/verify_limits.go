package core

import (
	"slices"

	"github.com/narwhal-scheduler/narwhal/pkg/core/ledger"
)

// limits checks what waits for accounts, and the lines of all leaves.
func (v *verifier) limits() {
	seen := map[*ledger.Account]bool{}
	for app := range v.p.Applications.Ascend {
		for _, account := range app.Accounts() {
			for ; account != nil && !seen[account]; account = account.Parent {
				seen[account] = true
				v.account(account)
			}
		}
	}
	v.lines(v.p.ofQueue(v.p.Root))
}

// account checks what waits for an account.
func (v *verifier) account(a *ledger.Account) {
	of := a.Subject.String()
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
		if app.Links().In() != (app.line != nil) || app.line != nil && app.line.lineKey != key {
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
	if l.Links().In() == (l.blocked || l.isEmpty()) || l.isEmpty() && l.lineKey != (lineKey{}) || l.apps.Len() > 0 && l.holds || l.lines.Len() > 0 && !l.holds {
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
