package simulation

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/backend/cache"
	kube "k8s.io/kubernetes/pkg/scheduler/framework"
	kubeplugins "k8s.io/kubernetes/pkg/scheduler/framework/plugins"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"
	"k8s.io/kubernetes/pkg/scheduler/framework/runtime"
	"k8s.io/kubernetes/pkg/scheduler/metrics"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/framework"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/pods"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/profile"
)

// A kubeScheduler is the framework of kube-scheduler with the filters and scores of its default profile, whole. It is told of a
// cluster anew for each pod, and knows nothing of the descheduler.
type kubeScheduler struct {
	t         testing.TB
	factory   informers.SharedInformerFactory
	framework kube.Framework
	snapshot  *cache.Snapshot
	chance    *rand.Rand // which of the nodes with the highest score it takes
}

// NodeInfos implements fwk.SharedLister, like the next: the cluster as it is now.
func (k *kubeScheduler) NodeInfos() fwk.NodeInfoLister { return k.snapshot.NodeInfos() }

// StorageInfos implements fwk.SharedLister.
func (k *kubeScheduler) StorageInfos() fwk.StorageInfoLister { return k.snapshot.StorageInfos() }

// PodGroupStates implements fwk.SharedLister.
func (k *kubeScheduler) PodGroupStates() fwk.PodGroupStateLister { return k.snapshot.PodGroupStates() }

// PodGroups implements fwk.SharedLister.
func (k *kubeScheduler) PodGroups() fwk.PodGroupLister { return k.snapshot.PodGroups() }

// CompositePodGroupStates implements fwk.SharedLister.
func (k *kubeScheduler) CompositePodGroupStates() fwk.CompositePodGroupStateLister {
	return k.snapshot.CompositePodGroupStates()
}

// CompositePodGroups implements fwk.SharedLister.
func (k *kubeScheduler) CompositePodGroups() fwk.CompositePodGroupLister {
	return k.snapshot.CompositePodGroups()
}

// newKubeScheduler makes one that prefers free nodes, as it is by default, or full ones.
func newKubeScheduler(t testing.TB, packs bool) *kubeScheduler {
	t.Helper()
	metrics.InitMetrics()
	client := fake.NewClientset()
	k := &kubeScheduler{t: t, factory: informers.NewSharedInformerFactory(client, 0)}
	of, err := profile.Default()
	assert.NilError(t, err)
	enabled := &of.Plugins.MultiPoint.Enabled
	*enabled = slices.DeleteFunc(*enabled, func(p config.Plugin) bool { return p.Name == names.DynamicResources }) // there are no claims
	for _, args := range of.PluginConfig {
		if fit, ok := args.Args.(*config.NodeResourcesFitArgs); ok && packs {
			fit.ScoringStrategy.Type = config.MostAllocated
		}
	}
	k.framework, err = runtime.NewFramework(t.Context(), kubeplugins.NewInTreeRegistry(), of, runtime.WithClientSet(client),
		runtime.WithInformerFactory(k.factory), runtime.WithSnapshotSharedLister(k), runtime.WithParallelism(1))
	assert.NilError(t, err)
	k.factory.Start(t.Context().Done())
	t.Cleanup(k.factory.Shutdown)
	k.factory.WaitForCacheSync(t.Context().Done())
	return k
}

// place is the node that it takes for a pod; empty: none has room.
func (k *kubeScheduler) place(o framework.Objects, pod *v1.Pod) string {
	k.t.Helper()
	best := k.best(o, pod)
	if len(best) == 0 {
		return ""
	}
	return best[k.chance.IntN(len(best))]
}

// best are the nodes with the highest score for a pod, of which it takes any.
func (k *kubeScheduler) best(o framework.Objects, pod *v1.Pod) (best []string) {
	k.t.Helper()
	k.snapshot = cache.NewSnapshot(slices.DeleteFunc(slices.Clone(o.Pods), pods.IsTerminal), o.Nodes)
	infos, err := k.snapshot.NodeInfos().List()
	assert.NilError(k.t, err)
	slices.SortFunc(infos, func(a, b fwk.NodeInfo) int { return strings.Compare(a.Node().Name, b.Node().Name) })
	fit, state := k.fitting(pod, infos)
	if len(fit) == 0 {
		return nil
	}
	assert.NilError(k.t, k.framework.RunPreScorePlugins(k.t.Context(), state, pod, fit).AsError())
	scored, status := k.framework.RunScorePlugins(k.t.Context(), state, pod, fit)
	assert.NilError(k.t, status.AsError())
	highest := int64(-1)
	for _, node := range scored {
		if node.TotalScore > highest {
			best, highest = nil, node.TotalScore
		}
		if node.TotalScore == highest {
			best = append(best, node.Name)
		}
	}
	return best
}

// fitting are the nodes that all filters take.
func (k *kubeScheduler) fitting(pod *v1.Pod, infos []fwk.NodeInfo) (fit []fwk.NodeInfo, state fwk.CycleState) {
	k.t.Helper()
	state = kube.NewCycleState()
	only, status, _ := k.framework.RunPreFilterPlugins(k.t.Context(), state, pod)
	if status.IsRejected() {
		return nil, state
	}
	assert.NilError(k.t, status.AsError())
	for _, info := range infos {
		if (only.AllNodes() || only.NodeNames.Has(info.Node().Name)) && k.framework.RunFilterPlugins(k.t.Context(), state, pod, info).IsSuccess() {
			fit = append(fit, info)
		}
	}
	return fit, state
}
