package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/narwhal-scheduler/narwhal/pkg/webservice/client"
)

// topMax is how many rows one screen has at most.
const topMax = 500

// A place is what is looked at: all queues, the applications of one, the pods of one that wait, or why one does.
type place struct{ queue, application, pod string }

// down is the place below, of what has a name here; the same if there is none.
func (p place) down(name string) place {
	switch {
	case p.queue == "":
		p.queue = name
	case p.application == "":
		p.application = name
	case p.pod == "":
		p.pod = name
	}
	return p
}

// up is the place above; the same if there is none.
func (p place) up() place {
	switch {
	case p.pod != "":
		p.pod = ""
	case p.application != "":
		p.application = ""
	default:
		p.queue = ""
	}
	return p
}

func (p place) String() string {
	text := "queues"
	for _, part := range []string{p.queue, p.application, p.pod} {
		if part != "" {
			text += " > " + part
		}
	}
	return text
}

// A screen is what there is to see at a place: a table whose rows have names, or lines.
type screen struct {
	whole json.RawMessage
	table *client.Table
	names []string
	lines []string
	more  int // rows that are not shown
}

// look asks what there is to see.
func (p place) look(ctx context.Context, c *client.Client) (screen, error) {
	where := url.Values{"limit": {strconv.Itoa(topMax)}}
	switch {
	case p.queue == "":
		answer, err := c.Queues(ctx)
		if err != nil {
			return screen{}, err
		}
		s := screen{whole: answer.JSON, table: &client.Table{Headings: []string{"QUEUE", "APPS", "USES", "WAITS FOR", "STATE"}}}
		s.addQueue(answer.Value)
		return s, nil
	case p.application == "":
		where["queue"], where["sort"], where["fields"] = []string{p.queue}, []string{"-pendingAsks"}, []string{client.ApplicationFields}
		answer, err := c.Applications(ctx, where)
		s := screen{whole: answer.JSON, table: client.ApplicationsTable(answer.Value, answer.At), more: max(answer.Total-len(answer.Value), 0)}
		for _, a := range answer.Value {
			s.names = append(s.names, a.ID)
		}
		return s, err
	case p.pod == "":
		where["application"] = []string{p.application}
		answer, err := c.Asks(ctx, where)
		asks := slices.Clone(answer.Value)
		slices.SortStableFunc(asks, func(a, b *client.Ask) int { return int(min(max(a.Requested-b.Requested, -1), 1)) })
		s := screen{whole: answer.JSON, table: client.AsksTable(asks, asIs, answer.At), more: max(answer.Total-len(answer.Value), 0)}
		for _, a := range asks {
			s.names = append(s.names, a.Key)
		}
		return s, err
	}
	answer, err := c.Explain(ctx, p.application, p.pod)
	if errors.Is(err, client.ErrNotFound) {
		err = fmt.Errorf("pod %s of application %s: %w", p.pod, p.application, err)
	}
	if err != nil {
		return screen{}, err
	}
	return screen{whole: answer.JSON, lines: answer.Value.Lines}, nil
}

// addQueue adds a queue and those below it, those first that wait under their guarantee.
func (s *screen) addQueue(q *client.Queue) {
	var states []string
	for kind, state := range q.States {
		if state != "within" {
			states = append(states, client.Readable(state+" in "+kind))
		}
	}
	slices.Sort(states)
	s.names = append(s.names, q.Name)
	s.table.Rows = append(s.table.Rows, []string{q.Name, strconv.Itoa(applicationsIn(q)), q.Used.String(), q.Pending.String(), strings.Join(states, ", ")})
	for _, child := range q.Children {
		s.addQueue(child)
	}
}

// applicationsIn counts the applications of a queue and of those below it.
func applicationsIn(q *client.Queue) int {
	n := q.Apps
	for _, child := range q.Children {
		n += applicationsIn(child)
	}
	return n
}

// onceMax is how many queues are printed with --once: what a screen holds.
const onceMax = 40

// cut keeps the queues that a screen holds: those first that are not as they should be, then those where something waits. It
// says how many are left out.
func (s *screen) cut() (more int) {
	rows := s.table.Rows
	if more = len(rows) - onceMax; more <= 0 {
		return 0
	}
	rank := func(row []string) int {
		switch {
		case strings.Contains(row[4], "waiting"):
			return 0
		case row[3] != "-":
			return 1
		case row[4] != "":
			return 2
		}
		return 3
	}
	s.table.Rows = slices.SortedStableFunc(slices.Values(rows), func(a, b []string) int { return rank(a) - rank(b) })[:onceMax]
	return more
}

// known says what there is not of a place that is asked for.
func (p place) known(ctx context.Context, c *client.Client) error {
	if p.queue == "" {
		return nil
	}
	queues, err := queueNames(ctx, c)
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(queues, matching(p.queue)) {
		return noSuch("queue", p.queue, queues)
	}
	if p.application == "" {
		return nil
	}
	var names []string
	answer, err := c.Applications(ctx, url.Values{"queue": {p.queue}, "fields": {"applicationID"}})
	for _, a := range answer.Value {
		names = append(names, a.ID)
	}
	if err == nil && !slices.Contains(names, p.application) {
		err = fmt.Errorf("in queue %s %w", p.queue, noSuch("application", p.application, names))
	}
	return err
}

// newTopCommand is "narwhal top".
func newTopCommand() *cobra.Command {
	var asked struct {
		connection
		output
		place
		once bool
	}
	cmd := &cobra.Command{
		Use:   "top",
		Short: "Watch a cluster in the terminal, from its queues to why a pod waits",
		Long: `Watch a cluster in the terminal: its queues, the applications of one, the pods of one
that wait, and why one of these does. Enter goes down, Escape goes up, q ends it.

With --once it prints one screen and ends; --queue, --application and --pod say which.`,
		Example: "  narwhal top\n  narwhal top --once --queue root.ml\n  narwhal top --once --queue root.ml --application train --pod train-7",
		Args: func(cmd *cobra.Command, args []string) error {
			if err := cobra.NoArgs(cmd, args); err != nil {
				return err
			}
			if asked.pod != "" && asked.application == "" || asked.application != "" && asked.queue == "" {
				return fmt.Errorf("--pod needs --application, and that needs --queue")
			}
			return asked.check()
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := asked.client()
			if err != nil {
				return err
			}
			ctx, cancel := within(cmd.Context())
			err = asked.place.known(ctx, c)
			cancel()
			if err != nil {
				return asked.reached(err)
			}
			if !asked.once {
				return asked.reached(watchTop(cmd.Context(), c, asked.place, asked.interval))
			}
			return asked.output.once(cmd.Context(), cmd.OutOrStdout(), func(ctx context.Context) (page, error) {
				s, err := asked.look(ctx, c)
				return s.page(asked.place), asked.reached(err)
			})
		},
	}
	asked.connection.addTo(cmd)
	asked.output.addTo(cmd)
	_ = cmd.Flags().MarkHidden("watch") // it watches anyway
	flags := cmd.Flags()
	flags.BoolVar(&asked.once, "once", false, "print one screen and end")
	flags.StringVar(&asked.queue, "queue", "", "begin with the applications of this queue and of all below")
	flags.StringVar(&asked.application, "application", "", "begin with the pods of this application")
	flags.StringVar(&asked.pod, "pod", "", "begin with why this pod waits, by its allocation key")
	asked.completesNames(cmd, "queue", queueNames)
	return cmd
}

// page is a screen as it is printed.
func (s screen) page(at place) page {
	if s.table == nil {
		return lines(s.whole, s.lines)
	}
	return page{s.whole, func(out io.Writer, l client.Layout) error {
		if _, err := fmt.Fprintln(out, at); err != nil || len(s.table.Rows) == 0 {
			return err
		}
		of, command := "queues", "queues"
		switch {
		case at.queue == "":
			s.more = s.cut()
		case at.application == "":
			of, command = "applications", "apps --limit 0"
		default:
			of, command = "pods", "pending --limit 0"
		}
		if err := s.table.WriteIn(out, l); err != nil || s.more == 0 {
			return err
		}
		_, err := fmt.Fprintf(out, "\n%d more %s are not shown; \"narwhal %s\" shows all.\n", s.more, of, command)
		return err
	}}
}
