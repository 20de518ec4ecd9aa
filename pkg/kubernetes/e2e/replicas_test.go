package e2e

import (
	"fmt"
	"strings"

	"gotest.tools/v3/assert"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/e2e/cluster"
)

// Of two replicas one leads, and the other one is ready to. A change of the ConfigMap is in use at once,
// that of the level of the log as well, and one that is wrong changes nothing. When the replica
// that leads crashes, the other one goes on with the configuration as it is then and with all
// that runs. One that is wrong then does not end it: the queues that were in use are.
func replicasTakeTurns(w *World) {
	w.AddNodes(2, "2", "16Gi")
	w.instance.Kill()
	first := w.startReplica()
	first.health.Await("/readyz", "ok")
	w.instance = first.running
	w.check(w.createReplicaPod("replica-2"))
	w.cluster.SetEnvironment("POD_NAME", "replica-2") // as in the manifests
	second := w.startReplica()
	second.health.Await("/readyz", "waits for the lease")
	w.CreateDeployment("web", 2, Pod{CPU: "1", Memory: "1Gi"})
	w.Await(Running("web", 2))
	contains(w, first.pages.Page("/ws/v1/metrics"), "yunikorn_scheduler_container_allocation_attempt_total", "narwhal_")
	contains(w, first.pages.Page("/"), "<title>")

	w.configure(strings.Replace(narwhalConfig, "    - name: whole", "    - name: later\n    - name: whole", 1))
	first.pages.Await("/ws/v1/partition/default/queues", "root.later")
	w.configure("partitions: 5")
	awaitEventIn(w, narwhalNamespace, "narwhal-config", "partitions")
	contains(w, first.pages.Page("/ws/v1/partition/default/queues"), "root.later")
	w.CreatePods("told", 1, Pod{CPU: "500m", Memory: "1Gi"})
	awaitEvent(w, "told-1", placed)
	assert.Assert(w.t, !strings.Contains(first.Log(logMax), `"level":"debug"`))
	w.configure(strings.Replace(narwhalConfig, "    - name: whole", "    - name: last\n    - name: whole", 1), "log.level", "DEBUG")
	first.pages.Await("/ws/v1/partition/default/queues", "root.last")
	w.CreatePods("detailed", 1, Pod{CPU: "500m", Memory: "1Gi"})
	awaitEvent(w, "detailed-1", placed)
	contains(w, first.Log(logMax), `"level":"debug"`)
	w.DeletePod("told-1")
	w.DeletePod("detailed-1")
	w.Await(Gone("told"))
	w.Await(Gone("detailed"))

	before := names(w.Pods("web"))
	w.Step("the replica that leads crashes while the configuration is wrong")
	w.configure("partitions: 5")
	first.Kill()
	second.pages.Await("/ws/v1/partition/default/queues", "root.last")
	second.health.Await("/readyz", "ok")
	kept, err := w.client.CoreV1().ConfigMaps(narwhalNamespace).Get(w.ctx, "narwhal-config-in-use", metav1.GetOptions{})
	w.check(err)
	contains(w, kept.Data["queues.yaml"], "last")
	assert.Assert(w.t, !strings.Contains(first.Log(logMax)+second.Log(logMax), "is not kept"))
	marked, err := w.client.CoreV1().Pods(narwhalNamespace).List(w.ctx, metav1.ListOptions{LabelSelector: "narwhal-scheduler.io/leader=narwhal-scheduler"})
	w.check(err)
	assert.Assert(w.t, len(marked.Items) == 1 && marked.Items[0].Name == "replica-2", "the Service selects the replica that leads")
	w.instance = second.running
	w.checkBooks()
	w.CreatePods("after", 2, Pod{CPU: "1", Memory: "1Gi", Labels: map[string]string{"applicationId": "after", "queue": "root.last"}})
	w.Await(Running("after", 2))
	contains(w, second.pages.Page("/ws/v1/partition/default/queue/root.last/applications"), `"after"`)
	assert.DeepEqual(w.t, names(w.Pods("web")), before)
	w.Await(Running("web", 2))
}

// The ConfigMap is wrong when the scheduler starts again. It runs with the queues that were in use before, counts what runs in
// them, and places pods; a metric and an event say that the configuration is refused. The mended one is in use at once.
func configurationIsWrong(w *World) {
	w.AddNodes(1, "2", "16Gi")
	with := func(queue string) string {
		return strings.Replace(narwhalConfig, "    - name: whole", "    - name: "+queue+"\n    - name: whole", 1)
	}
	in := func(app, queue string) Pod {
		return Pod{CPU: "500m", Memory: "1Gi", Labels: map[string]string{"applicationId": app, "queue": queue}}
	}
	w.configure(with("later"))
	w.served().Await("/ws/v1/partition/default/queues", "root.later")
	w.CreatePods("before", 1, in("before", "root.later"))
	w.Await(Running("before", 1))
	w.served().Await("/ws/v1/metrics", "narwhal_configuration_refused 0")

	w.configure("partitions: 5")
	w.RestartScheduler()
	w.served().Await("/ws/v1/metrics", "narwhal_configuration_refused 1")
	awaitEventIn(w, narwhalNamespace, configMapName, "partitions")
	w.checkBooks()
	w.CreatePods("meanwhile", 1, in("meanwhile", "root.later"))
	w.Await(Running("meanwhile", 1))
	contains(w, w.served().Page("/ws/v1/partition/default/queue/root.later/applications"), `"before"`, `"meanwhile"`)

	w.configure(with("last"))
	w.served().Await("/ws/v1/partition/default/queues", "root.last")
	w.served().Await("/ws/v1/metrics", "narwhal_configuration_refused 0")
	w.CreatePods("after", 1, in("after", "root.last"))
	w.Await(Running("after", 1))
	w.Await(Running("before", 1))
}

// served are the pages of the scheduler that runs now.
func (w *World) served() *Served {
	now := w.instance.(running)
	return &Served{Process: now.Process, w: w, url: now.rest}
}

// A replica is a narwhal-scheduler that leads or waits to.
type replica struct {
	running
	health, pages *Served
}

// createReplicaPod makes the pod in which a replica says that it is. It is never started.
func (w *World) createReplicaPod(name string) error {
	_, err := w.client.CoreV1().Pods(narwhalNamespace).Create(w.ctx, &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       corev1.PodSpec{SchedulerName: "none", Containers: []corev1.Container{{Name: "scheduler", Image: "narwhal-scheduler"}}},
	}, metav1.CreateOptions{})
	return err
}

// startReplica starts one that notices soon that another has crashed.
func (w *World) startReplica() replica {
	w.t.Helper()
	port, err := cluster.FreePort()
	w.check(err)
	listen := fmt.Sprintf("127.0.0.1:%d", port)
	process, rest, err := startNarwhal(w.cluster, w.scheduler.Name(), "--health-listen="+listen,
		"--leader-elect-lease-duration=3s", "--leader-elect-renew-deadline=2s", "--leader-elect-retry-period=500ms")
	w.check(err)
	w.t.Cleanup(process.Kill)
	return replica{
		running: running{process, rest},
		health:  &Served{Process: process, w: w, url: "http://" + listen},
		pages:   &Served{Process: process, w: w, url: rest},
	}
}

// placed is in the event of a pod that was bound.
const placed = "placed on node"

// configure writes the queues into the ConfigMap of the scheduler, and what keys and values follow.
func (w *World) configure(queues string, more ...string) {
	w.t.Helper()
	maps := w.client.CoreV1().ConfigMaps(narwhalNamespace)
	of, err := maps.Get(w.ctx, "narwhal-config", metav1.GetOptions{})
	w.check(err)
	of.Data["queues.yaml"] = queues
	for i := 0; i < len(more); i += 2 {
		of.Data[more[i]] = more[i+1]
	}
	_, err = maps.Update(w.ctx, of, metav1.UpdateOptions{})
	w.check(err)
}
