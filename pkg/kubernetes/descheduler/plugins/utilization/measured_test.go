package utilization

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/textlogger"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/framework"
	ft "github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/frameworktest"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/plugins/eviction"
)

// TestUnknownNodesAreCounted is at ten times the bound: the message names some nodes, and counts all.
func TestUnknownNodesAreCounted(t *testing.T) {
	var nodes []*v1.Node
	for i := range 10 * namesMax {
		nodes = append(nodes, ft.Node(fmt.Sprintf("n%03d", i), "", ""))
	}
	h := ft.NewHandle(t, framework.Objects{Nodes: nodes}, ft.Options{})
	dimensions, named := tracked([]v1.ResourceName{v1.ResourceCPU}, false)
	c := newCluster(eviction.Start(t.Context(), h, LowName), nodes, dimensions, named)
	var said bytes.Buffer
	ctx := klog.NewContext(t.Context(), textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(&said))))
	c.byUse(ctx, ft.Use{})
	assert.Assert(t, strings.Contains(said.String(), fmt.Sprintf("count=%d", 10*namesMax)), said.String())
	assert.Equal(t, strings.Count(said.String(), ", n"), namesMax-1)
}
