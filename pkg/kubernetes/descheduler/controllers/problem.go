package controllers

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1helpers "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/klog/v2"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/drain"
)

// NodeProblemArgs are the arguments of NodeProblem: a node has a problem, and is drained, where it has one
// of the taints, labels or conditions.
type NodeProblemArgs struct {
	// Taints are key, key=value, key:effect or key=value:effect.
	Taints []string `json:"taints"`
	// Labels are key or key=value.
	Labels []string `json:"labels"`
	// Conditions are those of the status of a node.
	Conditions []Condition `json:"conditions"`
	// MaxNodes is how many nodes are drained at a time; 0 is all.
	MaxNodes int `json:"maxNodes"`
	// RetryPeriod is the time until pods are tried again that could not be evicted.
	RetryPeriod metav1.Duration `json:"retryPeriod"`
}

// A Condition of a node.
type Condition struct {
	Type string `json:"type"`
	// Status is True where it is not given.
	Status v1.ConditionStatus `json:"status"`
}

// The defaults of RetryPeriod and of MaxNodes.
const (
	retryPeriod = 10 * time.Second
	maxNodes    = 1
)

// validate returns all that is wrong with arguments.
func validate(a *NodeProblemArgs) error {
	var errs []error
	if len(a.Taints)+len(a.Labels)+len(a.Conditions) == 0 {
		errs = append(errs, errors.New("taints, labels and conditions: at least one is needed"))
	}
	effects := []v1.TaintEffect{"", v1.TaintEffectNoSchedule, v1.TaintEffectPreferNoSchedule, v1.TaintEffectNoExecute}
	for i, t := range a.Taints {
		of, effect, given := strings.Cut(t, ":")
		if key, _, _ := strings.Cut(of, "="); key == "" {
			errs = append(errs, fmt.Errorf("taints[%d]: %q has no key", i, t))
		}
		if given && (effect == "" || !slices.Contains(effects, v1.TaintEffect(effect))) {
			errs = append(errs, fmt.Errorf("taints[%d]: %q is none of the effects NoSchedule, PreferNoSchedule and NoExecute", i, effect))
		}
	}
	for i, l := range a.Labels {
		if key, _, _ := strings.Cut(l, "="); key == "" {
			errs = append(errs, fmt.Errorf("labels[%d]: %q has no key", i, l))
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
	if a.MaxNodes < 0 {
		errs = append(errs, fmt.Errorf("maxNodes: %d is less than zero", a.MaxNodes))
	}
	if a.RetryPeriod.Duration <= 0 {
		errs = append(errs, fmt.Errorf("retryPeriod: %s is not more than zero", a.RetryPeriod.Duration))
	}
	return errors.Join(errs...)
}

// A problem is why a node is drained. It does not change.
type problem struct {
	by     string // what opened the drain
	reason string // the same, as the reason of evictions
	since  time.Time
	opened time.Time // the drain
	taint  *v1.Taint // that it is; nil: it is a label or a condition
	// shuts says that schedulers place no pods there because of it, and leaves that all pods are to leave,
	// also those that were placed since.
	shuts, leaves bool
}

// stays says whether a pod may run on the node in spite of the problem: it tolerates the taint, or
// it was placed since by a scheduler that does not look at the problem, so that its replacement might
// come back. A pod that was placed before can be heard of after the problem, and goes.
func (p *problem) stays(pod *v1.Pod) bool {
	if p.taint != nil {
		if _, refused := corev1helpers.FindMatchingUntoleratedTaint(klog.Background(), []v1.Taint{*p.taint}, pod.Spec.Tolerations, nil, false); !refused {
			return true
		}
	}
	return !p.leaves && placedAt(pod).After(p.since)
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

// problem returns why a node is to be drained, or nil. Where the node does not say since when, it
// is since the drain was opened, or since now. Record is what the node says of its drain, or nil.
func (a *NodeProblemArgs) problem(n *v1.Node, record *drain.Status, now time.Time) *problem {
	opened := now
	if record != nil {
		opened = record.Since.Time
	}
	p := a.opener(n, record != nil && record.Cordoned)
	if p != nil {
		p.opened = opened
		if p.since.IsZero() {
			p.since = opened
		}
		p.reason = fmt.Sprintf("node %s has the %s", n.Name, p.by)
	}
	return p
}

// opener is the first of what opens a drain that a node has. The taint that Kubernetes gives to a node that is cordoned is none
// where the drain has cordoned it, nor for the moment that it outlasts the cordon.
func (a *NodeProblemArgs) opener(n *v1.Node, cordoned bool) *problem {
	for _, taint := range n.Spec.Taints {
		echo := taint.Key == v1.TaintNodeUnschedulable && (cordoned || !n.Spec.Unschedulable)
		if echo || !slices.ContainsFunc(a.Taints, func(t string) bool { return matches(t, &taint) }) {
			continue
		}
		away := taint.Effect != v1.TaintEffectPreferNoSchedule
		p := &problem{by: "taint " + taint.ToString(), taint: &taint, shuts: away, leaves: away}
		if taint.TimeAdded != nil {
			p.since = taint.TimeAdded.Time
		}
		return p
	}
	for _, l := range a.Labels {
		key, value, whole := strings.Cut(l, "=")
		if has, there := n.Labels[key]; there && (!whole || has == value) {
			return &problem{by: "label " + key + "=" + has, leaves: true}
		}
	}
	for _, c := range n.Status.Conditions {
		for _, of := range a.Conditions {
			if string(c.Type) == of.Type && (c.Status == of.Status || of.Status == "" && c.Status == v1.ConditionTrue) {
				return &problem{by: fmt.Sprintf("condition %s=%s", c.Type, c.Status), since: c.LastTransitionTime.Time}
			}
		}
	}
	return nil
}

// matches says whether a taint is one that an argument names.
func matches(argument string, taint *v1.Taint) bool {
	of, effect, _ := strings.Cut(argument, ":")
	key, value, whole := strings.Cut(of, "=")
	return key == taint.Key && (!whole || value == taint.Value) && (effect == "" || effect == string(taint.Effect))
}
