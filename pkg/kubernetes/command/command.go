// Package command is the program narwhal-scheduler: the core with the shim, beside or in place
// of other schedulers. A program with further plugins of the scheduling framework is a main that calls Main
// with them.
//
// Read in this order:
//
//	command.go      Main, and the command line
//	run.go          one run: from the client to the end; package replica has what
//	                other programs have too
//	instance.go     what leads: core, shim, REST
//	feasible.go     where pods may run, and where they had better
package command

import (
	"context"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/narwhal-scheduler/narwhal/pkg/archive"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/internal/replica"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/outoftree"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/shim"
	"github.com/narwhal-scheduler/narwhal/pkg/recording"
	"github.com/narwhal-scheduler/narwhal/pkg/version"
	"github.com/narwhal-scheduler/narwhal/pkg/webservice"
)

// The exit codes: it was asked to stop; it failed or does not lead any more; the command
// line could not be understood.
const (
	exitDone = iota
	exitFailed
	exitUsage
)

// Main carries out the command line of the process until it is done or interrupted, and returns
// the exit code. A profile of kube-scheduler (--scheduler-config) may name the given plugins besides those of
// kube-scheduler, at the points preFilter, filter, preScore, score, reserve, permit, preBind and postBind. Without that they
// do nothing.
func Main(plugins ...outoftree.Plugin) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	return Run(ctx, Streams{os.Stdout, os.Stderr}, os.Args[1:], plugins...)
}

// Streams are where a command writes.
type Streams struct {
	Out      io.Writer // what was asked for
	Problems io.Writer // the log, and what is wrong
}

// settings are the flags.
type settings struct {
	kubeconfig     string
	namespace      string
	configMaps     []string
	schedulerNames []string
	profile        string // file with a profile of kube-scheduler
	plugins        []outoftree.Plugin
	defaultQueue   string
	clusterID      string
	keepForeign    bool
	likeYuniKorn   bool // what configurations leave out is as with YuniKorn
	prefer         bool // pods are placed where they prefer to run
	qps            float32
	burst          int
	bindWorkers    int

	placeholdersMax, placeholderBytesMax int    // of a namespace, and of one
	ldap                                 string // directory with its settings
	logLevel                             string
	logFormat                            string
	healthListen                         string
	stopTimeout                          time.Duration
	leader                               replica.Leading
	web                                  web
	kept                                 archive.Config
	accounting                           string        // file of SQLite; empty for none
	record                               string        // directory of recordings; empty for none
	recordMax                            int64         // bytes that they may have together
	unused                               time.Duration // that an application is kept which never asks
}

// web is where REST is offered, and to which clients.
type web struct {
	listen, debugListen string
	probeListen         string
	kubernetes          bool   // the API server decides about requests
	cert, key, token    string // files
	origins, hosts      []string
	proxies             []string
}

// Run carries out one command line until the context ends, and returns the exit code.
func Run(ctx context.Context, to Streams, args []string, plugins ...outoftree.Plugin) int {
	started := false
	cmd := newCommand(&started, plugins)
	cmd.SetArgs(args)
	cmd.SetOut(to.Out)
	cmd.SetErr(to.Problems)
	err := cmd.ExecuteContext(ctx)
	switch {
	case err == nil:
		return exitDone
	case !started:
		cmd.PrintErrln("narwhal-scheduler:", err)
		cmd.PrintErrln("Run 'narwhal-scheduler --help' for how to use it.")
		return exitUsage
	default:
		cmd.PrintErrln("narwhal-scheduler:", err)
		return exitFailed
	}
}

// newCommand is the command. It notes when the command line was understood.
func newCommand(started *bool, plugins []outoftree.Plugin) *cobra.Command {
	s := &settings{plugins: plugins}
	cmd := &cobra.Command{
		Use:   "narwhal-scheduler",
		Short: "A scheduler for Kubernetes with queues, fairness and preemption",
		Long: `Schedule the pods of a Kubernetes cluster that name this scheduler.

It runs beside the default scheduler, whose pods it counts. Queues are configured in
a ConfigMap, and changes of it are in use at once. Of several replicas one leads.

The dashboard, REST and metrics are on this machine only, unless --listen says
otherwise. Health is at /healthz and /readyz. A replica that waits to lead is ready as well;
the pod of the one that leads has the label narwhal-scheduler.io/leader.

It runs until it is interrupted. The exit code is 0 then, 1 if something fails or
another replica leads, and 2 if the command could not be understood.`,
		Args:          cobra.NoArgs,
		Version:       version.Text(),
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			*started = true
			s.complete(cmd.Flags())
			level, log, err := replica.Logger(s.logLevel, s.logFormat, cmd.ErrOrStderr())
			if err != nil {
				return err
			}
			replica.Redirect(log)
			return s.run(cmd.Context(), log, level)
		},
	}
	cmd.SetVersionTemplate("narwhal-scheduler {{.Version}}\n")
	s.define(cmd.Flags())
	cmd.MarkFlagsRequiredTogether("tls-cert", "tls-key")
	cmd.MarkFlagsMutuallyExclusive("token-file", "kubernetes-auth")
	return cmd
}

// define defines the flags.
func (s *settings) define(flags *pflag.FlagSet) {
	flags.StringVar(&s.kubeconfig, "kubeconfig", "", "file that says how to reach the API server (default $KUBECONFIG, or as a pod of the cluster)")
	flags.StringVar(&s.namespace, "namespace", "", "namespace of the ConfigMaps and of the lease (default $POD_NAMESPACE, or that of the pod)")
	flags.StringSliceVar(&s.configMaps, "config-map", []string{"narwhal-config"}, "ConfigMaps with the configuration; later ones go before earlier ones")
	flags.StringSliceVar(&s.schedulerNames, "scheduler-name", []string{"narwhal"}, "values of spec.schedulerName of the pods to schedule")
	flags.StringVar(&s.profile, "scheduler-config", "", "file with a KubeSchedulerConfiguration, of which filters, scores, plugins that are compiled in, weights and arguments count (default those of kube-scheduler)")
	flags.StringVar(&s.defaultQueue, "default-queue", "", "queue of pods that name none (default the one of the configuration)")
	flags.StringVar(&s.clusterID, "cluster-id", "", "name of the cluster in REST (default service.clusterId, or mycluster)")
	flags.BoolVar(&s.keepForeign, "keep-foreign-pods", false, "never evict pods of other schedulers")
	flags.BoolVar(&s.likeYuniKorn, "like-yunikorn", false, "what the configuration and the other flags leave out is as with YuniKorn, see docs/yunikorn.md")
	flags.BoolVar(&s.prefer, "preferred-places", true, "place pods where they prefer to run, by the scores of kube-scheduler (default false with --like-yunikorn)")
	flags.Float32Var(&s.qps, "kube-api-qps", 0, "requests per second to the API server (default kubernetes.qps, or 1000)")
	flags.IntVar(&s.burst, "kube-api-burst", 0, "requests at once to the API server (default kubernetes.burst, or twice as many)")
	flags.IntVar(&s.bindWorkers, "bind-workers", 0, "pods that are bound at once (default 32)")
	flags.IntVar(&s.placeholdersMax, "placeholders-max", shim.DefaultPlaceholdersMax, "most placeholders of task groups in a namespace")
	flags.IntVar(&s.placeholderBytesMax, "placeholder-bytes-max", shim.DefaultPlaceholderBytesMax, "most bytes that one of them may take")
	flags.StringVar(&s.ldap, "ldap", "", "directory with the settings of the LDAP server, such as a mounted secret, for usergroupresolver.type ldap (default nowhere)")
	flags.StringVar(&s.logLevel, "log-level", "info", "least level of what is logged: debug, info, warn or error")
	flags.StringVar(&s.logFormat, "log-format", "json", "json or text")
	flags.StringVar(&s.healthListen, "health-listen", "", "address of /healthz and /readyz for a kubelet, such as :8081 (default nowhere)")
	flags.DurationVar(&s.stopTimeout, "stop-timeout", 20*time.Second, "how long bindings under way may take when it is stopped")
	flags.IntVar(&s.kept.EndedMax, "ended-max", archive.DefaultMax, "most applications that are shown after their end")
	flags.IntVar(&s.kept.RejectedMax, "rejected-max", archive.DefaultMax, "most applications that are shown which were rejected")
	flags.DurationVar(&s.kept.Keep, "keep", archive.DefaultKeep, "how long either is shown")
	flags.DurationVar(&s.kept.History, "history", archive.DefaultHistory, "how far back charts of use go; 0 is none")
	flags.StringVar(&s.accounting, "accounting", "", "file of SQLite, on a volume that stays, in which the work of queues and users is kept, by day (default none)")
	flags.StringVar(&s.record, "record", "", "directory, on a volume that stays, in which all steps are recorded, for narwhal replay (default none)")
	flags.Int64Var(&s.recordMax, "record-max", recording.DefaultSizeMax, "most bytes of recordings; the oldest are removed beyond that")
	flags.DurationVar(&s.unused, "unused-delay", time.Hour, "how long an application is kept that never asks for anything; less than 0 is for ever")
	defineLeading(flags, &s.leader)
	s.web.define(flags)
}

// complete fills in what hangs on another flag and was not said.
func (s *settings) complete(said *pflag.FlagSet) {
	if s.likeYuniKorn && !said.Changed("preferred-places") {
		s.prefer = false
	}
}

// defineLeading defines the flags of how one of several replicas is chosen.
func defineLeading(flags *pflag.FlagSet, l *replica.Leading) {
	flags.BoolVar(&l.Elect, "leader-elect", true, "schedule only while it holds a lease, so that several replicas can run")
	flags.StringVar(&l.Name, "leader-elect-lease", "narwhal-scheduler", "name of the lease")
	flags.DurationVar(&l.Lease, "leader-elect-lease-duration", 15*time.Second, "how long a lease is waited for that is not renewed")
	flags.DurationVar(&l.Renew, "leader-elect-renew-deadline", 10*time.Second, "how long a leader tries to renew its lease before it gives up")
	flags.DurationVar(&l.Wait, "leader-elect-retry-period", 2*time.Second, "pause between attempts")
}

func (w *web) define(flags *pflag.FlagSet) {
	flags.StringVar(&w.listen, "listen", webservice.DefaultAddress, "address of the dashboard, REST and metrics")
	flags.StringVar(&w.debugListen, "debug-listen", "", "address of profiles, stacks and the state dump (default nowhere)")
	flags.StringVar(&w.cert, "tls-cert", "", "file with the certificate for TLS, in PEM")
	flags.StringVar(&w.key, "tls-key", "", "file with its key, in PEM")
	flags.StringVar(&w.token, "token-file", "", "file with the token, which may be renewed, that clients must send as \"Authorization: Bearer TOKEN\"")
	flags.BoolVar(&w.kubernetes, "kubernetes-auth", false, "have the API server decide by token, of the audience "+replica.TokenAudience+", and by roles which clients read what")
	flags.StringVar(&w.probeListen, "probe-listen", "", "address of health and metrics without a token (default nowhere)")
	flags.StringSliceVar(&w.origins, "allow-origin", nil, "origin whose pages can read everything; * is all (default none but its own)")
	flags.StringSliceVar(&w.hosts, "host", nil, "name by which clients without a token can call it; * is all (default addresses and localhost)")
	flags.StringSliceVar(&w.proxies, "trusted-proxy", nil, "address or network of a proxy that says for which client it asks (default this machine)")
}
