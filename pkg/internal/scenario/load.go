package scenario

import (
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/narwhal-scheduler/narwhal/pkg/core"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

type tmpQueue struct {
	Name       string
	Parent     bool
	Resources  struct{ Guaranteed, Max map[string]string }
	Properties map[string]string
	Queues     []tmpQueue
}

// load reads a configuration.
func (w *world) load(text string) (core.Config, error) {
	var doc struct {
		Partitions []struct {
			Name           string
			Queues         []tmpQueue
			NodeSortPolicy struct {
				Type            string
				ResourceWeights map[string]int64 `yaml:"resourceweights"`
			} `yaml:"nodesortpolicy"`
		}
	}
	if text == "" {
		text = "partitions: [{name: default, queues: [{name: root, queues: [{name: default}]}]}]"
	}
	if err := yaml.Unmarshal([]byte(text), &doc); err != nil {
		return core.Config{}, err
	}
	p := doc.Partitions[0]
	cfg := core.Config{Name: p.Name, Nodes: core.NodeOrder{Packing: p.NodeSortPolicy.Type == "binpacking", Weights: p.NodeSortPolicy.ResourceWeights}}
	root := tmpQueue{Name: "root", Queues: p.Queues}
	if len(p.Queues) == 1 && p.Queues[0].Name == "root" {
		root = p.Queues[0]
	}
	cfg.Root = w.tmp(root, core.QueueProperties{})
	return cfg, nil
}

func (w *world) tmp(q tmpQueue, inherited core.QueueProperties) core.QueueConfig {
	pr := inherited
	pr.PriorityOffset, pr.PriorityFence = 0, false
	switch q.Properties["application.sort.policy"] {
	case "fair":
		pr.ApplicationSort = core.Fair
	case "fifo":
		pr.ApplicationSort = core.FIFO
	}
	if v, ok := q.Properties["application.sort.priority"]; ok {
		pr.IgnorePriority = v == "disabled"
	}
	pr.PriorityFence = q.Properties["priority.policy"] == "fence"
	fmt.Sscan(q.Properties["priority.offset"], &pr.PriorityOffset)
	out := core.QueueConfig{Name: strings.ToLower(q.Name), Parent: q.Parent || len(q.Queues) > 0, Properties: pr}
	for k, v := range q.Resources.Guaranteed {
		n, err := resources.ParseQuantity(k, v)
		if err != nil {
			panic(err)
		}
		kind, _ := w.kinds.Intern(k)
		out.Guaranteed.Set(kind, n)
	}
	for k, v := range q.Resources.Max {
		n, err := resources.ParseQuantity(k, v)
		if err != nil {
			panic(err)
		}
		kind, _ := w.kinds.Intern(k)
		out.Max.Set(kind, n)
	}
	for _, c := range q.Queues {
		out.Queues = append(out.Queues, w.tmp(c, pr))
	}
	return out
}
