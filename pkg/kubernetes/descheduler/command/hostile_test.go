package command

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/internal/replica"
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
// go after a bounded time.
func TestSlowClients(t *testing.T) {
	for name, c := range map[string]struct {
		sends string
		takes bool
		most  time.Duration
	}{
		"silence":            {"", true, requestMax},
		"half a header":      {"GET /report HTTP/1.1\r\nHost: a\r\nX-Long: ", true, requestMax},
		"a body that is due": {"GET /report HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\n", true, requestMax},
		"takes no answer":    {"GET /report HTTP/1.1\r\nHost: a\r\n\r\n", false, answerMax},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				pages := &page{state: new(replica.Readiness)}
				pages.reported(fakeReport(strings.Repeat("x", 1<<20)))
				client, conn := net.Pipe()
				listener := plug{make(chan net.Conn, 1)}
				listener.conns <- conn
				server, ended := newServer(pages.handler()), make(chan error, 1)
				go func() { ended <- server.Serve(listener) }()
				began := time.Now()
				_, err := client.Write([]byte(c.sends))
				assert.NilError(t, err)
				if !c.takes {
					time.Sleep(answerMax + time.Second) // in virtual time
				}
				_, err = io.Copy(io.Discard, client)
				assert.NilError(t, err)
				assert.Assert(t, time.Since(began) <= c.most+time.Second, "%s", time.Since(began))
				close(listener.conns)
				assert.Assert(t, errors.Is(<-ended, net.ErrClosed))
			})
		})
	}
}

// TestQuestionsThatMakeNoSense have an answer that is no fault of the server and no text that a page
// would run.
func TestQuestionsThatMakeNoSense(t *testing.T) {
	p := &page{state: new(replica.Readiness)}
	p.answers(fakeAnswers{})
	server := httptest.NewServer(p.handler())
	t.Cleanup(server.Close)
	for path, want := range map[string]int{
		"/why/a/b": 200, "/why/a": 404, "/why/a/": 404, "/why//b": 404, "/why/a/b/c": 404, "/why/../../etc/passwd": 404,
		"/why/a/%00": 200, "/why/a/%2e%2e%2f": 200, "/why/%ff/%fe": 200, "/why/a/%zz": 400, "/why/<script>/b": 200,
		"/why/a/" + strings.Repeat("x", 100_000): 200, "/why/a/" + strings.Repeat("x", 2<<20): 431, "/report?format=%00": 404, "/": 404,
	} {
		conn, err := net.Dial("tcp", server.Listener.Addr().String())
		assert.NilError(t, err)
		go func() { _, _ = fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", path) }()
		text, _ := io.ReadAll(conn) // what is too long ends with a reset
		assert.NilError(t, conn.Close())
		var proto, status string
		_, err = fmt.Sscan(string(text), &proto, &status)
		assert.NilError(t, err)
		if status == "301" || status == "307" { // a clean path is asked for
			continue
		}
		assert.Equal(t, status, fmt.Sprint(want), "%.40s: %.200s", path, text)
		assert.Assert(t, !strings.Contains(string(text), "<script>"))
	}
	answer, err := http.Post(server.URL+"/why/a/b", "", nil)
	assert.NilError(t, err)
	assert.NilError(t, answer.Body.Close())
	assert.Equal(t, answer.StatusCode, http.StatusMethodNotAllowed)
}
