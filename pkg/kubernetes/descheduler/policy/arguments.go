package policy

import (
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/framework"
)

// An Argument is a key that a plugin understands.
type Argument struct {
	Key string
	// Default is its value where a policy does not give one, in YAML; empty: none.
	Default string
}

// Arguments lists what a plugin understands, in the order of its Go type.
func Arguments(d framework.Definition) []Argument {
	args := argsOf(d)
	if args == nil {
		return nil
	}
	var list []Argument
	for _, m := range membersOf(valueOf(args)) {
		if m.key == "kind" || m.key == "apiVersion" {
			continue // may stand in all arguments, and has no effect
		}
		list = append(list, Argument{m.key, oneLine(encode(m.value))})
	}
	return list
}

// oneLine is a node as YAML in one line; nothing for nil.
func oneLine(node *yaml.Node) string {
	if node == nil {
		return ""
	}
	node.Style = yaml.FlowStyle
	if node.Kind == yaml.ScalarNode {
		node.Style = 0
	}
	text, err := yaml.Marshal(node)
	if err != nil {
		panic("policy: " + err.Error()) // nodes are made here
	}
	return strings.Join(strings.Fields(string(text)), " ")
}
