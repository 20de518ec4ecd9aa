package resources_test

import (
	"slices"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// TestCompareKinds: what is scarce stands before what rarely is.
func TestCompareKinds(t *testing.T) {
	kinds := []string{"pods", "hugepages-1Gi", "nvidia.com/gpu", "memory", "ephemeral-storage", "amd.com/gpu", "vcore"}
	slices.SortFunc(kinds, resources.CompareKinds)
	assert.DeepEqual(t, kinds, []string{"vcore", "memory", "amd.com/gpu", "nvidia.com/gpu", "ephemeral-storage", "hugepages-1Gi", "pods"})
}

// TestThousandths: a number has no more digits than it needs, and no fewer.
func TestThousandths(t *testing.T) {
	for quantity, want := range map[int64]string{
		0: "0", 1: "0.001", 20: "0.02", 500: "0.5", -500: "-0.5", 1000: "1", 1500: "1.5", -2001: "-2.001", 2_002_000: "2002", 64_000_250: "64000.25",
	} {
		assert.Equal(t, resources.Thousandths(quantity), want)
	}
}
