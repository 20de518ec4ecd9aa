package replica

import (
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"
)

// A plug is a listener for one connection in memory, whose time is that of a test.
type plug struct{ conns chan net.Conn }

func (p plug) Accept() (net.Conn, error) {
	if conn, ok := <-p.conns; ok {
		return conn, nil
	}
	return nil, net.ErrClosed
}

func (p plug) Close() error   { return nil }
func (p plug) Addr() net.Addr { return &net.TCPAddr{} }

// TestSlowClients: one that sends nothing, that sends a part, or that does not take its answer, is let
// go after a bounded time. So is one that keeps its connection and asks nothing more.
func TestSlowClients(t *testing.T) {
	large := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, strings.Repeat("x", 1<<20)) })
	for name, c := range map[string]struct {
		sends string
		takes bool
		after time.Duration
	}{
		"silence":            {"", true, requestMax},
		"half a header":      {"GET /report HTTP/1.1\r\nHost: a\r\nX-Long: ", true, requestMax},
		"a body that is due": {"GET /report HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\n", true, requestMax},
		"says no more":       {"GET /report HTTP/1.1\r\nHost: a\r\n\r\n", true, idleMax},
		"takes no answer":    {"GET /report HTTP/1.1\r\nHost: a\r\n\r\n", false, answerMax},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client, conn := net.Pipe()
				listener := plug{make(chan net.Conn, 1)}
				listener.conns <- conn
				server, ended := NewServer(large), make(chan error, 1)
				go func() { ended <- server.Serve(listener) }()
				began := time.Now()
				_, err := client.Write([]byte(c.sends))
				assert.NilError(t, err)
				if !c.takes {
					time.Sleep(answerMax + time.Second) // in virtual time
				}
				_, err = io.Copy(io.Discard, client)
				assert.NilError(t, err)
				took := time.Since(began)
				assert.Assert(t, took >= c.after && took <= c.after+time.Second, "%s", took)
				close(listener.conns)
				assert.Assert(t, errors.Is(<-ended, net.ErrClosed))
			})
		})
	}
}
