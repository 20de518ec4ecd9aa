package simulator

import (
	"errors"
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/narwhal-scheduler/narwhal/pkg/config"
)

// UseQueues replaces the queue configuration of a scenario by a text of the
// form that the scheduler reads. The error is Problems; what is right and has
// no effect yet goes to the warnings of the scenario.
func (s *Scenario) UseQueues(text string) error {
	if err := s.useQueues(text); err != nil {
		return err
	}
	if at, err := s.workOutChanges(); err != nil {
		return Problems{{Key: s.Changes[at].stands.Path, Text: err.Error()}}
	}
	return nil
}

// useQueues does so without the changes.
func (s *Scenario) useQueues(text string) error {
	document, err := config.Load(text, s.Kinds)
	if err != nil {
		return translate(err)
	}
	if n := len(document.Partitions); n != 1 {
		return Problems{{Key: "partitions", Text: fmt.Sprintf("there are %d, and a simulation has exactly one", n)}}
	}
	s.Config, s.queues = document.Partitions[0], document.Text
	s.Warnings = ours(document.Warnings, config.Warning)
	return nil
}

// translate makes an error of the configuration ours.
func translate(err error) error {
	var found config.Problems
	if !errors.As(err, &found) {
		return err
	}
	return ours(found, config.Error)
}

// ours is the problems of a severity as problems of a scenario.
func ours(found config.Problems, severity config.Severity) Problems {
	var problems Problems
	for _, one := range found {
		if one.Severity != severity {
			continue
		}
		key := "queues"
		if one.Queue != "" {
			key = string(one.Queue)
		}
		problems = append(problems, Problem{Line: one.Line, Key: strings.TrimSuffix(key+"."+one.Key, "."), Text: one.Message})
	}
	return problems
}

// cutQueues is the queue configuration inside a scenario as a text of its own,
// in which every line has the number it has in the scenario. It may be a list
// of queues, a whole configuration, or a block of text with either of these.
func cutQueues(source string, n *yaml.Node) string {
	if n.Kind == yaml.ScalarNode {
		block := n.Value
		if n.Style == yaml.LiteralStyle {
			block = strings.Repeat("\n", n.Line) + block
		}
		return block
	}
	if n.Style&yaml.FlowStyle != 0 {
		return cutFlow(n)
	}
	lines := cutLines(source, n)
	if n.Kind == yaml.MappingNode {
		return strings.Join(lines, "\n")
	}
	// The list goes below a partition: its key replaces the line of ours, which
	// is the one before the first that is not blank.
	for i := range lines {
		if strings.TrimSpace(lines[i]) != "" {
			lines[i] = "    " + lines[i]
		}
	}
	return listHead(lines, n.Line-1)
}

// cutLines is the lines of the node without their common indentation, after as
// many empty ones as stand before it.
func cutLines(source string, n *yaml.Node) []string {
	all := strings.Split(source, "\n")
	indent := n.Column - 1
	lines := make([]string, n.Line-1, len(all))
	for i := n.Line - 1; i < len(all); i++ {
		line := all[i]
		bare := strings.TrimSpace(line)
		own := len(line) - len(strings.TrimLeft(line, " "))
		dash := n.Kind == yaml.SequenceNode && strings.HasPrefix(bare, "-")
		if bare != "" && !strings.HasPrefix(bare, "#") && (own < indent || own == 0 && !dash) {
			break
		}
		lines = append(lines, line[min(indent, own):])
	}
	return lines
}

// listHead puts the head of a configuration before a list of queues that
// begins at the index.
func listHead(lines []string, at int) string {
	head := []string{"partitions:", "  - name: default", "    queues:"}
	if at >= len(head) {
		copy(lines[at-len(head):at], head)
		return strings.Join(lines, "\n")
	}
	return strings.Join(append(head, lines[at:]...), "\n")
}

// cutFlow is a configuration written in braces, where lines cannot be kept.
func cutFlow(n *yaml.Node) string {
	var value any = n
	if n.Kind == yaml.SequenceNode {
		value = map[string]any{"partitions": []any{map[string]any{"name": "default", "queues": n}}}
	}
	out, err := yaml.Marshal(value)
	if err != nil {
		return err.Error() // which is no configuration, and is reported as one
	}
	return string(out)
}
