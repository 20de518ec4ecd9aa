package acceptance

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime/pprof"
	"runtime/trace"
	"slices"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/webservice"
	"github.com/narwhal-scheduler/narwhal/pkg/webservice/internal/contract"

	"github.com/narwhal-scheduler/narwhal/pkg/events"
)

// A stage is a state of the server, and one request to every operation in it.
type stage struct {
	name    string
	handler http.Handler
	query   string            // is added
	headers map[string]string // are added
	parts   map[string]string // stand for parameters of the path instead of their examples
	body    io.Reader         // instead of what the document has as an example
	method  string            // instead of the one that is right
	begin   func() (end func())
}

// stages are what it takes to see every status that the document has.
func stages(t *testing.T) []stage {
	w := newWorld(t)
	config := w.config(t)
	good := served(t, config, "")
	down := newWorld(t)
	downService := served(t, down.config(t), "")
	down.Fail = errors.New("the scheduler stops")
	bare := served(t, webservice.Config{Views: w, Kinds: w.Kinds}, "")
	off := w.config(t)
	assert.NilError(t, off.Events.Configure(events.Config{Disabled: true}))
	ill := newWorld(t)
	ill.Views[ill.Names[0]].Capacity = ill.Amounts(t, 1, 1, 1)
	illConfig := ill.config(t)
	illConfig.Metrics = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "too many", http.StatusServiceUnavailable) })
	guarded := served(t, config, "secret")
	return []stage{
		{name: "good", handler: good},
		{name: "kept", handler: good, headers: map[string]string{"If-None-Match": "*"}},
		{name: "JSON", handler: good, headers: map[string]string{"Accept": "application/json"}},
		{name: "server-sent events", handler: good, headers: map[string]string{"Accept": "text/event-stream"}},
		{name: "packed", handler: good, headers: map[string]string{"Accept-Encoding": "gzip"}},
		{name: "one page", handler: good, query: "limit=1&debug=1"},
		{name: "head", handler: good, method: http.MethodHead},
		{name: "cannot be read", handler: good, query: "%zz&count=no&seconds=-1", body: strings.NewReader("{")},
		{name: "a page of another origin", handler: good, headers: map[string]string{"Content-Type": "text/plain"}},
		{name: "no such field", handler: good, query: "fields=none", headers: map[string]string{"Accept": "application/json"}},
		{name: "breaks off", handler: good, query: "count=1&count=2&seconds=no", body: broken{}},
		{name: "other method", handler: good, method: http.MethodDelete},
		{name: "no token", handler: guarded},
		{name: "token", handler: guarded, headers: map[string]string{"Authorization": "Bearer secret"}},
		{name: "no such partition", handler: good, parts: map[string]string{"partition": "none", "profile": "none"}},
		{name: "nothing of that name", handler: good, parts: map[string]string{
			"queue": "root.none", "node": "none", "application": "none", "allocation": "none", "user": "none", "group": "none", "state": "none",
		}},
		{name: "empty names", handler: good, parts: map[string]string{"queue": "%2525", "user": "%2525", "group": "*"}},
		{name: "nobody to ask", handler: bare},
		{name: "down", handler: downService},
		{name: "tracking is off", handler: served(t, off, "")},
		{name: "ill", handler: served(t, illConfig, "")},
		{name: "profiles are taken", handler: good, begin: func() func() {
			assert.NilError(t, pprof.StartCPUProfile(io.Discard))
			assert.NilError(t, trace.Start(io.Discard))
			return func() { pprof.StopCPUProfile(); trace.Stop() }
		}},
		{name: "streams are open", handler: good, begin: func() func() {
			stream, err := config.Events.Subscribe(config.Now(), "192.0.2.1", 0)
			assert.NilError(t, err)
			return stream.Close
		}},
	}
}

// broken is a body that breaks off.
type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

// neverSeen are the answers that no request here gets, and why.
var neverSeen = map[string]string{
	"GET /ws/v1/stack 404":                         "debugging is offered at the same address",
	"GET /ws/v1/fullstatedump 404":                 "debugging is offered at the same address",
	"POST /ws/v1/partition/{partition}/whatif 429": "one at a time is asked",
	"POST /ws/v1/validate-conf 429":                "one at a time is asked",
}

// slowQueries is the shortest that there is of what takes its time.
var slowQueries = map[string]string{"/debug/pprof/profile": "seconds=1", "/debug/pprof/trace": "seconds=0.01"}

// TestOpenAPIHasEveryStatus sends one request to every operation in every stage. Each
// answer is in the document, and each answer that the document has is seen.
func TestOpenAPIHasEveryStatus(t *testing.T) {
	seen := map[string]bool{}
	for _, s := range stages(t) {
		t.Run(s.name, func(t *testing.T) {
			if s.begin != nil {
				defer s.begin()()
			}
			for _, op := range agreed(t).Operations() {
				if w, asked := s.send(t, op); asked {
					seen[fmt.Sprintf("%s %s %d", op.Method, op.Path, w.Code)] = true
				}
			}
		})
	}
	var missed []string
	for _, op := range agreed(t).Operations() {
		for status := range op.Said["responses"].(jsonObject) {
			answer := op.Method + " " + op.Path + " " + status
			if neverSeen[answer] == "" && !seen[answer] {
				missed = append(missed, answer)
			}
			assert.Assert(t, neverSeen[answer] == "" || !seen[answer], "%s is seen", answer)
		}
	}
	slices.Sort(missed)
	assert.Equal(t, strings.Join(missed, "\n"), "")
}

// send sends the request of the stage to an operation and checks the answer. What
// takes long is asked only where that tells something.
func (s *stage) send(t *testing.T, op contract.Operation) (w *httptest.ResponseRecorder, asked bool) {
	t.Helper()
	query := s.query
	if brief, slow := slowQueries[op.Path]; slow {
		if !slices.Contains([]string{"good", "profiles are taken", "no token"}, s.name) {
			return nil, false
		}
		query = brief
	}
	target := agreed(t).Target(op, s.parts)
	if query != "" {
		target += "?" + query
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	if op.Path == "/ws/v1/events/stream" {
		cancel() // what it begins with is there all the same
	}
	body := s.body
	if op.Method == http.MethodPost && body == nil {
		body = strings.NewReader(agreed(t).ExampleBody(op))
	}
	method := cmp.Or(s.method, op.Method)
	r := httptest.NewRequestWithContext(ctx, method, target, body)
	r.Header.Set("Content-Type", "application/json")
	for name, value := range s.headers {
		r.Header.Set(name, value)
	}
	w = httptest.NewRecorder()
	s.handler.ServeHTTP(w, r)
	if method == http.MethodHead && op.Method == http.MethodPost {
		return w, false // it is another method
	}
	agreed(t).keeps(t, method, target, w)
	return w, s.method == ""
}
