package webservice

import (
	"cmp"
	"net/http"
	"slices"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/core"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// nodeJSON is a node. Allocated and Utilized are about own allocations, Occupied
// about those of other schedulers.
type nodeJSON struct {
	NodeID             core.NodeID            `json:"nodeID"`
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
	Reservations       []core.AllocationKey   `json:"reservations,omitempty"`

	// What is new: the asks that room is being made for and what they get, and
	// who goes for that.
	Nominations []core.AllocationKey `json:"nominations,omitempty"`
	Promised    resources.Amounts    `json:"promised,omitempty"`
	Leaving     []leavingJSON        `json:"leaving,omitempty"`
	// Of the own allocations how many there are, and what those hold that may run
	// on this node only.
	AllocationCount int               `json:"allocationCount"`
	DaemonSets      resources.Amounts `json:"daemonSets,omitempty"`
}

// leavingJSON is an allocation that was told to go and has not gone.
type leavingJSON struct {
	AllocationKey core.AllocationKey `json:"allocationKey"`
	For           core.AllocationKey `json:"for,omitempty"`
	Since         time.Time          `json:"since,omitempty"`
	Stuck         bool               `json:"stuck,omitempty"`
	Trigger       string             `json:"trigger"`
}

// The attributes that name the host and the rack of a node.
const (
	attributeHost = "si.io/hostname"
	attributeRack = "si.io/rackname"
)

// nodes answers GET /ws/v1/partition/{partition}/nodes.
func (s *Service) nodes(r *http.Request) (any, error) {
	at, err := s.snapshot(r)
	if err != nil {
		return nil, err
	}
	fill := fillNode
	if !wanted(r, "daemonSets") {
		fill = fillNodeLean
	}
	return list(r, at.Nodes, fill,
		texts("node", func(n *core.NodeView) core.NodeID { return n.ID }),
		truth("schedulable", func(n *core.NodeView) bool { return n.Schedulable }),
		truth("reserved", func(n *core.NodeView) bool { return len(n.Reservations) > 0 }),
		truth("leaving", func(n *core.NodeView) bool { return len(n.Evictions) > 0 }))
}

// node answers GET /ws/v1/partition/{partition}/node/{node}.
func (s *Service) node(r *http.Request) (any, error) {
	at, err := s.snapshot(r)
	if err != nil {
		return nil, err
	}
	n := at.node(core.NodeID(r.PathValue("node")))
	if n == nil {
		return nil, missing("Node")
	}
	out := new(nodeJSON)
	fillNode(n, out)
	return object(r, out)
}

// node finds a node; nil if there is none.
func (at *snapshot) node(id core.NodeID) *core.NodeView {
	i, found := slices.BinarySearchFunc(at.Nodes, id, func(n *core.NodeView, id core.NodeID) int { return cmp.Compare(n.ID, id) })
	if !found {
		return nil
	}
	return at.Nodes[i]
}

// fillNode is a node with what takes a look at each of its allocations.
func fillNode(n *core.NodeView, out *nodeJSON) {
	fillNodeLean(n, out)
	for _, a := range n.Allocations {
		if a.Required != "" {
			out.DaemonSets.Add(a.Amounts)
		}
	}
}

// fillNodeLean is a node without daemonSets.
func fillNodeLean(n *core.NodeView, out *nodeJSON) {
	*out = nodeJSON{
		NodeID: n.ID, HostName: n.Attributes[attributeHost], RackName: n.Attributes[attributeRack], Attributes: n.Attributes,
		Capacity: n.Capacity, Allocated: n.Allocated, Occupied: n.Occupied, Available: n.Available,
		Utilized:           percent(n.Allocated, n.Capacity),
		ForeignAllocations: each(n.ForeignAllocations, fillForeign),
		Schedulable:        n.Schedulable, IsReserved: len(n.Reservations) > 0,
		Nominations: n.Nominated, Promised: n.NominatedAmounts, AllocationCount: len(n.Allocations),
	}
	out.Allocations = each(n.Allocations, func(a *core.Allocation, out *allocationJSON) {
		fillAllocation(a, leaves(n, a.Key), out)
	})
	for _, held := range n.Reservations {
		out.Reservations = append(out.Reservations, held.Key)
	}
	for _, l := range n.Evictions {
		out.Leaving = append(out.Leaving, leavingJSON{
			AllocationKey: l.Key, For: l.For, Since: l.Since, Stuck: l.Overdue, Trigger: l.Trigger.String(),
		})
	}
}

// leaves reports whether an allocation on the node was told to go.
func leaves(n *core.NodeView, key core.AllocationKey) bool {
	return slices.ContainsFunc(n.Evictions, func(l core.Eviction) bool { return l.Key == key })
}
