package scheduler

import (
	"context"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/archive"
)

// KeepHistory has the archive of a scheduler keep points of what all partitions use, until
// the context ends. It must be called once at most, in a goroutine of the caller; without an archive it
// returns at once.
func KeepHistory(ctx context.Context, s *Scheduler) {
	if s.config.Archive == nil {
		return
	}
	step := s.config.Archive.HistoryStep()
	for ctx.Err() == nil {
		for _, name := range s.Partitions() {
			sample(ctx, s, name, step)
		}
		now := time.Now()
		wait := time.NewTimer(now.Truncate(step).Add(step).Sub(now))
		select {
		case <-wait.C:
		case <-ctx.Done():
			wait.Stop()
		}
	}
}

// sample keeps a point of one partition. One that does not answer within a step, or only
// with what was before, gets none.
func sample(ctx context.Context, s *Scheduler, name string, step time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, step)
	defer cancel()
	book := s.config.Archive.Book(name)
	if book == nil {
		return
	}
	if seen, err := s.Snapshot(ctx, name); err == nil && seen.Age < step {
		book.Sample(time.Now(), seen.View)
	}
}

// Arrivals are the asks of a partition that came in the last five minutes, by user and queue; none without an
// archive.
func (s *Scheduler) Arrivals(partition string) []archive.Arrivals {
	return s.config.Archive.Book(partition).Arrivals(time.Now())
}
