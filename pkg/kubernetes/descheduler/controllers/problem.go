package controllers

import (
	"errors"
	"fmt"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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

// problem returns in words what is wrong with a node; empty: nothing is.
func (a *NodeProblemArgs) problem(n *v1.Node) string {
	for _, taint := range n.Spec.Taints {
		for _, t := range a.Taints {
			if key, value, whole := strings.Cut(t, "="); key == taint.Key && (!whole || value == taint.Value) {
				return fmt.Sprintf("node %s has the taint %s", n.Name, taint.ToString())
			}
		}
	}
	for _, c := range n.Status.Conditions {
		for _, of := range a.Conditions {
			if string(c.Type) == of.Type && (c.Status == of.Status || of.Status == "" && c.Status == v1.ConditionTrue) {
				return fmt.Sprintf("node %s has the condition %s=%s", n.Name, c.Type, c.Status)
			}
		}
	}
	return ""
}
