package live_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/internal/seeds"
	"github.com/narwhal-scheduler/narwhal/pkg/recording"
	"github.com/narwhal-scheduler/narwhal/pkg/scheduler"
	"github.com/narwhal-scheduler/narwhal/pkg/simulator"
	"github.com/narwhal-scheduler/narwhal/pkg/simulator/live"
	"github.com/narwhal-scheduler/narwhal/pkg/simulator/torture"
)

// The same worlds before the scheduler that users run, with its goroutines, callbacks and recorder: messages cross as
// they come, and a restart is a registration. It makes no breach, its partition keeps all laws, all pods end, and what was recorded is played
// again with the same bytes.
func TestRealScheduler(t *testing.T) {
	first, count := uint64(0), seeds.Part(t, 100)
	if testing.Short() {
		count /= 4
	}
	if seed, n, asked := seeds.Torture(t); asked {
		first, count = seed, int(n)/20
	}
	steps := 0
	for seed := first + 1; seed <= first+uint64(count) && !t.Failed(); seed++ {
		directory := t.TempDir()
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { before(t, torture.World(seed), directory) })
			steps += playedAgain(t, directory)
		})
	}
	t.Logf("%d steps of %d worlds", steps, count)
}

// before plays a world before a scheduler, to its end.
func before(t *testing.T, text, directory string) {
	t.Helper()
	s, err := simulator.Parse(text)
	assert.NilError(t, err)
	over := make(chan struct{}, 1)
	cluster, err := live.New(s, live.Options{
		Speed: 1, Over: func() { over <- struct{}{} }, Breach: func(err error) { t.Errorf("breach: %v", err) },
	})
	assert.NilError(t, err)
	recorder, err := recording.New(recording.Config{Directory: directory})
	assert.NilError(t, err)
	defer recorder.Close()
	core, err := scheduler.New(scheduler.Config{Recorder: recorder, SkipPredicates: !cluster.Constrained()})
	assert.NilError(t, err)
	defer core.Stop()
	ctx, cancel := context.WithCancel(t.Context())
	finished := make(chan error, 1)
	go func() { finished <- cluster.Run(ctx, core) }()
	for run := true; run; {
		select {
		case <-over:
			run = false
		case err := <-finished:
			t.Fatalf("it ended before all pods have: %v", err)
		case <-time.After(time.Minute):
		}
		synctest.Wait()
		assert.Check(t, core.Verify(ctx, livePartition))
	}
	cancel()
	assert.NilError(t, <-finished)
}

// playedAgain plays all that was recorded, and counts the steps.
func playedAgain(t *testing.T, directory string) (steps int) {
	t.Helper()
	d, err := recording.Read(directory)
	assert.NilError(t, err)
	for _, s := range d.Segments[livePartition] {
		p, err := recording.Open(s.Path)
		assert.NilError(t, err)
		assert.NilError(t, p.PlayToEnd())
		steps += p.Steps
		p.Close()
	}
	return steps
}
