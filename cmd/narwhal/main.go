// Package main is the narwhal command: what an operator does with the scheduler
// at a terminal.
//
// Read in this order:
//
//	main.go        the commands there are, errors and exit codes
//	simulate.go    narwhal simulate: play a workload on a simulated cluster
//	torture.go     narwhal torture: random clusters under faults
//	serve.go       narwhal serve: run the scheduler with a simulated cluster and REST
//	replay.go      narwhal replay: play a recording again; replaymoment.go, a moment of it
//	validate.go    narwhal validate: check a configuration
//	reload.go      narwhal validate --against, --server: what a reload would change
//	lists.go       narwhal queues, nodes, pending, preemptions: what a running scheduler has
//	ownerlists.go  narwhal users, apps, losses: what is whose
//	changes.go     narwhal changes: what changed, and when
//	accounting.go  narwhal accounting: the work of days
//	names.go       names that flags have, for errors and for the shell
//	explain.go     narwhal explain: say why a pod waits, or was evicted
//	doctor.go      narwhal doctor: what is wrong now
//	top.go         narwhal top: from queues to why a pod waits; topscreen.go, live in the terminal
//	whatif.go      narwhal whatif: what would become of pods, nodes, a configuration
//	connection.go  which scheduler is asked, and how
//	output.go      tables, JSON and YAML; --watch; widths and colours of terminals
package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/narwhal-scheduler/narwhal/pkg/version"
)

// The exit codes: done; the answer is no, or the work failed; the command could
// not be understood or its input not be read; something is wrong with the cluster.
const (
	exitDone = iota
	exitFailed
	exitUsage
	exitWrong
)

func main() {
	os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// run carries out one command line and returns the exit code.
func run(args []string, in io.Reader, out, problems io.Writer) int {
	root := newRootCommand()
	root.SetArgs(args)
	root.SetIn(in)
	root.SetOut(out)
	root.SetErr(problems)
	started := false // from here on an error is not about the command line
	for _, cmd := range root.Commands() {
		if work := cmd.RunE; work != nil {
			cmd.RunE = func(cmd *cobra.Command, args []string) error {
				started = true
				return work(cmd, args)
			}
		}
	}
	err := root.Execute()
	var code exitCode
	switch {
	case err == nil:
		return exitDone
	case errors.As(err, &code):
		return int(code)
	}
	var usage *usageError
	root.PrintErrln("narwhal:", err)
	switch {
	case !started:
		root.PrintErrln("Run 'narwhal --help' for how to use it.")
		return exitUsage
	case errors.As(err, &usage):
		return exitUsage
	default:
		return exitFailed
	}
}

// exitCode is an error of a command that has printed everything already.
type exitCode int

func (c exitCode) Error() string { return fmt.Sprintf("exit code %d", int(c)) }

// usageError is a command line that could not be understood, or an input that could not be read.
type usageError struct{ cause error }

func (e *usageError) Error() string { return e.cause.Error() }
func (e *usageError) Unwrap() error { return e.cause }

// newRootCommand is the command with every subcommand below it.
func newRootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:           "narwhal",
		Short:         "A cluster scheduler, and what is needed around it",
		Version:       version.Text(),
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error {
		var invalid *pflag.InvalidValueError
		if !errors.As(err, &invalid) {
			return err
		}
		flag := invalid.GetFlag()
		kind := map[string]string{
			"int": "a whole number", "uint": "a whole number from 0 on", "uint64": "a whole number from 0 on", "float64": "a number",
			"duration": "a length of time such as 90s or 2h", "bool": "true or false",
		}[flag.Value.Type()]
		if kind == "" {
			return err
		}
		return fmt.Errorf("--%s %q is not %s", flag.Name, invalid.GetValue(), kind)
	})
	root.SetVersionTemplate("narwhal {{.Version}}\n")
	root.AddCommand(
		// One line for each command, each in a file of its own.
		newSimulateCommand(),
		newTortureCommand(),
		newServeCommand(),
		newReplayCommand(),
		newValidateCommand(),
		newQueuesCommand(),
		newNodesCommand(),
		newDomainsCommand(),
		newGroupsCommand(),
		newPendingCommand(),
		newPreemptionsCommand(),
		newLossesCommand(),
		newChangesCommand(),
		newAccountingCommand(),
		newUsersCommand(),
		newAppsCommand(),
		newDoctorCommand(),
		newExplainCommand(),
		newTopCommand(),
		newWhatIfCommand(),
	)
	return root
}
