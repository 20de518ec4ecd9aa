package acceptance

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
)

// TestStreamsKeepTheContract reads what is kept, in both forms, and how a stream
// ends.
func TestStreamsKeepTheContract(t *testing.T) {
	const target = "/ws/v1/events/stream?count=3"
	for _, accept := range []string{typeSSE, "", "text/event-stream, */*;q=0.1"} {
		config := newWorld(t).config(t)
		s := served(t, config, "")
		r := httptest.NewRequest(http.MethodGet, target, nil)
		r.Header.Set("Accept", accept)
		ctx, cancel := context.WithCancel(t.Context())
		w := &ending{ResponseRecorder: httptest.NewRecorder(), after: 2, end: cancel}
		s.ServeHTTP(w, r.WithContext(ctx))
		agreed(t).keeps(t, http.MethodGet, target, w.ResponseRecorder)
		assert.Equal(t, strings.Count(w.Body.String(), `"id":`), 3, w.Body)

		w = &ending{ResponseRecorder: httptest.NewRecorder(), after: 2, end: config.Events.Close}
		s.ServeHTTP(w, r)
		agreed(t).keeps(t, http.MethodGet, target, w.ResponseRecorder)
		assert.Assert(t, strings.Contains(w.Body.String(), "the event stream is closed"), w.Body)
	}
}

// An ending is a client during whose reading something ends: after so many parts
// have come.
type ending struct {
	*httptest.ResponseRecorder
	after int
	end   func()
}

func (e *ending) Flush() {
	if e.after--; e.after == 0 {
		e.end()
	}
	e.ResponseRecorder.Flush()
}

// TestServerSentEventsThatAreNone is the test of the test.
func TestServerSentEventsThatAreNone(t *testing.T) {
	const pointer = "/paths/~1ws~1v1~1events~1stream/get/responses/200/content/application~1json/schema"
	const first = "event: instance\ndata: {\"InstanceUUID\":\"x\"}\n\n"
	for body, want := range map[string]string{
		first:                                      "",
		first + "id: 7\ndata: {\"id\":7}\n\n":      "",
		"id: 7\ndata: {\"id\":7}\n\n":              `event 0 begins with "id: 7"`,
		first + "id: 8\ndata: {\"id\":7}\n\n":      `event 1 begins with "id: 8"`,
		first + "id: 7\ndata: {\"id\":7}\n":        "event 1 is no event",
		first + "id: 7\ndata: {\"id\":7,\n}\n\n":   "event 1 is no event",
		first + "id: 7\n{\"id\":7}\n\n":            "event 1 is no event",
		first + "id: 7\ndata: {\"id\":7,}\n\n":     "event 1: ",
		first + "id: 7\ndata: {\"ID\":7}\n\n":      "event 1: ",
		first + "message: 7\ndata: {\"id\":7}\n\n": "event 1 begins with",
	} {
		err := agreed(t).CheckServerSent(pointer, body)
		if want == "" {
			assert.NilError(t, err)
		} else {
			assert.ErrorContains(t, err, want)
		}
	}
}
