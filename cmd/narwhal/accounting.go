package main

import (
	"context"
	"errors"
	"io"
	"net/url"

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
started with --accounting FILE. USED is what was allocated, times the hours of it; LOST is
what of that was lost as pods of the user were preempted, and TAKEN what others lost as they
were preempted for pods of the user; beside each it says how many pods that is. A pod that
was told to end counts once it has ended.

--csv writes a line for each kind, in cores, GiB or pieces times hours: used, lost and taken.
Lines of the kind "preemptions" count the pods instead.`,
		Example: "  narwhal accounting --day '2026-11-*'\n  narwhal accounting --queue root.ml --csv --limit 0 > november.csv",
	}, 50, ofWork, func(ctx context.Context, c *client.Client, l *list) (page, error) {
		answer, err := c.Accounting(ctx, l.where())
		if err == nil && len(answer.Value) == 0 {
			err = l.unknownWork(ctx, c, func(where url.Values) (days, users []string, err error) {
				all, err := c.Accounting(ctx, where)
				for _, a := range all.Value {
					days, users = append(days, a.Day), append(users, a.User)
				}
				return days, users, err
			})
		}
		shown := first(l, "accounts", answer, func(all []*client.Account) *client.Table { return client.AccountingTable(all, answer.AsOf) })
		if csv {
			shown.table = func(out io.Writer, _ client.Layout) error { return client.AccountingCSV(out, answer.Value) }
		}
		return shown, err
	})
	cmd.Flags().BoolVar(&csv, "csv", false, "write CSV: a line for each kind, in cores, GiB or pieces times hours")
	check := cmd.Args
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if csv && cmd.Flags().Changed("output") {
			return errors.New("--csv and --output are both given; each is a form of the answer")
		}
		return check(cmd, args)
	}
	return cmd
}
