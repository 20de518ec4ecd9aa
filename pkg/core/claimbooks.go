package core

import (
	"slices"

	"github.com/narwhal-scheduler/narwhal/pkg/core/tables"
)

// addClaim books what is kept for an ask, and dropClaim takes it off the books.
func (l *ledger) addClaim(r *request, c *claim) {
	c.at = len(l.claims)
	l.claims = append(l.claims, r)
	r.waiting().claim = c
	at, _ := slices.BinarySearchFunc(c.node.claims, r, byClaim)
	c.node.claims = slices.Insert(c.node.claims, at, r)
	c.node.details.change().claimed.Add(r.Amounts)
	l.importances.Add(r.importance)
	switch {
	case c.evicts:
		l.keepQuota(r)
	case c.isIdle():
		l.idle++
	}
	l.touch(r, c.node)
}

func (l *ledger) dropClaim(r *request) *node {
	c := r.wait.claim
	l.claims = tables.SwapRemove(l.claims, c.at, atClaim)
	c.node.claims = without(c.node.claims, r)
	c.node.details.change().claimed.Sub(r.Amounts)
	l.importances.Remove(r.importance)
	switch {
	case c.evicts:
		l.unkeepQuota(r)
	case c.isIdle():
		l.idle--
	}
	r.wait.claim = nil
	l.touch(r, c.node)
	return c.node
}

// touch brings a node in line with what is kept there.
func (l *ledger) touch(r *request, n *node) {
	n.recountRoom()
	n.view = nil
	n.revision++
	l.changes.node(n, 0)
	l.changes.application(r.application, 0)
}

// keepQuota keeps the quota of an ask, unkeepQuota gives it back.
func (l *ledger) keepQuota(r *request) {
	l.stamp++
	r.application.keep(r.Amounts, r.importance, l.stamp)
	l.listQuota(r)
	l.countKept(r.application, 1)
}

func (l *ledger) unkeepQuota(r *request) {
	l.stamp++
	r.application.unkeep(r.Amounts, r.importance, l.stamp)
	at, _ := slices.BinarySearchFunc(l.quotaClaims, r, byClaim)
	l.quotaClaims = slices.Delete(l.quotaClaims, at, at+1)
	l.countKept(r.application, -1)
	l.changes.freeLimits(r.application)
}

// listQuota gives a claim with quota its place among the others.
func (l *ledger) listQuota(r *request) {
	at, _ := slices.BinarySearchFunc(l.quotaClaims, r, byClaim)
	l.quotaClaims = slices.Insert(l.quotaClaims, at, r)
}

// keepQuotaToo has the quota kept of an ask that has a claim already.
func (l *ledger) keepQuotaToo(r *request) {
	r.wait.claim.evicts = true
	l.idle--
	slices.SortFunc(r.wait.claim.node.claims, byClaim)
	l.keepQuota(r)
	l.touch(r, r.wait.claim.node)
}

// rerank brings the claim of an ask up to date after its importance has changed.
func (l *ledger) rerank(r *request, was int32) {
	c := r.claim()
	if c == nil {
		return
	}
	l.importances.Remove(was)
	l.importances.Add(r.importance)
	slices.SortFunc(c.node.claims, byClaim)
	if c.evicts {
		l.stamp++
		r.application.unkeep(r.Amounts, was, l.stamp)
		r.application.keep(r.Amounts, r.importance, l.stamp)
		l.quotaClaims = without(l.quotaClaims, r)
		l.listQuota(r)
	}
	l.touch(r, c.node)
	l.changes.node(c.node, nodeRetry)
}

func atClaim(r *request) *int { return &r.wait.claim.at }
