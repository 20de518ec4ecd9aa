package server

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/archive"
	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/events"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// failing keeps rows, unless it fails.
type failing struct {
	mu   sync.Mutex
	err  error
	rows []archive.AccountRow
}

// fail has it fail from now on, or not any more.
func (f *failing) fail(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.err = err
}

func (f *failing) Add(_ context.Context, rows []archive.AccountRow) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.rows = append(f.rows, rows...)
	return f.err
}

func (f *failing) Rows(context.Context, string, string) ([]archive.AccountRow, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.rows, nil
}

func (f *failing) Close() error { return nil }

// working is a bookkeeper of a server where one application runs with two cores from now on.
func working(t *testing.T, keeps *failing) *bookkeeper {
	t.Helper()
	s, err := New(Config{Accounting: keeps})
	assert.NilError(t, err)
	_, err = s.Kinds().Amounts(map[string]int64{"vcore": 1})
	assert.NilError(t, err)
	vcore, _ := s.Kinds().Lookup("vcore")
	held := make(resources.Amounts, vcore+1)
	held[vcore] = 2000
	s.Archive.Open("p").Observe(events.Step{Now: time.Now(), Effects: api.Effects{
		&api.ApplicationAccepted{ID: "a", Queue: "root.a", User: "ann"},
		api.Placed{Allocation: &api.Allocation{Key: "1", Application: "a", Amounts: held, Placed: time.Now()}},
	}})
	return &bookkeeper{server: s, to: keeps, log: zap.NewNop(), done: make(chan struct{})}
}

// TestReadersGetWhatIsNotWritten: a reader gets what was counted until then, from the first minute on. If that cannot be written, it is
// told as of when the rest is.
func TestReadersGetWhatIsNotWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		keeps := &failing{}
		k := working(t, keeps)
		defer k.server.Stop()
		time.Sleep(10 * time.Second)
		rows, asOf, err := k.rows(t.Context(), "p", "")
		assert.NilError(t, err)
		assert.Equal(t, rows[0].Used, 2000.0*10)
		assert.Assert(t, asOf.Equal(time.Now()))
		written := asOf
		_, _, _ = k.rows(t.Context(), "p", "")
		assert.Equal(t, len(keeps.rows), 1, "not again within a second")
		time.Sleep(5 * time.Second)
		keeps.fail(errors.New("database is locked"))
		_, asOf, err = k.rows(t.Context(), "p", "")
		assert.NilError(t, err)
		assert.Assert(t, asOf.Equal(written))
	})
}

// TestBookkeeper brings work once a minute, and the last of it when the server stops. That it cannot be written is said
// once, and changes nothing else.
func TestBookkeeper(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		core, logs := observer.New(zap.InfoLevel)
		keeps := &failing{}
		k := working(t, keeps)
		s := k.server
		k.log = zap.New(core)
		ctx, cancel := context.WithCancel(t.Context())
		go k.run(ctx)
		time.Sleep(accountEvery + time.Second)
		synctest.Wait()
		assert.DeepEqual(t, keeps.rows, []archive.AccountRow{{Partition: "p", Day: "2000-01-01", Queue: "root.a", User: "ann", Kind: "vcore", Used: 2000 * 60}})
		keeps.fail(errors.New("database or disk is full"))
		time.Sleep(2 * accountEvery)
		synctest.Wait()
		keeps.fail(nil)
		time.Sleep(accountEvery)
		synctest.Wait()
		cancel()
		<-k.done
		assert.Equal(t, len(keeps.rows), 5)
		assert.Equal(t, keeps.rows[4].Used, 2000.0) // of the last second
		var said []string
		for _, one := range logs.All() {
			said = append(said, one.Message)
		}
		assert.DeepEqual(t, said, []string{"accounting cannot be written, and is kept in memory", "accounting is written again"})
		s.Stop()
	})
}
