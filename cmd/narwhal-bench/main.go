// Narwhal-bench plays loads against this core and yunikorn-core, over the
// scheduler-interface alone, and compares what they cost.
//
// Read in this order:
//
//	main.go      flags, and what is written
//	compare.go   which runs there are, in turn
//	child.go     one run, in a process of its own
//	machine.go   where it ran
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/narwhal-scheduler/narwhal/cmd/narwhal-bench/outcome"
	"github.com/narwhal-scheduler/narwhal/pkg/version"
)

func main() {
	if len(os.Args) > 1 && os.Args[1] == childCommand {
		os.Exit(childMain(os.Args[2:], os.Stdout, os.Stderr))
	}
	if err := command(os.Args[1:], os.Stdout, os.Stderr); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "narwhal-bench:", err)
		os.Exit(1)
	}
}

// options are the flags.
type options struct {
	sizes       string
	only        string
	repetitions int
	limit       time.Duration
	nodeList    string
	podList     string
	from        string
	json, page  string
	version     bool
	profiles    string
}

func (o *options) set() *flag.FlagSet {
	f := flag.NewFlagSet("narwhal-bench", flag.ContinueOnError)
	f.StringVar(&o.sizes, "sizes", "full", "small or full: how large the loads are")
	f.StringVar(&o.only, "scenarios", "", "names of scenarios or series (growth of nodes), separated by commas; all of them otherwise")
	f.IntVar(&o.repetitions, "repetitions", 3, "how often each core plays each load, in turn")
	f.DurationVar(&o.limit, "limit", 2*time.Minute, "the longest that one run may take")
	f.StringVar(&o.nodeList, "openb-nodes", "", "the node list of the openb trace; without it the real trace is left out")
	f.StringVar(&o.podList, "openb-pods", "", "the pod list of the openb trace")
	f.StringVar(&o.from, "from", "", "reports in JSON, separated by commas: show them together, and play nothing")
	f.StringVar(&o.json, "json", "", "write the results to this file, as JSON")
	f.StringVar(&o.page, "html", "", "write the results to this file, as a page")
	f.StringVar(&o.profiles, "profiles", "", "write profiles of each run, of processor and memory, to this directory")
	f.BoolVar(&o.version, "version", false, "print the version, and play nothing")
	return f
}

// command compares, or reads what was compared, and writes it.
func command(arguments []string, out, progress io.Writer) error {
	var o options
	flags := o.set()
	flags.SetOutput(progress)
	if err := flags.Parse(arguments); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("%q is not understood", flags.Arg(0))
	}
	if o.version {
		_, err := fmt.Fprintln(out, "narwhal-bench", version.Text())
		return err
	}
	report, err := o.report(progress)
	if err != nil {
		return err
	}
	if err := report.WriteText(out); err != nil {
		return err
	}
	if err := write(o.json, report.WriteJSON); err != nil {
		return err
	}
	if err := write(o.page, report.WritePage); err != nil {
		return err
	}
	if faults := report.Faults(outcome.Ours); len(faults) > 0 {
		return fmt.Errorf("this core was wrong: %s", strings.Join(faults, "; "))
	}
	return nil
}

func (o *options) report(progress io.Writer) (*outcome.Report, error) {
	if o.from == "" {
		return o.compare(progress)
	}
	var all *outcome.Report
	for name := range strings.SplitSeq(o.from, ",") {
		one, err := read(name)
		if err != nil {
			return nil, err
		}
		if all == nil {
			all = one
		} else {
			all.Merge(one)
		}
	}
	return all, nil
}

func read(name string) (*outcome.Report, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close() //nolint:errcheck // it is only read
	return outcome.Read(file)
}

// write writes a file whole; no name is no file.
func write(name string, content func(io.Writer) error) error {
	if name == "" {
		return nil
	}
	file, err := os.Create(name)
	if err != nil {
		return err
	}
	return errors.Join(content(file), file.Close())
}
