package scheduler

import (
	"testing"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// Equal amounts are the same memory, others are not, and any number of different ones
// is right.
func TestAmountsAreShared(t *testing.T) {
	var s sharedAmounts
	first := s.share(resources.Amounts{1000, 2})
	assert.Assert(t, &s.share(resources.Amounts{1000, 2})[0] == &first[0])
	for i := range int64(5 * sharedMax) {
		assert.DeepEqual(t, s.share(resources.Amounts{i, 1}), resources.Amounts{i, 1})
	}
	assert.DeepEqual(t, first, resources.Amounts{1000, 2})
}

func TestFullName(t *testing.T) {
	for partition, want := range map[string]string{
		"":             "[RM-1]default",
		"default":      "[RM-1]default",
		"Gpu":          "[RM-1]gpu",
		"[RM-1]":       "[RM-1]default",
		"[RM-1]Gpu":    "[RM-1]gpu",
		"[other]batch": "[other]batch",
		"[other":       "[RM-1][other",
	} {
		assert.Equal(t, fullName("RM-1", partition), want, "%q", partition)
	}
}
