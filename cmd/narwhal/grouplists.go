package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/narwhal-scheduler/narwhal/pkg/webservice/client"
)

// newGroupsCommand is "narwhal groups".
func newGroupsCommand() *cobra.Command {
	return newList(&cobra.Command{
		Use:     "groups",
		Short:   "Show groups that start together: how many members run, are done and must run, and which are below that",
		Example: "  narwhal groups\n  narwhal groups --state 'is below its minimum'\n  narwhal groups --group 'ml/*' --watch",
	}, [][2]string{
		{"group", "only the group of this name; with * at its end, all that begin so"},
		{"state", `only those that do this: "waits", "runs" or "is below its minimum"`},
	}, func(ctx context.Context, c *client.Client, l *list) (page, error) {
		answer, err := c.Groups(ctx, l.where())
		return rows(l, "groups", answer, func(groups []*client.Group) *client.Table { return client.GroupsTable(groups, answer.At) }), err
	})
}

// newDomainsCommand is "narwhal domains".
func newDomainsCommand() *cobra.Command {
	return newList(&cobra.Command{
		Use:   "domains",
		Short: "Show domains of nodes, such as racks: what is idle and left, which groups run there and wait for room there",
		Long: `Show the domains of the levels that topology.levels of the configuration names, each
before those in it. A node is idle if nothing runs on it that could run elsewhere.`,
		Example: "  narwhal domains\n  narwhal domains --level topology.kubernetes.io/rack --intact true\n  narwhal domains --parent block-1 --watch",
	}, [][2]string{
		{"level", "only those of this level"},
		{"domain", "only the domain of this name; with * at its end, all that begin so"},
		{"parent", "only those in this domain of the level above"},
		{"intact", "only those of which all nodes are idle and take pods (true), or that are not (false)"},
	}, func(ctx context.Context, c *client.Client, l *list) (page, error) {
		answer, err := c.Domains(ctx, l.where())
		return rows(l, "domains", answer, client.DomainsTable), err
	})
}
