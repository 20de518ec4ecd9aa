package command

import (
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"

	queueconfig "github.com/narwhal-scheduler/narwhal/pkg/config"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/framework"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/policy"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/internal/replica"
)

// settings are the flags. Names are those of the descheduler of Kubernetes.
type settings struct {
	policyFile string
	from       clusterFile
	lenient    bool
	validate   bool
	writeTo    string

	interval   time.Duration
	dryRun     bool
	format     string
	gates      gates
	kubeconfig string
	qps        float32
	burst      int

	verbosity int
	logFormat string
	leader    replica.Leading
	leaseIn   string
	lock      string
	serve     serving
	tracing   tracing
	queues    schedulerQueues

	plugins       []framework.Definition // besides those of this project
	flags         *pflag.FlagSet
	out, problems io.Writer
}

// schedulerQueues say how the scheduler places pods, for landing places.
type schedulerQueues struct {
	names        []string
	namespace    string
	configMap    string
	file         string // with its profile; empty is the default
	prefer       bool
	defaultQueue string
	likeYuniKorn bool // its defaults are those of YuniKorn

	profile *config.KubeSchedulerProfile // that of the file
}

// define defines the flags.
func (s *settings) define(flags *pflag.FlagSet) {
	flags.StringVar(&s.policyFile, "policy-config-file", "", "file with the policy")
	flags.StringVar(&s.from.name, "cluster-file", "", "dry run over the objects in this file, such as kubectl get nodes,pods -A -o yaml prints them, instead of those of an API server")
	flags.StringVar(&s.from.at, "cluster-time", "", "time of the cluster of --cluster-file, such as 2026-01-02T15:04:05Z (default the present)")
	flags.BoolVar(&s.lenient, "lenient-config", false, "warn of unknown keys in the policy, and in the cluster file, instead of refusing them; arguments of plugins are always strict")
	flags.BoolVar(&s.validate, "validate", false, "print the policy with all defaults, or everything that is wrong with it, and end")
	flags.StringVar(&s.writeTo, "write-config-to", "", "write the policy with all defaults to this file, and end")
	flags.DurationVar(&s.interval, "descheduling-interval", 0, "time between the end of a cycle and the next; 0 runs one cycle and ends")
	flags.BoolVar(&s.dryRun, "dry-run", false, "evict nothing, and print what would be evicted")
	flags.StringVar(&s.format, "report-format", "table", "how a dry run prints its report: table or json")
	flags.Var(&s.gates, "feature-gates", "features to switch, as NAME=true or NAME=false with commas between; "+knownGates())
	flags.StringVar(&s.kubeconfig, "client-connection-kubeconfig", "", "file that says how to reach the API server (default the files in $KUBECONFIG or else ~/.kube/config; without these, as a pod of the cluster)")
	flags.StringVar(&s.kubeconfig, "kubeconfig", "", "another name of --client-connection-kubeconfig")
	flags.Float32Var(&s.qps, "client-connection-qps", 100, "requests per second to the API server")
	flags.IntVar(&s.burst, "client-connection-burst", 200, "requests to the API server that may be sent at once")
	flags.IntVarP(&s.verbosity, "v", "v", 0, "how much is logged: from 4 on also why each pod stays; 0 logs warnings only in a dry run")
	flags.StringVar(&s.logFormat, "logging-format", "json", "format of the log: json or text")
	flags.StringSliceVar(&s.queues.names, "scheduler-name", []string{"narwhal"}, "values of spec.schedulerName of the pods that Narwhal schedules, in its queues")
	flags.StringVar(&s.queues.namespace, "scheduler-namespace", "", "namespace of the ConfigMap of the scheduler (default that of this program)")
	flags.StringVar(&s.queues.configMap, "scheduler-config-map", "narwhal-config", "ConfigMap with the queues of the scheduler; it need not exist")
	flags.StringVar(&s.queues.file, "scheduler-config", "", "file with a KubeSchedulerConfiguration, if the scheduler has one")
	flags.BoolVar(&s.queues.prefer, "preferred-places", true, "pods of the scheduler are placed where they prefer to run; give false if it has --preferred-places=false (default false with --like-yunikorn)")
	flags.StringVar(&s.queues.defaultQueue, "default-queue", "", "the --default-queue of the scheduler, if it has one")
	flags.BoolVar(&s.queues.likeYuniKorn, "like-yunikorn", false, "the scheduler has --like-yunikorn")
	s.defineLeading(flags)
	s.serve.define(flags)
	s.tracing.define(flags)
}

func (s *settings) defineLeading(flags *pflag.FlagSet) {
	l := &s.leader
	flags.BoolVar(&l.Elect, "leader-elect", false, "evict only while this process holds a lease, so that several replicas can run; a dry run never asks for the lease")
	flags.StringVar(&l.Name, "leader-elect-resource-name", "descheduler", "name of the lease that the leader holds")
	flags.StringVar(&s.leaseIn, "leader-elect-resource-namespace", "kube-system", "namespace of the lease that the leader holds")
	flags.StringVar(&s.lock, "leader-elect-resource-lock", "leases", "kind of the lock that the leader holds; leases is the only one")
	flags.DurationVar(&l.Lease, "leader-elect-lease-duration", 137*time.Second, "how long other replicas wait for a lease that is not renewed")
	flags.DurationVar(&l.Renew, "leader-elect-renew-deadline", 107*time.Second, "how long a leader tries to renew its lease before it gives up")
	flags.DurationVar(&l.Wait, "leader-elect-retry-period", 26*time.Second, "pause between attempts to get or renew the lease")
}

// check compares flags with each other.
func (s *settings) check() error {
	var errs []error
	if s.policyFile == "" {
		errs = append(errs, errors.New("policy-config-file: is missing"))
	}
	if s.format != "table" && s.format != "json" {
		errs = append(errs, fmt.Errorf("report-format: %q is neither table nor json", s.format))
	}
	if s.interval < 0 {
		errs = append(errs, fmt.Errorf("descheduling-interval: must be at least 0s, not %s", s.interval))
	}
	if s.logFormat != "json" && s.logFormat != "text" {
		errs = append(errs, fmt.Errorf("logging-format: %q is neither json nor text", s.logFormat))
	}
	if qps := float64(s.qps); math.IsNaN(qps) || math.IsInf(qps, 0) {
		errs = append(errs, fmt.Errorf("client-connection-qps: must be a number, negative for no bound, not %g", qps))
	}
	if s.burst < 0 {
		errs = append(errs, fmt.Errorf("client-connection-burst: must be at least 0, not %d", s.burst))
	}
	_, err := s.from.clock()
	errs = append(errs, err, s.checkLeading())
	errs = append(errs, s.serve.check()...)
	errs = append(errs, s.tracing.check()...)
	return errors.Join(errs...)
}

// complete fills in what hangs on another flag and was not said, as the scheduler does.
func (s *settings) complete() {
	if s.queues.likeYuniKorn && !s.flags.Changed("preferred-places") {
		s.queues.prefer = false
	}
}

// defaults are those of the queue configurations of the scheduler.
func (q *schedulerQueues) defaults() queueconfig.Defaults {
	if q.likeYuniKorn {
		return queueconfig.LikeYuniKorn()
	}
	return queueconfig.Defaults{}
}

// checkLeading compares the flags of leader election with each other. Without one they do not matter.
func (s *settings) checkLeading() error {
	if s.lock != policy.Lock {
		return fmt.Errorf("leader-elect-resource-lock: %q is no lock; write leases", s.lock)
	}
	l := &s.leader
	if !l.Elect {
		return nil
	}
	if l.Name == "" || s.leaseIn == "" {
		return errors.New("leader-elect-resource-name and leader-elect-resource-namespace: must not be empty")
	}
	err := policy.CheckTimes(&l.Lease, &l.Renew, &l.Wait)
	if err == nil {
		return nil
	}
	return errors.New(timesAsFlags.Replace(err.Error()))
}

// timesAsFlags gives settings of leader election the names of their flags.
var timesAsFlags = strings.NewReplacer(
	"leaseDuration", "leader-elect-lease-duration",
	"renewDeadline", "leader-elect-renew-deadline",
	"retryPeriod", "leader-elect-retry-period",
)

// check says what is no address to listen at.
func (s *serving) check() []error {
	var errs []error
	if s.port < 0 || s.port > 65535 {
		errs = append(errs, fmt.Errorf("secure-port: must be from 0 to 65535, not %d", s.port))
	}
	if s.probePort < 0 || s.probePort > 65535 || s.probePort == s.port && s.port != 0 {
		errs = append(errs, fmt.Errorf("probe-port: must be from 0 to 65535 and not that of --secure-port, not %d", s.probePort))
	}
	if !policy.IsHost(s.address) {
		errs = append(errs, fmt.Errorf("bind-address: must be an IP address or the name of a host without a port, not %q", s.address))
	}
	return errs
}

// adopt takes over what the policy file says of the process, for flags that are not given.
// The file of Koordinator has both; the flag goes first. Warnings say what has no effect.
func (s *settings) adopt(from *policy.Settings) (warnings []string) {
	take(s, "descheduling-interval", &s.interval, from.Interval)
	take(s, "dry-run", &s.dryRun, from.DryRun)
	if l := from.LeaderElection; l != nil {
		take(s, "leader-elect", &s.leader.Elect, l.LeaderElect)
		take(s, "leader-elect-lease-duration", &s.leader.Lease, l.LeaseDuration)
		take(s, "leader-elect-renew-deadline", &s.leader.Renew, l.RenewDeadline)
		take(s, "leader-elect-retry-period", &s.leader.Wait, l.RetryPeriod)
		take(s, "leader-elect-resource-lock", &s.lock, l.ResourceLock)
		take(s, "leader-elect-resource-name", &s.leader.Name, l.ResourceName)
		take(s, "leader-elect-resource-namespace", &s.leaseIn, l.ResourceNamespace)
	}
	if c := from.ClientConnection; c != nil {
		take(s, "client-connection-kubeconfig", &s.kubeconfig, c.Kubeconfig)
		take(s, "client-connection-qps", &s.qps, c.QPS)
		take(s, "client-connection-burst", &s.burst, c.Burst)
		if c.ContentType != nil || c.AcceptContentTypes != nil {
			warnings = append(warnings, "clientConnection: content types have no effect: protobuf is used where the API server has it")
		}
	}
	address := from.MetricsAddress
	switch {
	case address == nil:
		address = from.HealthAddress
	case from.HealthAddress != nil && *from.HealthAddress != *address:
		warnings = append(warnings, "healthzBindAddress has no effect: health and metrics have one address, metricsBindAddress")
	}
	if address != nil && !s.flags.Changed("bind-address") && !s.flags.Changed("secure-port") {
		if err := s.serve.listenAt(*address); err != nil {
			warnings = append(warnings, err.Error())
		}
	}
	if from.Profiling != nil && *from.Profiling || from.BlockingProfiling != nil && *from.BlockingProfiling {
		warnings = append(warnings, "enableProfiling and enableContentionProfiling have no effect: profiles are not served")
	}
	return warnings
}

// take sets a flag that is not given.
func take[T any](s *settings, flag string, into, from *T) {
	if from != nil && !s.flags.Changed(flag) {
		*into = *from
	}
}

// listenAt takes the address of a policy file; 0 is nowhere.
func (s *serving) listenAt(address string) error {
	host, port, err := policy.SplitAddress(address)
	if err != nil {
		return fmt.Errorf("address has no effect: it %w", err)
	}
	if s.port = port; port != 0 {
		s.address = host
	}
	return nil
}
