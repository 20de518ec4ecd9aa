// Package configs has the configuration of queues as data, for programs that read, change and
// write it.
//
//	document.go  the data
//	load.go      a text becomes data, if it is valid; the names of properties
package configs

import (
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/narwhal-scheduler/narwhal/pkg/config"
)

// DefaultSchedulerConfig is what the empty configuration stands for: a queue for each
// namespace. A program may set it before it registers or updates its configuration.
var DefaultSchedulerConfig = `partitions:
  - name: default
    placementrules: [{name: tag, value: namespace, create: true}]
    queues: [{name: root, submitacl: '*'}]
`

// The names of properties of queues, and their values that are words.
const (
	ApplicationSortPolicy   = "application.sort.policy"
	ApplicationSortPriority = "application.sort.priority"
	PriorityPolicy          = "priority.policy"
	PriorityOffset          = "priority.offset"
	PreemptionPolicy        = "preemption.policy"
	PreemptionDelay         = "preemption.delay"
	QuotaPreemptionDelay    = "quota.preemption.delay"
)

const (
	root             = "root"
	defaultPartition = "default"
)

// Text is the text that a configuration stands for: itself, or, if it is empty, that of
// DefaultSchedulerConfig.
func Text(content string) string {
	if content == "" {
		return DefaultSchedulerConfig
	}
	return content
}

// LoadSchedulerConfigFromByteArray validates a configuration as the scheduler does and makes
// data of it. The error names everything that is wrong. In the data every partition has
// a name and one queue at the top, root, and the limits of a partition are those of root too.
func LoadSchedulerConfigFromByteArray(content []byte) (*SchedulerConfig, error) {
	text := Text(string(content))
	document, err := config.LikeYuniKorn().Load(text, nil)
	if err != nil {
		return nil, fmt.Errorf("configuration: %w", err)
	}
	data := new(SchedulerConfig)
	if err := yaml.Unmarshal([]byte(text), data); err != nil {
		return nil, fmt.Errorf("configuration: %w", err)
	}
	for i := range data.Partitions {
		data.Partitions[i].complete()
	}
	data.Checksum = document.Checksum
	return data, nil
}

// complete adds what a text may leave out.
func (p *PartitionConfig) complete() {
	p.Name = strings.ToLower(p.Name)
	if p.Name == "" {
		p.Name = defaultPartition
	}
	if len(p.Queues) != 1 || !strings.EqualFold(p.Queues[0].Name, root) {
		p.Queues = []QueueConfig{{Name: root, Queues: p.Queues}}
	}
	top := &p.Queues[0]
	top.Name, top.Parent = root, true
	if len(top.Limits) == 0 {
		top.Limits = p.Limits
	}
}
