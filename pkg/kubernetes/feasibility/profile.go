package feasibility

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"
	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	resourceinformers "k8s.io/client-go/informers/resource/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/dynamic-resource-allocation/deviceclass/extendedresourcecache"
	"k8s.io/dynamic-resource-allocation/resourceslice/tracker"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/features"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/dynamicresources"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/nodevolumelimits"
	"k8s.io/kubernetes/pkg/scheduler/framework/runtime"
	"k8s.io/kubernetes/pkg/scheduler/metrics"
	"k8s.io/kubernetes/pkg/scheduler/util/assumecache"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/outoftree"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/profile"
)

// notAsked are the plugins of profiles that neither filter nor reserve: they
// score, choose victims, or hold a pod back before it is scheduled. The framework needs
// an order of its queue and a way to bind, so those two stay, without being called.
var notAsked = []string{
	names.DefaultPreemption,
	names.ImageLocality,
	names.NodeResourcesBalancedAllocation,
	names.SchedulingGates,
	profile.LoadAware,
}

// initMetrics makes the metrics that the framework counts with. They are not registered,
// and so are not shown: those of Narwhal are. It happens once, since they are variables
// of their package.
var initMetrics = sync.OnceFunc(metrics.InitMetrics)

// makeFramework makes the plugins and what runs them.
func (c *Checker) makeFramework(ctx context.Context, client kubernetes.Interface, o Options) error {
	initMetrics()
	of, err := profileOf(o)
	if err != nil {
		return err
	}
	served, err := devicesServed(ctx, client)
	if c.noDevices = served == nil; err != nil {
		return err
	}
	var devices fwk.SharedDRAManager
	if c.noDevices {
		plugins := &of.Plugins.MultiPoint
		plugins.Enabled = slices.DeleteFunc(plugins.Enabled, func(p config.Plugin) bool { return p.Name == names.DynamicResources })
	} else if devices, err = c.makeDevices(ctx, client, served); err != nil {
		return err
	}
	options, registry, err := c.addOutOfTree(o, of)
	if err != nil {
		return err
	}
	if c.views != nil {
		c.views.register(registry)
	}
	c.framework, err = runtime.NewFramework(ctx, registry, of, append(options,
		runtime.WithClientSet(client),
		runtime.WithInformerFactory(c.factory),
		runtime.WithSnapshotSharedLister(c.cluster),
		runtime.WithSharedDRAManager(devices),
		runtime.WithSharedCSIManager(nodevolumelimits.NewCSIManager(c.factory.Storage().V1().CSINodes().Lister())),
		runtime.WithParallelism(o.Workers),
	)...)
	if err != nil {
		return fmt.Errorf("plugins of kube-scheduler: %w", err)
	}
	return nil
}

// addOutOfTree adds the plugins of a profile that are none of kube-scheduler's.
func (c *Checker) addOutOfTree(o Options, of *config.KubeSchedulerProfile) ([]runtime.Option, runtime.Registry, error) {
	registry := plugins.NewInTreeRegistry()
	if o.Profile == nil {
		return nil, registry, nil
	}
	var err error
	if c.outOfTree, err = outoftree.New(o.OutOfTree, o.Profile.Plugins); err != nil {
		return nil, nil, err
	}
	if c.outOfTree != nil {
		c.snapshot = newSnapshot()
		c.outOfTree.SetLister(c.snapshot)
	}
	c.outOfTree.AddTo(registry, of.Plugins)
	return c.outOfTree.RuntimeOptions(), registry, nil
}

// profileOf is the profile that is wanted, or the default profile of kube-scheduler, without scores.
func profileOf(o Options) (*config.KubeSchedulerProfile, error) {
	of := o.Profile.DeepCopy()
	if of == nil {
		var err error
		if of, err = profile.Default(); err != nil {
			return nil, err
		}
	}
	p := of.Plugins
	p.MultiPoint.Enabled = slices.DeleteFunc(p.MultiPoint.Enabled, func(plugin config.Plugin) bool {
		return slices.Contains(notAsked, plugin.Name)
	})
	none := config.PluginSet{Disabled: []config.Plugin{{Name: "*"}}}
	for _, point := range []*config.PluginSet{&p.PreEnqueue, &p.PostFilter, &p.PreScore, &p.Score, &p.Permit, &p.PostBind} {
		*point = none
	}
	p.QueueSort = config.PluginSet{Enabled: []config.Plugin{{Name: names.PrioritySort}}, Disabled: none.Disabled}
	p.Bind = config.PluginSet{Enabled: []config.Plugin{{Name: names.DefaultBinder}}, Disabled: none.Disabled}
	for _, args := range of.PluginConfig {
		if volumes, ok := args.Args.(*config.VolumeBindingArgs); ok && o.BindTimeout > 0 {
			volumes.BindTimeoutSeconds = int64((o.BindTimeout + time.Second - 1) / time.Second)
		}
	}
	return of, nil
}

// devicesServed is what the API server serves of devices in the version that the plugin reads; nil if that is nothing, as before
// Kubernetes 1.34. Informers of what is not served would be waited for without end.
func devicesServed(ctx context.Context, client kubernetes.Interface) (map[string]bool, error) {
	list, err := client.Discovery().ServerResourcesForGroupVersionWithContext(ctx, resourcev1.SchemeGroupVersion.String())
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("whether there are claims of devices: %w", err)
	}
	served := make(map[string]bool)
	for i := range list.APIResources {
		served[list.APIResources[i].Name] = true
	}
	return served, nil
}

// A slicesInformer is that of slices of devices, which checkers share. The tracker of each makes the same index, which is refused where it is there.
type slicesInformer struct {
	resourceinformers.TypedResourceSliceInformer
}

type sliceIndexInformer struct {
	resourceinformers.ResourceSliceIndexInformer
}

// TypedInformer implements resourceinformers.TypedResourceSliceInformer.
func (i slicesInformer) TypedInformer() resourceinformers.ResourceSliceIndexInformer {
	return sliceIndexInformer{i.TypedResourceSliceInformer.TypedInformer()}
}

// AddTypedIndexers implements cache.TypedSharedIndexInformer.
func (i sliceIndexInformer) AddTypedIndexers(indexers resourceinformers.ResourceSliceIndexers) error {
	indexers = maps.Clone(indexers)
	for name := range i.GetIndexer().GetIndexers() {
		delete(indexers, name)
	}
	return i.ResourceSliceIndexInformer.AddTypedIndexers(indexers)
}

// makeDevices makes what keeps which devices there are and which are taken, for dynamic
// resource allocation. Rules that taint devices count where they are served, which is from Kubernetes 1.37 on.
func (c *Checker) makeDevices(ctx context.Context, client kubernetes.Interface, served map[string]bool) (fwk.SharedDRAManager, error) {
	enabled := utilfeature.DefaultFeatureGate.Enabled
	of := c.factory.Resource()
	c.claims = assumecache.NewAssumeCache(klog.FromContext(ctx), of.V1().ResourceClaims().Informer(), "ResourceClaim", "", nil)
	options := tracker.Options{
		EnableDeviceTaintRules:   enabled(features.DRADeviceTaintRules) && served["devicetaintrules"],
		EnableConsumableCapacity: enabled(features.DRAConsumableCapacity),
		SliceInformer:            slicesInformer{of.V1().ResourceSlices()},
		KubeClient:               client,
	}
	if options.EnableDeviceTaintRules {
		options.TaintInformer = of.V1().DeviceTaintRules()
	}
	holders := newClaimHolders()
	c.claims.AddEventHandler(holders.handler())
	var err error
	if c.slices, err = tracker.StartTracker(ctx, options); err != nil {
		return nil, fmt.Errorf("resource slices: %w", err)
	}
	devices := dynamicresources.NewDRAManager(ctx, c.claims, c.slices, c.factory)
	c.views = &deviceViews{SharedDRAManager: devices, holders: holders, reserving: &c.reserving}
	if c.views.reaches, err = simplelru.NewLRU[types.UID, reach](reachesMax, nil); err != nil {
		return nil, err
	}
	devicesChanged := onAnyEvent(func() { c.views.changed.Add(1) })
	if _, err := c.slices.AddEventHandler(devicesChanged); err != nil {
		return nil, fmt.Errorf("resource slices: %w", err)
	}
	if err := c.watch(of.V1().DeviceClasses().Informer(), devicesChanged); err != nil {
		return nil, err
	}
	resolver, ok := devices.DeviceClassResolver().(*extendedresourcecache.ExtendedResourceCache)
	if !ok || resolver == nil {
		return c.views, nil // extended resources are not served by devices
	}
	// A change counts when the resolver knows of it, and not before.
	resolver.AddEventHandler(c.countOutside())
	resolver.AddEventHandler(onAnyEvent(func() { c.relabelled.Add(1) }))
	resolver.AddEventHandler(onAnyEvent(func() { c.devices.note(true) }))
	c.extended, c.devices = resolver, &deviceCount{classes: of.V1().DeviceClasses().Lister(), changed: true}
	if _, err := c.slices.AddEventHandler(onAnyEvent(func() { c.devices.note(false) })); err != nil {
		return nil, fmt.Errorf("resource slices: %w", err)
	}
	return c.views, c.watch(of.V1().DeviceClasses().Informer(), resolver)
}

// countOutside counts changes of what PreFilter reads of pods without claims and is
// neither a node nor a pod: labels of namespaces, and which extended resources are
// served by devices.
func (c *Checker) countOutside() cache.ResourceEventHandler {
	return onAnyEvent(func() { c.outside.Add(1) })
}

func onAnyEvent(changed func()) cache.ResourceEventHandler {
	return cache.ResourceEventHandlerFuncs{
		AddFunc:    func(any) { changed() },
		UpdateFunc: func(any, any) { changed() },
		DeleteFunc: func(any) { changed() },
	}
}

// countLabels counts namespaces whose labels change. One that is new has no pods.
func countLabels(count *atomic.Uint64) cache.ResourceEventHandler {
	return cache.ResourceEventHandlerFuncs{UpdateFunc: func(before, now any) {
		if !maps.Equal(before.(*v1.Namespace).Labels, now.(*v1.Namespace).Labels) {
			count.Add(1)
		}
	}}
}

// watch adds a handler, for which WaitForSync will wait.
func (c *Checker) watch(informer cache.SharedIndexInformer, handler cache.ResourceEventHandler) error {
	registration, err := informer.AddEventHandler(handler)
	if err != nil {
		return fmt.Errorf("informers: %w", err)
	}
	c.synced = append(c.synced, registration.HasSyncedChecker())
	return nil
}
