package shim

import (
	"cmp"
	"errors"
	"time"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/api"
	"go.uber.org/zap"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/pods"
)

// Defaults of Options.
const (
	// DefaultClusterID names the resource manager. It is the one that programs which read
	// the REST API of YuniKorn expect.
	DefaultClusterID = "mycluster"

	// DefaultPlaceholdersMax and DefaultPlaceholderBytesMax bound the placeholders of a namespace.
	DefaultPlaceholdersMax     = 1000
	DefaultPlaceholderBytesMax = 16 << 10

	bindWorkers     = 32
	prepareWorkers  = 64
	evictWorkers    = 16
	statusWorkers   = 8
	statusesPerSec  = 100
	bindAttempts    = 3
	bindTimeout     = 30 * time.Second
	retryDelay      = 200 * time.Millisecond
	retryMax        = 30 * time.Second
	prepareTimeout  = 10 * time.Minute
	eventsMax       = 4096
	eventPause      = 15 * time.Second
	eventsPerSecond = 50
)

// Options are what a Context depends on. Client, Dynamic, Core and Feasibility are needed; a zero
// number or duration means the default that is named.
type Options struct {
	Client      kubernetes.Interface
	Dynamic     dynamic.Interface // to the same API server, for pod groups
	Core        api.SchedulerAPI
	Feasibility Feasibility
	// Preferences choose among nodes where a pod may run; nil leaves that to the order of nodes.
	Preferences Preferences
	// Recorder takes events about pods; nil records none. It must not block for long.
	Recorder EventRecorder
	Logger   *zap.Logger // nil logs nothing
	Metrics  *Metrics    // nil counts where nothing reads it

	Rules     pods.Rules
	ClusterID string // of the resource manager; empty means DefaultClusterID
	Version   string // of the program, for the log of the core
	// Config is the first configuration, and Problem what is wrong with it that was seen when it was read. Former are the
	// queues that were in use before: where the core refuses those of Config, it gets Former. Nil is none.
	Config  Configuration
	Problem error
	Former  *string
	// PlaceholderImage is what placeholders of task groups run; empty means
	// what the configuration says, else pods.DefaultPlaceholderImage.
	PlaceholderImage string
	// PlaceholdersMax is how many placeholders a namespace may have (1,000), and
	// PlaceholderBytesMax how many bytes one may take (16 KiB).
	PlaceholdersMax, PlaceholderBytesMax int
	// KeepForeign never ends pods of other schedulers. They are then no victims.
	KeepForeign bool

	// BindWorkers is how many pods are bound at once (32), PrepareWorkers how many begin to
	// wait for volumes and devices at once (64), EvictWorkers how many victims are deleted
	// (16), and StatusWorkers how many statuses of pods are written (8). What takes more than
	// a second leaves its worker to others, and counts no more.
	BindWorkers, PrepareWorkers, EvictWorkers, StatusWorkers int
	// StatusesPerSecond is how many statuses of pods are written in a second (100), so that thousands of pods that
	// wait take little of the API server. Nominated nodes and what autoscalers act on come first.
	StatusesPerSecond int
	// BindAttempts is how often a pod is tried on a node before the core is told that
	// binding failed (3).
	BindAttempts int
	// BindTimeout is how long one request to the API server may take (30 seconds).
	BindTimeout time.Duration
	// PrepareTimeout is how long volumes and devices may take (10 minutes).
	PrepareTimeout time.Duration
	// RetryDelay is the first pause before something is tried again; it doubles up to
	// RetryMax (200 milliseconds and 30 seconds).
	RetryDelay, RetryMax time.Duration
}

// Validate reports every problem of the options at once.
func (o Options) Validate() error {
	var problems []error
	need := func(there bool, name string) {
		if !there {
			problems = append(problems, errors.New("shim options: "+name+" is missing"))
		}
	}
	need(o.Client != nil, "Client")
	need(o.Dynamic != nil, "Dynamic")
	need(o.Core != nil, "Core")
	need(o.Feasibility != nil, "Feasibility")
	need(len(o.Rules.SchedulerNames) > 0, "Rules.SchedulerNames")
	for name, value := range map[string]int64{
		"BindWorkers": int64(o.BindWorkers), "PrepareWorkers": int64(o.PrepareWorkers), "EvictWorkers": int64(o.EvictWorkers),
		"StatusWorkers": int64(o.StatusWorkers), "StatusesPerSecond": int64(o.StatusesPerSecond), "BindAttempts": int64(o.BindAttempts), "BindTimeout": int64(o.BindTimeout),
		"PlaceholdersMax": int64(o.PlaceholdersMax), "PlaceholderBytesMax": int64(o.PlaceholderBytesMax),
		"PrepareTimeout": int64(o.PrepareTimeout), "RetryDelay": int64(o.RetryDelay), "RetryMax": int64(o.RetryMax),
	} {
		if value < 0 {
			problems = append(problems, errors.New("shim options: "+name+" is negative"))
		}
	}
	return errors.Join(problems...)
}

func (o Options) withDefaults() Options {
	if o.Preferences == nil {
		o.Preferences = noPreferences{}
	}
	if o.Logger == nil {
		o.Logger = zap.NewNop()
	}
	if o.Metrics == nil {
		o.Metrics = NewMetrics()
	}
	o.ClusterID = cmp.Or(o.ClusterID, DefaultClusterID)
	o.PlaceholderImage = cmp.Or(o.PlaceholderImage, o.Config.Image, pods.DefaultPlaceholderImage)
	o.PlaceholdersMax = cmp.Or(o.PlaceholdersMax, DefaultPlaceholdersMax)
	o.PlaceholderBytesMax = cmp.Or(o.PlaceholderBytesMax, DefaultPlaceholderBytesMax)
	o.BindWorkers = cmp.Or(o.BindWorkers, bindWorkers)
	o.PrepareWorkers = cmp.Or(o.PrepareWorkers, prepareWorkers)
	o.EvictWorkers = cmp.Or(o.EvictWorkers, evictWorkers)
	o.StatusWorkers = cmp.Or(o.StatusWorkers, statusWorkers)
	o.StatusesPerSecond = cmp.Or(o.StatusesPerSecond, statusesPerSec)
	o.BindAttempts = cmp.Or(o.BindAttempts, bindAttempts)
	o.BindTimeout = cmp.Or(o.BindTimeout, bindTimeout)
	o.PrepareTimeout = cmp.Or(o.PrepareTimeout, prepareTimeout)
	o.RetryDelay = cmp.Or(o.RetryDelay, retryDelay)
	o.RetryMax = cmp.Or(o.RetryMax, retryMax)
	return o
}
