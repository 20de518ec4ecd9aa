package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// A runner builds the tests of packages and runs them. It writes into a folder of its
// own.
type runner struct {
	root      string // of the module
	folder    string
	least     limits // of a pass, however quick it is
	memoryMax int    // KiB of addresses of one process
	baselines map[suite]*baseline
	together  *schema // the faults that are compiled at once
	compiled  *builds // with these
}

// newRunner makes a runner with a folder, until close.
func newRunner(root string) (*runner, error) {
	folder, err := os.MkdirTemp("", "mutants")
	if err != nil {
		return nil, err
	}
	r := &runner{
		root:      root,
		folder:    folder,
		least:     limits{processor: 10 * time.Second, clock: 30 * time.Second},
		memoryMax: 6 << 20,
		baselines: make(map[suite]*baseline),
		together:  newSchema(),
	}
	r.compiled = r.newBuilds("together", r.together.files)
	return r, nil
}

func (r *runner) close() error { return os.RemoveAll(r.folder) }

// A suite is the tests of a directory.
type suite struct {
	dir  string
	only string // a pattern of tests; all if empty
	skip string // a pattern of tests that are left out, since another suite has them; none if empty
}

// limits bound one run of tests. The time of the processor does not depend on what
// else the machine does; the time of the clock ends tests that wait for ever.
type limits struct {
	processor, clock time.Duration
}

const (
	buildMax   = 20 * time.Minute
	outputTail = 2000 // bytes of an output that are shown
)

// A run is what came out of one run of tests.
type run struct {
	passed   bool
	exceeded string // the limit of time that it exceeded
	output   string
	used     time.Duration // of the processor
}

// A result is what the tests say about a fault.
type result struct {
	outcome outcome
	by      string // the test that found it
}

// An outcome is one of three.
type outcome string

const (
	killed   outcome = "killed"
	timedOut outcome = "timed out"
	survived outcome = "survived"
)

// try runs suites against a fault, until one test fails: the quick tests of all suites
// come first. The content is that of its file.
func (r *runner) try(ctx context.Context, f fault, content []byte, suites []suite) (result, error) {
	on, compiled := r.together.numbers[f.name()], r.compiled
	if on == 0 {
		compiled = r.newBuilds("fault", map[string][]byte{f.file: content})
	}
	for round := range cuts {
		for _, tests := range suites {
			base, err := r.baseline(ctx, tests)
			if err != nil {
				return result{}, err
			}
			if round >= len(base.passes) {
				continue
			}
			binary, output, err := compiled.of(ctx, tests.dir)
			if err != nil {
				return result{}, err
			}
			if binary == "" {
				return result{killed, "the compiler of the tests: " + firstLine(output)}, nil
			}
			got, err := r.pass(ctx, tests, program{binary, on}, base.passes[round])
			if err != nil || got.outcome != survived {
				return got, err
			}
		}
	}
	return result{outcome: survived}, nil
}

// pass runs a part of the tests of a package.
func (r *runner) pass(ctx context.Context, tests suite, in program, p pass) (result, error) {
	got, err := r.run(ctx, tests.dir, in, p.limits, "-test.failfast", "-test.run="+p.pattern)
	switch {
	case err != nil:
		return result{}, err
	case got.exceeded != "":
		return result{timedOut, tests.dir + ", " + got.exceeded}, nil
	case !got.passed:
		return result{killed, tests.dir + " " + culprit(got.output)}, nil
	}
	return result{outcome: survived}, nil
}

// builds are programs of tests that are compiled with some files instead of others, once each.
type builds struct {
	*runner
	name     string
	files    map[string][]byte // by their path from the top
	binaries map[string]string // by the directory of the tests
}

func (r *runner) newBuilds(name string, files map[string][]byte) *builds {
	return &builds{runner: r, name: name, files: files, binaries: make(map[string]string)}
}

// of is the program of the tests of a directory. Without one they do not compile, and the output says why.
func (b *builds) of(ctx context.Context, dir string) (binary, output string, err error) {
	if done, ok := b.binaries[dir]; ok {
		return done, "", nil
	}
	told, err := overlay(b.root, b.folder, b.name, b.files)
	if err != nil {
		return "", "", err
	}
	binary, output, err = b.build(ctx, dir, fmt.Sprint(b.name, len(b.binaries)), told)
	if binary != "" {
		b.binaries[dir] = binary
	}
	return binary, output, err
}

// build builds the tests of a package. Without a binary they do not compile, and the
// output says why.
func (r *runner) build(ctx context.Context, pkg, name, overlay string) (binary, output string, err error) {
	binary = filepath.Join(r.folder, name)
	ctx, cancel := context.WithTimeout(ctx, buildMax)
	defer cancel()
	command := exec.CommandContext(ctx, "go", "test", "-c", "-vet=off", "-ldflags=-s -w", "-overlay="+overlay, "-o", binary, "./"+pkg)
	command.Dir = r.root
	out, err := command.CombinedOutput()
	var failed *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return "", "", fmt.Errorf("building the tests of %s: %w", pkg, ctx.Err())
	case errors.As(err, &failed) && atPlace.Match(out):
		return "", string(out), nil
	case errors.As(err, &failed): // no fault of the code: the disk is full, say
		return "", "", fmt.Errorf("building the tests of %s: %s", pkg, tail(string(out)))
	case err != nil:
		return "", "", fmt.Errorf("building the tests of %s: %w", pkg, err)
	}
	return binary, "", nil
}

// A program is the tests of a package, with one of the faults that were compiled at once; zero is none.
type program struct {
	path string
	on   int
}

// run runs a program in the directory of its package.
func (r *runner) run(ctx context.Context, pkg string, p program, l limits, arguments ...string) (run, error) {
	limited, cancel := context.WithTimeout(ctx, l.clock)
	defer cancel()
	seconds := int(math.Ceil(l.processor.Seconds()))
	// A system that does not know a limit goes without.
	script := fmt.Sprintf(`ulimit -v %d 2>/dev/null; ulimit -t %d 2>/dev/null; exec "$0" "$@"`, r.memoryMax, seconds)
	command := exec.CommandContext(limited, "sh", append([]string{"-c", script, p.path}, arguments...)...)
	command.Dir = filepath.Join(r.root, filepath.FromSlash(pkg))
	command.Env = append(os.Environ(), fmt.Sprintf("%s=%d", mutantOn, p.on))
	command.WaitDelay = time.Second // for processes of tests that hold the output
	out, err := command.CombinedOutput()
	switch {
	case ctx.Err() != nil:
		return run{}, fmt.Errorf("running the tests of %s: %w", pkg, ctx.Err())
	case command.ProcessState == nil && limited.Err() != nil: // it had no time to begin
		return run{exceeded: "waiting"}, nil
	case command.ProcessState == nil:
		return run{}, fmt.Errorf("running the tests of %s: %w", pkg, err)
	}
	got := run{
		passed: command.ProcessState.Success(),
		output: string(out),
		used:   command.ProcessState.UserTime() + command.ProcessState.SystemTime(),
	}
	// At the limit of the processor the system kills the process.
	switch {
	case limited.Err() != nil:
		got.exceeded = "waiting" // or on a machine that does much else: KEEP=1 tries it again
	case strings.Contains(command.ProcessState.String(), "signal: killed"):
		got.exceeded = "working"
	}
	return got, nil
}

// atPlace finds what a compiler says about a place in the code.
var atPlace = regexp.MustCompile(`\.go:\d+:\d+: `)

var failure = regexp.MustCompile(`(?m)^\s*--- FAIL: (\S+)`)

// culprit is the test that failed, the innermost that is printed first; of a process
// that ended before, the first line that says why.
func culprit(output string) string {
	if match := failure.FindStringSubmatch(output); match != nil {
		return match[1]
	}
	for line := range strings.Lines(output) {
		if strings.HasPrefix(line, "panic: ") || strings.HasPrefix(line, "fatal error: ") {
			return strings.TrimSpace(line)
		}
	}
	return firstLine(output)
}

// firstLine is the first line of an output that is no heading.
func firstLine(output string) string {
	for line := range strings.Lines(output) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			return line
		}
	}
	return ""
}

// tail is the end of an output.
func tail(output string) string {
	return output[max(0, len(output)-outputTail):]
}
