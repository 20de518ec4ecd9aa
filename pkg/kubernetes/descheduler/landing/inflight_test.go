package landing

import (
	"testing"

	"gotest.tools/v3/assert"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/framework"
)

// TestEvictionsInFlightHoldTheirRoom: a pod whose eviction began before the snapshot stands where it is
// until it has ended, for room and for anti-affinity. For the guarantee of its queue it is gone.
func TestEvictionsInFlightHoldTheirRoom(t *testing.T) {
	o := ours
	o.Queues = twoQueues
	goes, stays := pod("goes", "a", 3, inQueue("root.large"), apart), pod("stays", "b", 2, inQueue("root.large"), apart)
	c := cluster(t, o, nodes(2), goes, stays)
	_, err := c.whereTo(stays)
	assert.NilError(t, err)
	_, short := c.ShortWithout(stays)
	assert.Assert(t, !short, "3 of the 2 that are guaranteed stay")

	inFlight := func(nodes []*v1.Node, all ...*v1.Pod) *framework.Snapshot {
		s := snapshot(nodes, all...)
		s.MarkInFlight([]types.UID{goes.UID})
		return s
	}
	c.Sync(inFlight(nodes(2), goes, stays))
	assert.ErrorContains(t, c.Fits(stays, "a"), "")
	_, short = c.ShortWithout(stays)
	assert.Assert(t, short, "what goes is no part of what is guaranteed")
	small := pod("small", "b", 2)
	c.Sync(inFlight(nodes(2), goes, small))
	assert.ErrorContains(t, c.Fits(small, "a"), "Insufficient cpu")
	_, err = c.book(goes)
	assert.ErrorIs(t, err, framework.ErrUnknownPod)
	waits := pod("goes", "", 3) // it was to be evicted before it ran
	c.Sync(inFlight(nodes(1), waits, pod("runs", "a", 1)))
	assert.NilError(t, c.Fits(pod("other", "b", 3), "a"))
	c.Sync(snapshot(nodes(2), small)) // it has ended
	assert.NilError(t, c.Fits(small, "a"))
}
