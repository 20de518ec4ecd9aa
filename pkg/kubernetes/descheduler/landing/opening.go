package landing

import (
	"context"

	v1 "k8s.io/api/core/v1"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/explain"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/framework"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/pods"
)

// Opening implements framework.Opener, for pods of this project. It is the remedy of moves of package explain, on the books of this cycle.
func (c *Cluster) Opening(ctx context.Context, waiting *v1.Pod, stays func(pod *v1.Pod) bool) (moves []framework.Booking, opens string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.takeBack()
	e := c.entries[api.AllocationKey(pods.Key(waiting))]
	if e == nil || !e.waits() || !c.rules.IsOurs(waiting) {
		return nil, ""
	}
	answer, err := explain.Ask(c.partition.View(), c.kinds, e.allocation.Application, e.allocation.Key)
	if err != nil {
		return nil, ""
	}
	without := func(of api.AllocationKey, node api.NodeID, left []api.AllocationKey) error {
		pod := c.entries[of].pod
		if c.entries[of].runs() {
			pod = replacementOf(pod)
		}
		gone := make([]*v1.Pod, len(left))
		for i, key := range left {
			gone[i] = c.entries[key].pod
		}
		return c.checker.CheckWith(pod, string(node), nil, gone)
	}
	answer.FindMoves(ctx, explain.Trial{Now: c.now, Free: true, Without: without, Stays: func(key api.AllocationKey) bool { return stays(c.entries[key].pod) }})
	for _, m := range answer.Moves {
		moves = append(moves, framework.Booking{Pod: c.entries[m.Key].pod, Node: string(m.To)})
	}
	return moves, answer.Opens
}
