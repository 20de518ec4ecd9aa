package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/narwhal-scheduler/narwhal/pkg/config"
)

// newValidateCommand is "narwhal validate FILE".
func newValidateCommand() *cobra.Command {
	var asked reload
	cmd := &cobra.Command{
		Use:   "validate FILE",
		Short: "Check a configuration of partitions and queues",
		Long: `Check a configuration of partitions and queues, as the scheduler does before it
uses one. FILE is YAML; - is the standard input.

Every problem is printed with the file, line and column, the queue and the key.
With --against it prints what a reload would change, and with --server what would
come of it in a running scheduler: which queues would be over their max, and why
it would be refused.

The exit code is 0 if the configuration can be used, with or without warnings,
1 if it cannot, and 2 if a file cannot be read.`,
		Example: "  narwhal validate queues.yaml\n  narwhal validate - < queues.yaml\n" +
			"  narwhal validate new.yaml --against old.yaml --server http://127.0.0.1:9080",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return fmt.Errorf("validate takes one file, %d are given", len(args))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			name, text, err := readText(args[0], cmd.InOrStdin())
			if err != nil {
				return err
			}
			if err := validate(name, text, cmd.OutOrStdout(), cmd.ErrOrStderr()); err != nil {
				return err
			}
			return asked.print(cmd.Context(), text, cmd.OutOrStdout())
		},
	}
	cmd.Flags().StringVar(&asked.against, "against", "", "file with the configuration that is in effect")
	cmd.Flags().StringVar(&asked.server, "server", "", "address of a running scheduler, which is asked and not changed")
	cmd.Flags().StringVar(&asked.tokenFile, "token-file", "", "file with the bearer token, if the scheduler needs one")
	return cmd
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
			return "", "", &unreadableError{err}
		}
		defer func() { _ = opened.Close() }() // nothing was written
		in = opened
	}
	content, err := io.ReadAll(io.LimitReader(in, config.TextMax+1))
	if err != nil {
		return "", "", &unreadableError{fmt.Errorf("%s: %w", name, err)}
	}
	return name, string(content), nil
}

// validate prints the problems of a text like a compiler, or what is in it.
func validate(name, text string, out, problems io.Writer) error {
	document, err := config.Load(text, nil)
	var found config.Problems
	switch {
	case errors.As(err, &found):
	case err != nil:
		return fmt.Errorf("%s: %w", name, err)
	default:
		found = document.Warnings
	}
	var lines strings.Builder
	for _, p := range found {
		fmt.Fprintln(&lines, p.Format(name))
	}
	refused := found.Errors()
	warned := counted(len(found)-refused, "warning")
	if refused > 0 {
		fmt.Fprintf(&lines, "%s: %s, %s\n", name, counted(refused, "error"), warned)
	}
	if _, err := io.WriteString(problems, lines.String()); err != nil {
		return err
	}
	if refused > 0 {
		return exitCode(exitFailed)
	}
	_, err = io.WriteString(out, summary(name, warned, document))
	return err
}

// summary says what is in a configuration that can be used.
func summary(name, warned string, document *config.Document) string {
	queues := 0
	for _, p := range document.Definitions {
		queues += countQueues(p.Root)
	}
	what := ""
	if document.Text == config.Default {
		what = " (the built-in configuration)"
	}
	return fmt.Sprintf("%s: valid%s: %s, %s, %s\nchecksum: %s\n", name, what,
		counted(len(document.Partitions), "partition"), counted(queues, "queue"), warned, document.Checksum)
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
