package main

import (
	"fmt"
	"io"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/narwhal-scheduler/narwhal/cmd/narwhal-bench/cores"
	"github.com/narwhal-scheduler/narwhal/cmd/narwhal-bench/outcome"
	"github.com/narwhal-scheduler/narwhal/cmd/narwhal-bench/scenarios"
)

// cases is what is played.
func (o *options) cases(progress io.Writer) ([]scenarios.Case, error) {
	var cases []scenarios.Case
	switch o.sizes {
	case "small":
		cases = scenarios.Small()
	case "full":
		cases = scenarios.FullSizes()
	default:
		return nil, fmt.Errorf("sizes are small or full, not %q", o.sizes)
	}
	if o.only != "" {
		var chosen []scenarios.Case
		for name := range strings.SplitSeq(o.only, ",") {
			before := len(chosen)
			for _, c := range cases {
				if name == c.Scenario || name == c.Series() {
					chosen = append(chosen, c)
				}
			}
			if len(chosen) == before {
				return nil, fmt.Errorf("there is no scenario %q", name)
			}
		}
		cases = chosen
	}
	if o.nodeList == "" || o.podList == "" {
		fmt.Fprintf(progress, "%s: left out, since --openb-nodes and --openb-pods are not given\n", scenarios.Trace)
		return slices.DeleteFunc(cases, func(c scenarios.Case) bool { return c.Scenario == scenarios.Trace }), nil
	}
	for i := range cases {
		if cases[i].Scenario == scenarios.Trace {
			cases[i].NodeList, cases[i].PodList = o.nodeList, o.podList
		}
	}
	return cases, nil
}

// compare plays every case against both cores in turn, as often as is asked for. The core
// that begins changes, so that neither always runs on the warmer machine.
func (o *options) compare(progress io.Writer) (*outcome.Report, error) {
	cases, err := o.cases(progress)
	if err != nil {
		return nil, err
	}
	report := &outcome.Report{
		At: time.Now().UTC().Format(time.DateOnly), Machine: machine(), Go: runtime.Version(),
		Versions: map[string]string{}, Command: "narwhal-bench --sizes " + o.sizes, Repetitions: o.repetitions,
	}
	turn := []string{outcome.Ours, outcome.Theirs}
	for _, core := range turn {
		report.Versions[core] = cores.Version(core)
	}
	for i, c := range cases {
		for range o.repetitions {
			for _, core := range turn {
				began := time.Now()
				result, err := runChild(order{Core: core, Case: c, Limit: o.limit, Profile: o.profile(core, c)})
				if err != nil {
					return nil, fmt.Errorf("%s, %s: %w", core, c.Name(), err)
				}
				report.Add(c, core, result)
				fmt.Fprintf(progress, "%d/%d  %s  %s  %.1fs  %s\n", i+1, len(cases), c.Name(), core, time.Since(began).Seconds(),
					strings.Join(result.Faults, "; "))
			}
			slices.Reverse(turn)
		}
	}
	return report, nil
}

// profile is the file for the profile of a core and a case; the last repetition stays.
func (o *options) profile(core string, c scenarios.Case) string {
	if o.profiles == "" {
		return ""
	}
	return filepath.Join(o.profiles, strings.NewReplacer(" ", "-", ",", "").Replace(c.Name())+"."+core+".prof")
}
