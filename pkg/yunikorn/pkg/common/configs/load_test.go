package configs

import (
	"testing"

	"go.yaml.in/yaml/v3"
	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/config"
)

const text = `partitions:
  - name: Default
    placementrules:
      - name: fixed
        value: dev
        filter: {type: allow, users: [anna]}
        parent: {name: user, create: true}
    limits:
      - limit: all
        users: ['*']
        maxresources: {vcore: 500m}
        maxapplications: 3
    preemption: {enabled: false, preemption_start_delay: 7s}
    nodesortpolicy: {type: binpacking, resourceweights: {vcore: 0.5}}
    usergroupresolver: {type: os}
    queues:
      - name: dev
        submitacl: anna
        properties: {priority.offset: '5'}
        resources: {guaranteed: {vcore: 1}, max: {vcore: 4, memory: 8Gi}}
      - name: ops
        parent: true
        maxapplications: 4
        childtemplate: {maxapplications: 2, properties: {a: b}, resources: {max: {vcore: 1}}}
`

// TestLoad: what is in a text is in the data, and what it may leave out too.
func TestLoad(t *testing.T) {
	config, err := LoadSchedulerConfigFromByteArray([]byte(text))
	assert.NilError(t, err)
	no := false
	limits := []Limit{{Limit: "all", Users: []string{"*"}, MaxResources: map[string]string{"vcore": "500m"}, MaxApplications: 3}}
	assert.DeepEqual(t, config.Partitions, []PartitionConfig{{
		Name: "default",
		PlacementRules: []PlacementRule{{
			Name: "fixed", Value: "dev", Filter: Filter{Type: "allow", Users: []string{"anna"}},
			Parent: &PlacementRule{Name: "user", Create: true},
		}},
		Limits: limits,
		Preemption: PartitionPreemptionConfig{
			Enabled: &no, Further: map[string]any{"preemption_start_delay": "7s"},
		},
		NodeSortPolicy:    NodeSortingPolicy{Type: "binpacking", ResourceWeights: map[string]float64{"vcore": 0.5}},
		UserGroupResolver: UserGroupResolver{Type: "os"},
		Queues: []QueueConfig{{
			Name: "root", Parent: true, Limits: limits, Queues: []QueueConfig{
				{
					Name: "dev", SubmitACL: "anna", Properties: map[string]string{PriorityOffset: "5"},
					Resources: Resources{Guaranteed: map[string]string{"vcore": "1"}, Max: map[string]string{"vcore": "4", "memory": "8Gi"}},
				},
				{Name: "ops", Parent: true, MaxApplications: 4, ChildTemplate: ChildTemplate{
					MaxApplications: 2, Properties: map[string]string{"a": "b"}, Resources: Resources{Max: map[string]string{"vcore": "1"}},
				}},
			},
		}},
	}})
	assert.Equal(t, len(config.Checksum), 64)
}

// TestWrittenAgain: a program may read a configuration, change it, and send it: nothing is lost.
func TestWrittenAgain(t *testing.T) {
	data, err := LoadSchedulerConfigFromByteArray([]byte(text))
	assert.NilError(t, err)
	written, err := yaml.Marshal(data)
	assert.NilError(t, err)
	before, err := config.LikeYuniKorn().Load(text, nil)
	assert.NilError(t, err)
	after, err := config.LikeYuniKorn().Load(string(written), nil)
	assert.NilError(t, err, "%s", written)
	assert.DeepEqual(t, after.Partitions[0].Preemption, before.Partitions[0].Preemption)
	assert.DeepEqual(t, after.Partitions[0].Nodes, before.Partitions[0].Nodes)
	again, err := LoadSchedulerConfigFromByteArray(written)
	assert.NilError(t, err)
	again.Checksum = data.Checksum // of another text
	assert.DeepEqual(t, again, data)
}

// TestLimitsOfRoot: root keeps its own limits, and has those of the partition where it has none.
func TestLimitsOfRoot(t *testing.T) {
	for text, want := range map[string][]string{
		"partitions: [{queues: [{name: root, queues: [{name: a}], limits: [{users: [anna], maxapplications: 1}]}]}]":  {"anna"},
		"partitions: [{queues: [{name: ROOT, queues: [{name: a}]}], limits: [{users: [berta], maxapplications: 1}]}]": {"berta"},
		"partitions: [{queues: [{name: a}, {name: b}], limits: [{users: [berta], maxapplications: 1}]}]":              {"berta"},
	} {
		config, err := LoadSchedulerConfigFromByteArray([]byte(text))
		assert.NilError(t, err)
		assert.Equal(t, len(config.Partitions[0].Queues), 1, text)
		assert.Equal(t, config.Partitions[0].Queues[0].Name, "root", text)
		assert.Equal(t, config.Partitions[0].Queues[0].Queues[0].Name, "a", text)
		assert.Equal(t, len(config.Partitions[0].Queues[0].Limits), 1, text)
		assert.DeepEqual(t, config.Partitions[0].Queues[0].Limits[0].Users, want)
	}
}

// TestSmallestWritten: what a program makes from nothing is valid.
func TestSmallestWritten(t *testing.T) {
	written, err := yaml.Marshal(&SchedulerConfig{Partitions: []PartitionConfig{{
		Name: "default", Queues: []QueueConfig{{Name: "root", Queues: []QueueConfig{{Name: "dev"}}}},
	}}})
	assert.NilError(t, err)
	_, err = LoadSchedulerConfigFromByteArray(written)
	assert.NilError(t, err, "%s", written)
}

// TestWrongIsRefused: all that is wrong is named, with its place.
func TestWrongIsRefused(t *testing.T) {
	_, err := LoadSchedulerConfigFromByteArray([]byte("partitions: [{queues: [{name: a, colour: red}, {name: A}]}]"))
	assert.ErrorContains(t, err, "colour")
	assert.ErrorContains(t, err, "line 1")
	assert.ErrorContains(t, err, "upper and lower case")
}

// TestEmptyIsTheVariable: the empty text stands for what the variable says at that moment.
func TestEmptyIsTheVariable(t *testing.T) {
	before := DefaultSchedulerConfig
	defer func() { DefaultSchedulerConfig = before }()
	config, err := LoadSchedulerConfigFromByteArray(nil)
	assert.NilError(t, err)
	assert.Equal(t, config.Partitions[0].PlacementRules[0].Value, "namespace")
	DefaultSchedulerConfig = "partitions: [{name: other, queues: []}]"
	config, err = LoadSchedulerConfigFromByteArray(nil)
	assert.NilError(t, err)
	assert.Equal(t, config.Partitions[0].Name, "other")
	assert.Equal(t, config.Partitions[0].Queues[0].Name, "root")
	config, err = LoadSchedulerConfigFromByteArray([]byte("partitions: [{queues: [{name: a}]}]"))
	assert.NilError(t, err)
	assert.Equal(t, config.Partitions[0].Name, "default")
}
