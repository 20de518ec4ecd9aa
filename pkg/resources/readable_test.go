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
