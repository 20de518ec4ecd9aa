package shim

import (
	"context"
	"fmt"
	"sync"
	"time"

	"go.uber.org/zap"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// A Context is the cluster as the API server tells of it, and what the core was told of
// that. Informers call its methods AddPod, UpdatePod, DeletePod, AddNode and so on; the core
// calls it back. Whatever comes changes what is known first, and then the difference to
// what the core knows is sent:
//
//	what the core knows = what is known here, once all messages are taken
//
// Messages are put into one queue under the lock, so they are in the order of what they
// tell. All methods may be called from any goroutine; none waits for the core.
type Context struct {
	options   Options
	log       *zap.Logger
	feasible  *cluster
	sender    *sender
	binder    *binder
	permits   permits // nil where there are none
	decided   decided
	evictor   *evictor
	status    *statusWriter
	events    *eventWriter
	budgets   *budgets
	refers    *references
	groups    *podGroups
	gangs     *gangs
	reserved  *reservations
	handBacks handBacks
	ties      *waitingTies
	changed   *changes // that let pods run which wait
	inUse     inUse

	ctx    context.Context // of everything that runs, and of requests to the API server
	cancel context.CancelFunc
	work   sync.WaitGroup

	mu         sync.RWMutex
	started    bool // what is known is sent; before, it is only collected
	stopping   bool // nothing new is begun
	tasks      map[string]*task
	ended      endedPods
	nodes      map[string]*v1.Node
	devices    map[string]map[string]int64 // that the core was told of, by node and resource
	onNode     map[string]map[string]*task // tasks that are ours, by node and key
	apps       map[string]*application     // by ID in the core
	named      map[appKey]*application     // the same, as their pods name them
	introduced time.Duration               // of applications, one nanosecond each
	leaving    map[string]*task            // that are to end or are ending, by key
	owned      map[string]int              // how many pods belong to a pod, by its key
}

// New makes a context that knows nothing and does nothing until Start. The error is that of
// Options.Validate.
func New(options Options) (*Context, error) {
	if err := options.Validate(); err != nil {
		return nil, err
	}
	options = options.withDefaults()
	c := &Context{
		options:  options,
		log:      options.Logger,
		feasible: &cluster{options.Feasibility, options.Preferences},
		permits:  permitsOf(options.Feasibility),
		decided:  newDecided(options.Feasibility),
		sender:   newSender(options.Core, options.ClusterID, options.Logger),
		tasks:    map[string]*task{},
		nodes:    map[string]*v1.Node{},
		devices:  map[string]map[string]int64{},
		onNode:   map[string]map[string]*task{},
		apps:     map[string]*application{},
		named:    map[appKey]*application{},
		leaving:  map[string]*task{},
		owned:    map[string]int{},
	}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	c.changed = newChanges()
	c.events = newEventWriter(options.Recorder)
	c.refers = newReferences(c)
	c.groups = newPodGroups(c)
	c.gangs = newGangs(c)
	c.budgets = newBudgets(c)
	c.reserved = newReservations(c)
	c.ties = newWaitingTies()
	c.handBacks = handBacks{Context: c, ends: map[string]handBack{}}
	c.binder = newBinder(c)
	c.evictor = newEvictor(c)
	c.status = newStatusWriter(c)
	c.options.Metrics.of.Store(c)
	return c, nil
}

// run starts a goroutine that Stop waits for.
func (c *Context) run(f func()) {
	c.work.Go(func() {
		f()
	})
}

// podOf is the pod of an allocation, with its node if it has one.
func (c *Context) podOf(key string) (*v1.Pod, error) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	t := c.tasks[key]
	if t == nil {
		return nil, fmt.Errorf("pod %s is not known", key)
	}
	return t.running(), nil
}

// refer names a pod in log lines.
func refer(pod *v1.Pod) zap.Field {
	return zap.Stringer("pod", types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name})
}
