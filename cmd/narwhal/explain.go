package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"

	"github.com/spf13/cobra"

	"github.com/narwhal-scheduler/narwhal/pkg/webservice/client"
)

// An explanation is what is asked for, and the server that is asked.
type explanation struct {
	connection
	output
	application, allocation string // the application is empty if it is to be found
}

// newExplainCommand is "narwhal explain [APPLICATION] POD".
func newExplainCommand() *cobra.Command {
	var asked explanation
	cmd := &cobra.Command{
		Use:   "explain [APPLICATION] POD",
		Short: "Say why a pod waits, or why it was evicted",
		Long: `Say why a pod waits, or why it was evicted: every node by the first reason that
keeps the pod away, what the quotas leave, the last preemption attempts, and the last
plan with all its candidates. It asks a running scheduler over REST.

POD is an allocation key, or the name of a pod that waits as "narwhal pending" shows
it. APPLICATION can be left out for a pod that waits or was evicted lately.

The exit code is 0 if there is an answer, and 1 if the scheduler does not know
the application or allocation, or cannot be reached.`,
		Example: `  narwhal explain web-7
  narwhal explain web web-7 --server scheduler:9080
  narwhal explain web web-7 --server https://scheduler:9443 --token-file token --ca-file ca.pem`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) < 1 || len(args) > 2 {
				return fmt.Errorf("explain takes a pod, or an application and a pod; %d names are given", len(args))
			}
			return asked.check()
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			asked.allocation = args[len(args)-1]
			if len(args) == 2 {
				asked.application = args[0]
			}
			c, err := asked.client()
			if err != nil {
				return err
			}
			return asked.show(cmd, func(ctx context.Context) (page, error) {
				answer, err := asked.ask(ctx, c)
				return answer, asked.reached(err)
			})
		},
		ValidArgsFunction: asked.complete,
	}
	asked.connection.addTo(cmd)
	asked.output.addTo(cmd)
	return cmd
}

// ask asks for the explanation.
func (e *explanation) ask(ctx context.Context, c *client.Client) (page, error) {
	application, key := e.application, e.allocation
	if application == "" {
		var err error
		if application, key, err = find(ctx, c, e.allocation); err != nil {
			return page{}, err
		}
	}
	answer, err := c.Explain(ctx, application, key)
	if errors.Is(err, client.ErrNotFound) {
		return page{}, fmt.Errorf("%s of application %s in partition %s: %w", key, application, e.partition, err)
	}
	if err != nil {
		return page{}, err
	}
	return lines(answer.JSON, answer.Value.Lines), nil
}

// find finds the application of a pod among those that wait, and then among victims.
func find(ctx context.Context, c *client.Client, name string) (application, key string, err error) {
	asks, err := c.Asks(ctx, url.Values{"fields": {"allocationKey,applicationId,allocationTags"}})
	if err != nil {
		return "", "", err
	}
	for _, a := range asks.Value {
		if a.Key == name || a.Name() == name {
			return a.Application, a.Key, nil
		}
	}
	plans, err := c.Preemptions(ctx)
	if err != nil {
		return "", "", err
	}
	for _, p := range plans.Value {
		for _, v := range p.Victims {
			if v.Key == name {
				return v.Application, v.Key, nil
			}
		}
	}
	return "", "", fmt.Errorf("%s neither waits nor was evicted lately; say its application too: narwhal explain APPLICATION %s", name, name)
}

// complete offers the pods that wait to the shell.
func (e *explanation) complete(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	c, err := e.client()
	if err != nil || len(args) > 1 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	ctx, cancel := within(cmd.Context())
	defer cancel()
	asks, err := c.Asks(ctx)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var names []string
	for _, a := range asks.Value {
		switch {
		case len(args) == 0:
			names = append(names, a.Name()+"\t"+a.Why)
		case a.Application == args[0]:
			names = append(names, a.Key+"\t"+a.Why)
		}
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}
