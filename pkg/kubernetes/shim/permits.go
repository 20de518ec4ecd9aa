package shim

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.uber.org/zap"
	v1 "k8s.io/api/core/v1"
)

// A Feasibility may have plugins that are asked between the choice of a node and the binding.
type permits interface {
	// Permits reports whether the other methods are to be called at all.
	Permits() bool
	// Permit asks whether a pod may be bound. It may have to wait for that: then wait is not nil, and returns when that is decided.
	Permit(ctx context.Context, pod *v1.Pod, node string) (wait func(ctx context.Context) error, err error)
	// PostBind tells of a pod that is bound.
	PostBind(ctx context.Context, pod *v1.Pod, node string)
}

// permitsOf is nil where there is nothing to ask.
func permitsOf(f Feasibility) permits {
	if p, ok := f.(permits); ok && p.Permits() {
		return p
	}
	return nil
}

// refusedBy is the plugin that refused a pod or failed, if it is none of kube-scheduler's; else it is empty.
func refusedBy(err error) string {
	var by interface{ OutOfTree() string }
	if errors.As(err, &by) {
		return by.OutOfTree()
	}
	return ""
}

// permit asks whether a pod may be bound. While it waits for that, it keeps no worker.
func (b *binder) permit(x *binding) {
	if x.revoked.Load() {
		b.finish(x, nil, errRevoked)
		return
	}
	wait, err := b.permits.Permit(x.wanted, x.pod, x.node)
	switch {
	case err != nil:
		b.finish(x, nil, fmt.Errorf("not permitted on node %s: %w", x.node, err))
	case wait == nil:
		x.permitted = true
		b.prepare(x)
	default:
		b.events.tell(x.pod, reasonAwaitsPermit, "plugins have it wait before it is bound to node "+x.node)
		b.run(func() { b.await(x, wait) })
	}
}

// await goes on with a pod when it is decided whether it may be bound.
func (b *binder) await(x *binding, wait func(context.Context) error) {
	if err := wait(x.wanted); err != nil {
		if !errors.Is(err, errRevoked) {
			err = fmt.Errorf("not permitted on node %s: %w", x.node, err)
		}
		b.finish(x, nil, err)
		return
	}
	x.permitted = true
	b.preparing.Add(x)
}

// postBind tells plugins of a pod that is bound. The pod waits for nothing any more, so it is done beside.
func (b *binder) postBind(x *binding) {
	if b.permits != nil {
		b.run(func() { b.permits.PostBind(b.ctx, x.pod, x.node) })
	}
}

// How soon an ask that could not be bound is sent again, if something has changed that may help: after a pause that doubles, as with
// kube-scheduler where a plugin refused it, and else as the core does by itself.
const (
	unboundPause    = time.Second
	refusedPauseMax = 10 * time.Second
	failedPauseMax  = time.Minute
)

// pauseAfter notes that a pod could not be bound. The lock must be held.
func (t *task) pauseAfter(why error) {
	most := failedPauseMax
	if refusedBy(why) != "" {
		most = refusedPauseMax
	}
	t.pause = min(max(2*t.pause, unboundPause), most)
	t.pausedUntil = time.Now().Add(t.pause)
}

// pauses reports whether a pod is not to be tried yet that could not be bound. Then it is tried after the pause. The lock must be held.
func (c *Context) pauses(t *task) bool {
	left := time.Until(t.pausedUntil)
	if left <= 0 {
		return false
	}
	name := againAfterPause + t.key()
	time.AfterFunc(left, func() { c.changed.note(name) })
	return true
}

// againAfterPause begins the name of a change that matters to one pod.
const againAfterPause = "pause of "

// tellUnbound says that a pod could not be bound. The lock must be held.
func (b *binder) tellUnbound(t *task, node string, why error) {
	plugin := refusedBy(why)
	switch {
	case errors.Is(why, errRevoked):
	case plugin != "":
		b.log.Info("pod refused by a plugin", refer(t.pod), zap.String("node", node), zap.String("plugin", plugin), zap.Error(why))
		b.events.warn(t.pod, reasonFailedScheduling, why.Error())
	default:
		b.log.Warn("binding failed", refer(t.pod), zap.String("node", node), zap.Error(why))
		b.events.warn(t.pod, reasonFailedBinding, why.Error())
	}
}
