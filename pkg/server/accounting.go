package server

import (
	"context"
	"maps"
	"slices"
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
	failed bool // the last time, so that it is said once

	running atomic.Bool
	done    chan struct{}
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
	var rows []archive.AccountRow
	taken := k.server.Archive.TakeAccounts(time.Now())
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
	k.failed = err != nil
}
