package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/narwhal-scheduler/narwhal/pkg/webservice/client"
	"github.com/narwhal-scheduler/narwhal/pkg/webservice/object"
	"github.com/narwhal-scheduler/narwhal/pkg/webservice/past"
)

// A list is a command that shows a part of what a running scheduler has.
type list struct {
	connection
	output
	picked map[string]*string // flags that are parameters of REST, by name
	limit  int
}

// newList makes the command of a list. Every parameter has its description.
func newList(cmd *cobra.Command, parameters [][2]string, ask func(ctx context.Context, c *client.Client, l *list) (page, error)) *cobra.Command {
	l := &list{picked: map[string]*string{}}
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if err := cobra.NoArgs(cmd, args); err != nil {
			return err
		}
		return l.check()
	}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		c, err := l.client()
		if err != nil {
			return err
		}
		return l.show(cmd, func(ctx context.Context) (page, error) {
			answer, err := ask(ctx, c, l)
			if err == nil && string(bytes.TrimSpace(answer.whole)) == "[]" {
				err = l.unknown(ctx, c)
			}
			if errors.Is(err, client.ErrMisunderstood) {
				err = &usageError{err}
			}
			return answer, l.reached(err)
		})
	}
	for _, p := range parameters {
		l.picked[p[0]] = cmd.Flags().String(p[0], "", p[1])
		if names := namesOf[p[0]]; names != nil {
			l.completesNames(cmd, p[0], names)
		}
	}
	l.connection.addTo(cmd)
	l.output.addTo(cmd)
	return cmd
}

// newLimitedList is the same for a list of which so many are shown, unless a flag says how many.
func newLimitedList(cmd *cobra.Command, most int, parameters [][2]string, ask func(ctx context.Context, c *client.Client, l *list) (page, error)) *cobra.Command {
	limited := newList(cmd, parameters, func(ctx context.Context, c *client.Client, l *list) (page, error) {
		l.limit = most
		return ask(ctx, c, l)
	})
	limited.Flags().IntVar(&most, "limit", most, "the most to show; 0 is all")
	notNegative(limited, &most)
	return limited
}

// notNegative refuses a limit that is less than nothing.
func notNegative(cmd *cobra.Command, limit *int) {
	check := cmd.Args
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if *limit < 0 {
			return fmt.Errorf("--limit %d is negative; 0 is all", *limit)
		}
		return check(cmd, args)
	}
}

// ofWork are the parameters that pick work.
var ofWork = [][2]string{
	{"queue", "only in this queue and in all below"},
	{"user", "only of this user"},
	{"day", "only of this day of Greenwich, such as 2026-01-31; with * at its end, all that begin so"},
}

// where are the parameters that pick from the list.
func (l *list) where() url.Values {
	values := url.Values{}
	for name, value := range l.picked {
		if *value != "" {
			values.Set(name, *value)
		}
	}
	if l.limit > 0 {
		values.Set("limit", strconv.Itoa(l.limit))
	}
	return values
}

// newQueuesCommand is "narwhal queues".
func newQueuesCommand() *cobra.Command {
	var kinds []string
	cmd := newList(&cobra.Command{
		Use:   "queues",
		Short: "Show queues: what they use, are guaranteed and may use, and what waits",
		Long: `Show the queues of a running scheduler: a row for each kind that a queue uses, waits
for, is guaranteed or limited in. Guaranteed and limited kinds come first.

STATE says where something is wrong: a queue that waits though it is under its
guarantee, one that is over its guarantee, and one that is over its max.`,
		Example: "  narwhal queues\n  narwhal queues --kinds cpu,memory --watch\n  narwhal queues --server scheduler:9080 -o yaml",
	}, nil, func(ctx context.Context, c *client.Client, _ *list) (page, error) {
		answer, err := c.Queues(ctx)
		if err == nil {
			err = checkKinds(kinds, client.KindsOfQueues(answer.Value))
		}
		return page{answer.JSON, func(out io.Writer, layout client.Layout) error {
			return client.QueuesTable(answer.Value, kinds...).WriteIn(out, layout)
		}}, err
	})
	cmd.Flags().StringSliceVar(&kinds, "kinds", nil, "kinds to show, such as cpu,memory (default all that a queue has to do with)")
	return cmd
}

// newNodesCommand is "narwhal nodes".
func newNodesCommand() *cobra.Command {
	var kinds []string
	cmd := newList(&cobra.Command{
		Use:     "nodes",
		Short:   "Show nodes: what is in use by all schedulers, and what is left",
		Example: "  narwhal nodes\n  narwhal nodes --schedulable false\n  narwhal nodes --node 'gpu-*' -o json",
	}, [][2]string{
		{"node", "only nodes of this name; with * at its end, all that begin so"},
		{"schedulable", "only nodes that take pods (true), or that do not (false)"},
		{"evicting", "only nodes with pods that are being evicted (true), or without (false)"},
	}, func(ctx context.Context, c *client.Client, l *list) (page, error) {
		answer, err := c.Nodes(ctx, l.where())
		if len(answer.Value) > 0 {
			err = checkKinds(kinds, client.KindsOfNodes(answer.Value))
		}
		return rows(l, "nodes", answer, func(nodes []*client.Node) *client.Table { return client.NodesTable(nodes, kinds...) }), err
	})
	cmd.Flags().StringSliceVar(&kinds, "kinds", nil, "kinds to show (default CPU, memory and devices)")
	return cmd
}

// newPendingCommand is "narwhal pending".
func newPendingCommand() *cobra.Command {
	cmd := newLimitedList(&cobra.Command{
		Use:   "pending",
		Short: "Show pods that wait, the one that waits longest first, and why",
		Long: `Show the pods that wait in a running scheduler, the one that waits longest first,
and why each of them does. Below is how many wait for which reason, with those that are
not shown. "narwhal explain NAME" says more about one of them.`,
		Example: "  narwhal pending\n  narwhal pending --queue root.ml --watch\n  narwhal pending --why 'no node has room' -o json",
	}, 20, [][2]string{
		{"queue", "only those of this queue and of all below"},
		{"application", "only those of this application"},
		{"user", "only those of this user"},
		{"class", "only those of this class: " + strings.Join(object.AskClasses(), ", ")},
		{"why", "only those that wait for this reason, in the words of the table"},
		{"node", "only those that get room on this node"},
	}, func(ctx context.Context, c *client.Client, l *list) (page, error) {
		where := l.where()
		where.Set("sort", "requestTime")
		if l.form == "table" {
			where.Del("limit") // the reasons are those of all
		}
		answer, err := c.Asks(ctx, where)
		return page{answer.JSON, func(out io.Writer, layout client.Layout) error {
			all, shown := answer.Value, answer.Value
			if len(all) == 0 {
				return l.none(out, "pods that wait")
			}
			if l.limit > 0 {
				shown = all[:min(l.limit, len(all))]
			}
			if err := client.AsksTable(shown, asIs, answer.At).WriteIn(out, layout); err != nil {
				return err
			}
			if _, err := fmt.Fprintf(out, "\n%s\n", client.ReasonsLine(all)); err != nil {
				return err
			}
			return more(out, len(shown), len(all))
		}}, err
	})
	completes(cmd, "class", object.AskClasses()...)
	return cmd
}

// newPreemptionsCommand is "narwhal preemptions".
func newPreemptionsCommand() *cobra.Command {
	var limit int
	cmd := newList(&cobra.Command{
		Use:   "preemptions",
		Short: "Show what was preempted, for which pod, how long it had run, and what came of it",
		Long: `Show what was preempted, for which pod, how long it had run, and what came of it.
"narwhal losses" adds up the work that was lost.`,
		Example: "  narwhal preemptions\n  narwhal preemptions --trigger guarantee --limit 100\n  narwhal preemptions --application web",
	}, [][2]string{
		{"trigger", "only those by this trigger: " + strings.Join(past.Triggers(), ", ")},
		{"application", "only those for this application, or with victims of it"},
		{"user", "only those for pods of this user, or with victims of it"},
		{"class", "only those with victims of this class: " + strings.Join(past.VictimClasses(), ", ")},
		{"node", "only those on this node"},
	}, func(ctx context.Context, c *client.Client, l *list) (page, error) {
		l.limit = limit
		answer, err := c.Preemptions(ctx, l.where())
		return first(l, "preemptions", answer, func(plans []*client.Preemption) *client.Table {
			return client.PreemptionsTable(plans, asIs, answer.At)
		}), err
	})
	cmd.Flags().IntVar(&limit, "limit", 20, "the most to show, the newest first; 0 is all that are kept")
	notNegative(cmd, &limit)
	completes(cmd, "trigger", past.Triggers()...)
	completes(cmd, "class", past.VictimClasses()...)
	return cmd
}

// asIs is the name of an allocation where nothing but its key is known.
func asIs(key string) string { return key }

// rows is an answer that is a list, as a table of what it is called.
func rows[T any](l *list, what string, answer client.Answer[[]T], table func([]T) *client.Table) page {
	return page{answer.JSON, func(out io.Writer, layout client.Layout) error {
		t := table(answer.Value)
		if len(answer.Value) > 0 {
			return t.WriteIn(out, layout)
		}
		if err := l.none(out, what); err != nil {
			return err
		}
		return t.WriteBelow(out)
	}}
}

// first is an answer that is the beginning of a list, as a table that says how much there is.
func first[T any](l *list, what string, answer client.Answer[[]T], table func([]T) *client.Table) page {
	all := rows(l, what, answer, table)
	return page{all.whole, func(out io.Writer, layout client.Layout) error {
		if err := all.table(out, layout); err != nil || len(answer.Value) == 0 {
			return err
		}
		return more(out, len(answer.Value), answer.Total)
	}}
}

// none says that there is nothing to show: nothing at all, or nothing of what is picked.
func (l *list) none(out io.Writer, what string) error {
	like := ""
	for _, value := range l.picked {
		if *value != "" {
			like = " like that"
		}
	}
	_, err := fmt.Fprintf(out, "There are no %s%s.\n", what, like)
	return err
}

// more says how many were left out, if some were.
func more(out io.Writer, shown, total int) error {
	if total <= shown {
		return nil
	}
	_, err := fmt.Fprintf(out, "\n%d of %d are shown; --limit shows more.\n", shown, total)
	return err
}

// lines is an answer that is a text.
func lines(whole json.RawMessage, texts []string) page {
	return page{whole, func(out io.Writer, l client.Layout) error { return client.WriteLines(out, texts, l) }}
}
