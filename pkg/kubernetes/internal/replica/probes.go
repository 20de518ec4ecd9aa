package replica

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"
)

// Readiness is whether the process works, and what it waits for if it does not.
type Readiness struct {
	mu    sync.Mutex
	waits string
	ready bool
	alive func() error
}

// Watch has the process asked whether what it runs works. The error says that it hangs and is to be started anew; nil
// in place of a function asks nothing.
func (r *Readiness) Watch(alive func() error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.alive = alive
}

// Alive says that the process hangs.
func (r *Readiness) Alive() error {
	r.mu.Lock()
	alive := r.alive
	r.mu.Unlock()
	if alive == nil {
		return nil
	}
	return alive()
}

// Set says what is waited for; empty is nothing.
func (r *Readiness) Set(waits string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.waits, r.ready = waits, waits == ""
}

// Stand says what a process waits for that is ready all the same, as it does all that it is to do for now.
func (r *Readiness) Stand(waits string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.waits, r.ready = waits, true
}

// Get says whether it is ready, and what it waits for.
func (r *Readiness) Get() (ready bool, waits string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.ready, r.waits
}

// Probes answers /healthz and /readyz to a kubelet.
type Probes struct {
	server *http.Server
	failed chan error
}

// ServeProbes listens. An empty address answers nowhere.
func ServeProbes(address string, state *Readiness) (*Probes, error) {
	p := &Probes{failed: make(chan error, 1)}
	if address == "" {
		return p, nil
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("health: %w", err)
	}
	p.server = NewServer(ProbeHandler(state))
	go func() {
		if err := p.server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			p.failed <- fmt.Errorf("health: %w", err)
		}
	}()
	return p, nil
}

// ProbeHandler answers that the process lives, whether it is ready, and what it waits for.
func ProbeHandler(state *Readiness) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		if err := state.Alive(); err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		_, _ = fmt.Fprintln(w, "ok")
	})
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		ready, waits := state.Get()
		if !ready {
			http.Error(w, waits, http.StatusServiceUnavailable)
			return
		}
		_, _ = fmt.Fprintln(w, cmp.Or(waits, "ok"))
	})
	return mux
}

// Failed gives the first error of serving.
func (p *Probes) Failed() <-chan error { return p.failed }

// Stop ends answering.
func (p *Probes) Stop() {
	if p.server == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = p.server.Shutdown(ctx)
}
