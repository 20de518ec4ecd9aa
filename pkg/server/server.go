// Package server is a scheduler with all that operators look at: REST, the dashboard, metrics, event
// records and what has been. New wires it, and Start listens:
//
//	s, err := server.New(server.Config{})
//	...
//	err = s.Start()
//	...
//	defer s.Stop()
//
// It is a package of its own, since a program that imports package scheduler alone is linked with neither
// Prometheus nor a dashboard.
package server

import (
	"context"
	"crypto/rand"
	"net/http"
	"time"

	"go.uber.org/zap"

	"github.com/narwhal-scheduler/narwhal/pkg/archive"
	"github.com/narwhal-scheduler/narwhal/pkg/events"
	"github.com/narwhal-scheduler/narwhal/pkg/metrics"
	"github.com/narwhal-scheduler/narwhal/pkg/scheduler"
	"github.com/narwhal-scheduler/narwhal/pkg/webservice"
	"github.com/narwhal-scheduler/narwhal/pkg/webservice/dashboard"
)

// A Config is the settings of all parts. The zero value works, and listens at webservice.DefaultAddress.
type Config struct {
	Scheduler scheduler.Config // Events, Archive and Metrics are those of the server, whatever it says
	Events    events.Config
	Archive   archive.Config
	// SkipCharts keeps no points of what partitions use, of which the dashboard makes charts.
	SkipCharts bool
	// Accounting keeps work by queue, user and day, if it is set. With an error of New it is still the caller's; else Stop
	// closes it.
	Accounting archive.Accounting
	// Web is the web service. What connects it with the other parts is filled in where it is nil.
	Web webservice.Config
	// Listen says where it is offered. A nil Log is the logger of the scheduler.
	Listen webservice.ServerConfig
}

// A Server is a scheduler with its readers, and a web server in front of it. Resource managers register with it as with any
// scheduler.
type Server struct {
	*scheduler.Configured
	Events  *events.History
	Archive *archive.Archive
	Metrics *metrics.Metrics

	web    *webservice.Server
	charts bool        // points of use are kept
	books  *bookkeeper // nil without Config.Accounting
	end    context.CancelFunc
}

// New makes a server that does not listen yet. With an error nothing runs; else Stop ends what does.
func New(config Config) (*Server, error) {
	history, err := events.NewHistory(rand.Text(), config.Events)
	if err != nil {
		return nil, err
	}
	config.Archive.Accounts = config.Accounting != nil
	past, err := archive.New(config.Archive)
	if err != nil {
		return nil, err
	}
	s := &Server{Events: history, Archive: past, Metrics: metrics.New(), charts: !config.SkipCharts, end: func() {}}
	config.Scheduler.Events, config.Scheduler.Archive, config.Scheduler.Metrics = history, past, s.Metrics
	core, err := scheduler.New(config.Scheduler)
	if err != nil {
		return nil, err
	}
	s.Configured = &scheduler.Configured{Scheduler: core}
	s.Metrics.Watch(core, core.Kinds())
	if config.Accounting != nil {
		s.books = newBookkeeper(s, config)
		config.Web.Accounting = s.books.rows
	}
	if s.web, err = s.offer(config); err != nil {
		core.Stop()
		return nil, err
	}
	return s, nil
}

// offer makes the web server.
func (s *Server) offer(config Config) (*webservice.Server, error) {
	service, err := webservice.New(s.connected(config.Web, config.Scheduler.Level))
	if err != nil {
		return nil, err
	}
	if log := config.Scheduler.Logger; log != nil && config.Listen.Log == nil {
		if config.Listen.Log, err = zap.NewStdLogAt(log, zap.WarnLevel); err != nil {
			return nil, err
		}
	}
	return webservice.NewServer(config.Listen, service)
}

// connected is the configuration of a web service with the other parts.
func (s *Server) connected(web webservice.Config, level *zap.AtomicLevel) webservice.Config {
	web.Views, web.Kinds, web.Events, web.Archive = s.Configured, s.Kinds(), s.Events, s.Archive
	if web.Configuration == nil {
		web.Configuration = s.Configured
	}
	if web.Metrics == nil {
		web.Metrics = s.Metrics.Handler()
	}
	if web.Dashboard == nil {
		web.Dashboard = dashboard.Handler()
	}
	if web.Started.IsZero() {
		web.Started = time.Now()
	}
	if web.Diagnostics == nil {
		web.Diagnostics = s.StateDump
	}
	if web.Budgets == nil {
		web.Budgets = s.DisruptionBudgets
	}
	if web.Feasible == nil {
		web.Feasible = s.Feasible
	}
	if web.LogLevel == nil && level != nil {
		web.LogLevel = level.String
	}
	return web
}

// Start begins to listen and to keep the history of use. It is called once.
func (s *Server) Start() error {
	if err := s.web.Start(); err != nil {
		return err
	}
	ctx, end := context.WithCancel(context.Background())
	s.end = end
	if s.books != nil {
		s.books.running.Store(true)
		go s.books.run(ctx)
	}
	if s.charts {
		go scheduler.KeepHistory(ctx, s.Scheduler)
	}
	return nil
}

// Addresses are those that are listened on, as webservice.Server says.
func (s *Server) Addresses() []string { return s.web.Addresses() }

// Failed gives an error if it ceases to listen although it was not stopped.
func (s *Server) Failed() <-chan error { return s.web.Failed() }

// Handler answers REST and the dashboard, with the checks of Listen, for a program that listens itself.
func (s *Server) Handler() http.Handler { return s.web.Handler() }

// Stop ends all parts. Streams of events end first, as requests under way have some time to finish.
func (s *Server) Stop() {
	s.end()
	s.Events.Close()
	_ = s.web.Stop(context.Background())
	s.Scheduler.Stop()
	s.books.close()
}
