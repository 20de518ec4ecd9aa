// Package locking decides whether the locks of a program are checked for deadlocks.
//
// This scheduler has no locks to check. But programs that use the locks of package
// go-deadlock expect that importing this package sets the options of that one: off, unless
// the environment says otherwise.
package locking

import (
	"os"
	"strconv"
	"time"

	"github.com/sasha-s/go-deadlock"
)

// The variables of the environment.
const (
	keyEnabled = "DEADLOCK_DETECTION_ENABLED"
	keyTimeout = "DEADLOCK_TIMEOUT_SECONDS"
	keyExit    = "DEADLOCK_EXIT"
	keyNoOrder = "DEADLOCK_DISABLE_LOCK_ORDER"
)

// defaultTimeout is how long a lock may be waited for if nothing else is said.
const defaultTimeout = 60 * time.Second

var enabled = configure(os.Getenv)

// configure sets the options as an environment says, and returns whether locks are checked.
func configure(getenv func(string) string) bool {
	on := truth(getenv(keyEnabled))
	options := &deadlock.Opts
	options.Disable = !on
	options.DisableLockOrderDetection = truth(getenv(keyNoOrder))
	options.DeadlockTimeout = defaultTimeout
	if seconds, err := strconv.Atoi(getenv(keyTimeout)); err == nil && seconds >= 0 {
		options.DeadlockTimeout = time.Duration(seconds) * time.Second
	}
	options.OnPotentialDeadlock = func() {}
	if truth(getenv(keyExit)) {
		options.OnPotentialDeadlock = func() { os.Exit(1) }
	}
	return on
}

// truth is a value that says yes; what cannot be read says no.
func truth(text string) bool {
	yes, err := strconv.ParseBool(text)
	return err == nil && yes
}

// IsTrackingEnabled reports whether locks are checked.
func IsTrackingEnabled() bool { return enabled }
