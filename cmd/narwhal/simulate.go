package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/narwhal-scheduler/narwhal/pkg/simulator"
	"github.com/narwhal-scheduler/narwhal/pkg/simulator/report"
	"github.com/narwhal-scheduler/narwhal/pkg/version"
)

// simulation is the flags of "narwhal simulate".
type simulation struct {
	scenario, example      string
	openbNodes, openbPods  string
	fill                   bool
	queues                 string
	output, report         string
	seed                   uint64
	verify, list, printOut bool

	sources []report.Source // what was read
}

// simulateForms are the forms of what came out.
var simulateForms = []string{"text", "summary", "json"}

// newSimulateCommand is "narwhal simulate".
func newSimulateCommand() *cobra.Command {
	s := &simulation{}
	cmd := &cobra.Command{
		Use:   "simulate",
		Short: "Play a workload on a simulated cluster",
		Long: `Play a workload on a simulated cluster in virtual time: the real scheduling core,
a virtual resource manager, and pods that arrive, run and end.

What is played is a scenario file, the openb GPU-cluster trace, or one of the
examples that come with the command. The same input and seed give the same bytes
of output. The exit code is 0 if the run came to its end, whether or not pods
were left without a place; 1 if the scheduler broke a law of its own, or the
input is wrong; 2 if a file cannot be read.`,
		Example: `  narwhal simulate --report report.html
  narwhal simulate --scenario cluster.yaml --seed 3 --output json
  narwhal simulate --scenario cluster.yaml --queues other-queues.yaml
  narwhal simulate --openb-nodes openb_node_list_all_node.csv --openb-pods openb_pod_list_default.csv`,
		Args: func(cmd *cobra.Command, args []string) error { return errors.Join(cobra.NoArgs(cmd, args), s.check()) },
		RunE: func(cmd *cobra.Command, _ []string) error { return s.run(cmd) },
	}
	flags := cmd.Flags()
	flags.StringVar(&s.scenario, "scenario", "", "scenario file to play; - is the standard input")
	flags.StringVar(&s.example, "example", "", "example to play (default \""+simulator.DefaultExample+"\")")
	flags.BoolVar(&s.list, "list-examples", false, "list the examples and end")
	flags.BoolVar(&s.printOut, "print-example", false, "print the text of the example and end")
	flags.StringVar(&s.openbNodes, "openb-nodes", "", "node list of the openb trace to play (CSV)")
	flags.StringVar(&s.openbPods, "openb-pods", "", "pod list of the openb trace to play (CSV)")
	flags.BoolVar(&s.fill, "fill", false, "let pods of the openb trace arrive until they ask for all GPUs, and never leave")
	flags.StringVar(&s.queues, "queues", "", "queue configuration to use instead of that of the scenario")
	flags.Uint64Var(&s.seed, "seed", 0, "seed of everything that is random (default that of the scenario)")
	flags.StringVarP(&s.output, "output", "o", "text", "form of what came out: text, summary (one screen) or json")
	flags.StringVar(&s.report, "report", "", "also write a page with plots to this file")
	flags.BoolVar(&s.verify, "verify", false, "check the laws of the scheduler after every step")
	completes(cmd, "output", simulateForms...)
	completes(cmd, "example", simulator.Examples()...)
	return cmd
}

// check says what is wrong with the flags together.
func (s *simulation) check() error {
	given := 0
	for _, one := range []string{s.scenario, s.example, s.openbNodes + s.openbPods} {
		if one != "" {
			given++
		}
	}
	switch {
	case given > 1:
		return errors.New("simulate plays one of --scenario, --example and the openb trace")
	case s.fill && s.openbNodes == "":
		return errors.New("--fill goes with --openb-nodes and --openb-pods")
	case (s.openbNodes == "") != (s.openbPods == ""):
		return errors.New("--openb-nodes and --openb-pods go together")
	case !slices.Contains(simulateForms, s.output):
		return fmt.Errorf("--output %s is none of %s", s.output, strings.Join(simulateForms, ", "))
	}
	return nil
}

func (s *simulation) run(cmd *cobra.Command) error {
	switch {
	case s.list:
		return listExamples(cmd.OutOrStdout())
	case s.printOut:
		text, err := simulator.ExampleText(s.exampleName())
		if err != nil {
			return &usageError{err}
		}
		_, err = io.WriteString(cmd.OutOrStdout(), text)
		return err
	}
	scenario, err := s.load(cmd.InOrStdin())
	if err != nil {
		return printed(err, cmd.ErrOrStderr())
	}
	for _, warning := range scenario.Warnings {
		fmt.Fprintln(cmd.ErrOrStderr(), "warning:", warning)
	}
	progress, done := progressOn(cmd.ErrOrStderr())
	result, err := simulator.Run(scenario, simulator.Options{Seed: s.seed, Verify: s.verify, Progress: progress})
	done()
	if err != nil {
		return err
	}
	if err := s.show(cmd.OutOrStdout(), result); err != nil {
		return err
	}
	return s.writeReport(cmd, result)
}

func (s *simulation) exampleName() string {
	if s.example == "" {
		return simulator.DefaultExample
	}
	return s.example
}

// load reads what is to be played.
func (s *simulation) load(in io.Reader) (*simulator.Scenario, error) {
	if s.openbNodes != "" {
		return s.loadOpenb(in)
	}
	name, text := "example "+s.exampleName(), ""
	var err error
	if s.scenario != "" {
		name, text, err = readText(s.scenario, in)
	} else {
		text, err = simulator.ExampleText(s.exampleName())
	}
	if err != nil {
		return nil, &usageError{err}
	}
	scenario, err := simulator.Parse(text)
	if err != nil {
		return nil, named(err, name)
	}
	s.sources = append(s.sources, report.Source{Name: "The scenario: " + name, Text: text})
	if s.queues == "" {
		return scenario, nil
	}
	name, text, err = readText(s.queues, in)
	if err != nil {
		return nil, err
	}
	s.sources = append(s.sources, report.Source{Name: "The queues: " + name, Text: text})
	return scenario, named(scenario.UseQueues(text), name)
}

func (s *simulation) loadOpenb(in io.Reader) (*simulator.Scenario, error) {
	nodes, err := os.Open(s.openbNodes)
	if err != nil {
		return nil, &usageError{err}
	}
	defer func() { _ = nodes.Close() }() // nothing was written
	pods, err := os.Open(s.openbPods)
	if err != nil {
		return nil, &usageError{err}
	}
	defer func() { _ = pods.Close() }()
	var queues *simulator.File
	if s.queues != "" {
		name, text, err := readText(s.queues, in)
		if err != nil {
			return nil, err
		}
		s.sources = append(s.sources, report.Source{Name: "The queues: " + name, Text: text})
		queues = &simulator.File{Name: name, Text: strings.NewReader(text)}
	}
	nodeList, podList := simulator.File{Name: s.openbNodes, Text: nodes}, simulator.File{Name: s.openbPods, Text: pods}
	if s.fill {
		return simulator.ReadOpenbToFill(nodeList, podList, queues, s.seed)
	}
	return simulator.ReadOpenb(nodeList, podList, queues)
}

// named adds the file to problems.
func named(err error, file string) error {
	if problems, ok := errors.AsType[simulator.Problems](err); ok {
		return problems.In(file)
	}
	return err
}

// printed prints problems like a compiler does, and leaves other errors alone.
func printed(err error, out io.Writer) error {
	var problems simulator.Problems
	if !errors.As(err, &problems) {
		return err
	}
	fmt.Fprintln(out, problems.Error())
	fmt.Fprintln(out, counted(len(problems), "problem"))
	return exitCode(exitFailed)
}

func listExamples(out io.Writer) error {
	var b strings.Builder
	for _, name := range simulator.Examples() {
		text, err := simulator.ExampleText(name)
		if err != nil {
			return err
		}
		scenario, err := simulator.Parse(text)
		if err != nil {
			return fmt.Errorf("example %s: %w", name, err)
		}
		fmt.Fprintf(&b, "%-10s %s\n", name, scenario.Description)
	}
	_, err := io.WriteString(out, b.String())
	return err
}

// show prints the summary.
func (s *simulation) show(out io.Writer, result *simulator.Result) error {
	switch s.output {
	case "text":
		return result.WriteText(out)
	case "summary":
		return result.WriteSummary(out)
	}
	encoder := json.NewEncoder(out)
	encoder.SetIndent("", "  ")
	return encoder.Encode(result)
}

func (s *simulation) writeReport(cmd *cobra.Command, result *simulator.Result) error {
	if s.report == "" {
		return nil
	}
	var page bytes.Buffer
	if err := report.Write(&page, result, s.origin(cmd, result)); err != nil {
		return err
	}
	if err := os.WriteFile(s.report, page.Bytes(), 0o644); err != nil {
		return fmt.Errorf("report: %w", err)
	}
	_, err := fmt.Fprintf(cmd.ErrOrStderr(), "\nthe report is in %s\n", s.report)
	return err
}

// origin is what makes the same report again. The seed is in it, also if none was given.
func (s *simulation) origin(cmd *cobra.Command, result *simulator.Result) report.Origin {
	words := []string{"narwhal", "simulate"}
	cmd.Flags().Visit(func(f *pflag.Flag) {
		switch f.Name {
		case "report", "output", "seed":
		case "verify":
			words = append(words, "--verify")
		default:
			words = append(words, "--"+f.Name, shellWord(f.Value.String()))
		}
	})
	words = append(words, "--seed", strconv.FormatUint(result.Seed, 10), "--report", "report.html")
	return report.Origin{Command: strings.Join(words, " "), Version: version.Text(), Sources: s.sources}
}

// shellWord is a text as a shell reads it as one word.
func shellWord(text string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./:,=+@%", r)
	}
	if text != "" && strings.IndexFunc(text, func(r rune) bool { return !plain(r) }) < 0 {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

// progressPause is the wall time between two progress lines.
const progressPause = 100 * time.Millisecond

// progressOn tells how far a simulation is, in a line on a terminal. Elsewhere there is none.
func progressOn(out io.Writer) (progress func(simulator.Progress), done func()) {
	show, done := lineOn(out)
	if show == nil {
		return nil, done
	}
	return func(p simulator.Progress) { show(func() string { return progressLine(p) }) }, done
}

// lineOn is a line on a terminal that is written over and over, and what clears it. Elsewhere
// there is none, and show is nil.
func lineOn(out io.Writer) (show func(text func() string), done func()) {
	file, ok := out.(*os.File)
	if !ok {
		return nil, func() {}
	}
	info, err := file.Stat()
	if err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return nil, func() {}
	}
	last := time.Now()
	shown := false
	show = func(text func() string) {
		if time.Since(last) < progressPause {
			return
		}
		last, shown = time.Now(), true
		fmt.Fprint(out, "\r\x1b[K"+text())
	}
	return show, func() {
		if shown {
			fmt.Fprint(out, "\r\x1b[K")
		}
	}
}

// progressLine says how much of how much is done.
func progressLine(p simulator.Progress) string {
	var b strings.Builder
	b.WriteString(simulator.Clock(p.Now))
	if p.Until > 0 {
		fmt.Fprintf(&b, " of %s, %d%%", simulator.Clock(p.Until), min(100, 100*int64(p.Now)/int64(p.Until)))
	}
	count := func(n int) string { return simulator.Thousands(int64(n)) }
	if p.Expected > 0 {
		fmt.Fprintf(&b, "  arrived %s of %s, %d%%", count(p.Arrived), count(p.Expected), 100*p.Arrived/p.Expected)
	}
	fmt.Fprintf(&b, "  nodes %s  placed %s  running %s  pending %s", count(p.Nodes), count(p.Placed), count(p.Running), count(p.Pending))
	return b.String()
}
