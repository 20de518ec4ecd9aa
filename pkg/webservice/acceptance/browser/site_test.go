package browser

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/webservice"
	"github.com/narwhal-scheduler/narwhal/pkg/webservice/dashboard"
)

// A site serves a stage at a free port of this machine: REST, and the dashboard
// before it.
type site struct {
	stage    *stage
	url      string
	gone     atomic.Bool  // connections are cut
	restGone atomic.Bool  // those to REST are
	asked    atomic.Int64 // requests for REST
	rest     http.Handler

	mu      sync.Mutex
	resting []*page // which no test uses
}

// serve puts a stage behind a web server until the test ends.
func (s *stage) serve(t *testing.T) *site {
	t.Helper()
	out, server := s.start(t)
	t.Cleanup(func() {
		server.CloseClientConnections() // streams have no end
		server.Close()
	})
	return out
}

// start puts a stage behind a web server, which the caller closes.
func (s *stage) start(t *testing.T) (*site, *httptest.Server) {
	t.Helper()
	out := &site{stage: s, rest: s.service(t).Handler()}
	server := httptest.NewServer(out)
	out.url = server.URL
	return out, server
}

// service is everything that "narwhal serve" offers, of the stage.
func (s *stage) service(t *testing.T) *webservice.Service {
	t.Helper()
	service, err := webservice.New(webservice.Config{
		Views: s, Kinds: s.kinds, Configuration: s, Events: s.history, Archive: s.archive, Metrics: s.metrics.Handler(),
		Dashboard: dashboard.Handler(), Started: began, Now: s.clock, Feasible: s.feasible,
		Build: func(string) map[string]string { return map[string]string{"buildVersion": "test"} },
	})
	assert.NilError(t, err)
	return service
}

// serveWithToken does the same with the real server, which wants a token.
func (s *stage) serveWithToken(t *testing.T, token string) *site {
	t.Helper()
	service := s.service(t)
	server, err := webservice.NewServer(webservice.ServerConfig{Address: "127.0.0.1:0", Token: token}, service)
	assert.NilError(t, err)
	assert.NilError(t, server.Start())
	t.Cleanup(func() { _ = server.Stop(context.Background()) }) // what is cut off is the page of a test
	return &site{stage: s, url: "http://" + server.Addresses()[0], rest: service.Handler()}
}

// ServeHTTP answers, unless the server is gone.
func (s *site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if s.gone.Load() || s.restGone.Load() && strings.HasPrefix(r.URL.Path, "/ws/") {
		panic(http.ErrAbortHandler)
	}
	w.Header().Set("Date", s.stage.now.UTC().Format(http.TimeFormat))
	s.asked.Add(1)
	s.rest.ServeHTTP(w, r)
}

// read asks REST the way the page does, and says how many elements a list has in
// all. What was there before is forgotten.
func (s *site) read(t *testing.T, path string, into any) (total int) {
	t.Helper()
	w := httptest.NewRecorder()
	s.rest.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/ws/v1/"+path, nil))
	assert.Equal(t, w.Code, http.StatusOK, "%s: %s", path, w.Body)
	reflect.ValueOf(into).Elem().SetZero()
	assert.NilError(t, json.Unmarshal(w.Body.Bytes(), into))
	if text := w.Header().Get("X-Total-Count"); text != "" {
		var err error
		total, err = strconv.Atoi(text)
		assert.NilError(t, err)
	}
	return total
}
