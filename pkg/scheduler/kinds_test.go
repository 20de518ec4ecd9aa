package scheduler_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/resources"
	"github.com/narwhal-scheduler/narwhal/pkg/scheduler"
	"github.com/narwhal-scheduler/narwhal/pkg/scheduler/schedulertest"
)

// Asks of 2,560 made-up kinds, which wait or are refused, leave room for kinds of nodes
// and configurations. So do as many kinds of pods of others that run.
func TestMadeUpKinds(t *testing.T) {
	if testing.Short() {
		t.Skip("large, and played without the race detector")
	}
	cluster(t, schedulertest.Options{}, "vcore=8", func(t *testing.T, m *schedulertest.MockScheduler) {
		const kinds = 2560
		known := m.Kinds().Len()
		var asks, foreign []*si.Allocation
		for i := range kinds {
			app := "app-1"
			if i%2 == 0 {
				app = "nobody" // refused
			}
			asks = append(asks, &si.Allocation{
				AllocationKey: fmt.Sprint("made-up-", i), ApplicationID: app, PartitionName: "default",
				ResourcePerAlloc: schedulertest.Resource(fmt.Sprintf("vcore=1 example.com/made-up-%d=1", i)),
			})
		}
		assert.NilError(t, m.Send(asks...))
		m.Settle()
		assert.Equal(t, m.Kinds().Len(), known+1, "what asks name makes nothing known")
		assert.Equal(t, m.Why("made-up-1"), "no node has a resource kind of it: example.com/made-up-1")
		m.AddNode("gpus", "vcore=8 example.com/gpu=4 example.com/made-up-7=1")
		m.Ask("app-1", "training", "vcore=1 example.com/gpu=2")
		m.Settle()
		assert.Equal(t, m.WaitPlaced("training"), "gpus")
		assert.Equal(t, m.WaitPlaced("made-up-7"), "gpus")
		for i := range kinds {
			foreign = append(foreign, &si.Allocation{
				AllocationKey: fmt.Sprint("foreign-", i), NodeID: "node-1", AllocationTags: map[string]string{"foreign": "default"},
				PartitionName: "default", ResourcePerAlloc: schedulertest.Resource(fmt.Sprintf("example.com/foreign-%d=1", i)),
			})
		}
		assert.NilError(t, m.Send(foreign...))
		m.Settle()
		m.AddNode("disks", "vcore=8 example.com/disk=4")
		m.Ask("app-1", "database", "vcore=1 example.com/disk=2")
		m.Settle()
		assert.Equal(t, m.WaitPlaced("database"), "disks")
		assert.NilError(t, m.Configure(`partitions: [{name: default, queues: [{name: default, resources: {max: {example.com/fpga: 7}}}]}]`))
	})
}

// Names of kinds are bounded, and so is how many unknown ones an ask names. Refusals say so.
func TestNamesOfKindsAreBounded(t *testing.T) {
	cluster(t, schedulertest.Options{}, "vcore=8", func(t *testing.T, m *schedulertest.MockScheduler) {
		long, many := &si.Resource{Resources: map[string]*si.Quantity{}}, &si.Resource{Resources: map[string]*si.Quantity{}}
		long.Resources[strings.Repeat("x", 10*resources.NameMax)] = &si.Quantity{Value: 1}
		for i := range 160 {
			many.Resources[fmt.Sprint("kind-", i)] = &si.Quantity{Value: 1}
		}
		reserved := &si.Resource{Resources: map[string]*si.Quantity{resources.UnknownKind: {Value: 1}}}
		for i, amounts := range []*si.Resource{long, many, reserved} {
			assert.NilError(t, m.Send(&si.Allocation{
				AllocationKey: fmt.Sprint("bad-", i), ApplicationID: "app-1", PartitionName: "default", ResourcePerAlloc: amounts,
			}))
		}
		assert.NilError(t, m.UpdateNodeOf(&si.NodeInfo{NodeID: "bad-node", Action: si.NodeInfo_CREATE, SchedulableResource: long}))
		m.Settle()
		m.Advance(time.Second)
		heard := strings.Join(m.Heard(), "\n")
		for _, reason := range []string{
			"allocation the name of a resource kind is longer than 512 bytes",
			"allocation names more than 16 resource kinds that are not known",
			`allocation "(unknown)" is no name of a resource kind`,
			"capacity the name of a resource kind is longer than 512 bytes",
		} {
			assert.Assert(t, strings.Contains(heard, reason), "%s in\n%s", reason, heard)
		}
	})
}

// A resource manager that registers 200 times with 100 new kinds each brings more than there
// may be. It is refused at some time, keeps what it had, and others bring kinds as before.
func TestKindsOfManyRegistrations(t *testing.T) {
	if testing.Short() {
		t.Skip("large, and played without the race detector")
	}
	s, err := scheduler.New(scheduler.Config{})
	assert.NilError(t, err)
	defer s.Stop()
	register := func(id, prefix string) error {
		var b strings.Builder
		for i := range 100 {
			fmt.Fprintf(&b, "%s-%d: 1, ", prefix, i)
		}
		_, err := s.RegisterResourceManager(&si.RegisterResourceManagerRequest{
			RmID: id, Config: "partitions: [{name: default, queues: [{name: a, resources: {max: {" + b.String() + "}}}]}]",
		}, &silent{})
		return err
	}
	refused := 0
	for i := range 200 {
		if err := register("greedy", fmt.Sprint("example.com/new-", i)); err != nil {
			assert.ErrorContains(t, err, "too many resource kinds")
			refused++
		}
	}
	assert.Assert(t, refused > 100 && refused < 130, "%d", refused)
	for i := range 10 {
		assert.NilError(t, register(fmt.Sprint("modest-", i), fmt.Sprint("example.com/modest-", i)))
	}
	assert.Equal(t, s.Partitions()[0], "[greedy]default")
}
