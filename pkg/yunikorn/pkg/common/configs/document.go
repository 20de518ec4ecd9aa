package configs

// A SchedulerConfig is a configuration text as data. Names in JSON are those of the fields,
// and in YAML the same in lower case.
type SchedulerConfig struct {
	Partitions []PartitionConfig
	Checksum   string `json:",omitempty" yaml:",omitempty"`
}

// A PartitionConfig is one partition.
type PartitionConfig struct {
	Name              string
	Queues            []QueueConfig
	PlacementRules    []PlacementRule           `json:",omitempty" yaml:",omitempty"`
	Limits            []Limit                   `json:",omitempty" yaml:",omitempty"`
	Preemption        PartitionPreemptionConfig `json:",omitempty" yaml:",omitempty"`
	NodeSortPolicy    NodeSortingPolicy         `json:",omitempty" yaml:",omitempty"`
	UserGroupResolver UserGroupResolver         `json:",omitempty" yaml:",omitempty"`
}

// A PartitionPreemptionConfig says whether room is made for asks; nil is the default of a key.
type PartitionPreemptionConfig struct {
	Enabled                *bool `json:",omitempty" yaml:",omitempty"`
	QuotaPreemptionEnabled *bool `json:",omitempty" yaml:",omitempty"`

	// Further are the keys of this scheduler, which YuniKorn does not know. They are kept,
	// so that a text which is read, changed and written again loses nothing.
	Further map[string]any `json:"-" yaml:",inline"`
}

// A NodeSortingPolicy orders nodes.
type NodeSortingPolicy struct {
	Type            string             `json:",omitempty" yaml:",omitempty"`
	ResourceWeights map[string]float64 `json:",omitempty" yaml:",omitempty"`
}

// A UserGroupResolver finds the groups of users.
type UserGroupResolver struct {
	Type string `json:"type,omitempty" yaml:"type,omitempty"`
}

// A QueueConfig is a queue and what is below it.
type QueueConfig struct {
	Name            string
	Parent          bool              `json:",omitempty" yaml:",omitempty"`
	Resources       Resources         `json:",omitempty" yaml:",omitempty"`
	MaxApplications uint64            `json:",omitempty" yaml:",omitempty"`
	Properties      map[string]string `json:",omitempty" yaml:",omitempty"`
	AdminACL        string            `json:",omitempty" yaml:",omitempty"`
	SubmitACL       string            `json:",omitempty" yaml:",omitempty"`
	ChildTemplate   ChildTemplate     `json:",omitempty" yaml:",omitempty"`
	Queues          []QueueConfig     `json:",omitempty" yaml:",omitempty"`
	Limits          []Limit           `json:",omitempty" yaml:",omitempty"`
}

// A ChildTemplate is what dynamic leaf queues begin with.
type ChildTemplate struct {
	MaxApplications uint64            `json:",omitempty" yaml:",omitempty"`
	Properties      map[string]string `json:",omitempty" yaml:",omitempty"`
	Resources       Resources         `json:",omitempty" yaml:",omitempty"`
}

// Resources are quantities as people write them, by kind.
type Resources struct {
	Guaranteed map[string]string `json:",omitempty" yaml:",omitempty"`
	Max        map[string]string `json:",omitempty" yaml:",omitempty"`
}

// A Limit bounds what users and groups may have in a queue.
type Limit struct {
	Limit           string            // what it is for
	Users           []string          `json:",omitempty" yaml:",omitempty"`
	Groups          []string          `json:",omitempty" yaml:",omitempty"`
	MaxResources    map[string]string `json:",omitempty" yaml:",omitempty"`
	MaxApplications uint64            `json:",omitempty" yaml:",omitempty"`
}

// A PlacementRule finds the queue of an application.
type PlacementRule struct {
	Name   string
	Create bool           `json:",omitempty" yaml:",omitempty"`
	Filter Filter         `json:",omitempty" yaml:",omitempty"`
	Parent *PlacementRule `json:",omitempty" yaml:",omitempty"`
	Value  string         `json:",omitempty" yaml:",omitempty"`
}

// A Filter says to which users a rule applies.
type Filter struct {
	Type   string
	Users  []string `json:",omitempty" yaml:",omitempty"`
	Groups []string `json:",omitempty" yaml:",omitempty"`
}
