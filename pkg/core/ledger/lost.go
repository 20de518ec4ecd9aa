package ledger

import (
	"slices"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
)

// What a member of a group had on its node that ended, and without which the group is below its minimum, is kept for the one that
// takes its place: a claim without an ask.

// KeepLost keeps what a member of an application had on a node. It is to be ranked next.
func (l *Ledger) KeepLost(g *Group, a *api.Allocation, app *Application, on *Node, since time.Time) {
	r := &Request{Allocation: a, App: app, StartsWith: g}
	g.Lost = append(g.Lost, r)
	l.AddClaim(r, &Claim{Node: on, Since: since, Whole: true, Lost: true})
	l.Changes.Node(on, NodeRetry)
	l.Tell(&api.Claimed{Allocation: a, Node: on.ID, Lost: true})
}

// Keeping visits the members, and those that have ended, for which anything is kept.
func (g *Group) Keeping(yield func(*Request) bool) {
	for r := range g.Asks.All {
		if r.Claim() != nil && !yield(r) {
			return
		}
	}
	for _, r := range g.Lost {
		if !yield(r) {
			return
		}
	}
}

// DropLost gives up what is kept for a member that has ended, and says why.
func (l *Ledger) DropLost(r *Request, why string) {
	r.StartsWith.Lost = without(r.StartsWith.Lost, r)
	n := l.DropClaim(r)
	l.Changes.Node(n, NodeFreed|NodeRetry)
	l.Tell(&api.ClaimEnded{Allocation: r.Allocation, Node: n.ID, Lost: true, End: api.EndOfRoom, Reason: why})
}

// dropLostOf gives up what is kept for members of an application that have ended.
func (l *Ledger) dropLostOf(app *Application) {
	for _, r := range slices.Clone(l.Claims) {
		if r.Wait.Claim.Lost && r.App == app {
			l.DropLost(r, "its application is gone")
		}
	}
}
