package ledger

import (
	"slices"

	"github.com/narwhal-scheduler/narwhal/pkg/core/preemptor"
	"github.com/narwhal-scheduler/narwhal/pkg/core/tables"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// claims checks that each claim is known to its ask, its node and the list of all, and that
// of groups only the one whose turn it is has any.
func (v *verifier) claims() {
	var importances tables.Counts
	idle, withQuota := 0, 0
	for at, r := range v.Claims {
		c := r.Claim()
		if c == nil || c.at != at || !c.Lost && v.Requests[r.Key] != r || r.RunsOn != nil || !slices.Contains(c.Node.Claims, r) {
			v.Breaks("%s is listed with a claim, and has none", r.Key)
			return
		}
		importances.Add(r.Importance)
		if c.IsIdle() {
			idle++
		}
		if r.KeepsQuota() {
			withQuota++
		}
		if with := r.Pair(); c.Replaces != (with != nil && with.Ask == r) {
			v.Breaks("%s has a claim on node %s in place of a placeholder is %t", r.Key, c.Node.ID, c.Replaces)
		}
		if c.Lost && (r.App.Gone || v.Together[r.StartsWith.Name] != r.StartsWith || !slices.Contains(r.StartsWith.Lost, r)) {
			v.Breaks("node %s is kept for the one that takes the place of %s, which its group does not know", c.Node.ID, r.Key)
		}
		if c.Whole && !c.Evicts && !c.Lost && v.Holder != r.StartsWith {
			v.Breaks("node %s is kept for %s, of a group whose turn it is not", c.Node.ID, r.Key)
		}
		if r.Required != "" && !c.Evicts && (r.Wait.Plan == nil || r.Wait.Plan.Reason != preemptor.TooYoung) {
			v.Breaks("%s has a claim on node %s and no room is on its way", r.Key, c.Node.ID)
		}
	}
	if withQuota != len(v.QuotaClaims) || !slices.IsSortedFunc(v.QuotaClaims, byClaim) || slices.ContainsFunc(v.QuotaClaims, func(r *Request) bool { return !r.KeepsQuota() }) {
		v.Breaks("%d claims keep quota, and %d are listed, in order or not", withQuota, len(v.QuotaClaims))
	}
	if idle != v.Idle {
		v.Breaks("%d claims have no evictions, counted %d", idle, v.Idle)
	}
	if !slices.Equal(importances, v.Importances) {
		v.Breaks("importances of claims: counted %v, booked %v", importances, v.Importances)
	}
}

// claimsOn checks what leaves a node, and what is kept there: an ask that may run anywhere has a claim on
// a node that takes asks.
func (v *verifier) claimsOn(n *Node, releasing resources.Sum) {
	if !n.Releasing.Same(releasing) {
		v.equal("releasing", string(n.ID), n.Releasing, releasing)
	}
	var stays, claimed resources.Sum
	for _, r := range n.Claims {
		claimed.Add(r.Amounts)
	}
	for r := range n.AllOn {
		if !r.leaves() {
			stays.Add(r.Amounts)
		}
	}
	v.equal("stays", string(n.ID), n.Details.Read().stays, stays)
	v.equal("claimed", string(n.ID), n.Details.Read().claimed, claimed)
	if room := n.Free.Minus(claimed.Amounts); len(n.Claims) > 0 && !n.Room.Equal(room) || len(n.Claims) == 0 && !n.Room.Equal(n.Free) {
		v.Breaks("node %s: has room for %s, beside what it keeps %s", n.ID, v.Kinds.Format(n.Room), v.Kinds.Format(room))
	}
	if !slices.IsSortedFunc(n.Claims, byClaim) {
		v.Breaks("node %s: claims are not in order", n.ID)
	}
	for _, r := range n.Claims {
		if c := r.Claim(); c == nil || c.Node != n {
			v.Breaks("node %s: %s has a claim there and does not know", n.ID, r.Key)
			return
		}
		if r.Required == "" && !n.Schedulable {
			v.Breaks("node %s: %s has a claim there although it takes nothing new", n.ID, r.Key)
		}
	}
}

// weakest checks the bound on what room costs on a node.
func (v *verifier) weakest(n *Node) {
	var least weakest
	for _, r := range n.Own {
		least.consider(r)
	}
	if least.Priority != n.Weakest.Priority || !least.Created.Equal(n.Weakest.Created) || (least.Is == nil) != (n.Weakest.Is == nil) {
		v.Breaks("node %s: %v is not the weakest, %v is", n.ID, n.Weakest, least)
	}
}

// slots checks that no two objects have the same number, and that no number is lost.
func (v *verifier) slots() {
	slots := make(map[int32]bool, len(v.all))
	for _, n := range v.all {
		slots[n.Slot] = true
	}
	v.numbered("nodes", &v.nodeSlots, slots, len(v.all))
	if !v.settled { // what is gone is known until then
		return
	}
	clear(slots)
	v.Applications.Ascend(func(app *Application) bool {
		slots[app.Slot] = true
		return true
	})
	v.numbered("applications", &v.ApplicationSlots, slots, v.Applications.Len())
	clear(slots)
	count := 0
	v.Root.Everywhere(func(q *Queue) bool {
		slots[q.Slot] = true
		count++
		return true
	})
	v.numbered("queues", &v.QueueSlots, slots, count)
	clear(slots)
	for _, r := range v.Requests {
		if r.Slot > 0 {
			slots[r.Slot] = true
		}
	}
	v.numbered("asks", &v.askSlots, slots, v.Waiting)
}

func (v *verifier) numbered(what string, given *tables.Numbers, slots map[int32]bool, count int) {
	if len(slots) != count || given.Used() != count {
		v.Breaks("%d %s have %d numbers, and %d are given", count, what, len(slots), given.Used())
	}
}
