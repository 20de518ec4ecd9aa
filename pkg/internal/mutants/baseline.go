package main

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A baseline is how the tests of a package do without a fault.
type baseline struct {
	passes []pass
}

// A pass is a part of the tests of a package. The quick ones are run first: most
// faults are found by them.
type pass struct {
	pattern string
	limits  limits
}

// cuts are the parts of the whole time, in percent, after which a pass ends.
var cuts = []int{5, 30, 100}

// A timing is a test and the time that it took.
type timing struct {
	test string
	took time.Duration
}

// A test that takes much longer than without a fault has a limit. The times are
// generous, since the machine may be busy with something else by now.
const (
	processorMore = 5
	clockMore     = 10
	baselineMax   = 20 * time.Minute
)

// baseline runs a suite without a fault, once in a session. All tests must pass.
func (r *runner) baseline(ctx context.Context, tests suite) (*baseline, error) {
	if done, ok := r.baselines[tests]; ok {
		return done, nil
	}
	binary, output, err := r.compiled.of(ctx, tests.dir)
	if err != nil {
		return nil, err
	}
	if binary == "" {
		return nil, fmt.Errorf("the tests of %s do not compile: %s", tests.dir, tail(output))
	}
	long := limits{processor: baselineMax, clock: baselineMax}
	got, err := r.run(ctx, tests.dir, program{path: binary}, long, "-test.v", "-test.run="+tests.only, "-test.skip="+tests.skip)
	if err != nil {
		return nil, err
	}
	if !got.passed {
		return nil, fmt.Errorf("the tests of %s fail without a fault: %s", tests.dir, tail(got.output))
	}
	b := &baseline{passes: divide(timings(got.output), got.used, r.least)}
	if len(b.passes) == 0 {
		return nil, fmt.Errorf("%s has no tests %s", tests.dir, tests.only)
	}
	r.baselines[tests] = b
	return b, nil
}

var timed = regexp.MustCompile(`(?m)^--- PASS: (\S+) \(([0-9.]+)s\)$`)

// timings reads the tests of the top level from the output of a run.
func timings(output string) []timing {
	var all []timing
	for _, match := range timed.FindAllStringSubmatch(output, -1) {
		seconds, err := strconv.ParseFloat(match[2], 64)
		if err != nil {
			continue // the pattern has digits and points only
		}
		all = append(all, timing{test: match[1], took: time.Duration(seconds * float64(time.Second))})
	}
	return all
}

// divide makes passes, the quickest tests first, with limits by the time that they
// took and the time of the processor of all of them.
func divide(all []timing, processor time.Duration, least limits) []pass {
	slices.SortFunc(all, func(a, b timing) int { return cmp.Or(cmp.Compare(a.took, b.took), strings.Compare(a.test, b.test)) })
	var whole time.Duration
	for _, t := range all {
		whole += t.took
	}
	var passes []pass
	var past time.Duration
	for _, cut := range cuts {
		var names []string
		var took time.Duration
		for len(all) > 0 && past+all[0].took <= whole*time.Duration(cut)/100 {
			names, took, past = append(names, regexp.QuoteMeta(all[0].test)), took+all[0].took, past+all[0].took
			all = all[1:]
		}
		if len(names) > 0 {
			passes = append(passes, pass{
				pattern: "^(" + strings.Join(names, "|") + ")$",
				limits: limits{
					processor: least.processor + processorMore*part(processor, took, whole),
					clock:     least.clock + clockMore*took,
				},
			})
		}
	}
	return passes
}

// part is as much of an amount as took is of the whole.
func part(amount, took, whole time.Duration) time.Duration {
	if whole == 0 {
		return amount
	}
	return time.Duration(float64(amount) * (float64(took) / float64(whole)))
}
