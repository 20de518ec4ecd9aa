package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/narwhal-scheduler/narwhal/pkg/webservice"
	"github.com/narwhal-scheduler/narwhal/pkg/webservice/client"
)

// An explanation is what is asked for, and the server that is asked.
type explanation struct {
	server, partition, token string
	tokenFile                string // holds the token
	application, allocation  string
}

// newExplainCommand is "narwhal explain APPLICATION ALLOCATION".
func newExplainCommand() *cobra.Command {
	var asked explanation
	cmd := &cobra.Command{
		Use:   "explain APPLICATION ALLOCATION",
		Short: "Say why an ask waits, or why an allocation is evicted",
		Long: `Say why an ask waits, or why an allocation is evicted: every node by the
first reason that keeps the ask away, what the quotas leave, the last
preemption attempts, and the last plan with all its candidates. It asks a running
scheduler over REST.

The exit code is 0 if there is an answer, and 1 if the scheduler does not know
the application or allocation, or cannot be reached.`,
		Example: "  narwhal explain web web-7 --server http://127.0.0.1:9080\n  narwhal explain web web-7 --server https://scheduler:9443 --token-file token",
		Args:    cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			asked.application, asked.allocation = args[0], args[1]
			if asked.tokenFile != "" {
				token, err := webservice.ReadToken(asked.tokenFile)
				if err != nil {
					return err
				}
				asked.token = token
			}
			ctx, cancel := context.WithTimeout(cmd.Context(), 30*time.Second)
			defer cancel()
			return asked.print(ctx, cmd.OutOrStdout())
		},
	}
	cmd.Flags().StringVar(&asked.server, "server", "http://127.0.0.1:9080", "address of the scheduler")
	cmd.Flags().StringVar(&asked.partition, "partition", "default", "partition of the application")
	cmd.Flags().StringVar(&asked.token, "token", "", "bearer token, if the scheduler needs one; others on the machine can see it")
	cmd.Flags().StringVar(&asked.tokenFile, "token-file", "", "file with the bearer token")
	cmd.MarkFlagsMutuallyExclusive("token", "token-file")
	return cmd
}

// print writes the lines of the answer.
func (e *explanation) print(ctx context.Context, out io.Writer) error {
	c := &client.Client{Server: e.server, Token: e.token, Partition: e.partition}
	answer, err := c.Explain(ctx, e.application, e.allocation)
	if errors.Is(err, client.ErrNotFound) {
		return fmt.Errorf("%s of application %s in partition %s: %w", e.allocation, e.application, e.partition, err)
	}
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(out, strings.Join(answer.Value.Lines, "\n"))
	return err
}
