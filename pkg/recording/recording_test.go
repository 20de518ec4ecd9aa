package recording_test

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"github.com/google/go-cmp/cmp"
	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/recording"
	"github.com/narwhal-scheduler/narwhal/pkg/scheduler"
	"github.com/narwhal-scheduler/narwhal/pkg/scheduler/schedulertest"
)

const partition = "[rm]default"

// byChance refuses a question by chance, some for good.
func byChance() error {
	switch rand.IntN(20) {
	case 0:
		return hopeless{}
	case 1, 2, 3, 4, 5:
		return errors.New("by chance")
	}
	return nil
}

// hopeless is a refusal that no eviction would help.
type hopeless struct{}

func (hopeless) Error() string      { return "never" }
func (hopeless) Unresolvable() bool { return true }

// record records what happens to a scheduler in a directory.
func record(t *testing.T, config recording.Config, options schedulertest.Options, happens func(t *testing.T, m *schedulertest.MockScheduler)) string {
	t.Helper()
	if config.Directory == "" {
		config.Directory = t.TempDir()
	}
	synctest.Test(t, func(t *testing.T) {
		r, err := recording.New(config)
		assert.NilError(t, err)
		t.Cleanup(r.Close) // after the scheduler has stopped
		options.Scheduler.Recorder = r
		happens(t, schedulertest.New(t, options))
	})
	return config.Directory
}

// A played is what came of playing all segments of a partition.
type played struct{ segments, steps, events, whole int }

// play plays all segments of a partition, which come out as they were recorded.
func play(t *testing.T, directory string) played {
	t.Helper()
	return playOf(t, directory, partition)
}

func playOf(t *testing.T, directory, partition string) (sum played) {
	t.Helper()
	d, err := recording.Read(directory)
	assert.NilError(t, err)
	for _, s := range d.Segments[partition] {
		p, err := recording.Open(s.Path)
		assert.NilError(t, err)
		for {
			step, err := p.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			assert.NilError(t, err)
			sum.events += len(step.Effects)
		}
		assert.NilError(t, p.Partition.Verify())
		sum.segments++
		sum.steps += p.Steps
		if p.Whole {
			sum.whole++
		}
		p.Close()
	}
	return sum
}

// storm has several callers send asks of all kinds, and releases, at once.
func storm(t *testing.T, m *schedulertest.MockScheduler) {
	t.Helper()
	for i := range 20 {
		m.AddNode(fmt.Sprintf("node-%02d", i), "vcore=16 memory=64Gi")
	}
	for i := range 4 {
		m.AddApplication(fmt.Sprintf("app-%d", i), "root.default")
	}
	for round := range 5 {
		var callers sync.WaitGroup
		for caller := range 4 {
			callers.Go(func() {
				app := fmt.Sprintf("app-%d", caller)
				for k := range 150 {
					a := &si.Allocation{
						ApplicationID: app, AllocationKey: fmt.Sprintf("%s-%d-%d", app, round, k), PartitionName: "default",
						ResourcePerAlloc: schedulertest.Resource(fmt.Sprintf("vcore=%d memory=%dGi", 1+rand.IntN(3), 1+rand.IntN(8))),
						Priority:         int32(rand.IntN(4)),
						AllocationTags:   map[string]string{"creationTime": fmt.Sprint(k), "owner": fmt.Sprint(k%7 == 0)},
					}
					if k%50 == 0 {
						a.AllocationTags["yunikorn.apache.org/requiredNode"] = fmt.Sprintf("node-%02d", rand.IntN(20))
					}
					if err := m.Send(a); err != nil {
						t.Error(err)
					}
					if k%3 == 0 {
						m.UpdateAllocation(&si.AllocationRequest{RmID: "rm", Releases: &si.AllocationReleasesRequest{AllocationsToRelease: []*si.AllocationRelease{{
							PartitionName: "default", ApplicationID: app, AllocationKey: fmt.Sprintf("%s-%d-%d", app, round, rand.IntN(k+1)),
							TerminationType: si.TerminationType_STOPPED_BY_RM,
						}}}})
					}
				}
			})
		}
		callers.Wait()
		m.Advance(time.Duration(rand.IntN(90)) * time.Second)
	}
}

// A scheduler with concurrent callers, answers by chance and full batches is played again with the same bytes, from the
// beginning of each segment.
func TestAStormIsPlayedAgain(t *testing.T) {
	options := schedulertest.Options{
		Simulates:      true,
		Scheduler:      scheduler.Config{PlacementsMax: 16},
		Predicates:     func(*si.PredicatesArgs) error { return byChance() },
		PredicatesWith: func(*scheduler.PredicatesWithArgs) error { return byChance() },
		PredicateClass: func(key string) string { return key[len(key)-1:] },
	}
	directory := record(t, recording.Config{SegmentMax: 10 << 10}, options, storm)
	sum := play(t, directory)
	t.Logf("%+v", sum)
	assert.Assert(t, sum.segments > 3 && sum.whole == sum.segments-1, "%+v", sum)
	assert.Assert(t, sum.steps > 4000 && sum.events > 3000, "%+v", sum)
	assert.DeepEqual(t, play(t, directory), sum, cmpPlayed)
}

var cmpPlayed = cmp.AllowUnexported(played{})
