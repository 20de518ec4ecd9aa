package shimtest_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"
	v1 "k8s.io/api/core/v1"

	"github.com/narwhal-scheduler/narwhal/pkg/internal/seeds"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/shim/shimtest"
)

// A spreadWorld is some apps of several pods each on nodes of three zones of different sizes. It is the same for every
// scheduler.
type spreadWorld struct {
	*shimtest.MockScheduler
	random *rand.Rand
	zones  map[string]string // of the nodes
	apps   [4]int            // how many pods each has
}

// flavours are what the pods of an app prefer, beside that those of a service are spread.
var flavours = []shimtest.PodOption{
	func(*v1.Pod) {},
	func(*v1.Pod) {},
	func(p *v1.Pod) { softly(spreadOver(p.Labels["app"], v1.LabelTopologyZone, 1))(p) },
	func(p *v1.Pod) { softly(spreadOver(p.Labels["app"], v1.LabelHostname, 1))(p) },
	func(p *v1.Pod) {
		p.Spec.Affinity = &v1.Affinity{PodAntiAffinity: &v1.PodAntiAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []v1.WeightedPodAffinityTerm{
			{Weight: 100, PodAffinityTerm: terms(p.Labels["app"], v1.LabelHostname)[0]},
		}}}
	},
}

// softly makes constraints such that they may be broken.
func softly(option shimtest.PodOption) shimtest.PodOption {
	return func(p *v1.Pod) {
		option(p)
		for i := range p.Spec.TopologySpreadConstraints {
			p.Spec.TopologySpreadConstraints[i].WhenUnsatisfiable = v1.ScheduleAnyway
		}
	}
}

func newSpreadWorld(t *testing.T, seed uint64) *spreadWorld {
	w := &spreadWorld{
		MockScheduler: shimtest.New(t, shimtest.Options{Feasibility: filters, Preferences: scores}),
		random:        rand.New(rand.NewPCG(seed, 2)), zones: map[string]string{},
	}
	for i := range 6 + w.random.IntN(12) {
		node := shimtest.NewNode(fmt.Sprint("node-", i), fmt.Sprintf("cpu=%d memory=64Gi", 8+4*w.random.IntN(3)))
		node.Labels[v1.LabelTopologyZone] = fmt.Sprint("z", min(w.random.IntN(4), 2))
		w.zones[node.Name] = node.Labels[v1.LabelTopologyZone]
		w.Create(node)
	}
	return w
}

// play makes the apps, pods of one and the other in turn, and ends some.
func (w *spreadWorld) play() {
	for i := range w.apps {
		app := fmt.Sprint("app", i)
		w.Create(service(app))
		flavour := flavours[w.random.IntN(len(flavours))]
		for j := range 3 + w.random.IntN(10) {
			w.Create(shimtest.NewPod(fmt.Sprint(app, "-", j), "cpu=1 memory=1Gi", shimtest.Labelled("app", app), flavour))
			w.apps[i]++
			time.Sleep(20 * time.Millisecond)
		}
	}
	time.Sleep(time.Second)
	for i, count := range w.apps {
		if w.random.IntN(2) == 0 {
			w.EndPod(fmt.Sprint("app", i, "-", count-1))
			w.apps[i]--
		}
	}
	time.Sleep(time.Second)
}

// skews adds up how much more pods of an app are in one zone, and on one node, than in another.
func (w *spreadWorld) skews(t *testing.T) (zones, nodes int) {
	for i, count := range w.apps {
		inZone, onNode := map[string]int{}, map[string]int{}
		for node, zone := range w.zones {
			inZone[zone], onNode[node] = 0, 0
		}
		for j := range count {
			on := w.Pod(fmt.Sprint("app", i, "-", j)).Spec.NodeName
			assert.Assert(t, on != "", "app%d-%d waits", i, j)
			inZone[w.zones[on]]++
			onNode[on]++
		}
		zones, nodes = zones+skewOf(inZone), nodes+skewOf(onNode)
	}
	return zones, nodes
}

func skewOf(counts map[string]int) int {
	least, most := -1, 0
	for _, count := range counts {
		if least < 0 || count < least {
			least = count
		}
		most = max(most, count)
	}
	return most - least
}

// Pods of services, and such as say that they had better be spread, are about as even over zones and nodes as
// kube-scheduler alone places them. Of nodes that are equally good kube-scheduler takes any, so that neither is more even in
// all worlds.
func TestPodsAreAsEvenAsWithKubeScheduler(t *testing.T) {
	listenForSignals()
	var zones, nodes [2]int
	for seed := range seeds.Of(t, 60) {
		for i := range zones {
			synctest.Test(t, func(t *testing.T) {
				w := newSpreadWorld(t, seed)
				if i == 0 {
					w.Start()
				} else {
					defer startKubeScheduler(t, w.API)()
				}
				w.play()
				z, n := w.skews(t)
				zones[i], nodes[i] = zones[i]+z, nodes[i]+n
				w.Stop()
			})
		}
	}
	t.Logf("skews over zones %d and kube-scheduler %d, over nodes %d and %d", zones[0], zones[1], nodes[0], nodes[1])
	assert.Assert(t, zones[0]*5 <= zones[1]*6 && nodes[0]*5 <= nodes[1]*6)
}
