package scheduler

import (
	"sync/atomic"
	"time"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"go.uber.org/zap"

	"github.com/narwhal-scheduler/narwhal/pkg/archive"
	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/events"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// A recorder writes down what the partitions of a resource manager do: as event
// records, which the resource manager is sent, and in the archive. It belongs to the
// dispatcher.
type recorder struct {
	history     *events.History  // nil without one
	store       *events.Store    // of records of the history that were not sent
	archive     *archive.Archive // may be nil
	log         *zap.Logger
	kinds       *resources.Kinds
	byPartition map[string]*events.Recorder // with a history
	records     []*si.EventRecord           // scratch
	direct      []recordedEvent             // whose records were not sent, without a history
	untracked   *atomic.Bool                // of the registration: there are none without a history
}

// A recordedEvent is an event of which the resource manager is to be sent records. They are made
// when they are sent, as they are larger.
type recordedEvent struct {
	at    time.Time
	event api.Event
}

func (s *Scheduler) newRecorder(r *registration) *recorder {
	return &recorder{
		history: s.config.Events, store: r.store, archive: s.config.Archive, kinds: s.kinds, byPartition: map[string]*events.Recorder{},
		untracked: &r.untracked,
		log:       s.loggers.of(logUsage).With(zap.String("resourceManager", r.id)),
	}
}

// recordsAll reports whether every step is recorded. Otherwise those are of which the
// resource manager is sent records in any case.
func (c Config) recordsAll() bool { return c.Events != nil || c.Archive != nil }

// record writes down a step of a partition.
func (r *recorder) record(s *step) {
	if s.book != nil {
		for _, ended := range s.book.Observe(s.Step) {
			r.summarise(s.from.name, ended)
		}
	}
	if r.history != nil {
		r.publish(s)
	} else if !r.untracked.Load() {
		r.recordDirectly(s)
	}
	if s.ends {
		delete(r.byPartition, s.from.name)
		if s.book != nil {
			r.archive.Close(s.from.name, s.book)
		}
	}
}

// publish makes event records of a step for the history.
func (r *recorder) publish(s *step) {
	maker := r.byPartition[s.from.name]
	if maker == nil || s.begins {
		maker = events.NewRecorder(r.kinds)
		r.byPartition[s.from.name] = maker
	}
	if !r.history.Enabled() {
		maker.Skip(s.Step)
		return
	}
	r.records = maker.Record(r.records[:0], s.Step)
	if s.book != nil {
		for _, expired := range s.book.Expired() {
			r.records = append(r.records, events.Expired(s.Now, expired.ID))
		}
	}
	r.store.Put(r.history.Publish(r.records))
}

// recordDirectly keeps the events of which the resource manager is sent records without a
// history.
func (r *recorder) recordDirectly(s *step) {
	for _, event := range s.Effects {
		if isAlwaysRecorded(event) {
			r.direct = append(r.direct, recordedEvent{s.Now, event})
		}
	}
}

// unsent are the event records that the resource manager has not been sent. The
// slice belongs to the caller.
func (r *recorder) unsent() []*si.EventRecord {
	if r.history != nil {
		return r.store.Take()
	}
	var records []*si.EventRecord
	for _, e := range r.direct {
		records = append(records, events.Records(r.kinds, e.at, e.event)...)
	}
	r.direct = nil
	return records
}

// summarise logs what an application was, if it ever ran.
func (r *recorder) summarise(partition string, record *archive.ApplicationRecord) {
	if record.Started.IsZero() {
		return
	}
	r.log.Info("application usage",
		zap.String("partition", partition), zap.String("application", string(record.ID)), zap.String("queue", string(record.Queue)),
		zap.String("user", record.User), zap.String("state", record.State),
		dated("submitted", record.Submitted), dated("started", record.Started), dated("finished", record.Finished),
		r.usage("used", record.Used), r.usage("preempted", record.Preempted), r.usage("placeholders", record.Placeholders))
}

// dated is a time that has its day, however times are written in the log.
func dated(name string, t time.Time) zap.Field {
	return zap.String(name, t.UTC().Format(time.RFC3339Nano))
}

// usage is amounts times seconds as fields, by type of instance and kind.
func (r *recorder) usage(name string, list []archive.ResourceUsage) zap.Field {
	instances := make([]zap.Field, len(list))
	for i, s := range list {
		var kinds []zap.Field
		for k, quantity := range s.Amounts {
			if quantity != 0 {
				kinds = append(kinds, zap.Int64(r.kinds.Name(resources.Kind(k)), quantity))
			}
		}
		instances[i] = zap.Dict(s.Instance, kinds...)
	}
	return zap.Dict(name, instances...)
}

// beginning is the first step of a partition.
func (o *owner) beginning(now time.Time, config api.Config) *step {
	first := api.Effects{&api.Reconfigured{After: config.Root}}
	return &step{Step: events.Step{Now: now, Effects: first}, from: o, recorded: true, begins: true, book: o.book}
}
