package simulator_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/simulator"
)

// TestSummaryIsOneScreen: however many queues, kinds and reasons there are, a summary has 40 lines
// at most. It shows the most important of each, and says how many queues it leaves out.
func TestSummaryIsOneScreen(t *testing.T) {
	r := &simulator.Result{Scenario: "600 teams", Waiting: &simulator.Waiting{}, Preemption: &simulator.Preemption{Victims: 5}}
	r.Pods.Lost = 1
	for i := range 600 {
		r.Queues = append(r.Queues, simulator.QueueUse{Path: fmt.Sprintf("root.team-%d", i), Leaf: true, Share: int64(i), ShareKind: "vcore"})
	}
	for i, mean := range map[int]int64{6: 50, 7: 240, 8: 60} {
		r.Queues[i].Guaranteed, r.Queues[i].Mean = map[string]int64{"a": 100, "b": 50}, map[string]int64{"a": 90, "b": mean}
	}
	r.Resources = append(r.Resources, simulator.ResourceUse{Kind: "a"}, simulator.ResourceUse{Kind: "b"})
	for i := range 40 {
		r.Resources = append(r.Resources, simulator.ResourceUse{Kind: fmt.Sprintf("vendor.example/device-%d", i), Capacity: 100, Peak: 1, PeakPerMille: 10})
	}
	for i := range 30 {
		r.Pending = append(r.Pending, simulator.PendingReason{Reason: fmt.Sprintf("reason %d", i), Pods: i + 1})
	}
	var b bytes.Buffer
	assert.NilError(t, r.WriteSummary(&b))
	text := b.String()
	assert.Assert(t, strings.Count(text, "\n") <= 40, "%d lines:\n%s", strings.Count(text, "\n"), text)
	for _, want := range []string{
		"5 pods were evicted to make room.\n", "1 pods were drained or lost", "UTILISATION\n", "QUEUES\n", "root.team-599 ", "root.team-592 ", "and 592 more\n",
		"PENDING AT THE END\n", "reason 29 ", "reason 27 ",
	} {
		assert.Assert(t, strings.Contains(text, want), "%q is missing:\n%s", want, text)
	}
	assert.Assert(t, strings.Contains(text, "2 of 3 queues with a guarantee used more than that on average, the most root.team-7: 480.0% of its b.\n"), text)
	assert.Assert(t, !strings.Contains(text, "root.team-591 ") && !strings.Contains(text, "reason 26 "))
}
