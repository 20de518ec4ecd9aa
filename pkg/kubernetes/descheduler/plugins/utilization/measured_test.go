package utilization

import (
	"fmt"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	v1 "k8s.io/api/core/v1"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/framework"
	ft "github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/frameworktest"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/plugins/eviction"
)

// TestUnknownNodesAreTold is at ten times the bound: a warning names some nodes, and counts all. Where
// nothing is known of any node it says that nothing is moved.
func TestUnknownNodesAreTold(t *testing.T) {
	var nodes []*v1.Node
	for i := range 101 {
		nodes = append(nodes, ft.Node(fmt.Sprintf("n%03d", i), "", ""))
	}
	h := ft.NewHandle(t, framework.Objects{Nodes: nodes}, ft.Options{})
	dimensions, named := tracked([]v1.ResourceName{v1.ResourceCPU}, false)
	for _, use := range []ft.Use{{Nodes: map[string]v1.ResourceList{"n000": ft.Amounts("cpu=1")}}, {}} {
		newCluster(eviction.Start(t.Context(), h, LowName), nodes, dimensions, named).byUse(use)
	}
	some, none := h.Warnings()[0], h.Warnings()[1]
	assert.Assert(t, strings.HasPrefix(some, "it is not known, or not of late, what 100 of 101 nodes use, which are left alone: n001, n002, "), some)
	assert.Assert(t, strings.HasSuffix(some, " and 90 more"), some)
	assert.Equal(t, strings.Count(some, ", n"), 9)
	assert.Equal(t, none, "it is not known, or not of late, what any of 101 nodes uses, so nothing is moved")
}
