package main

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"github.com/narwhal-scheduler/narwhal/pkg/webservice/client"
)

// newAccountingCommand is "narwhal accounting".
func newAccountingCommand() *cobra.Command {
	var csv bool
	cmd := newLimitedList(&cobra.Command{
		Use:   "accounting",
		Short: "Show the work of queues and users by day: what was used, and what preemption threw away",
		Long: `Show the work of queues and users, the last day first, as a scheduler keeps it that is
started with --accounting FILE: what was allocated times the hours of it; what of that was
wasted, as pods were preempted; and what was preempted of others for asks of the user.`,
		Example: "  narwhal accounting --day '2026-11-*'\n  narwhal accounting --queue root.ml --csv --limit 0 > november.csv",
	}, 50, ofWork, func(ctx context.Context, c *client.Client, l *list) (page, error) {
		answer, err := c.Accounting(ctx, l.where())
		shown := first(l, "accounts", answer, client.AccountingTable)
		if csv {
			shown.table = func(out io.Writer, _ client.Layout) error { return client.AccountingCSV(out, answer.Value) }
		}
		return shown, err
	})
	cmd.Flags().BoolVar(&csv, "csv", false, "write CSV: a line for each kind, in cores, GiB or pieces times hours")
	return cmd
}
