package scheduler

import (
	"fmt"
	"maps"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/common"
	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/messages"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// nodes reads a request.
func (c *conversion) nodes(request *si.NodeRequest) {
	c.expect(len(request.GetNodes()))
	for _, n := range request.GetNodes() {
		to, command, err := c.node(n)
		if err != nil {
			c.refuse(to, &api.NodeRejected{ID: api.NodeID(n.GetNodeID()), Reason: err.Error()})
			continue
		}
		c.add(to, command)
	}
}

// node reads what is to happen to a node. With an error it returns the partition
// that the entry names, if there is one.
func (c *conversion) node(n *si.NodeInfo) (*owner, api.Command, error) {
	if n == nil {
		return nil, nil, errNil
	}
	to, err := c.partition(n.Attributes[common.NodePartition])
	if err != nil {
		return nil, nil, err
	}
	if err := named(n.NodeID, errNoNode); err != nil {
		return to, nil, err
	}
	id := api.NodeID(n.NodeID)
	switch n.Action {
	case si.NodeInfo_CREATE, si.NodeInfo_CREATE_DRAIN:
		capacity, err := c.capacity(n.SchedulableResource)
		return to, api.AddNode{
			ID:         id,
			Capacity:   capacity,
			Attributes: maps.Clone(n.Attributes),
			Drained:    n.Action == si.NodeInfo_CREATE_DRAIN,
		}, err
	case si.NodeInfo_UPDATE:
		capacity, err := c.capacity(n.SchedulableResource)
		return to, api.UpdateNode{ID: id, Capacity: capacity, Attributes: attributesOf(n)}, err
	case si.NodeInfo_DRAIN_NODE:
		return to, api.DrainNode{ID: id}, nil
	case si.NodeInfo_DRAIN_TO_SCHEDULABLE:
		return to, api.UndrainNode{ID: id}, nil
	case si.NodeInfo_DECOMISSION:
		return to, api.RemoveNode{ID: id}, nil
	default:
		return to, nil, fmt.Errorf("%w: %v", errUnknownAction, n.Action)
	}
}

// capacity reads the capacity of a node. No message is no statement, nil; an
// empty one is a node that has nothing, which a node may well report before it is
// up.
func (c *conversion) capacity(r *si.Resource) (resources.Amounts, error) {
	if r == nil {
		return nil, nil
	}
	amounts, err := messages.AmountsOf(c.kinds, r)
	if err != nil {
		return nil, fmt.Errorf("capacity %w", err)
	}
	if amounts == nil {
		amounts = resources.Amounts{}
	}
	return amounts, nil
}

// attributesOf are the new attributes of a node, or nil to keep those it has.
// The partition alone is an address and no attribute to change.
func attributesOf(n *si.NodeInfo) map[string]string {
	for name := range n.Attributes {
		if name != common.NodePartition {
			return maps.Clone(n.Attributes)
		}
	}
	return nil
}
