package scheduler_test

import (
	"fmt"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"

	"github.com/narwhal-scheduler/narwhal/pkg/scheduler"
)

// A careful manager hears of nominations and knows disruption budgets. To implement
// the methods is all there is to do.
type careful struct {
	manager
	scheduler *scheduler.Scheduler
}

func (c careful) Nominate(allocationKey, nodeID string) {
	fmt.Println(allocationKey, "is nominated to", nodeID)
}

func (c careful) ClearNomination(allocationKey string) {
	fmt.Println(allocationKey, "is nominated no more")
}

func (c careful) DisruptionBudgets(allocationKeys []string) []scheduler.DisruptionBudget {
	budget := scheduler.DisruptionBudget{Name: "web", Allowed: 0}
	for _, key := range allocationKeys {
		if key == "web-1" {
			budget.Allocations = append(budget.Allocations, key)
		}
	}
	return []scheduler.DisruptionBudget{budget}
}

// UpdateAllocation ends what is evicted, and confirms that.
func (c careful) UpdateAllocation(response *si.AllocationResponse) error {
	for _, a := range response.New {
		fmt.Println(a.AllocationKey, "runs on", a.NodeID)
		c.placed <- a.AllocationKey
	}
	for _, r := range response.Released {
		fmt.Println(r.AllocationKey, "is evicted")
		return c.scheduler.UpdateAllocation(&si.AllocationRequest{RmID: "example", Releases: &si.AllocationReleasesRequest{
			AllocationsToRelease: []*si.AllocationRelease{{
				ApplicationID: r.ApplicationID, AllocationKey: r.AllocationKey, TerminationType: r.TerminationType,
			}},
		}})
	}
	return nil
}

// A pod of a higher priority takes the place of one that may be disrupted, though
// another is less important.
func ExampleDisruptionBudgeter() {
	s, err := scheduler.New(scheduler.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer s.Stop()
	rm := careful{manager: manager{placed: make(chan string, 1)}, scheduler: s}
	if _, err = s.RegisterResourceManager(&si.RegisterResourceManagerRequest{RmID: "example"}, rm); err != nil {
		fmt.Println(err)
		return
	}
	_ = s.UpdateNode(&si.NodeRequest{RmID: "example", Nodes: []*si.NodeInfo{{
		NodeID: "node-1", Action: si.NodeInfo_CREATE, SchedulableResource: amounts(4000, 8<<30),
	}}})
	_ = s.UpdateApplication(&si.ApplicationRequest{RmID: "example", New: []*si.AddApplicationRequest{{
		ApplicationID: "app-1", QueueName: "root.default", Ugi: &si.UserGroupInformation{User: "ada"},
	}}})
	for _, pod := range []*si.Allocation{
		{AllocationKey: "web-1", ApplicationID: "app-1", ResourcePerAlloc: amounts(2000, 1<<30), Priority: 1},
		{AllocationKey: "batch-1", ApplicationID: "app-1", ResourcePerAlloc: amounts(2000, 1<<30), Priority: 2},
		{AllocationKey: "urgent-1", ApplicationID: "app-1", ResourcePerAlloc: amounts(2000, 1<<30), Priority: 9},
	} {
		_ = s.UpdateAllocation(&si.AllocationRequest{RmID: "example", Allocations: []*si.Allocation{pod}})
		<-rm.placed
	}
	// Output:
	// node-1 is accepted
	// app-1 is accepted
	// web-1 runs on node-1
	// batch-1 runs on node-1
	// urgent-1 is nominated to node-1
	// batch-1 is evicted
	// urgent-1 runs on node-1
}
