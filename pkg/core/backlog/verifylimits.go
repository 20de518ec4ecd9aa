package backlog

import (
	"slices"

	"github.com/narwhal-scheduler/narwhal/pkg/core/ledger"
)

// limits checks what waits for accounts, and the lines of all leaves.
func (v *verifier) limits() {
	seen := map[*ledger.Account]bool{}
	for app := range v.Applications.Ascend {
		for _, account := range app.Accounts() {
			for ; account != nil && !seen[account]; account = account.Parent {
				seen[account] = true
				v.account(account)
			}
		}
	}
	v.lines(v.OfQueue(v.Root))
}

// account checks what waits for an account.
func (v *verifier) account(a *ledger.Account) {
	of := a.Subject.String()
	if int(a.Blocked) != len(v.blocked[a]) {
		v.Breaks("%s holds back %d lines and counts %d", of, len(v.blocked[a]), a.Blocked)
	}
	for i, l := range v.blocked[a] {
		if l.user != a || !l.Blocked || l.blockedAt != i {
			v.Breaks("%s lists a line of queue %s that does not know", of, l.Leaf.Path)
		}
	}
	for _, r := range a.Held {
		if v.settled && r.Wait != nil && r.Wait.HeldBy == a && v.Requests[r.Key] == r && r.Required != "" && r.HeldBack() == nil && r.WithoutRoom() == nil {
			v.Breaks("%s waits for %s, which lets it run", r.Key, of)
		}
	}
}

// lines checks the lines of all leaves: what stands in them belongs there, and one that is in no
// order holds nothing that may run.
func (v *verifier) lines(q *Queue) {
	if !v.settled {
		return
	}
	for _, child := range q.Children {
		v.lines(v.OfQueue(child))
	}
	for _, a := range q.Applications {
		app := v.OfApplication(a)
		key := lineKey{user: app.ByUser, group: app.ByGroup, uncounted: !app.Counts && app.IsCapped()}
		if app.Links().In() != (app.line != nil) || app.line != nil && app.line.lineKey != key {
			v.Breaks("application %s is not in the line where it belongs", app.ID)
		}
	}
	standing := q.Lines.tree.Len()
	for i, l := range q.Lines.list {
		standing += l.lines.Len()
		v.line(l)
		if l.at != i || q.Lines.by[l.lineKey] != l || l.in != nil && q.Lines.by[l.in.lineKey] != l.in {
			v.Breaks("queue %s: a line of %d applications is out of place", q.Path, l.Apps.Len())
		}
		if !l.Blocked && !l.isEmpty() {
			standing--
		}
	}
	if standing != 0 || len(q.Lines.by) != len(q.Lines.list) {
		v.Breaks("queue %s has %d lines, lists %d, and %d more stand in an order than have anything to try", q.Path, len(q.Lines.by), len(q.Lines.list), standing)
	}
	sorted(v, "lines", &q.Lines.tree)
}

// line checks one line, and that the account which has it blocked holds all of it back.
func (v *verifier) line(l *line) {
	path := l.Leaf.Path
	if l.Links().In() == (l.Blocked || l.isEmpty()) || l.isEmpty() && l.lineKey != (lineKey{}) || l.Apps.Len() > 0 && l.holds || l.lines.Len() > 0 && !l.holds {
		v.Breaks("queue %s: a line of %d applications and %d lines is out of place", path, l.Apps.Len(), l.lines.Len())
	}
	if l.Blocked && (!l.holdsBack(&l.own) || !slices.Contains(v.blocked[l.user], l)) {
		v.Breaks("queue %s: a line is held back by %s, which does not", path, l.user.Subject)
	}
	sorted(v, "applications of a line", &l.Apps)
	sorted(v, "lines of a line", &l.lines)
	if l == l.Leaf.alone() {
		return
	}
	parts := slices.Collect(ownOf(&l.Apps, func(app *Application) *Summary { return &app.own }))
	parts = slices.AppendSeq(parts, ownOf(&l.lines, func(in *line) *Summary { return &in.own }))
	v.summary("a line of "+string(path), &l.own, slices.Values(parts))
}

// ownOfLeaf is what the applications of a leaf have themselves that stand in an order.
func ownOfLeaf(q *Queue) (all []*Summary) {
	for l := range q.Lines.Tried {
		all = slices.AppendSeq(all, ownOf(&l.Apps, func(app *Application) *Summary { return &app.own }))
	}
	return all
}
