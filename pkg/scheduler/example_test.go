package scheduler_test

import (
	"context"
	"fmt"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"

	"github.com/narwhal-scheduler/narwhal/pkg/scheduler"
)

// A manager is the least a resource manager has to be: it prints what it hears.
type manager struct {
	placed chan string // keys
}

func (m manager) UpdateAllocation(response *si.AllocationResponse) error {
	for _, a := range response.New {
		fmt.Println(a.AllocationKey, "runs on", a.NodeID)
		m.placed <- a.AllocationKey
	}
	for _, r := range response.Released {
		fmt.Println(r.AllocationKey, "ended:", r.Message)
	}
	for _, r := range response.RejectedAllocations {
		fmt.Println(r.AllocationKey, "is refused:", r.Reason)
	}
	return nil
}

func (m manager) UpdateApplication(response *si.ApplicationResponse) error {
	for _, a := range response.Accepted {
		fmt.Println(a.ApplicationID, "is accepted")
	}
	return nil
}

func (m manager) UpdateNode(response *si.NodeResponse) error {
	for _, n := range response.Accepted {
		fmt.Println(n.NodeID, "is accepted")
	}
	return nil
}

// Predicates would check what only the resource manager knows: affinity, taints,
// ports.
func (m manager) Predicates(*si.PredicatesArgs) error { return nil }

// PreemptionPredicates would check the same for a node without some pods. Nil says
// that this manager cannot.
func (m manager) PreemptionPredicates(*si.PreemptionPredicatesArgs) *si.PreemptionPredicatesResponse {
	return nil
}

func (m manager) SendEvent([]*si.EventRecord) {}

func (m manager) UpdateContainerSchedulingState(*si.UpdateContainerSchedulingStateRequest) {}

func amounts(vcore, memory int64) *si.Resource {
	return &si.Resource{Resources: map[string]*si.Quantity{"vcore": {Value: vcore}, "memory": {Value: memory}}}
}

// Embedding the scheduler: register, report a node and an application, ask.
func Example() {
	s, err := scheduler.New(scheduler.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer s.Stop()

	rm := manager{placed: make(chan string, 1)}
	_, err = s.RegisterResourceManager(&si.RegisterResourceManagerRequest{RmID: "example"}, rm)
	if err != nil {
		fmt.Println(err)
		return
	}
	_ = s.UpdateNode(&si.NodeRequest{RmID: "example", Nodes: []*si.NodeInfo{{
		NodeID: "node-1", Action: si.NodeInfo_CREATE, SchedulableResource: amounts(4000, 8<<30),
	}}})
	_ = s.UpdateApplication(&si.ApplicationRequest{RmID: "example", New: []*si.AddApplicationRequest{{
		ApplicationID: "app-1", QueueName: "root.default", Ugi: &si.UserGroupInformation{User: "ada"},
	}}})
	_ = s.UpdateAllocation(&si.AllocationRequest{RmID: "example", Allocations: []*si.Allocation{
		{AllocationKey: "pod-1", ApplicationID: "app-1", ResourcePerAlloc: amounts(500, 1<<30)},
		{AllocationKey: "pod-2", ApplicationID: "app-2", ResourcePerAlloc: amounts(500, 1<<30)},
	}})
	<-rm.placed
	// Output:
	// node-1 is accepted
	// app-1 is accepted
	// pod-2 is refused: application "app-2" is not registered
	// pod-1 runs on node-1
}

// What a partition holds can be read at any time, without stopping it.
func ExampleScheduler_View() {
	s, err := scheduler.New(scheduler.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer s.Stop()
	if _, err := s.RegisterResourceManager(&si.RegisterResourceManagerRequest{RmID: "example"}, manager{}); err != nil {
		fmt.Println(err)
		return
	}
	for _, partition := range s.Partitions() {
		view, err := s.View(context.Background(), partition)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(partition, "has", len(view.Nodes), "nodes and", s.Kinds().Format(view.Capacity))
	}
	// Output:
	// [example]default has 0 nodes and nothing
}
