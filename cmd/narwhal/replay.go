package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/narwhal-scheduler/narwhal/pkg/config"
	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/recording"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
	"github.com/narwhal-scheduler/narwhal/pkg/webservice/object"
)

// replaying is the flags of "narwhal replay".
type replaying struct {
	partition string // in short or long form; empty for the only one
	at        string
	until     string // a pod
	wanted    recording.Wanted
	shrink    bool
	config    string // a file
	redact    string // a directory
	listen    string
}

// newReplayCommand is "narwhal replay DIR".
func newReplayCommand() *cobra.Command {
	r := &replaying{}
	cmd := &cobra.Command{
		Use:   "replay DIR [placed|evicted|waits[:REASON]]",
		Short: "Play a recording again, verify it, or look at a moment of it",
		Long: `Play again what "narwhal serve --record DIR" or a scheduler recorded, and verify that
the same comes out, byte by byte. The first step that differs is named with its file.

With --at it serves REST and the dashboard as of a moment: a time of day, of the last
day on which there is one, or a time such as 2026-01-02T14:03:00Z. With --until-first
the moment is when a pod was placed, or evicted, or waits, for any reason or for one
that has these words. Nothing can be changed there, and what-ifs can be asked. The page
moves it, for all that read, by a slider and by steps.

With --shrink it serves nothing, and prints the smallest scenario that still shows what
became of the pod: the incident as a test. What cannot be said there stands in a comment.

With --config it plays the same history under another configuration, and says what
would have gone differently. What is evicted then ends at once, and what the resource
manager was not asked in the recording, it agrees to.

With --redact it writes the recording anew, into a directory, with other names: of
queues, applications, pods, users, groups, nodes and attributes, and in messages. It
plays both, and decides the same. Amounts, times and resource kinds stay. With --shrink
the scenario is made of the copy.

The exit code is 0 if the same comes out, or there is such a moment, 1 if not, and 2
if the command could not be understood. A last file that is torn, as after a crash,
is told and is no error.`,
		Example: `  narwhal replay recordings
  narwhal replay recordings --at 14:03
  narwhal replay recordings --until-first web-1 evicted
  narwhal replay recordings --until-first web-1 waits:quota --shrink
  narwhal replay recordings --config queues.yaml
  narwhal replay recordings --redact to-send`,
		Args: func(_ *cobra.Command, args []string) error { return r.check(args) },
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			return r.run(ctx, cmd, args[0])
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&r.partition, "partition", "", "partition, where the recording has several")
	flags.StringVar(&r.at, "at", "", "serve REST and the dashboard as of this time")
	flags.StringVar(&r.until, "until-first", "", "serve them as of when this pod was first placed, or evicted, or waits")
	flags.BoolVar(&r.shrink, "shrink", false, "print the smallest scenario that shows that")
	flags.StringVar(&r.config, "config", "", "file with another configuration")
	flags.StringVar(&r.redact, "redact", "", "directory for a copy with other names")
	flags.StringVar(&r.listen, "listen", "127.0.0.1:0", "address of REST and the dashboard; port 0 is any free one")
	cmd.MarkFlagsMutuallyExclusive("at", "until-first", "config")
	cmd.MarkFlagsMutuallyExclusive("at", "redact", "config")
	return cmd
}

func (r *replaying) check(args []string) error {
	r.wanted = recording.Wanted{Pod: r.until, Outcome: recording.Placed}
	switch {
	case len(args) == 0:
		return errors.New("replay takes the directory of a recording")
	case r.shrink && r.until == "":
		return errors.New("--shrink needs --until-first: what became of which pod is to be shown")
	case r.redact != "" && r.until != "" && !r.shrink:
		return errors.New("--redact goes together with --until-first only to --shrink what is copied")
	case len(args) == 2 && r.until != "":
		return r.want(args[1])
	case len(args) > 1:
		return fmt.Errorf("%q is too much: %s may follow with --until-first", args[1], outcomes)
	}
	return nil
}

const outcomes = "placed, evicted or waits[:REASON]"

// want reads what is to become of the pod.
func (r *replaying) want(text string) error {
	outcome, reason, _ := strings.Cut(text, ":")
	r.wanted.Outcome = recording.Outcome(outcome)
	r.wanted.Reason = strings.ReplaceAll(reason, "-", " ")
	if outcome != "placed" && outcome != "evicted" && outcome != "waits" || reason != "" && outcome != "waits" {
		return fmt.Errorf("%q becomes of no pod: %s may follow with --until-first", text, outcomes)
	}
	var all []string
	for reason := range api.Reasons {
		if r.wanted.IsReason(reason) {
			return nil
		}
		all = append(all, reason.String())
	}
	return fmt.Errorf("no ask waits for %q; reasons are: %s", reason, strings.Join(all, "; "))
}

func (r *replaying) run(ctx context.Context, cmd *cobra.Command, path string) error {
	d, err := recording.Read(path)
	if err != nil {
		return &usageError{err}
	}
	for _, err := range d.Unreadable {
		cmd.PrintErrln("narwhal:", err)
	}
	out := cmd.OutOrStdout()
	switch {
	case r.shrink:
		return r.excerpt(cmd, d)
	case r.redact != "":
		_, err := r.rename(out, d)
		return err
	case r.at == "" && r.until == "" && r.config == "":
		return r.verify(out, d)
	}
	partition, err := r.choose(d)
	switch {
	case err != nil:
		return err
	case r.config != "":
		return r.otherwise(cmd, d, partition)
	}
	return r.moments(ctx, out, d, partition)
}

// isNamed reports whether a partition is meant by its name, with the resource manager or without.
func isNamed(partition, name string) bool {
	_, is := object.Find([]string{partition}, name)
	return is
}

// choose is the full name of the partition that is meant.
func (r *replaying) choose(d *recording.Directory) (string, error) {
	found := d.Partitions
	if r.partition != "" {
		found = slices.DeleteFunc(slices.Clone(found), func(name string) bool { return !isNamed(name, r.partition) })
	}
	if len(found) != 1 {
		return "", &usageError{fmt.Errorf("--partition must name one of %s", strings.Join(d.Partitions, ", "))}
	}
	return found[0], nil
}

// those are the partitions that are meant: all, or one.
func (r *replaying) those(d *recording.Directory) ([]string, error) {
	if r.partition == "" {
		return d.Partitions, nil
	}
	partition, err := r.choose(d)
	return []string{partition}, err
}

// rename writes a copy with other names.
func (r *replaying) rename(out io.Writer, d *recording.Directory) (recording.Redacted, error) {
	partitions, err := r.those(d)
	if err != nil {
		return recording.Redacted{}, err
	}
	done, err := d.Redact(r.redact, partitions...)
	if err != nil {
		return done, err
	}
	if done.Torn != nil {
		if _, err := fmt.Fprintln(out, "not to the end:", done.Torn); err != nil {
			return done, err
		}
	}
	_, err = fmt.Fprintf(out, "%s: %s, with other names for %s, the same decisions\n", r.redact, counted(done.Steps, "step"), counted(done.Words, "word"))
	return done, err
}

// verify plays all segments.
func (r *replaying) verify(out io.Writer, d *recording.Directory) error {
	failed := false
	partitions, err := r.those(d)
	if err != nil {
		return err
	}
	for _, partition := range partitions {
		segments := d.Segments[partition]
		for i, s := range segments {
			line, ok := verified(s, i+1 == len(segments))
			failed = failed || !ok
			if i > 0 && segments[i-1].Began.Equal(s.Began) && segments[i-1].Number+1 != s.Number {
				line = "steps are missing here\n" + line
			}
			if _, err := fmt.Fprintln(out, line); err != nil {
				return err
			}
		}
	}
	if failed {
		return exitCode(exitFailed)
	}
	return nil
}

// verified plays a segment, and says what came of it. The last one of a partition may be torn.
func verified(s recording.Segment, last bool) (line string, ok bool) {
	p, err := recording.Open(s.Path)
	if err != nil {
		return err.Error(), false
	}
	defer p.Close()
	err = p.PlayToEnd()
	line = fmt.Sprintf("%s %s – %s: %s, the same", s.Partition, stamp(s.From), stamp(p.Now), counted(p.Steps, "step"))
	switch {
	case err == nil:
		return line, true
	case errors.Is(err, recording.ErrTorn):
		return line + "; then " + err.Error(), last
	}
	return err.Error(), false
}

func stamp(t time.Time) string { return t.Format("2006-01-02 15:04:05") }

// otherwise says what would have gone differently under another configuration.
func (r *replaying) otherwise(cmd *cobra.Command, d *recording.Directory, partition string) error {
	name, text, err := readText(r.config, cmd.InOrStdin())
	if err != nil {
		return err
	}
	o, err := d.Play(partition, func(kinds *resources.Kinds) (api.Config, error) {
		document, err := config.Load(text, kinds)
		if err != nil {
			return api.Config{}, fmt.Errorf("%s: %w", name, err)
		}
		for _, c := range document.Partitions {
			if isNamed(partition, c.Name) {
				return c, nil
			}
		}
		return api.Config{}, fmt.Errorf("%s has no partition %s", name, partition)
	})
	if err != nil {
		return err
	}
	_, err = io.WriteString(cmd.OutOrStdout(), otherwiseText(partition, o))
	return err
}

func otherwiseText(partition string, o *recording.Otherwise) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s – %s: %s\n", partition, stamp(o.From), stamp(o.To), counted(o.Steps, "step"))
	if o.First == nil {
		b.WriteString("nothing would have gone differently\n")
	} else {
		fmt.Fprintf(&b, "first difference: %v\n", o.First)
	}
	for _, list := range []struct {
		text string
		pods []api.AllocationKey
	}{
		{"placed on another node", o.Elsewhere},
		{"not placed any more", o.PlacedNoMore},
		{"placed too", o.PlacedToo},
		{"not evicted any more", o.EvictedNoMore},
		{"evicted too", o.EvictedToo},
	} {
		if len(list.pods) > 0 {
			fmt.Fprintf(&b, "%s: %s: %s\n", list.text, counted(len(list.pods), "pod"), some(list.pods))
		}
	}
	for _, q := range slices.Sorted(maps.Keys(o.Missing)) {
		fmt.Fprintf(&b, "the recording does not say %s: %s, taken for yes\n", q, counted(o.Missing[q], "answer"))
	}
	if o.Gap != "" {
		fmt.Fprintf(&b, "not played to the end: %s\n", o.Gap)
	}
	return b.String()
}

// some is the first few of a list.
func some(pods []api.AllocationKey) string {
	const most = 10
	texts := make([]string, 0, most+1)
	for i, key := range pods {
		if i == most {
			texts = append(texts, "…")
			break
		}
		texts = append(texts, string(key))
	}
	return strings.Join(texts, ", ")
}
