package webservice

import (
	"context"
	"encoding/json"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/internal/flight"
)

// oneAtATime is a service that makes one reply at a time.
func oneAtATime(t *testing.T, w *world) *Service {
	t.Helper()
	s := w.service(t)
	s.replies = flight.New[subject, *reply](1)
	return s
}

// TestSharedReplies: requests for the same with the same views share a reply that
// was not begun when they came. Those that differ in path, query, compression or
// views do not, and neither do those with a body.
func TestSharedReplies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := oneAtATime(t, newWorld(t))
		on := make(chan struct{})
		made := 0
		count := s.answer(func(*http.Request) (any, error) {
			made++ // one at a time
			number := made
			<-on
			return &failureJSON{StatusCode: number}, nil
		})
		var clients sync.WaitGroup
		got := make([]*httptest.ResponseRecorder, 6)
		send := func(i int, method, target, accept string) {
			clients.Go(func() { got[i] = ask(count, method, target, "Accept-Encoding", accept) })
			synctest.Wait()
		}
		send(0, "GET", "/nodes", "")
		send(1, "GET", "/nodes", "") // too late for the first
		send(2, "GET", "/nodes", "")
		send(3, "GET", "/nodes", "gzip")
		send(4, "GET", "/nodes?limit=1", "")
		send(5, "POST", "/nodes", "")
		close(on)
		clients.Wait()
		assert.Equal(t, got[1].Body.String(), got[2].Body.String())
		assert.Equal(t, made, 5)
		for _, i := range []int{0, 3, 4, 5} {
			assert.Assert(t, got[i].Body.String() != got[1].Body.String(), i)
		}
	})
}

// TestAPanicIsAnErrorForAll: all requests that share a reply that cannot be made get
// status 500, the next one is answered, and the log has the panic once.
func TestAPanicIsAnErrorForAll(t *testing.T) {
	var logged strings.Builder
	var mu sync.Mutex
	synctest.Test(t, func(t *testing.T) {
		s := oneAtATime(t, newWorld(t))
		on, broken := make(chan struct{}), true
		busy := s.answer(func(*http.Request) (any, error) { <-on; return &failureJSON{}, nil })
		fragile := s.answer(func(*http.Request) (any, error) {
			if broken {
				panic("broken")
			}
			return &failureJSON{}, nil
		})
		server := &http.Server{ErrorLog: log.New(&logged, "", 0)}
		ctx := context.WithValue(t.Context(), http.ServerContextKey, server)
		var clients sync.WaitGroup
		clients.Go(func() { ask(busy, "GET", "/busy") })
		synctest.Wait()
		statuses := map[int]int{}
		for range 3 {
			clients.Go(func() {
				w := httptest.NewRecorder()
				fragile.ServeHTTP(w, httptest.NewRequestWithContext(ctx, "GET", "/fragile", nil))
				mu.Lock()
				defer mu.Unlock()
				statuses[w.Code]++
				var failed failureJSON
				assert.Check(t, json.Unmarshal(w.Body.Bytes(), &failed))
				assert.Check(t, failed.Message == "panic: broken")
			})
		}
		synctest.Wait()
		close(on)
		clients.Wait()
		assert.DeepEqual(t, statuses, map[int]int{http.StatusInternalServerError: 3})
		assert.Equal(t, strings.Count(logged.String(), "panic answering /fragile: broken"), 1)
		broken = false
		assert.Equal(t, ask(fragile, "GET", "/fragile").Code, http.StatusOK)
	})
}

// A busyWorld lets all that want a view wait until it is told to.
type busyWorld struct {
	*world
	on chan struct{}
}

func (w busyWorld) Snapshot(ctx context.Context, name string) (Snapshot, error) {
	select {
	case <-w.on:
		return w.world.Snapshot(ctx, name)
	case <-ctx.Done():
		return Snapshot{}, ctx.Err()
	}
}

// TestWaitingForViews holds up no other request. Requests with the same view share a
// reply.
func TestWaitingForViews(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		s := oneAtATime(t, w)
		s.config.Views = busyWorld{w, make(chan struct{})}
		var clients sync.WaitGroup
		read := func(path string, status int) (done *bool) {
			done = new(bool)
			clients.Go(func() {
				assert.Check(t, ask(s.Handler(), http.MethodGet, "/ws/v1/"+path).Code == status, path)
				*done = true
			})
			synctest.Wait()
			return done
		}
		nodes, again, all := read("partition/default/nodes", 200), read("partition/default/nodes", 200), read("partitions", 200)
		assert.Assert(t, !*nodes && !*again && !*all)
		assert.Assert(t, *read("config", 200) && *read("partition/none/nodes", 404) && *read("history/apps", 200))
		close(s.config.Views.(busyWorld).on)
		clients.Wait()
		assert.Assert(t, *nodes && *again && *all)
		assert.Equal(t, s.replies.Waiting(), 0)
	})
}

// TestAReaderThatGoesAway leaves no goroutine, whatever it waited for: the bubble
// would not end.
func TestAReaderThatGoesAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.Hangs, w.Views = w.Names[0], map[string]*api.View{}
		s := w.service(t)
		ctx, leave := context.WithCancel(t.Context())
		var clients sync.WaitGroup
		for _, path := range []string{"/ws/v1/partition/default/nodes", "/ws/v1/partitions", "/ws/v1/scheduler/healthcheck"} {
			clients.Go(func() {
				s.Handler().ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(ctx, "GET", path, nil))
			})
		}
		synctest.Wait()
		began := time.Now()
		leave()
		clients.Wait()
		assert.Equal(t, time.Since(began), time.Duration(0))
	})
}

// TestAPartitionWithoutAView is 503 after a while.
func TestAPartitionWithoutAView(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.Hangs, w.Views, w.Age = w.Names[0], map[string]*api.View{}, 42*time.Second
		began := time.Now()
		answer := ask(w.service(t).Handler(), http.MethodGet, "/ws/v1/partition/default/nodes")
		assert.Equal(t, answer.Code, http.StatusServiceUnavailable)
		assert.Assert(t, strings.Contains(answer.Body.String(), "partition [mycluster]default has not answered for 42s"), answer.Body)
		assert.Equal(t, time.Since(began), readerWait)
	})
}

// TestOldViews say how old they are: in the head, and in the answers that have a
// field for it. The tag of a list stays the same while it does.
func TestOldViews(t *testing.T) {
	w := newWorld(t)
	h := w.service(t).Handler()
	paths := []string{
		"/ws/v1/partitions", "/ws/v1/partition/default/nodes", "/ws/v1/partition/default/application/agents-app/allocation/agent-1/explain",
		"/ws/v1/partition/default/application/filler-app/allocation/filler-0/explain", "/ws/v1/partition/default/nodes?limit=1",
	}
	for _, path := range paths {
		current := ask(h, http.MethodGet, path)
		assert.Equal(t, current.Header().Get("Age"), "")
		assert.Assert(t, !strings.Contains(current.Body.String(), `"age"`))
		w.Age = 11500 * time.Millisecond
		old := ask(h, http.MethodGet, path)
		w.Age = 0
		assert.Equal(t, old.Header().Get("Age"), "12")
		assert.Equal(t, strings.Contains(old.Body.String(), `"age":11500000000`), !strings.Contains(path, "nodes"), path)
		assert.Equal(t, old.Header().Get("ETag") == current.Header().Get("ETag"), strings.Contains(path, "nodes"), path)
	}
	w.Age = time.Nanosecond
	assert.Equal(t, ask(h, http.MethodHead, paths[1]).Header().Get("Age"), "1")
	tag := ask(h, http.MethodGet, paths[1]).Header().Get("ETag")
	assert.Equal(t, ask(h, http.MethodGet, paths[1], "If-None-Match", tag).Header().Get("Age"), "1")
}
