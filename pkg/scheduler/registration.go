package scheduler

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	siapi "github.com/apache/yunikorn-scheduler-interface/lib/go/api"
	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"go.uber.org/zap"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/events"
	"github.com/narwhal-scheduler/narwhal/pkg/reports"
)

// ErrNilCallback is returned when a resource manager registers without one.
var ErrNilCallback = errors.New("callback is nil")

// A registration is one resource manager from the moment it registers until it
// does so again. Its fields are guarded by the lock of the scheduler; maps are
// replaced, never changed, so that readers may keep them.
type registration struct {
	id         string
	callback   siapi.ResourceManagerCallback
	outbox     *outbox
	partitions map[string]*owner // by full name, at least one
	fallback   *owner            // the first by name
	former     map[string]*owner // the last owner of every name that was removed
	checksum   string            // of the active configuration
	configs    []api.Config      // the active configuration, by partition
	updating   chan struct{}     // holds one while the configuration is replaced
	extra      map[string]string
	store      *events.Store // of event records that were not sent yet
	untracked  atomic.Bool   // the resource manager wants no event records; used where there is no history
}

// RegisterResourceManager takes in a resource manager with its configuration; an
// empty one means a single partition with the queue root.default. When it
// returns the partitions run. The same resource manager again starts over with
// nothing: what it had is forgotten, and its former callback is called no more,
// except that a call which is under way may still be running. With an error
// nothing has changed.
func (s *Scheduler) RegisterResourceManager(request *si.RegisterResourceManagerRequest, callback siapi.ResourceManagerCallback) (*si.RegisterResourceManagerResponse, error) {
	if request == nil {
		return nil, fmt.Errorf("registration: %w", ErrNilRequest)
	}
	if err := checkID(request.RmID); err != nil {
		return nil, fmt.Errorf("registration of resource manager %q: %w", request.RmID, err)
	}
	if callback == nil {
		return nil, fmt.Errorf("registration of resource manager %q: %w", request.RmID, ErrNilCallback)
	}
	config, err := load(request.Config, s.shareOf(request.RmID), s.config.Defaults)
	if err != nil {
		return nil, fmt.Errorf("registration of resource manager %q: %w", request.RmID, err)
	}
	r := &registration{
		id:       request.RmID,
		callback: callback,
		outbox:   newOutbox(s.meter),
		former:   map[string]*owner{},
		checksum: config.checksum,
		updating: make(chan struct{}, 1),
		extra:    maps.Clone(request.ExtraConfig),
		store:    events.NewStore(0),
	}
	r.track(request.ExtraConfig)
	again, err := s.install(r, config.partitions)
	if err != nil {
		return nil, fmt.Errorf("registration of resource manager %q: %w", request.RmID, err)
	}
	s.applyExtra(request.ExtraConfig)
	s.limitEvents(r, request.ExtraConfig)
	s.loggers.of(logRequests).Info("resource manager registered",
		zap.String("resourceManager", request.RmID), zap.Bool("again", again),
		zap.String("version", request.Version), zap.String("checksum", config.checksum), zap.Int("partitions", len(config.partitions)))
	config.warn(s.loggers.of(logConfig), request.RmID)
	return &si.RegisterResourceManagerResponse{}, nil
}

// checkID keeps the names of partitions unambiguous.
func checkID(id string) error {
	switch {
	case id == "":
		return errors.New("ID is missing")
	case strings.ContainsAny(id, "[]"):
		return errors.New("ID must not contain brackets")
	default:
		return short("ID", id)
	}
}

// install starts a registration in place of the one of the same resource manager,
// if there is one.
func (s *Scheduler) install(r *registration, configs []api.Config) (again bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopped {
		return false, ErrStopped
	}
	former, again := s.registrations[r.id]
	if again {
		former.end()
		s.closeBooks(former)
	}
	s.registrations[r.id] = r
	s.reconfigure(r, configs)
	d := s.newDispatcher(r)
	s.run(func() { r.outbox.deliver(d) })
	return again, nil
}

// closeBooks drops what the archive has of the partitions of a registration that ends.
func (s *Scheduler) closeBooks(r *registration) {
	if s.config.Archive == nil {
		return
	}
	for _, partitions := range []map[string]*owner{r.partitions, r.former} {
		for name, o := range partitions {
			s.config.Archive.Close(name, o.book)
		}
	}
}

// end lets all goroutines of a registration end without waiting for them.
func (r *registration) end() {
	for _, o := range r.partitions {
		o.inbox.end()
	}
	for _, o := range r.former {
		o.inbox.end()
	}
	r.outbox.close()
}

// warn says what of a configuration has no effect.
func (c loaded) warn(log *zap.Logger, id string) {
	for _, text := range c.warnings {
		log.Warn("configuration is suspicious", zap.String("resourceManager", id), zap.String("problem", text))
	}
}

// registered finds a registration. The lock must be held.
func (s *Scheduler) registered(id string) (*registration, error) {
	if s.stopped {
		return nil, ErrStopped
	}
	r, ok := s.registrations[id]
	if !ok {
		return nil, fmt.Errorf("%q: %w", id, ErrNotRegistered)
	}
	return r, nil
}

// reconfigure starts and retires partitions of a registration until they are those of the
// configuration, which the owners of those that stay have applied. The lock must be held.
func (s *Scheduler) reconfigure(r *registration, configs []api.Config) {
	maps.DeleteFunc(r.former, func(_ string, o *owner) bool { return o.hasEnded() })
	next := make(map[string]*owner, len(configs))
	for _, config := range configs {
		name := fullName(r.id, config.Name)
		if o, ok := r.partitions[name]; ok {
			next[name] = o
			continue
		}
		next[name] = s.start(r, name, config)
	}
	for name, o := range r.partitions {
		if _, stays := next[name]; !stays {
			o.inbox.closeWith(retire{})
			r.former[name] = o
		}
	}
	r.partitions, r.configs = next, configs
	r.fallback = next[slices.Min(slices.Collect(maps.Keys(next)))]
}

// start makes a partition and its owner. The lock must be held.
func (s *Scheduler) start(r *registration, name string, config api.Config) *owner {
	o := &owner{
		name:       name,
		inbox:      newInbox(s.meter),
		outbox:     r.outbox,
		broker:     newViewBroker(),
		record:     s.config.Record,
		meter:      s.meter,
		recordsAll: s.config.recordsAll(),
		untracked:  &r.untracked,
		log:        s.loggers,
		done:       make(chan struct{}),
	}
	o.heartbeat.start(time.Now())
	o.groups = s.newGroupLookups(o, config.Resolver)
	options := s.config.options(name, s.shares[r.id])
	o.gate = s.newGate(r, name, &options)
	o.partition, o.steps = s.config.newPartition(time.Now(), options, config)
	o.reports = reports.NewBook(o.partition, options.Kinds)
	if s.config.Archive != nil {
		o.book = s.config.Archive.Open(name)
	}
	if o.recordsAll {
		r.outbox.put(o.beginning(time.Now(), config))
	}
	o.broker.refresh(o.partition) // so that there is one view always
	before := r.former[name]
	delete(r.former, name)
	s.run(func() { o.run(before) })
	return o
}
