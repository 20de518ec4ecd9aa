package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"
)

// readiness is whether the process schedules, and what it waits for if it does not.
type readiness struct {
	mu    sync.Mutex
	waits string
	ready bool
}

// set says what is waited for; empty is nothing.
func (r *readiness) set(waits string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.waits, r.ready = waits, waits == ""
}

func (r *readiness) get() (ready bool, waits string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.ready, r.waits
}

// probes answers /healthz and /readyz to a kubelet.
type probes struct {
	server *http.Server
	failed chan error // holds the first error of serving
}

// serveProbes listens. An empty address answers nowhere.
func serveProbes(address string, state *readiness) (*probes, error) {
	p := &probes{failed: make(chan error, 1)}
	if address == "" {
		return p, nil
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("health-listen: %w", err)
	}
	p.server = &http.Server{Handler: probeHandler(state), ReadHeaderTimeout: 10 * time.Second}
	go func() {
		if err := p.server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			p.failed <- fmt.Errorf("health-listen: %w", err)
		}
	}()
	return p, nil
}

// probeHandler answers that the process lives, and whether it is the one that schedules.
// Requests of REST go to replicas that are ready, and one that waits for the lease has
// nothing to show.
func probeHandler(state *readiness) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprintln(w, "ok") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if ready, waits := state.get(); !ready {
			http.Error(w, waits, http.StatusServiceUnavailable)
			return
		}
		_, _ = fmt.Fprintln(w, "ok")
	})
	return mux
}

func (p *probes) stop() {
	if p.server == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = p.server.Shutdown(ctx)
}
