package e2e

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// inGang is a pod of one CPU of an application with a task group of such pods. The placeholders
// of the application are seen under the name that holders says.
func inGang(application string, members int, policy string) Pod {
	return Pod{
		CPU: "1", Memory: "1Gi",
		Labels: map[string]string{"applicationId": application},
		Annotations: map[string]string{
			"yunikorn.apache.org/task-groups": fmt.Sprintf(
				`[{"name": "members", "minMember": %d, "minResource": {"cpu": "1", "memory": "1Gi"}, "labels": {%q: %q}}]`,
				members, appLabel, holders(application)),
			"yunikorn.apache.org/task-group-name":            "members",
			"yunikorn.apache.org/schedulingPolicyParameters": policy,
		},
	}
}

func holders(application string) string { return application + "-holders" }

// Placeholders are made for a gang, and none of its pods has a node before all of them have. Then
// each pod takes the place of one.
func gangRuns(w *World) {
	w.AddNodes(1, "1", "16Gi")
	train := inGang("train", 3, "")
	w.CreatePods("driver", 1, train)
	w.Await(Running(holders("train"), 1))
	w.Await(Unschedulable(holders("train"), 2))
	w.Middle()
	w.Await(Waiting("driver", 1))

	w.AddNodes(1, "2", "16Gi")
	w.Await(Running("driver", 1))
	w.Await(Running(holders("train"), 2))
	w.Middle()
	w.checkBooks()
	w.CreatePods("worker", 2, train)
	w.Await(Running("worker", 2))
	w.Await(Gone(holders("train")))
	w.checkBooks()
}

// The pods of a job take the places of placeholders, which belong to the job: it counts none of
// them as its own.
func gangOfAJob(w *World) {
	w.AddNodes(1, "2", "16Gi")
	w.CreateJob("batch", 3, 3, inGang("batch", 3, ""))
	w.Await(Running(holders("batch"), 2))
	w.Middle()
	w.AddNodes(1, "1", "16Gi")
	w.Await(Complete("batch"))
	w.Await(Gone(holders("batch")))
}

// A gang that gets no room in time gives back what it holds. In the soft style its pods run one
// by one then, in the hard style they fail.
func gangsTimeOut(w *World) {
	w.AddNodes(1, "2", "16Gi")
	w.CreatePods("hard", 3, inGang("hard", 3, "placeholderTimeoutInSeconds=3 gangSchedulingStyle=Hard"))
	w.Await(Running(holders("hard"), 2))
	w.Middle()
	w.Await(countIs("hard", 3, "have failed for their gang", func(p *corev1.Pod) bool {
		return p.Status.Phase == corev1.PodFailed && p.Status.Reason == "ResourceReservationTimeout"
	}))
	w.Await(Gone(holders("hard")))

	w.CreatePods("soft", 3, inGang("soft", 3, "placeholderTimeoutInSeconds=3"))
	w.Await(Running(holders("soft"), 2))
	w.Middle()
	w.Await(Running("soft", 2))
	w.Await(Unschedulable("soft", 1))
	w.Await(Gone(holders("soft")))
}

// A node is lost with the placeholders on it, before all of them have a node: they are made
// again elsewhere. Another one is lost while pods take the places of placeholders: what is lost
// there is lost, and the others go on. The last one is lost when all members run: the pod that is
// created for the lost one waits for room by itself, without a placeholder, and the others run on.
func gangLosesNodes(w *World) {
	w.AddNodes(2, "1", "16Gi")
	train := inGang("train", 3, "")
	w.CreatePods("driver", 1, train)
	w.Await(Running(holders("train"), 2))
	w.LoseNode("node-1")
	w.Await(Unschedulable(holders("train"), 2))
	w.Middle()
	w.AddNodes(2, "1", "16Gi")
	w.Await(Running("driver", 1))
	w.Await(Running(holders("train"), 2))

	lost := w.Pods(holders("train"))[0].Spec.NodeName
	w.CreatePods("worker", 2, train)
	w.LoseNode(lost)
	w.Middle()
	w.Await(Unschedulable("worker", 1))
	w.Await(Running("worker", 1))
	w.Await(Gone(holders("train")))
	w.AddNodes(1, "1", "16Gi")
	w.Await(Running("worker", 2))
	w.Await(Running("driver", 1))

	w.LoseNode(w.Pods("driver")[0].Spec.NodeName)
	w.Await(Gone("driver"))
	w.CreatePods("again", 1, train)
	w.Await(Unschedulable("again", 1))
	w.Middle()
	w.AddNodes(1, "1", "16Gi")
	w.Await(Running("again", 1))
	w.Await(Running("worker", 2))
	w.Await(Gone(holders("train")))
}

// Of two gangs that start whole, and for which there is no room together, one starts and the
// other holds nothing. It starts when the first has ended.
func gangsCompete(w *World) {
	w.AddNodes(3, "1", "16Gi")
	for _, name := range []string{"first", "second"} {
		p := inGang(name, 2, "")
		p.Labels["queue"] = "root.whole"
		w.CreatePods(name, 2, p)
	}
	w.Await(Running("first", 2))
	w.Await(Gone(holders("first")))
	w.Await(Unschedulable(holders("second"), 2))
	w.Middle()
	w.Await(Waiting("second", 2))
	w.Await(Waiting(holders("second"), 2))
	w.checkBooks()
	w.DeletePod("first-1")
	w.Await(Running("second", 2))
	w.Await(Gone(holders("second")))
	w.Await(Running("first", 1))
}

// LoseNode takes a node away with what runs on it, as it is after its machine is gone and the
// controllers have cleaned up.
func (w *World) LoseNode(node string) {
	w.t.Helper()
	w.Step("%s is lost", node)
	w.check(w.client.CoreV1().Nodes().Delete(w.ctx, node, metav1.DeleteOptions{}))
	w.deleteOrphans()
}

// deleteOrphans deletes the pods whose node is gone, as a controller does after a minute.
func (w *World) deleteOrphans() {
	w.t.Helper()
	pods, err := w.client.CoreV1().Pods("").List(w.ctx, metav1.ListOptions{})
	w.check(err)
	nodes, err := w.client.CoreV1().Nodes().List(w.ctx, metav1.ListOptions{}) // after the pods: a node that has come meanwhile is there
	w.check(err)
	there := map[string]bool{"": true}
	for _, node := range nodes.Items {
		there[node.Name] = true
	}
	for _, pod := range pods.Items {
		if !there[pod.Spec.NodeName] {
			err := w.client.CoreV1().Pods(pod.Namespace).Delete(w.ctx, pod.Name, metav1.DeleteOptions{GracePeriodSeconds: new(int64(0))})
			if !apierrors.IsNotFound(err) {
				w.check(err)
			}
		}
	}
}
