package events_test

import (
	"context"
	"fmt"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"

	"github.com/narwhal-scheduler/narwhal/pkg/core"
	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/events"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// A partition does something, a recorder makes records of it, a history keeps them,
// and a stream gives them to its reader.
func Example() {
	kinds := new(resources.Kinds)
	partition := core.NewPartition(api.Options{Kinds: kinds}, tree(leaf("a")))
	recorder := events.NewRecorder(kinds)
	history, err := events.NewHistory("an instance", events.Config{Capacity: 1000})
	if err != nil {
		fmt.Println(err)
		return
	}
	store := events.NewStore(100)

	command := api.AddApplication{ID: "app", Queue: "root.a"}
	step := events.Step{Now: start, Effects: partition.Apply(start, command)}
	var records []*si.EventRecord
	records = recorder.Record(records[:0], step)
	store.Put(history.Publish(records))

	stream, err := history.Subscribe(start, "10.0.0.1", 10)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer stream.Close()
	entries := make([]events.Entry, 10)
	n, _ := stream.Read(context.Background(), entries)
	for _, e := range entries[:n] {
		fmt.Println(e.ID, line(e.Record))
	}
	fmt.Println(len(store.Take()), "for the resource manager")
	// Output:
	// 0 APP app ADD APP_NEW
	// 1 QUEUE root.a ADD QUEUE_APP app
	// 2 for the resource manager
}
