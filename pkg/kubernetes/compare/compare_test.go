//go:build compare

package compare

import (
	"fmt"
	"os"
	"testing"
	"text/tabwriter"

	"gotest.tools/v3/assert"
)

// seeds are how many worlds of racks in use are played.
const seeds = 5

// TestGroupsBesideKubeScheduler prints how many pods each places in a second, and of the jobs for racks in use how many pods start at all. With both,
// groups start whole, and in one rack.
func TestGroupsBesideKubeScheduler(t *testing.T) {
	out := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(out, "\tpods\tkube-scheduler\tpods/s\tcore\tpods/s\tfactor\t")
	for _, w := range []world{
		uniform("plain pods", 50, 100, 3000, job{pods: 1, slots: 1, plain: true}),
		uniform("750 groups of 4, anywhere", 50, 100, 750, job{pods: 4, slots: 1}),
		uniform("750 groups of 4, in one rack", 50, 100, 750, job{pods: 4, slots: 1, rack: true}),
		uniform("300 groups of 16 whole nodes, in one rack", 50, 100, 300, job{pods: 16, slots: slots, rack: true}),
	} {
		theirs, slow := byKube(t, w)
		ours, fast := byCore(t, w)
		asked := check(t, w, theirs)
		assert.Equal(t, check(t, w, ours), asked)
		theirRate, ourRate := float64(len(theirs))/slow.Seconds(), float64(len(ours))/fast.Seconds()
		fmt.Fprintf(out, "%s\t%d\t%d\t%.0f\t%d\t%.0f\t%.0f\t\n", w.name, asked, len(theirs), theirRate, len(ours), ourRate, ourRate/theirRate)
	}
	assert.NilError(t, out.Flush())
	var asked, theirs, ours int
	for seed := range uint64(seeds) {
		w := used(seed)
		their, _ := byKube(t, w)
		our, _ := byCore(t, w)
		asked += check(t, w, their)
		check(t, w, our)
		theirs, ours = theirs+len(their), ours+len(our)
	}
	fmt.Printf("%d clusters whose racks are in use: of %d pods kube-scheduler starts %d, the core %d\n", seeds, asked, theirs, ours)
}

// check asserts that the groups of a world that have started did so whole, and in one rack where they want that, and returns how many
// pods there are.
func check(t *testing.T, w world, on map[string]string) (asked int) {
	t.Helper()
	for _, j := range w.jobs {
		racks, runs := map[string]bool{}, 0
		for pod := range j.pods {
			if node := on[podName(j, pod)]; node != "" {
				racks[node[:3]] = true
				runs++
			}
		}
		assert.Assert(t, runs == 0 || runs == j.pods, "%s: %d of %d run", j.name, runs, j.pods)
		assert.Assert(t, !j.rack || len(racks) <= 1, "%s runs in %v", j.name, racks)
		asked += j.pods
	}
	return asked
}
