package scheduler

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/core"
	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
)

// ErrNotAnswering is wrapped when a partition did not answer in time: a callback such
// as Predicates does not return, or there is more to do than it can.
var ErrNotAnswering = errors.New("partition does not answer")

// snapshotWait is how long Snapshot waits for a current view. It is no less than the
// longest pause between views that replies are made from, so that a reader gets a
// current view unless the owner is held up.
const snapshotWait = replyLatest

// A Snapshot is a partition for readers that do not wait for it. The type has no name of
// its own, so that packages which read snapshots need not import this one.
type Snapshot = struct {
	View *api.View
	// Age is how long ago the view was made if the owner was too busy to make
	// another; zero if the view is current.
	Age time.Duration
}

// View is a partition as it is when everything that was sent before is carried
// out and scheduled as far as it is by then. It waits for the owner of the
// partition until the context ends, so it must not be called from within a callback.
// The short form of a name will do where one resource manager only has such a partition.
//
// Readers that wait at the same time get the same view. While much changes, views take
// a tenth of the time of the owner at most, and readers wait the longer.
func (s *Scheduler) View(ctx context.Context, partition string) (*api.View, error) {
	o, err := s.owner(partition)
	if err != nil {
		return nil, err
	}
	r := &readRequest{after: o.inbox.total()}
	if err := o.await(ctx, r); err != nil {
		return nil, err
	}
	return r.view, nil
}

// Snapshot is a partition as it is at some moment between the call and its return,
// for readers that look on: unlike View it does not wait for what was sent before. If
// the owner is too busy it is the last view, with its age: after a wait of 150
// ms, or at once if the owner has not answered for some time already.
func (s *Scheduler) Snapshot(ctx context.Context, partition string) (Snapshot, error) {
	o, err := s.owner(partition)
	if err != nil {
		return Snapshot{}, err
	}
	if view := o.broker.currentView(); view != nil {
		return Snapshot{View: view}, nil
	}
	if last, made := o.broker.latest(); o.unanswered() > 0 {
		return Snapshot{last, time.Since(made)}, nil
	}
	wait, cancel := context.WithTimeout(ctx, snapshotWait)
	defer cancel()
	r := new(readRequest)
	err = o.await(wait, r)
	switch {
	case err == nil:
		return Snapshot{View: r.view}, nil
	case !errors.Is(err, ErrNotAnswering) || errors.Is(ctx.Err(), context.Canceled):
		return Snapshot{}, err
	}
	last, made := o.broker.latest()
	return Snapshot{last, time.Since(made)}, nil
}

// Unanswered is how long the owner of a partition has not answered: a callback does not
// return, or scheduling takes long. It is zero if the owner answers within a moment, and
// for a partition that is not there.
func (s *Scheduler) Unanswered(partition string) time.Duration {
	o, err := s.owner(partition)
	if err != nil {
		return 0
	}
	return o.unanswered()
}

func (o *owner) unanswered() time.Duration {
	if silence := o.heartbeat.silence(time.Now()); silence > snapshotWait {
		return silence
	}
	return 0
}

// ReportReadCost says that it took so long to make a reply from a snapshot of a
// partition. Readers wait the longer for the next one, up to 150 ms, so that replies
// do not hold up scheduling either, which shares the processors with them.
func (s *Scheduler) ReportReadCost(partition string, took time.Duration) {
	if o, err := s.owner(partition); err == nil {
		o.broker.reportReadCost(took)
	}
}

// Verify checks the books of a partition. An error that does not come from the
// partition being busy, gone or unknown is a fault of the scheduler. It waits
// like View.
func (s *Scheduler) Verify(ctx context.Context, partition string) error {
	broken, err := s.ask(ctx, partition, (*core.Partition).Verify)
	if err != nil {
		return err
	}
	return broken
}

// DisruptionBudgets asks the resource manager of a partition for the budgets of
// allocations, when it has heard all that was decided before. The error wraps
// errors.ErrUnsupported if the resource manager knows of none. It waits like View, and
// placements wait for the answer.
func (s *Scheduler) DisruptionBudgets(ctx context.Context, partition string, allocations []api.AllocationKey) (budgets []api.DisruptionBudget, err error) {
	unsupported, err := s.ask(ctx, partition, func(p *core.Partition) error {
		told, ok := p.Budgets(allocations)
		if !ok {
			return fmt.Errorf("disruption budgets: %w", errors.ErrUnsupported)
		}
		budgets = told
		return nil
	})
	if err == nil {
		err = unsupported
	}
	return budgets, err
}

// ask lets the owner of a partition answer a question. The error is that there is
// no answer.
func (s *Scheduler) ask(ctx context.Context, partition string, question func(*core.Partition) error) (answer, err error) {
	o, err := s.owner(partition)
	if err != nil {
		return nil, err
	}
	answered := make(chan error, 1)
	err = o.await(ctx, &readRequest{
		after:    o.inbox.total(),
		question: func(p *core.Partition) { answered <- question(p) },
	})
	if err != nil {
		return nil, err
	}
	return <-answered, nil
}

// await has the owner serve a request and waits until it did, the owner ends, or the
// context does. Nothing of the request is left then.
func (o *owner) await(ctx context.Context, r *readRequest) error {
	r.served = make(chan struct{})
	o.broker.add(r)
	o.inbox.signal()
	var err error
	select {
	case <-r.served:
		return nil
	case <-ctx.Done():
		err = fmt.Errorf("partition %s: %w: %w", o.name, ErrNotAnswering, ctx.Err())
	case <-o.inbox.ending:
		err = fmt.Errorf("partition %s: %w", o.name, ErrNoPartition)
	case <-o.done:
		err = fmt.Errorf("partition %s: %w", o.name, ErrNoPartition)
	}
	o.broker.withdraw(r)
	select {
	case <-r.served: // at the same time
		return nil
	default:
		return err
	}
}

// owner finds a partition by the long form of its name, or by the short one if no other has it.
func (s *Scheduler) owner(partition string) (*owner, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.stopped {
		return nil, fmt.Errorf("partition %s: %w", partition, ErrStopped)
	}
	var found *owner
	count := 0
	for id, r := range s.registrations {
		if o, ok := r.partitions[fullName(id, partition)]; ok { // a long name stays as it is
			found = o
			count++
		}
	}
	if count == 1 {
		return found, nil
	}
	return nil, fmt.Errorf("partition %s: %w by that name; there are: %s", partition, ErrNoPartition, strings.Join(s.names(), ", "))
}
