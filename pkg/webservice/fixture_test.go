package webservice

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/webservice/internal/fixture"
)

const configText = fixture.ConfigText

// start is when everything in the fixture begins.
var start = fixture.Start

// jsonObject is an object of JSON.
type jsonObject = map[string]any

// world is what a service of the tests is made of.
type world struct{ *fixture.World }

func newWorld(t testing.TB) *world {
	t.Helper()
	return &world{fixture.New(t)}
}

// crowded is a service over a real partition: two nodes with fillers, and little
// room.
func crowded(t testing.TB) *Service {
	t.Helper()
	return (&world{fixture.Crowded(t)}).service(t)
}

// service is a service over a world, with everything it can be given.
func (w *world) service(t testing.TB) *Service {
	t.Helper()
	s, err := New(Config{
		Views: w, Kinds: w.Kinds, Configuration: w.Configuration(t), Archive: w.Past(t), Events: fixture.Happened(t),
		Started: start, Now: func() time.Time { return start.Add(3 * time.Hour) },
		Build:    func(string) map[string]string { return map[string]string{"buildVersion": "v1"} },
		LogLevel: func() string { return "INFO" }, Accounting: fixture.Accounts,
		Metrics: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.Write([]byte("up 1\n")) }),
	})
	assert.NilError(t, err)
	return s
}

// ask sends a request; headers come in pairs.
func ask(h http.Handler, method, target string, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, target, nil)
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}
