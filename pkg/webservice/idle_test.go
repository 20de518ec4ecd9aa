package webservice

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"
)

// A client that sends no request for ten times as long as a connection may rest has none any
// more; one that sends a request before each rest is over keeps it as long.
func TestConnectionsBeyondIdleMax(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dial, stop := piped(t, ServerConfig{}, newWorld(t).service(t))
		defer stop()
		began := time.Now()
		idle, busy := dial(), dial()
		fromIdle, fromBusy := bufio.NewReader(idle), bufio.NewReader(busy)
		assert.Equal(t, status(t, idle, fromIdle), http.StatusOK)
		gone := make(chan time.Duration, 1)
		go func() {
			_, _ = fromIdle.ReadByte()
			gone <- time.Since(began)
		}()
		for time.Since(began) < 10*idleMax {
			assert.Equal(t, status(t, busy, fromBusy), http.StatusOK)
			<-time.After(idleMax - time.Second)
		}
		assert.Equal(t, <-gone, idleMax)
	})
}

// status sends a request and reads the answer.
func status(t *testing.T, to net.Conn, from *bufio.Reader) int {
	t.Helper()
	say(t, to, "GET /ws/v1/clusters HTTP/1.1\nHost: localhost\n\n")
	response, err := http.ReadResponse(from, nil)
	assert.NilError(t, err)
	_, err = io.Copy(io.Discard, response.Body)
	assert.NilError(t, err)
	assert.NilError(t, response.Body.Close())
	return response.StatusCode
}
