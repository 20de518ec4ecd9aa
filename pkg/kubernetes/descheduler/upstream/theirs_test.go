package upstream

import (
	"cmp"
	"context"
	"math/rand/v2"
	"slices"
	"testing"

	"gotest.tools/v3/assert"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	ktesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/descheduler/pkg/api"
	"sigs.k8s.io/descheduler/pkg/api/v1alpha2"
	"sigs.k8s.io/descheduler/pkg/descheduler/evictions"
	"sigs.k8s.io/descheduler/pkg/descheduler/node"
	"sigs.k8s.io/descheduler/pkg/descheduler/pod"
	"sigs.k8s.io/descheduler/pkg/descheduler/scheme"
	"sigs.k8s.io/descheduler/pkg/features"
	"sigs.k8s.io/descheduler/pkg/framework/pluginregistry"
	"sigs.k8s.io/descheduler/pkg/framework/plugins/defaultevictor"
	"sigs.k8s.io/descheduler/pkg/framework/plugins/nodeutilization"
	"sigs.k8s.io/descheduler/pkg/framework/plugins/podlifetime"
	"sigs.k8s.io/descheduler/pkg/framework/plugins/removeduplicates"
	"sigs.k8s.io/descheduler/pkg/framework/plugins/removefailedpods"
	"sigs.k8s.io/descheduler/pkg/framework/plugins/removepodshavingtoomanyrestarts"
	"sigs.k8s.io/descheduler/pkg/framework/plugins/removepodsviolatinginterpodantiaffinity"
	"sigs.k8s.io/descheduler/pkg/framework/plugins/removepodsviolatingnodeaffinity"
	"sigs.k8s.io/descheduler/pkg/framework/plugins/removepodsviolatingnodetaints"
	"sigs.k8s.io/descheduler/pkg/framework/plugins/removepodsviolatingtopologyspreadconstraint"
	"sigs.k8s.io/descheduler/pkg/framework/profile"
	"sigs.k8s.io/descheduler/pkg/framework/types"
)

// init fills the registry of upstream, which its policies are read with. The package that does
// this there has its whole program with it.
func init() {
	r := pluginregistry.NewRegistry()
	pluginregistry.PluginRegistry = r
	register := pluginregistry.Register
	register(defaultevictor.PluginName, defaultevictor.New, &defaultevictor.DefaultEvictor{}, &defaultevictor.DefaultEvictorArgs{},
		defaultevictor.ValidateDefaultEvictorArgs, defaultevictor.SetDefaults_DefaultEvictorArgs, r)
	register(nodeutilization.LowNodeUtilizationPluginName, nodeutilization.NewLowNodeUtilization,
		&nodeutilization.LowNodeUtilization{}, &nodeutilization.LowNodeUtilizationArgs{},
		nodeutilization.ValidateLowNodeUtilizationArgs, nodeutilization.SetDefaults_LowNodeUtilizationArgs, r)
	register(nodeutilization.HighNodeUtilizationPluginName, nodeutilization.NewHighNodeUtilization,
		&nodeutilization.HighNodeUtilization{}, &nodeutilization.HighNodeUtilizationArgs{},
		nodeutilization.ValidateHighNodeUtilizationArgs, nodeutilization.SetDefaults_HighNodeUtilizationArgs, r)
	register(podlifetime.PluginName, podlifetime.New, &podlifetime.PodLifeTime{}, &podlifetime.PodLifeTimeArgs{},
		podlifetime.ValidatePodLifeTimeArgs, podlifetime.SetDefaults_PodLifeTimeArgs, r)
	register(removeduplicates.PluginName, removeduplicates.New, &removeduplicates.RemoveDuplicates{}, &removeduplicates.RemoveDuplicatesArgs{},
		removeduplicates.ValidateRemoveDuplicatesArgs, removeduplicates.SetDefaults_RemoveDuplicatesArgs, r)
	register(removefailedpods.PluginName, removefailedpods.New, &removefailedpods.RemoveFailedPods{}, &removefailedpods.RemoveFailedPodsArgs{},
		removefailedpods.ValidateRemoveFailedPodsArgs, removefailedpods.SetDefaults_RemoveFailedPodsArgs, r)
	register(removepodshavingtoomanyrestarts.PluginName, removepodshavingtoomanyrestarts.New,
		&removepodshavingtoomanyrestarts.RemovePodsHavingTooManyRestarts{}, &removepodshavingtoomanyrestarts.RemovePodsHavingTooManyRestartsArgs{},
		removepodshavingtoomanyrestarts.ValidateRemovePodsHavingTooManyRestartsArgs,
		removepodshavingtoomanyrestarts.SetDefaults_RemovePodsHavingTooManyRestartsArgs, r)
	register(removepodsviolatinginterpodantiaffinity.PluginName, removepodsviolatinginterpodantiaffinity.New,
		&removepodsviolatinginterpodantiaffinity.RemovePodsViolatingInterPodAntiAffinity{},
		&removepodsviolatinginterpodantiaffinity.RemovePodsViolatingInterPodAntiAffinityArgs{},
		removepodsviolatinginterpodantiaffinity.ValidateRemovePodsViolatingInterPodAntiAffinityArgs,
		removepodsviolatinginterpodantiaffinity.SetDefaults_RemovePodsViolatingInterPodAntiAffinityArgs, r)
	register(removepodsviolatingnodeaffinity.PluginName, removepodsviolatingnodeaffinity.New,
		&removepodsviolatingnodeaffinity.RemovePodsViolatingNodeAffinity{}, &removepodsviolatingnodeaffinity.RemovePodsViolatingNodeAffinityArgs{},
		removepodsviolatingnodeaffinity.ValidateRemovePodsViolatingNodeAffinityArgs,
		removepodsviolatingnodeaffinity.SetDefaults_RemovePodsViolatingNodeAffinityArgs, r)
	register(removepodsviolatingnodetaints.PluginName, removepodsviolatingnodetaints.New,
		&removepodsviolatingnodetaints.RemovePodsViolatingNodeTaints{}, &removepodsviolatingnodetaints.RemovePodsViolatingNodeTaintsArgs{},
		removepodsviolatingnodetaints.ValidateRemovePodsViolatingNodeTaintsArgs,
		removepodsviolatingnodetaints.SetDefaults_RemovePodsViolatingNodeTaintsArgs, r)
	register(removepodsviolatingtopologyspreadconstraint.PluginName, removepodsviolatingtopologyspreadconstraint.New,
		&removepodsviolatingtopologyspreadconstraint.RemovePodsViolatingTopologySpreadConstraint{},
		&removepodsviolatingtopologyspreadconstraint.RemovePodsViolatingTopologySpreadConstraintArgs{},
		removepodsviolatingtopologyspreadconstraint.ValidateRemovePodsViolatingTopologySpreadConstraintArgs,
		removepodsviolatingtopologyspreadconstraint.SetDefaults_RemovePodsViolatingTopologySpreadConstraintArgs, r)
}

// A peer is upstream at work in a world.
type peer struct {
	world   *world
	client  *fake.Clientset
	factory informers.SharedInformerFactory
	nodes   []*v1.Node // those that are ready
	pods    []*v1.Pod
	gone    map[string]bool // that were evicted, as in its dry run
	evicted []*v1.Pod
}

// theirs are the pods that upstream evicts in one cycle. It is told of nodes and pods in an order of this number, which is chance
// in its caches too; 0 is by name.
func theirs(t testing.TB, w *world, order uint64) []*v1.Pod {
	t.Helper()
	p := newPeer(w)
	if order != 0 {
		r := rand.New(rand.NewPCG(order, 0))
		r.Shuffle(len(p.nodes), func(i, j int) { p.nodes[i], p.nodes[j] = p.nodes[j], p.nodes[i] })
		r.Shuffle(len(p.pods), func(i, j int) { p.pods[i], p.pods[j] = p.pods[j], p.pods[i] })
	}
	p.client.AddReactor("create", "pods", func(a ktesting.Action) (bool, runtime.Object, error) {
		e := a.(ktesting.CreateAction).GetObject().(*policyv1.Eviction)
		for _, pod := range w.pods {
			if pod.Namespace == e.Namespace && pod.Name == e.Name {
				p.evicted = append(p.evicted, pod)
				p.gone[pod.Namespace+"/"+pod.Name] = true
				assert.Check(t, p.factory.Core().V1().Pods().Informer().GetIndexer().Delete(pod))
			}
		}
		return true, nil, nil
	})
	p.factory = informers.NewSharedInformerFactory(p.client, 0)
	of := p.profile(t)
	for _, n := range w.nodes { // nothing runs: the caches are filled by hand
		assert.NilError(t, p.factory.Core().V1().Nodes().Informer().GetIndexer().Add(n))
	}
	for _, pod := range w.pods {
		assert.NilError(t, p.factory.Core().V1().Pods().Informer().GetIndexer().Add(pod))
	}
	if nodes := p.nodes; len(nodes) > 1 {
		if status := of.RunDeschedulePlugins(t.Context(), nodes); status != nil {
			assert.NilError(t, status.Err)
		}
		if status := of.RunBalancePlugins(t.Context(), nodes); status != nil {
			assert.NilError(t, status.Err)
		}
	}
	return p.evicted
}

// newPeer is told of nodes and pods by name.
func newPeer(w *world) *peer {
	p := &peer{world: w, client: &fake.Clientset{}, gone: map[string]bool{}}
	for _, n := range w.nodes {
		if node.IsReady(n) {
			p.nodes = append(p.nodes, n)
		}
	}
	p.pods = slices.SortedFunc(slices.Values(w.pods), func(a, b *v1.Pod) int {
		return cmp.Compare(a.Namespace+a.Name, b.Namespace+b.Name)
	})
	return p
}

type runner interface {
	RunDeschedulePlugins(context.Context, []*v1.Node) *types.Status
	RunBalancePlugins(context.Context, []*v1.Node) *types.Status
}

// profile is the first one of the policy, built.
func (p *peer) profile(t testing.TB) runner {
	t.Helper()
	policy := &api.DeschedulerPolicy{}
	decoder := scheme.Codecs.UniversalDecoder(v1alpha2.SchemeGroupVersion, api.SchemeGroupVersion)
	assert.NilError(t, runtime.DecodeInto(decoder, []byte(p.world.policy), policy), "%s", p.world.policy)
	for _, c := range policy.Profiles[0].PluginConfigs {
		known := pluginregistry.PluginRegistry[c.Name]
		assert.NilError(t, known.PluginArgValidator(c.Args), "%s", p.world.policy)
		known.PluginArgDefaulter(c.Args)
	}
	informer := p.factory.Core().V1().Pods().Informer()
	evictor, err := evictions.NewPodEvictor(t.Context(), p.client, &events.FakeRecorder{}, informer,
		features.DefaultMutableFeatureGate, evictions.NewOptions().
			WithMaxPodsToEvictPerNode(policy.MaxNoOfPodsToEvictPerNode).
			WithMaxPodsToEvictPerNamespace(policy.MaxNoOfPodsToEvictPerNamespace).
			WithMaxPodsToEvictTotal(policy.MaxNoOfPodsToEvictTotal))
	assert.NilError(t, err)
	of, err := profile.NewProfile(t.Context(), policy.Profiles[0], pluginregistry.PluginRegistry,
		profile.WithClientSet(p.client), profile.WithSharedInformerFactory(p.factory),
		profile.WithPodEvictor(evictor), profile.WithGetPodsAssignedToNodeFnc(p.assigned))
	assert.NilError(t, err)
	return of
}

// assigned are the pods of a node.
func (p *peer) assigned(name string, filter pod.FilterFunc) ([]*v1.Pod, error) {
	var of []*v1.Pod
	for _, each := range p.pods {
		if each.Spec.NodeName == name && !p.gone[each.Namespace+"/"+each.Name] && (filter == nil || filter(each)) {
			of = append(of, each)
		}
	}
	return of, nil
}
