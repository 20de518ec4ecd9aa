package webservice

import (
	"bufio"
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/events"
)

// TestEventPages asks for pages that are there, and for those that are not.
func TestEventPages(t *testing.T) {
	s := newWorld(t).service(t)
	for _, c := range []struct {
		query, want string
		code        int
	}{
		{"start=7", `{"InstanceUUID":"instance-1","LowestID":0,"HighestID":2,"EventRecords":null}`, 200},
		{"start=0&count=1", `"objectID":"node-1"`, 200},
		{"count=0", "count: 0 is not a number of events", 400},
		{"start=-1", `start: \"-1\" is not a whole number`, 400},
		{"start=1&start=2", `start: \"1,2\" is not a whole number`, 400},
		{"count=99999999999999999999", "is not a whole number", 400},
	} {
		w := ask(s.Handler(), http.MethodGet, "/ws/v1/events/batch?"+c.query)
		assert.Equal(t, w.Code, c.code, c.query)
		assert.Assert(t, strings.Contains(w.Body.String(), c.want), w.Body)
	}
	for most, want := range map[int]int{0: 3, 1: 1, 2: 2} { // the records that there are, or as many as are configured
		assert.NilError(t, s.config.Events.Configure(events.Config{PageMax: most}))
		for _, query := range []string{"", "?count=3", "?count=18446744073709551615"} {
			text := ask(s.Handler(), http.MethodGet, "/ws/v1/events/batch"+query).Body.String()
			assert.Equal(t, strings.Count(text, `"id":`), want, text)
		}
	}
	assert.NilError(t, s.config.Events.Configure(events.Config{Disabled: true}))
	assert.Equal(t, ask(s.Handler(), http.MethodGet, "/ws/v1/events/batch").Code, http.StatusServiceUnavailable)
	s.config.Events = nil
	assert.Equal(t, ask(s.Handler(), http.MethodGet, "/ws/v1/events/batch").Code, http.StatusNotFound)
}

// TestEventStream reads the past, and then what happens meanwhile, in both
// forms. Another stream from the same address is one too many.
func TestEventStream(t *testing.T) {
	for accept, lines := range map[string][]string{
		"": {
			`{"InstanceUUID":"instance-1"}`,
			`{"type":1,"objectID":"agent-1","message":"no room","timestampNano":1795248000000000002,"id":2,"count":2,"lastNano":1795248000000000003}`,
			`{"type":3,"objectID":"node-9","id":3}`,
		},
		typeSSE: {
			"event: instance", `data: {"InstanceUUID":"instance-1"}`, "",
			"id: 2", `data: {"type":1,"objectID":"agent-1","message":"no room","timestampNano":1795248000000000002,"id":2,"count":2,"lastNano":1795248000000000003}`, "",
			"id: 3", `data: {"type":3,"objectID":"node-9","id":3}`, "",
		},
	} {
		s := newWorld(t).service(t)
		server := httptest.NewServer(s.Handler())
		r, err := http.NewRequestWithContext(context.Background(), http.MethodGet, server.URL+"/ws/v1/events/stream?count=1", http.NoBody)
		assert.NilError(t, err)
		r.Header.Set("Accept", accept)
		response, err := server.Client().Do(r)
		assert.NilError(t, err)
		assert.Equal(t, response.Header.Get("Cache-Control"), "no-store")
		assert.Equal(t, response.Header.Get("Cross-Origin-Resource-Policy"), "same-origin")
		reader := bufio.NewScanner(response.Body)
		for i, want := range lines {
			if want == "id: 3" || accept == "" && i == len(lines)-1 {
				s.config.Events.Publish([]*si.EventRecord{{Type: si.EventRecord_NODE, ObjectID: "node-9"}})
			}
			assert.Assert(t, reader.Scan(), "%v", reader.Err())
			assert.Equal(t, reader.Text(), want)
		}
		second, err := server.Client().Get(server.URL + "/ws/v1/events/stream")
		assert.NilError(t, err)
		assert.Equal(t, second.StatusCode, http.StatusServiceUnavailable)
		assert.NilError(t, second.Body.Close())

		s.config.Events.Close()
		assert.Assert(t, reader.Scan())
		for reader.Text() == "" || strings.HasPrefix(reader.Text(), "event:") {
			assert.Assert(t, reader.Scan())
		}
		assert.Assert(t, strings.Contains(reader.Text(), "the event stream is closed"), reader.Text())
		assert.NilError(t, response.Body.Close())
		server.Close()
	}
	bad := ask(newWorld(t).service(t).Handler(), http.MethodGet, "/ws/v1/events/stream?count=many")
	assert.Equal(t, bad.Code, http.StatusBadRequest)
}
