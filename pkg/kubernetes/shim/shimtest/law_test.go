package shimtest_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/narwhal-scheduler/narwhal/pkg/internal/seeds"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/shim/shimtest"
)

// lawRest is how long after the last change a scheduler is at rest, and fewerMax how many pods fewer may run here in all worlds
// of go test where kube-scheduler has chosen other nodes. It takes any of equal ones: in thirty runs it was 9 to 13. The bound
// may only fall.
const (
	lawRest  = 5 * time.Second
	fewerMax = 20
)

func matching(app string) *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}}
}

func terms(app, over string) []v1.PodAffinityTerm {
	return []v1.PodAffinityTerm{{LabelSelector: matching(app), TopologyKey: over}}
}

func apartFrom(app, over string) shimtest.PodOption {
	return func(p *v1.Pod) {
		p.Spec.Affinity = &v1.Affinity{PodAntiAffinity: &v1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: terms(app, over)}}
	}
}

func togetherWith(app, over string) shimtest.PodOption {
	return func(p *v1.Pod) {
		p.Spec.Affinity = &v1.Affinity{PodAffinity: &v1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: terms(app, over)}}
	}
}

func spreadOver(app, over string, skew int32) shimtest.PodOption {
	return func(p *v1.Pod) {
		p.Spec.TopologySpreadConstraints = []v1.TopologySpreadConstraint{{
			MaxSkew: skew, TopologyKey: over, WhenUnsatisfiable: v1.DoNotSchedule, LabelSelector: matching(app),
		}}
	}
}

// kinds are the deployments of the law: what their pods request and require. The label of a pod has its kind.
var kinds = map[string]struct {
	amounts string
	option  shimtest.PodOption
}{
	"plain":    {"cpu=1", func(*v1.Pod) {}},
	"small":    {"cpu=0", func(*v1.Pod) {}},
	"ssd":      {"cpu=1", func(p *v1.Pod) { p.Spec.NodeSelector = map[string]string{"disk": "ssd"} }},
	"zones":    {"cpu=1", spreadOver("zones", v1.LabelTopologyZone, 1)},
	"hosts":    {"cpu=0", spreadOver("hosts", v1.LabelHostname, 1)},
	"apart":    {"cpu=0", apartFrom("apart", v1.LabelHostname)},
	"one-zone": {"cpu=0", apartFrom("one-zone", v1.LabelTopologyZone)},
	"shy":      {"cpu=0", apartFrom("zones", v1.LabelTopologyZone)},
	"together": {"cpu=1", togetherWith("together", v1.LabelTopologyZone)},
	"follower": {"cpu=0", togetherWith("one-zone", v1.LabelTopologyZone)},
	"port":     {"cpu=0", func(p *v1.Pod) { p.Spec.Containers[0].Ports = []v1.ContainerPort{{HostPort: 80, ContainerPort: 80}} }},
	"tolerant": {"cpu=1", func(p *v1.Pod) { p.Spec.Tolerations = []v1.Toleration{{Operator: v1.TolerationOpExists}} }},
	"huge":     {"cpu=64", func(*v1.Pod) {}},
	"gpu":      {"cpu=1 nvidia.com/gpu=1", func(*v1.Pod) {}},
	"gated":    {"cpu=1", shimtest.Gated},
	"urgent": {"cpu=1", func(p *v1.Pod) {
		priority, never := int32(10), v1.PreemptNever
		p.Spec.Priority, p.Spec.PreemptionPolicy = &priority, &never
	}},
	"domains": {"cpu=0", func(p *v1.Pod) {
		three := int32(3)
		spreadOver("domains", v1.LabelTopologyZone, 1)(p)
		p.Spec.TopologySpreadConstraints[0].MinDomains = &three
	}},
	"honest": {"cpu=1", func(p *v1.Pod) {
		honor := v1.NodeInclusionPolicyHonor
		spreadOver("honest", v1.LabelTopologyZone, 2)(p)
		p.Spec.TopologySpreadConstraints[0].NodeTaintsPolicy = &honor
	}},
}

// A lawWorld is a random cluster: what happens there depends on its seed alone, and not on what a scheduler does.
type lawWorld struct {
	*shimtest.MockScheduler
	random *rand.Rand
	nodes  []string
	pods   []string
	made   int
}

func (w *lawWorld) of(list []string) string { return list[w.random.IntN(len(list))] }

func (w *lawWorld) addNode() {
	w.made++
	name := fmt.Sprint("node-", w.made)
	node := shimtest.NewNode(name, fmt.Sprintf("cpu=%d memory=64Gi", 1+w.random.IntN(6)))
	node.Labels[v1.LabelTopologyZone] = fmt.Sprint("z", w.random.IntN(3))
	if w.random.IntN(3) == 0 {
		node.Labels["disk"] = "ssd"
	}
	if w.random.IntN(5) == 0 {
		node.Spec.Taints = []v1.Taint{{Key: "special", Effect: v1.TaintEffectNoSchedule}}
	}
	w.Create(node)
	w.nodes = append(w.nodes, name)
}

func (w *lawWorld) addPods(kind string, count int) {
	k := kinds[kind]
	for range count {
		w.made++
		name := fmt.Sprint(kind, "-", w.made)
		w.Create(shimtest.NewPod(name, k.amounts, shimtest.Labelled("app", kind), k.option))
		w.pods = append(w.pods, name)
	}
}

// endPod ends a pod, whether it runs or waits.
func (w *lawWorld) endPod(name string) {
	w.EndPod(name)
	w.pods = slices.DeleteFunc(w.pods, func(pod string) bool { return pod == name })
}

// step is one thing that happens.
func (w *lawWorld) step() {
	switch dice := w.random.IntN(20); {
	case dice < 2:
		w.addNode()
	case dice < 8:
		w.addPods(w.of(sortedKinds), 1+w.random.IntN(6))
	case dice < 12 && len(w.pods) > 0:
		w.endPod(w.of(w.pods))
	case dice == 12:
		w.ChangeNode(w.of(w.nodes), func(n *v1.Node) { n.Labels["disk"] = "ssd" })
	case dice == 13:
		w.ChangeNode(w.of(w.nodes), func(n *v1.Node) { n.Spec.Taints = nil })
	case dice == 14:
		w.ChangeNode(w.of(w.nodes), func(n *v1.Node) { n.Spec.Unschedulable = !n.Spec.Unschedulable })
	case dice == 15:
		w.ChangeNode(w.of(w.nodes), func(n *v1.Node) { n.Labels[v1.LabelTopologyZone] = fmt.Sprint("z", w.random.IntN(4)) })
	case dice == 16 && len(w.pods) > 0:
		w.ChangePod(w.of(w.pods), func(p *v1.Pod) { p.Spec.SchedulingGates = nil })
	case dice == 17 && len(w.pods) > 0:
		kind := w.of(sortedKinds)
		w.ChangePod(w.of(w.pods), func(p *v1.Pod) { p.Labels["app"] = kind })
	default:
		w.Advance(time.Duration(w.random.IntN(2000)) * time.Millisecond)
	}
}

var sortedKinds = func() (names []string) {
	for name := range kinds {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}()

// play plays the world until it is at rest, five seconds after the last that happened.
func (w *lawWorld) play() {
	for range 3 + w.random.IntN(6) {
		w.addNode()
	}
	for range 40 {
		w.step()
	}
	time.Sleep(lawRest)
}

// outcome is which pods run, and which autoscalers take for unschedulable.
func (w *lawWorld) outcome() (bound, unschedulable []string) {
	for _, name := range w.pods {
		pod := w.Pod(name)
		switch {
		case pod.Spec.NodeName != "":
			bound = append(bound, name)
		case wantsNode(pod):
			unschedulable = append(unschedulable, name)
		}
	}
	return bound, unschedulable
}

func newLawWorld(t *testing.T, seed uint64) *lawWorld {
	return &lawWorld{MockScheduler: shimtest.New(t, shimtest.Options{Feasibility: filters, Preferences: scores}), random: rand.New(rand.NewPCG(seed, 1))}
}

// A difference is what the law permits: kube-scheduler places pods that wait here. Of the seeds of go test there are at most
// so many; the number may only fall.
type difference struct {
	reason string
	is     func(pod *v1.Pod) bool
	most   int
}

var differences = []difference{{
	"a cordoned node takes pods of DaemonSets alone; kube-scheduler places those there, too, that tolerate the taint",
	func(pod *v1.Pod) bool { return len(pod.Spec.Tolerations) > 0 }, 3,
}}

// differs counts the pods of one list that another one lacks, by the differences that permit it. Others are told.
func (w *lawWorld) differs(t *testing.T, what string, list, from []string, counts map[string]int) {
	t.Helper()
	for _, name := range list {
		if slices.Contains(from, name) {
			continue
		}
		at := slices.IndexFunc(differences, func(d difference) bool { return d.is(w.Pod(name)) })
		if at < 0 {
			t.Errorf("%s %s: %s", name, what, condition(w.Pod(name), v1.PodScheduled))
			continue
		}
		counts[differences[at].reason]++
	}
}

// The law against kube-scheduler: what this scheduler leaves waiting five seconds after the last change kube-scheduler
// cannot place either, and it takes the same pods for unschedulable.
func TestKubeSchedulerFindsNothingToDo(t *testing.T) {
	listenForSignals()
	counts := map[string]int{}
	for seed := range seeds.Of(t, 100) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newLawWorld(t, seed)
				w.Start()
				w.play()
				w.Stop()
				bound, unschedulable := w.outcome()
				stop := startKubeScheduler(t, w.API)
				defer stop()
				time.Sleep(lawRest)
				boundThere, unschedulableThere := w.outcome()
				w.differs(t, "is placed by kube-scheduler", boundThere, bound, counts)
				w.differs(t, "is unschedulable here alone", unschedulable, slices.Concat(unschedulableThere, boundThere), counts)
				w.differs(t, "is unschedulable there alone", unschedulableThere, unschedulable, counts)
			})
		})
	}
	for _, d := range differences {
		t.Logf("%d times: %s", counts[d.reason], d.reason)
		if _, _, torture := seeds.Torture(t); !torture && counts[d.reason] > d.most {
			t.Errorf("%d times, not %d: %s", counts[d.reason], d.most, d.reason)
		}
	}
}

// Of the same worlds kube-scheduler alone binds as many pods. Where one binds fewer, it chose other nodes: what may run
// beside what depends on them.
func TestAsManyRunAsWithKubeScheduler(t *testing.T) {
	listenForSignals()
	fewer, more := 0, 0
	for seed := range seeds.Of(t, 100) {
		var bound [2]int
		for i := range bound {
			synctest.Test(t, func(t *testing.T) {
				w := newLawWorld(t, seed)
				if i == 0 {
					w.Start()
				} else {
					defer startKubeScheduler(t, w.API)()
				}
				w.play()
				runs, _ := w.outcome()
				bound[i] = len(runs)
				w.Stop()
			})
		}
		fewer += max(bound[1]-bound[0], 0)
		more += max(bound[0]-bound[1], 0)
	}
	t.Logf("%d fewer, %d more", fewer, more)
	if _, _, torture := seeds.Torture(t); !torture {
		assert.Assert(t, fewer <= fewerMax, "%d", fewer)
	}
}
