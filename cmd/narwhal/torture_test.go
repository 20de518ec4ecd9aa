package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/simulator/torture"
)

// TestTorture runs whole command lines, as TestCommand does.
func TestTorture(t *testing.T) {
	for _, c := range []struct{ name, line string }{
		{"torture-help", "torture --help"},
		{"torture-steps", "torture --steps 0"},
		{"torture-seed", "torture --seed -1"},
		{"torture-what", "torture 4"},
	} {
		t.Run(c.name, func(t *testing.T) { playLine(t, c.name, c.line, "") })
	}
}

// A world has its time, and one that never ends does not keep the command.
func TestAWorldHasItsTime(t *testing.T) {
	assert.Equal(t, worldMax, 5*time.Minute, "as the help says")
	assert.Assert(t, endsWithin(time.Hour, func() {}))
	never := make(chan struct{})
	defer close(never)
	assert.Assert(t, !endsWithin(time.Nanosecond, func() { <-never }))
}

// Worlds are played until there were enough steps, and what was played is a table.
func TestTortureTellsWhatWasPlayed(t *testing.T) {
	var out, problems bytes.Buffer
	assert.Equal(t, run(strings.Fields("torture --seed 7 --steps 2000"), nil, &out, &problems), exitDone)
	assert.Equal(t, problems.String(), "") // no progress: it is no terminal
	for _, row := range []string{`(?m)^PLAYED +worlds +\d+$`, `(?m)^ +steps +2,\d\d\d$`, `(?m)^FAULTS +failed binds +\d+$`, `(?m)^ +restarts +\d+$`, `(?m)^LAWS `} {
		assert.Assert(t, regexp.MustCompile(row).MatchString(out.String()), "%s: %s", row, &out)
	}
}

// What breaks a law is printed as a scenario, which shows it again.
func TestTorturePrintsWhatBreaksALaw(t *testing.T) {
	large := "name: x\nends: 1h\nnodes: [{name: n, count: 3, capacity: {vcore: 4}}]\nworkloads:\n" +
		"  - {name: large, queue: default, resources: {vcore: 5}, runs: 1m}\n  - {name: small, queue: default, resources: {vcore: 1}, runs: 1m}\n"
	var out, problems bytes.Buffer
	cmd := newTortureCommand()
	cmd.SetContext(context.Background())
	cmd.SetOut(&out)
	cmd.SetErr(&problems)
	err := playWorlds(cmd, torture.Config{Seed: 4, Steps: 1, World: func(uint64) string { return large }})
	assert.ErrorContains(t, err, "the world of seed 4 breaks a law: scenario x, seed 1: at 1m34.082s: the pod large/1 has not ended: impossible")
	assert.Assert(t, strings.HasPrefix(problems.String(), "PLAYED   worlds"))
	assert.Assert(t, !strings.Contains(out.String(), "small"))
	file := filepath.Join(t.TempDir(), "world.yaml")
	assert.NilError(t, os.WriteFile(file, out.Bytes(), 0o600))
	problems.Reset()
	assert.Equal(t, run([]string{"simulate", "--scenario", file, "--verify"}, nil, &out, &problems), exitFailed)
	assert.Assert(t, strings.Contains(problems.String(), "the pod large/1 has not ended: impossible"), &problems)
}

// What it has played is a line on a terminal.
func TestTortureLine(t *testing.T) {
	assert.Equal(t, tortureLine(&torture.Tally{Worlds: 30, Steps: 12_345}, 50_000), "worlds 30  steps 12,345 of 50,000, 24%")
	assert.Equal(t, tortureLine(&torture.Tally{Worlds: 30, Steps: 12_345, Tries: 1000}, 50_000), "a law is broken; 1,000 smaller worlds tried")
}
