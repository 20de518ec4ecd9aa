package entrypoint

import (
	"testing"
	"time"

	"gotest.tools/v3/assert"
)

// TestAPartitionThatIsGone: what a program holds of it is empty.
func TestAPartitionThatIsGone(t *testing.T) {
	run(t, twoQueues, func(t *testing.T, s *shim) {
		s.addApplication("app-1", "root.low")
		s.ask("app-1", "pod-1", 1)
		s.foreign("other-1", "node-1", 1)
		context := s.Scheduler.GetClusterContext()
		gone, app, node := context.GetPartition(partition), context.GetApplication("app-1", partition), context.GetNode("node-1", partition)
		assert.NilError(t, s.configure("partitions: [{name: other, queues: [{name: root, submitacl: '*'}]}]", nil))
		assert.Assert(t, context.GetPartition(partition) == nil)
		assert.Assert(t, context.GetPartition("other") != nil)
		assert.Equal(t, len(gone.GetApplications())+len(gone.GetNodes()), 0)
		assert.Equal(t, app.CurrentState(), "")
		assert.Equal(t, len(app.GetAllAllocations())+len(app.GetAllRequests())+len(node.GetForeignAllocations()), 0)
	})
}

// TestAPartitionThatDoesNotAnswer: it is read as it was when it answered last.
func TestAPartitionThatDoesNotAnswer(t *testing.T) {
	run(t, twoQueues, func(t *testing.T, s *shim) {
		s.addApplication("app-1", "root.low")
		s.ask("app-1", "pod-1", 1)
		context := s.Scheduler.GetClusterContext()
		app := context.GetApplication("app-1", partition)
		assert.DeepEqual(t, keys(app.GetAllRequests()), []string{"pod-1"})
		s.block = make(chan struct{})
		s.ask("app-1", "pod-2", 1)
		before := time.Now()
		assert.DeepEqual(t, keys(app.GetAllRequests()), []string{"pod-1"})
		assert.Equal(t, time.Since(before), 10*time.Second)
		close(s.block)
		assert.DeepEqual(t, keys(app.GetAllRequests()), []string{"pod-1", "pod-2"})
	})
}
