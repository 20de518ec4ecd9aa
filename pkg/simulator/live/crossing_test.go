package live_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/api"
	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/simulator/live"
)

// A fakeScheduler is a scheduler whose answers the test makes. It keeps what it was
// sent.
type fakeScheduler struct {
	api.SchedulerAPI
	callback api.ResourceManagerCallback
	asked    chan struct{} // one entry for each request with allocations
	asks     []string      // keys, in order
	released []string
	all      []*si.AllocationRequest
}

func (p *fakeScheduler) RegisterResourceManager(_ *si.RegisterResourceManagerRequest, callback api.ResourceManagerCallback) (*si.RegisterResourceManagerResponse, error) {
	p.callback = callback
	return nil, nil
}

func (p *fakeScheduler) UpdateNode(*si.NodeRequest) error               { return nil }
func (p *fakeScheduler) UpdateApplication(*si.ApplicationRequest) error { return nil }

func (p *fakeScheduler) UpdateAllocation(r *si.AllocationRequest) error {
	for _, one := range r.Allocations {
		p.asks = append(p.asks, one.AllocationKey)
	}
	for _, one := range r.GetReleases().GetAllocationsToRelease() {
		p.released = append(p.released, one.AllocationKey)
	}
	p.all = append(p.all, r)
	p.asked <- struct{}{}
	return nil
}

func (p *fakeScheduler) place(key, node string) {
	_ = p.callback.UpdateAllocation(&si.AllocationResponse{New: []*si.Allocation{{AllocationKey: key, ApplicationID: "w", NodeID: node}}})
	synctest.Wait()
}

func (p *fakeScheduler) release(key string, why si.TerminationType) {
	_ = p.callback.UpdateAllocation(&si.AllocationResponse{Released: []*si.AllocationRelease{{AllocationKey: key, ApplicationID: "w", TerminationType: why}}})
	synctest.Wait()
}

func (p *fakeScheduler) refuse(key string) {
	_ = p.callback.UpdateAllocation(&si.AllocationResponse{
		RejectedAllocations: []*si.RejectedAllocation{{AllocationKey: key, ApplicationID: "w", Reason: "no such application"}},
	})
	synctest.Wait()
}

func (p *fakeScheduler) complete() {
	_ = p.callback.UpdateApplication(&si.ApplicationResponse{Updated: []*si.UpdatedApplication{{ApplicationID: "w", State: "Completed"}}})
	synctest.Wait()
}

// In the cluster of these tests node-2 fails at the beginning, and one pod waits.
const crossing = `
name: x
until: 1h
nodes: [{name: node, count: 2, capacity: {vcore: 8}}]
workloads: [{name: w, queue: root.default, pods: 1, arrival: {at: 1s}, resources: {vcore: 1}, runs: forever}]
incidents: [{at: 500ms, what: fail, nodes: [node-2]}]
`

// TestLiveCrossing: what is left to do is done for messages that were overtaken on
// the way, and they are no breach.
func TestLiveCrossing(t *testing.T) {
	const stopped, preempted = si.TerminationType_STOPPED_BY_RM, si.TerminationType_PREEMPTED_BY_SCHEDULER
	for _, c := range []struct {
		name           string
		happens        func(*fakeScheduler)
		asks, breaches int
		released       []string
	}{
		{"nothing", func(*fakeScheduler) {}, 1, 0, nil},
		{"a pod that is not known is placed", func(p *fakeScheduler) { p.place("x", "node-1") }, 1, 0, nil},
		{"the node has failed: the pod is asked for again", func(p *fakeScheduler) { p.place("w/1", "node-2") }, 2, 0, nil},
		{"the release that follows is of no pod", func(p *fakeScheduler) { p.place("w/1", "node-2"); p.release("w/1", stopped) }, 2, 0, nil},
		{"the pod has ended with its node, which is back", func(p *fakeScheduler) { p.place("w/1", "node-1"); p.release("w/1", stopped) }, 2, 0, nil},
		{"a pod that waits is evicted", func(p *fakeScheduler) { p.release("w/1", preempted) }, 1, 0, nil},
		{"a pod that runs is evicted", func(p *fakeScheduler) { p.place("w/1", "node-1"); p.release("w/1", preempted) }, 2, 0, []string{"w/1"}},
		{"the application was completed: the same pod comes again", func(p *fakeScheduler) { p.complete(); p.refuse("w/1") }, 2, 0, nil},
		{"both asks of a doubled message are refused", func(p *fakeScheduler) { p.complete(); p.refuse("w/1"); p.refuse("w/1") }, 4, 0, nil},
		{"a pod is refused for good", func(p *fakeScheduler) { p.refuse("w/1") }, 1, 0, nil},
		{"a pod is placed twice", func(p *fakeScheduler) { p.place("w/1", "node-1"); p.place("w/1", "node-1") }, 1, 1, nil},
		{"a node is refused", func(p *fakeScheduler) {
			_ = p.callback.UpdateNode(&si.NodeResponse{Rejected: []*si.RejectedNode{{NodeID: "node-1"}}})
		}, 1, 1, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				over := make(chan struct{})
				breaches := 0
				text := crossing
				if strings.Contains(c.name, "doubled") {
					text += "faults: {report-twice: 100%, late: 1s..2s}\n"
				}
				cluster, err := live.New(parse(t, text), live.Options{
					Speed: 60, Breach: func(error) { breaches++ }, Over: func() { close(over) },
				})
				assert.NilError(t, err)
				p := &fakeScheduler{asked: make(chan struct{}, 10)}
				ctx, cancel := context.WithCancel(t.Context())
				finished := make(chan error)
				go func() { finished <- cluster.Run(ctx, p) }()
				<-p.asked
				synctest.Wait()
				c.happens(p)
				<-over
				cancel()
				assert.NilError(t, <-finished)
				assert.Equal(t, len(p.asks), c.asks, "%v", p.asks)
				assert.DeepEqual(t, p.released, c.released)
				assert.Equal(t, breaches, c.breaches)
				p.place("w/1", "node-1") // which has no effect any more
				assert.ErrorContains(t, p.callback.Predicates(&si.PredicatesArgs{}), "has ended")
				assert.Equal(t, breaches, c.breaches)
			})
		})
	}
}
