package landing

import (
	"testing"

	"gotest.tools/v3/assert"
	v1 "k8s.io/api/core/v1"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/framework"
)

// TestReplacementsLeaveWhatIsScarce: where the scheduler goes by what is scarce, the replacement of a pod that can run anywhere
// leaves a node alone that others need, although it is the fullest. An order that the policy states counts instead.
func TestReplacementsLeaveWhatIsScarce(t *testing.T) {
	for _, c := range []struct {
		name, policy string
		stated       framework.NodeOrder
		want         string
	}{
		{"the fullest", "binpacking", "", "a"},
		{"the fullest of those that few need", "scarcity", "", "b"},
		{"the policy says otherwise", "scarcity", framework.MostAllocated, "a"},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := ours
			o.Queues = "partitions: [{name: default, nodesortpolicy: {type: " + c.policy + "}, queues: [{name: root, queues: [{name: default}]}]}]"
			list := nodes(3)
			list[0].Labels["disk"] = "ssd"
			needs := func(p *v1.Pod) { p.Spec.NodeSelector = map[string]string{"disk": "ssd"} }
			p := pod("p", "c", 1)
			cl := cluster(t, o, list, p, pod("q", "a", 1, needs), pod("r", "a", 1, needs), pod("s", "b", 1))
			cl.SetOrder(c.stated)
			cl.Sync(snapshot(list, p, pod("q", "a", 1, needs), pod("r", "a", 1, needs), pod("s", "b", 1)))
			to, err := cl.whereTo(p)
			assert.NilError(t, err)
			assert.Equal(t, to, c.want)
		})
	}
}

// TestReplacementsTakeTaintedNodes: a pod that tolerates a taint leaves fuller nodes to those that cannot, and takes the node which is
// of no use to these.
func TestReplacementsTakeTaintedNodes(t *testing.T) {
	for policy, want := range map[string]string{"binpacking": "b", "scarcity": "a"} {
		t.Run(policy, func(t *testing.T) {
			o := ours
			o.Queues = "partitions: [{name: default, nodesortpolicy: {type: " + policy + "}, queues: [{name: root, queues: [{name: default}]}]}]"
			list := nodes(3)
			list[0].Spec.Taints = []v1.Taint{{Key: "team", Value: "x", Effect: v1.TaintEffectNoSchedule}}
			p := pod("p", "c", 1, func(p *v1.Pod) { p.Spec.Tolerations = []v1.Toleration{{Key: "team", Value: "x"}} })
			to, err := cluster(t, o, list, p, pod("q", "b", 1), pod("r", "b", 1)).whereTo(p)
			assert.NilError(t, err)
			assert.Equal(t, to, want)
		})
	}
}
