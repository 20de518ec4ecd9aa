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
	for _, c := range []struct{ nodes, zones, pods, skew int }{{3, 3, 12, 1}, {30, 3, 60, 1}, {60, 6, 60, 1}, {60, 3, 60, 5}} {
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
