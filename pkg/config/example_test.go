package config_test

import (
	"fmt"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/config"
	"github.com/narwhal-scheduler/narwhal/pkg/core"
	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// A text becomes partitions, and a later text changes them.
func ExampleLoad() {
	kinds := new(resources.Kinds)
	before, err := config.Load(`
partitions:
  - queues:
      - name: batch
        resources:
          max: {vcore: 10, memory: 1.5Gi}
`, kinds)
	if err != nil {
		fmt.Println(err)
		return
	}
	partition := core.NewPartition(api.Options{Kinds: kinds}, before.Partitions[0])
	after, err := config.Load(`
partitions:
  - queues:
      - name: batch
        resources:
          max: {vcore: 20}
      - name: web
        submitacl: '*'
`, kinds)
	if err != nil {
		fmt.Println(err)
		return
	}
	partition.Apply(time.Unix(0, 0), api.Reconfigure{Config: after.Partitions[0]})
	for _, q := range partition.View().Root.Queues {
		fmt.Println(q.Path, kinds.FormatLimits(q.Max))
	}
	fmt.Println(after.Warnings[0])
	// Output:
	// root.batch vcore=20000
	// root.web unlimited
	// line 4:9: warning: root.batch: submitacl: no user may submit to this queue: there are access lists in the partition, and none here or above names a user or group
}

// All problems come at once, each with its place.
func ExampleProblems() {
	_, err := config.Load(`
partitions:
  - queues:
      - name: batch
        resource: {}
      - name: web
        resources: {max: {memory: ten}}
`, nil)
	fmt.Println(err)
	// Output:
	// the configuration has 2 errors
	//   line 5:9: root.batch: resource: unknown key, did you mean resources?
	//   line 7:35: root.web: resources.max.memory: not a quantity: "ten"; write a number such as 10, 1.5 or 10Gi
}
