package main

import (
	"context"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/narwhal-scheduler/narwhal/pkg/webservice/client"
	"github.com/narwhal-scheduler/narwhal/pkg/webservice/past"
)

// newChangesCommand is "narwhal changes".
func newChangesCommand() *cobra.Command {
	var from, to string
	cmd := newLimitedList(&cobra.Command{
		Use:   "changes",
		Short: "Show what changed: configurations field by field, nodes, starts, preemptions",
		Long: `Show what changed, the newest first: starts of the scheduler, configurations with the old
and the new value of each field, nodes that came, went or were drained, and preemptions.

--from and --to are times such as 14:03, "2026-01-31 14:03", or 2h for two hours ago, by the
clock of the scheduler: in a recording that is played they count from the moment shown.`,
		Example: "  narwhal changes --from 14:00 --to 14:10\n  narwhal changes --from 2h --kind configuration\n  narwhal changes --kind nodes --watch",
	}, 50, [][2]string{
		{"kind", "only changes of these kinds, with commas between: " + strings.Join(past.ChangeKinds(), ", ")},
	}, func(ctx context.Context, c *client.Client, l *list) (page, error) {
		where := l.where()
		if from != "" || to != "" {
			now, err := c.Clock(ctx)
			if err == nil {
				err = between(where, from, to, now.Local())
			}
			if err != nil {
				return page{}, err
			}
		}
		answer, err := c.Changes(ctx, where)
		return first(l, "changes", answer, func(all []*client.Change) *client.Table { return client.ChangesTable(all, time.Local) }), err
	})
	cmd.Flags().StringVar(&from, "from", "", "only changes from this time on")
	cmd.Flags().StringVar(&to, "to", "", "only changes before this time")
	completes(cmd, "kind", past.ChangeKinds()...)
	return cmd
}

// between sets a span of time as REST has it.
func between(where url.Values, from, to string, now time.Time) error {
	for name, text := range map[string]string{"from": from, "to": to} {
		if text == "" {
			continue
		}
		at, err := client.TimeAt(text, now)
		if err != nil {
			return &usageError{fmt.Errorf("--%s: %w", name, err)}
		}
		where.Set(name, strconv.FormatInt(at.UnixNano(), 10))
	}
	return nil
}
