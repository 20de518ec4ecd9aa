package server

import (
	"context"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"github.com/narwhal-scheduler/narwhal/pkg/archive"
)

// accountEvery is how often work is written. A process that is killed loses the work of so long at most.
const accountEvery = time.Minute

// lastAccount is how long the last of it may take, when the server stops.
const lastAccount = 3 * time.Second

// A bookkeeper brings work from the archive to what keeps it.
type bookkeeper struct {
	server *Server
	to     archive.Accounting
	log    *zap.Logger

	mu      sync.Mutex // of what follows, and of bringing
	failed  bool       // the last time, so that it is said once
	brought time.Time  // when the last of it was written

	running atomic.Bool
	done    chan struct{}
}

// readEvery is how often work is written at most for those that read it.
const readEvery = time.Second

// rows are the rows of days, with what was counted until now, and as of when they are: earlier, if it cannot be written.
func (k *bookkeeper) rows(ctx context.Context, partition, day string) ([]archive.AccountRow, time.Time, error) {
	k.mu.Lock()
	due := time.Since(k.brought) >= readEvery
	k.mu.Unlock()
	if due {
		now, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastAccount) // that a reader goes is no failure
		defer cancel()
		k.bring(now)
	}
	rows, err := k.to.Rows(ctx, partition, day)
	k.mu.Lock()
	defer k.mu.Unlock()
	return rows, k.brought, err
}

func newBookkeeper(s *Server, config Config) *bookkeeper {
	log := config.Scheduler.Logger
	if log == nil {
		log = zap.NewNop()
	}
	return &bookkeeper{server: s, to: config.Accounting, log: log.Named("accounting"), done: make(chan struct{})}
}

// close brings the last work, once what runs has been told to end.
func (k *bookkeeper) close() {
	if k == nil {
		return
	}
	if k.running.Load() {
		<-k.done
	}
	if err := k.to.Close(); err != nil {
		k.log.Warn("accounting cannot be closed", zap.Error(err))
	}
}

// run brings work until the context ends, and then the last of it.
func (k *bookkeeper) run(ctx context.Context) {
	defer close(k.done)
	tick := time.NewTicker(accountEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			k.bring(ctx)
		case <-ctx.Done():
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastAccount)
			defer cancel()
			k.bring(last)
			return
		}
	}
}

// bring brings what was counted since the last time. An error is told once, and so is that it is over.
func (k *bookkeeper) bring(ctx context.Context) {
	k.mu.Lock()
	defer k.mu.Unlock()
	var rows []archive.AccountRow
	now := time.Now()
	taken := k.server.Archive.TakeAccounts(now)
	for _, partition := range slices.Sorted(maps.Keys(taken)) {
		rows = append(rows, archive.RowsOf(k.server.Kinds(), partition, taken[partition])...)
	}
	err := k.to.Add(ctx, rows)
	switch {
	case err != nil && !k.failed:
		k.log.Warn("accounting cannot be written, and is kept in memory", zap.Error(err))
	case err == nil && k.failed:
		k.log.Info("accounting is written again")
	}
	if k.failed = err != nil; !k.failed {
		k.brought = now
	}
}
