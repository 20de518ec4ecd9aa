package shim

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"go.uber.org/zap"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/workqueue"
)

// errRevoked ends a binding that is not wanted any more.
var errRevoked = errors.New("it was taken back before it was bound")

// A binding is one pod on its way to its node.
type binding struct {
	task     *task
	pod      *v1.Pod // as it was when it was placed
	node     string
	prepared bool
	revoked  atomic.Bool
	ctx      context.Context // ends when the pod has ended
	cancel   context.CancelFunc
	unseen   context.Context // ends with ctx, and when an informer says which node the pod has
	seen     context.CancelFunc

	permitted bool                    // by plugins
	wanted    context.Context         // ends with ctx, and when it is revoked; nil where there are no such plugins
	unwant    context.CancelCauseFunc // ends it
}

// revoke keeps it from being bound if that has not begun. What has begun is finished, since
// nothing takes back a request to the API server.
func (b *binding) revoke() {
	b.revoked.Store(true)
	if b.unwant != nil {
		b.unwant(errRevoked)
	}
}

// A binder binds pods with a bounded number of workers. However many are placed at once,
// the API server gets so many requests at a time, and the others wait here, with turns for
// namespaces. Pods whose volumes or devices must be made ready wait for them in a pool of
// their own, so that they hold up no others.
type binder struct {
	*Context
	preparing, binding *workqueue.Typed[*binding]
}

func newBinder(c *Context) *binder {
	return &binder{Context: c, preparing: newTurns(), binding: newTurns()}
}

// start starts the workers, which end when the queues are shut down.
func (b *binder) start() {
	for range b.options.PrepareWorkers {
		b.run(func() { serve(b.Context, b.preparing, b.prepare) })
	}
	for range b.options.BindWorkers {
		b.run(func() { serve(b.Context, b.binding, b.bind) })
	}
}

// put takes a binding.
func (b *binder) put(x *binding) {
	if hasVolumesOrClaims(x.pod) || b.permits != nil {
		b.preparing.Add(x)
		return
	}
	b.binding.Add(x)
}

// hasVolumesOrClaims reports whether something must be made ready before a pod can be bound.
func hasVolumesOrClaims(pod *v1.Pod) bool {
	if len(pod.Spec.ResourceClaims) > 0 {
		return true
	}
	for i := range pod.Spec.Volumes {
		if v := &pod.Spec.Volumes[i]; v.PersistentVolumeClaim != nil || v.Ephemeral != nil {
			return true
		}
	}
	return false
}

// prepare asks plugins, and makes volumes and devices ready.
func (b *binder) prepare(x *binding) {
	if b.permits != nil && !x.permitted {
		b.permit(x)
		return
	}
	if err := b.preBind(x); err != nil {
		b.finish(x, nil, err)
		return
	}
	x.prepared = true
	b.binding.Add(x)
}

func (b *binder) preBind(x *binding) error {
	if x.revoked.Load() {
		return errRevoked
	}
	ctx, cancel := context.WithTimeout(x.ctx, b.options.PrepareTimeout)
	defer cancel()
	if err := b.feasible.PreBind(ctx, x.pod, x.node); err != nil {
		return fmt.Errorf("making it ready on node %s: %w", x.node, err)
	}
	return nil
}

// bind binds a pod, with some attempts on its node.
func (b *binder) bind(x *binding) {
	if !x.prepared {
		if err := b.preBind(x); err != nil {
			b.finish(x, nil, err)
			return
		}
	}
	delay := b.options.RetryDelay
	for attempt := 1; ; attempt++ {
		if x.revoked.Load() {
			b.finish(x, nil, errRevoked)
			return
		}
		pod, outcome, err := b.attempt(x)
		if outcome != again || attempt >= b.options.BindAttempts {
			b.finish(x, pod, err)
			return
		}
		if !pause(x.ctx, delay) {
			b.finish(x, nil, x.ctx.Err())
			return
		}
		delay = min(2*delay, b.options.RetryMax)
	}
}

// attempt asks the API server once to bind a pod, and finds out what came of it. The pod is
// its state if that had to be read.
func (b *binder) attempt(x *binding) (pod *v1.Pod, outcome outcome, err error) {
	ctx, cancel := context.WithTimeout(x.ctx, b.options.BindTimeout)
	defer cancel()
	err = b.options.Client.CoreV1().Pods(x.pod.Namespace).Bind(ctx, &v1.Binding{
		ObjectMeta: metav1.ObjectMeta{Namespace: x.pod.Namespace, Name: x.pod.Name, UID: x.pod.UID},
		Target:     v1.ObjectReference{Kind: "Node", Name: x.node},
	}, metav1.CreateOptions{})
	outcome = outcomeOf(err)
	if outcome == unknown {
		return b.look(x, err)
	}
	return nil, outcome, err
}

// assume counts a pod as running on the node that the core chose, and has it bound. The lock
// must be held; while plugins are asked it is not.
func (b *binder) assume(t *task, node string) {
	x := &binding{task: t, pod: t.pod, node: node}
	x.ctx, x.cancel = context.WithCancel(b.ctx)
	x.unseen, x.seen = context.WithCancel(x.ctx)
	if b.permits != nil {
		x.wanted, x.unwant = context.WithCancelCause(x.ctx)
	}
	// What was chosen is checked once more here, so it must not be counted yet.
	b.forgetDecided(t.key())
	b.place(t, node)
	t.told, t.sent, t.binding = placed, withNode(t.sent, node), x
	err := b.reserve(x)
	switch {
	case !b.isCurrent(x) || t.pod.Spec.NodeName != "": // it has ended meanwhile, or was bound elsewhere
		x.revoke()
	default:
		pod := *t.pod // the API server has not said so: the known state stays as it is
		pod.Spec.NodeName = node
		t.assumed = &state{&pod, t.takes}
		b.feasible.SetPod(&pod)
	}
	if err != nil {
		b.conclude(x, nil, fmt.Errorf("reserving on node %s: %w", node, err))
		return
	}
	b.put(x)
}

// reserve keeps what a pod needs on its node. Plugins that are none of kube-scheduler's may take long to answer, which nothing
// waits for but what is placed after it: the lock, which must be held, is given back meanwhile.
func (b *binder) reserve(x *binding) error {
	if b.permits != nil {
		b.mu.Unlock()
		defer b.mu.Lock()
	}
	return b.feasible.Reserve(x.ctx, x.pod, x.node)
}

// isCurrent reports whether a binding is still that of its pod, which has not ended. The lock must be held.
func (b *binder) isCurrent(x *binding) bool {
	return x.task.binding == x && b.tasks[x.task.key()] == x.task
}

// withNode is a message with another node.
func withNode(m *si.Allocation, node string) *si.Allocation {
	if m == nil {
		return nil
	}
	return &si.Allocation{
		AllocationKey: m.AllocationKey, ApplicationID: m.ApplicationID, PartitionName: m.PartitionName, NodeID: node,
		AllocationTags: m.AllocationTags, ResourcePerAlloc: m.ResourcePerAlloc, Priority: m.Priority,
		TaskGroupName: m.TaskGroupName, Placeholder: m.Placeholder, Originator: m.Originator, PreemptionPolicy: m.PreemptionPolicy,
	}
}

// finish takes the end of a binding, with the state of the pod if it was read.
func (b *binder) finish(x *binding, pod *v1.Pod, err error) {
	if err != nil {
		b.feasible.Unreserve(b.ctx, x.pod, x.node)
	} else {
		b.postBind(x)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.conclude(x, pod, err)
}

// conclude takes the end of a binding: the pod is bound, or it waits again with nothing reserved, and the core is
// told. The lock must be held.
func (b *binder) conclude(x *binding, pod *v1.Pod, err error) {
	x.cancel()
	t := x.task
	current := b.isCurrent(x)
	if current {
		t.binding = nil
	}
	b.count(t, err, current)
	switch {
	case !current || b.ctx.Err() != nil: // it has ended meanwhile, or everything does
	case err == nil:
		b.bound(t)
	case errors.Is(err, errGone):
		b.end(t)
	case pod != nil && pod.Spec.NodeName != "" || t.pod.Spec.NodeName != "": // it was bound elsewhere
		if pod != nil {
			b.takePod(pod)
		}
		if b.tasks[t.key()] == t { // it has not ended
			b.goOn(t)
		}
	default:
		b.unbound(t, err)
	}
}

// count counts a binding that has come to its end. The lock must be held.
func (b *binder) count(t *task, err error, current bool) {
	m, result := b.options.Metrics, bindingFailed
	switch {
	case err == nil:
		result = bindingDone
		m.bound.Observe(time.Since(t.since).Seconds())
	case !current || errors.Is(err, errRevoked) || errors.Is(err, errGone) || errors.Is(err, context.Canceled) || refusedBy(err) != "":
		result = bindingRevoked
	}
	m.bindings.WithLabelValues(result).Inc()
}

// bound goes on with a pod that the API server has bound. The lock must be held.
func (b *binder) bound(t *task) {
	t.pause = 0
	b.log.Debug("pod bound", refer(t.pod), zap.String("node", t.node))
	b.events.tell(t.pod, reasonScheduled, "placed on node "+t.node)
	b.goOn(t)
}

// goOn does what had to wait for the end of a binding, of a pod that has a node: it is ended
// if the core wanted that, and the core is told what changed. The lock must be held.
func (b *binder) goOn(t *task) {
	if t.eviction != nil {
		b.evictor.add(t.key())
	}
	b.sync(t)
}

// unbound has a pod wait again that could not be bound, but for a placeholder that was to end:
// it is not needed any more, and its room is free. The core takes it for an ask again,
// and tries another node first. The lock must be held.
func (b *binder) unbound(t *task, why error) {
	node := t.node
	b.feasible.RemovePod(t.assumed.pod)
	t.assumed = nil
	if !isGangPod(t) {
		t.eviction = nil
	}
	if t.pod.DeletionTimestamp == nil && t.eviction == nil {
		delete(b.leaving, t.key())
	}
	b.place(t, "")
	b.tellUnbound(t, node, why)
	if t.eviction != nil {
		b.release(t, t.eviction.termination, t.eviction.message)
		b.evictor.add(t.key())
	} else if t.told == placed {
		t.pauseAfter(why)
		sent := withNode(t.sent, "")
		b.release(t, schedulingFailed, why.Error())
		t.told, t.sent = asked, sent
	}
	b.sync(t)
}
