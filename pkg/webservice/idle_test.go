package webservice

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"
)

// pipes is a listener whose connections are in memory, so that their time is that of a test.
type pipes chan net.Conn

func (p pipes) Accept() (net.Conn, error) {
	if c, ok := <-p; ok {
		return c, nil
	}
	return nil, net.ErrClosed
}

func (p pipes) Close() error   { close(p); return nil }
func (p pipes) Addr() net.Addr { return &net.TCPAddr{} }

// A client that sends no request for ten times as long as a connection may rest has none any
// more; one that sends a request before each rest is over keeps it as long.
func TestConnectionsBeyondIdleMax(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, err := NewServer(ServerConfig{}, newWorld(t).service(t))
		assert.NilError(t, err)
		listener := make(pipes)
		server := s.server(s.service.rest)
		served := make(chan error, 1)
		go func() { served <- server.Serve(listener) }()
		began := time.Now()
		idle, busy := connection(listener), connection(listener)
		assert.Equal(t, idle.status(t), http.StatusOK)
		gone := make(chan time.Duration, 1)
		go func() {
			_, _ = idle.from.ReadByte()
			gone <- time.Since(began)
		}()
		for time.Since(began) < 10*idleMax {
			assert.Equal(t, busy.status(t), http.StatusOK)
			<-time.After(idleMax - time.Second)
		}
		assert.Equal(t, <-gone, idleMax)
		assert.NilError(t, server.Shutdown(context.Background()))
		assert.ErrorIs(t, <-served, http.ErrServerClosed)
	})
}

// A client is the other end of a connection.
type client struct {
	to   net.Conn
	from *bufio.Reader
}

func connection(listener pipes) client {
	near, far := net.Pipe()
	listener <- far
	return client{near, bufio.NewReader(near)}
}

// status sends a request and reads the answer.
func (c client) status(t *testing.T) int {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://host/ws/v1/clusters", http.NoBody)
	assert.NilError(t, err)
	assert.NilError(t, r.Write(c.to))
	response, err := http.ReadResponse(c.from, r)
	assert.NilError(t, err)
	_, err = io.Copy(io.Discard, response.Body)
	assert.NilError(t, err)
	assert.NilError(t, response.Body.Close())
	return response.StatusCode
}
