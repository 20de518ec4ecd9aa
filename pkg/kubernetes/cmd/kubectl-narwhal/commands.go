package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"
	v1 "k8s.io/api/core/v1"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/pods"
	"github.com/narwhal-scheduler/narwhal/pkg/webservice/client"
)

func newWhy(q *question) *cobra.Command {
	return &cobra.Command{
		Use:   "why pod/NAME",
		Short: "Say why a pod is pending, or why it was evicted",
		Long: `Say why a pod is pending, or why it was evicted: every node by the first reason
that keeps the pod away, what the quotas leave, and the last plan to make room.`,
		Example: "  kubectl narwhal why pod/web-7\n  kubectl narwhal why web-7 -n shop -o yaml",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			name := strings.TrimPrefix(strings.TrimPrefix(args[0], "pods/"), "pod/")
			return q.why(cmd, name)
		},
	}
}

// why explains a pod. What the pod itself says is told where the scheduler knows nothing.
func (q *question) why(cmd *cobra.Command, name string) error {
	scheduler, err := q.scheduler(cmd.Context())
	if err != nil {
		return err
	}
	pod, namespace, err := q.pod(cmd.Context(), name)
	if err != nil {
		return err
	}
	application, _ := pods.Rules{}.ApplicationOf(pod, namespace) // what cannot be read is told by the scheduler
	answer, err := scheduler.Explain(cmd.Context(), application.ID, pods.Key(pod))
	if errors.Is(err, client.ErrNotFound) { // the ID may be that of an application of another namespace
		answer, err = scheduler.Explain(cmd.Context(), application.Qualified(), pods.Key(pod))
	}
	if errors.Is(err, client.ErrNotFound) {
		_, err = fmt.Fprintf(q.streams.Out, "%s/%s %s\n", pod.Namespace, pod.Name, ownWords(pod))
		return err
	}
	if err != nil {
		return err
	}
	return q.write(answer.JSON, func() error {
		text := strings.Join(answer.Value.Lines, "\n")
		_, err := fmt.Fprintln(q.streams.Out, strings.ReplaceAll(text, pods.Key(pod), pod.Namespace+"/"+pod.Name))
		return err
	})
}

// ownWords is what a pod says of itself where the scheduler does not wait for anything.
func ownWords(pod *v1.Pod) string {
	switch {
	case pods.IsTerminal(pod):
		return "has ended: " + string(pod.Status.Phase)
	case pods.IsBound(pod):
		return "runs on " + pod.Spec.NodeName
	case pods.IsGated(pod):
		return "is held back by its scheduling gate " + pod.Spec.SchedulingGates[0].Name
	default:
		return fmt.Sprintf("waits, but this scheduler does not know it; its schedulerName is %q", pod.Spec.SchedulerName)
	}
}

// list is a command that shows a table of what the scheduler has.
func (q *question) list(use, short string, ask func(context.Context, *client.Client) (json.RawMessage, func() *client.Table, error)) *cobra.Command {
	return &cobra.Command{
		Use: use, Short: short, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			scheduler, err := q.scheduler(cmd.Context())
			if err != nil {
				return err
			}
			whole, table, err := ask(cmd.Context(), scheduler)
			if err != nil {
				return err
			}
			return q.write(whole, func() error { return table().Write(q.streams.Out) })
		},
	}
}

func newQueues(q *question) *cobra.Command {
	return q.list("queues", "Show queues: what they use, are guaranteed and may use, and what waits",
		func(ctx context.Context, c *client.Client) (json.RawMessage, func() *client.Table, error) {
			answer, err := c.Queues(ctx)
			return answer.JSON, func() *client.Table { return client.QueuesTable(answer.Value) }, err
		})
}

func newNodes(q *question) *cobra.Command {
	return q.list("nodes", "Show nodes: what is in use by all schedulers, and what is left",
		func(ctx context.Context, c *client.Client) (json.RawMessage, func() *client.Table, error) {
			answer, err := c.Nodes(ctx)
			return answer.JSON, func() *client.Table { return client.NodesTable(answer.Value) }, err
		})
}

func newPending(q *question) *cobra.Command {
	return q.list("pending", "Show pods that wait, and why",
		func(ctx context.Context, c *client.Client) (json.RawMessage, func() *client.Table, error) {
			answer, err := c.Asks(ctx)
			return answer.JSON, func() *client.Table { return client.AsksTable(answer.Value, q.names(ctx), answer.At) }, err
		})
}

func newGroups(q *question) *cobra.Command {
	return q.list("groups", "Show pod groups: how many pods run, are done and must run, and which are below that",
		func(ctx context.Context, c *client.Client) (json.RawMessage, func() *client.Table, error) {
			answer, err := c.Groups(ctx)
			return answer.JSON, func() *client.Table { return client.GroupsTable(answer.Value, answer.At) }, err
		})
}

func newDomains(q *question) *cobra.Command {
	return q.list("domains", "Show domains of nodes, such as racks: what is idle and left, which pod groups run there and wait for room there",
		func(ctx context.Context, c *client.Client) (json.RawMessage, func() *client.Table, error) {
			answer, err := c.Domains(ctx)
			return answer.JSON, func() *client.Table { return client.DomainsTable(answer.Value) }, err
		})
}

func newPreemptions(q *question) *cobra.Command {
	return q.list("preemptions", "Show what was preempted, for which pod, and what came of it",
		func(ctx context.Context, c *client.Client) (json.RawMessage, func() *client.Table, error) {
			answer, err := c.Preemptions(ctx)
			return answer.JSON, func() *client.Table { return client.PreemptionsTable(answer.Value, q.names(ctx), answer.At) }, err
		})
}

func newUsers(q *question) *cobra.Command {
	return q.list("users", "Show users: what waits of each, since when, and how much came lately",
		func(ctx context.Context, c *client.Client) (json.RawMessage, func() *client.Table, error) {
			answer, err := c.Users(ctx, url.Values{"sort": {"-pendingAsks"}})
			return answer.JSON, func() *client.Table { return client.OwnersTable(answer.Value, answer.At) }, err
		})
}

func newApps(q *question) *cobra.Command {
	return q.list("apps", "Show applications: what they use, how many of their pods wait, and since when",
		func(ctx context.Context, c *client.Client) (json.RawMessage, func() *client.Table, error) {
			answer, err := c.Applications(ctx, url.Values{"sort": {"-pendingAsks"}})
			return answer.JSON, func() *client.Table { return client.ApplicationsTable(answer.Value, answer.At) }, err
		})
}

func newLosses(q *question) *cobra.Command {
	return q.list("losses", "Show the work that was lost by preemption, by day, queue and user",
		func(ctx context.Context, c *client.Client) (json.RawMessage, func() *client.Table, error) {
			answer, err := c.Losses(ctx)
			return answer.JSON, func() *client.Table { return client.LossesTable(answer.Value) }, err
		})
}

func newChanges(q *question) *cobra.Command {
	return q.list("changes", "Show what changed: configurations field by field, nodes, starts, preemptions",
		func(ctx context.Context, c *client.Client) (json.RawMessage, func() *client.Table, error) {
			answer, err := c.Changes(ctx, url.Values{"limit": {"50"}})
			return answer.JSON, func() *client.Table { return client.ChangesTable(answer.Value, time.Local) }, err
		})
}

func newAccounting(q *question) *cobra.Command {
	return q.list("accounting", "Show the work of queues and users by day: what was used, and what preemption threw away",
		func(ctx context.Context, c *client.Client) (json.RawMessage, func() *client.Table, error) {
			answer, err := c.Accounting(ctx)
			return answer.JSON, func() *client.Table { return client.AccountingTable(answer.Value, answer.AsOf) }, err
		})
}
