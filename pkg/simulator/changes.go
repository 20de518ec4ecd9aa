package simulator

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/narwhal-scheduler/narwhal/pkg/config"
	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/internal/yamltree"
)

// A Change is another configuration of a queue from a time on, as an operator sets it: new
// limits, where kinds that it does not name stay as they are, or that the queue goes, or
// comes back as it was.
type Change struct {
	At         time.Duration
	Queue      api.QueuePath
	Max        map[string]string // by kind, as in a configuration
	Guaranteed map[string]string
	Gone       *bool

	stands yamltree.Value // where it was read, for its problems
}

// String says what changes, without the queue.
func (c *Change) String() string {
	var parts []string
	switch {
	case c.removes():
		parts = append(parts, "removed")
	case c.Gone != nil:
		parts = append(parts, "added")
	}
	for _, one := range []struct {
		name   string
		values map[string]string
	}{{"guaranteed", c.Guaranteed}, {"max", c.Max}} {
		if len(one.values) == 0 {
			continue
		}
		texts := []string{one.name}
		for _, kind := range slices.Sorted(maps.Keys(one.values)) {
			texts = append(texts, kind+"="+one.values[kind])
		}
		parts = append(parts, strings.Join(texts, " "))
	}
	return strings.Join(parts, ", ")
}

// removes reports whether the queue goes, and does not come back.
func (c *Change) removes() bool { return c.Gone != nil && *c.Gone }

// change has the core use what a change comes to.
func (c *cluster) change(i int) {
	one := &c.scenario.Changes[i]
	c.config, c.changes = c.scenario.changed[i].Partitions[0], i+1
	c.send(api.Reconfigure{Config: c.config})
	what := "limit"
	if one.Gone != nil {
		what = "queue"
	}
	c.counts.incidents = append(c.counts.incidents, IncidentRecord{
		At: seconds(c.now), What: what, Queue: string(one.Queue), Detail: one.String(),
	})
}

// removed reports whether a queue, or one above it, has been removed so far.
func (c *cluster) removed(queue api.QueuePath) bool {
	return slices.ContainsFunc(c.scenario.Changes[:c.changes], func(one Change) bool {
		return one.removes() && queue.Full().IsWithin(one.Queue)
	})
}

// workOutChanges makes the configuration that each change comes to, one after
// the other. The error is of the change at the index.
func (s *Scenario) workOutChanges() (at int, err error) {
	if s.changed = nil; len(s.Changes) == 0 {
		return 0, nil
	}
	edited, err := partitionOf(s.queues)
	if err != nil {
		return 0, err
	}
	for i := range s.Changes {
		if err := s.Changes[i].edit(edited, s.queues); err != nil {
			return i, err
		}
		text, err := textOf(edited)
		if err != nil {
			return i, err
		}
		document, err := config.Load(text, s.Kinds)
		if err != nil {
			var found config.Problems
			if !errors.As(err, &found) {
				return i, err
			}
			return i, errors.New(lineNumbers.ReplaceAllString(found[0].Message, ""))
		}
		s.changed = append(s.changed, document)
	}
	return 0, nil
}

// lineNumbers are those of a text that was made here, and that no user has seen.
var lineNumbers = regexp.MustCompile(` \(line \d+\)`)

// edit makes the change in a partition. A queue comes back as it is in the first text.
func (c *Change) edit(partition map[string]any, first string) error {
	queue := findQueue(partition, c.Queue)
	switch {
	case c.Gone != nil && !c.removes():
		return c.added(partition, queue, first)
	case queue == nil:
		return fmt.Errorf("there is no queue %s", c.Queue)
	case c.removes():
		return c.removed(partition)
	}
	resources := child(queue, "resources")
	for _, one := range []struct {
		name   string
		values map[string]string
	}{{"max", c.Max}, {"guaranteed", c.Guaranteed}} {
		if len(one.values) > 0 {
			into := child(resources, one.name)
			for kind, value := range one.values {
				into[kind] = value
			}
		}
	}
	return nil
}

// removed takes the queue away, with what is below it. What is above stays no leaf.
func (c *Change) removed(partition map[string]any) error {
	in, name, below := above(partition, c.Queue)
	if !below {
		return fmt.Errorf("%s cannot go", c.Queue)
	}
	list, _ := in["queues"].([]any)
	in["parent"] = true
	in["queues"] = slices.DeleteFunc(list, func(one any) bool { return isQueue(one, name) })
	return nil
}

// added brings the queue back, as it is in the text, with what was below it.
func (c *Change) added(partition, queue map[string]any, first string) error {
	if queue != nil {
		return fmt.Errorf("there is a queue %s", c.Queue)
	}
	original, err := partitionOf(first)
	if err != nil {
		return err
	}
	queue = findQueue(original, c.Queue)
	in, _, below := above(partition, c.Queue)
	switch {
	case queue == nil:
		return fmt.Errorf("there was no queue %s", c.Queue)
	case !below || in == nil:
		return fmt.Errorf("what is above %s has gone", c.Queue)
	}
	list, _ := in["queues"].([]any)
	in["queues"] = append(list, queue)
	return nil
}

// above is the queue that one stands in, and its name there; not below is the root.
func above(partition map[string]any, path api.QueuePath) (queue map[string]any, name string, below bool) {
	i := strings.LastIndexByte(string(path), '.')
	if i < 0 {
		return nil, "", false
	}
	return findQueue(partition, path[:i]), string(path[i+1:]), true
}

// isQueue reports whether an entry of a list of queues has a name.
func isQueue(entry any, name string) bool {
	queue, _ := entry.(map[string]any)
	text, _ := queue["name"].(string)
	return strings.ToLower(text) == name
}

// partitionOf is the partition, to be edited, of a configuration that was read
// without a problem: there is one.
func partitionOf(text string) (map[string]any, error) {
	var document struct {
		Partitions []map[string]any `yaml:"partitions"`
	}
	if err := yaml.Unmarshal([]byte(text), &document); err != nil {
		return nil, err
	}
	return document.Partitions[0], nil
}

// textOf is the text of a configuration with one partition.
func textOf(partition map[string]any) (string, error) {
	out, err := yaml.Marshal(map[string]any{"partitions": []any{partition}})
	return string(out), err
}

// child is the mapping below a key, which is made if it is not there.
func child(of map[string]any, key string) map[string]any {
	below, ok := of[key].(map[string]any)
	if !ok {
		below = map[string]any{}
		of[key] = below
	}
	return below
}

// findQueue finds a queue below a partition that was read without a problem. The
// queues of a partition are the root alone, or what is below it.
func findQueue(of map[string]any, path api.QueuePath) map[string]any {
	for i, name := range strings.Split(string(path), ".") {
		found := false
		list, _ := of["queues"].([]any)
		for _, item := range list {
			if isQueue(item, name) {
				of, found = item.(map[string]any), true
				break
			}
		}
		if !found && i > 0 {
			return nil
		}
	}
	return of
}
