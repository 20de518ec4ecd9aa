package object

import (
	"cmp"
	"net/http"
	"slices"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
	"github.com/narwhal-scheduler/narwhal/pkg/webservice/encoder"
	"github.com/narwhal-scheduler/narwhal/pkg/webservice/failure"
	"github.com/narwhal-scheduler/narwhal/pkg/webservice/query"
)

// nodeJSON is a node. Allocated and Utilized are about own allocations, Occupied
// about those of other schedulers.
type nodeJSON struct {
	NodeID             api.NodeID                     `json:"nodeID"`
	HostName           string                         `json:"hostName,omitempty"`
	RackName           string                         `json:"rackName,omitempty"`
	Attributes         map[string]string              `json:"attributes,omitempty"`
	Capacity           resources.Amounts              `json:"capacity,omitempty"`
	Allocated          resources.Amounts              `json:"allocated,omitempty"`
	Occupied           resources.Amounts              `json:"occupied,omitempty"`
	Available          resources.Amounts              `json:"available,omitempty"`
	Utilized           resources.Amounts              `json:"utilized,omitempty"` // percent
	Allocations        *encoder.Items[allocationJSON] `json:"allocations,omitempty"`
	ForeignAllocations *encoder.Items[foreignJSON]    `json:"foreignAllocations,omitempty"`
	Schedulable        bool                           `json:"schedulable"`
	IsReserved         bool                           `json:"isReserved"`
	Reservations       []api.AllocationKey            `json:"reservations,omitempty"`

	// What is new: the asks that are nominated to the node and what they get, and
	// the allocations that are evicted.
	Nominations []api.AllocationKey `json:"nominations,omitempty"`
	Nominated   resources.Amounts   `json:"nominated,omitempty"`
	Evictions   []evictionJSON      `json:"evictions,omitempty"`
	// Of the own allocations how many there are, and what those hold that may run
	// on this node only.
	AllocationCount int               `json:"allocationCount"`
	DaemonSets      resources.Amounts `json:"daemonSets,omitempty"`
}

func (n *nodeJSON) Encode(e *encoder.Encoder) {
	e.Open('{')
	e.Text("nodeID", string(n.NodeID))
	e.TextIf("hostName", n.HostName)
	e.TextIf("rackName", n.RackName)
	e.Texts("attributes", n.Attributes)
	e.Amounts("capacity", n.Capacity)
	e.Amounts("allocated", n.Allocated)
	e.Amounts("occupied", n.Occupied)
	e.Amounts("available", n.Available)
	e.Amounts("utilized", n.Utilized)
	e.List("allocations", n.Allocations)
	e.List("foreignAllocations", n.ForeignAllocations)
	e.Truth("schedulable", n.Schedulable)
	e.Truth("isReserved", n.IsReserved)
	encoder.Names(e, "reservations", n.Reservations)
	encoder.Names(e, "nominations", n.Nominations)
	e.Amounts("nominated", n.Nominated)
	encoder.Objects(e, "evictions", n.Evictions)
	e.Integer("allocationCount", int64(n.AllocationCount))
	e.Amounts("daemonSets", n.DaemonSets)
	e.Close('}')
}

// evictionJSON is an allocation that is being evicted. It is overdue if it has not
// ended in time.
type evictionJSON struct {
	AllocationKey api.AllocationKey `json:"allocationKey"`
	For           api.AllocationKey `json:"for,omitempty"`
	Since         time.Time         `json:"since,omitempty"`
	Overdue       bool              `json:"overdue,omitempty"`
	Trigger       string            `json:"trigger"`
}

func (v *evictionJSON) Encode(e *encoder.Encoder) {
	e.Open('{')
	e.Text("allocationKey", string(v.AllocationKey))
	e.TextIf("for", string(v.For))
	e.TimeIf("since", v.Since)
	e.TruthIf("overdue", v.Overdue)
	e.Text("trigger", v.Trigger)
	e.Close('}')
}

// The attributes that name the host and the rack of a node.
const (
	attributeHost = "si.io/hostname"
	attributeRack = "si.io/rackname"
)

// Nodes answers GET /ws/v1/partition/{partition}/nodes.
func Nodes(at *Snapshot, r *http.Request) (any, error) {
	fill := fillNode
	if !query.Wanted(r, "daemonSets") {
		fill = fillNodeLean
	}
	return query.List(r, at.kinds, at.Nodes, fill,
		query.Texts("node", func(n *api.NodeView) api.NodeID { return n.ID }),
		query.Truth("schedulable", func(n *api.NodeView) bool { return n.Schedulable }),
		query.Truth("reserved", func(n *api.NodeView) bool { return len(n.Reservations) > 0 }),
		query.Truth("evicting", func(n *api.NodeView) bool { return len(n.Evictions) > 0 }))
}

// Node answers GET /ws/v1/partition/{partition}/node/{node}.
func Node(at *Snapshot, r *http.Request) (any, error) {
	n := at.Node(api.NodeID(r.PathValue("node")))
	if n == nil {
		return nil, failure.Missing("Node")
	}
	out := new(nodeJSON)
	fillNode(n, out)
	return query.One(r, out)
}

// Node finds a node; nil if there is none.
func (at *Snapshot) Node(id api.NodeID) *api.NodeView {
	i, found := slices.BinarySearchFunc(at.Nodes, id, func(n *api.NodeView, id api.NodeID) int { return cmp.Compare(n.ID, id) })
	if !found {
		return nil
	}
	return at.Nodes[i]
}

// fillNode is a node with what takes a look at each of its allocations.
func fillNode(n *api.NodeView, out *nodeJSON) {
	fillNodeLean(n, out)
	for _, a := range n.Allocations {
		if a.Required != "" {
			out.DaemonSets.Add(a.Amounts)
		}
	}
}

// fillNodeLean is a node without daemonSets.
func fillNodeLean(n *api.NodeView, out *nodeJSON) {
	*out = nodeJSON{
		NodeID: n.ID, HostName: n.Attributes[attributeHost], RackName: n.Attributes[attributeRack], Attributes: n.Attributes,
		Capacity: n.Capacity, Allocated: n.Allocated, Occupied: n.Occupied, Available: n.Available,
		Utilized:           percent(n.Allocated, n.Capacity),
		ForeignAllocations: encoder.EachByKey(n.ForeignAllocations, keyOf, fillForeign),
		Schedulable:        n.Schedulable, IsReserved: len(n.Reservations) > 0,
		Nominations: n.Nominated, Nominated: n.NominatedAmounts, AllocationCount: len(n.Allocations),
	}
	out.Allocations = encoder.EachByKey(n.Allocations, keyOf, func(a *api.Allocation, out *allocationJSON) {
		fillAllocation(a, evicted(n, a.Key), out)
	})
	for _, held := range n.Reservations {
		out.Reservations = append(out.Reservations, held.Key)
	}
	for i := range n.Evictions {
		v := &n.Evictions[i]
		out.Evictions = append(out.Evictions, evictionJSON{
			AllocationKey: v.Key, For: v.For, Since: v.Since, Overdue: v.Overdue, Trigger: v.By(),
		})
	}
}

// evicted reports whether an allocation on the node is being evicted.
func evicted(n *api.NodeView, key api.AllocationKey) bool {
	return slices.ContainsFunc(n.Evictions, func(v api.Eviction) bool { return v.Key == key })
}
