package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v3"

	"github.com/narwhal-scheduler/narwhal/pkg/resources"
	"github.com/narwhal-scheduler/narwhal/pkg/webservice/client"
)

// A wish is the flags of "narwhal whatif".
type wish struct {
	connection
	output
	file, config       string // of a whole question, and of a configuration
	name, application  string
	queue, user        string
	resources          string
	count              int
	priority           int32
	preempts           bool
	within             time.Duration
	waits              bool     // that is given
	addNodes           []string // NAME:COUNT:AMOUNTS:ATTRIBUTES, of which COUNT and ATTRIBUTES may be left out
	drain, removeNodes []string
}

// newWhatIfCommand is "narwhal whatif".
func newWhatIfCommand() *cobra.Command {
	w := &wish{}
	cmd := &cobra.Command{
		Use:   "whatif",
		Short: "Say what would become of pods, of nodes, or of a configuration",
		Long: `Say what would become of pods that might come, of nodes that might be added, drained
or removed, or of another configuration: which pods would run where, and what would be
evicted for them. A running scheduler simulates it on a copy; nothing is changed.

In place of each pod on a removed node another is asked for, so --remove-node says where
the pods of a node would go. A drained node keeps its pods and takes no others.

-f reads a whole question as REST takes it, in YAML or JSON; the other flags add to it.

The exit code is 1 if a pod or an application would not be taken in.`,
		Example: `  narwhal whatif --application web --resources cpu=2,memory=4Gi --count 3
  narwhal whatif --application new --queue root.ml --resources cpu=8,nvidia.com/gpu=1 --within 5m
  narwhal whatif --remove-node node-7
  narwhal whatif --add-node gpu:2:cpu=16,memory=64Gi,nvidia.com/gpu=4
  narwhal whatif --config queues.yaml
  narwhal whatif -f question.yaml -o json`,
		Args: func(cmd *cobra.Command, args []string) error {
			return errors.Join(cobra.NoArgs(cmd, args), w.check(), w.checkPods(cmd))
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			w.waits = cmd.Flags().Changed("within")
			return w.run(cmd)
		},
	}
	flags := cmd.Flags()
	flags.StringVarP(&w.file, "filename", "f", "", "file with a question; - is the standard input")
	flags.StringVar(&w.config, "config", "", "file with the queue configuration that would be in effect")
	flags.StringVar(&w.application, "application", "", "application of the pods")
	flags.StringVar(&w.queue, "queue", "", "queue of the application, if it is a new one")
	flags.StringVar(&w.user, "user", "", "user of the application, if it is a new one")
	flags.StringVar(&w.name, "name", "pod", "name of the pods; several get numbers")
	flags.StringVar(&w.resources, "resources", "", "what each pod asks for, such as cpu=2,memory=4Gi")
	flags.IntVar(&w.count, "count", 1, "number of pods")
	flags.Int32Var(&w.priority, "priority", 0, "priority of the pods")
	flags.BoolVar(&w.preempts, "preempts", true, "whether others may be preempted for the pods")
	flags.StringArrayVar(&w.addNodes, "add-node", nil, "node that would come, such as gpu:2:cpu=16,memory=64Gi:zone=a with count and attributes, or n:cpu=8; can be repeated")
	flags.StringSliceVar(&w.drain, "drain-node", nil, "node that would take no more pods; can be repeated")
	flags.StringSliceVar(&w.removeNodes, "remove-node", nil, "node that would be gone, with its pods; can be repeated")
	flags.DurationVar(&w.within, "within", 0, "how long to wait for what only time brings, such as 30s; without it, for the delays that run then")
	w.completesNames(cmd, "queue", queueNames)
	w.completesNames(cmd, "drain-node", nodeNames)
	w.completesNames(cmd, "remove-node", nodeNames)
	w.connection.addTo(cmd)
	w.output.addTo(cmd)
	return cmd
}

// checkPods says what is wrong with the flags about pods together.
func (w *wish) checkPods(cmd *cobra.Command) error {
	if w.resources == "" {
		for _, name := range []string{"application", "queue", "user", "name", "count", "priority", "preempts"} {
			if cmd.Flags().Changed(name) {
				return fmt.Errorf("--%s is about pods, which need --resources", name)
			}
		}
		return nil
	}
	switch {
	case w.application == "":
		return errors.New("--resources is about pods, which need --application")
	case w.count < 1:
		return fmt.Errorf("--count %d is less than 1", w.count)
	}
	return nil
}

func (w *wish) run(cmd *cobra.Command) error {
	question, err := w.question(cmd.InOrStdin())
	if err != nil {
		return err
	}
	c, err := w.client()
	if err != nil {
		return err
	}
	refused := false
	err = w.show(cmd, func(ctx context.Context) (page, error) {
		answer, err := c.WhatIf(ctx, question)
		if err != nil {
			return page{}, w.reached(err)
		}
		refused = answer.Value.IsRefused()
		return page{answer.JSON, func(out io.Writer, l client.Layout) error {
			return client.WriteOutcomeIn(out, answer.Value, asIs, l)
		}}, nil
	})
	if err == nil && refused {
		return exitCode(exitFailed)
	}
	return err
}

// question is what the flags and the file ask together.
func (w *wish) question(in io.Reader) (*client.Question, error) {
	q := &client.Question{}
	if w.file != "" {
		if err := readQuestion(w.file, in, q); err != nil {
			return nil, err
		}
	}
	if w.config != "" {
		_, text, err := readText(w.config, in)
		if err != nil {
			return nil, err
		}
		q.Config = text
	}
	if w.waits {
		q.Within = w.within.String()
	}
	if err := w.addPods(q); err != nil {
		return nil, err
	}
	if err := w.changeNodes(q); err != nil {
		return nil, err
	}
	if len(q.Asks) == 0 && len(q.Applications) == 0 && q.Config == "" && q.Nodes == nil {
		return nil, &usageError{errors.New("nothing is asked: say --resources, --add-node, --drain-node, --remove-node, --config or -f")}
	}
	return q, nil
}

// readQuestion reads a question in YAML, of which JSON is a part.
func readQuestion(file string, in io.Reader, q *client.Question) error {
	name, text, err := readText(file, in)
	if err != nil {
		return err
	}
	decoder := yaml.NewDecoder(strings.NewReader(text))
	decoder.KnownFields(true)
	if err := decoder.Decode(q); err != nil && !errors.Is(err, io.EOF) {
		said := unknownField.ReplaceAllString(err.Error(), "key $1 is not known")
		return fmt.Errorf("%s: %s", name, strings.TrimPrefix(said, "yaml: unmarshal errors:\n  "))
	}
	return nil
}

// unknownField is what the parser says of a key that a question does not have.
var unknownField = regexp.MustCompile(`field (\S+) not found in type \S+`)

// addPods adds the pods of the flags, and their application if it has a queue or a user.
func (w *wish) addPods(q *client.Question) error {
	if w.resources == "" {
		return nil
	}
	amounts, err := readAmounts(w.resources)
	if err != nil {
		return &usageError{fmt.Errorf("--resources: %w", err)}
	}
	if w.queue != "" || w.user != "" {
		q.Applications = append(q.Applications, client.NewApplication{Application: w.application, Queue: w.queue, User: w.user})
	}
	q.Asks = append(q.Asks, client.NewAsk{
		Key: w.name, Application: w.application, Resource: amounts, Priority: w.priority, Count: w.count,
		Policy: &client.Policy{Self: true, Other: w.preempts},
	})
	return nil
}

// changeNodes adds what would be done to nodes.
func (w *wish) changeNodes(q *client.Question) error {
	if len(w.addNodes)+len(w.drain)+len(w.removeNodes) == 0 {
		return nil
	}
	if q.Nodes == nil {
		q.Nodes = &client.NewNodes{}
	}
	for _, text := range w.addNodes {
		node, err := readNode(text)
		if err != nil {
			return &usageError{fmt.Errorf("--add-node %s: %w", text, err)}
		}
		q.Nodes.Add = append(q.Nodes.Add, node)
	}
	q.Nodes.Drain = append(q.Nodes.Drain, w.drain...)
	q.Nodes.Remove = append(q.Nodes.Remove, w.removeNodes...)
	return nil
}

// nodeForm is how a node is written.
const nodeForm = "NAME:AMOUNTS is expected, such as gpu:cpu=16,memory=64Gi, or with a count and attributes gpu:2:cpu=16,memory=64Gi:zone=a"

// readNode reads NAME:COUNT:AMOUNTS:ATTRIBUTES, of which COUNT and ATTRIBUTES may be left out.
func readNode(text string) (client.NewNode, error) {
	parts := strings.SplitN(text, ":", 4)
	node := client.NewNode{Name: parts[0]}
	parts = parts[1:]
	if len(parts) > 1 && !strings.Contains(parts[0], "=") {
		if _, err := fmt.Sscanf(parts[0]+"\n", "%d\n", &node.Count); err != nil || node.Count < 1 {
			return node, fmt.Errorf("%q is no number of nodes; %s", parts[0], nodeForm)
		}
		parts = parts[1:]
	}
	if len(parts) < 1 || len(parts) > 2 || node.Name == "" {
		return node, errors.New(nodeForm)
	}
	var err error
	if node.Capacity, err = readAmounts(parts[0]); err != nil {
		return node, fmt.Errorf("%w; %s", err, nodeForm)
	}
	if len(parts) == 2 {
		node.Attributes, err = readAttributes(parts[1])
	}
	return node, err
}

// readAttributes reads names and values: zone=a,rack=r1.
func readAttributes(text string) (map[string]string, error) {
	attributes := map[string]string{}
	for pair := range strings.SplitSeq(text, ",") {
		name, value, ok := strings.Cut(strings.TrimSpace(pair), "=")
		if _, twice := attributes[name]; !ok || name == "" || twice {
			return nil, fmt.Errorf("%q is no attribute such as zone=a, or there twice; %s", pair, nodeForm)
		}
		attributes[name] = value
	}
	return attributes, nil
}

// readAmounts reads amounts as people and Kubernetes write them: cpu=500m,memory=4Gi.
func readAmounts(text string) (client.Amounts, error) {
	amounts := client.Amounts{}
	for pair := range strings.SplitSeq(text, ",") {
		name, number, ok := strings.Cut(strings.TrimSpace(pair), "=")
		if !ok || name == "" {
			return nil, fmt.Errorf("%q is no amount such as cpu=2 or memory=4Gi", pair)
		}
		kind := name
		if name == "cpu" {
			kind = resources.VCore
		}
		quantity, err := resources.ParseQuantity(kind, number)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		if kind != resources.VCore && resources.InThousandths(kind) {
			quantity *= 1000
		}
		if _, twice := amounts[kind]; twice {
			return nil, fmt.Errorf("%s is given twice", name)
		}
		amounts[kind] = quantity
	}
	return amounts, nil
}
