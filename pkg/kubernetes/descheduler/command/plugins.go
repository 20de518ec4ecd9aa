package command

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/framework"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/policy"
)

// newPluginsCommand lists the plugins that policies may name. It notes when the command
// line was understood.
func newPluginsCommand(started *bool, plugins []framework.Definition) *cobra.Command {
	return &cobra.Command{
		Use: "plugins", Short: "List the plugins that policies may name", Args: cobra.NoArgs,
		Long: "List the plugins that policies may name, as a table in Markdown:\nwhere each can be enabled, and its arguments with their defaults.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			*started = true
			r, err := registry(plugins)
			if err != nil {
				return err
			}
			return listPlugins(cmd.OutOrStdout(), r)
		},
	}
}

func listPlugins(out io.Writer, r *framework.Registry) error {
	if _, err := fmt.Fprint(out, "| plugin | points | arguments |\n|---|---|---|\n"); err != nil {
		return err
	}
	for _, name := range r.Names() {
		d, _ := r.Find(name)
		if _, err := fmt.Fprintf(out, "| `%s` | %s | %s |\n", name, pointsOf(d), argumentsOf(d)); err != nil {
			return err
		}
	}
	return nil
}

// pointsOf lists where a plugin can be enabled.
func pointsOf(d framework.Definition) string {
	points := make([]string, len(d.Points))
	for i, p := range d.Points {
		points[i] = string(p)
	}
	return strings.Join(points, ", ")
}

// argumentsOf lists what a plugin understands, with defaults where there are any.
func argumentsOf(d framework.Definition) string {
	var texts []string
	for _, a := range policy.Arguments(d) {
		text := a.Key
		if a.Default != "" {
			text += ": " + a.Default
		}
		texts = append(texts, "`"+strings.ReplaceAll(text, "|", "\\|")+"`")
	}
	return strings.Join(texts, ", ")
}
