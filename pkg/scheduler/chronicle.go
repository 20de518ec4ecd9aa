package scheduler

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"

	"github.com/narwhal-scheduler/narwhal/pkg/core"
	"github.com/narwhal-scheduler/narwhal/pkg/events"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// A step is what a partition did at once, on its way to the chronicle. It goes
// through the outbox before the effects that it caused.
type step struct {
	events.Step
	begins bool // the partition is new
}

// A chronicle turns what the partitions of a resource manager do into events, and
// has it told of them. It belongs to the courier.
type chronicle struct {
	history *events.History
	store   *events.Store
	kinds   *resources.Kinds
	scribes map[string]*events.Scribe // by partition
	records []*si.EventRecord         // scratch
}

func newChronicle(history *events.History, store *events.Store, kinds *resources.Kinds) *chronicle {
	if history == nil {
		return nil
	}
	return &chronicle{history: history, store: store, kinds: kinds, scribes: map[string]*events.Scribe{}}
}

// take writes down a step of a partition.
func (c *chronicle) take(partition string, s step) {
	scribe := c.scribes[partition]
	if scribe == nil || s.begins {
		scribe = events.NewScribe(c.kinds)
		c.scribes[partition] = scribe
	}
	if !c.history.Enabled() {
		scribe.Follow(s.Step)
		return
	}
	c.records = scribe.Tell(c.records[:0], s.Step)
	c.store.Put(c.history.Publish(c.records))
}

// The keys of the extra configuration that bound events.
const (
	keyTracking      = "event.trackingEnabled"
	keyRing          = "event.ringBufferCapacity"
	keyRequests      = "event.requestCapacity"
	keyStreams       = "event.maxStreams"
	keyClientStreams = "event.maxStreamsPerHost"
)

// eventLimits reads the bounds of events from an extra configuration. What is not
// in it is as it was at the beginning; so is what is wrong, and the error names
// all of that.
func eventLimits(base events.Config, extra map[string]string) (limits events.Config, requests int, err error) {
	limits = base
	var problems []error
	if text, ok := extra[keyTracking]; ok {
		on, err := strconv.ParseBool(text)
		if err != nil {
			problems = append(problems, fmt.Errorf("%s: %q is neither true nor false", keyTracking, text))
		} else {
			limits.Disabled = !on
		}
	}
	number := func(key string, into *int, most int) {
		text, ok := extra[key]
		if !ok {
			return
		}
		n, err := strconv.Atoi(text)
		if err != nil || n < 0 || n > most {
			problems = append(problems, fmt.Errorf("%s: %q is not a number from 0 to %d", key, text, most))
			return
		}
		*into = n
	}
	number(keyRing, &limits.Capacity, events.CapacityMax)
	number(keyRequests, &requests, events.CapacityMax)
	number(keyStreams, &limits.StreamsMax, events.CapacityMax)
	number(keyClientStreams, &limits.StreamsPerClientMax, events.CapacityMax)
	return limits, requests, errors.Join(problems...)
}

// flush tells the resource manager of the events that it has not heard of.
func (c *courier) flush() {
	if c.chronicle == nil {
		return
	}
	if records := c.chronicle.store.Take(); len(records) > 0 {
		c.callback.SendEvent(slices.Clone(records))
	}
}

// beginning is the first step of a partition.
func beginning(now time.Time, config core.Config) step {
	return step{Step: events.Step{Now: now, Command: core.Reconfigure{Config: config}}, begins: true}
}
