package entrypoint

import (
	"cmp"
	"context"
	"crypto/rand"
	"net/http"
	"strconv"
	"time"

	"go.uber.org/zap"

	"github.com/narwhal-scheduler/narwhal/pkg/archive"
	"github.com/narwhal-scheduler/narwhal/pkg/config"
	"github.com/narwhal-scheduler/narwhal/pkg/events"
	"github.com/narwhal-scheduler/narwhal/pkg/metrics"
	narwhal "github.com/narwhal-scheduler/narwhal/pkg/scheduler"
	"github.com/narwhal-scheduler/narwhal/pkg/webservice"
	"github.com/narwhal-scheduler/narwhal/pkg/webservice/dashboard"

	"github.com/apache/yunikorn-core/internal/defaults"
	"github.com/apache/yunikorn-core/pkg/scheduler"
)

// keyNoReservation is the variable of the environment that keeps ordinary asks from reserving
// nodes.
const keyNoReservation = "DISABLE_RESERVATION"

// settings are what a scheduler is started with.
type settings struct {
	logger  *zap.Logger
	level   *zap.AtomicLevel // nil if it cannot be changed
	address string           // of REST; empty is nowhere
	ldap    string           // directory with the settings of LDAP
	getenv  func(string) string
}

// services are the parts of a scheduler that runs.
type services struct {
	core    *narwhal.Configured
	manager *manager
	history *events.History
	handler http.Handler       // REST
	server  *webservice.Server // nil if REST is offered nowhere
	health  *healthWatch
	charts  *background // keeps what is used, for the charts of the dashboard
}

// start starts a scheduler. What it depends on is fixed but for the settings, so that an error
// other than a port which is taken is a fault of this package.
func start(with settings) *ServiceContext {
	history := must(events.NewHistory(rand.Text(), events.Config{}))
	past := must(archive.New(archive.Config{}))
	counts := metrics.New()
	health := newHealthWatch()
	core := &narwhal.Configured{Scheduler: must(narwhal.New(narwhal.Config{
		Logger: with.logger, Level: with.level, Events: history, Archive: past, Metrics: counts,
		Defaults: config.LikeYuniKorn(), ReserveDelay: reserveDelay(with.getenv), EchoAdopted: true, Extra: health.configure,
		Resolver: directory(with.ldap),
	}))}
	counts.Watch(core, core.Kinds())
	manager := &manager{Configured: core, builds: map[string]map[string]string{}}
	service := must(webservice.New(webservice.Config{
		Views: core, Kinds: core.Kinds(), Configuration: manager, Events: history, Archive: past, Metrics: counts.Handler(),
		Dashboard: dashboard.Handler(), Started: time.Now(), Diagnostics: core.StateDump,
		Build: manager.build, Defaults: config.LikeYuniKorn(), LogLevel: levelOf(with.level),
	}))
	parts := &services{core: core, manager: manager, history: history, health: health}
	parts.serve(service, with.address)
	health.start(service.Faults, core.Logger("core.scheduler.health"))
	parts.charts = inBackground(func(ctx context.Context) { narwhal.KeepHistory(ctx, core.Scheduler) })
	return &ServiceContext{RMProxy: manager, Scheduler: scheduler.New(core.Scheduler, past), services: parts}
}

// serve offers REST, with the state dump and profiles beside it, to every client and every page.
func (s *services) serve(service *webservice.Service, address string) {
	log := s.core.Logger("core.rest")
	one := cmp.Or(address, defaults.Address)
	server := must(webservice.NewServer(webservice.ServerConfig{
		Address: one, DebugAddress: one, AllowedOrigins: []string{"*"}, AllowedHosts: []string{"*"},
		Log: must(zap.NewStdLogAt(log, zap.WarnLevel)),
	}, service))
	s.handler = server.Handler()
	if address == "" {
		return
	}
	if err := server.Start(); err != nil {
		log.Error("REST is not served", zap.String("address", address), zap.Error(err))
		return
	}
	log.Info("REST is served", zap.Strings("addresses", server.Addresses()))
	s.server = server
}

// stop ends all parts. Streams of events end first, as the server waits for them.
func (s *services) stop() {
	s.health.stop()
	s.charts.stop()
	s.history.Close()
	if s.server != nil {
		if err := s.server.Stop(context.Background()); err != nil {
			s.core.Logger("core.rest").Warn("requests were cut", zap.Error(err))
		}
	}
	s.core.Stop()
}

// reserveDelay is how long an ordinary ask waits before it reserves a node: never, if the
// environment says so.
func reserveDelay(getenv func(string) string) time.Duration {
	if disabled, err := strconv.ParseBool(getenv(keyNoReservation)); err == nil && disabled {
		return -1
	}
	return 0
}

// levelOf tells the level in words; nil if it is not known.
func levelOf(level *zap.AtomicLevel) func() string {
	if level == nil {
		return nil
	}
	return level.String
}

// must is a value that cannot fail to be made.
func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}
