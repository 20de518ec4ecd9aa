package core_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/core"
	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
)

// BenchmarkAttemptOfManyApplications measures what it takes to make room for one of many applications with
// an ask of the same class: each second a pod gives way to one that is less important, which is then
// evicted. It counts processor time, as other work on the machine counts for time that passes.
//
//	go test -run - -bench AttemptOfManyApplications -benchtime 50x -cpu 1 ./pkg/core
func BenchmarkAttemptOfManyApplications(b *testing.B) {
	for _, applications := range []int{64, 640, 4000} {
		b.Run(fmt.Sprint(applications), func(b *testing.B) {
			p := core.NewPartition(api.Options{Kinds: testKinds(), ReserveDelay: -1}, api.Config{
				Name: "default", Root: api.QueueConfig{Name: "root", Parent: true, Queues: []api.QueueConfig{{Name: "low"}, {Name: "high"}}},
			})
			p.Apply(start, api.AddApplication{ID: "low", Queue: "root.low"})
			add := func(now time.Time, i int) {
				a := ask("low", fmt.Sprint("low-", i), 1000, 1, 1)
				a.Allocation.Node = api.NodeID(fmt.Sprint("n", i%100))
				if a.Allocation.Priority = 10; i >= 100 {
					a.Allocation.Priority = 0
				}
				p.Apply(now, a)
			}
			for i := range 100 {
				p.Apply(start, api.AddNode{ID: api.NodeID(fmt.Sprint("n", i)), Capacity: []int64{1000, 1 << 30, 110}})
				add(start, i)
			}
			for i := range applications {
				id := api.ApplicationID(fmt.Sprint("app-", i))
				p.Apply(start, api.AddApplication{ID: id, Queue: "root.high"})
				a := ask(id, "ask-"+string(id), 1000, 1, 1)
				a.Allocation.Priority = 10
				p.Apply(start, a)
			}
			now := start
			for _, more := p.Schedule(now); more; _, more = p.Schedule(now) {
			}
			b.ResetTimer()
			used := processorUsed()
			for i := range b.N {
				now = now.Add(time.Second)
				p.Apply(now, api.ReleaseAllocation{Application: "low", Key: api.AllocationKey(fmt.Sprint("low-", i))})
				add(now, i+100)
				for _, more := p.Schedule(now); more; _, more = p.Schedule(now) {
				}
			}
			b.ReportMetric(float64((processorUsed()-used).Nanoseconds())/float64(b.N), "ns/op")
		})
	}
}
