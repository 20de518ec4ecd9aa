package command

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/trace"
	"go.uber.org/zap"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/framework"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/policy"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/internal/replica"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/profile"
	"github.com/narwhal-scheduler/narwhal/pkg/version"
)

// A descheduling evicts pods by a policy.
type descheduling interface {
	// Run works until the context ends, or runs one cycle where there is no interval.
	Run(ctx context.Context) error
	// Reload replaces the policy. After an error the old one holds.
	Reload(ctx context.Context, p *policy.Policy) error
}

// parts are what a descheduling is built from.
type parts struct {
	how       *rest.Config
	client    kubernetes.Interface
	policy    *policy.Policy
	registry  *framework.Registry
	settings  *settings
	namespace string // of this program
	recorder  events.EventRecorder
	metrics   prometheus.Registerer
	spans     trace.TracerProvider
	log       *zap.Logger
	reported  func(report)
	// answers is told what knows what happens.
	answers func(answering)
}

// start does what the flags say.
func (s *settings) start(ctx context.Context) error {
	registry, err := registry(s.plugins)
	if err != nil {
		return err
	}
	f := &file{name: s.policyFile, lenient: s.lenient, registry: registry}
	if _, err := f.changed(); err != nil {
		return err
	}
	p, err := f.loadOrTell(s.problems)
	if err != nil {
		return err
	}
	if ends, err := s.write(f, p); ends {
		return err
	}
	ignored := s.adopt(&p.Settings)
	s.complete()
	s.dryRun = s.dryRun || s.from.name != ""
	if err := s.check(); err != nil {
		return err
	}
	_, log, err := replica.Logger(s.logLevel(), s.logFormat, s.problems)
	if err != nil {
		return err
	}
	if s.problems == io.Writer(os.Stderr) { // where libraries write
		replica.Redirect(log)
	}
	for _, w := range ignored {
		log.Warn("setting in the policy file", zap.String("problem", w))
	}
	if s.leadsOneCycle() {
		return errors.New("leader-elect: a single cycle needs no leader; give a descheduling-interval above 0")
	}
	if s.queues.profile, err = profile.ReadFile(s.queues.file, s.queues.names, log, profile.AnyPlugin); err != nil {
		return err
	}
	how, err := s.cluster(log)
	if err != nil {
		return err
	}
	how.QPS, how.Burst = s.qps, s.burst
	return s.run(ctx, &process{settings: s, how: how, file: f, policy: p, log: log, build: build})
}

// leadsOneCycle says whether there is a lease and no second cycle to hold it for. A dry run asks for none.
func (s *settings) leadsOneCycle() bool { return s.leader.Elect && !s.dryRun && s.interval == 0 }

// logLevel is how much is logged. The report of a dry run says what happens, so that the log
// need not.
func (s *settings) logLevel() string {
	switch {
	case s.verbosity >= 4:
		return "debug"
	case s.dryRun && s.verbosity == 0:
		return "warn"
	default:
		return "info"
	}
}

// A process is one run, with what it was started with.
type process struct {
	settings *settings
	how      *rest.Config
	file     *file
	policy   *policy.Policy
	log      *zap.Logger
	build    func(context.Context, *parts) (descheduling, error)

	client  kubernetes.Interface
	metrics *prometheus.Registry
	page    *page
	spans   trace.TracerProvider
}

// run serves, and evicts while it leads.
func (s *settings) run(ctx context.Context, r *process) (err error) {
	state := new(replica.Readiness)
	r.page = &page{state: state}
	r.how.Wrap(r.page.failures.wrap)
	how := rest.CopyConfig(r.how)
	replica.UseProtobuf(how)
	if r.client, err = kubernetes.NewForConfig(how); err != nil {
		return err
	}
	r.metrics = prometheus.NewRegistry()
	if !s.serve.withoutMetric {
		r.page.metrics = r.metrics
	}
	if s.dryRun && s.interval == 0 && !s.flags.Changed("secure-port") {
		s.serve.port = 0 // one may be tried beside another descheduler
	}
	if r.page.admit, err = s.serve.admits(r.client); err != nil {
		return err
	}
	server, err := s.serve.start(r.page, r.log)
	if err != nil {
		return err
	}
	defer server.stop()
	spans, stop, err := s.tracing.start(ctx, r.log)
	if err != nil {
		return err
	}
	defer r.stopSpans(stop)
	r.spans = spans
	namespace := s.leaseIn
	r.log.Info("descheduler begins", zap.String("version", version.Text()), zap.String("policy", s.policyFile),
		zap.Duration("interval", s.interval), zap.Bool("dryRun", s.dryRun))
	leading := s.leader
	leading.Elect = leading.Elect && !s.dryRun
	election := &replica.Election{Leading: leading, Client: r.client, Namespace: namespace, Log: r.log, State: state}
	if s.interval > 0 { // one cycle has ended before it is asked for anything
		election.Pod = types.NamespacedName{Namespace: replica.OwnNamespace(""), Name: os.Getenv("POD_NAME")}
	}
	err = election.Run(ctx, r.lead, server.failed)
	if errors.Is(err, context.Canceled) && ctx.Err() != nil {
		err = nil
	}
	r.log.Info("descheduler ended", zap.Error(err))
	return err
}

func (r *process) stopSpans(stop func(context.Context) error) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if err := stop(ctx); err != nil {
		r.log.Warn("spans were not all sent", zap.Error(err))
	}
}

// lead evicts until the context ends.
func (r *process) lead(ctx context.Context) error {
	s := r.settings
	recorder, written, err := startEvents(ctx, &events.EventSinkImpl{Interface: r.client.EventsV1()}, r.log)
	if err != nil {
		return err
	}
	defer written()
	namespace := replica.OwnNamespace("")
	d, err := r.build(ctx, &parts{
		how: r.how, client: r.client, policy: r.policy, registry: r.file.registry, settings: s, namespace: namespace,
		recorder: recorder, metrics: r.metrics, spans: r.spans, log: r.log, reported: r.reported, answers: r.page.answers,
	})
	if err != nil {
		return err
	}
	defer r.page.answers(nil)
	if s.interval == 0 {
		return r.page.failures.explain(d.Run(ctx))
	}
	w := newFollower(r.file, r.log, r.metrics)
	w.reload = d.Reload
	w.refused = tellRefused(recorder, namespace)
	ctx, stop := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		w.run(ctx)
	}()
	defer func() { stop(); <-ended }()
	r.page.state.Set("")
	defer r.page.state.Set("has ended")
	return d.Run(ctx)
}

// reported shows the report of a cycle: a dry run prints it.
func (r *process) reported(of report) {
	r.page.reported(of)
	if !r.settings.dryRun {
		return
	}
	show := of.Table
	if r.settings.format == "json" {
		show = of.JSON
	}
	if err := show(r.settings.out); err != nil {
		r.log.Error("report was not printed", zap.Error(err))
	}
}

func writeJSON(w http.ResponseWriter, value any) {
	w.Header().Set("Content-Type", "application/json")
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	_ = encoder.Encode(value)
}
