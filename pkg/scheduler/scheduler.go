package scheduler

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/api"
	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"

	"github.com/narwhal-scheduler/narwhal/pkg/core"
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
	// ErrNoPartition is wrapped when View is asked for a partition that is not
	// there.
	ErrNoPartition = errors.New("no such partition")
	// ErrNilRequest is wrapped when a request is nil.
	ErrNilRequest = errors.New("request is nil")
)

// A Scheduler implements api.SchedulerAPI for any number of resource managers,
// each with partitions of its own. Many schedulers may live in one process; they
// share nothing. All methods may be called from any goroutine.
type Scheduler struct {
	config Config
	kinds  *resources.Kinds // of all partitions
	meter  meter
	limits events.Config // of events, as they were at the beginning

	// mu is held for look-ups and changes of what is below, never while anything
	// is called that waits or that belongs to somebody else.
	mu            sync.RWMutex
	registrations map[string]*registration // by resource manager
	stopped       bool

	goroutines sync.WaitGroup // owners and couriers, of former registrations too
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
	}
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
	err := s.update(request.RmID, func(e *edge) { e.allocations(request) })
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
	err := s.update(request.RmID, func(e *edge) { e.applications(request) })
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
	err := s.update(request.RmID, func(e *edge) { e.nodes(request) })
	if err != nil {
		return fmt.Errorf("node request: %w", err)
	}
	return nil
}

// update reads a request of a resource manager and posts what it means.
func (s *Scheduler) update(id string, read func(*edge)) error {
	e, err := s.edge(id)
	if err != nil {
		return err
	}
	read(e)
	return e.post(s.config.InboxMax)
}

func (s *Scheduler) edge(id string) (*edge, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.stopped {
		return nil, ErrStopped
	}
	r, ok := s.registrations[id]
	if !ok {
		return nil, fmt.Errorf("%q: %w", id, ErrNotRegistered)
	}
	return &edge{
		id:         id,
		partitions: r.partitions,
		fallback:   r.fallback,
		kinds:      s.kinds,
		now:        time.Now(),
	}, nil
}

// Partitions are the names of all partitions in the form that View takes, sorted.
func (s *Scheduler) Partitions() []string {
	s.mu.RLock()
	defer s.mu.RUnlock()
	var names []string
	for _, r := range s.registrations {
		names = slices.AppendSeq(names, maps.Keys(r.partitions))
	}
	slices.Sort(names)
	return names
}

// View is a partition as it is when everything that was sent before is carried
// out and scheduled as far as it is by then. It waits for the owner of the
// partition, so it must not be called from within a callback. The name is the
// long one.
//
// All who wait at the same time get the same view. While much changes, views take a
// tenth of the time of the owner at most, and readers wait the longer.
func (s *Scheduler) View(partition string) (*core.View, error) {
	view := make(look, 1)
	return s.look(partition, view, func(o *owner) bool { return o.inbox.force(view) })
}

// Glance is a partition as it is at some moment between the call and its return, for
// who looks on: unlike View it does not wait for what was sent before. Otherwise it
// is the same.
func (s *Scheduler) Glance(partition string) (*core.View, error) {
	view := make(look, 1)
	return s.look(partition, view, func(o *owner) bool { return o.inbox.look(view) })
}

// look asks for a view and does what the owner has left to those who look.
func (s *Scheduler) look(partition string, shown look, ask func(*owner) bool) (*core.View, error) {
	picture, err := await(s, partition, ask, shown)
	if err != nil {
		return nil, err
	}
	return picture.complete(), nil
}

// Charge says that it took so long to answer from a glance at a partition. Those who
// look on wait the longer for the next one, up to 150 ms, so that answering does not
// hold up scheduling either, which shares the processors with it.
func (s *Scheduler) Charge(partition string, took time.Duration) {
	if o, err := s.owner(partition); err == nil {
		o.gallery.charge(took)
	}
}

// Verify checks the books of a partition. An error of the partition is a fault
// of the scheduler. It waits like View.
func (s *Scheduler) Verify(partition string) error {
	broken, err := s.ask(partition, (*core.Partition).Verify)
	return cmp.Or(err, broken)
}

// Kinds is the table of the resource kinds in views.
func (s *Scheduler) Kinds() *resources.Kinds { return s.kinds }

// ask lets the owner of a partition answer a question. The error is that there is
// nobody to ask.
func (s *Scheduler) ask(partition string, q func(*core.Partition) error) (answer, err error) {
	answered := make(chan error, 1)
	asked := question(func(p *core.Partition) { answered <- q(p) })
	return await(s, partition, func(o *owner) bool { return o.inbox.force(asked) }, answered)
}

// await asks the owner of a partition something, unless it takes nothing more, and
// waits for the answer, which the channel has room for.
func await[T any](s *Scheduler, partition string, ask func(*owner) bool, answer <-chan T) (out T, err error) {
	o, err := s.owner(partition)
	if err != nil {
		return out, err
	}
	if ask(o) {
		select {
		case out = <-answer:
			return out, nil
		case <-o.done:
		}
		select {
		case out = <-answer:
			return out, nil
		default:
		}
	}
	return out, fmt.Errorf("partition %s: %w", partition, ErrNoPartition)
}

func (s *Scheduler) owner(partition string) (*owner, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.stopped {
		return nil, fmt.Errorf("partition %s: %w", partition, ErrStopped)
	}
	for _, r := range s.registrations {
		if o, ok := r.partitions[partition]; ok {
			return o, nil
		}
	}
	return nil, fmt.Errorf("partition %s: %w", partition, ErrNoPartition)
}

// Stop ends all partitions at once and waits for every goroutine. What has not
// been told by then never is. Where a callback is under way Stop waits for it to
// return, so Stop must not be called from within one. Every later call fails;
// another Stop only waits.
func (s *Scheduler) Stop() {
	s.mu.Lock()
	s.stopped = true
	for _, r := range s.registrations {
		r.end()
	}
	s.mu.Unlock()
	s.goroutines.Wait()
}
