package e2e

import (
	"fmt"
	"net/http"
	"os"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/retry"
	metricsv1beta1 "k8s.io/metrics/pkg/apis/metrics/v1beta1"
	metricsclient "k8s.io/metrics/pkg/client/clientset/versioned"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/clusterfile"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/e2e/kubelet"
)

// A FileCluster is what a cluster file of the descheduler has. Its times are as if the cluster were of
// now.
type FileCluster struct {
	Nodes   []corev1.Node
	Pods    []corev1.Pod
	Budgets []policyv1.PodDisruptionBudget

	NodeMetrics []metricsv1beta1.NodeMetrics
	PodMetrics  []metricsv1beta1.PodMetrics
}

// ReadClusterFile reads a file of a cluster as of a time, RFC 3339; empty: the present. Pods for Narwhal are for the
// scheduler under test.
func (w *World) ReadClusterFile(path, of string) FileCluster {
	w.t.Helper()
	now := time.Now()
	at := now
	if of != "" {
		var err error
		at, err = time.Parse(time.RFC3339, of)
		w.check(err)
	}
	text, err := os.ReadFile(path)
	w.check(err)
	file, unknown, err := clusterfile.Read(at, text)
	w.check(err)
	if len(unknown) > 0 {
		w.t.Fatalf("%s: %v", path, unknown)
	}
	f := read(w, file)
	for i := range f.Pods {
		p := &f.Pods[i]
		p.CreationTimestamp.Time = p.CreationTimestamp.Add(now.Sub(at)).Truncate(time.Second)
		if p.Spec.SchedulerName == narwhalName {
			p.Spec.SchedulerName = w.scheduler.Name()
		}
	}
	return f
}

// read lists what is in a file, by clients.
func read(w *World, file http.RoundTripper) FileCluster {
	w.t.Helper()
	config := &rest.Config{Host: "http://cluster-file", Transport: file}
	client, err := kubernetes.NewForConfig(config)
	w.check(err)
	measured, err := metricsclient.NewForConfig(config)
	w.check(err)
	all := metav1.ListOptions{}
	nodes, err := client.CoreV1().Nodes().List(w.ctx, all)
	w.check(err)
	pods, err := client.CoreV1().Pods(metav1.NamespaceAll).List(w.ctx, all)
	w.check(err)
	budgets, err := client.PolicyV1().PodDisruptionBudgets(metav1.NamespaceAll).List(w.ctx, all)
	w.check(err)
	nodeMetrics, err := measured.MetricsV1beta1().NodeMetricses().List(w.ctx, all)
	w.check(err)
	podMetrics, err := measured.MetricsV1beta1().PodMetricses(metav1.NamespaceAll).List(w.ctx, all)
	w.check(err)
	return FileCluster{nodes.Items, pods.Items, budgets.Items, nodeMetrics.Items, podMetrics.Items}
}

// AddCluster has the cluster be as a file says: its pods run on its nodes, or have failed there, are as old, and belong to workloads
// that make others in their place.
func (w *World) AddCluster(f FileCluster) {
	w.t.Helper()
	for _, n := range f.Nodes {
		w.check(w.kubelets.AddNode(w.ctx, kubelet.Node{Name: n.Name, Capacity: n.Status.Allocatable, Labels: n.Labels, Taints: n.Spec.Taints}))
	}
	for _, n := range f.Nodes {
		w.Await(Schedulable(n.Name))
	}
	for _, p := range f.Pods {
		w.addNamespace(p.Namespace)
		made := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: p.Name, Labels: p.Labels}, Spec: p.Spec}
		made.Annotations = map[string]string{kubelet.RunFor: "1h"} // that of a Job ends as the file says, not by itself
		_, err := w.client.CoreV1().Pods(p.Namespace).Create(w.ctx, made, metav1.CreateOptions{})
		w.check(err)
	}
	w.Await(Running("", len(f.Pods)))
	replacements := map[string]string{}
	if len(f.Budgets) > 0 {
		replacements[kubelet.StartAfter] = "1h" // so that a budget that is used up stays so for a whole cycle: StartPods
	}
	for _, owned := range byOwner(f.Pods) {
		w.check(w.createOwner(owned, replacements))
		app := owned[0].Labels[appLabel]
		w.Await(countIs(app, len(owned), "have an owner", func(p *corev1.Pod) bool { return metav1.GetControllerOf(p) != nil }))
		w.Await(Running(app, len(owned)))
	}
	for _, p := range f.Pods {
		w.check(w.cluster.SetCreated(w.ctx, p.Namespace, p.Name, p.CreationTimestamp.Time))
		w.check(w.setStatus(p))
	}
	for _, b := range f.Budgets {
		made := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Name: b.Name}, Spec: b.Spec}
		_, err := w.client.PolicyV1().PodDisruptionBudgets(b.Namespace).Create(w.ctx, made, metav1.CreateOptions{})
		w.check(err)
	}
	w.Await(Settled(f))
}

// addNamespace makes one that pods can be created in, if it is not there.
func (w *World) addNamespace(name string) {
	w.t.Helper()
	_, err := w.client.CoreV1().Namespaces().Create(w.ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		return
	}
	w.check(err)
	w.check(w.cluster.AwaitServiceAccount(w.ctx, name))
}

// byOwner are the pods of each workload, in the order of the file.
func byOwner(pods []corev1.Pod) [][]corev1.Pod {
	var all [][]corev1.Pod
	for _, p := range pods {
		of := metav1.GetControllerOf(&p).Name
		i := slices.IndexFunc(all, func(o []corev1.Pod) bool { return metav1.GetControllerOf(&o[0]).Name == of })
		if i < 0 {
			i, all = len(all), append(all, nil)
		}
		all[i] = append(all[i], p)
	}
	return all
}

// StartPods has the pods start that wait for it on their nodes.
func (w *World) StartPods() {
	w.t.Helper()
	for _, p := range w.Pods("") {
		if p.Annotations[kubelet.StartAfter] != "" && p.Status.Phase == corev1.PodPending {
			now := []byte(`{"metadata": {"annotations": {"` + kubelet.StartAfter + `": null}}}`)
			_, err := w.client.CoreV1().Pods(p.Namespace).Patch(w.ctx, p.Name, types.MergePatchType, now, metav1.PatchOptions{})
			w.check(err)
		}
	}
}

// createOwner makes the workload of pods, which takes them over by their labels. Others that it makes have annotations.
func (w *World) createOwner(pods []corev1.Pod, annotations map[string]string) error {
	first, count := pods[0], int32(len(pods))
	owner := metav1.GetControllerOf(&first)
	meta := metav1.ObjectMeta{Name: owner.Name}
	selector := &metav1.LabelSelector{MatchLabels: first.Labels}
	template := corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: first.Labels, Annotations: annotations}, Spec: first.Spec}
	template.Spec.NodeName = ""
	var err error
	switch owner.Kind {
	case "ReplicaSet":
		set := &appsv1.ReplicaSet{ObjectMeta: meta, Spec: appsv1.ReplicaSetSpec{Replicas: &count, Selector: selector, Template: template}}
		_, err = w.client.AppsV1().ReplicaSets(first.Namespace).Create(w.ctx, set, metav1.CreateOptions{})
	case "StatefulSet": // which would replace pods that are not of its revision, unless it is told not to
		set := &appsv1.StatefulSet{ObjectMeta: meta, Spec: appsv1.StatefulSetSpec{
			Replicas: &count, Selector: selector, Template: template,
			UpdateStrategy: appsv1.StatefulSetUpdateStrategy{Type: appsv1.OnDeleteStatefulSetStrategyType},
		}}
		_, err = w.client.AppsV1().StatefulSets(first.Namespace).Create(w.ctx, set, metav1.CreateOptions{})
	case "Job": // it fails with its first pod
		template.Spec.RestartPolicy = corev1.RestartPolicyNever
		job := &batchv1.Job{ObjectMeta: meta, Spec: batchv1.JobSpec{ManualSelector: new(true), BackoffLimit: new(int32(0)), Selector: selector, Template: template}}
		_, err = w.client.BatchV1().Jobs(first.Namespace).Create(w.ctx, job, metav1.CreateOptions{})
	default:
		err = fmt.Errorf("pod %s is of a %s, of which a scenario makes none", first.Name, owner.Kind)
	}
	return err
}

// setStatus has a pod have failed, and its containers have been started again, as the file says.
func (w *World) setStatus(p corev1.Pod) error {
	if p.Status.Phase == corev1.PodRunning && len(p.Status.ContainerStatuses) == 0 {
		return nil
	}
	pods := w.client.CoreV1().Pods(p.Namespace)
	return retry.RetryOnConflict(retry.DefaultRetry, func() error {
		now, err := pods.Get(w.ctx, p.Name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		now.Status.Phase = p.Status.Phase // without the reason, which may be one that no kubelet here may have
		for i, c := range p.Status.ContainerStatuses {
			now.Status.ContainerStatuses[i].RestartCount = c.RestartCount
		}
		_, err = pods.UpdateStatus(w.ctx, now, metav1.UpdateOptions{})
		return err
	})
}

// Settled holds when of each workload as many pods run as in the file, but for Jobs, and budgets allow as many evictions.
func Settled(f FileCluster) Condition {
	return Condition{
		what: "workloads have their pods, and budgets count them",
		look: func(v View) (string, bool) {
			for _, owned := range byOwner(f.Pods) {
				if metav1.GetControllerOf(&owned[0]).Kind == "Job" {
					continue
				}
				if seen, ok := Running(owned[0].Labels[appLabel], len(owned)).look(v); !ok {
					return seen, false
				}
			}
			for _, b := range f.Budgets {
				now, err := v.budgets.PodDisruptionBudgets(b.Namespace).Get(b.Name)
				if err != nil {
					return err.Error(), false
				}
				if now.Status.DisruptionsAllowed != b.Status.DisruptionsAllowed {
					return fmt.Sprintf("budget %s: %+v", b.Name, now.Status), false
				}
			}
			return "they have", true
		},
	}
}

// RemoveCluster takes away all workloads, pods, budgets and nodes.
func (w *World) RemoveCluster(f FileCluster) {
	w.t.Helper()
	at, all := metav1.DeleteOptions{GracePeriodSeconds: new(int64(0)), PropagationPolicy: new(metav1.DeletePropagationBackground)}, metav1.ListOptions{}
	namespaces := map[string]bool{}
	for _, p := range f.Pods {
		namespaces[p.Namespace] = true
	}
	for name := range namespaces {
		w.check(w.client.AppsV1().ReplicaSets(name).DeleteCollection(w.ctx, at, all))
		w.check(w.client.AppsV1().StatefulSets(name).DeleteCollection(w.ctx, at, all))
		w.check(w.client.BatchV1().Jobs(name).DeleteCollection(w.ctx, at, all))
		w.check(w.client.PolicyV1().PodDisruptionBudgets(name).DeleteCollection(w.ctx, at, all))
		w.check(w.client.CoreV1().Pods(name).DeleteCollection(w.ctx, at, all))
	}
	w.Await(Gone(""))
	w.check(w.client.CoreV1().Nodes().DeleteCollection(w.ctx, at, all))
	w.Await(Condition{what: "no node is left", look: func(v View) (string, bool) {
		nodes, err := v.nodes.List(labels.Everything())
		return fmt.Sprint(len(nodes), err), len(nodes) == 0
	}})
}
