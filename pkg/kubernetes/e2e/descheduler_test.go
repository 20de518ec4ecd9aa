package e2e

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"gotest.tools/v3/assert"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/e2e/programs"
)

const levelPolicy = `apiVersion: descheduler/v1alpha2
kind: DeschedulerPolicy
profiles:
- name: level
  pluginConfig:
  - name: DefaultEvictor
    args: {nodeFit: true}
  - name: LowNodeUtilization
    args: {thresholds: {cpu: 45}, targetThresholds: {cpu: 50}}
  plugins:
    balance: {enabled: [LowNodeUtilization]}
`

// Two nodes are used to three quarters when a third one comes. A dry run says which three pods
// would move to it, and writes nothing; a fourth one of them would be spread back to a node that is used too much. The
// cycle that follows evicts the three and no pod with a budget, they run where the report said, and another
// cycle has nothing to do.
func nodesAreLevelled(w *World) {
	w.InstallDescheduler()
	w.AddNodes(2, "4", "16Gi")
	w.CreateDeployment("web", 8, Pod{CPU: "500m", Memory: "1Gi"})
	w.CreateDeployment("guarded", 4, Pod{CPU: "500m", Memory: "1Gi"})
	w.CreateBudget("guarded", 4)
	w.Await(Running("web", 8))
	w.Await(Running("guarded", 4))
	w.Await(BudgetAllows("guarded", 0))
	w.AddNodes(1, "4", "16Gi")
	w.WritePolicy(levelPolicy)

	before := names(w.Pods(""))
	report := dryRun(w)
	w.Step("the dry run says\n%s", w.Deschedule("--dry-run"))
	assert.Equal(w.t, len(w.Writes()), 0, "%v", w.Writes())
	assert.DeepEqual(w.t, names(w.Pods("")), before)
	assert.Equal(w.t, len(report.Evictions), 3)
	var places []string
	for _, e := range report.Evictions {
		assert.Assert(w.t, strings.HasPrefix(e.Pod, "default/web-"), e.Pod)
		assert.Assert(w.t, e.From != "node-3")
		places = append(places, e.To)
	}

	w.Deschedule()
	w.Await(Running("web", 8))
	w.Await(RunningOn("node-3", "", 3))
	slices.Sort(places)
	assert.DeepEqual(w.t, nodesOfNew(w, before), places)
	w.Await(RunningOn("node-3", "guarded", 0))
	assert.Equal(w.t, w.Writes()["create pods/eviction"], 3)
	assert.Equal(w.t, len(eventsOf(w, "LowNodeUtilization")), 3)
	assert.Equal(w.t, len(dryRun(w).Evictions), 0)
}

// dryRun is the report of one.
func dryRun(w *World) descheduler.Report {
	w.t.Helper()
	var report descheduler.Report
	w.check(json.Unmarshal([]byte(w.Deschedule("--dry-run", "--report-format=json")), &report))
	return report
}

// nodesOfNew are the nodes of the pods that were not there before.
func nodesOfNew(w *World, before []string) []string {
	var nodes []string
	for _, p := range w.Pods("") {
		if !slices.Contains(before, p.Name) {
			nodes = append(nodes, p.Spec.NodeName)
		}
	}
	slices.Sort(nodes)
	return nodes
}

// eventsOf are the events with a reason.
func eventsOf(w *World, reason string) []string {
	w.t.Helper()
	events, err := w.client.EventsV1().Events(namespace).List(w.ctx, metav1.ListOptions{})
	w.check(err)
	var notes []string
	for _, e := range events.Items {
		if e.Reason == reason {
			notes = append(notes, e.Regarding.Name+" "+e.Note)
		}
	}
	return notes
}

const duplicatesPolicy = `apiVersion: descheduler/v1alpha2
kind: DeschedulerPolicy
profiles:
- plugins:
    balance: {enabled: [RemoveDuplicates]}
`

const problemPolicy = `apiVersion: descheduler/v1alpha2
kind: DeschedulerPolicy
profiles:
- name: events
  pluginConfig:
  - name: NodeProblem
    args: {taints: [example.org/failing]}
  plugins:
    controller: {enabled: [NodeProblem]}
`

// A cycle is skipped while there is one node. A policy that is wrong is not used, and one that enables a controller is, without a
// restart. Then the pods of a node leave as soon as it has a taint, and the pages say why. Of two replicas one leads, and the
// other one is ready, and follows and acts when it crashes.
func podsLeaveAProblem(w *World) {
	w.InstallDescheduler(filepath.Join(deschedulerManifests, "drain", "role.yaml"))
	w.WritePolicy(duplicatesPolicy)
	w.AddNodes(1, "4", "16Gi")
	d := w.deschedulerReplica("descheduler-1")
	d.Await("/report", "skipped")
	standby := w.deschedulerReplica("descheduler-2")
	standby.Await("/readyz", "waits for the lease")
	contains(w, standby.Page("/why/default/web"), "does not lead")
	w.AddNodes(1, "4", "16Gi")
	w.CreateDeployment("web", 4, Pod{CPU: "500m", Memory: "1Gi"})
	w.Await(Running("web", 4))
	d.Await("/report", "0 pods evicted")
	w.WritePolicy(strings.Replace(problemPolicy, "taints", "taint", 1))
	d.Await("/metrics", "\ndescheduler_policy_usable 0")
	w.WritePolicy(problemPolicy)
	d.Await("/metrics", "\ndescheduler_policy_usable 1")
	contains(w, d.Page("/metrics"), `descheduler_policy_reloads_total{result="error"} 1`, `descheduler_policy_reloads_total{result="success"} 1`)

	victims := slices.DeleteFunc(w.Pods("web"), func(p *corev1.Pod) bool { return p.Spec.NodeName != "node-1" })
	assert.Equal(w.t, len(victims), 2)
	start := time.Now()
	taint(w, "node-1", corev1.Taint{Key: "example.org/failing", Effect: corev1.TaintEffectNoSchedule})
	w.Await(RunningOn("node-2", "web", 4))
	took := time.Since(start)
	w.Step("all pods ran elsewhere after %v", took)
	assert.Assert(w.t, took < 5*time.Second, "%v", took)

	contains(w, d.Page("/metrics"), `descheduler_pods_evicted_total{namespace="default",node="node-1",profile="events",result="success",strategy="NodeProblem"} 2`)
	for _, victim := range victims {
		contains(w, d.Page("/why/default/"+victim.Name), `"plugin": "NodeProblem"`, `"from": "node-1"`, `"to": "node-2"`, "example.org/failing")
	}
	w.Step("/why says\n%s", d.Page("/why/default/"+victims[0].Name))
	assert.Equal(w.t, len(eventsOf(w, "NodeProblem")), 2)
	proxiedPages(w, d, victims[0].Name)

	w.Step("the replica that leads crashes")
	d.Kill()
	standby.Await("/report", "0 pods evicted")
	w.Await(Condition{what: "the Service selects the other one", look: func(v View) (string, bool) {
		marked, err := v.pods.Pods(narwhalNamespace).List(labels.SelectorFromSet(labels.Set{"narwhal-scheduler.io/leader": deschedulerName}))
		return fmt.Sprint(names(marked), err), len(marked) == 1 && marked[0].Name == "descheduler-2"
	}})
	w.Kubectl("taint", "node", "node-1", "example.org/failing-")
	w.Kubectl("taint", "node", "node-2", "example.org/failing=:NoSchedule")
	w.Await(RunningOn("node-1", "web", 4))
}

// deschedulerReplica starts one of several, as in a pod of a name. It notices soon that another has crashed.
func (w *World) deschedulerReplica(pod string) *Served {
	w.t.Helper()
	w.check(w.createReplicaPod(pod))
	w.cluster.SetEnvironment("POD_NAME", pod)
	w.cluster.SetEnvironment("POD_NAMESPACE", narwhalNamespace)
	return w.StartDescheduler("--descheduling-interval=1s", "--leader-elect", "--leader-elect-resource-namespace="+narwhalNamespace, "--leader-elect-resource-name="+deschedulerName,
		"--leader-elect-lease-duration=3s", "--leader-elect-renew-deadline=2s", "--leader-elect-retry-period=500ms")
}

// proxiedPages reads pages as the document says, through the API server.
func proxiedPages(w *World, d *Served, pod string) {
	w.t.Helper()
	serveService(w, deschedulerName, corev1.ServicePort{Name: "reports", Port: 10258}, func() string { return d.url })
	const path = "/api/v1/namespaces/narwhal/services/narwhal-descheduler:reports/proxy"
	w.awaitProxy(path + "/healthz")
	kubectl, err := w.cluster.Program(programs.Kubectl)
	w.check(err)
	administrator, err := w.cluster.Kubeconfig("administrator", w.cluster.Config())
	w.check(err)
	for page, text := range map[string]string{"/report": "pods evicted", "/why/default/" + pod: "NodeProblem"} {
		output, err := exec.Command(kubectl, "get", "--kubeconfig", administrator, "--raw", path+page).CombinedOutput()
		assert.NilError(w.t, err, "%s", output)
		contains(w, string(output), text)
	}
}

func taint(w *World, name string, taint corev1.Taint) {
	w.t.Helper()
	w.Step("%s gets taint %s", name, taint.Key)
	node, err := w.client.CoreV1().Nodes().Get(w.ctx, name, metav1.GetOptions{})
	w.check(err)
	node.Spec.Taints = append(node.Spec.Taints, taint)
	_, err = w.client.CoreV1().Nodes().Update(w.ctx, node, metav1.UpdateOptions{})
	w.check(err)
}
