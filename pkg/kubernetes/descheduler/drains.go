package descheduler

import (
	"maps"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/drain"
)

// drains are those of all controllers of the policy in use, by node.
func (d *Descheduler) drains() (all map[string]drain.Status, now time.Time) {
	set, _ := d.current()
	all = map[string]drain.Status{}
	for _, p := range set.list {
		for _, c := range p.controller {
			if c.drains != nil {
				maps.Copy(all, c.drains())
			}
		}
	}
	return all, d.options.Clock.Now()
}

// A drainCollector makes metrics of drains when it is asked for them. Each has a node, and there are few of them.
type drainCollector struct {
	of atomic.Pointer[func() (map[string]drain.Status, time.Time)]
}

var (
	drainNodes = prometheus.NewDesc("descheduler_draining_nodes", "Nodes with a drain, by its state.", []string{"state"}, nil)
	drainLeft  = prometheus.NewDesc("descheduler_drain_pods_left", "Pods that are to leave a node and have not.", []string{"node"}, nil)
	drainAge   = prometheus.NewDesc("descheduler_drain_seconds", "How long ago the drain of a node was opened that has not come to its end.", []string{"node"}, nil)
)

// Describe implements prometheus.Collector.
func (*drainCollector) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{drainNodes, drainLeft, drainAge} {
		to <- d
	}
}

// Collect implements prometheus.Collector.
func (c *drainCollector) Collect(to chan<- prometheus.Metric) {
	states := map[drain.State]int{drain.Waiting: 0, drain.Draining: 0, drain.Blocked: 0, drain.Drained: 0}
	if of := c.of.Load(); of != nil {
		all, now := (*of)()
		for node, s := range all {
			states[s.State]++
			if s.State == drain.Drained {
				continue
			}
			to <- prometheus.MustNewConstMetric(drainLeft, prometheus.GaugeValue, float64(s.Left), text(node))
			to <- prometheus.MustNewConstMetric(drainAge, prometheus.GaugeValue, now.Sub(s.Since.Time).Seconds(), text(node))
		}
	}
	for state, count := range states {
		to <- prometheus.MustNewConstMetric(drainNodes, prometheus.GaugeValue, float64(count), string(state))
	}
}
