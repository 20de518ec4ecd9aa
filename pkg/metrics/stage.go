package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Stage is a part of the way from a request to its answer.
type Stage uint8

// The stages.
const (
	InboxWait  Stage = iota // a request waits for the owner of its partition
	Apply                   // one command is carried out and its answers are handed over
	Decision                // one call of Schedule, whatever it places
	OutboxWait              // answers wait for the goroutine that makes the callbacks
	Callback                // a resource manager takes one callback
	Predicate               // a resource manager answers whether one ask may run on one node

	// Stages is how many stages there are.
	Stages = iota
)

var stages = [Stages]string{
	InboxWait:  "inbox_wait",
	Apply:      "apply",
	Decision:   "decision",
	OutboxWait: "outbox_wait",
	Callback:   "callback",
	Predicate:  "predicate",
}

// String is the value of the label stage.
func (s Stage) String() string { return stages[s] }

// stageBuckets are upper bounds in seconds. They go from what a single decision
// takes, a microsecond, to far more than a reader waits, with three to a decade: a
// quantile read off them is wrong by a factor of 2.5 at most.
var stageBuckets = []float64{
	1e-6, 2.5e-6, 5e-6, 1e-5, 2.5e-5, 5e-5, 1e-4, 2.5e-4, 5e-4,
	1e-3, 2.5e-3, 5e-3, 1e-2, 2.5e-2, 5e-2, 0.1, 0.25, 0.5, 1, 2.5, 5, 10,
}

// latencies are the histograms of all stages.
type latencies [Stages]prometheus.Observer

func newLatencies(registry *prometheus.Registry) *latencies {
	vec := prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "narwhal_stage_seconds", Help: "How long the stages of scheduling take.", Buckets: stageBuckets,
	}, []string{"stage"})
	registry.MustRegister(vec)
	l := new(latencies)
	for s := range l {
		l[s] = vec.WithLabelValues(Stage(s).String())
	}
	return l
}

// Observe notes that a stage took so long. Less than nothing, which a clock that
// is set back brings about, counts as nothing. It makes no garbage and may be
// called from any goroutine.
func (m *Metrics) Observe(stage Stage, took time.Duration) {
	m.latencies[stage].Observe(max(took, 0).Seconds())
}
