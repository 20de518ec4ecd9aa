package descheduler

import (
	"errors"
	"fmt"
	"net/http"
	"time"

	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"
	"go.uber.org/zap"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/framework"
)

// Options are what a descheduler works with.
type Options struct {
	// Client talks to the API server. For a dry run it is made from ReadOnly.
	Client kubernetes.Interface
	// Dynamic does the same for kinds that plugins bring. Nil: plugins that need it cannot be
	// built.
	Dynamic dynamic.Interface
	// Informers are started by Run. Nil: Objects is the only source, and plugins that
	// need informers cannot be built.
	Informers informers.SharedInformerFactory
	// Objects is where the objects of a cycle come from. Nil: Informers.
	Objects func() (framework.Objects, error)
	// Landing makes what answers where pods would run, for one cycle: package landing has one.
	Landing func(*framework.Snapshot) (framework.Landing, error)
	// ControllerLanding does the same for controllers, and may be called while a cycle
	// uses what Landing made. Nil: there are no controllers.
	ControllerLanding func(*framework.Snapshot) (framework.Landing, error)
	// EvictWithoutLanding has pods evicted that would find no place.
	EvictWithoutLanding bool
	// Usage is the measured use of nodes and pods. Nil: there is no source of it.
	Usage framework.Usage
	// Clock is the only source of time. Nil: the real one.
	Clock clock.WithTicker
	// Interval is the time between the end of a cycle and the start of the next. Zero:
	// Run does one cycle, and starts no controller.
	Interval time.Duration
	// ControllerWindow is the time over which limits of a cycle count what controllers
	// evict. Zero: Interval, or five minutes where that is zero too.
	ControllerWindow time.Duration
	// Installation is what jobs and annotations are marked with, so that another installation in the cluster leaves them. It must
	// stay the same over restarts. Empty: they are not marked.
	Installation string
	// DryRun evicts nothing, and says what would be evicted.
	DryRun bool
	// DecisionsMax is how many decisions of a cycle are kept. Zero: 100,000.
	DecisionsMax int
	// Recorder writes events. Nil, or a dry run: none are written.
	Recorder events.EventRecorder
	// Metrics counts. Nil: nothing is counted.
	Metrics *Metrics
	// Tracing makes spans. Nil: none.
	Tracing trace.TracerProvider
	// Log is written to. Nil: nothing is.
	Log *zap.Logger
	// Reported is called with the report of each cycle that Run does. Nil: reports are
	// only logged.
	Reported func(*Report)
}

// The values for options that are zero.
const (
	defaultWindow    = 5 * time.Minute
	defaultDecisions = 100_000
)

// complete fills in what is zero.
func (o *Options) complete() error {
	if o.Landing == nil {
		return errors.New("nothing says where pods would run")
	}
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	if o.Objects == nil {
		if o.Informers == nil {
			return errors.New("neither informers nor another source of objects")
		}
		o.Objects = informed(o.Informers)
		if o.Dynamic != nil {
			o.Objects = (&podGroups{client: o.Client, objects: o.Dynamic, clock: o.Clock}).with(o.Objects)
		}
	}
	if o.ControllerWindow == 0 {
		o.ControllerWindow = o.Interval
	}
	if o.ControllerWindow == 0 {
		o.ControllerWindow = defaultWindow
	}
	if o.DecisionsMax == 0 {
		o.DecisionsMax = defaultDecisions
	}
	if o.Metrics == nil {
		o.Metrics = NewMetrics(nil)
	}
	if o.Tracing == nil {
		o.Tracing = noop.NewTracerProvider()
	}
	if o.Log == nil {
		o.Log = zap.NewNop()
	}
	if o.DryRun {
		o.Recorder = nil
	}
	return nil
}

// ErrDryRun is what a client made from ReadOnly answers to all that would write.
var ErrDryRun = errors.New("dry run: nothing is written")

// ReadOnly returns the same configuration for clients that read only: requests which
// could change something fail with ErrDryRun and are not sent.
func ReadOnly(config *rest.Config) *rest.Config {
	c := rest.CopyConfig(config)
	c.Wrap(func(next http.RoundTripper) http.RoundTripper { return readOnly{next} })
	return c
}

type readOnly struct{ next http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (r readOnly) RoundTrip(request *http.Request) (*http.Response, error) {
	switch request.Method {
	case http.MethodGet, http.MethodHead, http.MethodOptions:
		return r.next.RoundTrip(request)
	}
	if request.Body != nil {
		_ = request.Body.Close() // a RoundTripper always closes it
	}
	return nil, fmt.Errorf("%s %s: %w", request.Method, request.URL.Path, ErrDryRun)
}
