package locking

import (
	"testing"
	"time"

	"github.com/sasha-s/go-deadlock"
	"gotest.tools/v3/assert"
)

// TestOffByDefault: a program that takes this package in has locks that are not checked.
func TestOffByDefault(t *testing.T) {
	assert.Assert(t, !IsTrackingEnabled())
	assert.Assert(t, deadlock.Opts.Disable)
}

// TestEnvironment: the environment switches it on, with its limits.
func TestEnvironment(t *testing.T) {
	defer configure(func(string) string { return "" })
	for _, c := range []struct {
		environment map[string]string
		on, order   bool
		timeout     time.Duration
	}{
		{nil, false, true, time.Minute},
		{map[string]string{keyEnabled: "true"}, true, true, time.Minute},
		{map[string]string{keyEnabled: "1", keyTimeout: "5", keyNoOrder: "true", keyExit: "true"}, true, false, 5 * time.Second},
		{map[string]string{keyEnabled: "perhaps", keyTimeout: "long"}, false, true, time.Minute},
		{map[string]string{keyEnabled: "false", keyTimeout: "-1"}, false, true, time.Minute},
	} {
		on := configure(func(key string) string { return c.environment[key] })
		assert.Equal(t, on, c.on, "%v", c.environment)
		assert.Equal(t, deadlock.Opts.Disable, !c.on, "%v", c.environment)
		assert.Equal(t, deadlock.Opts.DisableLockOrderDetection, !c.order, "%v", c.environment)
		assert.Equal(t, deadlock.Opts.DeadlockTimeout, c.timeout, "%v", c.environment)
		assert.Assert(t, deadlock.Opts.OnPotentialDeadlock != nil)
	}
}
