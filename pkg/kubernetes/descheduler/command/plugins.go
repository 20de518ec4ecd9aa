package command

import (
	"bytes"
	_ "embed" // of what arguments mean
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/framework"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/policy"
)

//go:embed meanings.yaml
var meaningsText []byte

// texts are what keys mean. One key of it may be several, with commas between.
type texts map[string]string

// of is what a key means; empty if that is not known.
func (t texts) of(key string) string {
	for keys, text := range t {
		if slices.Contains(strings.Split(keys, ", "), key) {
			return text
		}
	}
	return ""
}

// meanings are what the keys of a policy and the arguments of plugins mean.
type meanings struct {
	Keys    texts `json:"keys"`
	Common  texts `json:"common"` // arguments of several plugins
	Plugins map[string]struct {
		About     string `json:"about"`
		Arguments texts  `json:"arguments"`
	} `json:"plugins"`
}

func readMeanings() *meanings {
	m := new(meanings)
	if err := yaml.UnmarshalStrict(meaningsText, m); err != nil {
		panic("command: meanings.yaml: " + err.Error())
	}
	return m
}

// argument is what an argument of a plugin means; empty if that is not known.
func (m *meanings) argument(plugin, key string) string {
	if _, ours := m.Plugins[plugin]; !ours {
		return ""
	}
	if text := m.Plugins[plugin].Arguments.of(key); text != "" {
		return text
	}
	return m.Common.of(key)
}

// newPluginsCommand lists the plugins that policies may name, or explains one. It notes when the
// command line was understood.
func newPluginsCommand(started *bool, plugins []framework.Definition) *cobra.Command {
	return &cobra.Command{
		Use: "plugins [NAME]", Short: "List the plugins that policies may name, or explain one", Args: cobra.MaximumNArgs(1),
		Long: "List the plugins that policies may name, and where each can be enabled.\nWith a name: its arguments with their defaults, and what they mean.",
		RunE: func(cmd *cobra.Command, args []string) error {
			r, err := registry(plugins)
			if *started = err != nil || len(args) == 0; err != nil {
				return err
			}
			if len(args) == 0 {
				return listPlugins(cmd.OutOrStdout(), r)
			}
			d, ok := r.Find(args[0])
			if !ok {
				return fmt.Errorf("there is no plugin %s; there are %s", args[0], strings.Join(r.Names(), ", "))
			}
			*started = true
			return explainPlugin(cmd.OutOrStdout(), d)
		},
	}
}

// newKeysCommand lists the keys of a policy.
func newKeysCommand() *cobra.Command {
	return &cobra.Command{
		Use: "keys", Short: "List the keys of a policy, and what they mean", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			m := readMeanings()
			var out bytes.Buffer
			for _, keys := range slices.Sorted(maps.Keys(m.Keys)) {
				fmt.Fprintf(&out, "%s\n    %s\n", keys, m.Keys[keys])
			}
			_, err := cmd.OutOrStdout().Write(out.Bytes())
			return err
		},
	}
}

func listPlugins(to io.Writer, r *framework.Registry) error {
	m, out := readMeanings(), tabwriter.NewWriter(to, 0, 0, 2, ' ', 0)
	fmt.Fprintln(out, "PLUGIN\tPOINTS\tWHAT IT DOES") // Flush has the error
	for _, name := range r.Names() {
		d, _ := r.Find(name)
		fmt.Fprintf(out, "%s\t%s\t%s\n", name, pointsOf(d), m.Plugins[name].About)
	}
	return out.Flush()
}

// explainPlugin says what a plugin does, and what its arguments mean.
func explainPlugin(to io.Writer, d framework.Definition) error {
	m := readMeanings()
	var out bytes.Buffer
	fmt.Fprintf(&out, "%s, at %s\n", d.Name, pointsOf(d))
	if about := m.Plugins[d.Name].About; about != "" {
		fmt.Fprintf(&out, "    %s\n", about)
	}
	for _, a := range policy.Arguments(d) {
		fmt.Fprintf(&out, "%s\n", strings.TrimSuffix(a.Key+": "+a.Default, ": "))
		if text := m.argument(d.Name, a.Key); text != "" {
			fmt.Fprintf(&out, "    %s\n", text)
		}
	}
	_, err := to.Write(out.Bytes())
	return err
}

// pointsOf lists where a plugin can be enabled.
func pointsOf(d framework.Definition) string {
	points := make([]string, len(d.Points))
	for i, p := range d.Points {
		points[i] = string(p)
	}
	return strings.Join(points, ", ")
}
