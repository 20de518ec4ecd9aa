package controllers

import (
	"errors"
	"fmt"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1helpers "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/klog/v2"
)

// NodeProblemArgs are the arguments of NodeProblem: a node has a problem where it has one
// of the taints or conditions.
type NodeProblemArgs struct {
	// Taints are key or key=value, of any effect.
	Taints []string `json:"taints"`
	// Conditions are those of the status of a node.
	Conditions []Condition `json:"conditions"`
	// RetryPeriod is the time until pods are tried again that could not be evicted.
	RetryPeriod metav1.Duration `json:"retryPeriod"`
}

// A Condition of a node.
type Condition struct {
	Type string `json:"type"`
	// Status is True where it is not given.
	Status v1.ConditionStatus `json:"status"`
}

// retryPeriod is the default of RetryPeriod.
const retryPeriod = 10 * time.Second

// validate returns all that is wrong with arguments.
func validate(a *NodeProblemArgs) error {
	var errs []error
	if len(a.Taints)+len(a.Conditions) == 0 {
		errs = append(errs, errors.New("taints and conditions: at least one is needed"))
	}
	for i, t := range a.Taints {
		if key, _, _ := strings.Cut(t, "="); key == "" {
			errs = append(errs, fmt.Errorf("taints[%d]: %q has no key", i, t))
		}
	}
	for i, c := range a.Conditions {
		if c.Type == "" {
			errs = append(errs, fmt.Errorf("conditions[%d].type: is empty", i))
		}
		switch c.Status {
		case "", v1.ConditionTrue, v1.ConditionFalse, v1.ConditionUnknown:
		default:
			errs = append(errs, fmt.Errorf("conditions[%d].status: %q is none of True, False and Unknown", i, c.Status))
		}
	}
	if a.RetryPeriod.Duration <= 0 {
		errs = append(errs, fmt.Errorf("retryPeriod: %s is not more than zero", a.RetryPeriod.Duration))
	}
	return errors.Join(errs...)
}

// A problem is what is wrong with a node.
type problem struct {
	reason string // in words
	since  time.Time
	told   bool      // that pods are kept
	taint  *v1.Taint // that it is; nil: it is a condition
}

// stays says whether a pod may run on the node in spite of the problem: it tolerates the taint, or
// it was placed since by a scheduler that does not look at the problem, so that its replacement might
// come back. A pod that was placed before can be heard of after the problem, and goes.
func (p *problem) stays(pod *v1.Pod) bool {
	if p.taint != nil {
		if _, refused := corev1helpers.FindMatchingUntoleratedTaint(klog.Background(), []v1.Taint{*p.taint}, pod.Spec.Tolerations, nil, false); !refused {
			return true
		}
		if p.taint.Effect != v1.TaintEffectPreferNoSchedule {
			return false
		}
	}
	return placedAt(pod).After(p.since)
}

// placedAt is when a pod got its node, in whole seconds; zero where the API server does not
// say so.
func placedAt(pod *v1.Pod) time.Time {
	for _, c := range pod.Status.Conditions {
		if c.Type == v1.PodScheduled && c.Status == v1.ConditionTrue {
			return c.LastTransitionTime.Time
		}
	}
	return time.Time{}
}

// problem returns what is wrong with a node, or nil. Where the node does not say since when, it
// is since now.
func (a *NodeProblemArgs) problem(n *v1.Node, now time.Time) *problem {
	for _, taint := range n.Spec.Taints {
		for _, t := range a.Taints {
			if key, value, whole := strings.Cut(t, "="); key == taint.Key && (!whole || value == taint.Value) {
				p := &problem{reason: fmt.Sprintf("node %s has the taint %s", n.Name, taint.ToString()), since: now, taint: &taint}
				if taint.TimeAdded != nil {
					p.since = taint.TimeAdded.Time
				}
				return p
			}
		}
	}
	for _, c := range n.Status.Conditions {
		for _, of := range a.Conditions {
			if string(c.Type) == of.Type && (c.Status == of.Status || of.Status == "" && c.Status == v1.ConditionTrue) {
				p := &problem{reason: fmt.Sprintf("node %s has the condition %s=%s", n.Name, c.Type, c.Status), since: now}
				if !c.LastTransitionTime.IsZero() {
					p.since = c.LastTransitionTime.Time
				}
				return p
			}
		}
	}
	return nil
}
