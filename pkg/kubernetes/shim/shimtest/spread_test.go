package shimtest_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/shim/shimtest"
)

// Pods that must be spread over zones are bound as fast as the filters can be asked, and evenly.
func TestSpreadOverZones(t *testing.T) {
	for _, c := range []struct{ nodes, zones, pods, skew int }{{3, 3, 12, 1}, {9, 3, 60, 1}, {300, 3, 200, 1}, {60, 6, 60, 1}, {60, 3, 60, 5}} {
		synctest.Test(t, func(t *testing.T) {
			m := shimtest.New(t, shimtest.Options{Feasibility: filters})
			for i := range c.nodes {
				node := shimtest.NewNode(fmt.Sprint("node-", i), "cpu=32 memory=256Gi")
				node.Labels[v1.LabelTopologyZone] = fmt.Sprint("z", i%c.zones)
				m.Put(node)
			}
			m.Start()
			for i := range c.pods {
				m.Put(shimtest.NewPod(fmt.Sprint("web-", i), "cpu=100m memory=128Mi", func(p *v1.Pod) {
					p.CreationTimestamp = metav1.Now()
					p.Labels["app"] = "web"
					p.Spec.TopologySpreadConstraints = []v1.TopologySpreadConstraint{{
						MaxSkew: int32(c.skew), TopologyKey: v1.LabelTopologyZone, WhenUnsatisfiable: v1.DoNotSchedule,
						LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}},
					}}
				}))
			}
			m.Advance(5 * time.Second)
			in := map[string]int{}
			for i := range c.pods {
				node := m.Pod(fmt.Sprint("web-", i)).Spec.NodeName
				assert.Assert(t, node != "", "%+v: web-%d waits", c, i)
				var number int
				_, err := fmt.Sscanf(node, "node-%d", &number)
				assert.NilError(t, err)
				in[fmt.Sprint("z", number%c.zones)]++
			}
			for zone, count := range in {
				assert.Assert(t, count >= c.pods/c.zones-c.skew && count <= c.pods/c.zones+c.skew, "%+v: %d in %s", c, count, zone)
			}
			m.Stop()
		})
	}
}

// Pods that must run in the zone of others, or in none where others run, are placed as soon as what they wait for is there, and
// none is told that it is unschedulable meanwhile.
func TestAffinityOverZones(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := shimtest.New(t, shimtest.Options{Feasibility: filters})
		for i := range 30 {
			node := shimtest.NewNode(fmt.Sprint("node-", i), "cpu=32 memory=256Gi")
			node.Labels[v1.LabelTopologyZone] = fmt.Sprint("z", i%3)
			m.Put(node)
		}
		m.Start()
		add := func(kind string, count int) {
			for i := range count {
				m.Put(shimtest.NewPod(fmt.Sprint(kind, "-", i), kinds[kind].amounts, shimtest.Labelled("app", kind), kinds[kind].option))
			}
		}
		placed := func(kind string, count int) (placed int) {
			for i := range count {
				if m.Pod(fmt.Sprint(kind, "-", i)).Spec.NodeName != "" {
					placed++
				}
			}
			return placed
		}
		add("together", 60)
		add("one-zone", 5)
		add("follower", 20)
		m.Advance(3 * time.Second)
		assert.Equal(t, placed("together", 60), 60)
		assert.Equal(t, placed("follower", 20), 20)
		assert.Equal(t, placed("one-zone", 5), 3)
		assert.Equal(t, wantNodes(m, "one-zone", 5), 2)
		for i := range 5 {
			if name := fmt.Sprint("one-zone-", i); m.Pod(name).Spec.NodeName != "" {
				m.EndPod(name) // another one takes the zone
				break
			}
		}
		m.Advance(3 * time.Second)
		assert.Equal(t, len(m.API.Bindings()), 60+20+4)
		m.Stop()
	})
}
