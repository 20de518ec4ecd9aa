package webservice

import (
	"context"
	"net/http"
	"sync"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/webservice/internal/contract"
	"github.com/narwhal-scheduler/narwhal/pkg/webservice/internal/fixture"
)

// changing is a world whose views are replaced while it is read.
type changing struct {
	mu    sync.RWMutex
	views []*api.View
	names []string
}

func (c *changing) Partitions() []string {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.names
}

func (c *changing) View(context.Context, string) (*api.View, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.views = append(c.views[1:], c.views[0])
	return c.views[0], nil
}

func (c *changing) Snapshot(ctx context.Context, name string) (Snapshot, error) {
	view, err := c.View(ctx, name)
	return Snapshot{View: view}, err
}

func (c *changing) Unanswered(string) time.Duration { return 0 }

// TestManyReaders has readers of every endpoint while views change. Each answer is
// one of those that are right, whole. It is for the race detector too.
func TestManyReaders(t *testing.T) {
	small, large := crowd(t, 2, 3), newWorld(t)
	c := &changing{views: []*api.View{small.Views["default"], large.Views[large.Names[0]]}, names: []string{"default"}}
	s, err := New(Config{Views: c, Kinds: large.Kinds, Now: func() time.Time { return start }})
	assert.NilError(t, err)
	right := map[string]map[string]bool{}
	for _, g := range fixture.Answers {
		right[g.Path] = map[string]bool{}
		for range 2 {
			right[g.Path][ask(s.Handler(), http.MethodGet, g.Path).Body.String()] = true
		}
	}
	var readers sync.WaitGroup
	for range 4 {
		readers.Go(func() {
			for range 10 {
				for _, g := range fixture.Answers {
					w := ask(s.Handler(), http.MethodGet, g.Path, "Accept-Encoding", "gzip")
					assert.Check(t, right[g.Path][contract.Unpacked(t, w)], g.Path)
				}
				ask(s.DebugHandler(), http.MethodGet, "/debug/fullstatedump")
			}
		})
	}
	readers.Wait()
}
