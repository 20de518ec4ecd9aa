// Command kubectl-narwhal is a plugin of kubectl that asks the scheduler: why a pod is
// pending, what queues and nodes have, what was preempted, and what would become of a
// manifest, or of the pods of a node. It goes through the API server, so it needs no more than kubectl does.
package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/narwhal-scheduler/narwhal/pkg/version"
)

func main() {
	streams := genericiooptions.IOStreams{In: os.Stdin, Out: os.Stdout, ErrOut: os.Stderr}
	if err := newCommand(streams).Execute(); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

// newCommand is the plugin with all its commands.
func newCommand(streams genericiooptions.IOStreams) *cobra.Command {
	asked := &question{streams: streams, flags: genericclioptions.NewConfigFlags(true)}
	root := &cobra.Command{
		Use:           "kubectl-narwhal",
		Short:         "Ask the Narwhal scheduler why pods wait, and what would happen",
		Version:       version.Text(),
		SilenceErrors: true, SilenceUsage: true,
		Annotations: map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl narwhal"},
	}
	flags := root.PersistentFlags()
	asked.flags.AddFlags(flags)
	flags.StringVar(&asked.service, "scheduler-service", "narwhal-scheduler", "service of the scheduler")
	flags.StringVar(&asked.serviceNamespace, "scheduler-namespace", "narwhal", "namespace of that service")
	flags.StringVar(&asked.port, "scheduler-port", "rest", "name or number of its port for REST")
	flags.BoolVar(&asked.tls, "scheduler-tls", false, "REST is served with TLS")
	flags.StringVar(&asked.account, "scheduler-account", "narwhal-reader", "service account of that namespace, with a token of which the scheduler is asked; empty is none")
	flags.StringVar(&asked.partition, "partition", "default", "partition of the scheduler")
	flags.StringVarP(&asked.output, "output", "o", "", "json or yaml: the whole answer instead of a table")
	root.SetIn(streams.In)
	root.SetOut(streams.Out)
	root.SetErr(streams.ErrOut)
	root.AddCommand(newWhy(asked), newQueues(asked), newNodes(asked), newPending(asked), newGroups(asked), newDomains(asked), newPreemptions(asked), newUsers(asked), newApps(asked), newLosses(asked), newChanges(asked), newAccounting(asked), newWhatIf(asked), newDrainPlan(asked))
	return root
}
