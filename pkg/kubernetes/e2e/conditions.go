package e2e

import (
	"fmt"
	"slices"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/errors"
)

// namespace is where everything of a scenario is.
const namespace = "default"

// shownMax is how many pods a message lists.
const shownMax = 6

// countIs is the condition that so many pods of an application are of a kind.
func countIs(app string, count int, kind string, is func(*corev1.Pod) bool) Condition {
	return Condition{
		what: fmt.Sprintf("%d pods of %s %s", count, app, kind),
		look: func(v View) (string, bool) {
			pods := v.podsOf(app)
			there := slices.DeleteFunc(slices.Clone(pods), func(p *corev1.Pod) bool { return !is(p) })
			others := slices.DeleteFunc(pods, is)
			return fmt.Sprintf("%d %s; others: %s", len(there), kind, list(others)), len(there) == count
		},
	}
}

// list describes the first few pods, those of one description together.
func list(pods []*corev1.Pod) string {
	if len(pods) == 0 {
		return "none"
	}
	var texts []string
	for _, p := range pods[:min(len(pods), shownMax)] {
		texts = append(texts, p.Name+" "+describe(p))
	}
	if more := len(pods) - shownMax; more > 0 {
		texts = append(texts, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(texts, "; ")
}

// Running holds when exactly so many pods of an application run and are not deleted.
func Running(app string, count int) Condition { return countIs(app, count, "run", runs) }

func runs(p *corev1.Pod) bool {
	return p.Status.Phase == corev1.PodRunning && p.DeletionTimestamp == nil
}

// Bound holds when at least so many pods of an application have a node.
func Bound(app string, least int) Condition {
	return Condition{
		what: fmt.Sprintf("at least %d pods of %s have a node", least, app),
		look: func(v View) (string, bool) {
			pods := v.podsOf(app)
			waiting := slices.DeleteFunc(slices.Clone(pods), func(p *corev1.Pod) bool { return p.Spec.NodeName != "" })
			bound := len(pods) - len(waiting)
			return fmt.Sprintf("%d have; others: %s", bound, list(waiting)), bound >= least
		},
	}
}

// Waiting holds when exactly so many pods of an application have no node.
func Waiting(app string, count int) Condition {
	return countIs(app, count, "have no node", func(p *corev1.Pod) bool { return p.Spec.NodeName == "" })
}

// Unschedulable holds when exactly so many pods of an application are marked as such,
// which an autoscaler acts on.
func Unschedulable(app string, count int) Condition {
	return countIs(app, count, "are unschedulable", func(p *corev1.Pod) bool {
		return p.DeletionTimestamp == nil && slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
			return c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse && c.Reason == corev1.PodReasonUnschedulable
		})
	})
}

// Evicted holds when exactly so many pods of an application end because another needs
// their room: they are marked as disrupted, then deleted, and stop in their grace period.
func Evicted(app string, count int) Condition {
	return countIs(app, count, "are evicted", func(p *corev1.Pod) bool {
		return p.DeletionTimestamp != nil && slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
			return c.Type == corev1.DisruptionTarget && c.Status == corev1.ConditionTrue && c.Reason == corev1.PodReasonPreemptionByScheduler
		})
	})
}

// RunningOn holds when exactly so many pods of an application run on a node.
func RunningOn(node, app string, count int) Condition {
	return countIs(app, count, "run on "+node, func(p *corev1.Pod) bool { return runs(p) && p.Spec.NodeName == node })
}

// Nominated holds when a pod of an application waits and says that room is made for it on a
// node, so that no autoscaler adds another one.
func Nominated(app, node string) Condition {
	return countIs(app, 1, "are nominated to "+node, func(p *corev1.Pod) bool {
		return p.Spec.NodeName == "" && p.Status.NominatedNodeName == node
	})
}

// Gone holds when nothing is left of the pods of an application.
func Gone(app string) Condition {
	return Condition{
		what: fmt.Sprintf("no pod of %s is left", app),
		look: func(v View) (string, bool) {
			pods := v.podsOf(app)
			return list(pods), len(pods) == 0
		},
	}
}

// Complete holds when a job is.
func Complete(name string) Condition {
	return Condition{
		what: fmt.Sprintf("job %s is complete", name),
		look: func(v View) (string, bool) {
			job, err := v.jobs.Jobs(namespace).Get(name)
			if err != nil {
				return err.Error(), false
			}
			done := slices.ContainsFunc(job.Status.Conditions, func(c batchv1.JobCondition) bool {
				return c.Type == batchv1.JobComplete && c.Status == corev1.ConditionTrue
			})
			return fmt.Sprintf("%d active, %d succeeded, %d failed; pods: %s", job.Status.Active, job.Status.Succeeded, job.Status.Failed, list(v.podsOf(name))), done
		},
	}
}

// Available holds when a deployment says so of exactly so many pods.
func Available(name string, count int32) Condition {
	return Condition{
		what: fmt.Sprintf("%d pods of deployment %s are available", count, name),
		look: func(v View) (string, bool) {
			d, err := v.deployments.Deployments(namespace).Get(name)
			if err != nil {
				return err.Error(), false
			}
			return fmt.Sprintf("%d of %d; pods: %s", d.Status.AvailableReplicas, d.Status.Replicas, list(v.podsOf(name))), d.Status.AvailableReplicas == count
		},
	}
}

// OnEveryNode holds when a daemonset has a ready pod on each of so many nodes.
func OnEveryNode(name string, nodes int32) Condition {
	return Condition{
		what: fmt.Sprintf("daemonset %s is ready on %d nodes", name, nodes),
		look: func(v View) (string, bool) {
			d, err := v.daemonSets.DaemonSets(namespace).Get(name)
			if err != nil {
				return err.Error(), false
			}
			seen := fmt.Sprintf("wanted on %d, ready on %d; pods: %s", d.Status.DesiredNumberScheduled, d.Status.NumberReady, list(v.podsOf(name)))
			return seen, d.Status.DesiredNumberScheduled == nodes && d.Status.NumberReady == nodes
		},
	}
}

// BudgetAllows holds when the budget of an application allows so many disruptions.
func BudgetAllows(app string, disruptions int32) Condition {
	return Condition{
		what: fmt.Sprintf("the budget of %s allows %d disruptions", app, disruptions),
		look: func(v View) (string, bool) {
			b, err := v.budgets.PodDisruptionBudgets(namespace).Get(app)
			if err != nil {
				return err.Error(), false
			}
			seen := fmt.Sprintf("%d allowed, %d of %d healthy", b.Status.DisruptionsAllowed, b.Status.CurrentHealthy, b.Status.DesiredHealthy)
			return seen, b.Status.DisruptionsAllowed == disruptions && b.Status.ObservedGeneration == b.Generation && b.Status.ExpectedPods > 0
		},
	}
}

// Schedulable holds when a node is ready and has no taint that keeps pods away.
func Schedulable(node string) Condition { return nodeIs(node, true) }

// Unreachable holds when a node has such a taint because it is not ready.
func Unreachable(node string) Condition { return nodeIs(node, false) }

// allSchedulable holds when all nodes of a range of numbers are.
func allSchedulable(first, last int) Condition {
	return Condition{
		what: fmt.Sprintf("%s to %s are schedulable", nodeName(first), nodeName(last)),
		look: func(v View) (string, bool) {
			for number := first; number <= last; number++ {
				if seen, ok := Schedulable(nodeName(number)).look(v); !ok {
					return fmt.Sprintf("of %s: %s", nodeName(number), seen), false
				}
			}
			return "all are", true
		},
	}
}

func nodeIs(name string, schedulable bool) Condition {
	what := "schedulable"
	if !schedulable {
		what = "tainted as unreachable"
	}
	return Condition{
		what: fmt.Sprintf("node %s is %s", name, what),
		look: func(v View) (string, bool) {
			node, err := v.nodes.Get(name)
			if errors.IsNotFound(err) {
				return "there is no such node", false
			}
			if err != nil {
				return err.Error(), false
			}
			tainted := slices.ContainsFunc(node.Spec.Taints, func(t corev1.Taint) bool {
				// There are two, in any order, and all pods tolerate the one that evicts for a while.
				counts := schedulable || t.Effect == corev1.TaintEffectNoSchedule
				return counts && (t.Key == corev1.TaintNodeUnreachable || t.Key == corev1.TaintNodeNotReady)
			})
			return fmt.Sprintf("its taints are %v", node.Spec.Taints), tainted != schedulable
		},
	}
}
