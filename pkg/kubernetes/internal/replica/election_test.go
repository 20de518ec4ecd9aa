package replica

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"
	"gotest.tools/v3/assert"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
)

func TestProbes(t *testing.T) {
	state := new(Readiness)
	get := func(path string) int {
		w := httptest.NewRecorder()
		ProbeHandler(state).ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
		return w.Code
	}
	assert.Equal(t, get("/healthz"), http.StatusOK)
	assert.Equal(t, get("/readyz"), http.StatusServiceUnavailable)
	state.Set("")
	assert.Equal(t, get("/readyz"), http.StatusOK)
	state.Stand("waits for the lease")
	assert.Equal(t, get("/readyz"), http.StatusOK)
	state.Set("stops")
	assert.Equal(t, get("/readyz"), http.StatusServiceUnavailable)
	assert.Equal(t, get("/healthz"), http.StatusOK)
	state.Watch(func() error { return errors.New("it hangs") })
	assert.Equal(t, get("/healthz"), http.StatusServiceUnavailable)
	state.Watch(nil)
	assert.Equal(t, get("/healthz"), http.StatusOK)
	_, err := ServeProbes("nowhere", state)
	assert.ErrorContains(t, err, "health: ")
}

func newElection(client kubernetes.Interface) *Election {
	return &Election{
		Leading: Leading{Elect: true, Name: "narwhal", Lease: 15 * time.Second, Renew: 10 * time.Second, Wait: 2 * time.Second},
		Client:  client, Namespace: "default", Log: zap.NewNop(), State: new(Readiness),
	}
}

// Of two replicas one leads at a time. The second follows when the first was asked to stop,
// and not before everything of the first has ended.
func TestElection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset()
		lead := func(leads *atomic.Bool, more func()) func(context.Context) error {
			return func(ctx context.Context) error {
				leads.Store(true)
				<-ctx.Done()
				more()
				leads.Store(false)
				return nil
			}
		}
		var first, second, both atomic.Bool
		ctx, stop := context.WithCancel(t.Context())
		results := make(chan error, 2)
		go func() {
			results <- newElection(client).Run(ctx, lead(&first, func() { time.Sleep(30 * time.Second) }), nil)
		}()
		time.Sleep(time.Second)
		waiting := newElection(client)
		ctx2, stop2 := context.WithCancel(t.Context())
		go func() {
			results <- waiting.Run(ctx2, func(ctx context.Context) error {
				both.Store(first.Load())
				return lead(&second, func() {})(ctx)
			}, nil)
		}()
		time.Sleep(time.Minute)
		assert.Assert(t, first.Load() && !second.Load())
		ready, waits := waiting.State.Get()
		assert.Assert(t, ready && waits == "waits for the lease", waits)
		stop()
		assert.NilError(t, <-results)
		time.Sleep(10 * time.Second)
		assert.Assert(t, !first.Load() && second.Load() && !both.Load())
		stop2()
		assert.NilError(t, <-results)
	})
}

// A replica that cannot renew its lease ends, and so does one of which something fails.
func TestElectionEnds(t *testing.T) {
	wait := func(ctx context.Context) error {
		<-ctx.Done()
		return nil
	}
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset()
		var down atomic.Bool
		client.PrependReactor("update", "leases", func(clienttesting.Action) (bool, runtime.Object, error) {
			return down.Load(), nil, errors.New("the API server is down")
		})
		lost := make(chan error, 1)
		go func() { lost <- newElection(client).Run(t.Context(), wait, nil) }()
		time.Sleep(time.Second)
		down.Store(true)
		assert.ErrorIs(t, <-lost, ErrNotLeading)
	})
	broken := errors.New("broken")
	for _, elect := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			e := newElection(fake.NewClientset())
			e.Elect = elect
			assert.ErrorIs(t, e.Run(t.Context(), func(context.Context) error { return broken }, nil), broken)
			failed := make(chan error, 1)
			failed <- broken
			assert.ErrorIs(t, e.Run(t.Context(), wait, failed), broken)
		})
	}
}
