package preferences

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"gotest.tools/v3/assert"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	internalcache "k8s.io/kubernetes/pkg/scheduler/backend/cache"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"
	"k8s.io/kubernetes/pkg/scheduler/framework/runtime"
	"k8s.io/kubernetes/pkg/scheduler/metrics"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/profile"
)

// A world is a cluster in which a Scorer and the score plugins of kube-scheduler see the same.
type world struct {
	t       testing.TB
	rand    *rand.Rand
	scorer  *Scorer
	factory informers.SharedInformerFactory
	plugins framework.Framework

	nodes    []*v1.Node
	pods     []*v1.Pod // on nodes
	made     int
	snapshot *internalcache.Snapshot
}

// NodeInfos and the next are the cluster as it is now, for the plugins.
func (w *world) NodeInfos() fwk.NodeInfoLister           { return w.snapshot.NodeInfos() }
func (w *world) StorageInfos() fwk.StorageInfoLister     { return w.snapshot.StorageInfos() }
func (w *world) PodGroupStates() fwk.PodGroupStateLister { return w.snapshot.PodGroupStates() }
func (w *world) PodGroups() fwk.PodGroupLister           { return w.snapshot.PodGroups() }
func (w *world) CompositePodGroupStates() fwk.CompositePodGroupStateLister {
	return w.snapshot.CompositePodGroupStates()
}

func (w *world) CompositePodGroups() fwk.CompositePodGroupLister {
	return w.snapshot.CompositePodGroups()
}

func newWorld(t testing.TB, seed uint64) *world {
	t.Helper()
	metrics.InitMetrics()
	w := &world{t: t, rand: rand.New(rand.NewPCG(seed, 1))}
	client := fake.NewClientset()
	w.factory = informers.NewSharedInformerFactory(client, 0)
	var err error
	of := w.scoring()
	w.scorer, err = New(w.factory, Options{Profile: of})
	assert.NilError(t, err)
	w.plugins, err = runtime.NewFramework(t.Context(), plugins.NewInTreeRegistry(), of,
		runtime.WithClientSet(client), runtime.WithInformerFactory(w.factory),
		runtime.WithSnapshotSharedLister(w), runtime.WithParallelism(1))
	assert.NilError(t, err)
	for i := range 3 {
		w.setNamespace(fmt.Sprintf("team-%d", i), i%2)
	}
	for range 2 + w.rand.IntN(12) {
		w.addNode()
	}
	return w
}

// scoring is the default profile with those score plugins that look at more than resources. Now and then it
// has other weights and arguments.
func (w *world) scoring() *config.KubeSchedulerProfile {
	of, err := profile.Default()
	assert.NilError(w.t, err)
	var enabled []config.Plugin
	for _, plugin := range of.Plugins.MultiPoint.Enabled {
		switch plugin.Name {
		case names.TaintToleration, names.NodeAffinity, names.PodTopologySpread, names.InterPodAffinity, names.ImageLocality,
			names.PrioritySort, names.DefaultBinder:
			enabled = append(enabled, plugin)
		}
	}
	of.Plugins.MultiPoint.Enabled = enabled
	if w.chance(50) {
		of.Plugins.Score.Enabled = []config.Plugin{{Name: names.PodTopologySpread, Weight: 4}}
		of.Plugins.Score.Disabled = []config.Plugin{{Name: pick(w, names.NodeAffinity, names.TaintToleration, "none", "*")}}
	}
	for i := range of.PluginConfig {
		switch args := of.PluginConfig[i].Args.(type) {
		case *config.PodTopologySpreadArgs:
			if w.chance(30) {
				args.DefaultingType = config.ListDefaulting
				args.DefaultConstraints = []v1.TopologySpreadConstraint{{MaxSkew: 1, TopologyKey: "rack", WhenUnsatisfiable: v1.ScheduleAnyway}}
			}
		case *config.NodeAffinityArgs:
			if w.chance(30) {
				args.AddedAffinity = &v1.NodeAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []v1.PreferredSchedulingTerm{{
					Weight: 7, Preference: v1.NodeSelectorTerm{MatchExpressions: []v1.NodeSelectorRequirement{w.onDisk()}},
				}}}
			}
		case *config.InterPodAffinityArgs:
			args.HardPodAffinityWeight = int32(w.rand.IntN(5))
			args.IgnorePreferredTermsOfExistingPods = w.chance(30)
		}
	}
	return of
}

// pick is one of some values.
func pick[T any](w *world, values ...T) T { return values[w.rand.IntN(len(values))] }

func (w *world) chance(percent int) bool { return w.rand.IntN(100) < percent }

func (w *world) setNamespace(name string, tier int) {
	object := &v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"tier": fmt.Sprint(tier)}}}
	assert.NilError(w.t, w.factory.Core().V1().Namespaces().Informer().GetIndexer().Add(object))
	w.scorer.changed()
}

func (w *world) addNode() {
	w.made++
	name := fmt.Sprintf("node-%02d", w.made)
	node := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
	w.relabelNode(node)
	w.pullImages(node)
	w.nodes = append(w.nodes, node)
	w.scorer.SetNode(node)
}

// relabelNode gives a node labels and taints; now and then one has no zone or no host name.
func (w *world) relabelNode(node *v1.Node) {
	node.Labels = map[string]string{"disk": pick(w, "ssd", "hdd")}
	if w.chance(90) {
		node.Labels[v1.LabelHostname] = node.Name
	}
	if w.chance(85) {
		node.Labels[v1.LabelTopologyZone] = pick(w, "a", "b", "c")
	}
	if w.chance(50) {
		node.Labels["rack"] = pick(w, "r1", "r2", "r3", "r4")
	}
	node.Spec.Taints = nil
	if w.chance(25) {
		node.Spec.Taints = append(node.Spec.Taints, v1.Taint{Key: "spot", Value: "yes", Effect: v1.TaintEffectPreferNoSchedule})
	}
	if w.chance(15) {
		node.Spec.Taints = append(node.Spec.Taints, v1.Taint{Key: pick(w, "old", "gpu"), Effect: pick(w, v1.TaintEffectPreferNoSchedule, v1.TaintEffectNoSchedule)})
	}
}

// pullImages gives a node some of four images, of which one is too small to count and one larger than what counts.
func (w *world) pullImages(node *v1.Node) {
	node.Status.Images = nil
	for i, name := range []string{"web:latest", "host:5000/db:latest", "cache:1", "model:2"} {
		if w.chance(50) {
			node.Status.Images = append(node.Status.Images, v1.ContainerImage{
				Names: []string{name, "sha256:" + name}, SizeBytes: int64([]int{700e6, 40e6, 5e6, 9e9}[i] + w.rand.IntN(3)*10_000_019),
			})
		}
	}
}

// changeNode changes a node, takes it away, or has it and another one come back, one in the place of the other.
func (w *world) changeNode() {
	i := w.rand.IntN(len(w.nodes))
	if other := w.nodes[0]; w.chance(20) && i > 0 {
		w.scorer.RemoveNode(other.Name)
		w.scorer.RemoveNode(w.nodes[i].Name)
		w.scorer.SetNode(other)
		w.scorer.SetNode(w.nodes[i])
		return
	}
	if w.chance(30) && len(w.nodes) > 1 {
		w.scorer.RemoveNode(w.nodes[i].Name)
		w.nodes = append(w.nodes[:i:i], w.nodes[i+1:]...)
		return
	}
	changed := w.nodes[i].DeepCopy()
	if w.chance(50) {
		w.relabelNode(changed)
	}
	w.pullImages(changed)
	w.nodes[i] = changed
	w.scorer.SetNode(changed)
}

// newPod is a pod of one of a few kinds.
func (w *world) newPod() *v1.Pod {
	w.made++
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: pick(w, "team-0", "team-1", "team-2"), Name: fmt.Sprintf("pod-%03d", w.made), UID: types.UID(fmt.Sprint(w.made)),
		Labels: map[string]string{"app": pick(w, "web", "db", "cache"), "version": pick(w, "1", "2")},
	}}
	if w.chance(20) {
		pod.Labels[batchv1.JobCompletionIndexAnnotation] = pick(w, "0", "1", "2")
	}
	if w.chance(40) {
		pod.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: pod.Labels["app"], Controller: new(true)}}
	}
	for range w.rand.IntN(3) {
		if w.chance(40) {
			pod.Spec.TopologySpreadConstraints = append(pod.Spec.TopologySpreadConstraints, w.newConstraint())
		}
	}
	if w.chance(30) {
		pod.Spec.Tolerations = append(pod.Spec.Tolerations, v1.Toleration{Key: pick(w, "spot", "old", "gpu"), Operator: v1.TolerationOpExists})
	}
	if w.chance(50) {
		pod.Spec.Affinity = w.newAffinity()
	}
	for range 1 + w.rand.IntN(2) {
		pod.Spec.Containers = append(pod.Spec.Containers, v1.Container{Image: pick(w, "web", "host:5000/db", "cache:1", "none:3")})
	}
	if w.chance(20) {
		pod.Spec.InitContainers = []v1.Container{{Image: "model:2"}}
	}
	if w.chance(20) {
		pod.Spec.Volumes = []v1.Volume{{VolumeSource: v1.VolumeSource{Image: &v1.ImageVolumeSource{Reference: pick(w, "model:2", "web")}}}}
	}
	return pod
}

func (w *world) newConstraint() v1.TopologySpreadConstraint {
	constraint := v1.TopologySpreadConstraint{
		TopologyKey: pick(w, v1.LabelHostname, v1.LabelTopologyZone, "rack"), MaxSkew: int32(1 + w.rand.IntN(3)),
		WhenUnsatisfiable: pick(w, v1.ScheduleAnyway, v1.ScheduleAnyway, v1.DoNotSchedule), LabelSelector: w.newSelector(),
	}
	if w.chance(25) {
		constraint.MatchLabelKeys = []string{"version"}
	}
	if w.chance(25) {
		constraint.NodeAffinityPolicy = new(pick(w, v1.NodeInclusionPolicyHonor, v1.NodeInclusionPolicyIgnore))
	}
	if w.chance(25) {
		constraint.NodeTaintsPolicy = new(pick(w, v1.NodeInclusionPolicyHonor, v1.NodeInclusionPolicyIgnore))
	}
	return constraint
}

func (w *world) newSelector() *metav1.LabelSelector {
	if w.chance(20) {
		return &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{
			Key: "app", Operator: pick(w, metav1.LabelSelectorOpIn, metav1.LabelSelectorOpNotIn), Values: []string{"web", "db"},
		}}}
	}
	if w.chance(5) {
		return &metav1.LabelSelector{MatchLabels: map[string]string{batchv1.JobCompletionIndexAnnotation: pick(w, "0", "1", "2")}}
	}
	return &metav1.LabelSelector{MatchLabels: map[string]string{"app": pick(w, "web", "db", "cache")}}
}

func (w *world) newAffinity() *v1.Affinity {
	affinity := &v1.Affinity{}
	if w.chance(30) {
		affinity.NodeAffinity = &v1.NodeAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []v1.PreferredSchedulingTerm{{
			Weight: int32(1 + w.rand.IntN(100)), Preference: v1.NodeSelectorTerm{MatchExpressions: []v1.NodeSelectorRequirement{w.onDisk()}},
		}}}
	}
	if w.chance(20) {
		if affinity.NodeAffinity == nil {
			affinity.NodeAffinity = &v1.NodeAffinity{}
		}
		affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution = &v1.NodeSelector{
			NodeSelectorTerms: []v1.NodeSelectorTerm{{MatchExpressions: []v1.NodeSelectorRequirement{w.onDisk()}}},
		}
	}
	if w.chance(40) {
		affinity.PodAffinity = &v1.PodAffinity{PreferredDuringSchedulingIgnoredDuringExecution: w.newTerms()}
		if w.chance(30) {
			affinity.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution = []v1.PodAffinityTerm{w.newTerm()}
		}
	}
	if w.chance(40) {
		affinity.PodAntiAffinity = &v1.PodAntiAffinity{PreferredDuringSchedulingIgnoredDuringExecution: w.newTerms()}
	}
	return affinity
}

func (w *world) onDisk() v1.NodeSelectorRequirement {
	return v1.NodeSelectorRequirement{Key: "disk", Operator: v1.NodeSelectorOpIn, Values: []string{pick(w, "ssd", "hdd")}}
}

func (w *world) newTerms() []v1.WeightedPodAffinityTerm {
	terms := make([]v1.WeightedPodAffinityTerm, 1+w.rand.IntN(2))
	for i := range terms {
		terms[i] = v1.WeightedPodAffinityTerm{Weight: int32(1 + w.rand.IntN(100)), PodAffinityTerm: w.newTerm()}
	}
	return terms
}

func (w *world) newTerm() v1.PodAffinityTerm {
	term := v1.PodAffinityTerm{TopologyKey: pick(w, v1.LabelHostname, v1.LabelTopologyZone, "rack"), LabelSelector: w.newSelector()}
	switch w.rand.IntN(4) {
	case 0:
		term.Namespaces = []string{"team-1", "team-2"}
	case 1:
		term.NamespaceSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"tier": "1"}}
	case 2:
		term.MatchLabelKeys = []string{"version"}
	}
	return term
}

// step changes the cluster a little.
func (w *world) step() {
	switch w.rand.IntN(10) {
	case 0:
		w.changeNode()
	case 1:
		w.addNode()
	case 2, 3:
		w.changePod()
	case 4:
		w.setSelecting()
	case 5:
		w.setNamespace(pick(w, "team-0", "team-1", "team-2"), w.rand.IntN(2))
	default:
		w.place(w.newPod())
	}
}

// place puts a pod on some node; it may be one that goes later, and now and then one that is not known.
func (w *world) place(pod *v1.Pod) {
	pod.Spec.NodeName = w.nodes[w.rand.IntN(len(w.nodes))].Name
	w.pods = append(w.pods, pod)
	if w.chance(50) { // as when the core has decided, and later the pod is bound
		waiting := pod.DeepCopy()
		waiting.Spec.NodeName = ""
		w.scorer.PlacePod(waiting, pod.Spec.NodeName)
		if w.chance(50) {
			return
		}
	}
	w.scorer.SetPod(pod)
}

// changePod changes the labels of a pod, begins to end it, or ends it.
func (w *world) changePod() {
	if len(w.pods) == 0 {
		return
	}
	i := w.rand.IntN(len(w.pods))
	changed := w.pods[i].DeepCopy()
	switch w.rand.IntN(5) {
	case 4: // its binding failed, and it was placed elsewhere
		changed.Spec.NodeName = w.nodes[w.rand.IntN(len(w.nodes))].Name
	case 0:
		changed.Labels["app"] = pick(w, "web", "db", "cache")
	case 1:
		changed.DeletionTimestamp = &metav1.Time{}
	case 2:
		changed.Status.Phase = v1.PodSucceeded
		w.pods = append(w.pods[:i:i], w.pods[i+1:]...)
		w.scorer.SetPod(changed)
		return
	default:
		w.scorer.RemovePod(w.pods[i])
		w.pods = append(w.pods[:i:i], w.pods[i+1:]...)
		return
	}
	w.pods[i] = changed
	w.scorer.SetPod(changed)
}

// setSelecting makes a service or controller that selects pods, or takes it away.
func (w *world) setSelecting() {
	space, app := pick(w, "team-0", "team-1", "team-2"), pick(w, "web", "db", "cache")
	meta := metav1.ObjectMeta{Namespace: space, Name: app}
	selects := map[string]string{"app": app}
	if w.chance(30) {
		selects["version"] = "1"
	}
	informer := w.factory.Core().V1().Services().Informer()
	var object any = &v1.Service{ObjectMeta: meta, Spec: v1.ServiceSpec{Selector: selects}}
	if w.chance(50) {
		informer = w.factory.Apps().V1().ReplicaSets().Informer()
		object = &appsv1.ReplicaSet{ObjectMeta: meta, Spec: appsv1.ReplicaSetSpec{Selector: &metav1.LabelSelector{MatchLabels: selects}}}
	}
	if w.chance(30) {
		assert.NilError(w.t, informer.GetIndexer().Delete(object))
	} else {
		assert.NilError(w.t, informer.GetIndexer().Add(object))
	}
	w.scorer.objects.changes.Add(1)
}

// asked is what kube-scheduler gives each node on which a pod may run, and what the Scorer does.
func (w *world) asked(pod *v1.Pod) (nodes []string, theirs, ours []int64) {
	placed := slices.DeleteFunc(slices.Clone(w.pods), func(p *v1.Pod) bool {
		return !slices.ContainsFunc(w.nodes, func(n *v1.Node) bool { return n.Name == p.Spec.NodeName })
	})
	w.snapshot = internalcache.NewSnapshot(placed, w.nodes)
	infos, err := w.snapshot.NodeInfos().List()
	assert.NilError(w.t, err)
	c := w.scorer.classOf(pod)
	on := &scratch{}
	var fit []fwk.NodeInfo
	for _, info := range infos {
		name := info.Node().Name
		if slot := w.scorer.slots[name]; c.runs[slot] {
			fit, nodes = append(fit, info), append(nodes, name)
			on.add(name, slot, 0)
		}
	}
	if len(fit) == 0 {
		return nil, nil, nil
	}
	w.scorer.score(c, on)
	state := framework.NewCycleState()
	assert.NilError(w.t, w.plugins.RunPreScorePlugins(context.Background(), state, pod, fit).AsError())
	scores, status := w.plugins.RunScorePlugins(context.Background(), state, pod, fit)
	assert.NilError(w.t, status.AsError())
	for i := range scores {
		theirs = append(theirs, scores[i].TotalScore)
	}
	return nodes, theirs, on.total
}

// best is those of some nodes with the most points, by looking at each.
func (w *world) best(pod *v1.Pod, order []string, points map[string]int64, most int) (best []string) {
	nodes, _, ours := w.asked(pod)
	total := map[string]int64{}
	for i, name := range nodes {
		total[name] = ours[i] + w.scorer.profile.Order*min(points[name], 99)
	}
	for range most {
		first := ""
		for _, name := range order {
			if sum, runs := total[name]; runs && (first == "" || sum > total[first]) {
				first = name
			}
		}
		if first == "" {
			break
		}
		best = append(best, first)
		delete(total, first)
	}
	return best
}
