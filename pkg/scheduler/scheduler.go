package scheduler

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/api"
	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"go.uber.org/zap"

	"github.com/narwhal-scheduler/narwhal/pkg/events"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// Errors that callers may tell apart with errors.Is.
var (
	// ErrStopped is wrapped by every call after Stop.
	ErrStopped = errors.New("scheduler is stopped")
	// ErrNotRegistered is wrapped when a request names a resource manager that is
	// not registered.
	ErrNotRegistered = errors.New("resource manager is not registered")
	// ErrNoPartition is wrapped when a reader names a partition that is not there, or more than one.
	ErrNoPartition = errors.New("no such partition")
	// ErrNilRequest is wrapped when a request is nil.
	ErrNilRequest = errors.New("request is nil")
)

// A Scheduler implements api.SchedulerAPI for any number of resource managers,
// each with partitions of its own. Many schedulers may live in one process; they
// share nothing. All methods may be called from any goroutine.
type Scheduler struct {
	config  Config
	kinds   *resources.Kinds // of all partitions
	amounts sharedAmounts
	tags    sharedTags
	meter   meter
	limits  events.Config // of events, as they were at the beginning
	loggers *loggers

	// mu is held for look-ups and changes of what is below, never while anything
	// is called that waits or that belongs to a caller.
	mu            sync.RWMutex
	registrations map[string]*registration    // by resource manager
	shares        map[string]*resources.Kinds // of kinds, by resource manager, over all its registrations
	stopped       bool

	// goroutines counts owners and dispatchers, those of former registrations too.
	goroutines int
	ended      chan struct{} // closed when it is stopped and there are none
}

var _ api.SchedulerAPI = (*Scheduler)(nil)

// New makes a scheduler without resource managers. The error is that of
// Config.Validate. The scheduler runs until Stop.
func New(config Config) (*Scheduler, error) {
	if err := config.Validate(); err != nil {
		return nil, err
	}
	s := &Scheduler{
		config:        config.withDefaults(),
		kinds:         new(resources.Kinds),
		meter:         meter{config.Metrics},
		registrations: map[string]*registration{},
		shares:        map[string]*resources.Kinds{},
		ended:         make(chan struct{}),
	}
	s.loggers = newLoggers(s.config.Logger)
	if config.Events != nil {
		s.limits = config.Events.Config()
	}
	return s, nil
}

// UpdateAllocation takes asks, placed allocations, foreign allocations and
// releases, allocations first. It only enqueues; answers come through the
// callback. The error says that nothing of the request was taken.
func (s *Scheduler) UpdateAllocation(request *si.AllocationRequest) error {
	if request == nil {
		return fmt.Errorf("allocation request: %w", ErrNilRequest)
	}
	err := s.update(request.RmID, func(c *conversion) { c.allocations(request) })
	if err != nil {
		return fmt.Errorf("allocation request: %w", err)
	}
	return nil
}

// UpdateApplication takes applications that are new or removed, new ones first.
// It only enqueues; answers come through the callback. The error says that
// nothing of the request was taken.
func (s *Scheduler) UpdateApplication(request *si.ApplicationRequest) error {
	if request == nil {
		return fmt.Errorf("application request: %w", ErrNilRequest)
	}
	err := s.update(request.RmID, func(c *conversion) { c.applications(request) })
	if err != nil {
		return fmt.Errorf("application request: %w", err)
	}
	return nil
}

// UpdateNode takes changes of nodes. It only enqueues; a new node is answered
// through the callback, and so is what is refused. The error says that nothing
// of the request was taken.
func (s *Scheduler) UpdateNode(request *si.NodeRequest) error {
	if request == nil {
		return fmt.Errorf("node request: %w", ErrNilRequest)
	}
	err := s.update(request.RmID, func(c *conversion) { c.nodes(request) })
	if err != nil {
		return fmt.Errorf("node request: %w", err)
	}
	return nil
}

// update reads a request of a resource manager and posts what it means. Where a partition went while
// it was read, it is read again for those that there are then.
func (s *Scheduler) update(id string, read func(*conversion)) error {
	for {
		c, err := s.conversion(id)
		if err != nil {
			return err
		}
		read(c)
		switch err := c.post(s.config.InboxMax); {
		case errors.Is(err, errRetired):
			continue
		case err != nil:
			return err
		}
		c.warn(s.loggers.of(logAllocations))
		return nil
	}
}

func (s *Scheduler) conversion(id string) (*conversion, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.stopped {
		return nil, ErrStopped
	}
	r, ok := s.registrations[id]
	if !ok {
		return nil, fmt.Errorf("%q: %w", id, ErrNotRegistered)
	}
	return &conversion{
		id:         id,
		partitions: r.partitions,
		fallback:   r.fallback,
		kinds:      s.shares[id],
		amounts:    &s.amounts,
		tags:       &s.tags,
		now:        time.Now(),
	}, nil
}

// Partitions are the names of all partitions in the form that View takes, sorted.
func (s *Scheduler) Partitions() []string {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.names()
}

// names are those of all partitions, sorted. The lock must be held.
func (s *Scheduler) names() []string {
	var names []string
	for _, r := range s.registrations {
		names = slices.AppendSeq(names, maps.Keys(r.partitions))
	}
	slices.Sort(names)
	return names
}

// shareOf is the table of kinds for a resource manager, so that it leaves room for the kinds
// of others.
func (s *Scheduler) shareOf(id string) *resources.Kinds {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.shares[id] == nil {
		s.shares[id] = s.kinds.Share()
	}
	return s.shares[id]
}

// Kinds is the table of the resource kinds in views.
func (s *Scheduler) Kinds() *resources.Kinds { return s.kinds }

// Stop is StopContext with a context that ends after Config.AnswerTimeout. If it does, that
// is logged.
func (s *Scheduler) Stop() {
	ctx, cancel := context.WithTimeout(context.Background(), s.config.AnswerTimeout)
	defer cancel()
	if err := s.StopContext(ctx); err != nil {
		s.loggers.of(logScheduler).Warn("goroutines have not ended", zap.Error(err))
	}
}

// StopContext ends all partitions at once and waits for every goroutine. What has not
// been told by then never is. Where a callback is under way it waits for that to
// return, so it must not be called from within one. If the context ends first its
// error is returned, and the goroutines end when the callback returns. Every later
// call fails; another StopContext only waits.
func (s *Scheduler) StopContext(ctx context.Context) error {
	s.mu.Lock()
	if !s.stopped {
		s.stopped = true
		for _, r := range s.registrations {
			r.end()
		}
		if s.goroutines == 0 {
			close(s.ended)
		}
	}
	s.mu.Unlock()
	select {
	case <-s.ended:
		return nil
	case <-ctx.Done():
	}
	select {
	case <-s.ended: // at the same time
		return nil
	default:
		return fmt.Errorf("stopping the scheduler: a callback has not returned: %w", ctx.Err())
	}
}

// run starts a goroutine that Stop waits for. The lock must be held.
func (s *Scheduler) run(f func()) {
	s.goroutines++
	go func() {
		f()
		s.mu.Lock()
		defer s.mu.Unlock()
		s.goroutines--
		if s.stopped && s.goroutines == 0 {
			close(s.ended)
		}
	}()
}
