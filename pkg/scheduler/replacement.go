package scheduler

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
)

// A replacement has the owner of a partition check a configuration and, if its queues can
// become those, apply it, in one step: nothing arrives in between.
type replacement struct {
	config api.Config
	begun  atomic.Bool // by the owner, or by the sender to take it back
	answer chan error
}

// carryOut answers a replacement, unless it was taken back.
func (o *owner) carryOut(now time.Time, r *replacement) {
	if !r.begun.CompareAndSwap(false, true) {
		return
	}
	err := o.partition.Convertible(r.config)
	if err == nil {
		o.apply(now, api.Reconfigure{Config: r.config})
	}
	r.answer <- err
}

// replaceConfig has the owner carry out a replacement, and waits for the answer. If the
// context or the owner ends first, nothing is changed.
func (o *owner) replaceConfig(ctx context.Context, config api.Config) error {
	r := &replacement{config: config, answer: make(chan error, 1)}
	if !o.inbox.force(r) {
		return fmt.Errorf("partition %s: %w", o.name, ErrNoPartition)
	}
	var err error
	select {
	case answer := <-r.answer:
		return refusedBy(config, answer)
	case <-ctx.Done():
		err = fmt.Errorf("partition %s: %w: %w", o.name, ErrNotAnswering, ctx.Err())
	case <-o.inbox.ending:
		err = fmt.Errorf("partition %s: %w", o.name, ErrNoPartition)
	}
	if r.begun.CompareAndSwap(false, true) {
		return err
	}
	return refusedBy(config, <-r.answer) // the owner has begun, and waits for nothing else
}

func refusedBy(config api.Config, err error) error {
	if err != nil {
		return fmt.Errorf("partition %s: %w", config.Name, err)
	}
	return nil
}

// replace puts a configuration into effect, and says whether it is another one than the
// active one. With an error the old one stays.
func (s *Scheduler) replace(ctx context.Context, id string, config loaded) (changed bool, err error) {
	s.mu.RLock()
	r, err := s.registered(id)
	s.mu.RUnlock()
	if err != nil {
		return false, err
	}
	select {
	case r.updating <- struct{}{}: // one update at a time
		defer func() { <-r.updating }()
	case <-ctx.Done():
		return false, fmt.Errorf("another update is under way: %w: %w", ErrNotAnswering, ctx.Err())
	}
	s.mu.RLock()
	same, partitions, configs := r.checksum == config.checksum, r.partitions, r.configs
	s.mu.RUnlock()
	if same {
		return false, nil
	}
	for i, c := range config.partitions {
		o, stays := partitions[fullName(id, c.Name)]
		if !stays {
			continue
		}
		if err := o.replaceConfig(ctx, c); err != nil {
			r.restore(partitions, config.partitions[:i], configs)
			return false, err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if now, err := s.registered(id); err != nil || now != r {
		return false, fmt.Errorf("%q: %w any more: it registered again", id, ErrNotRegistered)
	}
	r.checksum = config.checksum
	s.reconfigure(r, config.partitions)
	return true, nil
}

// restore gives the partitions of some configurations back what they had.
func (r *registration) restore(partitions map[string]*owner, changed, old []api.Config) {
	for _, c := range changed {
		for _, before := range old {
			if o, ok := partitions[fullName(r.id, c.Name)]; ok && before.Name == c.Name {
				o.inbox.force(api.Reconfigure{Config: before})
			}
		}
	}
}
