package feasibility

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync/atomic"

	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/pods"
)

// FreeClaims takes devices from one claim of a pod that waits, so that it may get others elsewhere: the claim is in use by no other
// pod, and its devices keep the pod from a node on which it could run. Such a claim is left behind by a binding that failed,
// or by the end of the last pod that used it while the controller of claims was away. The plugin of devices decides. It does nothing for a
// pod that may run on some node, or for which one is reserved.
func (c *Checker) FreeClaims(ctx context.Context, pod *v1.Pod) error {
	if c.views == nil || c.views.itself == nil || c.reservationOf(pod.UID) != nil || !c.hasDevices(pod) {
		return nil
	}
	defer c.outOfTree.Cycle()()
	c.mu.Lock()
	nodes := slices.Sorted(maps.Keys(c.cluster.nodes.place))
	c.mu.Unlock()
	p, infos := c.prepare(pods.ForFilters(pod), nodes)
	var fits atomic.Bool
	inParallel(c.workers, len(nodes), func(i int) {
		if c.filter(p, nodes[i], infos[i]) == nil {
			fits.Store(true)
		}
	})
	if p.refused != nil || fits.Load() {
		return nil
	}
	if _, status := c.views.itself.PostFilter(ctx, p.state, pod, nil); status.Code() == fwk.Error {
		return fmt.Errorf("freeing a claim of devices: %w", status.AsError())
	}
	return nil
}

// hasDevices reports whether a claim of a pod has devices already, or had them for its extended resources.
func (c *Checker) hasDevices(pod *v1.Pod) bool {
	for claim := range c.views.claimsAsTheyAre(pod) {
		if claim.Status.Allocation != nil {
			return true
		}
	}
	return pod.Status.ExtendedResourceClaimStatus != nil
}
