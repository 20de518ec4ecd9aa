package ledger

import (
	"slices"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/core/laws"
	"github.com/narwhal-scheduler/narwhal/pkg/core/tables"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// Verify recounts everything and returns the first broken law, or nil:
//
//   - the books of the nodes and the books of the queues agree, but for what is overdue on a node
//     that is not ready, and sums agree along the tree of queues;
//   - every request is in exactly the lists that its state says, under a key of
//     its own, and every allocation is on a known node;
//   - no node has more on it than it holds and no queue uses more than its max,
//     except by adoption, resizing, or a lowered capacity or max;
//   - so do the accounts of limits;
//   - what is kept for asks and what is being evicted is counted exactly;
//   - task groups and groups count their members, and each placeholder has one ask at most;
//   - no number of an object is given twice, and none is lost.
//
// It is linear in the size of the ledger, changes nothing, and is meant for tests and simulations.
func (l *Ledger) Verify() error {
	v := verifier{Ledger: l, Check: laws.Check{Partition: l.Name}, settled: l.Changes.None()}
	v.all = slices.AppendSeq(make([]*Node, 0, l.Nodes.Len()), l.AllNodes)
	v.keep()
	v.nodes()
	v.applications()
	v.queue(l.Root)
	v.limits()
	v.members()
	v.totals()
	v.claims()
	v.sums(l.Root)
	if !slices.Equal(v.running, l.Running) {
		v.Breaks("priorities counted: %v of allocations, booked %v", v.running, l.Running)
	}
	v.slots()
	return v.Err
}

// A verifier keeps the first law that it finds broken.
type verifier struct {
	*Ledger
	laws.Check
	all     []*Node // by ID
	settled bool    // nothing has changed to which nothing has reacted
	found   int     // requests in lists of nodes and applications
	used    resources.Sum
	foreign resources.Sum
	total   resources.Sum
	sum     resources.Sum               // scratch
	running tables.Counts               // counted anew
	unknown int                         // kinds that asks want and no node has
	keepers map[*Application][]*Request // of quota: asks, and members that have ended
}

// add sums up a list in the scratch vector.
func (v *verifier) add(list []*Request) resources.Sum {
	v.sum = resources.Sum{Amounts: v.sum.Amounts[:0]}
	for _, r := range list {
		v.sum.Add(r.Amounts)
	}
	return v.sum
}

func (v *verifier) equal(what, of string, booked, counted resources.Sum) {
	if v.Err == nil && !booked.Same(counted) {
		v.Breaks("%s of %s: booked %s, counted %s", what, of, v.Kinds.Format(booked.Amounts), v.Kinds.Format(counted.Amounts))
	}
}

func (v *verifier) nodes() {
	if len(v.nodesByID) != len(v.all) {
		v.Breaks("%d nodes are in order and %d can be looked up", len(v.all), len(v.nodesByID))
	}
	if !noDetails.isEmpty() {
		v.Breaks("the details of nodes that have none of their own were changed: %+v", noDetails)
	}
	for id, waiting := range v.Absent {
		if waiting.Len() == 0 || v.FindNode(id) != nil {
			v.Breaks("%d asks are said to wait until node %s comes", waiting.Len(), id)
		}
	}
	for _, n := range v.all {
		if v.FindNode(n.ID) != n {
			v.Breaks("node %s cannot be looked up", n.ID)
		}
		var releasing resources.Sum
		evicted := 0
		v.equal("allocated", string(n.ID), n.allocated, v.add(n.Own))
		v.equal("occupied", string(n.ID), n.occupied, v.add(n.Foreign))
		v.assumedOn(n)
		for i := range max(len(n.Free), len(n.Capacity)) {
			k := resources.Kind(i)
			if n.Free.Of(k) != resources.Total(n.Capacity.Of(k), -n.allocated.Of(k), -n.occupied.Of(k)) {
				v.Breaks("node %s: free %s is not what is left", n.ID, v.Kinds.Format(n.Free))
			}
		}
		if !n.overcommitted && n.negative() {
			v.Breaks("node %s: overcommitted by a placement, free %s", n.ID, v.Kinds.Format(n.Free))
		}
		for _, list := range [2][]*Request{n.Own, n.Foreign} {
			for i, r := range list {
				if r.RunsOn != n || r.Node != n.ID || int(r.on) != i || r.Slot != 0 {
					v.Breaks("node %s lists %s, which is not there", n.ID, r.Key)
				}
				if r.Releasing() {
					releasing.Add(r.Amounts)
				}
				if r.Eviction != nil {
					evicted++
				}
				v.nodeOnly(r)
				if r.Victim() && (r.Required != "" || r.Origin == api.Static) {
					v.Breaks("node %s: %s is evicted and is never a victim", n.ID, r.Key)
				}
			}
		}
		if evicted != n.Details.Read().Evicted {
			v.Breaks("node %s: %d are evicted, %d counted", n.ID, evicted, n.Details.Read().Evicted)
		}
		v.claimsOn(n, releasing)
		v.weakest(n)
		v.found += len(n.Foreign)
		v.used.AddSum(n.allocated)
		v.foreign.AddSum(n.occupied)
		v.total.Add(n.Capacity)
	}
}

// nodeOnly checks an allocation, if only its node is charged for it.
func (v *verifier) nodeOnly(r *Request) {
	if !r.Eviction.isNodeOnly() {
		return
	}
	if r.Foreign() || !r.Eviction.Overdue || r.RunsOn.IsReady() {
		v.Breaks("no queue is charged for %s, which is not overdue on a node that is not ready", r.Key)
	}
	v.used.Sub(r.Amounts)
}

// charged are those of some allocations that their queues are charged for.
func charged(list []*Request) []*Request {
	only := func(r *Request) bool { return r.Eviction.isNodeOnly() }
	if !slices.ContainsFunc(list, only) {
		return list
	}
	return slices.DeleteFunc(slices.Clone(list), only)
}

func (v *verifier) applications() {
	v.Applications.Ascend(func(app *Application) bool {
		v.equal("used", string(app.ID), app.Used, v.add(charged(app.Allocations)))
		v.equal("pending", string(app.ID), app.Pending, v.add(app.Asks))
		v.found += len(app.Allocations) + len(app.Asks)
		for i, r := range app.Allocations {
			if r.App != app || r.RunsOn == nil || int(r.at) != i || v.Requests[r.Key] != r {
				v.Breaks("application %s lists allocation %s, which is not there", app.ID, r.Key)
			}
		}
		for i, r := range app.Asks {
			if r.App != app || r.RunsOn != nil || r.Node != "" || int(r.at) != i || v.Requests[r.Key] != r {
				v.Breaks("application %s lists ask %s, which is not there", app.ID, r.Key)
			}
			if r.Eviction != nil || r.Slot <= 0 {
				v.Breaks("ask %s is evicted, or has no number", r.Key)
			}
			if err := v.checkKinds(r); err != nil {
				v.Breaks("%v", err)
			}
			v.unknown += len(r.Unknown)
		}
		if app.Queue.Applications[app.ID] != app {
			v.Breaks("application %s is not in its queue %s", app.ID, app.Queue.Path)
		}
		return v.Err == nil
	})
}

func (v *verifier) queue(q *Queue) {
	var used, pending resources.Sum
	for _, child := range q.Children {
		v.queue(child)
		used.AddSum(child.Used)
		pending.AddSum(child.Pending)
	}
	for _, app := range q.Applications {
		used.AddSum(app.Used)
		pending.AddSum(app.Pending)
	}
	v.equal("used", string(q.Path), q.Used, used)
	v.equal("pending", string(q.Path), q.Pending, pending)
	if !q.exceeded && !q.Used.Within(q.Max) {
		v.Breaks("queue %s: uses %s of %s by a placement", q.Path, v.Kinds.Format(q.Used.Amounts), v.Kinds.FormatLimits(q.Max))
	}
	if q.Leaf && len(q.Children) > 0 || !q.Leaf && len(q.Applications) > 0 {
		v.Breaks("queue %s: leaf is %t with %d queues and %d applications", q.Path, q.Leaf, len(q.Children), len(q.Applications))
	}
}

func (v *verifier) totals() {
	v.equal("used", "nodes and queues", v.Root.Used, v.used)
	v.equal("occupied", "the partition", v.Occupied, v.foreign)
	v.equal("capacity", "the partition", v.Capacity, v.total)
	for id, list := range v.unplaced {
		v.found += len(list)
		if v.FindNode(id) != nil || len(list) == 0 {
			v.Breaks("%d foreign allocations wait for node %s, which is known", len(list), id)
		}
	}
	for _, set := range v.Unknown {
		v.unknown -= set.Len()
	}
	if v.unknown != 0 {
		v.Breaks("%d more unknown kinds are wanted than listed", v.unknown)
	}
	if v.found != len(v.Requests) {
		v.Breaks("%d requests are known by key and %d are listed", len(v.Requests), v.found)
	}
}

// isEmpty reports whether there is nothing in the details.
func (d *details) isEmpty() bool {
	return d.claimed.IsZero() && d.stays.IsZero() && d.assumed.IsZero() && d.Evicted == 0
}
