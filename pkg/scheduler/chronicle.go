package scheduler

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"go.uber.org/zap"

	"github.com/narwhal-scheduler/narwhal/pkg/archive"
	"github.com/narwhal-scheduler/narwhal/pkg/core"
	"github.com/narwhal-scheduler/narwhal/pkg/events"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// A step is what a partition did at once, on its way to the chronicle. It goes
// through the outbox before the effects that it caused.
type step struct {
	events.Step
	begins, ends bool          // the partition is new, or will do no more
	book         *archive.Book // of the partition; nil without an archive
}

// A chronicle writes down what the partitions of a resource manager do: as events,
// of which it has the resource manager told, and in their books. It belongs to the
// courier.
type chronicle struct {
	history *events.History // nil where nobody asks for events
	store   *events.Store
	archive *archive.Archive // may be nil
	log     *zap.Logger
	kinds   *resources.Kinds
	scribes map[string]*events.Recorder // by partition
	records []*si.EventRecord           // scratch
}

// newChronicle makes the chronicle of a resource manager; nil if nobody asks for
// what it would write.
func (s *Scheduler) newChronicle(r *registration) *chronicle {
	if !s.config.chronicled() {
		return nil
	}
	return &chronicle{
		history: s.config.Events, store: r.store, archive: s.config.Archive, kinds: s.kinds, scribes: map[string]*events.Recorder{},
		log: s.config.Logger.With(zap.String("resourceManager", r.id)),
	}
}

// chronicled reports whether anybody asks for what partitions do.
func (c Config) chronicled() bool { return c.Events != nil || c.Archive != nil }

// take writes down a step of a partition.
func (c *chronicle) take(partition string, s step) {
	if s.book != nil {
		for _, life := range s.book.Observe(s.Step) {
			c.summarise(partition, life)
		}
	}
	if c.history != nil {
		c.tell(partition, s)
	}
	if s.ends && s.book != nil {
		c.archive.Close(partition, s.book)
	}
}

// tell makes events of a step.
func (c *chronicle) tell(partition string, s step) {
	scribe := c.scribes[partition]
	if scribe == nil || s.begins {
		scribe = events.NewRecorder(c.kinds)
		c.scribes[partition] = scribe
	}
	if !c.history.Enabled() {
		scribe.Skip(s.Step)
		return
	}
	c.records = scribe.Record(c.records[:0], s.Step)
	c.store.Put(c.history.Publish(c.records))
}

// summarise logs what an application was, if it ever ran.
func (c *chronicle) summarise(partition string, life *archive.ApplicationRecord) {
	if life.Started.IsZero() {
		return
	}
	c.log.Info("application usage",
		zap.String("partition", partition), zap.String("application", string(life.ID)), zap.String("queue", string(life.Queue)),
		zap.String("user", life.User), zap.String("state", life.State),
		dated("submitted", life.Submitted), dated("started", life.Started), dated("finished", life.Finished),
		c.spent("used", life.Used), c.spent("preempted", life.Preempted), c.spent("placeholders", life.Placeholders))
}

// dated is a time that has its day, however times are written in the log.
func dated(name string, t time.Time) zap.Field {
	return zap.String(name, t.UTC().Format(time.RFC3339Nano))
}

// spent is amounts times seconds as fields, by type of instance and kind.
func (c *chronicle) spent(name string, list []archive.ResourceUsage) zap.Field {
	instances := make([]zap.Field, len(list))
	for i, s := range list {
		var kinds []zap.Field
		for k, quantity := range s.Amounts {
			if quantity != 0 {
				kinds = append(kinds, zap.Int64(c.kinds.Name(resources.Kind(k)), quantity))
			}
		}
		instances[i] = zap.Dict(s.Instance, kinds...)
	}
	return zap.Dict(name, instances...)
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
	if c.chronicle == nil || c.chronicle.history == nil {
		return
	}
	if records := c.chronicle.store.Take(); len(records) > 0 {
		c.callback.SendEvent(slices.Clone(records))
	}
}

// beginning is the first step of a partition.
func beginning(now time.Time, config core.Config, book *archive.Book) step {
	return step{Step: events.Step{Now: now, Command: core.Reconfigure{Config: config}}, begins: true, book: book}
}
