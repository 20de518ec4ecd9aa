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

// A Change is new limits of a queue from a time on, as an operator sets them.
// Kinds that it does not name stay as they are.
type Change struct {
	At         time.Duration
	Queue      api.QueuePath
	Max        map[string]string // by kind, as in a configuration
	Guaranteed map[string]string

	stands yamltree.Value // where it was read, for its problems
}

// String says what changes, without the queue.
func (c *Change) String() string {
	var parts []string
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

// change has the core use what a change comes to.
func (c *cluster) change(i int) {
	one := &c.scenario.Changes[i]
	c.config, c.changes = c.scenario.changed[i], i+1
	c.send(api.Reconfigure{Config: c.config})
	c.counts.incidents = append(c.counts.incidents, IncidentRecord{
		At: seconds(c.now), What: "limit", Queue: string(one.Queue), Detail: one.String(),
	})
}

// workOutChanges makes the configuration that each change comes to, one after
// the other. The error is of the change at the index.
func (s *Scenario) workOutChanges() (at int, err error) {
	s.changed = nil
	text := s.queues
	for i := range s.Changes {
		if text, err = s.Changes[i].applied(text); err != nil {
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
		s.changed = append(s.changed, document.Partitions[0])
	}
	return 0, nil
}

// lineNumbers are those of a text that was made here, and that no user has seen.
var lineNumbers = regexp.MustCompile(` \(line \d+\)`)

// applied is the text of a configuration with the change.
func (c *Change) applied(text string) (string, error) {
	return edited(text, func(partition map[string]any) error {
		queue := findQueue(partition, c.Queue)
		if queue == nil {
			return fmt.Errorf("there is no queue %s", c.Queue)
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
	})
}

// edited is the text of a configuration that was read without a problem, with its
// partition edited: there is one.
func edited(text string, edit func(partition map[string]any) error) (string, error) {
	var document struct {
		Partitions []map[string]any `yaml:"partitions"`
	}
	if err := yaml.Unmarshal([]byte(text), &document); err != nil {
		return "", err
	}
	for _, partition := range document.Partitions {
		if err := edit(partition); err != nil {
			return "", err
		}
	}
	out, err := yaml.Marshal(document)
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
			queue, _ := item.(map[string]any)
			if text, _ := queue["name"].(string); strings.ToLower(text) == name {
				of, found = queue, true
				break
			}
		}
		if !found && i > 0 {
			return nil
		}
	}
	return of
}
