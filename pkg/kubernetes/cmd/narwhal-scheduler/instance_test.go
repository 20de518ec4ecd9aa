package main

import (
	"testing"
	"time"

	"gotest.tools/v3/assert"
)

// silence is partitions, and how long they have not answered.
type silence map[string]time.Duration

func (s silence) Partitions() []string { return []string{"a", "b"} }

func (s silence) Unanswered(partition string) time.Duration { return s[partition] }

// A process is to be started anew when a partition does not answer for longer than it ever takes to schedule.
func TestHangs(t *testing.T) {
	assert.NilError(t, hangs(silence{"a": 5 * time.Second}))
	assert.Error(t, hangs(silence{"b": 90*time.Second + 1}), "partition b has not answered for 1m30s")
}
