package config

import (
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
)

// TestDefaults plays a program that expects other defaults: they hold where the text is
// silent, and give way to what it says.
func TestDefaults(t *testing.T) {
	const silent, open, slow = "partitions: [{queues: []}]", "partitions: [{queues: [{name: root, submitacl: '*'}]}]",
		"partitions: [{queues: [], preemption: {preemption_start_delay: 7s}}]"
	zero := time.Duration(0)
	for _, c := range []struct {
		name, text string
		defaults   Defaults
		delay      time.Duration
		closed     bool
	}{
		{"documented", silent, Defaults{}, 30 * time.Second, false},
		{"documented, with a list", open, Defaults{}, 30 * time.Second, true},
		{"others", silent, Defaults{StartDelay: &zero, Closed: true}, 0, true},
		{"others, with a list", open, Defaults{StartDelay: &zero, Closed: true}, 0, true},
		{"others, without effect", slow, Defaults{StartDelay: &zero}, 7 * time.Second, false},
		{"an empty section", "partitions: [{queues: [], preemption: {enabled: true}}]", Defaults{StartDelay: &zero}, 0, false},
		{"the empty text", "", Defaults{StartDelay: &zero, Closed: true}, 0, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			d, err := c.defaults.Load(c.text, nil)
			assert.NilError(t, err)
			assert.Equal(t, d.Partitions[0].Preemption.RequiredNode.StartDelay, c.delay)
			assert.Equal(t, d.Partitions[0].Closed, c.closed)
		})
	}
}

// TestSecondPartitionIsClosedByDefault: what one partition names does not count for the next.
func TestSecondPartitionIsClosedByDefault(t *testing.T) {
	d, err := Defaults{Closed: true}.Load("partitions: [{queues: [{name: root, submitacl: anna}]}, {name: two, queues: []}]", nil)
	assert.NilError(t, err)
	assert.Assert(t, d.Partitions[0].Closed && d.Partitions[1].Closed)
}

// TestLikeYuniKorn: a text that says nothing is read as YuniKorn does, and what it says goes before that, key by key.
func TestLikeYuniKorn(t *testing.T) {
	read := func(text string) api.PreemptionConfig {
		d, err := LikeYuniKorn().Load(text, nil)
		assert.NilError(t, err)
		return d.Partitions[0].Preemption
	}
	p := read("partitions: [{queues: []}]")
	assert.Assert(t, p.Priority == api.PriorityOff && !p.ByQoS && p.RequiredNode.SpareForeign && p.RequiredNode.StartDelay == 0)
	assert.DeepEqual(t, p, read("partitions: [{queues: [], preemption: {enabled: true}}]"))
	own := read(`partitions: [{queues: [], preemption: {preemption_priority: strict, preemption_victim_order: qos,
		preemption_foreign_pods: true, preemption_start_delay: 30s}}]`)
	assert.DeepEqual(t, own, Defaults{}.preemption())
}

// TestDefaultsAreValidated: a delay that no text may give is an error and no panic.
func TestDefaultsAreValidated(t *testing.T) {
	negative := -time.Second
	_, err := Defaults{StartDelay: &negative}.Load("partitions: [{queues: [], preemption: {}}]", nil)
	assert.ErrorContains(t, err, "negative")
}
