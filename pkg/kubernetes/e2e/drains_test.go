package e2e

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"gotest.tools/v3/assert"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/drain"
)

const drainPolicy = `apiVersion: descheduler/v1alpha2
kind: DeschedulerPolicy
profiles:
- name: drain
  pluginConfig:
  - name: NodeProblem
    args: {taints: [maintenance], labels: [example.org/drain], retryPeriod: 1s}
  plugins:
    controller: {enabled: [NodeProblem]}
`

// A node with a part of a deployment, of a gang and of a daemonset gets a taint. The gang leaves it as a whole, and a budget keeps the
// deployment, as the node says, also to the plugin of kubectl, while the descheduler crashes and comes again. Without the budget the drain
// closes, and without the taint the node is as it was. A label cordons another one, and no pod comes back to it.
func nodeIsDrained(w *World) {
	w.InstallDescheduler(filepath.Join(deschedulerManifests, "drain", "role.yaml"))
	w.WritePolicy(drainPolicy)
	w.AddNodes(3, "8", "16Gi")
	w.CreateDaemonSet("agent", Pod{CPU: "100m", Memory: "128Mi"})
	w.CreateDeployment("web", 6, Pod{CPU: "500m", Memory: "1Gi"})
	w.CreateDeployment("train", 4, inGang("train", 4, ""))
	w.Await(Running("train", 4))
	w.Await(Running("web", 6))
	w.Await(Gone(holders("train")))
	w.CreateBudget("web", 6)
	w.Await(BudgetAllows("web", 0))
	node, members := "", 0 // of one that has several members of the gang
	for name, count := range w.nodesOf("train") {
		if count > members {
			node, members = name, count
		}
	}
	assert.Assert(w.t, members > 1, "%v", w.nodesOf("train"))
	kept := len(runningOn(w, node, "web"))
	assert.Assert(w.t, kept > 0, "%v", w.nodesOf("web"))

	d := w.StartDescheduler("--descheduling-interval=1h")
	start := time.Now()
	taint(w, node, corev1.Taint{Key: "maintenance", Value: "disk", Effect: corev1.TaintEffectNoSchedule})
	w.Await(drainIs(node, drain.Blocked))
	w.Step("blocked after %v", time.Since(start))
	w.Await(RunningOn(node, "train", 0))
	w.Await(Running("train", 4))
	w.Await(drainIs(node, drain.Blocked))
	said := drainOf(w, node)
	assert.Equal(w.t, said.Left, kept)
	for _, p := range said.Pods {
		assert.Equal(w.t, p.Why, "budget web allows no eviction now", p.Pod)
	}
	w.Await(RunningOn(node, "agent", 1))

	w.Step("the descheduler crashes and comes again")
	d.Kill()
	d = w.StartDescheduler("--descheduling-interval=1h")
	d.Await("/metrics", fmt.Sprintf("\ndescheduler_drain_pods_left{node=%q} %d", node, kept))
	assert.DeepEqual(w.t, drainOf(w, node), said)
	if w.instance.REST() != "" {
		plan := newPluginAs(w, "administrator", w.cluster.Config())("drain-plan", node)
		w.Step("drain-plan says\n%s", plan)
		contains(w, plan, "node "+node+": blocked", "taint maintenance=disk:NoSchedule", "budget web allows no eviction now, since")
	}

	w.Step("the budget is lifted")
	w.check(w.client.PolicyV1().PodDisruptionBudgets(namespace).Delete(w.ctx, "web", metav1.DeleteOptions{}))
	w.Await(drainIs(node, drain.Drained))
	w.Await(Running("web", 6))
	w.Await(RunningOn(node, "", 1)) // of the daemonset

	w.Kubectl("taint", "node", node, "maintenance-")
	w.Await(drainIs(node, ""))
	w.Await(Schedulable(node))

	other := w.Pods("train")[0].Spec.NodeName
	w.Kubectl("label", "node", other, "example.org/drain=")
	w.Await(drainIs(other, drain.Drained))
	w.Await(Running("web", 6))
	w.Await(RunningOn(other, "", 1))
	assert.Assert(w.t, cordoned(w, other))
	w.Kubectl("label", "node", other, "example.org/drain-")
	w.Await(drainIs(other, ""))
	assert.Assert(w.t, !cordoned(w, other))
	w.check(d.Terminate())

	// Events are written a moment later than the node, and those of the first drain are long there. The crash may have taken the one
	// that was just to be written.
	for reason, lost := range map[string]int{"DrainOpened": 0, "DrainBlocked": 1, "Drained": 0} {
		about := slices.DeleteFunc(eventsOf(w, reason), func(note string) bool { return !strings.HasPrefix(note, node+" ") })
		assert.Assert(w.t, len(about) <= 1 && len(about) >= 1-lost, "%s: %q", reason, about)
	}
}

// runningOn are the pods of an application that run on a node.
func runningOn(w *World, node, app string) []*corev1.Pod {
	return slices.DeleteFunc(w.Pods(app), func(p *corev1.Pod) bool { return p.Spec.NodeName != node || !runs(p) })
}

// drainOf is what a node says of its drain.
func drainOf(w *World, name string) *drain.Status {
	w.t.Helper()
	node, err := w.client.CoreV1().Nodes().Get(w.ctx, name, metav1.GetOptions{})
	w.check(err)
	s := drain.Of(node)
	assert.Assert(w.t, s != nil, name)
	return s
}

func cordoned(w *World, name string) bool {
	w.t.Helper()
	node, err := w.client.CoreV1().Nodes().Get(w.ctx, name, metav1.GetOptions{})
	w.check(err)
	return node.Spec.Unschedulable
}

// drainIs holds when a node says that its drain is in a state; empty: when it says nothing.
func drainIs(name string, state drain.State) Condition {
	return Condition{
		what: fmt.Sprintf("the drain of %s is %q", name, state),
		look: func(v View) (string, bool) {
			node, err := v.nodes.Get(name)
			if err != nil {
				return err.Error(), false
			}
			s := drain.Of(node)
			if s == nil {
				return "it says nothing", state == ""
			}
			return strings.TrimSpace(s.Line(name, time.Now()) + " " + s.Kept()), s.State == state
		},
	}
}
