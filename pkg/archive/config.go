package archive

import (
	"errors"
	"fmt"
	"time"
)

// What holds where nothing is configured.
const (
	DefaultMax  = 1000
	DefaultKeep = 72 * time.Hour

	DefaultHistory = 6 * time.Hour
)

// Config bounds what is kept of each partition. Zero means the default.
type Config struct {
	// EndedMax and RejectedMax are the most applications that are kept after their
	// end, and Keep is for how long they are.
	EndedMax, RejectedMax int
	Keep                  time.Duration
	// PlansMax is the most plans that are kept. Fewer are if they tell of very many
	// allocations.
	PlansMax int
	// History is how far back points of use go. Whatever it is there are as many points,
	// so a longer history has longer steps.
	History time.Duration
	// Accounts counts work by queue, user and day, to be taken with TakeAccounts.
	Accounts bool
}

// Validate reports every problem of the configuration at once.
func (c Config) Validate() error {
	var problems []error
	for name, value := range map[string]int64{
		"EndedMax": int64(c.EndedMax), "RejectedMax": int64(c.RejectedMax), "PlansMax": int64(c.PlansMax), "Keep": int64(c.Keep),
		"History": int64(c.History),
	} {
		if value < 0 {
			problems = append(problems, fmt.Errorf("archive config: %s is negative", name))
		}
	}
	return errors.Join(problems...)
}

func (c Config) withDefaults() Config {
	for _, n := range []*int{&c.EndedMax, &c.RejectedMax, &c.PlansMax} {
		if *n == 0 {
			*n = DefaultMax
		}
	}
	if c.Keep == 0 {
		c.Keep = DefaultKeep
	}
	if c.History == 0 {
		c.History = DefaultHistory
	}
	return c
}
