package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"go.uber.org/zap"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	clientevents "k8s.io/client-go/tools/events"
	schedulerconfig "k8s.io/kubernetes/pkg/scheduler/apis/config"
	metricsclient "k8s.io/metrics/pkg/client/clientset/versioned"
	"k8s.io/utils/clock"

	"github.com/narwhal-scheduler/narwhal/pkg/accounting"
	"github.com/narwhal-scheduler/narwhal/pkg/config"
	"github.com/narwhal-scheduler/narwhal/pkg/identity"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/usage"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/feasibility"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/internal/replica"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/outoftree"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/pods"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/shim"
	"github.com/narwhal-scheduler/narwhal/pkg/recording"
	"github.com/narwhal-scheduler/narwhal/pkg/scheduler"
	"github.com/narwhal-scheduler/narwhal/pkg/server"
	"github.com/narwhal-scheduler/narwhal/pkg/version"
	"github.com/narwhal-scheduler/narwhal/pkg/webservice"
)

// An instance is what runs while a process leads: the core, the shim, and REST.
type instance struct {
	settings  *settings
	namespace string
	pod       string // the name of its own; empty outside of a cluster
	log       *zap.Logger
	level     zap.AtomicLevel
	resolver  identity.Resolver                     // nil without LDAP
	profile   *schedulerconfig.KubeSchedulerProfile // nil is kube-scheduler's own
	plugins   outoftree.Options
	state     *replica.Readiness
	counts    *shim.Metrics
	connect   func(qps float32, burst int) (kubernetes.Interface, error) // makes clients
	measured  metricsclient.Interface                                    // for metrics.k8s.io
	groups    dynamic.Interface                                          // for pod groups, of which versions differ

	client  kubernetes.Interface // these are read when it begins to lead
	config  shim.Configuration
	problem error   // what is wrong with it
	former  *string // the queues that were in use before, if they are known

	scheduler *server.Server
	recorder  *recording.Recorder // nil without recordings
}

// run schedules until the context ends or something fails. When it returns nothing of it
// runs any more.
func (i *instance) run(ctx context.Context) error {
	defer i.state.Set("has ended")
	if err := i.newScheduler(); err != nil {
		return err
	}
	defer i.recorder.Close() // after the scheduler has stopped
	defer i.scheduler.Stop()
	i.state.Watch(func() error { return hangs(i.scheduler.Scheduler) })
	defer i.state.Watch(nil)
	if err := i.scheduler.Start(); err != nil {
		return err
	}
	i.log.Info("REST is served", zap.Strings("addresses", i.scheduler.Addresses()))
	records := clientevents.NewBroadcaster(&clientevents.EventSinkImpl{Interface: i.client.EventsV1()})
	defer records.Shutdown()
	if err := records.StartRecordingToSinkWithContext(ctx); err != nil {
		return fmt.Errorf("events: %w", err)
	}
	resources, cancel := context.WithCancel(context.WithoutCancel(ctx)) // bindings under way need it until they end
	defer cancel()
	c, err := i.startShim(ctx, resources, records)
	if c != nil {
		defer i.stopShim(c)
	}
	if err != nil {
		return err
	}
	i.state.Set("")
	select {
	case err := <-i.scheduler.Failed():
		return err
	case <-ctx.Done():
		i.log.Info("scheduler stops")
		i.state.Set("stops")
		return nil
	}
}

// answering is a core that says how long its partitions have not answered.
type answering interface {
	Partitions() []string
	Unanswered(partition string) time.Duration
}

// hangsAfter is how long a partition does not answer until the process is to be started anew.
const hangsAfter = time.Minute

// hangs says which partition has not answered for long: a callback does not return, or scheduling does not end.
func hangs(core answering) error {
	for _, partition := range core.Partitions() {
		if silence := core.Unanswered(partition); silence > hangsAfter {
			return fmt.Errorf("partition %s has not answered for %v", partition, silence.Truncate(time.Second))
		}
	}
	return nil
}

// newScheduler makes the core, and REST, which is not offered yet.
func (i *instance) newScheduler() error {
	listen, err := i.listen()
	if err != nil {
		return err
	}
	proxies, err := webservice.ReadNetworks(i.settings.web.proxies)
	if err != nil {
		return err
	}
	kept, err := accounting.OpenIf(i.settings.accounting)
	if err != nil {
		return err
	}
	i.recorder, err = recording.OpenIf(recording.Config{
		Directory: i.settings.record, SizeMax: i.settings.recordMax, Version: version.Text(), Logger: i.log.Named("recorder"),
	})
	if err != nil {
		return errors.Join(err, accounting.CloseIf(kept))
	}
	i.scheduler, err = server.New(server.Config{
		Accounting: kept,
		Scheduler: scheduler.Config{
			Logger: i.log.Named("core"), Level: &i.level,
			EchoAdopted: true, Resolver: i.resolver, UnusedDelay: i.settings.unused, Defaults: i.settings.defaults(),
			Recorder: i.recorder.IfAny(),
		},
		Archive: i.settings.kept, SkipCharts: i.settings.kept.History == 0,
		Web: webservice.Config{
			TrustedProxies: proxies, Defaults: i.settings.defaults(),
			Build: func(string) map[string]string { return map[string]string{"buildVersion": version.Text()} },
		},
		Listen: listen,
	})
	if err != nil {
		i.recorder.Close()
		return errors.Join(err, accounting.CloseIf(kept))
	}
	i.scheduler.Metrics.Register(i.counts)
	return nil
}

// listen says where REST is offered, and to which clients.
func (i *instance) listen() (webservice.ServerConfig, error) {
	w := i.settings.web
	admit, err := webservice.AdmitTokenIn(w.token)
	if err != nil {
		return webservice.ServerConfig{}, err
	}
	problems, err := zap.NewStdLogAt(i.log.Named("web"), zap.WarnLevel)
	if err != nil {
		return webservice.ServerConfig{}, err
	}
	config := webservice.ServerConfig{
		Address: w.listen, DebugAddress: w.debugListen, ProbeAddress: w.probeListen, CertFile: w.cert, KeyFile: w.key, Admit: admit,
		AllowedOrigins: w.origins, AllowedHosts: w.hosts, Log: problems,
	}
	if w.kubernetes {
		access := replica.NewAccess(i.client)
		config.Admit, config.Sees = access.Admit, access.Sees
	}
	return config, nil
}

// defaults are those of queue configurations.
func (s *settings) defaults() config.Defaults {
	if s.likeYuniKorn {
		return config.LikeYuniKorn()
	}
	return config.Defaults{}
}

// startShim tells the core of the cluster. A context is to be stopped even with an error.
func (i *instance) startShim(ctx, resources context.Context, records clientevents.EventBroadcaster) (*shim.Context, error) {
	s := i.settings
	factory := shim.NewFactory(i.client)
	i.plugins.Recorder = records.NewRecorder(scheme.Scheme, s.schedulerNames[0])
	feasible, err := feasibility.New(resources, i.client, factory, feasibility.Options{
		Profile: i.profile, BindTimeout: i.config.VolumeTimeout, OutOfTree: i.plugins,
	})
	if err != nil {
		return nil, fmt.Errorf("filter plugins: %w", err)
	}
	preferred, err := i.preferences(resources, factory, feasible)
	if err != nil {
		return nil, fmt.Errorf("preferences: %w", err)
	}
	c, err := shim.New(shim.Options{
		Client: i.client, Dynamic: i.groups, Core: i.scheduler, Feasibility: feasible, Preferences: preferred, Logger: i.log.Named("shim"), Metrics: i.counts, Version: version.Text(),
		Recorder:  shim.Events(i.plugins.Recorder),
		Rules:     pods.Rules{SchedulerNames: s.schedulerNames, DefaultQueue: s.defaultQueue},
		ClusterID: cmp.Or(s.clusterID, i.config.ClusterID), Config: i.config, Problem: i.problem, Former: i.former,
		PlaceholdersMax: s.placeholdersMax, PlaceholderBytesMax: s.placeholderBytesMax,
		KeepForeign: s.keepForeign, BindWorkers: s.bindWorkers, PrepareTimeout: i.config.VolumeTimeout,
	})
	if err != nil {
		return nil, err
	}
	if err := c.Start(ctx, factory); err != nil {
		return c, err
	}
	return c, c.Follow(s.maps(i.namespace))
}

// preferences are the scores, or nil if pods have none.
func (i *instance) preferences(ctx context.Context, factory informers.SharedInformerFactory, feasible *feasibility.Checker) (shim.Preferences, error) {
	if !i.settings.prefer {
		if feasible.Scores() {
			i.log.Warn("plugins that score are not asked, since pods have no preferred places")
		}
		return nil, nil //nolint:nilnil // as documented
	}
	scores, err := newPreferences(factory, i.profile, feasible)
	if err != nil {
		return nil, err
	}
	return scores, follow(ctx, scores, usage.Options{Metrics: i.measured, Client: i.client, Clock: clock.RealClock{}})
}

// stopShim lets bindings under way end.
func (i *instance) stopShim(c *shim.Context) {
	ctx, cancel := context.WithTimeout(context.Background(), i.settings.stopTimeout)
	defer cancel()
	c.Stop(ctx)
}
