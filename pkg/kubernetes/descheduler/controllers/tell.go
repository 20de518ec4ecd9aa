package controllers

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/drain"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/framework"
	"github.com/narwhal-scheduler/narwhal/pkg/wording"
)

// Reasons of events of nodes.
const (
	reasonOpened  = "DrainOpened"
	reasonWaits   = "DrainWaits"
	reasonBlocked = "DrainBlocked"
	reasonDrained = "Drained"
	reasonEnded   = "DrainEnded"
)

// told is what events have said of a drain. A process that starts takes it from the node.
type told struct {
	state drain.State
	note  string // of the pods that are kept
	at    time.Time
}

// toldEvery is how often an event may name the pods that are kept, where these change: tenants can have them change as
// often as they like.
const toldEvery = time.Minute

// say writes how far a drain is, where that has changed, and then the events of it: one that is lost in between is better than one
// that comes twice.
func (n *nodeProblem) say(ctx context.Context, k *kept, d *draining, next drain.Status) {
	node, err := n.nodes.Get(d.node)
	if err != nil {
		return // it is gone
	}
	cordons := !d.problem.shuts && !node.Spec.Unschedulable && !next.Cordoned
	next.Cordoned = next.Cordoned || cordons
	if text := next.Text(); text != d.written {
		of := change{text: &text}
		if cordons {
			of.unschedulable = &cordons
		}
		err := n.write(ctx, node, of)
		d.failed = err != nil && !apierrors.IsForbidden(err)
		if err == nil {
			d.written = text
		} else {
			next.Cordoned = d.status.Cordoned
			k.failed = k.failed || d.failed
			n.warn("node %s cannot be written, so that it is not cordoned and does not say how far its drain is: %s", d.node, err)
		}
	}
	d.status = next
	n.announce(d, node)
}

// announce writes the events of what a drain has come to.
func (n *nodeProblem) announce(d *draining, node *v1.Node) {
	s, before := &d.status, d.told
	d.told.state = s.State
	note := s.Kept()
	switch {
	case before.state == "":
		n.event(node, v1.EventTypeNormal, reasonOpened, fmt.Sprintf("drain opened by %s: %s to leave", s.By, wording.Several(s.Left, "pod")))
	case s.State == drain.Waiting && before.state != drain.Waiting:
		n.event(node, v1.EventTypeNormal, reasonWaits, "the drain waits for node "+s.WaitsFor)
	case s.State == drain.Drained && before.state != drain.Drained:
		n.event(node, v1.EventTypeNormal, reasonDrained, fmt.Sprintf("drained after %s", s.Took()))
	case s.State == drain.Blocked && (before.state != drain.Blocked || note != before.note && n.handle.Clock().Since(before.at) >= toldEvery):
		d.told.note, d.told.at = note, n.handle.Clock().Now()
		n.event(node, v1.EventTypeWarning, reasonBlocked, fmt.Sprintf("%s left: %s", wording.Several(s.Left, "pod"), note))
		n.warn("%s, and %s: %s", d.problem.reason, stay(s.Left), note)
	}
}

// stay says that so many pods do.
func stay(count int) string {
	if count == 1 {
		return "1 pod stays"
	}
	return fmt.Sprintf("%d pods stay", count)
}

// end ends the drain of a node that has no problem any more: jobs that have not evicted their pod are taken back, and the node
// is as it was before.
func (n *nodeProblem) end(ctx context.Context, k *kept, name string) {
	node, err := n.nodes.Get(name)
	if err != nil {
		delete(n.drains, name)
		return
	}
	record, other := n.mine(node)
	if d := n.drains[name]; d != nil && d.uid == node.UID && !other {
		record = &d.status
	}
	if record == nil {
		delete(n.drains, name)
		return
	}
	n.withdraw(ctx, name)
	var of change
	if record.Cordoned {
		of.unschedulable = new(bool)
	}
	if err := n.write(ctx, node, of); err != nil && !apierrors.IsNotFound(err) && (record.Cordoned || !apierrors.IsForbidden(err)) {
		n.warn("the drain of node %s is over, and it cannot be written: %s", name, err)
		k.failed = true
		n.mu.Lock()
		defer n.mu.Unlock()
		n.look[name] = true // without a wake, since it would come to the same
		return
	}
	delete(n.drains, name)
	took := n.now().Sub(record.Since.Time)
	n.event(node, v1.EventTypeNormal, reasonEnded, fmt.Sprintf("the %s is gone after %s, with %s left", record.By, took, wording.Several(record.Left, "pod")))
}

// withdraw takes back what was asked for and has not begun.
func (n *nodeProblem) withdraw(ctx context.Context, node string) {
	w, ok := n.handle.Evictor().(framework.Withdrawer)
	if !ok || n.handle.DryRun() {
		return
	}
	for _, pod := range n.handle.Snapshot().InFlight() {
		if pod.Spec.NodeName != node || pod.DeletionTimestamp != nil {
			continue
		}
		if err := w.Withdraw(ctx, pod, framework.EvictOptions{}); err != nil {
			n.warn("the eviction of pod %s/%s cannot be taken back: %s", pod.Namespace, pod.Name, err)
		}
	}
}

// A change of a node: the annotation, or that there is none, and whether it is unschedulable, or that this is left as it is.
type change struct {
	text          *string
	unschedulable *bool
}

// patch is the text of a change of a node that was not changed meanwhile.
func (c change) patch(node *v1.Node) ([]byte, error) {
	of := map[string]any{"metadata": map[string]any{
		"uid": node.UID, "resourceVersion": node.ResourceVersion, "annotations": map[string]any{drain.Annotation: c.text},
	}}
	if c.unschedulable != nil {
		of["spec"] = map[string]any{"unschedulable": *c.unschedulable}
	}
	return json.Marshal(of)
}

// write changes a node as it is known, or, where it was changed meanwhile, as it is.
func (n *nodeProblem) write(ctx context.Context, node *v1.Node, c change) error {
	if n.handle.DryRun() {
		return nil
	}
	nodes := n.handle.ClientSet().CoreV1().Nodes()
	for tries := 0; ; tries++ {
		text, err := c.patch(node)
		if err != nil {
			return err
		}
		_, err = nodes.Patch(ctx, node.Name, types.MergePatchType, text, metav1.PatchOptions{})
		if !apierrors.IsConflict(err) || tries > 0 {
			return err
		}
		fresh, err := nodes.Get(ctx, node.Name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if fresh.UID != node.UID {
			return apierrors.NewNotFound(v1.Resource("nodes"), node.Name)
		}
		node = fresh
	}
}

func (n *nodeProblem) event(node *v1.Node, kind, reason, note string) {
	if a, ok := n.handle.(framework.NodeAnnouncer); ok {
		a.AnnounceNode(node, kind, reason, note)
	}
}

func (n *nodeProblem) warn(format string, values ...any) {
	if w, ok := n.handle.(framework.Warner); ok {
		w.Warn(fmt.Sprintf(format, values...))
	}
}
