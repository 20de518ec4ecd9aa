package metrics

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/narwhal-scheduler/narwhal/pkg/core"
	"github.com/narwhal-scheduler/narwhal/pkg/core/preemptor"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// The buckets of usage: ten of ten percent each, and one for nodes with more on
// them than they have.
const (
	usageTenths  = 10
	usageBuckets = usageTenths + 1
)

// Labels of nodes.
var (
	nodeStates        = labelled("state", []string{"active", "draining"})
	usageLabels       = labelled("range", usageRanges())
	reservationLabels = labelled("kind", []string{"ordinary", "required"})
	classLabels       = named("class", preemptor.Classes, preemptor.Class.String)
	victimStates      = labelled("state", []string{"leaving", "stuck"})
)

func usageRanges() []string {
	ranges := []string{"[0,10%]"}
	for i := 1; i < usageTenths; i++ {
		ranges = append(ranges, fmt.Sprintf("(%d%%,%d%%]", i*10, (i+1)*10))
	}
	return append(ranges, ">100%")
}

// A nodeCensus is what nodes are counted by. The second of two counts is that of
// the exception: draining, required, stuck.
type nodeCensus struct {
	states       [2]int
	reservations [2]int
	leaving      [preemptor.Triggers][preemptor.Classes][2]int
	usage        []usage // by kind
}

// A usage is nodes by how much of one kind is taken.
type usage [usageBuckets]int

// nodes goes over the nodes.
func (r *reading) nodes() {
	c := nodeCensus{usage: make([]usage, len(r.resource))}
	for _, n := range r.view.Nodes {
		c.states[index(!n.Schedulable)]++
		for _, held := range n.Reservations {
			c.reservations[index(held.Required)]++
		}
		for _, leaving := range n.Leaving {
			c.leaving[leaving.Trigger][classOf(allocationOf(n, leaving.Key))][index(leaving.Stuck)]++
		}
		for kind := range max(len(n.Capacity), len(n.Allocated), len(n.Occupied)) {
			if bucket, ok := bucketOf(n, resources.Kind(kind)); ok {
				c.usage[kind][bucket]++
			}
		}
	}
	r.nodeSeries(&c)
}

func (r *reading) nodeSeries(c *nodeCensus) {
	for state, n := range c.states {
		r.page.add(nodesByState, float64(n), r.partition, nodeStates[state])
	}
	for kind, n := range c.reservations {
		r.page.add(reservations, float64(n), reservationLabels[kind], r.partition)
	}
	for trigger, classes := range c.leaving {
		for class, states := range classes {
			for state, n := range states {
				r.page.add(victimsLeaving, float64(n), classLabels[class], r.partition, victimStates[state], triggerLabels[trigger])
			}
		}
	}
	for kind, buckets := range c.usage {
		if buckets == (usage{}) {
			continue // no node has it
		}
		for bucket, n := range buckets {
			r.page.add(nodesByUsage, float64(n), r.partition, usageLabels[bucket], r.resource[kind])
		}
	}
}

func index(exception bool) int {
	if exception {
		return 1
	}
	return 0
}

// bucketOf is the bucket of a node for a kind. A node without anything of the
// kind has none.
func bucketOf(n *core.NodeView, kind resources.Kind) (int, bool) {
	capacity := max(n.Capacity.Of(kind), 0)
	taken := sum(max(n.Allocated.Of(kind), 0), max(n.Occupied.Of(kind), 0))
	switch {
	case taken > capacity:
		return usageTenths, true
	case capacity == 0:
		return 0, false
	case taken == 0:
		return 0, true
	}
	for taken > math.MaxInt64/usageTenths { // so that ten times as much is a number
		taken, capacity = taken>>1, capacity>>1
	}
	return int((taken*usageTenths - 1) / capacity), true
}

// sum adds two numbers that are not negative, saturating.
func sum(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

// allocationOf finds an allocation of a node, own or foreign.
func allocationOf(n *core.NodeView, key core.AllocationKey) *core.Allocation {
	for _, list := range [2][]*core.Allocation{n.Allocations, n.ForeignAllocations} {
		i, found := slices.BinarySearchFunc(list, key, func(a *core.Allocation, key core.AllocationKey) int {
			return strings.Compare(string(a.Key), string(key))
		})
		if found {
			return list[i]
		}
	}
	return nil
}

// optOutLabel is the tag that a label of a pod becomes.
const optOutLabel = "kubernetes.io/label/" + core.TagAllowPreemption

// classOf is the class that an allocation has as a victim, with the reading of
// tags that the core has; a test compares them.
func classOf(a *core.Allocation) preemptor.Class {
	switch {
	case a == nil:
		return preemptor.Regular
	case a.Preemptable.Stated && !a.Preemptable.AllowSelf,
		a.Tags[core.TagAllowPreemption] == "false", a.Tags[optOutLabel] == "false":
		return preemptor.OptedOut
	case a.IsForeign():
		return preemptor.Foreign
	case a.Originator, a.Tags[core.TagOwner] == "true":
		return preemptor.Owner
	}
	return preemptor.Regular
}
