package shimtest_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"
	v1 "k8s.io/api/core/v1"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/pods"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/shim/shimtest"
)

// Six pods that start together are spread as a service asks for: two in each zone, and no two on one node.
func TestPodsOfAGroupAreSpread(t *testing.T) {
	for order, queues := range map[string]string{"fair": "", "binpacking": packing} {
		t.Run(order, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := choosing(t, queues)
				m.API.Serve(shimtest.PodGroupResource.GroupVersion(), shimtest.PodGroupResource.Resource)
				m.Create(service("web"), shimtest.NewPodGroup("web", 6))
				m.Start()
				create(m, "web", 6, inGroup("web"))
				zones, nodes := placed(m, "web", 6)
				assert.DeepEqual(t, zones, map[string]int{"zone-0": 2, "zone-1": 2, "zone-2": 2})
				assert.Equal(t, len(nodes), 6, "%v", nodes)
			})
		})
	}
}

// spreadGang is a pod of a gang of six, whose task group prefers to be spread over zones.
func spreadGang(pod *v1.Pod) {
	pod.Annotations = map[string]string{
		pods.AnnotationTaskGroup: "workers",
		pods.AnnotationTaskGroups: `[{"name": "workers", "minMember": 6, "minResource": {"cpu": "1"}, "labels": {"role": "worker"}, "topologySpreadConstraints": [{
			"maxSkew": 1, "topologyKey": "topology.kubernetes.io/zone", "whenUnsatisfiable": "ScheduleAnyway", "labelSelector": {"matchLabels": {"role": "worker"}}}]}]`,
	}
}

// Placeholders are placed as their task group prefers, one by one or all at once, although nodes are packed. So the pods that take
// their places are spread.
func TestPlaceholdersAreSpread(t *testing.T) {
	for start, properties := range map[string]string{"one by one": "", "whole": ", properties: {gang.start: whole}"} {
		t.Run(start, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := choosing(t, fmt.Sprintf(`
partitions:
- name: default
  nodesortpolicy: {type: binpacking}
  queues: [{name: root, submitacl: "*", queues: [{name: default%s}]}]
`, properties))
				m.Start()
				for i := range 6 {
					m.AddPod(fmt.Sprint("web-", i), "cpu=1", spreadGang)
				}
				m.Advance(5 * time.Second)
				gangWorld{m}.deleted()
				zones, _ := placed(m, "web", 6)
				assert.DeepEqual(t, zones, map[string]int{"zone-0": 2, "zone-1": 2, "zone-2": 2})
			})
		})
	}
}
