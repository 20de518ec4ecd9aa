package events

import (
	"cmp"
	"errors"
	"fmt"
	"time"
)

// Config bounds a History. The zero value works; it may be changed at any time.
type Config struct {
	// Disabled drops what is published. What is in the history stays, streams
	// stay open, and when it is enabled again everything goes on from there.
	Disabled bool
	// Capacity is how many entries are kept, at most CapacityMax; zero means
	// DefaultCapacity.
	Capacity int
	// Window is for how long repeats are counted with an entry; zero means
	// DefaultWindow, less than zero that every record is an entry.
	Window time.Duration
	// StreamsMax and StreamsPerClientMax are how many streams may be open at
	// once; zero means DefaultStreamsMax and DefaultStreamsPerClientMax. A
	// lower value ends no stream.
	StreamsMax, StreamsPerClientMax int
	// PageMax is the most entries that readers should get at once, which they see to;
	// zero means DefaultPageMax.
	PageMax int
}

// What holds where nothing is configured, and what cannot be configured.
const (
	DefaultCapacity            = 100_000
	DefaultWindow              = 15 * time.Second
	DefaultStreamsMax          = 100
	DefaultStreamsPerClientMax = 15
	DefaultPageMax             = 10_000

	CapacityMax = 1 << 24
)

// Validate reports every value that is out of range.
func (c Config) Validate() error {
	var errs []error
	check := func(name string, value, most int) {
		if value < 0 || value > most {
			errs = append(errs, fmt.Errorf("%s is %d and must be from 0 to %d", name, value, most))
		}
	}
	check("capacity", c.Capacity, CapacityMax)
	check("streams", c.StreamsMax, CapacityMax)
	check("streams per client", c.StreamsPerClientMax, CapacityMax)
	check("entries of a page", c.PageMax, CapacityMax)
	return errors.Join(errs...)
}

func (c Config) withDefaults() Config {
	c.Capacity = cmp.Or(c.Capacity, DefaultCapacity)
	c.Window = cmp.Or(c.Window, DefaultWindow)
	c.StreamsMax = cmp.Or(c.StreamsMax, DefaultStreamsMax)
	c.StreamsPerClientMax = cmp.Or(c.StreamsPerClientMax, DefaultStreamsPerClientMax)
	c.PageMax = cmp.Or(c.PageMax, DefaultPageMax)
	return c
}
