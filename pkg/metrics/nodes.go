package metrics

import (
	"fmt"
	"math"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
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
	victimStates      = labelled("state", []string{"releasing", "overdue"})
	victimOutcomes    = labelled("outcome", []string{"requested", "overdue", "ended"})
)

func usageRanges() []string {
	ranges := []string{"[0,10%]"}
	for i := 1; i < usageTenths; i++ {
		ranges = append(ranges, fmt.Sprintf("(%d%%,%d%%]", i*10, (i+1)*10))
	}
	return append(ranges, ">100%")
}

// nodeCounts are what nodes are counted by. The second of two counts is that of
// the exception: draining, required, overdue.
type nodeCounts struct {
	states       [2]int
	reservations [2]int
	evictions    [preemptor.Triggers][preemptor.Classes][2]int
	usage        []usage // by kind
}

// A usage is nodes by how much of one kind is taken.
type usage [usageBuckets]int

// nodes goes over the nodes.
func (r *reading) nodes() {
	c := nodeCounts{usage: make([]usage, len(r.resource))}
	for _, n := range r.view.Nodes {
		c.states[index(!n.Schedulable)]++
		for _, held := range n.Reservations {
			c.reservations[index(held.Required)]++
		}
		for _, e := range n.Evictions {
			if !e.Reported { // others are no victims
				c.evictions[e.Trigger][e.Class][index(e.Overdue)]++
			}
		}
		for kind := range max(len(n.Capacity), len(n.Allocated), len(n.Occupied)) {
			if bucket, ok := bucketOf(n, resources.Kind(kind)); ok {
				c.usage[kind][bucket]++
			}
		}
	}
	r.nodeSeries(&c)
}

func (r *reading) nodeSeries(c *nodeCounts) {
	for state, n := range c.states {
		r.page.add(nodesByState, float64(n), r.partition, nodeStates[state])
	}
	for kind, n := range c.reservations {
		r.page.add(reservations, float64(n), reservationLabels[kind], r.partition)
	}
	for trigger, classes := range c.evictions {
		for class, states := range classes {
			for state, n := range states {
				r.page.add(runningVictims, float64(n), classLabels[class], r.partition, victimStates[state], triggerLabels[trigger])
			}
			r.victims(preemptor.Trigger(trigger), preemptor.Class(class), states)
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

// victims are the counts of those by a trigger and of a class, of which some still
// run.
func (r *reading) victims(t preemptor.Trigger, c preemptor.Class, running [2]int) {
	p := &r.view.Preempted
	requested, overdue := float64(p.Victims[t][c]), float64(p.Overdue[t][c])
	for i, n := range [...]float64{requested, overdue, requested - float64(running[0]+running[1])} {
		r.page.add(victims, n, classLabels[c], victimOutcomes[i], r.partition, triggerLabels[t])
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
func bucketOf(n *api.NodeView, kind resources.Kind) (int, bool) {
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
