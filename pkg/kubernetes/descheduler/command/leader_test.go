package command

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// leases is an API server that knows one lease: it gives it to the first that asks, or says that
// another replica has it, and calls asked then. What is patched it sends to a channel.
func leases(t *testing.T, taken bool, asked func(), patched chan string) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Method == http.MethodPatch:
			body, err := io.ReadAll(r.Body)
			assert.Check(t, err)
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write([]byte(`{"kind": "Pod", "apiVersion": "v1"}`))
			patched <- r.URL.Path + " " + string(body)
		case r.Method == http.MethodPost || r.Method == http.MethodPut: // it is written as it comes
			body, err := io.ReadAll(r.Body)
			assert.Check(t, err)
			w.Header().Set("Content-Type", r.Header.Get("Content-Type"))
			w.WriteHeader(http.StatusCreated)
			_, _ = w.Write(body)
		case r.Method == http.MethodGet && taken && strings.Contains(r.URL.Path, "/leases/"):
			now, other := metav1.NewMicroTime(time.Now()), "another"
			w.Header().Set("Content-Type", "application/json")
			assert.Check(t, json.NewEncoder(w).Encode(coordinationv1.Lease{
				TypeMeta: metav1.TypeMeta{APIVersion: "coordination.k8s.io/v1", Kind: "Lease"}, ObjectMeta: metav1.ObjectMeta{Name: "x"},
				Spec: coordinationv1.LeaseSpec{HolderIdentity: &other, LeaseDurationSeconds: new(int32(3600)), AcquireTime: &now, RenewTime: &now},
			}))
			asked()
		default:
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusNotFound)
			_, _ = w.Write([]byte(`{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "NotFound", "code": 404}`))
		}
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// TestOneLeads: with --leader-elect nothing is built before the lease is had, and a dry run does
// not ask for it. A replica that waits is ready, and the pod of the one that leads has the label by which the Service
// selects it.
func TestOneLeads(t *testing.T) {
	t.Setenv("POD_NAME", "narwhal-descheduler-1")
	t.Setenv("POD_NAMESPACE", "own")
	for _, c := range []struct {
		name        string
		taken, dry  bool
		leads, asks bool
	}{
		{name: "the lease is free", leads: true},
		{name: "another replica has the lease", taken: true, asks: true},
		{name: "a dry run", taken: true, dry: true, leads: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			built, asked := false, false
			patched := make(chan string, 1)
			s, r, _ := newProcess(t, smallest, func(*parts) (descheduling, error) {
				built = true
				got := ""
				select {
				case got = <-patched:
				case <-ctx.Done():
				}
				assert.Equal(t, got, `/api/v1/namespaces/own/pods/narwhal-descheduler-1 {"metadata":{"labels":{"narwhal-scheduler.io/leader":"x"}}}`)
				stop()
				return &fakeDescheduling{run: func(ctx context.Context) error { return ctx.Err() }}, nil
			})
			r.how.Host = leases(t, c.taken, func() {
				asked = true
				ready, waits := r.page.state.Get()
				assert.Check(t, ready && waits == "waits for the lease", waits)
				stop()
			}, patched)
			s.interval, s.dryRun, s.leaseIn = time.Minute, c.dry, "system"
			s.leader.Elect, s.leader.Name = true, "x"
			assert.NilError(t, s.run(ctx, r))
			assert.Equal(t, built, c.leads)
			assert.Equal(t, asked, c.asks)
		})
	}
}
