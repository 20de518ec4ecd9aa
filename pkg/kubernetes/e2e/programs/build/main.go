// The command build makes the programs of a control plane, unless they are there. With
// -missing it builds nothing and lists those that are not there. The environment variable
// E2E_KUBERNETES names the release, which without it is that of the tools module.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/e2e/programs"
)

func main() {
	missing := flag.Bool("missing", false, "build nothing, and list what would be built")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *missing, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, missing bool, output io.Writer) error {
	folder, err := programs.Here(".", programs.Release())
	if err != nil {
		return err
	}
	if !missing {
		return folder.Build(ctx, output)
	}
	if names := folder.Missing(); len(names) > 0 {
		fmt.Fprintln(output, strings.Join(names, ", "))
	}
	return nil
}
