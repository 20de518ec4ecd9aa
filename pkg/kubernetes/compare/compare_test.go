//go:build compare

package compare

import (
	"fmt"
	"os"
	"testing"
	"text/tabwriter"
	"time"

	"gotest.tools/v3/assert"
)

// TestGroupsBesideKubeScheduler prints how many pods each places in a second, and of the jobs for racks in use how many pods start at all. With both,
// groups start whole, and in one rack.
func TestGroupsBesideKubeScheduler(t *testing.T) {
	rates(t,
		uniform("plain pods", 50, 100, 3000, job{pods: 1, slots: 1, plain: true}),
		uniform("750 groups of 4, anywhere", 50, 100, 750, job{pods: 4, slots: 1}),
		uniform("750 groups of 4, in one rack", 50, 100, 750, job{pods: 4, slots: 1, rack: true}),
		uniform("300 groups of 16 whole nodes, in one rack", 50, 100, 300, job{pods: 16, slots: slots, rack: true}),
	)
	worlds(t, 5, "racks are in use", used)
	worlds(t, 5, "nodes are in use, for gangs of two sizes", uneven)
}

// TestPreemptionBesideKubeScheduler prints how fast a gang makes room for itself, and what it ends where there is a choice.
func TestPreemptionBesideKubeScheduler(t *testing.T) {
	rates(t, full(50), full(5))
	worlds(t, 20, "racks are full", contested)
}

// rates prints how many pods of each world are placed in a second.
func rates(t *testing.T, list ...world) {
	out := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(out, "\tpods\tkube-scheduler\tpods/s\tcore\tpods/s\tfactor\t")
	for _, w := range list {
		theirs, ours := byKube(t, w), byCore(t, w)
		theirs.check(t, w)
		ours.check(t, w)
		theirRate, ourRate := float64(len(theirs.on))/theirs.took.Seconds(), float64(len(ours.on))/ours.took.Seconds()
		fmt.Fprintf(out, "%s\t%d\t%d\t%.0f\t%d\t%.0f\t%.0f\t\n", w.name, w.asked(), len(theirs.on), theirRate, len(ours.on), ourRate, ourRate/theirRate)
	}
	assert.NilError(t, out.Flush())
}

// worlds prints what becomes of the pods of some worlds.
func worlds(t *testing.T, seeds int, what string, of func(seed uint64) world) {
	var asked int
	var theirs, ours sums
	for seed := range uint64(seeds) {
		w := of(seed)
		asked += w.asked()
		theirs.add(t, w, byKube(t, w))
		ours.add(t, w, byCore(t, w))
	}
	out := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(out, "%d clusters whose %s\tpods that start, of %d\tvictims\tgangs broken\tpods of these that are left\thighest priority of a victim, mean\t\n", seeds, what, asked)
	for _, row := range []struct {
		name string
		sums
	}{{"kube-scheduler", theirs}, {"core", ours}} {
		fmt.Fprintf(out, "%s\t%d\t%d\t%d\t%d\t%.1f\t\n", row.name, row.started, row.victims, row.broken, row.left, float64(row.highest)/float64(seeds))
	}
	assert.NilError(t, out.Flush())
}

// An outcome is what became of the pods of a world.
type outcome struct {
	on      map[string]string // nodes of the pods of jobs that came
	victims map[string]bool
	took    time.Duration // until the last one was placed
}

func newOutcome() outcome { return outcome{on: map[string]string{}, victims: map[string]bool{}} }

// check asserts that the groups that have started did so whole, and in one rack where they want that.
func (o outcome) check(t *testing.T, w world) {
	t.Helper()
	for _, j := range w.jobs {
		racks, runs := map[string]bool{}, 0
		for pod := range j.pods {
			if node := o.on[podName(j, pod)]; node != "" {
				racks[node[:3]] = true
				runs++
			}
		}
		assert.Assert(t, runs == 0 || runs == j.pods, "%s: %d of %d run", j.name, runs, j.pods)
		assert.Assert(t, !j.rack || len(racks) <= 1, "%s runs in %v", j.name, racks)
	}
}

// sums are what became of all pods of some worlds.
type sums struct {
	started, victims int
	broken           int // gangs that ran, and have lost a member
	left             int // members of these that run in vain
	highest          int // priority of a victim, of each world
}

func (s *sums) add(t *testing.T, w world, o outcome) {
	t.Helper()
	o.check(t, w)
	s.started += len(o.on)
	s.victims += len(o.victims)
	highest := 0
	for _, j := range w.runs {
		ended := 0
		for pod := range j.pods {
			if o.victims[podName(j, pod)] {
				highest = max(highest, j.priority)
				ended++
			}
		}
		if ended > 0 && !j.plain {
			s.broken++
			s.left += j.pods - ended
		}
	}
	s.highest += highest
}
