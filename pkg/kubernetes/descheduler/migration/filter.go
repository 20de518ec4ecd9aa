package migration

import (
	"errors"
	"fmt"
	"math"
	"slices"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	apps "k8s.io/client-go/listers/apps/v1"
	core "k8s.io/client-go/listers/core/v1"
	budgets "k8s.io/client-go/listers/policy/v1"
	priorities "k8s.io/client-go/listers/scheduling/v1"
	"k8s.io/client-go/tools/cache"
	corev1helpers "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/kubernetes/pkg/apis/scheduling"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/framework"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/plugins/eviction"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/pods"
	"github.com/narwhal-scheduler/narwhal/pkg/wording"
)

// systemCritical is the priority from which on pods belong to the system.
const systemCritical int32 = scheduling.SystemCriticalPriority

// annotationEvict of a pod has it migrated whatever filters of a pod say.
const annotationEvict = "descheduler.alpha.kubernetes.io/evict"

// checks are what is asked of a pod before it is migrated.
type checks struct {
	args     *Args
	handle   framework.Handle
	selector labels.Selector // of pods
	nodes    labels.Selector

	pods         core.PodLister
	indexed      cache.Indexer // the same pods
	classes      priorities.PriorityClassLister
	replicaSets  apps.ReplicaSetLister
	statefulSets apps.StatefulSetLister
	budgets      budgets.PodDisruptionBudgetLister
}

// newChecks needs arguments that are valid.
func newChecks(args *Args, handle framework.Handle) (*checks, error) {
	selector, err := metav1.LabelSelectorAsSelector(args.LabelSelector)
	if err != nil {
		return nil, fmt.Errorf("labelSelector: %w", err)
	}
	if args.LabelSelector == nil {
		selector = labels.Everything()
	}
	nodes, err := labels.Parse(args.NodeSelector)
	if err != nil {
		return nil, fmt.Errorf("nodeSelector: %w", err)
	}
	factory := handle.SharedInformerFactory()
	indexed, err := indexPods(factory.Core().V1().Pods().Informer())
	if err != nil {
		return nil, err
	}
	return &checks{
		args: args, handle: handle, selector: selector, nodes: nodes, indexed: indexed,
		pods: factory.Core().V1().Pods().Lister(), classes: factory.Scheduling().V1().PriorityClasses().Lister(),
		replicaSets: factory.Apps().V1().ReplicaSets().Lister(), statefulSets: factory.Apps().V1().StatefulSets().Lister(),
		budgets: factory.Policy().V1().PodDisruptionBudgets().Lister(),
	}, nil
}

// refusal is why a pod must never be migrated as it is, nil if it may be. A job for it
// fails.
func (c *checks) refusal(pod *v1.Pod, mode Mode) error {
	switch {
	case pods.IsReservation(pod):
		return errors.New("it is a reservation")
	case pod.Spec.NodeName == "":
		return errors.New("it has no node")
	case mode == ReservationFirst && !slices.Contains(c.args.SchedulerNames, pod.Spec.SchedulerName):
		return fmt.Errorf("scheduler %q makes no reservations", pod.Spec.SchedulerName)
	case framework.EvictionCost(pod) == math.MaxInt32:
		return errors.New("its eviction cost forbids it")
	}
	if _, always := pod.Annotations[annotationEvict]; always {
		return nil
	}
	for _, check := range []func(*v1.Pod) error{c.kindOf, c.storageOf, c.priorityOf, c.selected} {
		if err := check(pod); err != nil {
			return err
		}
	}
	return c.tooFewReplicas(pod)
}

// kindOf refuses pods that would not come back, or not elsewhere.
func (c *checks) kindOf(pod *v1.Pod) error {
	if pods.IsOfKubelet(pod) {
		return errors.New("the kubelet runs it from a file")
	}
	workload, owned := framework.WorkloadOf(pod)
	switch {
	case owned && workload.Kind == "DaemonSet":
		return errors.New("it is of a daemonset")
	case owned || c.args.EvictAllBarePods || c.args.skips(GateBarePods):
		return nil
	case pod.Status.Phase == v1.PodFailed && c.args.EvictFailedBarePods:
		return nil
	}
	return errors.New("nothing makes it anew")
}

// storageOf refuses pods that would lose data or cannot take it along.
func (c *checks) storageOf(pod *v1.Pod) error {
	for i := range pod.Spec.Volumes {
		v := &pod.Spec.Volumes[i]
		switch local := v.HostPath != nil || v.EmptyDir != nil; {
		case local && !c.args.EvictLocalStoragePods && !c.args.skips(GateLocalStorage):
			return errors.New("it has local storage")
		case v.PersistentVolumeClaim != nil && c.args.IgnorePVCPods && !c.args.skips(GatePVC):
			return errors.New("it has a volume claim")
		}
	}
	return nil
}

// priorityOf refuses pods of the system and of a high priority.
func (c *checks) priorityOf(pod *v1.Pod) error {
	priority := corev1helpers.PodPriority(pod)
	if priority >= systemCritical && !c.args.EvictSystemCriticalPods && !c.args.skips(GateSystemCritical) {
		return errors.New("it belongs to the system")
	}
	t := c.args.PriorityThreshold
	if t == nil || c.args.skips(GatePriorityThreshold) {
		return nil
	}
	below := systemCritical
	switch {
	case t.Value != nil:
		below = *t.Value
	case t.Name != "":
		class, err := c.classes.Get(t.Name)
		if err != nil {
			return fmt.Errorf("priority class %s of the threshold is not known", t.Name)
		}
		below = class.Value
	}
	if priority >= below {
		return fmt.Errorf("its priority %d is not below %d", priority, below)
	}
	return nil
}

// selected refuses pods that the arguments do not select.
func (c *checks) selected(pod *v1.Pod) error {
	if !c.args.skips(GateLabelSelector) && !c.selector.Matches(labels.Set(pod.Labels)) {
		return errors.New("its labels are not selected")
	}
	n := c.args.Namespaces
	if n == nil || c.args.skips(GateNamespaces) {
		return nil
	}
	if slices.Contains(n.Exclude, pod.Namespace) || len(n.Include) > 0 && !slices.Contains(n.Include, pod.Namespace) {
		return errors.New("its namespace is not selected")
	}
	return nil
}

// tooFewReplicas refuses pods of a workload that would have none left.
func (c *checks) tooFewReplicas(pod *v1.Pod) error {
	if c.args.SkipCheckExpectedReplicas || c.args.skips(GateExpectedReplicas) || metav1.GetControllerOfNoCopy(pod) == nil {
		return nil
	}
	replicas := c.replicasOf(pod)
	l := c.args.limitsOf(replicas)
	if replicas <= l.migrating || replicas <= l.unavailable {
		return fmt.Errorf("its workload has %s, and %d may migrate, %d be unavailable at a time: none would be left (skipCheckExpectedReplicas allows it)",
			wording.Several(replicas, "replica"), l.migrating, l.unavailable)
	}
	return nil
}

// replicasOf is how many pods the workload of a pod should have, or has where nothing says
// how many it should have.
func (c *checks) replicasOf(pod *v1.Pod) int {
	owner := metav1.GetControllerOfNoCopy(pod)
	if owner == nil {
		return 1
	}
	switch owner.Kind {
	case "ReplicaSet":
		if set, err := c.replicaSets.ReplicaSets(pod.Namespace).Get(owner.Name); err == nil && set.Spec.Replicas != nil {
			return int(*set.Spec.Replicas)
		}
	case "StatefulSet":
		if set, err := c.statefulSets.StatefulSets(pod.Namespace).Get(owner.Name); err == nil && set.Spec.Replicas != nil {
			return int(*set.Spec.Replicas)
		}
	}
	count := 0
	for _, other := range c.siblings(pod) {
		if !pods.IsTerminal(other) {
			count++
		}
	}
	return count
}

// siblings are the pods of the workload of a pod, itself included.
func (c *checks) siblings(pod *v1.Pod) []*v1.Pod {
	owner := metav1.GetControllerOfNoCopy(pod)
	if owner == nil {
		return []*v1.Pod{pod}
	}
	return c.indexedBy(podsByController, owner.UID)
}

// fits is nil where some other node could take the pod.
func (c *checks) fits(pod *v1.Pod) error {
	if !c.args.NodeFit || c.args.skips(GateNodeFit) {
		return nil
	}
	return eviction.Elsewhere(c.handle, pod, c.nodes)
}

func isReady(pod *v1.Pod) bool {
	return pod.Status.Phase == v1.PodRunning && pods.IsReady(pod)
}
