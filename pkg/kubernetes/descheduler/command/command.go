// Package command is the program narwhal-descheduler: it evicts pods by a policy, so that the
// scheduler may place them better. A program with further plugins is a main that calls Main
// with them.
//
// Read in this order:
//
//	command.go   Main, and the command line
//	flags.go     flags, and what a policy file says instead of them
//	gates.go     feature gates
//	file.go      the policy file: read, checked, printed
//	cluster.go   a cluster that is in a file
//	run.go       one run: from the file to the end
//	discover.go  what the API server has, and flags that are not here
//	reload.go    a policy file that changes while it runs
//	events.go    events, which are written before it ends
//	serve.go     health, metrics and reports
//	tracing.go   where spans are sent
//	plugins.go   the plugins and the keys of a policy, and what they mean
//	wiring.go    the plugins there are, and what the descheduler is built from
package command

import (
	"context"
	"errors"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/framework"
	"github.com/narwhal-scheduler/narwhal/pkg/version"
)

const program = "narwhal-descheduler"

// The exit codes: it was asked to stop, or has done its cycle; it failed or does not lead
// any more; the command line or the policy could not be understood.
const (
	exitDone = iota
	exitFailed
	exitUsage
)

// Main carries out the command line of the process until it is done or interrupted, and
// returns the exit code. Policies may name the given plugins besides those of this
// project.
func Main(plugins ...framework.Definition) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	return Run(ctx, Streams{os.Stdout, os.Stderr}, os.Args[1:], plugins...)
}

// Streams are where a command writes.
type Streams struct {
	Out      io.Writer // what was asked for
	Problems io.Writer // the log, and what is wrong
}

// errPolicy says that the policy was refused; why has been written already.
var errPolicy = errors.New("the policy is not usable")

// Run carries out one command line until the context ends, and returns the exit code.
func Run(ctx context.Context, to Streams, args []string, plugins ...framework.Definition) int {
	started := false
	cmd := newCommand(&started, plugins)
	cmd.SetArgs(args)
	cmd.SetOut(to.Out)
	cmd.SetErr(to.Problems)
	err := cmd.ExecuteContext(ctx)
	switch {
	case err == nil:
		return exitDone
	case errors.Is(err, errPolicy):
		cmd.PrintErrf("%s: %s\n", program, err)
		return exitUsage
	case !started:
		cmd.PrintErrf("%s: %s\nRun '%s --help' for how to use it.\n", program, explained(err), program)
		return exitUsage
	default:
		cmd.PrintErrf("%s: %s\n", program, err)
		return exitFailed
	}
}

// newCommand is the command. It notes when the command line was understood.
func newCommand(started *bool, plugins []framework.Definition) *cobra.Command {
	s := &settings{plugins: plugins}
	cmd := &cobra.Command{
		Use:   program,
		Short: "Evicts pods by a policy, so that the scheduler may place them better",
		Long: `Evict pods by a policy, so that the scheduler may place them better.

The policy file is of kind DeschedulerPolicy or DeschedulerConfiguration, both of
version descheduler/v1alpha2. A change of the file is noticed within ten seconds, and a
cycle begins with it at once. A policy that is wrong changes nothing, and is reported in
the log and in metrics. --validate prints the policy with all defaults, or everything
that is wrong with it.

Without --descheduling-interval it runs one cycle and ends. --dry-run evicts nothing
and prints what would be evicted, and where the scheduler would run it instead.

Health, metrics and the last report are served in plain HTTP to this machine only, unless
--bind-address and --tls-cert-file say otherwise.

The exit code is 0 after a cycle or an interrupt, 1 if something fails or another
replica leads, and 2 if the command line or the policy could not be understood.`,
		Args:          cobra.NoArgs,
		Version:       version.Text(),
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := s.check(); err != nil {
				return err
			}
			*started = true
			s.flags, s.out, s.problems = cmd.Flags(), cmd.OutOrStdout(), cmd.ErrOrStderr()
			return s.start(cmd.Context())
		},
	}
	cmd.SetVersionTemplate(program + " {{.Version}}\n")
	cmd.AddCommand(&cobra.Command{
		Use: "version", Short: "Print the version", Args: cobra.NoArgs,
		Run: func(cmd *cobra.Command, _ []string) {
			cmd.Println(program, version.Text())
		},
	})
	cmd.AddCommand(newPluginsCommand(started, plugins), newKeysCommand())
	cmd.CompletionOptions.DisableDefaultCmd = true
	s.define(cmd.Flags())
	cmd.MarkFlagsRequiredTogether("tls-cert-file", "tls-private-key-file")
	cmd.MarkFlagsMutuallyExclusive("token-file", "kubernetes-auth")
	return cmd
}
