package webservice

import (
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"gotest.tools/v3/assert"
)

// TestManyValidations: ten times as many come as may be made or wait. Those beyond are told to
// come later, and there is room when clients have gone or have their answer.
func TestManyValidations(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, free := newWorld(t).service(t), make(chan struct{})
		s.config.Configuration = slowReading{s.config.Configuration, free}
		dial, stop := piped(t, ServerConfig{}, s)
		defer stop()
		const request = "POST /ws/v1/validate-conf HTTP/1.1\nHost: localhost\nContent-Length: 2\n\n{}"
		var waiting []net.Conn
		for i := range 10 * validationsOpen {
			c := dial()
			say(t, c, request)
			if i < validationsOpen {
				waiting = append(waiting, c)
				continue
			}
			response, text := hear(t, c)
			assert.Equal(t, response.StatusCode, http.StatusTooManyRequests)
			assert.Equal(t, response.Header.Get("Retry-After"), "2")
			assert.Assert(t, strings.Contains(text, `"message":"Too many configurations are validated at the same time"`), text)
		}
		assert.NilError(t, waiting[1].Close())
		synctest.Wait()
		last := dial()
		say(t, last, request)
		close(free)
		synctest.Wait()
		for _, c := range []net.Conn{waiting[0], waiting[2], waiting[3], last} {
			response, _ := hear(t, c)
			assert.Equal(t, response.StatusCode, http.StatusOK)
		}
		assert.Equal(t, s.validating.Load(), int32(0))
	})
}
