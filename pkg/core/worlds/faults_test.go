package worlds

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/simulator"
)

// faultyScenario is a small cluster with more work than room, of which nodes fail, releases come
// late or never, and pods cannot be bound.
func faultyScenario(r *rand.Rand) string {
	var b strings.Builder
	limit := func(name string) string {
		if r.IntN(3) > 0 {
			return ""
		}
		return fmt.Sprintf(", %s: {vcore: %d}", name, 4+r.IntN(6))
	}
	fmt.Fprintf(&b, "name: faulty\nqueues:\n  partitions:\n    - name: default\n      preemption: {preemption_loop_max: 1000}\n      queues: [{name: root, queues: [")
	for _, name := range []string{"a", "b", "c"} {
		fmt.Fprintf(&b, "{name: %s, resources: {guaranteed: {vcore: %d}%s}}, ", name, 1+r.IntN(4), limit("max"))
	}
	fmt.Fprintf(&b, "]}]\nnodes: [{name: node, count: 3, capacity: {vcore: %d, memory: 9Gi}}]\n", 4+r.IntN(4))
	if r.IntN(2) == 0 {
		fmt.Fprintf(&b, "daemonsets: [{name: agent, queue: a, priority: 9, resources: {vcore: %d}}]\n", 1+r.IntN(2))
	}
	fmt.Fprintf(&b, "workloads:\n")
	for i := range 5 {
		runs := []string{"forever", "forever", "1m..9m"}[r.IntN(3)]
		fmt.Fprintf(&b, "  - {name: w%d, queue: %c, pods: %d, priority: %d, resources: {vcore: %d, memory: 1Gi}, runs: %s, arrival: {at: %dm}}\n",
			i, 'a'+r.IntN(3), 1+r.IntN(4), r.IntN(4), 1+r.IntN(3), runs, r.IntN(6))
	}
	fmt.Fprintf(&b, "faults: {bind-fails: %d%%, release-late: %d%%, release-never: %d%%, late: 1s..4m}\n", r.IntN(40), r.IntN(50), r.IntN(3))
	fmt.Fprintf(&b, "incidents: [{at: %dm, what: %s, group: node, count: 1, for: 3m}]\n", 2+r.IntN(5), []string{"fail", "drain"}[r.IntN(2)])
	return b.String()
}

// TestFeasibleMeansDoneWithFaults tries every set of victims for each pod that still waits when
// nothing happens any more in a cluster with faults.
func TestFeasibleMeansDoneWithFaults(t *testing.T) {
	t.Parallel()
	counts := map[string]int{}
	for seed := range short(150) {
		text := faultyScenario(rand.New(rand.NewPCG(seed, 5)))
		s, err := simulator.Parse(text)
		assert.NilError(t, err, text)
		_, err = simulator.Run(s, simulator.Options{Seed: seed + 1, Verify: true, AtRest: func(now time.Time, view *api.View) error {
			c := newRestChecker(view, now)
			if c == nil {
				return fmt.Errorf("the view is not known")
			}
			counts["victims"] += int(view.Preempted.Victims.Total())
			err := c.check()
			for what, n := range c.counts {
				counts[what] += n
			}
			return err
		}})
		assert.NilError(t, err, "seed %d:\n%s", seed, text)
	}
	t.Log(counts)
	assert.Assert(t, testing.Short() || counts["asks"] > 200 && counts["none"] > 100 && counts["victims"] > 200, "%v", counts)
}
