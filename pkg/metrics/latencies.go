package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/narwhal-scheduler/narwhal/pkg/metrics/stage"
)

// stageBuckets are upper bounds in seconds. They go from what a single decision
// takes, a microsecond, to far more than a reader waits, with three to a decade: a
// quantile read off them is wrong by a factor of 2.5 at most.
var stageBuckets = []float64{
	1e-6, 2.5e-6, 5e-6, 1e-5, 2.5e-5, 5e-5, 1e-4, 2.5e-4, 5e-4,
	1e-3, 2.5e-3, 5e-3, 1e-2, 2.5e-2, 5e-2, 0.1, 0.25, 0.5, 1, 2.5, 5, 10,
}

// latencies are the histograms of all stages.
type latencies [stage.Stages]prometheus.Observer

func newLatencies(registry *prometheus.Registry) *latencies {
	vec := prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "narwhal_stage_seconds", Help: "How long the stages of scheduling take.", Buckets: stageBuckets,
	}, []string{"stage"})
	registry.MustRegister(vec)
	l := new(latencies)
	for s := range l {
		l[s] = vec.WithLabelValues(stage.Stage(s).String())
	}
	return l
}

// Observe notes that a stage took so long. Less than nothing, which a clock that
// is set back brings about, counts as nothing. It makes no garbage and may be
// called from any goroutine.
func (m *Metrics) Observe(of stage.Stage, took time.Duration) {
	m.latencies[of].Observe(max(took, 0).Seconds())
}
