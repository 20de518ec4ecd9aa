package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/narwhal-scheduler/narwhal/pkg/accounting"
	"github.com/narwhal-scheduler/narwhal/pkg/archive"
	"github.com/narwhal-scheduler/narwhal/pkg/recording"
	"github.com/narwhal-scheduler/narwhal/pkg/scheduler"
	"github.com/narwhal-scheduler/narwhal/pkg/server"
	"github.com/narwhal-scheduler/narwhal/pkg/simulator"
	"github.com/narwhal-scheduler/narwhal/pkg/simulator/live"
	"github.com/narwhal-scheduler/narwhal/pkg/version"
	"github.com/narwhal-scheduler/narwhal/pkg/webservice"
)

// serving is the flags of "narwhal serve".
type serving struct {
	scenario            string // name of an example, or a file
	listen, debugListen string
	probeListen         string
	cert, key           string // files of TLS
	token               string // file with what clients must send
	origins, hosts      []string
	proxies             []string
	logLevel            string
	speed               float64
	seed                uint64
	loop                bool
	kept                archive.Config
	accounting          string        // file of SQLite; empty for none
	record              string        // directory of recordings; empty for none
	recordMax           int64         // bytes that they may have together
	unused              time.Duration // that an application is kept which never asks
}

// newServeCommand is "narwhal serve".
func newServeCommand() *cobra.Command {
	s := &serving{scenario: simulator.DefaultExample}
	cmd := &cobra.Command{
		Use:   "serve [EXAMPLE | FILE]",
		Short: "Run the scheduler with a simulated cluster, REST and a dashboard",
		Long: `Run the real scheduler with a simulated cluster, and serve a dashboard, REST and
metrics.

The cluster is that of a scenario: nodes come and fail, pods arrive, run and end,
as in "narwhal simulate", but in real time, faster by a factor. The delays of the
queue configuration, such as those of preemption, are as much shorter. When the
scenario is over the cluster stays as it is then, or begins again with --loop.

It runs until it is interrupted. The exit code is 0 then, 1 if something fails,
and 2 if the command could not be understood, or a file not be read.`,
		Example: `  narwhal serve
  narwhal serve fairness --speed 120 --loop
  narwhal serve cluster.yaml --speed 1 --listen 127.0.0.1:8080 --debug-listen 127.0.0.1:8081
  narwhal serve --listen :9443 --tls-cert cert.pem --tls-key key.pem --token-file token`,
		Args: func(cmd *cobra.Command, args []string) error {
			return errors.Join(cobra.MaximumNArgs(1)(cmd, args), live.CheckSpeed(s.speed))
		},
		ValidArgs: simulator.Examples(),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				s.scenario = args[0]
			}
			ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			context.AfterFunc(ctx, stop) // the second signal kills it
			level, err := zap.ParseAtomicLevel(s.logLevel)
			if err != nil {
				return &usageError{fmt.Errorf("log-level: %w", err)}
			}
			log := consoleLog(cmd.ErrOrStderr(), level)
			return printed(s.run(ctx, cmd.OutOrStdout(), log, level), cmd.ErrOrStderr())
		},
	}
	flags := cmd.Flags()
	flags.Float64Var(&s.speed, "speed", 60, "how much faster than real time the cluster runs")
	flags.StringVar(&s.listen, "listen", webservice.DefaultAddress, "address of REST and metrics; port 0 is any free one")
	flags.StringVar(&s.debugListen, "debug-listen", "", "address of profiles, stacks and the state dump (default nowhere)")
	flags.StringVar(&s.cert, "tls-cert", "", "file with the certificate for TLS, in PEM")
	flags.StringVar(&s.key, "tls-key", "", "file with its key, in PEM")
	flags.StringVar(&s.token, "token-file", "", "file with the token, which may be renewed, that clients must send as \"Authorization: Bearer TOKEN\"")
	flags.StringVar(&s.probeListen, "probe-listen", "", "address of health and metrics without a token (default nowhere)")
	flags.StringSliceVar(&s.origins, "allow-origin", nil, "origin whose pages can read everything, such as https://example.com; * is all (default none but its own)")
	flags.StringSliceVar(&s.hosts, "host", nil, "name by which clients without a token can call it; * is all (default addresses and localhost)")
	flags.StringSliceVar(&s.proxies, "trusted-proxy", nil, "address or network of a proxy that says for which client it asks (default this machine)")
	// A cluster that lives has much to say, and the address is not to be lost in it.
	flags.StringVar(&s.logLevel, "log-level", "warn", "least level of what is logged: debug, info, warn or error")
	cmd.MarkFlagsRequiredTogether("tls-cert", "tls-key")
	s.keeps(flags)
	flags.Uint64Var(&s.seed, "seed", 0, "seed of everything that is random in the cluster (default that of the scenario)")
	flags.BoolVar(&s.loop, "loop", false, "begin again when the scenario is over")
	completes(cmd, "log-level", "debug", "info", "warn", "error")
	return cmd
}

// keeps adds the flags that say what is kept.
func (s *serving) keeps(flags *pflag.FlagSet) {
	flags.IntVar(&s.kept.EndedMax, "ended-max", archive.DefaultMax, "most applications that are shown after their end")
	flags.IntVar(&s.kept.RejectedMax, "rejected-max", archive.DefaultMax, "most applications that are shown which were rejected")
	flags.DurationVar(&s.kept.Keep, "keep", archive.DefaultKeep, "how long either is shown, in real time")
	flags.DurationVar(&s.kept.History, "history", archive.DefaultHistory, "how far back charts of use go, in real time; 0 is none")
	flags.StringVar(&s.accounting, "accounting", "", "file of SQLite in which the work of queues and users is kept, by day (default none)")
	flags.StringVar(&s.record, "record", "", "directory in which all steps are recorded, for narwhal replay (default none)")
	flags.Int64Var(&s.recordMax, "record-max", recording.DefaultSizeMax, "most bytes of recordings; the oldest are removed beyond that")
	flags.DurationVar(&s.unused, "unused-delay", time.Hour, "how long an application is kept that never asks for anything; less than 0 is for ever")
}

// consoleLog is a log for people.
func consoleLog(out io.Writer, level zap.AtomicLevel) *zap.Logger {
	encoding := zap.NewDevelopmentEncoderConfig()
	encoding.EncodeTime = zapcore.TimeEncoderOfLayout("15:04:05.000")
	return zap.New(zapcore.NewCore(zapcore.NewConsoleEncoder(encoding), zapcore.Lock(zapcore.AddSync(out)), level))
}

// run serves until the context ends, which is no error.
func (s *serving) run(ctx context.Context, out io.Writer, log *zap.Logger, level zap.AtomicLevel) error {
	scenario, err := s.load()
	if err != nil {
		return err
	}
	for _, warning := range scenario.Warnings {
		log.Warn("scenario has a key without effect", zap.Stringer("problem", warning))
	}
	cluster, err := live.New(scenario, live.Options{
		Seed: s.seed, Speed: s.speed, Loop: s.loop,
		Over:   func() { log.Info("scenario is over", zap.String("scenario", scenario.Name), zap.Bool("again", s.loop)) },
		Breach: func(err error) { log.Error("scheduler broke a rule", zap.Error(err)) },
	})
	if err != nil {
		return err
	}
	recorder, err := recording.OpenIf(recording.Config{Directory: s.record, SizeMax: s.recordMax, Version: version.Text(), Logger: log})
	if err != nil {
		return err
	}
	defer recorder.Close() // after the scheduler has stopped
	srv, err := s.open(cluster, recorder, log, level)
	if err != nil {
		return err
	}
	defer srv.Stop()
	if err := s.greet(out, scenario, srv.Addresses()); err != nil {
		return err
	}
	return play(ctx, cluster, srv)
}

// load reads the scenario. A name of an example is that example.
func (s *serving) load() (*simulator.Scenario, error) {
	name, text := "example "+s.scenario, ""
	var err error
	if slices.Contains(simulator.Examples(), s.scenario) {
		text, err = simulator.ExampleText(s.scenario)
	} else {
		name, text, err = readText(s.scenario, strings.NewReader(""))
	}
	if err != nil {
		// A name that is wrong is no file that cannot be read, so nothing is wrapped.
		return nil, &usageError{fmt.Errorf("there is no example %q (there are %s), and no file: %s",
			s.scenario, strings.Join(simulator.Examples(), ", "), err.Error())}
	}
	scenario, err := simulator.Parse(text)
	return scenario, named(err, name)
}

// greet prints where to look. The address of the dashboard stands alone on the last line, so
// that a terminal can open it and a program can read it.
func (s *serving) greet(out io.Writer, scenario *simulator.Scenario, addresses []string) error {
	protocol := "http://"
	if s.cert != "" {
		protocol = "https://"
	}
	page := protocol + addresses[0] + "/"
	lines := []string{
		fmt.Sprintf("%s, %s, runs at %v times real time; Ctrl-C ends it", scenario.Name, counted(len(scenario.Nodes), "node"), s.speed),
		"  REST       " + page + "ws/v1/partitions",
		"  metrics    " + page + "ws/v1/metrics",
	}
	if s.probeListen != "" {
		lines = append(lines, "  health     "+protocol+addresses[len(addresses)-1]+"/ws/v1/scheduler/healthcheck (no token needed)")
		addresses = addresses[:len(addresses)-1]
	}
	if s.debugListen != "" { // perhaps the same address
		lines = append(lines, "  profiles   "+protocol+addresses[min(1, len(addresses)-1)]+"/debug/pprof/")
	}
	_, err := fmt.Fprintln(out, strings.Join(append(lines, "  dashboard", page), "\n"))
	return err
}

// open starts everything but the cluster. With an error nothing runs.
func (s *serving) open(cluster *live.Cluster, recorder *recording.Recorder, log *zap.Logger, level zap.AtomicLevel) (*server.Server, error) {
	proxies, err := webservice.ReadNetworks(s.proxies)
	if err != nil {
		return nil, &usageError{err}
	}
	admit, err := webservice.AdmitTokenIn(s.token)
	if err != nil {
		return nil, &usageError{err}
	}
	kept, err := accounting.OpenIf(s.accounting)
	if err != nil {
		return nil, err
	}
	srv, err := server.New(server.Config{
		Accounting: kept,
		Scheduler: scheduler.Config{
			Logger: log, Level: &level, SkipPredicates: !cluster.Constrained(), Recorder: recorder.IfAny(),
			// The defaults, in the time of the cluster.
			ReserveDelay:    cluster.Real(2 * time.Second),
			SettleDelay:     cluster.Real(5 * time.Second),
			ReserveMax:      cluster.Real(time.Hour),
			CompletingDelay: cluster.Real(30 * time.Second),
			UnusedDelay:     cluster.Real(s.unused),
			RetryDelay:      cluster.Real(time.Second),
			RetryMax:        cluster.Real(time.Minute),
		},
		Archive: s.kept, SkipCharts: s.kept.History == 0,
		Web: webservice.Config{
			TrustedProxies: proxies,
			Build:          func(string) map[string]string { return map[string]string{"buildVersion": version.Text()} },
		},
		Listen: webservice.ServerConfig{
			Address: s.listen, DebugAddress: s.debugListen, ProbeAddress: s.probeListen,
			CertFile: s.cert, KeyFile: s.key, Admit: admit,
			AllowedOrigins: s.origins, AllowedHosts: s.hosts,
		},
	})
	if err != nil {
		return nil, &usageError{errors.Join(err, accounting.CloseIf(kept))}
	}
	if err := srv.Start(); err != nil {
		srv.Stop()
		if !errors.As(err, new(*os.SyscallError)) { // a certificate, or what is no address
			err = &usageError{err}
		}
		return nil, err
	}
	return srv, nil
}

// play runs the cluster until the context ends or something fails.
func play(ctx context.Context, cluster *live.Cluster, srv *server.Server) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	finished := make(chan error, 1)
	go func() { finished <- cluster.Run(ctx, srv) }()
	select {
	case err := <-srv.Failed():
		cancel()
		return errors.Join(err, <-finished)
	case err := <-finished:
		return err
	}
}
