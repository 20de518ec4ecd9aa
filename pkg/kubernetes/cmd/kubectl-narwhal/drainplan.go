package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	v1 "k8s.io/api/core/v1"
	policy "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	corev1helpers "k8s.io/component-helpers/scheduling/corev1"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/drain"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/pods"
	"github.com/narwhal-scheduler/narwhal/pkg/webservice/client"
)

func newDrainPlan(q *question) *cobra.Command {
	return &cobra.Command{
		Use:   "drain-plan NODE",
		Short: "Say what a drain of a node would move where, in which order, and what blocks it",
		Long: `Say what a drain of a node would move where, in which order, and what blocks it.
Nothing is changed. Of a node that the descheduler drains the first line says how far that is,
and what blocks a pod, since when, is what keeps it there.

Pods go by priority, the lowest first, as far as disruption budgets allow it now. Where the
scheduler would place them again is played on a copy of it, by amounts, quotas and
priorities: selectors, affinity and volumes are not asked about. Where pods of other
schedulers go is not known.`,
		Example: "  kubectl narwhal drain-plan node-7",
		Args:    cobra.ExactArgs(1),
		RunE:    func(cmd *cobra.Command, args []string) error { return q.drainPlan(cmd.Context(), args[0]) },
	}
}

func (q *question) drainPlan(ctx context.Context, node string) error {
	scheduler, err := q.scheduler(ctx)
	if err != nil {
		return err
	}
	api, err := q.api()
	if err != nil {
		return err
	}
	there, err := api.CoreV1().Pods(metav1.NamespaceAll).List(ctx, metav1.ListOptions{FieldSelector: fields.OneTermEqualSelector("spec.nodeName", node).String()})
	if err != nil {
		return err
	}
	budgets, err := api.PolicyV1().PodDisruptionBudgets(metav1.NamespaceAll).List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	answer, err := scheduler.WhatIf(ctx, &client.Question{Nodes: &client.NewNodes{Remove: []string{node}}})
	if err != nil {
		return err
	}
	return q.write(answer.JSON, func() error {
		now := time.Now()
		said := new(drain.Status)
		if of, err := api.CoreV1().Nodes().Get(ctx, node, metav1.GetOptions{}); err == nil && drain.Of(of) != nil { // not all users may read nodes
			said = drain.Of(of)
			if _, err := fmt.Fprintln(q.streams.Out, said.Line(node, now)); err != nil {
				return err
			}
		}
		return writeDrain(q.streams.Out, planDrain(there.Items, budgets.Items, answer.Value.Moved, plan{now, said}))
	})
}

// A plan is what a drain is planned with: the time, and what the node says of a drain that is under way.
type plan struct {
	now  time.Time
	said *drain.Status
}

// A step of a drain is about one pod.
type step struct {
	pod     *v1.Pod
	to      string
	blocked string // empty: it goes at once
	stays   bool
}

// planDrain is the steps of a drain in their order: pods that may go at once, those that are blocked, and those that stay.
func planDrain(there []v1.Pod, budgets []policy.PodDisruptionBudget, moved []client.AskOutcome, p plan) []step {
	where := map[string]client.AskOutcome{}
	for _, m := range moved {
		where[m.Key] = m
	}
	slices.SortFunc(there, func(a, b v1.Pod) int {
		return cmp.Or(cmp.Compare(corev1helpers.PodPriority(&a), corev1helpers.PodPriority(&b)), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	all := make([]*policy.PodDisruptionBudget, len(budgets))
	left := make(map[*policy.PodDisruptionBudget]int, len(budgets))
	for i := range budgets {
		all[i], left[&budgets[i]] = &budgets[i], pods.Disruptions(&budgets[i])
	}
	of := pods.NewBudgets(all)
	var first, later, stay []step
	for i := range there {
		pod := &there[i]
		switch why := staying(pod); {
		case pods.IsTerminal(pod):
		case why != "":
			stay = append(stay, step{pod: pod, to: "stays: " + why, stays: true})
		default:
			s := step{pod: pod, to: goal(pod, where), blocked: cmp.Or(p.kept(pod), blockedBy(pod, of.Of(pod), left, p.now))}
			if s.blocked == "" {
				first = append(first, s)
			} else {
				later = append(later, s)
			}
		}
	}
	return slices.Concat(first, later, stay)
}

// kept is what a drain that is under way says of a pod; empty if it says nothing.
func (p plan) kept(pod *v1.Pod) string {
	for _, of := range p.said.Pods {
		if of.Pod == pod.Namespace+"/"+pod.Name {
			return fmt.Sprintf("%s, since %v", of.Why, p.now.Sub(of.Since.Time).Truncate(time.Second))
		}
	}
	return ""
}

// staying is why a drain leaves a pod where it is; empty if it does not.
func staying(pod *v1.Pod) string {
	owner := metav1.GetControllerOf(pod)
	switch {
	case pods.IsStatic(pod):
		return "it is static"
	case owner != nil && owner.Kind == "DaemonSet":
		return "it belongs to a daemonset"
	}
	return ""
}

// goal is where a pod goes.
func goal(pod *v1.Pod, where map[string]client.AskOutcome) string {
	m, known := where[pods.Key(pod)]
	switch {
	case metav1.GetControllerOf(pod) == nil:
		return "nowhere: nothing makes it again"
	case !known:
		return "where " + pod.Spec.SchedulerName + " places it"
	case m.Node != "":
		return m.Node
	case m.Nominated != "":
		return m.Nominated + ", after evictions there"
	case m.Refused != "":
		return "nowhere: " + m.Refused
	default:
		return "nowhere: it waits"
	}
}

// blockedBy is what keeps a pod from being evicted now, and takes one from what its budget has left if nothing does.
func blockedBy(pod *v1.Pod, of []*policy.PodDisruptionBudget, left map[*policy.PodDisruptionBudget]int, now time.Time) string {
	switch {
	case pods.IsFreeOf(of, pod):
		return ""
	case len(of) > 1:
		return fmt.Sprintf("%d budgets: the API server evicts no pod of several", len(of))
	}
	b := of[0]
	if left[b] > 0 {
		left[b]--
		return ""
	}
	if allowed := pods.Disruptions(b); allowed > 0 {
		return fmt.Sprintf("budget %s, which allows %d at once", b.Name, allowed)
	}
	said := meta.FindStatusCondition(b.Status.Conditions, policy.DisruptionAllowedCondition)
	if said == nil || said.Status != metav1.ConditionFalse {
		return fmt.Sprintf("budget %s, which allows none", b.Name)
	}
	return fmt.Sprintf("budget %s, which allows none since %v", b.Name, now.Sub(said.LastTransitionTime.Time).Truncate(time.Second))
}

func writeDrain(out io.Writer, steps []step) error {
	table := &client.Table{Headings: []string{"POD", "PRIORITY", "TO", "BLOCKED BY"}}
	var goes, blocked, stays int
	for _, s := range steps {
		switch {
		case s.stays:
			stays++
		case s.blocked != "":
			blocked++
		default:
			goes++
		}
		table.Rows = append(table.Rows, []string{s.pod.Namespace + "/" + s.pod.Name, strconv.Itoa(int(corev1helpers.PodPriority(s.pod))), s.to, cmp.Or(s.blocked, "-")})
	}
	if len(steps) > 0 {
		if err := table.Write(out); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(out, "%d may go at once, %d are blocked, %d stay.\n", goes, blocked, stays)
	return err
}
