package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/narwhal-scheduler/narwhal/pkg/simulator"
	"github.com/narwhal-scheduler/narwhal/pkg/simulator/torture"
)

// newTortureCommand is "narwhal torture".
func newTortureCommand() *cobra.Command {
	c := torture.Config{}
	cmd := &cobra.Command{
		Use:   "torture",
		Short: "Play random clusters under faults, and check every law",
		Long: `Play random clusters of the simulator under faults, one seed after the other, until
enough steps were played: commands that the scheduling core carries out, and calls that
have it schedule. Nodes fail, drain and return, the scheduler restarts, its clock jumps,
messages are late, doubled, reordered or lost, pods cannot be bound or do not end when
they are told to, answers change without a word.

After each step the laws of the core are checked, after each moment its views and the
books of the resource manager. When the faults are over, all pods must end.

A world that breaks a law is made small, and printed as a scenario, which
"narwhal simulate --scenario FILE --verify" plays with the same failure; what was played
then goes to the standard error. One that is played for five minutes is said not to end,
and printed as it is. The exit code is 0 if no law was broken, also after an
interrupt, 1 if one was, and 2 if the command could not be understood.`,
		Example: `  narwhal torture --steps 10000000
  narwhal torture --seed 4711 --steps 1 > world.yaml`,
		Args: func(cmd *cobra.Command, args []string) error {
			if c.Steps < 1 {
				return errors.New("--steps must be above zero")
			}
			return cobra.NoArgs(cmd, args)
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return playWorlds(cmd, c) },
	}
	cmd.Flags().Uint64Var(&c.Seed, "seed", 1, "seed of the first world; the next one has the next seed")
	cmd.Flags().IntVar(&c.Steps, "steps", 100_000, "how many steps to play, until the end of a world")
	return cmd
}

// worldMax is how long a world is played that takes a tenth of a second, before it is said not to end.
const worldMax = 5 * time.Minute

// endsWithin plays a world and reports whether that came to an end in time. Nothing ends a call that does not return, but the program.
func endsWithin(most time.Duration, play func()) bool {
	done := make(chan struct{})
	go func() { play(); close(done) }()
	select {
	case <-done:
		return true
	case <-time.After(most):
		return false
	}
}

func playWorlds(cmd *cobra.Command, c torture.Config) error {
	ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	c.Stops = func() bool { return ctx.Err() != nil }
	c.InTime = func(play func()) bool { return endsWithin(worldMax, play) }
	show, done := lineOn(cmd.ErrOrStderr())
	if show != nil {
		c.Tell = func(t *torture.Tally) { show(func() string { return tortureLine(t, c.Steps) }) }
	}
	tally, failure := torture.Run(c)
	done()
	if failure == nil {
		return tally.Write(cmd.OutOrStdout())
	}
	if err := tally.Write(cmd.ErrOrStderr()); err != nil {
		return err
	}
	if _, err := io.WriteString(cmd.OutOrStdout(), failure.Scenario); err != nil {
		return err
	}
	return fmt.Errorf("the world of seed %d breaks a law: %w", failure.Seed, failure.Err)
}

// tortureLine says how much was played.
func tortureLine(t *torture.Tally, steps int) string {
	count := func(n int) string { return simulator.Thousands(int64(n)) }
	if t.Tries > 0 {
		return fmt.Sprintf("a law is broken; %s smaller worlds tried", count(t.Tries))
	}
	return fmt.Sprintf("worlds %s  steps %s of %s, %d%%", count(t.Worlds), count(t.Steps), count(steps), min(100, 100*t.Steps/steps))
}
