package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v3"
	"golang.org/x/term"

	"github.com/narwhal-scheduler/narwhal/pkg/webservice/client"
)

// An output is how answers are shown.
type output struct {
	form     string // table, json or yaml
	watch    bool
	interval time.Duration
}

// addTo adds the flags.
func (o *output) addTo(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVarP(&o.form, "output", "o", "table", "form of the answer: table, json or yaml")
	flags.BoolVarP(&o.watch, "watch", "w", false, "ask again and again, until it is interrupted")
	flags.DurationVar(&o.interval, "interval", 2*time.Second, "time between two answers, with --watch")
	completes(cmd, "output", "table", "json", "yaml")
}

// check says what is wrong with the flags.
func (o *output) check() error {
	switch o.form {
	case "table", "json", "yaml":
	default:
		return fmt.Errorf("--output %s is none of table, json and yaml", o.form)
	}
	if o.interval < 100*time.Millisecond {
		return fmt.Errorf("--interval %s is less than 100ms", o.interval)
	}
	return nil
}

// A page is an answer to show: all of it, and how it is shown to people.
type page struct {
	whole json.RawMessage
	table func(out io.Writer, l client.Layout) error
}

// show shows one answer, or with --watch one after the other.
func (o *output) show(cmd *cobra.Command, ask func(ctx context.Context) (page, error)) error {
	if !o.watch {
		return o.once(cmd.Context(), cmd.OutOrStdout(), ask)
	}
	ticker := time.NewTicker(o.interval)
	defer ticker.Stop()
	return o.again(cmd, ask, func() bool {
		select {
		case <-ticker.C:
			return true
		case <-cmd.Context().Done():
			return false
		}
	})
}

// again shows answers as long as there is a next one. A scheduler that does not answer for
// a while, as during a restart, ends it only if it never did.
func (o *output) again(cmd *cobra.Command, ask func(ctx context.Context) (page, error), next func() bool) error {
	out := cmd.OutOrStdout()
	erase := ""
	if layoutOf(out).Colour && o.form == "table" {
		erase = "\x1b[H\x1b[2J" // to the corner, and nothing below it
	}
	for answered := false; ; answered = true {
		var b bytes.Buffer
		err := o.into(cmd.Context(), &b, layoutOf(out), ask)
		switch {
		case err != nil && !answered:
			return err
		case err != nil:
			fmt.Fprintln(cmd.ErrOrStderr(), "narwhal:", err)
		default:
			if _, err := fmt.Fprint(out, erase, b.String()); err != nil {
				return err
			}
		}
		if !next() {
			return nil
		}
		if erase == "" && o.form != "json" {
			fmt.Fprintln(out, map[string]string{"yaml": "---"}[o.form])
		}
	}
}

func (o *output) once(ctx context.Context, out io.Writer, ask func(ctx context.Context) (page, error)) error {
	return o.into(ctx, out, layoutOf(out), ask)
}

// into writes one answer.
func (o *output) into(ctx context.Context, out io.Writer, l client.Layout, ask func(ctx context.Context) (page, error)) error {
	ctx, cancel := within(ctx)
	defer cancel()
	answer, err := ask(ctx)
	if err != nil {
		return err
	}
	switch o.form {
	case "json":
		return writeJSON(out, answer.whole)
	case "yaml":
		return writeYAML(out, answer.whole)
	default:
		return answer.table(out, l)
	}
}

// writeJSON writes an answer as the scheduler gave it, indented.
func writeJSON(out io.Writer, whole json.RawMessage) error {
	var b bytes.Buffer
	if err := json.Indent(&b, bytes.TrimSpace(whole), "", "  "); err != nil {
		return err
	}
	_, err := fmt.Fprintln(out, b.String())
	return err
}

// writeYAML writes an answer with its fields in their order. JSON is YAML, so it is read
// as that, and only its style changes: no number is rounded on the way.
func writeYAML(out io.Writer, whole json.RawMessage) error {
	var document yaml.Node
	if err := yaml.Unmarshal(whole, &document); err != nil {
		return err
	}
	inBlocks(&document)
	encoder := yaml.NewEncoder(out)
	encoder.SetIndent(2)
	if err := encoder.Encode(&document); err != nil {
		return err
	}
	return encoder.Close()
}

func inBlocks(n *yaml.Node) {
	n.Style = 0
	for _, child := range n.Content {
		inBlocks(child)
	}
}

// layoutOf is how tables are laid out on an output: in its width and in colours if it is a
// terminal, unless NO_COLOR forbids these. COLUMNS has the last word on the width.
func layoutOf(out io.Writer) client.Layout {
	var l client.Layout
	if file, ok := out.(*os.File); ok && term.IsTerminal(int(file.Fd())) {
		l.Colour = os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
		if width, _, err := term.GetSize(int(file.Fd())); err == nil {
			l.Width = width
		}
	}
	if width, err := strconv.Atoi(strings.TrimSpace(os.Getenv("COLUMNS"))); err == nil && width > 0 {
		l.Width = width
	}
	return l
}

// completes offers the values of a flag to the shell.
func completes(cmd *cobra.Command, flag string, values ...string) {
	// The error is that there is no such flag, which a test would show.
	_ = cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
}
