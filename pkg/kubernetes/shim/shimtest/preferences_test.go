package shimtest_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/shim/shimtest"
)

const packing = `
partitions:
- name: default
  nodesortpolicy: {type: binpacking}
  queues: [{name: root, submitacl: "*", queues: [{name: default}]}]
`

// choosing is a cluster of three zones with three nodes each, where each third node is full of old pods by half, and the
// scores of kube-scheduler are asked for.
func choosing(t *testing.T, queues string) *shimtest.MockScheduler {
	m := shimtest.New(t, shimtest.Options{Feasibility: filters, Preferences: scores, Queues: queues})
	for i := range 9 {
		node := shimtest.NewNode(fmt.Sprint("node-", i), "cpu=16 memory=64Gi pods=110")
		node.Labels[v1.LabelTopologyZone] = zoneOf(node.Name)
		m.Create(node)
		if i < 3 {
			m.Create(shimtest.NewPod(fmt.Sprint("old-", i), "cpu=8", shimtest.On(fmt.Sprint("node-", i)), shimtest.Foreign))
		}
	}
	return m
}

// zoneOf is the zone of a node there.
func zoneOf(node string) string {
	var number int
	if _, err := fmt.Sscanf(node, "node-%d", &number); err != nil {
		return "none"
	}
	return fmt.Sprint("zone-", number%3)
}

// service makes a service of an app.
func service(app string) *v1.Service {
	return &v1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: app}, Spec: v1.ServiceSpec{Selector: map[string]string{"app": app}}}
}

// placed is how many pods of those with a name and a number are in each zone and on each node.
func placed(m *shimtest.MockScheduler, name string, count int) (zones, nodes map[string]int) {
	zones, nodes = map[string]int{}, map[string]int{}
	for i := range count {
		node := m.Pod(fmt.Sprint(name, "-", i)).Spec.NodeName
		nodes[node]++
		zones[zoneOf(node)]++
	}
	return zones, nodes
}

func create(m *shimtest.MockScheduler, name string, count int, options ...shimtest.PodOption) {
	for i := range count {
		m.Create(shimtest.NewPod(fmt.Sprint(name, "-", i), "cpu=1", append([]shimtest.PodOption{shimtest.Labelled("app", name)}, options...)...))
	}
	m.Advance(2 * time.Second)
}

// Six pods of a service are two in each zone, and no two are on one node, without a word in the pods: also where the
// order of nodes fills one node first. Without a service that order decides.
func TestPodsOfAServiceAreSpread(t *testing.T) {
	for order, queues := range map[string]string{"fair": "", "binpacking": packing} {
		t.Run(order, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := choosing(t, queues)
				m.Create(service("web"))
				m.Start()
				create(m, "web", 6)
				zones, nodes := placed(m, "web", 6)
				assert.DeepEqual(t, zones, map[string]int{"zone-0": 2, "zone-1": 2, "zone-2": 2})
				assert.Equal(t, len(nodes), 6, "%v", nodes)
				create(m, "alone", 6)
				_, nodes = placed(m, "alone", 6)
				assert.Equal(t, len(nodes) == 1, order == "binpacking", "%v", nodes)
			})
		})
	}
}

// A pod has what it prefers where there is room for that, and runs elsewhere where there is none.
func TestPreferredPlaces(t *testing.T) {
	anywhere := func(w v1.WeightedPodAffinityTerm) []v1.WeightedPodAffinityTerm {
		return []v1.WeightedPodAffinityTerm{w}
	}
	near := func(app, over string) v1.WeightedPodAffinityTerm {
		return v1.WeightedPodAffinityTerm{Weight: 100, PodAffinityTerm: terms(app, over)[0]}
	}
	cases := map[string]struct {
		option shimtest.PodOption
		check  func(*testing.T, *shimtest.MockScheduler)
	}{
		"beside the cache": {
			func(p *v1.Pod) {
				p.Spec.Affinity = &v1.Affinity{PodAffinity: &v1.PodAffinity{PreferredDuringSchedulingIgnoredDuringExecution: anywhere(near("cache", v1.LabelHostname))}}
			},
			func(t *testing.T, m *shimtest.MockScheduler) {
				_, nodes := placed(m, "web", 6)
				assert.Equal(t, nodes[m.Pod("cache-0").Spec.NodeName], 6, "%v", nodes)
			},
		},
		"in the zone of the cache, while there is room": {
			func(p *v1.Pod) {
				p.Spec.Containers[0].Resources.Requests[v1.ResourceCPU] = resource.MustParse("12")
				p.Spec.Affinity = &v1.Affinity{PodAffinity: &v1.PodAffinity{PreferredDuringSchedulingIgnoredDuringExecution: anywhere(near("cache", v1.LabelTopologyZone))}}
			},
			func(t *testing.T, m *shimtest.MockScheduler) {
				zones, _ := placed(m, "web", 6)
				cache := zoneOf(m.Pod("cache-0").Spec.NodeName)
				assert.Equal(t, zones[cache], 2, "%v", zones)
			},
		},
		"apart from each other": {
			func(p *v1.Pod) {
				p.Spec.Affinity = &v1.Affinity{PodAntiAffinity: &v1.PodAntiAffinity{PreferredDuringSchedulingIgnoredDuringExecution: anywhere(near("web", v1.LabelHostname))}}
			},
			func(t *testing.T, m *shimtest.MockScheduler) {
				_, nodes := placed(m, "web", 6)
				assert.Equal(t, len(nodes), 6, "%v", nodes)
			},
		},
		"spread over zones": {
			func(p *v1.Pod) {
				spreadOver("web", v1.LabelTopologyZone, 1)(p)
				p.Spec.TopologySpreadConstraints[0].WhenUnsatisfiable = v1.ScheduleAnyway
			},
			func(t *testing.T, m *shimtest.MockScheduler) {
				zones, _ := placed(m, "web", 6)
				assert.DeepEqual(t, zones, map[string]int{"zone-0": 2, "zone-1": 2, "zone-2": 2})
			},
		},
		"on the node with the disk": {
			func(p *v1.Pod) {
				p.Spec.Affinity = &v1.Affinity{NodeAffinity: &v1.NodeAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []v1.PreferredSchedulingTerm{{
					Weight: 50, Preference: v1.NodeSelectorTerm{MatchExpressions: []v1.NodeSelectorRequirement{{
						Key: v1.LabelHostname, Operator: v1.NodeSelectorOpIn, Values: []string{"node-7"},
					}}},
				}}}}
			},
			func(t *testing.T, m *shimtest.MockScheduler) {
				_, nodes := placed(m, "web", 6)
				assert.Equal(t, nodes["node-7"], 6, "%v", nodes)
			},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := choosing(t, packing)
				m.Start()
				create(m, "cache", 1)
				create(m, "web", 6, c.option)
				c.check(t, m)
			})
		})
	}
}

// Nodes with a taint that is only to be avoided are used last.
func TestTaintsAreAvoided(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := choosing(t, packing)
		for i := range 8 {
			m.ChangeNode(fmt.Sprint("node-", i), func(n *v1.Node) {
				n.Spec.Taints = []v1.Taint{{Key: "spot", Effect: v1.TaintEffectPreferNoSchedule}}
			})
		}
		m.Start()
		create(m, "web", 20)
		_, nodes := placed(m, "web", 20)
		assert.Equal(t, nodes["node-8"], 16, "%v", nodes)
	})
}

// A pod goes to the node that has its image, also where a kubelet says so in nothing but its next report.
func TestPodsGoToTheirImages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := shimtest.New(t, shimtest.Options{Feasibility: filters, Preferences: scores})
		for i := range 3 {
			m.AddNode(fmt.Sprint("node-", i), "cpu=16 memory=64Gi pods=110")
		}
		m.Start()
		for i, node := range []string{"node-2", "node-1"} {
			app := fmt.Sprint("app-", i)
			m.ChangeNode(node, func(n *v1.Node) {
				n.Status.Images = []v1.ContainerImage{{Names: []string{app + ":latest"}, SizeBytes: 3 << 30}}
			})
			m.Create(shimtest.NewPod(app, "cpu=100m", func(p *v1.Pod) { p.Spec.Containers[0].Image = app }))
			m.Advance(2 * time.Second)
			assert.Equal(t, m.Pod(app).Spec.NodeName, node)
		}
	})
}
