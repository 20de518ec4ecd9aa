// The command build makes the programs of a control plane, unless they are there.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/e2e/programs"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := build(ctx); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func build(ctx context.Context) error {
	folder, err := programs.Here(".")
	if err != nil {
		return err
	}
	return folder.Build(ctx, os.Stdout)
}
