package main

import (
	"context"

	"github.com/spf13/cobra"
)

// newDoctorCommand is "narwhal doctor".
func newDoctorCommand() *cobra.Command {
	var asked struct {
		connection
		output
	}
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Say what is wrong with a cluster now, the worst first, and what would help",
		Long: `Say what is wrong with a cluster now, the worst first: queues that lack what is
guaranteed to them, evictions that hang, devices that are idle where cores are full,
pods that can run nowhere, loops that were stopped, floods of pods, nodes that take
nothing new or went, groups below their minimum, queues over their max, pods that wait
for quota or a limit, and limits that are out of reach. It says of each since when, for
which pods that is bad, and what would help; "tried" says that this was tried on a copy.

The exit code is 0 if there is nothing wrong, which notes do not change, 3 if there
is, and 1 if the scheduler cannot be reached.`,
		Example: "  narwhal doctor\n  narwhal doctor --watch --interval 10s\n  narwhal doctor --server scheduler:9080 -o json",
		Args: func(cmd *cobra.Command, args []string) error {
			if err := cobra.NoArgs(cmd, args); err != nil {
				return err
			}
			return asked.check()
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := asked.client()
			if err != nil {
				return err
			}
			well := true
			err = asked.show(cmd, func(ctx context.Context) (page, error) {
				answer, err := c.Doctor(ctx)
				if err != nil {
					return page{}, asked.reached(err)
				}
				well = answer.Value.Well
				return lines(answer.JSON, answer.Value.Lines), nil
			})
			if err == nil && !well {
				return exitCode(exitWrong)
			}
			return err
		},
	}
	asked.connection.addTo(cmd)
	asked.output.addTo(cmd)
	return cmd
}
