package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/narwhal-scheduler/narwhal/pkg/config"
)

// A validation is the flags of "narwhal validate".
type validation struct {
	reload
	form   string // text or json
	strict bool
}

// newValidateCommand is "narwhal validate FILE".
func newValidateCommand() *cobra.Command {
	v := &validation{}
	cmd := &cobra.Command{
		Use:   "validate FILE",
		Short: "Check a configuration of partitions and queues",
		Long: `Check a configuration of partitions and queues, as the scheduler does before it
uses one. FILE is YAML; - is the standard input.

Every problem is printed with the file, line and column, the queue and the key.
With --against it prints what a reload would change, and with --server what would
come of it in a running scheduler: which queues would be over their max, and why
it would be refused. With --strict a warning about a key that keeps users from
something, such as an access list or a limit, is an error.

The exit code is 0 if the configuration can be used, with or without warnings,
1 if it cannot, and 2 if a file cannot be read.`,
		Example: "  narwhal validate queues.yaml\n  narwhal validate --strict --output json - < queues.yaml\n" +
			"  narwhal validate new.yaml --against old.yaml --server 127.0.0.1:9080",
		Args: func(_ *cobra.Command, args []string) error {
			switch {
			case len(args) != 1:
				return fmt.Errorf("validate takes one file, %d are given", len(args))
			case v.form != "text" && v.form != "json":
				return fmt.Errorf("--output %s is neither text nor json", v.form)
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return v.run(cmd, args[0]) },
	}
	flags := cmd.Flags()
	flags.StringVarP(&v.form, "output", "o", "text", "form of what is found: text or json")
	flags.BoolVar(&v.strict, "strict", false, "fail if there is a warning about a key that keeps users from something")
	flags.StringVar(&v.against, "against", "", "file with the configuration that is in effect")
	flags.StringVar(&v.server, "server", "", "address of a running scheduler, which is asked and not changed")
	flags.StringVar(&v.tokenFile, "token-file", "", "file with the bearer token, if the scheduler needs one")
	completes(cmd, "output", "text", "json")
	return cmd
}

func (v *validation) run(cmd *cobra.Command, file string) error {
	name, text, err := readText(file, cmd.InOrStdin())
	if err != nil {
		return err
	}
	found, err := check(name, text, v.strict)
	if err != nil {
		return err
	}
	if v.form == "text" {
		if err := found.print(cmd.OutOrStdout(), cmd.ErrOrStderr()); err != nil {
			return err
		}
		return v.print(cmd.Context(), text, cmd.OutOrStdout())
	}
	if found.refused == 0 {
		if found.reload, err = v.lines(cmd.Context(), text); err != nil {
			return err
		}
	}
	return found.printJSON(cmd.OutOrStdout())
}

// readText is a file, or the standard input for "-", and its name to show. It
// reads no more than a configuration may have and a byte that shows there was more.
func readText(file string, in io.Reader) (name, text string, err error) {
	name = filepath.ToSlash(file)
	if file == "-" {
		name = "stdin"
	} else {
		opened, err := os.Open(file)
		if err != nil {
			return "", "", &usageError{err}
		}
		defer func() { _ = opened.Close() }() // nothing was written
		in = opened
	}
	content, err := io.ReadAll(io.LimitReader(in, config.TextMax+1))
	if err != nil {
		return "", "", &usageError{fmt.Errorf("%s: %w", name, err)}
	}
	return name, string(content), nil
}

// A finding is what is found in a configuration.
type finding struct {
	name     string
	document *config.Document // nil if it cannot be used at all
	problems config.Problems
	refused  int // problems that are errors
	reload   []string
}

// check reads a text. If it is to be strict, warnings about security are errors.
func check(name, text string, strict bool) (*finding, error) {
	document, err := config.Load(text, nil)
	f := &finding{name: name}
	switch {
	case errors.As(err, &f.problems):
	case err != nil:
		return nil, fmt.Errorf("%s: %w", name, err)
	default:
		f.document, f.problems = document, document.Warnings
	}
	if strict {
		f.problems = strictly(f.problems)
	}
	f.refused = f.problems.Errors()
	return f, nil
}

// strictly are problems, those about security as errors.
func strictly(problems config.Problems) config.Problems {
	problems = slices.Clone(problems)
	for i := range problems {
		if problems[i].IsSecurity() {
			problems[i].Severity = config.Error
		}
	}
	return problems
}

// print prints the problems like a compiler, or what is in the configuration.
func (f *finding) print(out, problems io.Writer) error {
	var lines strings.Builder
	for _, p := range f.problems {
		fmt.Fprintln(&lines, p.Format(f.name))
	}
	warned := counted(len(f.problems)-f.refused, "warning")
	if f.refused > 0 {
		fmt.Fprintf(&lines, "%s: %s, %s\n", f.name, counted(f.refused, "error"), warned)
	}
	if _, err := io.WriteString(problems, lines.String()); err != nil {
		return err
	}
	if f.refused > 0 {
		return exitCode(exitFailed)
	}
	_, err := io.WriteString(out, summary(f.name, warned, f.document))
	return err
}

// findingJSON is a finding for programs.
type findingJSON struct {
	File       string        `json:"file"`
	Valid      bool          `json:"valid"`
	Errors     int           `json:"errors"`
	Warnings   int           `json:"warnings"`
	Partitions int           `json:"partitions,omitempty"`
	Queues     int           `json:"queues,omitempty"`
	Checksum   string        `json:"checksum,omitempty"`
	Problems   []problemJSON `json:"problems"`
	Reload     []string      `json:"reload,omitempty"` // what it would change, and what would come of that
}

type problemJSON struct {
	Severity  string `json:"severity"`
	Line      int    `json:"line,omitempty"`
	Column    int    `json:"column,omitempty"`
	Partition string `json:"partition,omitempty"`
	Queue     string `json:"queue,omitempty"`
	Key       string `json:"key,omitempty"`
	Message   string `json:"message"`
}

func (f *finding) printJSON(out io.Writer) error {
	told := findingJSON{
		File: f.name, Valid: f.refused == 0, Errors: f.refused, Warnings: len(f.problems) - f.refused,
		Problems: []problemJSON{}, Reload: f.reload,
	}
	if f.document != nil {
		told.Partitions, told.Queues, told.Checksum = len(f.document.Partitions), queuesOf(f.document), f.document.Checksum
	}
	for _, p := range f.problems {
		severity := "error"
		if p.Severity == config.Warning {
			severity = "warning"
		}
		told.Problems = append(told.Problems, problemJSON{severity, p.Line, p.Column, p.Partition, string(p.Queue), p.Key, p.Message})
	}
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(told); err != nil {
		return err
	}
	if f.refused > 0 {
		return exitCode(exitFailed)
	}
	return nil
}

// summary says what is in a configuration that can be used.
func summary(name, warned string, document *config.Document) string {
	what := ""
	if document.Text == config.Default {
		what = " (the built-in configuration)"
	}
	return fmt.Sprintf("%s: valid%s: %s, %s, %s\nchecksum: %s\n", name, what,
		counted(len(document.Partitions), "partition"), counted(queuesOf(document), "queue"), warned, document.Checksum)
}

func queuesOf(document *config.Document) int {
	queues := 0
	for _, p := range document.Definitions {
		queues += countQueues(p.Root)
	}
	return queues
}

func countQueues(q *config.Queue) int {
	n := 1
	for _, child := range q.Queues {
		n += countQueues(child)
	}
	return n
}

// counted is a number with its noun: "1 error", "2 errors", "no errors".
func counted(n int, noun string) string {
	switch n {
	case 0:
		return "no " + noun + "s"
	case 1:
		return "1 " + noun
	default:
		return fmt.Sprintf("%d %ss", n, noun)
	}
}
