package config

import (
	"fmt"

	"github.com/narwhal-scheduler/narwhal/pkg/core"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// build makes what partitions are configured with. It can fail only for want of
// room in the table of kinds.
func (r *reader) build(definitions []Partition, kinds *resources.Kinds) []core.Config {
	out := make([]core.Config, len(definitions))
	for i := range definitions {
		p := &definitions[i]
		out[i] = core.Config{
			Name:       p.Name,
			Root:       r.buildQueue(p.Root, nil, kinds),
			Nodes:      p.Nodes,
			Preemption: p.Preemption,
		}
	}
	return out
}

// buildQueue makes one queue and what is below it. Inherited are the merged
// properties of its parent.
func (r *reader) buildQueue(q *Queue, inherited map[string]string, kinds *resources.Kinds) core.QueueConfig {
	texts := inherit(inherited, q.Properties)
	guaranteed, err := kinds.Amounts(q.Guaranteed.values())
	if err != nil {
		r.kindProblem(q, "resources.guaranteed", err)
	}
	most, err := kinds.Limits(q.Max.values())
	if err != nil {
		r.kindProblem(q, "resources.max", err)
	}
	out := core.QueueConfig{
		Name:       q.Name,
		Parent:     q.Parent,
		Guaranteed: guaranteed,
		Max:        most,
		Properties: workOut(texts),
	}
	for _, child := range q.Queues {
		out.Queues = append(out.Queues, r.buildQueue(child, texts, kinds))
	}
	return out
}

func (r *reader) kindProblem(q *Queue, key string, err error) {
	place := q.place
	place.Key = key
	r.add(Problem{Place: place, Message: fmt.Sprint(err)})
}
