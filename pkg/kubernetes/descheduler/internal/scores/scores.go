// Package scores says which of the nodes where a pod fits kube-scheduler prefers, as its default profile does: by its
// score plugins for resources, run whole, and by package preferences for all else. What
// is scored by what only a filter knows is left out: volumes that are to be bound, and claims of devices.
package scores

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"
	"k8s.io/kubernetes/pkg/scheduler/framework/runtime"

	deschedulerframework "github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/framework"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/preferences"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/profile"
)

// used are the plugins that look at one node only, and what the framework needs without calling it.
var used = []string{
	names.NodeResourcesBalancedAllocation, names.NodeResourcesFit, names.PrioritySort, names.DefaultBinder,
}

// A Cluster is nodes with their pods. It is not safe for concurrent use.
type Cluster struct {
	ctx     context.Context // ends the goroutines of the plugins
	client  kubernetes.Interface
	factory informers.SharedInformerFactory
	made    map[bool]framework.Framework // by packing
	packing bool
	scorer  *preferences.Scorer   // of kube-scheduler's default profile
	own     *preferences.Scorer   // of the profile of this project's scheduler: the same one, unless SetProfile was called
	scorers []*preferences.Scorer // both, or the one that there is
	nodes   map[string]*framework.NodeInfo
	on      map[types.UID]*v1.Pod
	order   order
}

// New makes a Cluster without nodes and pods. It asks the factory for the informers of services and controllers,
// whose pods are spread by default, so the factory is started after it. The metrics of kube-scheduler must have
// been made before, as the Checker of package feasibility does.
func New(ctx context.Context, client kubernetes.Interface, factory informers.SharedInformerFactory) (*Cluster, error) {
	c := &Cluster{
		ctx: ctx, client: client, factory: factory, made: map[bool]framework.Framework{},
		nodes: map[string]*framework.NodeInfo{}, on: map[types.UID]*v1.Pod{},
	}
	var err error
	if c.scorer, err = preferences.New(factory, preferences.Options{}); err != nil {
		return nil, err
	}
	c.own, c.scorers = c.scorer, []*preferences.Scorer{c.scorer}
	return c, nil
}

// SetProfile has Best count as a profile says; nil is the default one of kube-scheduler. It is called once at most, before the
// factory is started and before anything is known of the cluster.
func (c *Cluster) SetProfile(of *config.KubeSchedulerProfile) (err error) {
	if of == nil {
		return nil
	}
	if c.own, err = preferences.New(c.factory, preferences.Options{Profile: of}); err != nil {
		return err
	}
	c.scorers = append(c.scorers, c.own)
	return nil
}

// Measures says where Measure is to have its measurements from; false if measured use does not count.
func (c *Cluster) Measures() (query deschedulerframework.UsageQuery, counts bool) {
	query, _, counts = c.own.Measures()
	return query, counts
}

// Measure has Best count what nodes use, as preferences.Scorer does.
func (c *Cluster) Measure(now time.Time, measured []deschedulerframework.Measurement) {
	c.own.Measure(now, measured)
}

// plugins are those for full nodes or for others, which are made when they are needed first.
func (c *Cluster) plugins() (framework.Framework, error) {
	made := c.made[c.packing]
	if made != nil {
		return made, nil
	}
	of, err := profileOf(c.packing)
	if err == nil {
		made, err = runtime.NewFramework(c.ctx, plugins.NewInTreeRegistry(), of, runtime.WithClientSet(c.client),
			runtime.WithInformerFactory(c.factory), runtime.WithParallelism(1))
	}
	if err != nil {
		return nil, fmt.Errorf("score plugins of kube-scheduler: %w", err)
	}
	c.made[c.packing] = made
	return made, nil
}

// profileOf is the default profile with the plugins that are used, which prefers full nodes or, as it is by default, others.
func profileOf(packs bool) (*config.KubeSchedulerProfile, error) {
	of, err := profile.Default()
	if err != nil {
		return nil, err
	}
	enabled := &of.Plugins.MultiPoint.Enabled
	*enabled = slices.DeleteFunc(*enabled, func(p config.Plugin) bool { return !slices.Contains(used, p.Name) })
	for _, args := range of.PluginConfig {
		if fit, ok := args.Args.(*config.NodeResourcesFitArgs); ok && packs {
			fit.ScoringStrategy.Type = config.MostAllocated
		}
	}
	return of, nil
}

// Best is those of some nodes that suit a pod best, beside their order: see preferences.Scorer.
func (c *Cluster) Best(pod *v1.Pod, nodes iter.Seq2[string, int64], most int) []string {
	return c.own.Best(pod, nodes, most)
}

// Pack has full nodes preferred, or those of which less is requested.
func (c *Cluster) Pack(packs bool) {
	if c.packing != packs {
		c.packing, c.order = packs, order{}
	}
}

// SetNode adds a node or replaces it.
func (c *Cluster) SetNode(node *v1.Node) {
	info := c.nodes[node.Name]
	if info == nil {
		info = framework.NewNodeInfo()
		c.nodes[node.Name] = info
	}
	info.SetNode(node)
	c.order.change(node.Name)
	for _, s := range c.scorers {
		s.SetNode(node)
	}
}

// RemoveNode forgets a node and the pods there.
func (c *Cluster) RemoveNode(name string) {
	if info := c.nodes[name]; info != nil {
		for _, p := range slices.Clone(info.Pods) {
			c.RemovePod(p.GetPod().UID)
		}
	}
	delete(c.nodes, name)
	c.order.change(name)
	for _, s := range c.scorers {
		s.RemoveNode(name)
	}
}

// SetPod counts a pod on the node that it names, if that is known, in place of what was known of it.
func (c *Cluster) SetPod(pod *v1.Pod) {
	c.RemovePod(pod.UID)
	if info := c.nodes[pod.Spec.NodeName]; info != nil {
		info.AddPod(pod)
		c.order.change(pod.Spec.NodeName)
		c.on[pod.UID] = pod
		for _, s := range c.scorers {
			s.SetPod(pod)
		}
	}
}

// RemovePod counts a pod no more.
func (c *Cluster) RemovePod(uid types.UID) {
	before := c.on[uid]
	if before == nil {
		return
	}
	delete(c.on, uid)
	for _, s := range c.scorers {
		s.RemovePod(before)
	}
	if info := c.nodes[before.Spec.NodeName]; info != nil {
		_ = info.RemovePod(klog.Logger{}, before) // it is there
		c.order.change(before.Spec.NodeName)
	}
}

// Top is those of some nodes where a pod fits that kube-scheduler prefers to all others of them: it takes any of these. They are
// in the order in which they are given. An error is of a plugin.
func (c *Cluster) Top(ctx context.Context, pod *v1.Pod, nodes []string) ([]string, error) {
	var infos []fwk.NodeInfo
	for _, name := range nodes {
		if info := c.nodes[name]; info != nil {
			infos = append(infos, info)
		}
	}
	of, err := c.plugins()
	if err != nil {
		return nil, err
	}
	state := framework.NewCycleState()
	if status := of.RunPreScorePlugins(ctx, state, pod, infos); !status.IsSuccess() {
		return nil, status.AsError()
	}
	scored, status := of.RunScorePlugins(ctx, state, pod, infos)
	if !status.IsSuccess() {
		return nil, status.AsError()
	}
	return c.scorer.Top(pod, func(yield func(string, int64) bool) {
		for _, node := range scored {
			if !yield(node.Name, node.TotalScore) {
				return
			}
		}
	}), nil
}
