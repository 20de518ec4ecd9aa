package shimtest_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/shim/shimtest"
)

// Pods without requests are spread like others: 60 on 30 empty nodes are two on each. A pod that asks for something
// still finds the rest of a node free.
func TestPodsWithoutRequestsAreSpread(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const nodes, pods = 30, 60
		m := shimtest.New(t, shimtest.Options{})
		for i := range nodes {
			m.AddNode(fmt.Sprint("node-", i), "cpu=4 memory=8Gi pods=110")
		}
		m.Start()
		for i := range pods {
			m.AddPod(fmt.Sprint("web-", i), "")
		}
		m.Advance(2 * time.Second)
		on := map[string]int{}
		for i := range pods {
			on[m.Pod(fmt.Sprint("web-", i)).Spec.NodeName]++
		}
		for node, count := range on {
			assert.Assert(t, node != "" && count <= pods/nodes, "%d pods are on %q", count, node)
		}
		m.AddPod("large", "cpu=4 memory=8Gi")
		m.Advance(time.Second)
		assert.Assert(t, m.Pod("large").Spec.NodeName != "")
	})
}
