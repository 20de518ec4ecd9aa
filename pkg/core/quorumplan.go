package core

import (
	"cmp"
	"slices"

	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// startQuorum places as many asks of a quorum as must start together, or none: then they are
// held back until something changes, and hold nothing meanwhile. What fits nowhere is passed
// over while enough others fit. The others are tried one by one once the quorum runs.
func (p cycle) startQuorum(r *request) outcome {
	if !p.gangWork.mayTry(p.batch) {
		return flush
	}
	q := r.quorum
	plan := p.newQuorumPlan(q)
	result := plan.make(q.missing())
	if result == waits && plan.avoids { // better there again than not at all
		again := p.newQuorumPlan(q)
		again.avoids = false
		plan, result = again, again.make(q.missing())
	}
	switch result {
	case placed:
		for i, ask := range plan.chosen {
			p.place(ask, plan.nodes[i])
		}
		return placed
	case flush:
		return flush
	case waits, paused, busy:
	}
	quorums(p).hold(q, plan.detail)
	quorums(p).later(q)
	if q.misfit = !plan.overQuota; q.misfit && !q.hinted {
		p.hints.later()
	}
	return waits
}

// A quorumPlan finds nodes for enough asks of a quorum. It changes nothing.
type quorumPlan struct {
	gangPlan
	chosen  []*request // for which there are nodes, in their order
	planned map[*account]*plannedUse
	begin   map[*application]int // planned asks of those that do not count yet
}

// plannedUse is what is planned of an account, beside what it is charged for.
type plannedUse struct {
	resources.Sum
	applications int // that count from then on
}

// newQuorumPlan begins a plan for the asks of a quorum that may run now: by priority, those
// that are alike together, the oldest first.
func (p cycle) newQuorumPlan(q *quorum) *quorumPlan {
	g := &quorumPlan{gangPlan: gangPlan{cycle: p, on: map[*node]*plannedNode{}}, planned: map[*account]*plannedUse{}, begin: map[*application]int{}}
	for r := range q.asks.all {
		if r.group == nil || keepsRoom(r) || r.heldBack() != nil {
			continue
		}
		g.asks = append(g.asks, r)
		g.avoids = g.avoids || r.wait != nil && r.wait.avoid != ""
	}
	slices.SortStableFunc(g.asks, func(a, b *request) int {
		return cmp.Or(cmp.Compare(b.Priority, a.Priority), cmp.Compare(a.class.key, b.class.key))
	})
	return g
}

// make finds nodes for some number of asks, the first in order that fit.
func (g *quorumPlan) make(count int) outcome {
	for rest := g.asks; len(rest) > 0 && len(g.chosen) < count; {
		alike := rest
		if other := slices.IndexFunc(rest, func(r *request) bool { return r.class != rest[0].class }); other > 0 {
			alike = rest[:other]
		}
		rest = rest[len(alike):]
		within := g.withinQuotas(alike, count-len(g.chosen))
		if len(within) > 0 && g.placeAlike(within) == flush {
			return flush
		}
		got := len(g.nodes) - len(g.chosen)
		for _, r := range within[got:] {
			g.plan(r, -1)
		}
		g.chosen = append(g.chosen, within[:got]...)
	}
	if len(g.chosen) < count {
		g.detail = cmp.Or(g.detail, "too few of its members fit")
		return waits
	}
	g.overQuota = false
	return placed
}

// withinQuotas plans as many of some asks that are alike as are wanted and the quotas have room
// for. They may be of several applications and users: what is too much for one is not for all.
func (g *quorumPlan) withinQuotas(asks []*request, wanted int) (within []*request) {
	var refused *application // the last one: its other asks want the same
	for _, r := range asks {
		if len(within) == wanted {
			break
		}
		if r.application == refused {
			continue
		}
		g.plan(r, 1)
		if full := g.exceeds(r); full != "" {
			g.overQuota, g.detail = true, full
			g.plan(r, -1)
			refused = r.application
			continue
		}
		within = append(within, r)
	}
	return within
}

// exceeds says which account of an ask has no room for what is planned; nothing if all have.
func (g *quorumPlan) exceeds(r *request) string {
	for _, account := range r.application.accounts() {
		for ; account != nil; account = account.parent {
			use := g.planned[account]
			switch {
			case !account.hasRoom(use.Amounts, r.class.importance):
				return "the quota of " + account.subject.String()
			case use.applications > 0 && account.applicationsMax > 0 && account.applications+use.applications > account.applicationsMax:
				return "too many applications of " + account.subject.String()
			}
		}
	}
	return ""
}

// plan counts an ask with all its accounts, or not any more, and its application if that does
// not count yet.
func (g *quorumPlan) plan(r *request, more int) {
	app, begins := r.application, 0
	if !app.counts {
		before := g.begin[app]
		g.begin[app] = before + more
		begins = min(before+more, 1) - min(before, 1)
	}
	for _, account := range app.accounts() {
		for ; account != nil; account = account.parent {
			use := g.planned[account]
			if use == nil {
				use = new(plannedUse)
				g.planned[account] = use
			}
			use.applications += begins
			if more > 0 {
				use.Add(r.Amounts)
			} else {
				use.Sub(r.Amounts)
			}
		}
	}
}
