package webservice

import (
	"cmp"
	"net/http"
	"slices"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
	"github.com/narwhal-scheduler/narwhal/pkg/webservice/failure"
)

// nodeJSON is a node. Allocated and Utilized are about own allocations, Occupied
// about those of other schedulers.
type nodeJSON struct {
	NodeID             api.NodeID             `json:"nodeID"`
	HostName           string                 `json:"hostName,omitempty"`
	RackName           string                 `json:"rackName,omitempty"`
	Attributes         map[string]string      `json:"attributes,omitempty"`
	Capacity           resources.Amounts      `json:"capacity,omitempty"`
	Allocated          resources.Amounts      `json:"allocated,omitempty"`
	Occupied           resources.Amounts      `json:"occupied,omitempty"`
	Available          resources.Amounts      `json:"available,omitempty"`
	Utilized           resources.Amounts      `json:"utilized,omitempty"` // percent
	Allocations        *items[allocationJSON] `json:"allocations,omitempty"`
	ForeignAllocations *items[foreignJSON]    `json:"foreignAllocations,omitempty"`
	Schedulable        bool                   `json:"schedulable"`
	IsReserved         bool                   `json:"isReserved"`
	Reservations       []api.AllocationKey    `json:"reservations,omitempty"`

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

func (n *nodeJSON) encode(e *encoder) {
	e.open('{')
	e.text("nodeID", string(n.NodeID))
	e.textIf("hostName", n.HostName)
	e.textIf("rackName", n.RackName)
	e.texts("attributes", n.Attributes)
	e.amounts("capacity", n.Capacity)
	e.amounts("allocated", n.Allocated)
	e.amounts("occupied", n.Occupied)
	e.amounts("available", n.Available)
	e.amounts("utilized", n.Utilized)
	e.list("allocations", n.Allocations)
	e.list("foreignAllocations", n.ForeignAllocations)
	e.truth("schedulable", n.Schedulable)
	e.truth("isReserved", n.IsReserved)
	encodeNames(e, "reservations", n.Reservations)
	encodeNames(e, "nominations", n.Nominations)
	e.amounts("nominated", n.Nominated)
	encodeObjects(e, "evictions", n.Evictions)
	e.integer("allocationCount", int64(n.AllocationCount))
	e.amounts("daemonSets", n.DaemonSets)
	e.close('}')
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

func (v *evictionJSON) encode(e *encoder) {
	e.open('{')
	e.text("allocationKey", string(v.AllocationKey))
	e.textIf("for", string(v.For))
	e.timeIf("since", v.Since)
	e.truthIf("overdue", v.Overdue)
	e.text("trigger", v.Trigger)
	e.close('}')
}

// The attributes that name the host and the rack of a node.
const (
	attributeHost = "si.io/hostname"
	attributeRack = "si.io/rackname"
)

// nodes answers GET /ws/v1/partition/{partition}/nodes.
func nodes(at *snapshot, r *http.Request) (any, error) {
	fill := fillNode
	if !wanted(r, "daemonSets") {
		fill = fillNodeLean
	}
	return list(r, at.kinds, at.Nodes, fill,
		texts("node", func(n *api.NodeView) api.NodeID { return n.ID }),
		truth("schedulable", func(n *api.NodeView) bool { return n.Schedulable }),
		truth("reserved", func(n *api.NodeView) bool { return len(n.Reservations) > 0 }),
		truth("evicting", func(n *api.NodeView) bool { return len(n.Evictions) > 0 }))
}

// node answers GET /ws/v1/partition/{partition}/node/{node}.
func node(at *snapshot, r *http.Request) (any, error) {
	n := at.node(api.NodeID(r.PathValue("node")))
	if n == nil {
		return nil, failure.Missing("Node")
	}
	out := new(nodeJSON)
	fillNode(n, out)
	return one(r, out)
}

// node finds a node; nil if there is none.
func (at *snapshot) node(id api.NodeID) *api.NodeView {
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
		ForeignAllocations: eachByKey(n.ForeignAllocations, keyOf, fillForeign),
		Schedulable:        n.Schedulable, IsReserved: len(n.Reservations) > 0,
		Nominations: n.Nominated, Nominated: n.NominatedAmounts, AllocationCount: len(n.Allocations),
	}
	out.Allocations = eachByKey(n.Allocations, keyOf, func(a *api.Allocation, out *allocationJSON) {
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
