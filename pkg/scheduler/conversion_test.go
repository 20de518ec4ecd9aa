package scheduler

import (
	"testing"

	"gotest.tools/v3/assert"
)

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
