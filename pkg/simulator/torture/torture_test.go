package torture_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/golden"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/internal/seeds"
	"github.com/narwhal-scheduler/narwhal/pkg/simulator"
	"github.com/narwhal-scheduler/narwhal/pkg/simulator/torture"
)

// No world breaks a law, and everything that may happen in one does.
func TestWorlds(t *testing.T) {
	first, steps := uint64(0), seeds.Part(t, 200_000)
	if seed, count, asked := seeds.Torture(t); asked {
		first, steps = seed, 30*int(count)
	}
	tally, failure := torture.Run(torture.Config{Seed: first + 1, Steps: steps})
	if failure != nil {
		t.Fatalf("seed %d: %v\n%s", failure.Seed, failure.Err, failure.Scenario)
	}
	var text bytes.Buffer
	assert.NilError(t, tally.Write(&text))
	t.Logf("\n%s", &text)
	for what, n := range tally.Counts() {
		assert.Check(t, n > 0 || what == "rejected", what)
	}
}

// A world that is played again ends with the same view, to the letter: with what was looked at for it, too.
func TestWorldsRepeat(t *testing.T) {
	if testing.Short() {
		t.Skip("long, so make test-long plays it")
	}
	for seed := range uint64(seeds.Part(t, 600)) {
		s, err := simulator.Parse(torture.World(seed))
		assert.NilError(t, err)
		end := func() (text string) {
			_, _ = simulator.Run(s, simulator.Options{AtRest: func(_ time.Time, view *api.View) error {
				is, err := json.Marshal(view)
				text = string(is)
				return err
			}})
			return text
		}
		assert.Equal(t, end(), end(), "seed %d", seed)
	}
}

// What torture has found stays mended.
func TestWorldsThatFailed(t *testing.T) {
	files, err := filepath.Glob("testdata/found/*.yaml")
	assert.NilError(t, err)
	assert.Assert(t, len(files) > 0)
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			assert.NilError(t, simulate(t, read(t, file)))
		})
	}
}

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	assert.NilError(t, err)
	return string(text)
}

// simulate plays a scenario as narwhal simulate --verify does.
func simulate(t *testing.T, text string) error {
	t.Helper()
	s, err := simulator.Parse(text)
	assert.NilError(t, err, text)
	_, err = simulator.Run(s, simulator.Options{Verify: true})
	return err
}

// Worlds are scenarios, and depend on their seed alone.
func TestWorldsAreScenarios(t *testing.T) {
	for seed := range uint64(200) {
		text := torture.World(seed)
		_, err := simulator.Parse(text)
		assert.NilError(t, err, text)
		assert.Equal(t, text, torture.World(seed))
	}
}

// A world that breaks a law is made small: what is printed breaks the same, and has nothing that is not needed for that.
func TestAFailureIsMadeSmall(t *testing.T) {
	for _, name := range []string{"too-large", "never-told"} {
		t.Run(name, func(t *testing.T) {
			large := read(t, "testdata/"+name+".yaml")
			tally, failure := torture.Run(torture.Config{Seed: 3, Steps: 1, World: func(uint64) string { return large }})
			assert.Assert(t, failure != nil && tally.Tries > 10)
			golden.Assert(t, failure.Scenario, name+".golden")
			err := simulate(t, failure.Scenario)
			assert.ErrorContains(t, err, "has not ended")
			assert.Assert(t, strings.Contains(failure.Scenario, strings.SplitN(err.Error(), ": ", 2)[1]), "%v", err)
		})
	}
}

// A panic of the core is a failure like others, and so is a scenario that is none.
func TestWhatBreaksALaw(t *testing.T) {
	_, failure := torture.Run(torture.Config{Steps: 1, World: func(uint64) string { return "name: 5x/" }})
	assert.Assert(t, errors.As(failure.Err, new(simulator.Problems)), "%v", failure.Err)
	assert.ErrorContains(t, failure.Err, "nodes: is missing")
	for _, c := range []struct{ err, law string }{
		{"scenario torture-4, seed 4: at 1h2m0s: the pod w-1/3 has not ended: no node has room", "the pod # has not ended: no node has room"},
		{"scenario a, seed 1: api.RemoveNode: at 5s: pod w-1/3 was placed on n-4, which is not there", "pod # was placed on # which is not there"},
		{"panic: runtime error: index out of range [-1]", "panic: runtime error: index out of range #"},
	} {
		assert.Equal(t, torture.Class(errors.New(c.err)), c.law)
	}
}

// Worlds are small: at most four queues, five nodes of a kind and six workloads, and as many come about. In larger ones a broken law takes
// longer to find and to make small.
func TestWorldsAreSmall(t *testing.T) {
	most := map[string]int{}
	for seed := range uint64(300) {
		s, err := simulator.Parse(torture.World(seed))
		assert.NilError(t, err)
		leaves := 0
		for _, q := range s.Config.Root.Queues {
			leaves += max(1, len(q.Queues))
		}
		most["queues"] = max(most["queues"], leaves-1) // the one of daemonsets
		most["workloads"] = max(most["workloads"], len(s.Workloads))
		count := map[string]int{}
		for _, n := range s.Nodes {
			count[n.Group]++
			most["nodes"] = max(most["nodes"], count[n.Group])
		}
	}
	assert.DeepEqual(t, most, map[string]int{"queues": 4, "nodes": 5, "workloads": 6})
}

// It ends after a world when it is told to, with what was played so far.
func TestInterrupt(t *testing.T) {
	told := 0
	tally, failure := torture.Run(torture.Config{Seed: 1, Steps: 1 << 40, Tell: func(t *torture.Tally) { told = t.Worlds }, Stops: func() bool { return told == 3 }})
	assert.Assert(t, failure == nil)
	assert.Equal(t, tally.Worlds, 3)
	assert.Assert(t, tally.Steps > 0)
}

// A world that does not come to an end is left behind, and printed as it is.
func TestAWorldThatDoesNotEnd(t *testing.T) {
	const text = "name: long\nnodes: [{name: n, capacity: {vcore: 1}}]\nworkloads: [{name: w, queue: default, resources: {vcore: 1}, runs: 1m}]\n"
	config := torture.Config{Seed: 7, Steps: 1, World: func(uint64) string { return text }}
	config.InTime = func(play func()) bool { play(); return true }
	_, failure := torture.Run(config)
	assert.Assert(t, failure == nil)
	config.InTime = func(func()) bool { return false }
	tally, failure := torture.Run(config)
	assert.Equal(t, tally.Tries, 0)
	assert.Equal(t, failure.Seed, uint64(7))
	assert.Equal(t, failure.Scenario, "# it does not come to an end\n# narwhal simulate --scenario FILE --verify shows it.\n"+text)
}
