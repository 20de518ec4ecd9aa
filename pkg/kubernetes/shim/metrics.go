package shim

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/flowcontrol"
)

// Metrics count what the shim does in the cluster. It is a prometheus.Collector. It may be made before the Context to which
// it is given in its options, and counts the requests of clients whose configuration it instruments. All methods may be
// called from any goroutine.
type Metrics struct {
	bound     prometheus.Histogram
	bindings  *prometheus.CounterVec
	refused   prometheus.Counter
	requests  *prometheus.HistogramVec
	throttled prometheus.Histogram
	renewed   prometheus.Gauge
	queues    *prometheus.GaugeVec
	wrong     prometheus.Gauge
	of        atomic.Pointer[Context] // nil before there is one
}

// Results of bindings.
const (
	bindingDone    = "bound"
	bindingFailed  = "failed"
	bindingRevoked = "revoked" // by the core or a plugin, or since the pod has ended
)

// NewMetrics are metrics of which nothing was counted.
func NewMetrics() *Metrics {
	seconds := []float64{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300, 1800}
	histogram := func(name, help string) prometheus.HistogramOpts {
		return prometheus.HistogramOpts{Name: name, Help: help, Buckets: seconds}
	}
	m := &Metrics{
		bound: prometheus.NewHistogram(histogram("narwhal_pod_bound_seconds", "Time from the creation of a pod, or the end of its scheduling gates, until it is bound.")),
		bindings: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "narwhal_bindings_total", Help: "Bindings of pods that have come to an end.",
		}, []string{"result"}),
		refused: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "narwhal_evictions_refused_total", Help: "Evictions that the API server refused, as with a disruption budget. Each is tried again.",
		}),
		requests:  prometheus.NewHistogramVec(histogram("narwhal_api_request_seconds", "Requests to the API server, without the wait for their turn."), []string{"verb", "code"}),
		throttled: prometheus.NewHistogram(histogram("narwhal_api_throttled_seconds", "Time that requests waited for their turn, as the client sends so many in a second.")),
		renewed: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "narwhal_lease_renewed_timestamp_seconds", Help: "When the lease was renewed last. 0 without a lease.",
		}),
		queues: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "narwhal_shim_queue_length", Help: "What waits to be told to the core, or to be done in the cluster.",
		}, []string{"queue"}),
		wrong: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "narwhal_configuration_refused", Help: "1 while something in the ConfigMaps is wrong, so that what was in use before stays in use.",
		}),
	}
	for _, result := range []string{bindingDone, bindingFailed, bindingRevoked} {
		m.bindings.WithLabelValues(result)
	}
	return m
}

func (m *Metrics) all() []prometheus.Collector {
	return []prometheus.Collector{m.bound, m.bindings, m.refused, m.requests, m.throttled, m.renewed, m.queues, m.wrong}
}

// Describe implements prometheus.Collector.
func (m *Metrics) Describe(to chan<- *prometheus.Desc) {
	for _, one := range m.all() {
		one.Describe(to)
	}
}

// Collect implements prometheus.Collector.
func (m *Metrics) Collect(to chan<- prometheus.Metric) {
	if c := m.of.Load(); c != nil {
		for queue, length := range map[string]int{
			"core": c.sender.length(), "prepare": c.binder.preparing.Len(), "bind": c.binder.binding.Len(),
			"evict": c.evictor.queue.Len(), "status": c.status.queue.Len(), "events": len(c.events.waiting),
		} {
			m.queues.WithLabelValues(queue).Set(float64(length))
		}
	}
	for _, one := range m.all() {
		one.Collect(to)
	}
}

// Instrument has the requests of clients counted that are made with a configuration. Its limit of requests in a second is
// kept.
func (m *Metrics) Instrument(config *rest.Config) {
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return countedRequests{next, m} })
	config.RateLimiter = countedTurns{flowcontrol.NewTokenBucketRateLimiter(config.QPS, config.Burst), m}
}

// countedRequests takes the time of requests.
type countedRequests struct {
	http.RoundTripper
	*Metrics
}

// RoundTrip implements http.RoundTripper. Watches last as long as the connection, so that only their beginnings count.
func (c countedRequests) RoundTrip(request *http.Request) (*http.Response, error) {
	began := time.Now()
	response, err := c.RoundTripper.RoundTrip(request)
	code := "error"
	if err == nil {
		code = strconv.Itoa(response.StatusCode)
	}
	c.requests.WithLabelValues(request.Method, code).Observe(time.Since(began).Seconds())
	if err == nil && response.StatusCode < http.StatusMultipleChoices && request.Method != http.MethodGet && strings.Contains(request.URL.Path, "/leases") {
		c.renewed.SetToCurrentTime()
	}
	return response, err
}

// countedTurns takes the time that requests wait for their turn.
type countedTurns struct {
	flowcontrol.RateLimiter
	*Metrics
}

// Wait implements flowcontrol.RateLimiter.
func (c countedTurns) Wait(ctx context.Context) error {
	began := time.Now()
	err := c.RateLimiter.Wait(ctx)
	c.throttled.Observe(time.Since(began).Seconds())
	return err
}
