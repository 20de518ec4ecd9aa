package feasibility

import (
	"context"
	"errors"
	"fmt"

	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/outoftree"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/pods"
)

// What follows is about plugins that are none of kube-scheduler's (package outoftree). Without them it does nothing.

// noteRefusals notes which plugins keep a pod from nodes, so that their events have it tried again.
func (c *Checker) noteRefusals(pod *v1.Pod, answers ...error) {
	if c.outOfTree == nil {
		return
	}
	for _, err := range answers {
		var refusal *Refusal
		var failure *outoftree.Failure
		switch {
		case errors.As(err, &refusal):
			c.outOfTree.Refused(pod, refusal.Plugin)
		case errors.As(err, &failure):
			c.outOfTree.Refused(pod, failure.Plugin)
		}
	}
}

// see shows the cluster, which is locked, as it is now.
func (c *Checker) see() *listed {
	if c.snapshot == nil {
		return nil
	}
	return c.snapshot.take(c.cluster)
}

// prepareOutOfTree runs PreFilter of plugins for a preparation that no other question knows. They see what is shown and may take
// long, so the cluster is not locked meanwhile.
func (c *Checker) prepareOutOfTree(p *preparation) {
	if p.refused == nil && c.outOfTree.Decide() {
		result, status, choosing := c.outOfTree.PreFilter(context.Background(), p.state, p.pod)
		c.take(p, result, status, choosing)
	}
	if p.seen != nil {
		c.snapshot.made.Store(p.seen)
	}
}

// Points are the scores of some nodes for a pod by the plugins that score, times their weights; nil is none. A node that is not known has none.
func (c *Checker) Points(pod *v1.Pod, nodes []string) []int64 {
	if !c.outOfTree.Score() {
		return nil
	}
	defer c.outOfTree.Cycle()()
	pod = pods.ForFilters(pod)
	p, infos := c.prepare(pod, nodes)
	if p.refused != nil {
		return nil
	}
	var known []fwk.NodeInfo
	for _, info := range infos {
		if info != nil {
			known = append(known, info)
		}
	}
	state := p.state.Clone()
	if !c.framework.RunPreScorePlugins(context.Background(), state, pod, known).IsSuccess() {
		return nil
	}
	scores := c.outOfTree.Scored(pod, func(ctx context.Context) []fwk.NodePluginScores {
		scores, _ := c.framework.RunScorePlugins(ctx, state, pod, known) // nil with an error
		return scores
	})
	if scores == nil {
		return nil
	}
	points, next := make([]int64, len(nodes)), 0
	for i, info := range infos {
		if info != nil {
			points[i] = scores[next].TotalScore
			next++
		}
	}
	return points
}

// CountsEarly reports whether a placement is to be counted (SetPod) as soon as it is decided, before it is announced: other plugins
// than kube-scheduler's look at all pods, whichever pod they are asked about next.
func (c *Checker) CountsEarly() bool { return c.outOfTree.Decide() || c.outOfTree.Score() }

// Scores reports whether Points are ever other than none.
func (c *Checker) Scores() bool { return c.outOfTree.Score() }

// Permits reports whether Permit and PostBind are to be called.
func (c *Checker) Permits() bool { return c.outOfTree.Permit() }

// Permit asks whether a pod may be bound to the node that is reserved for it. It may have to wait for that: then wait is not nil,
// and returns when plugins have decided, when their time is over, or when its context ends. After an error Unreserve must follow.
func (c *Checker) Permit(ctx context.Context, pod *v1.Pod, node string) (wait func(context.Context) error, err error) {
	r := c.reservation(pod.UID, node)
	if r == nil {
		return nil, ErrNotReserved
	}
	defer c.outOfTree.Cycle()()
	pod = on(pod, node)
	times, status := c.framework.RunPermitPlugins(ctx, r.state, pod, node)
	if err := c.errorOf(status); err != nil && !status.IsWait() {
		c.noteRefusals(pod, err)
		return nil, err
	}
	if status.IsWait() {
		c.framework.AddWaitingPod(pod, times)
		waiting := c.framework.GetWaitingPod(pod.UID)
		wait = func(ctx context.Context) error {
			defer context.AfterFunc(ctx, func() { waiting.Reject("", "it is not wanted any more") })()
			err := c.errorOf(c.framework.WaitOnPermit(ctx, pod))
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			c.noteRefusals(pod, err)
			return err
		}
	}
	c.outOfTree.Activate(r.state)
	return wait, nil
}

// PostBind tells plugins that a pod is bound.
func (c *Checker) PostBind(ctx context.Context, pod *v1.Pod, node string) {
	r := c.reservation(pod.UID, node)
	if r == nil {
		return
	}
	c.framework.RunPostBindPlugins(ctx, r.state, on(pod, node), node)
	c.outOfTree.Activate(r.state)
	if r.plain {
		c.reserved.Lock()
		defer c.reserved.Unlock()
		delete(c.reservations, pod.UID)
	}
}

// unreserved tells plugins that wait for room that what was reserved for a pod is free.
func (c *Checker) unreserved(pod *v1.Pod, node string) {
	c.outOfTree.Happened(framework.EventAssignedPodDelete, on(pod, node), nil)
}

// errorOf is errorOf for a status that may be of a plugin which is none of kube-scheduler's: what it says names the plugin.
func (c *Checker) errorOf(status *fwk.Status) error {
	err := errorOf(status)
	if refusal, ok := err.(*Refusal); ok && c.outOfTree.Has(refusal.Plugin) { //nolint:errorlint // it is not wrapped
		refusal.outOfTree = true
	}
	return err
}

// OutOfTree is the plugin that refused, if it is none of kube-scheduler's; else it is empty.
func (r *Refusal) OutOfTree() string {
	if r.outOfTree {
		return r.Plugin
	}
	return ""
}

// nameOf puts the name of a plugin that is none of kube-scheduler's before what it said.
func (r *Refusal) nameOf(text string) string {
	if r.outOfTree {
		return fmt.Sprintf("plugin %s: %s", r.Plugin, text)
	}
	return text
}
