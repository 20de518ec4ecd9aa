package main

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
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

func TestCommandLine(t *testing.T) {
	for _, c := range []struct {
		name, args string
		code       int
		says       string
	}{
		{"help", "--help", exitDone, "Of several replicas one leads"},
		{"version", "--version", exitDone, "narwhal-scheduler "},
		{"unknown flag", "--colour", exitUsage, "unknown flag: --colour"},
		{"an argument", "now", exitUsage, "unknown command"},
		{"half of TLS", "--tls-cert x", exitUsage, "tls-key"},
		{"log level", "--log-level loud", exitFailed, "log-level: "},
		{"log format", "--log-format prose", exitFailed, "neither json nor text"},
		{"no settings of LDAP", "--ldap does-not-exist", exitFailed, "ldap config: "},
		{"no such kubeconfig", "--kubeconfig does-not-exist", exitFailed, "how to reach the API server"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var out bytes.Buffer
			assert.Equal(t, run(strings.Fields(c.args), &out, &out), c.code)
			assert.Assert(t, strings.Contains(out.String(), c.says), out.String())
		})
	}
}

func TestProbes(t *testing.T) {
	state := new(readiness)
	get := func(path string) int {
		w := httptest.NewRecorder()
		probeHandler(state).ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
		return w.Code
	}
	assert.Equal(t, get("/healthz"), http.StatusOK)
	assert.Equal(t, get("/readyz"), http.StatusServiceUnavailable)
	state.set("")
	assert.Equal(t, get("/readyz"), http.StatusOK)
	state.set("stops")
	assert.Equal(t, get("/readyz"), http.StatusServiceUnavailable)
	assert.Equal(t, get("/healthz"), http.StatusOK)
	_, err := serveProbes("nowhere", state)
	assert.ErrorContains(t, err, "health-listen")
}

func newElection(client kubernetes.Interface) *election {
	return &election{
		leading: leading{elect: true, name: "narwhal", lease: 15 * time.Second, renew: 10 * time.Second, wait: 2 * time.Second},
		client:  client, namespace: "default", log: zap.NewNop(), state: new(readiness),
	}
}

// Of two replicas one leads at a time. The second follows when the first was asked to stop,
// and not before everything of the first has ended.
func TestElection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset()
		lead := func(leads *bool, more func()) func(context.Context) error {
			return func(ctx context.Context) error {
				*leads = true
				<-ctx.Done()
				more()
				*leads = false
				return nil
			}
		}
		var first, second bool
		ctx, stop := context.WithCancel(t.Context())
		results := make(chan error, 2)
		go func() {
			results <- newElection(client).run(ctx, lead(&first, func() { time.Sleep(30 * time.Second) }), nil)
		}()
		time.Sleep(time.Second)
		waiting := newElection(client)
		both := false
		ctx2, stop2 := context.WithCancel(t.Context())
		go func() {
			results <- waiting.run(ctx2, func(ctx context.Context) error {
				both = first
				return lead(&second, func() {})(ctx)
			}, nil)
		}()
		time.Sleep(time.Minute)
		assert.Assert(t, first && !second)
		_, waits := waiting.state.get()
		assert.Equal(t, waits, "waits for the lease")
		stop()
		assert.NilError(t, <-results)
		time.Sleep(10 * time.Second)
		assert.Assert(t, !first && second && !both)
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
		lost := make(chan error, 1)
		go func() { lost <- newElection(client).run(t.Context(), wait, nil) }()
		time.Sleep(time.Second)
		client.PrependReactor("update", "leases", func(clienttesting.Action) (bool, runtime.Object, error) {
			return true, nil, errors.New("the API server is down")
		})
		assert.ErrorIs(t, <-lost, errNotLeading)
	})
	broken := errors.New("broken")
	for _, elect := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			e := newElection(fake.NewClientset())
			e.elect = elect
			assert.ErrorIs(t, e.run(t.Context(), func(context.Context) error { return broken }, nil), broken)
			failed := make(chan error, 1)
			failed <- broken
			assert.ErrorIs(t, e.run(t.Context(), wait, failed), broken)
		})
	}
}
