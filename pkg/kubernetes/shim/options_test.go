package shim

import (
	"testing"
	"time"

	"gotest.tools/v3/assert"
)

// What is left out has the defaults that the docstring names.
func TestDefaultsOfOptions(t *testing.T) {
	t.Parallel()
	o := Options{}.withDefaults()
	assert.DeepEqual(t, []int{o.BindWorkers, o.PrepareWorkers, o.EvictWorkers, o.StatusWorkers}, []int{32, 64, 16, 8})
	assert.DeepEqual(t, []int{o.StatusesPerSecond, o.BindAttempts, o.PlaceholdersMax, o.PlaceholderBytesMax}, []int{100, 3, 1000, 16384})
	assert.DeepEqual(t, []time.Duration{o.BindTimeout, o.PrepareTimeout, o.RetryDelay, o.RetryMax},
		[]time.Duration{30 * time.Second, 10 * time.Minute, 200 * time.Millisecond, 30 * time.Second})
	assert.ErrorContains(t, Options{EvictWorkers: -1, BindTimeout: -1}.Validate(), "EvictWorkers is negative")
}
