package webservice

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/netip"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/archive"
	"github.com/narwhal-scheduler/narwhal/pkg/config"
	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/events"
	"github.com/narwhal-scheduler/narwhal/pkg/internal/flight"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
	"github.com/narwhal-scheduler/narwhal/pkg/webservice/explanation"
	"github.com/narwhal-scheduler/narwhal/pkg/webservice/object"
	"github.com/narwhal-scheduler/narwhal/pkg/webservice/past"
)

// Views is where a service gets partitions from. Its methods may be called from
// any goroutine.
type Views interface {
	// Partitions are the names of all partitions, sorted. A name begins with that
	// of the resource manager in brackets, if there is one: "[rm]default".
	Partitions() []string
	// View is a partition as it is after all that was sent to it before the call. It
	// waits for the partition until the context ends, and its error is then that of
	// the context.
	View(ctx context.Context, partition string) (*api.View, error)
	// Snapshot is a partition as it is if it answers soon, and otherwise as it was
	// when it answered last. It waits only for the first view of all.
	Snapshot(ctx context.Context, partition string) (Snapshot, error)
	// Unanswered is how long a partition has not answered; zero if it answers.
	Unanswered(partition string) time.Duration
}

// A Snapshot is a view that may not be the current one.
type Snapshot = struct {
	View *api.View
	Age  time.Duration // zero if it is the current one
}

// A ReadCostReporter hears how long it took to make an answer from views of a
// partition. Views that are one as well can hold readers back while they are busy.
type ReadCostReporter interface {
	ReportReadCost(partition string, took time.Duration)
}

// Configuration is the configuration in use.
type Configuration interface {
	object.Configuration
	// Validate says what is wrong with a configuration text, or nil. It changes
	// nothing.
	Validate(text string) error
}

// Config is what a service depends on. Views and Kinds are needed.
type Config struct {
	Views Views
	Kinds *resources.Kinds // the table of the kinds in views

	// Configuration and History may be nil.
	Configuration Configuration
	History       object.History
	// Defaults are those of the configuration texts of questions; the zero value is what is
	// documented.
	Defaults config.Defaults
	// Archive is what partitions have been; nil knows nothing of that. It stands in
	// for History if that is nil.
	Archive *archive.Archive
	// Events is the history of events; nil is 404.
	Events *events.History
	// Dashboard answers every path that is none of REST: the page at "/" and what
	// belongs to it. It needs no token, so it must hold no data. Nil is 404.
	Dashboard http.Handler
	// Metrics answers /ws/v1/metrics and compresses by itself. Nil is 404.
	Metrics http.Handler

	// Started is when the scheduler was.
	Started time.Time
	// Build describes the resource manager with a name: versions and the like. Nil
	// knows nothing.
	Build func(resourceManager string) map[string]string
	// Diagnostics is what a resource manager says of its own state, an object in
	// JSON. An error that wraps errors.ErrUnsupported is that it has nothing to say,
	// as nil is for all.
	Diagnostics func(resourceManager string) (string, error)
	// LogLevel is the level of the log in words. Nil does not tell.
	LogLevel func() string
	// Accounting reads the work of a partition on the days that begin with a text, and says as of when; nil if it is not kept.
	Accounting past.Accounts
	// Budgets asks the resource manager of a partition for the disruption budgets of
	// allocations, so that a what-if foretells no eviction that they forbid. An error that
	// wraps errors.ErrUnsupported is that it knows of none; nil is that it cannot be asked.
	Budgets func(ctx context.Context, partition string, allocations []api.AllocationKey) ([]api.DisruptionBudget, error)
	// Feasible asks the resource manager of a partition whether an ask that waits may run
	// on a node, so that a what-if places none where it may not; refused says why not. An error
	// that wraps errors.ErrUnsupported is that it refuses nothing; nil is that it cannot be asked.
	Feasible func(ctx context.Context, partition string, ask api.AllocationKey, node api.NodeID) (refused, err error)
	// WhatIfMax is how long a what-if is simulated; zero is DefaultWhatIfMax. What came of
	// it by then is the answer.
	WhatIfMax time.Duration
	// TrustedProxies are the proxies of which X-Forwarded-For is believed, so that event
	// streams are counted by the clients behind them. Nil is those on this machine.
	TrustedProxies []netip.Prefix
	// Now is the clock; nil is time.Now.
	Now func() time.Time
}

// Validate reports every problem of the configuration at once.
func (c Config) Validate() error {
	var problems []error
	if c.Views == nil {
		problems = append(problems, errors.New("webservice config: Views is missing"))
	}
	if c.Kinds == nil {
		problems = append(problems, errors.New("webservice config: Kinds is missing"))
	}
	return errors.Join(problems...)
}

// sources is what objects are made from besides views.
func (c *Config) sources() *object.Sources {
	return &object.Sources{
		Kinds: c.Kinds, Configuration: c.Configuration, History: c.History, Defaults: c.Defaults, Archive: c.Archive, Events: c.Events,
		Started: c.Started, Build: c.Build, Diagnostics: c.Diagnostics, LogLevel: c.LogLevel, Now: c.Now,
	}
}

// A Service answers HTTP requests. It has two handlers, so that what only
// debugging needs can be kept from where the rest is offered.
type Service struct {
	reader
	responder
	config      Config
	rest        *router
	debug       *router
	bodies      bodies
	replies     *replies
	dumps       *replies
	checked     *flight.Group[string, *healthJSON]
	whatIfs     *replies
	validations *replies // a long configuration takes seconds to read
	foretold    explanation.WhatIf
	asked       atomic.Int32 // what-ifs that are simulated or wait for it
	validating  atomic.Int32 // the same of validations
}

// New makes a service. The error is that of Config.Validate.
func New(config Config) (*Service, error) {
	if err := config.Validate(); err != nil {
		return nil, err
	}
	if config.Now == nil {
		config.Now = time.Now
	}
	config.WhatIfMax = cmp.Or(config.WhatIfMax, DefaultWhatIfMax)
	s := &Service{
		config:      config,
		replies:     flight.New[subject, *reply](runtime.GOMAXPROCS(0) / 2),
		dumps:       flight.New[subject, *reply](1),
		checked:     flight.New[string, *healthJSON](1),
		whatIfs:     flight.New[subject, *reply](runtime.GOMAXPROCS(0) / 4),
		validations: flight.New[subject, *reply](1),
	}
	s.reader = reader{&s.config}
	s.responder = responder{&s.config, newCompression(), config.Now}
	s.rest = newRouter(s.routes(), s.admit)
	s.rest.page = config.Dashboard
	s.debug = newRouter(s.debugRoutes(), s.admit)
	return s, nil
}

// Handler answers everything below /ws/v1 to whatever asks. Tokens, origins and names are
// looked at by the handler of a Server.
func (s *Service) Handler() http.Handler { return s.rest }

// ServeHTTP answers as Handler does.
func (s *Service) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.rest.ServeHTTP(w, r) }

// DebugHandler answers everything below /debug: profiles, stacks and the dump of
// the whole state.
func (s *Service) DebugHandler() http.Handler { return s.debug }

// routes is every path below /ws/v1.
func (s *Service) routes() []route {
	const partition = "/ws/v1/partition/{partition}"
	routes := []route{
		{path: "/ws/v1/clusters", get: s.survey((*object.Sources).Clusters)},
		{path: "/ws/v1/config", get: s.answer(s.configuration)},
		{path: "/ws/v1/validate-conf", post: s.offerValidation()},
		{path: "/ws/v1/events/batch", get: s.answer(s.eventBatch)},
		{path: "/ws/v1/events/stream", get: http.HandlerFunc(s.eventStream)},
		{path: "/ws/v1/history/apps", get: s.answer(s.counting((*object.Sources).ApplicationHistory))},
		{path: "/ws/v1/history/containers", get: s.answer(s.counting((*object.Sources).ContainerHistory))},
		{path: "/ws/v1/openapi.json", get: s.answer(openAPIJSON)},
		{path: "/ws/v1/openapi.yaml", get: s.answer(openAPIYAML)},
		{path: "/ws/v1/partitions", get: s.survey((*object.Sources).Partitions)},
		{path: "/ws/v1/scheduler/healthcheck", get: s.offerHealth(), probe: true},
		{path: "/ws/v1/scheduler/node-utilizations", get: s.survey((*object.Sources).Utilizations)},
		{path: partition + "/placementrules", get: s.about(object.Rules)},
		{path: partition + "/queues", get: s.about(object.Queues), within: ofQueue},
		{path: partition + "/queue/{queue}", get: s.about(object.Queue)},
		{path: partition + "/queue/{queue}/applications", get: s.about(object.QueueApplications)},
		{path: partition + "/queue/{queue}/applications/{state}", get: s.about(object.QueueApplications)},
		{path: partition + "/queue/{queue}/application/{application}", get: s.about(object.Application)},
		{path: partition + "/nodes", get: s.about(object.Nodes)},
		{path: partition + "/node/{node}", get: s.about(object.Node)},
		{path: partition + "/preemptions", get: s.about(past.Preemptions)},
		{path: partition + "/history", get: s.about(past.UseHistory)},
		{path: partition + "/accounting", get: s.about(past.Accounting(s.config.Accounting))},
		{path: partition + "/changes", get: s.about(past.Changes)},
		{path: partition + "/summary", get: s.about(object.Summary)},
		{path: partition + "/victims", get: s.about(past.Victims)},
		{path: partition + "/losses", get: s.about(past.Losses)},
		{path: partition + "/groups", get: s.about(object.StartGroups)},
		{path: partition + "/domains", get: s.about(object.Domains)},
		{path: partition + "/asks", get: s.about(object.Asks), within: ofApplications},
		{path: partition + "/applications/{state}", get: s.about(object.Applications), within: ofApplications},
		{path: partition + "/application/{application}", get: s.about(object.Application), within: ofApplications},
		{path: partition + "/application/{application}/allocation/{allocation}/explain", get: s.about(s.why)},
		{path: partition + "/doctor", get: s.answerFrom(s.whatIfs, s.looking(s.doctor))},
		{path: partition + "/whatif", post: s.offerWhatIf()},
		{path: partition + "/usage/users", get: s.about(object.Users)},
		{path: partition + "/usage/user/{user}", get: s.answer(object.User(s.snapshot))},
		{path: partition + "/usage/groups", get: s.about(object.Groups)},
		{path: partition + "/usage/group/{group}", get: s.answer(object.Group(s.snapshot))},
		{path: "/ws/v1/stack", get: s.answer(notHere)},
		{path: "/ws/v1/fullstatedump", get: s.answer(notHere)},
	}
	if s.config.Metrics != nil {
		routes = append(routes, route{path: "/ws/v1/metrics", get: s.config.Metrics, probe: true})
	}
	return routes
}
