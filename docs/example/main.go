// The program of README.md: a resource manager that embeds the scheduler.
package main

import (
	"context"
	"fmt"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"

	"github.com/narwhal-scheduler/narwhal/pkg/scheduler"
)

// The callback receives what the scheduler decides. A real one starts and stops pods.
type callback struct{ placed chan bool }

func (c callback) UpdateAllocation(r *si.AllocationResponse) error {
	for _, a := range r.New {
		fmt.Println(a.AllocationKey, "runs on", a.NodeID)
		c.placed <- true
	}
	return nil
}
func (callback) UpdateApplication(*si.ApplicationResponse) error { return nil }
func (callback) UpdateNode(*si.NodeResponse) error               { return nil }
func (callback) Predicates(*si.PredicatesArgs) error             { return nil }
func (callback) PreemptionPredicates(*si.PreemptionPredicatesArgs) *si.PreemptionPredicatesResponse {
	return nil
}
func (callback) SendEvent([]*si.EventRecord)                                              {}
func (callback) UpdateContainerSchedulingState(*si.UpdateContainerSchedulingStateRequest) {}

func main() {
	s, err := scheduler.New(scheduler.Config{})
	check(err)
	rm := callback{placed: make(chan bool)}
	_, err = s.RegisterResourceManager(&si.RegisterResourceManagerRequest{RmID: "my-cluster"}, rm)
	check(err)
	check(s.UpdateNode(&si.NodeRequest{RmID: "my-cluster", Nodes: []*si.NodeInfo{
		{NodeID: "node-1", Action: si.NodeInfo_CREATE, SchedulableResource: vcore(4000)},
	}}))
	check(s.UpdateApplication(&si.ApplicationRequest{RmID: "my-cluster", New: []*si.AddApplicationRequest{
		{ApplicationID: "shop", QueueName: "root.default", Ugi: &si.UserGroupInformation{User: "ada"}},
	}}))
	check(s.UpdateAllocation(&si.AllocationRequest{RmID: "my-cluster", Allocations: []*si.Allocation{
		{AllocationKey: "web-1", ApplicationID: "shop", ResourcePerAlloc: vcore(500)},
	}}))
	<-rm.placed
	check(s.StopContext(context.Background()))
}

func vcore(milli int64) *si.Resource {
	return &si.Resource{Resources: map[string]*si.Quantity{"vcore": {Value: milli}}}
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
