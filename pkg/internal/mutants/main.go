package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// here is the directory of this program.
const here = "pkg/internal/mutants"

// targets are the packages that get faults, and how many. Faults in what only checks
// the books are left out: they make no scheduler worse.
var targets = []target{
	{dir: "pkg/resources", count: 30, tests: after("pkg/resources", scenarios...)},
	{dir: "pkg/core/order", count: 20, tests: after("pkg/core/order", ofCore...)},
	{dir: "pkg/core/preemptor", count: 40, tests: after("pkg/core/preemptor", ofCore...)},
	{dir: "pkg/core/ledger", count: 50, without: "verify*.go", tests: after("pkg/core/ledger", ofCore...)},
	{dir: "pkg/core/answers", count: 10, tests: after("pkg/core/answers", ofCore...)},
	{dir: "pkg/core/backlog", count: 50, without: "verify*.go", tests: after("pkg/core/backlog", ofCore...)},
	{dir: "pkg/core/question", count: 15, without: "verify*.go", tests: after("pkg/core/question", ofCore...)},
	{dir: "pkg/core/preemption", count: 50, without: "verify*.go", tests: after("pkg/core/preemption", ofCore...)},
	{dir: "pkg/core/group", count: 30, without: "verify*.go", tests: after("pkg/core/group", ofCore...)},
	{dir: "pkg/core/topology", count: 10, without: "verify*.go", tests: after("pkg/core/topology", ofCore...)},
	{dir: "pkg/core/scarcity", count: 10, tests: after("pkg/core/scarcity", ofCore...)},
	{dir: "pkg/core/placement", count: 10, tests: after("pkg/core/placement", ofCore...)},
	{dir: "pkg/core/devices", count: 10, tests: after("pkg/core/devices", ofCore...)},
	{dir: "pkg/core/timers", count: 10, tests: after("pkg/core/timers", ofCore...)},
	{dir: "pkg/core", count: 40, without: "verify*.go", tests: append(slices.Clone(ofCore), suite{dir: "pkg/explain"})},
	{dir: "pkg/config", count: 30, tests: []suite{{dir: "pkg/config"}, {dir: "cmd/narwhal", only: "^TestCommand$"}}},
	{dir: "pkg/scheduler", count: 40, tests: []suite{{dir: "pkg/scheduler"}, {dir: "pkg/scheduler/schedulertest"}}},
	{dir: "pkg/webservice", count: 40, tests: []suite{answers}},
	{dir: "pkg/webservice/object", count: 20, tests: after("pkg/webservice/object", answers)},
	{dir: "pkg/webservice/explanation", count: 10, tests: after("pkg/webservice/explanation", answers)},
	{dir: "pkg/webservice/query", count: 10, tests: after("pkg/webservice/query", answers)},
}

// scenarios are the tests of the core that see what is below it, and are quick. Of the others, histories and worlds
// see most of what they do not: they come first, although they are not quick.
var (
	scenarios = []suite{
		{dir: "pkg/core", only: "^TestScenarios$"}, {dir: "pkg/core/preemption"}, {dir: "pkg/core/group"}, {dir: "pkg/core/question"},
	}
	ofCore = append(slices.Clone(scenarios), suite{dir: "pkg/core", only: "^TestRandomHistories$"}, suite{dir: "pkg/core/worlds"},
		suite{dir: "pkg/core", skip: "^(TestScenarios|TestRandomHistories)$"})
	answers = suite{dir: "pkg/webservice"} // whole ones, whatever makes them
)

// after are the tests of a package, and then others.
func after(dir string, others ...suite) []suite {
	own := suite{dir: dir}
	return append([]suite{own}, slices.DeleteFunc(slices.Clone(others), func(s suite) bool { return s == own })...)
}

// options are the flags.
type options struct {
	packages, results string
	seed              uint64
	count             int
	list, keep        bool
}

func main() {
	var o options
	flag.StringVar(&o.packages, "packages", "", "directories of the packages, divided by commas; all if empty")
	flag.Uint64Var(&o.seed, "seed", 1, "chooses other faults")
	flag.IntVar(&o.count, "count", 0, "faults of each package; 0 is as many as the table of packages says")
	flag.BoolVar(&o.list, "list", false, "print the sample and run nothing")
	flag.StringVar(&o.results, "results", "mutants.json", "file of results; a run with the same file goes on where the last one was")
	flag.BoolVar(&o.keep, "keep", false, "what was killed stays so after a change of code or tests; the rest is run again")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	well, err := start(ctx, o, os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(2)
	}
	if !well {
		os.Exit(1)
	}
}

func start(ctx context.Context, o options, out io.Writer) (bool, error) {
	root, err := module()
	if err != nil {
		return false, err
	}
	s := &session{root: root, seed: o.seed, count: o.count, out: out, clock: time.Now, exist: make(map[string]bool)}
	if s.targets, err = choose(targets, o.packages); err != nil {
		return false, err
	}
	if s.list, err = survivors(filepath.Join(root, here, "survivors.txt")); err != nil {
		return false, err
	}
	if o.list {
		return true, s.show()
	}
	tree, err := fingerprint(root, here)
	if err != nil {
		return false, err
	}
	if s.results, err = openJournal(o.results, tree, o.keep); err != nil {
		return false, err
	}
	r, err := newRunner(root)
	if err != nil {
		return false, err
	}
	s.together, s.try = r.together, r.try
	well, err := s.play(ctx)
	return well, errors.Join(err, s.results.close(), r.close())
}

// module is the top of the module around the working directory.
func module() (string, error) {
	out, err := exec.Command("go", "env", "GOMOD").Output()
	if err != nil {
		return "", fmt.Errorf("looking for the module: %w", err)
	}
	return filepath.Dir(string(bytes.TrimSpace(out))), nil
}

// choose takes the targets with given names, in the order of the table.
func choose(all []target, names string) ([]target, error) {
	if names == "" {
		return all, nil
	}
	wanted := strings.Split(names, ",")
	for _, name := range wanted {
		if !slices.ContainsFunc(all, func(t target) bool { return t.dir == name }) {
			return nil, fmt.Errorf("package %s is not in the table of packages", name)
		}
	}
	return slices.DeleteFunc(slices.Clone(all), func(t target) bool { return !slices.Contains(wanted, t.dir) }), nil
}
