package e2e

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	appslisters "k8s.io/client-go/listers/apps/v1"
	batchlisters "k8s.io/client-go/listers/batch/v1"
	corelisters "k8s.io/client-go/listers/core/v1"
	policylisters "k8s.io/client-go/listers/policy/v1"
	resourcelisters "k8s.io/client-go/listers/resource/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/pods"
)

// patience is how long a scenario waits for one thing. A machine of a build service may
// be slow; what takes long on any machine fails by the result, not by this. It is less than
// the minute after which a scheduler may try everything again, whatever it has missed.
const patience = 50 * time.Second

// recordMax is how many changes of pods are kept for the message of a failure.
const recordMax = 200

// A View is the cluster as watches have shown it last.
type View struct {
	pods        corelisters.PodLister
	nodes       corelisters.NodeLister
	deployments appslisters.DeploymentLister
	daemonSets  appslisters.DaemonSetLister
	jobs        batchlisters.JobLister
	budgets     policylisters.PodDisruptionBudgetLister
	claims      corelisters.PersistentVolumeClaimLister
	devices     resourcelisters.ResourceClaimLister // nil where the API server has none
}

// A Condition is something that is awaited. Look tells whether it holds, and, if not,
// what is seen instead.
type Condition struct {
	what string
	look func(View) (seen string, ok bool)
}

// An observer watches a cluster. It wakes those that wait at every change.
type observer struct {
	view    View
	factory informers.SharedInformerFactory

	mu      sync.Mutex
	changed chan struct{} // closed at the next change
	record  []string      // changes of pods, the latest recordMax
	refused []string      // pods that a kubelet had no room for
	last    map[string]string
	started time.Time
}

func observe(ctx context.Context, client kubernetes.Interface) (*observer, error) {
	factory := informers.NewSharedInformerFactory(client, 0)
	core, apps := factory.Core().V1(), factory.Apps().V1()
	o := &observer{
		factory: factory,
		view: View{
			pods:        core.Pods().Lister(),
			nodes:       core.Nodes().Lister(),
			deployments: apps.Deployments().Lister(),
			daemonSets:  apps.DaemonSets().Lister(),
			jobs:        factory.Batch().V1().Jobs().Lister(),
			budgets:     factory.Policy().V1().PodDisruptionBudgets().Lister(),
			claims:      core.PersistentVolumeClaims().Lister(),
		},
		changed: make(chan struct{}),
		last:    make(map[string]string),
		started: time.Now(),
	}
	watched := []cache.SharedIndexInformer{
		core.Pods().Informer(), core.Nodes().Informer(), apps.Deployments().Informer(), apps.DaemonSets().Informer(),
		factory.Batch().V1().Jobs().Informer(), factory.Policy().V1().PodDisruptionBudgets().Informer(), core.PersistentVolumeClaims().Informer(),
	}
	// Before 1.34 there are none.
	_, err := client.Discovery().ServerResourcesForGroupVersion(resourcev1.SchemeGroupVersion.String())
	if err == nil {
		devices := factory.Resource().V1().ResourceClaims()
		o.view.devices, watched = devices.Lister(), append(watched, devices.Informer())
	} else if !apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("asking for devices: %w", err)
	}
	for _, informer := range watched {
		if _, err := informer.AddEventHandler(o.handler()); err != nil {
			return nil, fmt.Errorf("watching: %w", err)
		}
	}
	factory.Start(ctx.Done())
	for kind, ok := range factory.WaitForCacheSync(ctx.Done()) {
		if !ok {
			return nil, fmt.Errorf("watching: %v were not read", kind)
		}
	}
	return o, nil
}

func (o *observer) handler() cache.ResourceEventHandler {
	return cache.ResourceEventHandlerFuncs{
		AddFunc:    func(now any) { o.note(now, false) },
		UpdateFunc: func(_, now any) { o.note(now, false) },
		DeleteFunc: func(last any) { o.note(last, true) },
	}
}

// note wakes those that wait, and records what has changed in a pod.
func (o *observer) note(object any, gone bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if pod, ok := pods.LastKnown(object).(*corev1.Pod); ok {
		o.notePod(pod, gone)
	}
	close(o.changed)
	o.changed = make(chan struct{})
}

func (o *observer) notePod(pod *corev1.Pod, gone bool) {
	now := describe(pod)
	if gone {
		now = "is gone"
	}
	name := pod.Namespace + "/" + pod.Name
	if o.last[name] == now {
		return
	}
	o.last[name] = now
	o.record = append(o.record, fmt.Sprintf("%7.2fs %s %s", time.Since(o.started).Seconds(), name, now))
	o.record = o.record[max(0, len(o.record)-recordMax):]
	if strings.HasPrefix(pod.Status.Reason, "OutOf") && !gone {
		o.refused = append(o.refused, fmt.Sprintf("%s on %s: %s", name, pod.Spec.NodeName, pod.Status.Reason))
	}
}

// describe says where a pod is in its life, in a few words.
func describe(pod *corev1.Pod) string {
	text := string(pod.Status.Phase)
	if pod.Spec.NodeName != "" {
		text += " on " + pod.Spec.NodeName
	}
	if pod.DeletionTimestamp != nil {
		text += ", deleted"
	}
	if pod.Status.NominatedNodeName != "" {
		text += ", nominated to " + pod.Status.NominatedNodeName
	}
	if pod.Status.Reason != "" {
		text += ", " + pod.Status.Reason
	}
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse {
			text += fmt.Sprintf(" (%s: %s)", c.Reason, c.Message)
		}
		if c.Type == corev1.DisruptionTarget && c.Status == corev1.ConditionTrue {
			text += fmt.Sprintf(", disrupted by %s", c.Reason)
		}
	}
	return text
}

// await returns when a condition holds, or, after the deadline, an error with what was
// awaited and what was seen last.
func (o *observer) await(ctx context.Context, deadline time.Duration, condition Condition) error {
	timer := time.NewTimer(deadline)
	defer timer.Stop()
	for {
		o.mu.Lock()
		changed := o.changed
		o.mu.Unlock()
		seen, ok := condition.look(o.view)
		if ok {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		case <-timer.C:
			return fmt.Errorf("waited %v until %s; last seen: %s", deadline, condition.what, seen)
		}
	}
}

// history is the record as a text.
func (o *observer) history() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return strings.Join(o.record, "\n")
}

// refusals are the pods for which a kubelet had no room.
func (o *observer) refusals() []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Clone(o.refused)
}

// podsOf lists the pods of an application by name; of all, if it is empty. Those that
// have ended, and those that were deleted, are in it.
func (v View) podsOf(app string) []*corev1.Pod {
	which := labels.Everything()
	if app != "" {
		which = labels.SelectorFromSet(labels.Set{appLabel: app})
	}
	pods, err := v.pods.List(which)
	if err != nil {
		panic(err) // a cache does not fail
	}
	slices.SortFunc(pods, func(a, b *corev1.Pod) int { return strings.Compare(a.Namespace+"/"+a.Name, b.Namespace+"/"+b.Name) })
	return pods
}
