package explain_test

import (
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/explain"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// TestWhatIfWaitsForTheDelayOfAQuota: a max that is lowered evicts something when the delay of the queue is over, if quota preemption
// is on. The outcome says so and when; one that does not wait says how long that delay goes on.
func TestWhatIfWaitsForTheDelayOfAQuota(t *testing.T) {
	c := crowd(t)
	lowered := twoQueues()
	lowered.Preemption.Quota = true
	lowered.Root.Queues[1].Max = resources.Limits{5000}
	lowered.Root.Queues[1].Properties.QuotaDelay = 9 * time.Second

	out := whatIf(t, c, explain.Question{Config: &lowered, Delays: true})
	assert.Equal(t, len(out.Victims), 1)
	assert.Equal(t, out.Victims[0].After, 9*time.Second)
	assert.Equal(t, out.Simulated, 9*time.Second)
	assert.Equal(t, out.Delays, time.Duration(0))

	out = whatIf(t, c, explain.Question{Config: &lowered, Within: 2 * time.Second})
	assert.Equal(t, len(out.Victims), 0)
	assert.Equal(t, out.Delays, 7*time.Second)

	lowered.Root.Queues[1].Properties.QuotaDelay = 5 * time.Hour
	out = whatIf(t, c, explain.Question{Config: &lowered, Delays: true})
	assert.Equal(t, len(out.Victims), 0)
	assert.Equal(t, out.Simulated, time.Duration(0), "that is too long")
	assert.Equal(t, out.Delays, 5*time.Hour)

	lowered.Preemption.Quota = false
	out = whatIf(t, c, explain.Question{Config: &lowered, Delays: true})
	assert.Equal(t, out.Delays, time.Duration(0))
}

// TestWhatIfWaitsForTheDelayOfAGuarantee: an ask evicts something once it is old enough, if it waits for what is guaranteed to its
// queue. One that never does is not waited for.
func TestWhatIfWaitsForTheDelayOfAGuarantee(t *testing.T) {
	config := twoQueues()
	config.Root.Queues[0].Guaranteed = resources.Amounts{4000}
	config.Root.Queues[0].Properties.PreemptionDelay = 30 * time.Second
	c := newCluster(t, config, api.Options{})
	c.node("n1", 4000, 1<<30)
	c.ask("batch", "b-1", 4000, 1, on("n1"))
	c.settle(start)
	q := question("web", wish("due", 4000, 0))
	q.Delays = true
	out, err := explain.WhatIf(t.Context(), c.View(), c.kinds, start, q)
	assert.NilError(t, err)
	assert.Equal(t, len(out.Victims), 1)
	assert.Equal(t, out.Victims[0].After, 30*time.Second)

	q.Asks[0].Preemptable = api.Preemptable{Stated: true}
	out, err = explain.WhatIf(t.Context(), c.View(), c.kinds, start, q)
	assert.NilError(t, err)
	assert.Equal(t, out.Simulated, time.Duration(0))
}
