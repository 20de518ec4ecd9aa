package excerpt

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/narwhal-scheduler/narwhal/pkg/internal/scenario"
	"github.com/narwhal-scheduler/narwhal/pkg/recording"
)

// text is the scenario of what is left, with what comes out, as it is written.
func (h *history) text(e *Excerpt, b *beginning, o outcome, lines []line, shows showing) (string, error) {
	pretty := slices.Clone(lines)
	for i := range pretty {
		if pretty[i].Verb != "budget" {
			pretty[i].Below = shortened(pretty[i].Below)
		}
	}
	if shows(written(pretty)) {
		lines = pretty
	}
	if o.Outcome == recording.Waits {
		lines = append(lines, line{scenario.Line{Verb: "show", Words: []string{"asks"}}, true})
	}
	text, err := scenario.Play(h.head(e, b, o, written(lines)) + inTwo(lines, o))
	if err == nil && !shows(text) {
		err = fmt.Errorf("what is written does not show it any more:\n%s", text)
	}
	return text, err
}

// inTwo is how things stood, as a step, and what happened.
func inTwo(lines []line, o outcome) string {
	at := slices.IndexFunc(lines, func(l line) bool { return l.step })
	if at <= 0 {
		return written(lines)
	}
	return written(lines[:at]) + "\n# " + o.String() + ".\n" + written(lines[at:])
}

// head is what the scenario says of itself.
func (h *history) head(e *Excerpt, b *beginning, o outcome, text string) string {
	last := h.steps[len(h.steps)-1]
	var out strings.Builder
	fmt.Fprintf(&out, "# From a recording of %s: %s, at %s.\n", h.partition.Options.Partition, o, last.Now.UTC().Format(time.RFC3339Nano))
	fmt.Fprintf(&out, "# What led to it, from %s on, which is 0s: %d commands of %d.\n", b.from.UTC().Format(time.RFC3339Nano), e.After, e.Before)
	if !e.Whole {
		fmt.Fprintf(&out, "# Not the least: %d scenarios were played, and no more.\n", e.Played)
	}
	if h.answers.held {
		b.notes = append(b.notes, note{text: "questions to the resource manager were held back at times, and are not here"})
	}
	for _, n := range b.notes {
		if n.about == "" || slices.Contains(strings.Fields(text), n.about) {
			fmt.Fprintf(&out, "# Not as it was: %s.\n", n.text)
		}
	}
	return out.String() + "\n"
}

// shortened is a YAML text with lists and mappings of single values in a line.
func shortened(text []string) []string {
	var root yaml.Node
	if yaml.Unmarshal([]byte(strings.Join(text, "\n")), &root) != nil || root.Kind != yaml.DocumentNode || len(text) < 2 {
		return text
	}
	flow(&root)
	var out bytes.Buffer
	encoder := yaml.NewEncoder(&out)
	encoder.SetIndent(2)
	if encoder.Encode(&root) != nil {
		return text
	}
	return strings.Split(strings.TrimRight(out.String(), "\n"), "\n")
}

// flow writes what has nothing but single values below it in a line.
func flow(n *yaml.Node) {
	if n.Kind == yaml.ScalarNode {
		n.Style, n.Tag = 0, ""
	}
	plain := true
	for _, below := range n.Content {
		flow(below)
		plain = plain && below.Kind == yaml.ScalarNode
	}
	if plain && len(n.Content) > 0 && (n.Kind == yaml.MappingNode && n.Content[0].Value != "name" || n.Kind == yaml.SequenceNode) {
		n.Style = yaml.FlowStyle
	}
}
