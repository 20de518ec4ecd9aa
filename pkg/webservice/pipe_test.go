package webservice

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/webservice/failure"
)

// pipes is a listener without a network: dial connects to it, in the bubble of a test
// that has a clock of its own.
type pipes struct {
	connections chan net.Conn
	closed      chan struct{}
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.connections:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error   { close(p.closed); return nil }
func (p *pipes) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 9080} }

// piped serves a service without a network, until the function that it returns is
// called.
func piped(t *testing.T, config ServerConfig, service *Service) (dial func() net.Conn, stop func()) {
	t.Helper()
	s, err := NewServer(config, service)
	assert.NilError(t, err)
	p := &pipes{make(chan net.Conn), make(chan struct{})}
	server := s.server(s.offers()[0])
	done := make(chan error, 1)
	go func() { done <- server.Serve(p) }()
	var ends []net.Conn
	dial = func() net.Conn {
		here, there := net.Pipe()
		ends = append(ends, here)
		p.connections <- there
		assert.NilError(t, here.SetDeadline(time.Now().Add(time.Hour)))
		return here
	}
	return dial, func() {
		for _, end := range ends {
			_ = end.Close()
		}
		_ = server.Close()
		assert.ErrorIs(t, <-done, http.ErrServerClosed)
	}
}

// say writes a request as it is, and waits until nothing goes on.
func say(t *testing.T, to net.Conn, request string) {
	t.Helper()
	_, err := io.WriteString(to, strings.ReplaceAll(request, "\n", "\r\n"))
	assert.NilError(t, err)
	synctest.Wait()
}

// hear reads an answer, which must come without any time passing.
func hear(t *testing.T, from net.Conn) (*http.Response, string) {
	t.Helper()
	began := time.Now()
	response, err := http.ReadResponse(bufio.NewReader(from), nil)
	assert.NilError(t, err)
	body, err := io.ReadAll(response.Body)
	assert.NilError(t, err)
	assert.Equal(t, time.Since(began), time.Duration(0))
	return response, string(body)
}

const healthRequest = "GET /ws/v1/scheduler/healthcheck HTTP/1.1\nHost: localhost\n\n"

// TestBodiesThatNeverCome takes no place: whatever else is asked for is answered at
// once, and after a while the clients are told.
func TestBodiesThatNeverCome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dial, stop := piped(t, ServerConfig{}, newWorld(t).service(t))
		defer stop()
		var silent []net.Conn
		for range 100 {
			for _, request := range []string{
				"POST /ws/v1/validate-conf HTTP/1.1\nHost: localhost\nContent-Length: 5\n\n",
				"POST " + whatIfPath + " HTTP/1.1\nHost: localhost\nContent-Type: application/json\nTransfer-Encoding: chunked\n\n",
				"GET /ws/v1/partitions HTTP/1.1\nHost: localhost\nContent-Length: 5\n\n",
			} {
				c := dial()
				say(t, c, request)
				silent = append(silent, c)
			}
		}
		for _, request := range []string{
			healthRequest,
			"GET /ws/v1/partitions HTTP/1.1\nHost: localhost\n\n",
			"POST /ws/v1/validate-conf HTTP/1.1\nHost: localhost\nContent-Length: 2\n\n{}",
		} {
			c := dial()
			say(t, c, request)
			response, _ := hear(t, c)
			assert.Equal(t, response.StatusCode, http.StatusOK, request)
		}
		began := time.Now()
		time.Sleep(bodyWait)
		synctest.Wait()
		for _, c := range silent {
			response, text := hear(t, c)
			assert.Equal(t, response.StatusCode, http.StatusRequestTimeout)
			assert.Assert(t, strings.Contains(text, `"message":"The body did not come within 10s"`), text)
			assert.Assert(t, response.Close)
		}
		assert.Equal(t, time.Since(began), bodyWait)
	})
}

// TestASlowBodyThatComes in time is read, and its client may take its time for the
// answer.
func TestASlowBodyThatComes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, free := busy(t)
		dial, stop := piped(t, ServerConfig{}, s)
		defer stop()
		c := dial()
		say(t, c, "GET /ws/v1/clusters HTTP/1.1\nHost: localhost\nContent-Length: 3\n\n{")
		for _, part := range []string{"}", "\n"} {
			time.Sleep(bodyWait/2 - time.Second)
			say(t, c, part)
		}
		time.Sleep(10 * bodyWait)
		close(free)
		synctest.Wait()
		response, _ := hear(t, c)
		assert.Equal(t, response.StatusCode, http.StatusOK)
	})
}

// busy is a service all whose places for answers are taken until free is closed.
func busy(t *testing.T) (s *Service, free chan struct{}) {
	t.Helper()
	s, free = newWorld(t).service(t), make(chan struct{})
	s.config.Build = func(string) map[string]string { <-free; return nil }
	return s, free
}

const clustersRequest = "GET /ws/v1/clusters?%d HTTP/1.1\nHost: localhost\n\n"

// askForClusters sends more requests than there are places for answers.
func askForClusters(t *testing.T, dial func() net.Conn) {
	t.Helper()
	for i := range 100 {
		say(t, dial(), strings.Replace(clustersRequest, "%d", strings.Repeat("x", i), 1))
	}
}

// TestHealthNeverQueues: it is answered although no other answer can be made.
func TestHealthNeverQueues(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, free := busy(t)
		dial, stop := piped(t, ServerConfig{}, s)
		defer stop()
		askForClusters(t, dial)
		c := dial()
		say(t, c, healthRequest)
		response, _ := hear(t, c)
		assert.Equal(t, response.StatusCode, http.StatusOK)
		close(free)
		synctest.Wait()
	})
}

// TestClientsThatGoDoNotWait: a request with a body that waits for its turn leaves
// when its client does, as one without does.
func TestClientsThatGoDoNotWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, free := busy(t)
		dial, stop := piped(t, ServerConfig{}, s)
		defer stop()
		askForClusters(t, dial)
		s.config.Configuration = slowReading{s.config.Configuration, free}
		post := "POST /ws/v1/validate-conf HTTP/1.1\nHost: localhost\nContent-Length: 2\n\n{}"
		say(t, dial(), post) // takes the place of validations
		waits := func() int { return s.replies.Waiting() + s.validations.Waiting() }
		waiting := waits()
		for _, request := range []string{
			post,
			"GET /ws/v1/clusters?y HTTP/1.1\nHost: localhost\nContent-Length: 2\n\n{}",
		} {
			c := dial()
			say(t, c, request)
			assert.Equal(t, waits(), waiting+1)
			assert.NilError(t, c.Close())
			synctest.Wait()
			assert.Equal(t, waits(), waiting, request)
		}
		close(free)
		synctest.Wait()
	})
}

// slowReading is a configuration whose texts take until free is closed to be read.
type slowReading struct {
	Configuration
	free chan struct{}
}

func (c slowReading) Validate(text string) error {
	<-c.free
	return c.Configuration.Validate(text)
}

// TestValidationsHoldUpNothingElse, however many there are and however long they take.
func TestValidationsHoldUpNothingElse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, free := newWorld(t).service(t), make(chan struct{})
		s.config.Configuration = slowReading{s.config.Configuration, free}
		dial, stop := piped(t, ServerConfig{}, s)
		defer stop()
		for range 100 {
			say(t, dial(), "POST /ws/v1/validate-conf HTTP/1.1\nHost: localhost\nContent-Length: 2\n\n{}")
		}
		c := dial()
		say(t, c, "GET /ws/v1/partitions HTTP/1.1\nHost: localhost\n\n")
		response, _ := hear(t, c)
		assert.Equal(t, response.StatusCode, http.StatusOK)
		close(free)
		synctest.Wait()
	})
}

// zeros is a body of so many bytes.
func zeros(size int64) io.Reader { return io.LimitReader(endless{}, size) }

type endless struct{}

func (endless) Read(into []byte) (int, error) { clear(into); return len(into), nil }

// TestManyLargeBodies: what is held of all bodies is bounded, at ten times the bound
// too. Small ones always come in, and what was held is given back.
func TestManyLargeBodies(t *testing.T) {
	if testing.Short() {
		t.Skip("long, so make test-long plays it")
	}
	var b bodies
	var refused int
	var all int64
	for range 10 * bodiesMax / bodyMax {
		_, charged, err := b.read(zeros(bodyMax))
		all += charged
		if err != nil {
			assert.ErrorIs(t, err, failure.ErrBusy)
			refused++
			b.held.Add(-charged)
			all -= charged
		}
	}
	assert.Equal(t, b.held.Load(), all)
	assert.Assert(t, all <= bodiesMax)
	assert.Assert(t, refused > 9*bodiesMax/bodyMax-10, "%d", refused)
	b.held.Add(bodiesMax) // as while others are being refused
	small, charged, err := b.read(zeros(bodyFree - 1))
	assert.NilError(t, err)
	assert.Equal(t, len(small), bodyFree-1)
	assert.Equal(t, charged, int64(0))

	large, charged, err := new(bodies).read(zeros(10 * bodyMax))
	assert.NilError(t, err)
	assert.Equal(t, len(large), bodyMax+1)
	assert.Assert(t, charged < bodyMax+1)
	_, _, err = new(bodies).read(failing{errors.New("broke off")})
	assert.Error(t, err, "broke off")
	_, _, err = new(bodies).read(failing{context.DeadlineExceeded})
	assert.ErrorIs(t, err, context.DeadlineExceeded)
}
