package e2e

import (
	"context"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/e2e/kubelet"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/e2e/programs"
)

// AddNodes adds so many nodes, which are called node-1, node-2 and so on, and waits until pods may
// run on them.
func (w *World) AddNodes(count int, cpu, memory string) {
	w.t.Helper()
	first := w.nodes + 1
	for ; w.nodes < first+count-1; w.nodes++ {
		w.check(w.kubelets.AddNode(w.ctx, kubelet.Node{Name: nodeName(w.nodes + 1), Capacity: amounts(cpu, memory)}))
	}
	w.Await(allSchedulable(first, w.nodes))
}

func nodeName(number int) string { return fmt.Sprintf("node-%d", number) }

// AddNodesInZones adds so many nodes in so many zones, which are called zone-1, zone-2 and so on. The zone of a node is
// the one after that of the node before it.
func (w *World) AddNodesInZones(zones, count int, cpu, memory string) {
	w.t.Helper()
	first := w.nodes + 1
	for ; w.nodes < first+count-1; w.nodes++ {
		zone := fmt.Sprintf("zone-%d", (w.nodes+1-first)%zones+1)
		w.check(w.kubelets.AddNode(w.ctx, kubelet.Node{
			Name: nodeName(w.nodes + 1), Capacity: amounts(cpu, memory), Labels: map[string]string{corev1.LabelTopologyZone: zone},
		}))
	}
	w.Await(allSchedulable(first, w.nodes))
}

// Silence makes the kubelet of a node hang.
func (w *World) Silence(node string) {
	w.t.Helper()
	w.Step("%s becomes silent", node)
	w.kubelets.Silence(node)
}

// Resume ends it.
func (w *World) Resume(node string) {
	w.t.Helper()
	w.Step("%s is back", node)
	w.check(w.kubelets.Resume(w.ctx, node))
}

// CreateDeployment creates a deployment of pods.
func (w *World) CreateDeployment(name string, replicas int32, p Pod) *appsv1.Deployment {
	w.t.Helper()
	d, err := w.client.AppsV1().Deployments(namespace).Create(w.ctx, deployment(name, replicas, p.template(name, w.scheduler.Name())), metav1.CreateOptions{})
	w.check(err)
	return d
}

// DeleteDeployment deletes a deployment and, by a controller, its pods.
func (w *World) DeleteDeployment(name string) {
	w.t.Helper()
	w.check(w.client.AppsV1().Deployments(namespace).Delete(w.ctx, name, metav1.DeleteOptions{}))
}

// CreateJob creates a job.
func (w *World) CreateJob(name string, completions, parallelism int32, p Pod) {
	w.t.Helper()
	_, err := w.client.BatchV1().Jobs(namespace).Create(w.ctx, job(name, completions, parallelism, p.template(name, w.scheduler.Name())), metav1.CreateOptions{})
	w.check(err)
}

// CreateDaemonSet creates a daemonset.
func (w *World) CreateDaemonSet(name string, p Pod) {
	w.t.Helper()
	_, err := w.client.AppsV1().DaemonSets(namespace).Create(w.ctx, daemonSet(name, p.template(name, w.scheduler.Name())), metav1.CreateOptions{})
	w.check(err)
}

// CreatePods creates bare pods, app-1, app-2 and so on, which nothing replaces.
func (w *World) CreatePods(app string, count int, p Pod) {
	w.t.Helper()
	for i := range count {
		_, err := w.client.CoreV1().Pods(namespace).Create(w.ctx, pod(app, i+1, p.template(app, w.scheduler.Name())), metav1.CreateOptions{})
		w.check(err)
	}
}

// DeletePod deletes a pod, with its grace period.
func (w *World) DeletePod(name string) {
	w.t.Helper()
	w.check(w.client.CoreV1().Pods(namespace).Delete(w.ctx, name, metav1.DeleteOptions{}))
}

// ResizePod changes what the container of a pod requests, in place.
func (w *World) ResizePod(name, cpu, memory string) {
	w.t.Helper()
	current, err := w.client.CoreV1().Pods(namespace).Get(w.ctx, name, metav1.GetOptions{})
	w.check(err)
	current.Spec.Containers[0].Resources.Requests = amounts(cpu, memory)
	_, err = w.client.CoreV1().Pods(namespace).UpdateResize(w.ctx, name, current, metav1.UpdateOptions{})
	w.check(err)
}

// CreateBudget allows disruptions of an application down to so many pods.
func (w *World) CreateBudget(app string, minAvailable int32) {
	w.t.Helper()
	_, err := w.client.PolicyV1().PodDisruptionBudgets(namespace).Create(w.ctx, budget(app, minAvailable), metav1.CreateOptions{})
	w.check(err)
}

// CreatePriorityClass creates a priority class.
func (w *World) CreatePriorityClass(name string, value int32) {
	w.t.Helper()
	_, err := w.client.SchedulingV1().PriorityClasses().Create(w.ctx, priorityClass(name, value), metav1.CreateOptions{})
	w.check(err)
}

// Pods are those of an application as seen last, by name.
func (w *World) Pods(app string) []*corev1.Pod { return w.observer.view.podsOf(app) }

// Await waits until a condition holds.
func (w *World) Await(condition Condition) {
	w.t.Helper()
	w.Step("until %s", condition.what)
	w.check(w.observer.await(w.ctx, patience, condition))
}

// AwaitWithin waits until a condition holds, and no longer than a scenario promises.
func (w *World) AwaitWithin(most time.Duration, condition Condition) {
	w.t.Helper()
	w.Step("within %v until %s", most, condition.what)
	w.check(w.observer.await(w.ctx, most, condition))
}

// Middle is where a scenario is when it has begun and not ended: some pods have a node,
// others have not, something may be under way. There the scheduler crashes and starts
// again if the scenario is played with restarts.
func (w *World) Middle() {
	w.t.Helper()
	w.middles++
	if w.options.Restarts {
		w.RestartScheduler()
	}
}

// RestartScheduler kills the scheduler and starts it again.
func (w *World) RestartScheduler() {
	w.t.Helper()
	w.Step("scheduler %s crashes and starts again", w.scheduler.Name())
	w.instance.Kill()
	w.startScheduler()
}

// PauseScheduler makes the scheduler hang, or, where that is not possible, ends it.
func (w *World) PauseScheduler() {
	w.t.Helper()
	w.Step("scheduler %s pauses", w.scheduler.Name())
	if p, ok := w.instance.(pausable); ok {
		p.Pause()
		return
	}
	w.instance.Kill()
}

// ContinueScheduler ends the pause.
func (w *World) ContinueScheduler() {
	w.t.Helper()
	w.Step("scheduler %s goes on", w.scheduler.Name())
	if p, ok := w.instance.(pausable); ok {
		p.Continue()
		return
	}
	w.startScheduler()
}

// RestartAPIServer kills the API server and starts it again.
func (w *World) RestartAPIServer() {
	w.t.Helper()
	w.Step("the API server crashes and starts again")
	w.check(w.cluster.RestartAPIServer(w.ctx))
}

// UpgradeAPIServer has the API server of the release that is played on take the place of that of 1.36.
func (w *World) UpgradeAPIServer() {
	w.t.Helper()
	w.Step("the API server becomes one of %s", programs.Release())
	folder, err := programs.Here(".", programs.Release())
	w.check(err)
	w.check(w.cluster.UpgradeAPIServer(w.ctx, folder, servePodGroups(programs.Release())))
}

// StartNeighbour starts a second scheduler next to the one under test.
func (w *World) StartNeighbour(scheduler Scheduler) {
	w.t.Helper()
	instance, err := scheduler.Start(w.ctx, w.cluster)
	w.check(err)
	w.t.Cleanup(instance.Kill)
}

// RefuseBindings makes the API server refuse bindings as long as the function says so, and
// returns the record of all that were tried. It waits until the API server asks.
func (w *World) RefuseBindings(refuse func(attempt Attempt) bool) *BindingWebhook {
	w.t.Helper()
	webhook, err := startBindingWebhook(w.cluster.Authority, refuse)
	w.check(err)
	w.t.Cleanup(func() { w.check(webhook.stop()) })
	ctx, cancel := context.WithTimeout(w.ctx, patience)
	defer cancel()
	w.check(webhook.register(ctx, w.client))
	return webhook
}
