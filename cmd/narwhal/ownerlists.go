package main

import (
	"context"
	"errors"
	"net/url"

	"github.com/spf13/cobra"

	"github.com/narwhal-scheduler/narwhal/pkg/webservice/client"
)

// newUsersCommand is "narwhal users".
func newUsersCommand() *cobra.Command {
	var groups bool
	cmd := newLimitedList(&cobra.Command{
		Use:   "users",
		Short: "Show users, or groups of users: what waits of each, since when, and how much came lately",
		Long: `Show the users of a running scheduler, the one of which most waits first: how many pods
wait, how long the oldest of them does, how many came in the last five minutes, and what
is used; in all, and then in each queue if there are several.

With --groups it shows groups of users. What waits counts for each group of its user, and
what is used for the group that is limited.`,
		Example: "  narwhal users\n  narwhal users --user anna --watch\n  narwhal users --groups --limit 5",
	}, 20, [][2]string{
		{"user", "only the user of this name; with * at its end, all that begin so"},
		{"group", "only the group of this name, with --groups; with * at its end, all that begin so"},
	}, func(ctx context.Context, c *client.Client, l *list) (page, error) {
		where, ask, what := l.where(), c.Users, "users of which anything runs, waits or came lately"
		if groups {
			ask, what = c.UserGroups, "groups of which anything runs, waits or came lately"
		}
		where.Set("sort", "-pendingAsks")
		answer, err := ask(ctx, where)
		return first(l, what, answer, func(owners []*client.Owner) *client.Table { return client.OwnersTable(owners, answer.At) }), err
	})
	cmd.Flags().BoolVar(&groups, "groups", false, "show groups of users")
	check := cmd.Args
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		switch given := cmd.Flags().Changed; {
		case given("group") && !groups:
			return errors.New("--group needs --groups: without it users are shown, and --user picks from these")
		case given("user") && groups:
			return errors.New("--user goes without --groups: with it groups are shown, and --group picks from these")
		}
		return check(cmd, args)
	}
	return cmd
}

// newAppsCommand is "narwhal apps".
func newAppsCommand() *cobra.Command {
	cmd := newLimitedList(&cobra.Command{
		Use:     "apps",
		Aliases: []string{"applications"},
		Short:   "Show applications: what they use, how many of their pods wait, and since when",
		Long: `Show the active applications of a running scheduler, the one of which most waits first:
what it uses, how many of its pods wait, and how long the oldest of them does.`,
		Example: "  narwhal apps\n  narwhal apps --queue root.ml --user anna\n  narwhal apps --status accepted --limit 0",
	}, 20, [][2]string{
		{"application", "only the application of this name; with * at its end, all that begin so"},
		{"queue", "only those of this queue and of all below"},
		{"user", "only those of this user"},
		{"group", "only those of users with this group"},
		{"node", "only those with a pod on this node"},
		{"status", "only those in this state: new, accepted, running, completing, failing"},
	}, func(ctx context.Context, c *client.Client, l *list) (page, error) {
		where := l.where()
		where.Set("sort", "-pendingAsks")
		if l.form == "table" {
			where.Set("fields", client.ApplicationFields)
		}
		answer, err := c.Applications(ctx, where)
		return first(l, "applications", answer, func(all []*client.Application) *client.Table { return client.ApplicationsTable(all, answer.At) }), err
	})
	completes(cmd, "status", "new", "accepted", "running", "completing", "failing")
	return cmd
}

// newLossesCommand is "narwhal losses".
func newLossesCommand() *cobra.Command {
	return newLimitedList(&cobra.Command{
		Use:   "losses",
		Short: "Show the work that was lost by preemption, by day, queue and user",
		Long: `Show the work that was lost by preemption, by day, queue and user, the last day first: how
many pods were told to end, how many of these for nothing, and how many still run; how long
those that have ended had run together, and what they held, times the hours of that. It is
of the plans that are kept.`,
		Example: "  narwhal losses\n  narwhal losses --queue root.ml --day '2026-11-*'\n  narwhal losses --user anna -o json",
	}, 20, ofWork, func(ctx context.Context, c *client.Client, l *list) (page, error) {
		answer, err := c.Losses(ctx, l.where())
		if err == nil && len(answer.Value) == 0 {
			err = l.unknownWork(ctx, c, func(where url.Values) (days, users []string, err error) {
				all, err := c.Losses(ctx, where)
				for _, one := range all.Value {
					days, users = append(days, one.Day), append(users, one.User)
				}
				return days, users, err
			})
		}
		return first(l, "losses", answer, client.LossesTable), err
	})
}
