package ledger

import (
	"slices"

	"github.com/narwhal-scheduler/narwhal/pkg/core/tables"
)

// AddClaim books what is kept for an ask, and DropClaim takes it off the books.
func (l *Ledger) AddClaim(r *Request, c *Claim) {
	c.at = len(l.Claims)
	l.Claims = append(l.Claims, r)
	r.Waiting().Claim = c
	at, _ := slices.BinarySearchFunc(c.Node.Claims, r, byClaim)
	c.Node.Claims = slices.Insert(c.Node.Claims, at, r)
	c.Node.Details.change().claimed.Add(r.Amounts)
	l.Importances.Add(r.Importance)
	if r.KeepsQuota() {
		l.keepQuota(r)
	}
	if c.IsIdle() {
		l.Idle++
	}
	l.touch(r, c.Node)
}

// DropClaim takes the claim of an ask off the books, and returns the node where room was kept.
func (l *Ledger) DropClaim(r *Request) *Node {
	c := r.Wait.Claim
	l.Claims = tables.SwapRemove(l.Claims, c.at, atClaim)
	c.Node.Claims = without(c.Node.Claims, r)
	c.Node.Details.change().claimed.Sub(r.Amounts)
	l.Importances.Remove(r.Importance)
	if r.KeepsQuota() {
		l.unkeepQuota(r)
	}
	if c.IsIdle() {
		l.Idle--
	}
	r.Wait.Claim = nil
	l.touch(r, c.Node)
	return c.Node
}

// touch brings a node in line with what is kept there.
func (l *Ledger) touch(r *Request, n *Node) {
	n.recountRoom()
	n.Revision++
	l.Changes.Node(n, 0)
	l.Changes.Application(r.App, 0)
}

// keepQuota keeps the quota of an ask, unkeepQuota gives it back.
func (l *Ledger) keepQuota(r *Request) {
	l.Keep(r)
	l.listQuota(r)
	l.countKept(r.App, 1)
}

func (l *Ledger) unkeepQuota(r *Request) {
	l.Unkeep(r)
	at, _ := slices.BinarySearchFunc(l.QuotaClaims, r, byClaim)
	l.QuotaClaims = slices.Delete(l.QuotaClaims, at, at+1)
	l.countKept(r.App, -1)
	l.Changes.freeLimits(r.App)
}

// Keep counts the quota of an ask as kept on the accounts of its application, and Unkeep does not any more.
func (l *Ledger) Keep(r *Request) { r.App.keep(r.Amounts, r.Importance, l.NextStamp()) }

// Unkeep is the opposite of Keep.
func (l *Ledger) Unkeep(r *Request) { r.App.unkeep(r.Amounts, r.Importance, l.NextStamp()) }

// listQuota gives a claim with quota its place among the others.
func (l *Ledger) listQuota(r *Request) {
	at, _ := slices.BinarySearchFunc(l.QuotaClaims, r, byClaim)
	l.QuotaClaims = slices.Insert(l.QuotaClaims, at, r)
}

// KeepQuotaToo has the quota kept of an ask that has a claim already.
func (l *Ledger) KeepQuotaToo(r *Request) {
	r.Wait.Claim.Evicts = true
	l.Idle--
	slices.SortFunc(r.Wait.Claim.Node.Claims, byClaim)
	l.keepQuota(r)
	l.touch(r, r.Wait.Claim.Node)
}

// Rank gives an ask the priority that the root sees, and its claim the place that follows from it.
func (l *Ledger) Rank(r *Request, importance int32) {
	was, c := r.Importance, r.Claim()
	r.Importance = importance
	if c == nil || was == importance {
		return
	}
	l.Importances.Remove(was)
	l.Importances.Add(r.Importance)
	slices.SortFunc(c.Node.Claims, byClaim)
	if r.KeepsQuota() {
		r.App.unkeep(r.Amounts, was, l.NextStamp())
		l.Keep(r)
		l.QuotaClaims = without(l.QuotaClaims, r)
		l.listQuota(r)
	}
	l.touch(r, c.Node)
	l.Changes.Node(c.Node, NodeRetry)
}

func atClaim(r *Request) *int { return &r.Wait.Claim.at }
