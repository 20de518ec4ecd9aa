package nodefit

import (
	"fmt"
	"testing"

	"gotest.tools/v3/assert"
	v1 "k8s.io/api/core/v1"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/framework"
	ft "github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/frameworktest"
)

// TestRulesOfManyPodsAreOne: a rule that all pods of a workload have is kept once in a domain, so
// looking at a node costs the workloads there and not their pods. The same words mean something
// else in another namespace.
func TestRulesOfManyPodsAreOne(t *testing.T) {
	var pods []*v1.Pod
	for i := range 1000 {
		pods = append(pods, ft.Pod(fmt.Sprintf("%s/p%d", []string{"a", "b"}[i%2], i), fmt.Sprintf("n%d", i%2), "", ft.Apart(fmt.Sprintf("app=%d", i%3), "zone"), ft.Labelled("app=x")))
	}
	s := framework.NewSnapshot(framework.Objects{
		Nodes: []*v1.Node{ft.Node("n0", "", "zone=a"), ft.Node("n1", "", "zone=a")}, Pods: pods,
	}, ft.Now)
	assert.Equal(t, len(newAgainst(s, s.Pods()).rules[domain{"zone", "a"}]), 6)
}
