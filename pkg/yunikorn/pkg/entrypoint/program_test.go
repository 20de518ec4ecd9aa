package entrypoint

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"go.uber.org/zap"
	"gotest.tools/v3/assert"

	"github.com/apache/yunikorn-core/pkg/common/configs"
	"github.com/apache/yunikorn-core/pkg/common/resources"
	"github.com/apache/yunikorn-core/pkg/scheduler/objects"
	"github.com/apache/yunikorn-core/pkg/webservice/dao"
)

// keys are the keys of allocations.
func keys(of []*objects.Allocation) []string {
	out := []string{}
	for _, a := range of {
		out = append(out, a.GetAllocationKey())
	}
	return out
}

// TestRegistration: with the empty configuration each namespace has a queue, and what runs
// can be looked at.
func TestRegistration(t *testing.T) {
	run(t, "", func(t *testing.T, s *shim) {
		context := s.Scheduler.GetClusterContext()
		assert.Equal(t, s.logs.FilterLevelExact(zap.WarnLevel).Len(), 0)
		s.addApplication("app-1", "")
		s.ask("app-1", "pod-1", 1)
		s.ask("app-1", "pod-2", 9)
		assert.Equal(t, s.runs("pod-1"), "node-1")
		assert.DeepEqual(t, s.told(), []string{
			"node node-1 accepted", "application app-1 accepted", "application app-1 is Accepted",
			"application app-1 is Running", "pod-1 runs on node-1",
		})
		app := context.GetApplication("app-1", partition)
		assert.Equal(t, app.ApplicationID, "app-1")
		assert.Equal(t, app.CurrentState(), "Running")
		assert.DeepEqual(t, keys(app.GetAllAllocations()), []string{"pod-1"})
		assert.DeepEqual(t, keys(app.GetAllRequests()), []string{"pod-1", "pod-2"})
		s.ask("app-1", "pod-0", 9) // waits, and is the first by its key
		assert.DeepEqual(t, keys(app.GetAllRequests()), []string{"pod-0", "pod-1", "pod-2"})
		assert.DeepEqual(t, keys(app.GetAllAllocations()), []string{"pod-1"})
		assert.DeepEqual(t, app.GetAllAllocations()[0].GetAllocatedResource().ToProto().Resources["vcore"].Value, int64(1000))

		for _, name := range []string{partition, "default", "DEFAULT", ""} {
			assert.Equal(t, len(context.GetPartition(name).GetApplications()), 1, name)
			assert.Equal(t, len(context.GetPartition(name).GetNodes()), 1, name)
			assert.Equal(t, context.GetNode("node-1", name).NodeID, "node-1", name)
		}
		assert.Assert(t, context.GetApplication("app-2", partition) == nil)
		assert.Assert(t, context.GetApplication("app-1", "other") == nil)
		assert.Assert(t, context.GetNode("node-2", partition) == nil)
		assert.Assert(t, context.GetNode("node-1", "other") == nil)
		assert.Assert(t, context.GetPartition("other") == nil)

		var shown dao.ApplicationDAOInfo
		assert.Equal(t, s.read("/ws/v1/partition/default/application/app-1", &shown), http.StatusOK)
		assert.Equal(t, shown.QueueName, "root.team")
	})
}

// TestAnApplicationThatIsHeld: one that a program holds shows what happens later, up to its
// end and beyond.
func TestAnApplicationThatIsHeld(t *testing.T) {
	run(t, "", func(t *testing.T, s *shim) {
		s.addApplication("app-1", "")
		app := s.Scheduler.GetClusterContext().GetApplication("app-1", partition)
		assert.Equal(t, app.CurrentState(), "New")
		s.ask("app-1", "pod-1", 1)
		assert.Equal(t, app.CurrentState(), "Running")
		s.release("app-1", "pod-1", si.TerminationType_STOPPED_BY_RM)
		assert.Equal(t, app.CurrentState(), "Completing")
		s.pass(time.Minute)
		assert.Equal(t, app.CurrentState(), "Completed")
		assert.Equal(t, len(app.GetAllAllocations()), 0)
		assert.Equal(t, len(app.GetAllRequests()), 0)
		s.node("node-1", si.NodeInfo_DECOMISSION, 0)
		assert.Assert(t, s.Scheduler.GetClusterContext().GetNode("node-1", partition) == nil)
	})
}

// TestUnknownResources: what no node has is a quantity of an ask like any other.
func TestUnknownResources(t *testing.T) {
	run(t, "", func(t *testing.T, s *shim) {
		s.addApplication("app-1", "")
		s.ask("app-1", "pod-1", 1, func(a *si.Allocation) { a.ResourcePerAlloc.Resources["example.com/gpu"] = &si.Quantity{Value: 2} })
		ask := s.Scheduler.GetClusterContext().GetApplication("app-1", partition).GetAllRequests()[0]
		assert.DeepEqual(t, ask.GetAllocatedResource(), &resources.Resource{Resources: map[string]resources.Quantity{"vcore": 1000, "example.com/gpu": 2}})
		assert.Equal(t, ask.GetAllocatedResource().ToProto().Resources["example.com/gpu"].Value, int64(2))
		var nothing *resources.Resource
		assert.Equal(t, len(nothing.ToProto().Resources), 0)
	})
}

const twoQueues = `partitions:
  - name: default
    queues:
      - name: root
        submitacl: '*'
        queues:
          - name: low
            resources: {max: {vcore: 3}}
            properties: {preemption.delay: 1s}
          - name: high
            resources: {guaranteed: {vcore: 2}}
            properties: {preemption.delay: 1s}
          - name: closed
            parent: true
`

// TestQueuesAndPlacement: a queue keeps to its max, and REST shows it as it does with YuniKorn.
func TestQueuesAndPlacement(t *testing.T) {
	run(t, twoQueues, func(t *testing.T, s *shim) {
		s.addApplication("app-1", "root.low")
		s.addApplication("app-2", "root.high")
		s.ask("app-1", "pod-1", 2)
		s.ask("app-1", "pod-2", 2)
		s.ask("app-2", "pod-3", 2)
		assert.Equal(t, s.runs("pod-1")+s.runs("pod-2")+s.runs("pod-3"), "node-1node-1")
		assert.Equal(t, s.runs("pod-2"), "")
		s.addApplication("app-3", "root.nowhere")
		s.says("application app-3 rejected")

		var queues dao.PartitionQueueDAOInfo
		assert.Equal(t, s.read("/ws/v1/partition/default/queues", &queues), http.StatusOK)
		assert.Equal(t, queues.QueueName, "root")
		for _, q := range queues.Children {
			if q.QueueName == "root.low" {
				assert.DeepEqual(t, q.AllocatedResource, map[string]int64{"vcore": 2000})
				assert.DeepEqual(t, q.PendingResource, map[string]int64{"vcore": 2000})
			}
		}
		s.release("app-1", "pod-1", si.TerminationType_STOPPED_BY_RM)
		assert.Equal(t, s.runs("pod-2"), "node-1")
	})
}

// TestPreemptionForAGuarantee: a queue gets back what it was guaranteed.
func TestPreemptionForAGuarantee(t *testing.T) {
	run(t, twoQueues, func(t *testing.T, s *shim) {
		s.addApplication("app-1", "root.low")
		s.addApplication("app-2", "root.high")
		s.ask("app-1", "pod-1", 1)
		s.ask("app-1", "pod-2", 2)
		s.ask("app-2", "pod-3", 2)
		assert.Equal(t, s.runs("pod-3"), "")
		s.pass(30 * time.Second)
		s.says("released: PREEMPTED_BY_SCHEDULER")
		assert.Equal(t, s.runs("pod-3"), "node-1")
	})
}

// TestPreemptionForADaemonset: room is made at once when the scheduler has settled, as with
// YuniKorn, and not after half a minute.
func TestPreemptionForADaemonset(t *testing.T) {
	run(t, "", func(t *testing.T, s *shim) {
		s.addApplication("app-1", "")
		s.ask("app-1", "pod-1", 4)
		s.pass(10 * time.Second)
		s.ask("app-1", "agent", 1, only("node-1"))
		assert.Equal(t, s.runs("agent"), "node-1")
		s.says("pod-1 released: PREEMPTED_BY_SCHEDULER")
	})
	run(t, "partitions: [{queues: [{name: root, submitacl: '*', queues: [{name: a}]}], preemption: {preemption_start_delay: 20s}}]", func(t *testing.T, s *shim) {
		s.addApplication("app-1", "root.a")
		s.ask("app-1", "pod-1", 4)
		s.pass(10 * time.Second)
		s.ask("app-1", "agent", 1, only("node-1"))
		assert.Equal(t, s.runs("agent"), "") // as it is written
		s.pass(20 * time.Second)
		assert.Equal(t, s.runs("agent"), "node-1")
	})
}

// TestForeignPods: they take room and are seen, and they are no victims, since a resource
// manager of YuniKorn does not end them.
func TestForeignPods(t *testing.T) {
	run(t, "", func(t *testing.T, s *shim) {
		s.foreign("other-1", "node-1", 3)
		node := s.Scheduler.GetClusterContext().GetNode("node-1", partition)
		assert.DeepEqual(t, keys(node.GetForeignAllocations()), []string{"other-1"})
		s.addApplication("app-1", "")
		s.ask("app-1", "pod-1", 1)
		s.pass(10 * time.Second)
		s.ask("app-1", "agent", 2, only("node-1"))
		s.pass(time.Minute)
		assert.Equal(t, s.runs("agent"), "")
		assert.Equal(t, s.runs("pod-1"), "node-1") // ending it would not help
		var shown dao.NodeDAOInfo
		assert.Equal(t, s.read("/ws/v1/partition/default/node/node-1", &shown), http.StatusOK)
		assert.DeepEqual(t, shown.Occupied, map[string]int64{"vcore": 3000})
		s.release("", "other-1", si.TerminationType_STOPPED_BY_RM)
		assert.Equal(t, len(node.GetForeignAllocations()), 0)
		assert.Equal(t, s.runs("agent"), "node-1")
	})
}

// TestRestart: a resource manager registers again and reports what runs; nothing is placed twice.
func TestRestart(t *testing.T) {
	run(t, "", func(t *testing.T, s *shim) {
		s.addApplication("app-1", "")
		s.ask("app-1", "pod-1", 3)
		s.register("", nil)
		context := s.Scheduler.GetClusterContext()
		assert.Equal(t, len(context.GetPartition(partition).GetNodes()), 0)
		s.told()

		s.node("node-1", si.NodeInfo_CREATE_DRAIN, 4)
		s.addApplication("app-1", "", func(a *si.AddApplicationRequest) { a.Tags["application.create.force"] = "true" })
		s.ask("app-1", "pod-1", 3, on("node-1"))
		s.ask("app-1", "pod-2", 1)
		s.ask("app-1", "pod-3", 1)
		s.node("node-1", si.NodeInfo_DRAIN_TO_SCHEDULABLE, 4)
		assert.DeepEqual(t, s.told(), []string{
			"node node-1 accepted", "application app-1 accepted", "application app-1 is Accepted",
			"application app-1 is Running", "pod-1 runs on node-1", "pod-2 runs on node-1",
		})
		app := context.GetApplication("app-1", partition)
		assert.DeepEqual(t, keys(app.GetAllAllocations()), []string{"pod-1", "pod-2"})
	})
}

// TestReload: queues come and go while the scheduler runs, what is wrong changes nothing, and
// the empty text is that of the variable at that moment.
func TestReload(t *testing.T) {
	before := configs.DefaultSchedulerConfig
	defer func() { configs.DefaultSchedulerConfig = before }()
	run(t, twoQueues, func(t *testing.T, s *shim) {
		s.addApplication("app-1", "root.more")
		s.says("application app-1 rejected")
		assert.NilError(t, s.configure(twoQueues+"          - name: more\n", nil))
		s.addApplication("app-1", "root.more")
		s.says("application app-1 accepted")
		assert.ErrorContains(t, s.configure("partitions: [{queues: [{name: a b}]}]", nil), "a b")
		s.addApplication("app-2", "root.more")
		s.says("application app-2 accepted")

		configs.DefaultSchedulerConfig = "partitions: [{name: default, queues: [{name: root, submitacl: '*', queues: [{name: fresh}]}]}]"
		assert.NilError(t, s.configure("", nil))
		s.addApplication("app-3", "root.fresh")
		s.says("application app-3 accepted")
		var shown dao.ConfigDAOInfo
		assert.Equal(t, s.read("/ws/v1/config", &shown), http.StatusOK)
		assert.Equal(t, shown.Partitions[0].Queues[0].Queues[0].Name, "fresh")
	})
}

// TestWithoutAccessListsNobodySubmits: as with YuniKorn, but for applications that run already.
func TestWithoutAccessListsNobodySubmits(t *testing.T) {
	run(t, "partitions: [{name: default, queues: [{name: root, queues: [{name: a}]}]}]", func(t *testing.T, s *shim) {
		s.addApplication("app-1", "root.a")
		s.says("application app-1 rejected")
		s.addApplication("app-2", "root.a", func(a *si.AddApplicationRequest) { a.Tags["application.create.force"] = "true" })
		s.says("application app-2 accepted")
		warnings := s.logs.FilterMessage("configuration is suspicious").All()
		assert.Equal(t, len(warnings), 1)
		problem, _ := warnings[0].ContextMap()["problem"].(string)
		assert.Assert(t, strings.Contains(problem, "no user may submit"), problem)
	})
}

// TestReservations: an ask that fits no node keeps one, unless the environment says that none do.
func TestReservations(t *testing.T) {
	for _, c := range []struct {
		environment map[string]string
		reserved    bool
	}{
		{nil, true},
		{map[string]string{keyNoReservation: "false"}, true},
		{map[string]string{keyNoReservation: "true"}, false},
	} {
		edit := func(with *settings) { with.getenv = func(key string) string { return c.environment[key] } }
		play(t, edit, func(t *testing.T, s *shim) {
			s.register("", nil)
			s.addNode("node-1", 4)
			s.addApplication("app-1", "")
			s.ask("app-1", "pod-1", 2)
			s.ask("app-1", "pod-2", 3)
			s.pass(10 * time.Second)
			var shown dao.NodeDAOInfo
			assert.Equal(t, s.read("/ws/v1/partition/default/node/node-1", &shown), http.StatusOK)
			assert.Equal(t, shown.IsReserved, c.reserved, "%v", c.environment)
			s.keep()
			s.ask("app-1", "agent", 3, only("node-1")) // one of a daemonset does in any case
			assert.Equal(t, s.read("/ws/v1/partition/default/node/node-1", &shown), http.StatusOK)
			assert.Assert(t, shown.IsReserved)
		})
	}
}
