package metrics

import (
	dto "github.com/prometheus/client_model/go"
)

// viewed is a metric that is made of views.
type viewed uint8

// The metrics that are made of views.
const (
	partitionUp viewed = iota
	partitionResource
	nodesByState
	nodesByUsage
	queueResource
	queueHeadroom
	queueLacking
	queueApps
	queueAllocations
	queueAsks
	pendingAsks
	userPending
	userOldest
	userArrived
	groupPending
	groupOldest
	groupArrived
	nominatedAsks
	reservations
	groupsByState
	groupsBelowSince
	runningVictims
	foreignUnknownNode
	work
	placements
	preemptionOutcomes
	victims

	viewedMetrics = iota
)

// viewedFamilies says what each of them is called.
var viewedFamilies = [viewedMetrics]struct {
	name, help string
	kind       dto.MetricType
}{
	partitionUp:       {"narwhal_partition_up", "Whether the partition answered in time; without an answer its other gauges are missing.", dto.MetricType_GAUGE},
	partitionResource: {"narwhal_partition_resource", "Capacity of all nodes, and how much of it is taken by own and by foreign allocations.", dto.MetricType_GAUGE},
	nodesByState:      {"yunikorn_scheduler_node", "Nodes that are open to asks (active) and that are not (draining).", dto.MetricType_GAUGE},
	nodesByUsage:      {"narwhal_nodes_by_usage", "Nodes by how much of a resource is taken, by own and foreign allocations.", dto.MetricType_GAUGE},
	queueResource:     {"yunikorn_queue_resource", "Limits and use of a queue with everything below it.", dto.MetricType_GAUGE},
	queueLacking:      {"narwhal_queue_guarantee_lacking", "What asks of a queue wait for that is guaranteed to it and not used, of each kind by itself.", dto.MetricType_GAUGE},
	queueHeadroom:     {"narwhal_queue_headroom", "What may still be charged to a queue, counting the queues above; without a series it is unlimited.", dto.MetricType_GAUGE},
	queueApps:         {"yunikorn_queue_app", "Applications of a leaf queue by state.", dto.MetricType_GAUGE},
	queueAllocations:  {"narwhal_queue_allocations", "Allocations of a leaf queue.", dto.MetricType_GAUGE},
	queueAsks:         {"narwhal_queue_pending_asks", "Pending asks of a leaf queue by the reason why they wait; without a series there are none.", dto.MetricType_GAUGE},
	pendingAsks:       {"narwhal_pending_asks", "Pending asks by the reason why they wait.", dto.MetricType_GAUGE},
	userPending:       {"narwhal_user_pending_asks", "Pending asks of a user; those of the users of which least waits are together.", dto.MetricType_GAUGE},
	userOldest:        {"narwhal_user_oldest_pending_ask_seconds", "When the oldest pending ask of a user was made, in seconds since 1970; zero if none waits.", dto.MetricType_GAUGE},
	userArrived:       {"narwhal_user_arrived_asks", "Asks of a user that came in the last five minutes.", dto.MetricType_GAUGE},
	groupPending:      {"narwhal_user_group_pending_asks", "Pending asks of the users of a group; those of the groups of which least waits are together.", dto.MetricType_GAUGE},
	groupOldest:       {"narwhal_user_group_oldest_pending_ask_seconds", "When the oldest pending ask of the users of a group was made, in seconds since 1970; zero if none waits.", dto.MetricType_GAUGE},
	groupArrived:      {"narwhal_user_group_arrived_asks", "Asks of the users of a group that came in the last five minutes.", dto.MetricType_GAUGE},
	nominatedAsks:     {"narwhal_nominated_asks", "Asks for which room is being made on a node, by trigger.", dto.MetricType_GAUGE},
	reservations:      {"narwhal_reservations", "Nodes kept for asks that may run nowhere else (required) and for others (ordinary).", dto.MetricType_GAUGE},
	groupsByState:     {"narwhal_groups", "Groups whose members name them, by what they do.", dto.MetricType_GAUGE},
	groupsBelowSince: {
		"narwhal_groups_below_minimum_since_seconds", "Since when the first of the groups below their minimum is, in seconds since 1970; zero if there is none.", dto.MetricType_GAUGE,
	},
	runningVictims: {"narwhal_victims", "Allocations that are evicted and have not ended, in time (releasing) or not (overdue).", dto.MetricType_GAUGE},
	foreignUnknownNode: {
		"narwhal_foreign_allocations_unknown_node", "Foreign allocations whose node is not registered, so that they are booked nowhere.", dto.MetricType_GAUGE,
	},
	work:       {"narwhal_work_total", "What scheduling looked at.", dto.MetricType_COUNTER},
	placements: {"narwhal_placements_total", "Asks that were placed.", dto.MetricType_COUNTER},
	preemptionOutcomes: {
		"narwhal_preemption_outcomes_total", "Plans to make room, and what came of preemption.", dto.MetricType_COUNTER,
	},
	victims: {"narwhal_preemption_victims_total", "Allocations that were evicted, by trigger, class and what came of it.", dto.MetricType_COUNTER},
}

// labelsMax is the most labels of a metric made of views.
const labelsMax = 4

// A series is all there is of one series, in one piece of memory.
type series struct {
	metric dto.Metric
	gauge  dto.Gauge
	value  float64
	labels [labelsMax]*dto.LabelPair
}

// seriesAtOnce is how many series are made with one allocation.
const seriesAtOnce = 256

// A page is what one gather makes of views. It is written in the order of the
// output and read once.
//
// It takes the place of a collector in the registry, because the registry checks
// and sorts each series: that costs eight times as much as to make them. What the
// registry would find is left to the tests.
type page struct {
	metrics [viewedMetrics][]*dto.Metric
	spare   []series
}

// add appends a series. Its labels are in the order of their names, at most
// labelsMax.
func (p *page) add(m viewed, value float64, labels ...*dto.LabelPair) {
	if len(p.spare) == 0 {
		p.spare = make([]series, seriesAtOnce)
	}
	s := &p.spare[0]
	p.spare = p.spare[1:]
	s.value = value
	s.metric.Label = s.labels[:copy(s.labels[:], labels)]
	if viewedFamilies[m].kind == dto.MetricType_COUNTER {
		s.metric.Counter = &dto.Counter{Value: &s.value}
	} else {
		s.gauge.Value = &s.value
		s.metric.Gauge = &s.gauge
	}
	p.metrics[m] = append(p.metrics[m], &s.metric)
}

// families are the metrics that have a series.
func (p *page) families() []*dto.MetricFamily {
	var out []*dto.MetricFamily
	for m, metrics := range p.metrics {
		if f := &viewedFamilies[m]; len(metrics) > 0 {
			out = append(out, &dto.MetricFamily{Name: &f.name, Help: &f.help, Type: &f.kind, Metric: metrics})
		}
	}
	return out
}
