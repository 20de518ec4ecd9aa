package explain_test

import (
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
)

// TestQuotaIsKeptFromLessImportantAsks: quota that is kept for a nominated ask counts as
// lacking for asks of its priority and below, and not for a more important one that comes
// later, which may take it. Inside a priority fence the priorities there decide.
func TestQuotaIsKeptFromLessImportantAsks(t *testing.T) {
	for _, fenced := range []bool{false, true} {
		c := newCluster(t, api.Config{Root: api.QueueConfig{Name: "root", Parent: true, Queues: []api.QueueConfig{
			{Name: "q", Max: []int64{4000}, Properties: api.QueueProperties{PriorityFence: fenced}},
		}}}, api.Options{})
		c.node("n1", 2000, 10)
		prio := func(priority int32) func(*api.Allocation) {
			return func(a *api.Allocation) { a.Priority = priority }
		}
		c.ask("q", "victim", 2000, 1, on("n1"))
		c.ask("q", "kept", 2000, 1, prio(5))
		c.settle(start.Add(time.Minute))
		c.ask("q", "high", 3000, 1, prio(9)) // too large for the node
		c.ask("q", "same", 3000, 1, prio(5))
		c.settle(start.Add(time.Minute))
		lacking := map[api.AllocationKey]int64{"high": 1000, "same": 3000, "kept": 0}
		if fenced { // as the root sees them, all are as important
			lacking["high"] = 3000
		}
		for key, lacks := range lacking {
			a := c.explain(t, "q", key)
			assert.Equal(t, a.Quota[0].Lacking.Of(0), lacks, "%s, fence %t", key, fenced)
		}
	}
}

// TestALimitIsExplained: an ask that a limit keeps waiting says whose limit it is and in which queue,
// though no queue lacks anything.
func TestALimitIsExplained(t *testing.T) {
	for _, c := range []struct {
		limit  api.Limit
		reason api.Reason
		detail string
	}{
		{api.Limit{Users: []string{"ann"}, Max: []int64{1000}}, api.UserLimit, "user ann in queue root.q"},
		{api.Limit{Groups: []string{"dev"}, Max: []int64{1000}}, api.GroupLimit, "group dev in queue root.q"},
	} {
		p := newCluster(t, api.Config{Root: api.QueueConfig{Name: "root", Parent: true, Queues: []api.QueueConfig{
			{Name: "q", Max: []int64{4000}, Limits: []api.Limit{c.limit}},
		}}}, api.Options{})
		p.node("n1", 9000, 10)
		p.Apply(start, api.AddApplication{ID: "anns", Queue: "root.q", User: "ann", Groups: []string{"dev"}})
		p.ask("anns", "first", 1000, 1)
		p.ask("anns", "second", 1000, 1)
		p.settle(start)
		a := p.explain(t, "anns", "second")
		assert.Equal(t, a.Reason, c.reason)
		assert.Equal(t, a.Detail, c.detail)
		assert.Assert(t, a.Quota[0].Lacking.IsZero())
		lines := a.Text()
		assert.Assert(t, strings.Contains(lines, c.detail), lines)
	}
}
