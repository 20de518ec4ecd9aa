package main

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"
)

func newTestRunner(t *testing.T) *runner {
	t.Helper()
	r, err := newRunner(tiny(t))
	assert.NilError(t, err)
	t.Cleanup(func() { assert.NilError(t, r.close()) })
	r.least = limits{processor: time.Second, clock: time.Minute}
	r.memoryMax = 2 << 20
	return r
}

// TestTry puts faults into a package and runs its tests and those of a package that
// uses it. What is outside of functions is compiled for itself.
func TestTry(t *testing.T) {
	if testing.Short() {
		t.Skip("long, so make test-long plays it")
	}
	r := newTestRunner(t)
	s := loaded(t, r.root, "counter")
	faults := s.faults("")
	r.together.add(s, faults)
	tests := []struct {
		function, operator, before string
		outcome                    outcome
		by                         string
	}{
		{"Larger", "negate", "if a < b {", killed, "counter TestLarger"},
		{"Larger", "boundary", "if a < b {", survived, ""},
		{"Log", "delete", "n >>= 1", timedOut, "counter, working"},
		{"Twice", "arithmetic", "func Twice(n int) int { return n * 2 }", killed, "user TestFour"},
		{"", "constant", "const Size = 3", killed, "the compiler of the tests: "},
	}
	for _, test := range tests {
		t.Run(test.function+" "+test.operator, func(t *testing.T) {
			i := slices.IndexFunc(faults, func(f fault) bool {
				return f.function == test.function && f.operator == test.operator && f.before == test.before
			})
			got, err := r.try(t.Context(), faults[i], s.with(faults[i]), []suite{{dir: "counter"}, {dir: "user", only: "Four"}})
			assert.NilError(t, err)
			assert.Equal(t, got.outcome, test.outcome, got.by)
			assert.Assert(t, strings.HasPrefix(got.by, test.by), got.by)
		})
	}
}

// TestMemoryLimit ends a list that grows without an end, long before the limits of time.
func TestMemoryLimit(t *testing.T) {
	if testing.Short() {
		t.Skip("long, so make test-long plays it")
	}
	r := newTestRunner(t)
	r.least.processor = time.Minute
	s := loaded(t, r.root, "counter")
	for _, f := range s.faults("") {
		if f.before == "n--" && f.operator == "delete" {
			got, err := r.try(t.Context(), f, s.with(f), []suite{{dir: "counter"}})
			assert.NilError(t, err)
			assert.Equal(t, got.outcome, killed)
			assert.Assert(t, strings.Contains(got.by, "out of memory") || strings.Contains(got.by, "cannot allocate memory"), got.by)
			return
		}
	}
	t.Fatal("there is no such fault")
}

// TestClockLimit ends what waits without using the processor, also on a machine so busy that its
// time is over before it begins.
func TestClockLimit(t *testing.T) {
	for _, clock := range []time.Duration{0, 50 * time.Millisecond} {
		got, err := newTestRunner(t).run(t.Context(), "counter", program{path: "sleep"}, limits{processor: time.Second, clock: clock}, "600")
		assert.NilError(t, err)
		assert.Equal(t, got.exceeded, "waiting")
	}
}

// TestInterrupted: a run that is ended by a signal says nothing about a fault.
func TestInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r := newTestRunner(t)
	s := loaded(t, r.root, "counter")
	f := s.faults("")[0]
	_, err := r.try(ctx, f, s.with(f), []suite{{dir: "counter"}})
	assert.ErrorIs(t, err, context.Canceled)

	ctx, cancel = context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	_, err = r.run(ctx, "counter", program{path: "sleep"}, r.least, "600")
	assert.ErrorIs(t, err, context.DeadlineExceeded)
}

// TestBaselineMustPass: with tests that fail anyway, every fault would be found.
func TestBaselineMustPass(t *testing.T) {
	if testing.Short() {
		t.Skip("long, so make test-long plays it")
	}
	r := newTestRunner(t)
	_, err := r.baseline(t.Context(), suite{dir: "broken"})
	assert.ErrorContains(t, err, "fail without a fault")
	assert.ErrorContains(t, err, "TestOne")
	_, err = r.baseline(t.Context(), suite{dir: "user", only: "Five"})
	assert.ErrorContains(t, err, "user has no tests Five")
	_, err = r.baseline(t.Context(), suite{dir: "user", skip: "^TestFour$"})
	assert.ErrorContains(t, err, "user has no tests")
}

func TestTimings(t *testing.T) {
	output := "=== RUN   TestA\n    --- PASS: TestA/inner (0.10s)\n--- PASS: TestA (1.50s)\n--- SKIP: TestB (0.00s)\n--- PASS: ExampleC (0.00s)\nPASS\n"
	assert.Equal(t, len(timings(output)), 2)
	assert.Equal(t, timings(output)[0], timing{"TestA", 1500 * time.Millisecond})
	assert.Equal(t, timings(output)[1], timing{"ExampleC", 0})
}

// TestDivide runs quick tests before slow ones, and gives each pass limits by its part.
func TestDivide(t *testing.T) {
	least := limits{processor: time.Second, clock: time.Minute}
	all := []timing{{"TestSlow", 90 * time.Second}, {"TestB", time.Second}, {"TestA", time.Second}, {"TestMiddle", 8 * time.Second}}
	got := divide(all, 50*time.Second, least)
	assert.Equal(t, len(got), 3)
	assert.Equal(t, got[0], pass{"^(TestA|TestB)$", limits{6 * time.Second, 80 * time.Second}})
	assert.Equal(t, got[1], pass{"^(TestMiddle)$", limits{21 * time.Second, 140 * time.Second}})
	assert.Equal(t, got[2], pass{"^(TestSlow)$", limits{226 * time.Second, 960 * time.Second}})

	got = divide([]timing{{"TestA", 0}}, time.Second, least)
	assert.Equal(t, len(got), 1)
	assert.Equal(t, got[0].pattern, "^(TestA)$")
}

func TestCulprit(t *testing.T) {
	assert.Equal(t, culprit("--- FAIL: TestA (0.00s)\n    --- FAIL: TestA/b (0.00s)\n"), "TestA")
	assert.Equal(t, culprit("x\npanic: test timed out\n"), "panic: test timed out")
	assert.Equal(t, culprit("# pkg\nsignal: killed\n"), "signal: killed")
	assert.Equal(t, culprit(""), "")
}
