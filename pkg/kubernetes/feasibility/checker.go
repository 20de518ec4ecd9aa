package feasibility

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/dynamic-resource-allocation/deviceclass/extendedresourcecache"
	"k8s.io/dynamic-resource-allocation/resourceslice/tracker"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/util/assumecache"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/outoftree"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/pods"
)

// Options is what may be chosen. The zero value is the default.
type Options struct {
	// Profile says which filters there are, and their arguments; nil is the default profile of kube-scheduler. Its
	// default spread constraints must not be hard. It is not changed.
	Profile *config.KubeSchedulerProfile
	// Workers is the most goroutines that look at nodes for one question. Zero is as
	// many as there are processors.
	Workers int
	// BindTimeout is how long PreBind waits for volumes to be bound, in whole seconds.
	// Zero is as long as kube-scheduler waits, ten minutes.
	BindTimeout time.Duration
	// OutOfTree are plugins that are compiled in beside those of kube-scheduler. Those that the profile enables take part.
	OutOfTree outoftree.Options
}

// A Checker answers where a pod may run. All its methods may be called at any time from
// any goroutine.
type Checker struct {
	framework framework.Framework
	outOfTree *outoftree.Set // nil if there are no plugins but kube-scheduler's
	snapshot  *snapshot      // what these see; nil without them
	ended     <-chan struct{}
	workers   int
	named     namedNumbers // for Class
	factory   informers.SharedInformerFactory
	synced    []cache.DoneChecker
	noDevices bool                     // the API server serves none
	claims    *assumecache.AssumeCache // of devices; nil without them, like slices
	slices    *tracker.Tracker
	views     *deviceViews

	// outside counts changes of objects that PreFilter reads and that are neither nodes
	// nor pods.
	outside atomic.Uint64
	// relabelled counts changes after which pods that are like each other may get other
	// answers than before: labels of namespaces, and which extended resources are served
	// by devices.
	relabelled atomic.Uint64
	extended   *extendedresourcecache.ExtendedResourceCache // nil if devices serve none
	mu         sync.Mutex                                   // held during PreFilter of kube-scheduler's plugins, too, which is short as it looks at a view
	devices    *deviceCount                                 // nil if they serve none
	cluster    *cluster
	changes    changes

	last      *preparation                         // that was used last, for another question about the pod
	lastClass string                               // of its pod, if PreFilter looks at other pods for it
	kept      *simplelru.LRU[string, *preparation] // by class

	reserving    sync.Mutex // makes one reservation after the other; plugins are asked meanwhile
	reserved     sync.Mutex // guards reservations and starts
	reservations map[types.UID]*reservation
	starts       map[string]*start // by what their pods share
}

// New makes a Checker that knows no nodes and no pods yet. It asks the factory for the
// informers that the plugins read, so the factory is started after it. The context
// ends the goroutines of the plugins.
func New(ctx context.Context, client kubernetes.Interface, factory informers.SharedInformerFactory, o Options) (*Checker, error) {
	if o.Workers <= 0 {
		o.Workers = runtime.GOMAXPROCS(0)
	}
	kept, err := simplelru.NewLRU[string, *preparation](keptMax, nil)
	if err != nil {
		return nil, err
	}
	c := &Checker{
		workers:      o.Workers,
		factory:      factory,
		ended:        ctx.Done(),
		cluster:      newCluster(),
		kept:         kept,
		reservations: make(map[types.UID]*reservation),
		starts:       make(map[string]*start),
	}
	if err := c.makeFramework(ctx, client, o); err != nil {
		return nil, err
	}
	namespaces := factory.Core().V1().Namespaces().Informer()
	return c, errors.Join(c.watch(namespaces, c.countOutside()), c.watch(namespaces, countLabels(&c.relabelled)))
}

// WaitForSync waits until the informers of a factory that was started have told the
// plugins of all there is.
func (c *Checker) WaitForSync(ctx context.Context) error {
	if result := c.factory.WaitForCacheSyncWithContext(ctx); result.Err != nil {
		return fmt.Errorf("informers: %w", result.Err)
	}
	if !cache.WaitFor(ctx, "", c.synced...) {
		return fmt.Errorf("informers: %w", errors.Join(context.Cause(ctx), ctx.Err()))
	}
	return nil
}

// SetNode adds a node or replaces it.
func (c *Checker) SetNode(node *v1.Node) {
	c.mu.Lock()
	defer c.mu.Unlock()
	// PreFilter reads the labels and the taints of nodes, and Filter reads the node itself.
	if info := c.cluster.node(node.Name); info == nil || !maps.Equal(info.Node().Labels, node.Labels) ||
		!equality.Semantic.DeepEqual(info.Node().Spec.Taints, node.Spec.Taints) {
		c.changes.forget()
	}
	c.cluster.setNode(node)
}

// RemoveNode forgets a node. The pods that were set there stay counted until they are
// removed, and are on the node if it comes back.
func (c *Checker) RemoveNode(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.changes.forget()
	c.cluster.removeNode(name)
}

// SetPod counts a pod on the node that it names, in place of what was known of it. The
// node may come later. A pod that has ended, names no node or has no UID is not counted.
func (c *Checker) SetPod(pod *v1.Pod) {
	pod = pods.ForFilters(pod)
	switch {
	case pod.UID == "":
	case pod.Spec.NodeName == "" || pod.Status.Phase == v1.PodSucceeded || pod.Status.Phase == v1.PodFailed:
		c.changePod(pod.UID, nil)
	default:
		c.changePod(pod.UID, pod)
	}
}

// RemovePod counts a pod no more. If it was not bound, Unreserve comes before.
func (c *Checker) RemovePod(pod *v1.Pod) {
	c.forgetBound(pod.UID)
	c.changePod(pod.UID, nil)
}

// changePod counts a pod; nil is none any more.
func (c *Checker) changePod(uid types.UID, pod *v1.Pod) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if pod != nil {
		c.named.learn(pod)
	}
	before := c.cluster.pods[uid]
	c.cluster.setPod(uid, pod)
	if after := c.cluster.pods[uid]; before != after {
		c.changes.add(podChange{before, after})
	}
}
