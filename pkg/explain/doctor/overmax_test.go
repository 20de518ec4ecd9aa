package doctor_test

import (
	"slices"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/explain/doctor"
	"github.com/narwhal-scheduler/narwhal/pkg/internal/played"
)

// TestOverMaxSaysWhenEvictionsBegin: a queue is over its max since minute 20. What is evicted for that, and when, depends on quota
// preemption in the partition and on the delay of the queue.
func TestOverMaxSaysWhenEvictionsBegin(t *testing.T) {
	for _, c := range []struct {
		preemption, delay, policy string
		after                     time.Duration
		want                      string
	}{
		{"{}", "9s", "default", 20*time.Minute + time.Second, "nothing is evicted for that: quota preemption is off in the partition"},
		{"{enabled: false, quotapreemptionenabled: true}", "9s", "default", 20*time.Minute + time.Second, "nothing is evicted for that: preemption is off"},
		{"{quotapreemptionenabled: true}", "0s", "default", 20*time.Minute + time.Second, "nothing is evicted for that: quota preemption is off there, as it has no quota.preemption.delay"},
		{"{quotapreemptionenabled: true}", "9m", "default", 20*time.Minute + time.Second, "evictions for that begin at 2000-01-01T00:29:00Z"},
		{"{quotapreemptionenabled: true}", "9s", "default", 20*time.Minute + 10*time.Second, "evictions for that began at 2000-01-01T00:20:09Z"},
		{"{quotapreemptionenabled: true}", "9s", "disabled", 20*time.Minute + 10*time.Second, "evictions for that were due at 2000-01-01T00:20:09Z; at 2000-01-01T00:20:09Z nothing more was found to evict"},
	} {
		p := played.New(t, `
name: over
until: 1h
queues:
  partitions:
    - name: default
      preemption: `+c.preemption+`
      queues:
        - name: root
          queues:
            - {name: a, resources: {max: {vcore: 8}}, properties: {quota.preemption.delay: `+c.delay+`, preemption.policy: `+c.policy+`}}
nodes:
  - {name: n, count: 1, capacity: {vcore: 8, memory: 16Gi}}
workloads:
  - {name: w, queue: root.a, applications: 1, pods: 8, resources: {vcore: 1, memory: 1Gi}, runs: forever}
changes:
  - {at: 20m, queue: root.a, max: {vcore: 6}}
`, nil).To(c.after)
		r := doctor.Examine(t.Context(), p.Partition.View(), p.Kinds, p.Trial(), p.Book)
		i := slices.IndexFunc(r.Findings, func(f doctor.Finding) bool { return f.Kind == doctor.OverMax })
		assert.Assert(t, i >= 0, c.want)
		assert.Equal(t, r.Findings[i].Detail, c.want)
	}
}
