package feasibility

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/pods"
)

// ErrNotReserved answers PreBind for a pod whose volumes or devices were not reserved.
var ErrNotReserved = errors.New("volumes and devices of the pod are not reserved")

// A reservation is what was chosen for a pod on a node: volumes and devices, which no
// other pod gets meanwhile.
type reservation struct {
	node  string
	state fwk.CycleState
	bound bool // PreBind succeeded
	plain bool // nothing was chosen, and it is there for plugins that are none of kube-scheduler's
	start *start
}

// Reserve chooses volumes and devices for a pod on a node and keeps them from others.
// It checks the node again, since what was free when it was checked may be taken. The
// pod may be set before or after. Nothing is written to the API server yet.
func (c *Checker) Reserve(ctx context.Context, pod *v1.Pod, node string) error {
	// Two pods must not choose the same volume, so each chooses among what those before
	// it have left.
	c.reserving.Lock()
	defer c.reserving.Unlock()
	if r := c.reservationOf(pod.UID); r != nil {
		if r.node == node {
			return nil
		}
		return fmt.Errorf("pod %s/%s has a reservation on node %s", pod.Namespace, pod.Name, r.node)
	}
	with := c.enter(pod)
	r, err := c.reserve(ctx, with, pod, node)
	if r == nil {
		c.leave(with)
		return err
	}
	c.reserved.Lock()
	defer c.reserved.Unlock()
	c.reservations[pod.UID] = r
	return nil
}

// reserve makes a reservation for a pod of a start; nil if it needs none. No other one is made meanwhile.
func (c *Checker) reserve(ctx context.Context, with *start, pod *v1.Pod, node string) (*reservation, error) {
	defer c.outOfTree.Cycle()()
	p, infos := c.prepareIn(with, pods.ForFilters(pod), []string{node})
	if err := c.filter(p, node, infos[0]); err != nil {
		c.noteRefusals(pod, err)
		return nil, err
	}
	if p.isPlain() && !c.outOfTree.Permit() {
		return nil, nil
	}
	if c.outOfTree.Permit() {
		c.outOfTree.PodsToActivate(p.state)
	}
	// They may hold a number for each node, and are not read any more.
	p.state.Delete("PreFilter" + names.PodTopologySpread)
	p.state.Delete("PreFilter" + names.InterPodAffinity)
	assumed := on(pod, node)
	if c.views != nil {
		c.views.binding, c.views.starts = pod.UID, with.name()
	}
	if err := c.errorOf(c.framework.RunReservePluginsReserve(ctx, p.state, assumed, node)); err != nil {
		c.framework.RunReservePluginsUnreserve(ctx, p.state, assumed, node)
		c.noteRefusals(pod, err)
		return nil, err
	}
	p.state.(*framework.CycleState).SetPodGroupSchedulingCycle(nil) // what follows is done for several pods at once
	return &reservation{node: node, state: p.state, plain: p.isPlain(), start: with}, nil
}

// PreBind writes to the API server what was reserved, and waits until volumes are bound.
// After it the pod can be bound. After an error Unreserve must follow, and after a
// failed binding as well.
func (c *Checker) PreBind(ctx context.Context, pod *v1.Pod, node string) error {
	r := c.reservation(pod.UID, node)
	if r == nil {
		if hasClaims(pod) {
			return ErrNotReserved
		}
		return nil
	}
	if err := c.writeClaims(ctx, r, pod); err != nil {
		return err
	}
	if err := c.preBind(ctx, r, pod); err != nil {
		return err
	}
	c.reserved.Lock()
	r.bound = true
	c.reserved.Unlock()
	c.leave(r.start)
	return nil
}

// writeClaims has the plugin of devices write claims that pods share, for one of them after the other: a claim is written anew for each, and what was
// made of an old one is refused, so that of many at once some would fail. What else a pod waits for, as its volumes, no other one waits for: preBind
// asks the plugin again, which has nothing left to write.
func (c *Checker) writeClaims(ctx context.Context, r *reservation, pod *v1.Pod) error {
	s := r.start
	if s == nil || c.views.itself == nil {
		return nil
	}
	s.writes.Lock()
	defer s.writes.Unlock()
	if s.written { // what another pod has written would be written again
		if err := c.reserveAgain(ctx, r, pod); err != nil {
			return err
		}
	}
	s.written = true
	return c.errorOf(c.views.itself.PreBind(ctx, r.state, on(pod, r.node), r.node))
}

// preBind has the plugins write what was reserved.
func (c *Checker) preBind(ctx context.Context, r *reservation, pod *v1.Pod) error {
	pod, node := on(pod, r.node), r.node // plugins read the node from the pod
	switch status := c.framework.RunPreBindPreFlights(ctx, r.state, pod, node); {
	case status.IsSkip():
		// No plugin has anything to write.
	case !status.IsSuccess():
		return c.errorOf(status)
	default:
		if err := c.errorOf(c.framework.RunPreBindPlugins(ctx, r.state, pod, node)); err != nil {
			c.noteRefusals(pod, err)
			return err
		}
	}
	return nil
}

// reserveAgain has a reservation be as it is now that another pod of its start has written claims.
func (c *Checker) reserveAgain(ctx context.Context, r *reservation, pod *v1.Pod) error {
	c.reserving.Lock()
	defer c.reserving.Unlock()
	c.framework.RunReservePluginsUnreserve(ctx, r.state, on(pod, r.node), r.node)
	again, err := c.reserve(ctx, r.start, pod, r.node)
	if again == nil { // nothing is reserved, and is not to be given back once more
		again, err = &reservation{state: framework.NewCycleState()}, cmp.Or(err, ErrNotReserved)
	}
	c.reserved.Lock()
	defer c.reserved.Unlock()
	r.state = again.state
	return err
}

// Unreserve gives back what was reserved for a pod on a node. Without a reservation it
// does nothing.
func (c *Checker) Unreserve(ctx context.Context, pod *v1.Pod, node string) {
	r := c.reservation(pod.UID, node)
	if r == nil {
		return
	}
	c.framework.RunReservePluginsUnreserve(ctx, r.state, on(pod, node), node)
	c.reserved.Lock()
	delete(c.reservations, pod.UID)
	bound := r.bound
	c.reserved.Unlock()
	if !bound {
		c.leave(r.start)
	}
	c.unreserved(pod, node)
}

// reservation is that of a pod on a node, or nil.
func (c *Checker) reservation(uid types.UID, node string) *reservation {
	if r := c.reservationOf(uid); r != nil && r.node == node {
		return r
	}
	return nil
}

// reservationOf is that of a pod on any node, or nil.
func (c *Checker) reservationOf(uid types.UID) *reservation {
	c.reserved.Lock()
	defer c.reserved.Unlock()
	return c.reservations[uid]
}

// forgetBound forgets the reservation of a pod that was bound and is gone. What it says
// is then known from the objects of the API server.
func (c *Checker) forgetBound(uid types.UID) {
	c.reserved.Lock()
	defer c.reserved.Unlock()
	if r := c.reservations[uid]; r != nil && r.bound {
		delete(c.reservations, uid)
	}
}

// hasClaims says whether a pod names volumes or devices that must be reserved.
func hasClaims(pod *v1.Pod) bool {
	for i := range pod.Spec.Volumes {
		if v := &pod.Spec.Volumes[i]; v.PersistentVolumeClaim != nil || v.Ephemeral != nil {
			return true
		}
	}
	return len(pod.Spec.ResourceClaims) > 0
}
