package webservice

import (
	"io"
	"net/http"
	"testing"

	"gotest.tools/v3/assert"
)

// withPage is a service with a dashboard of one file.
func withPage(t *testing.T) *Service {
	t.Helper()
	page := http.NewServeMux()
	page.HandleFunc("/{$}", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "the page") })
	config := newWorld(t).service(t).config
	config.Dashboard = page
	s, err := New(config)
	assert.NilError(t, err)
	return s
}

func TestADashboardHasEveryOtherPath(t *testing.T) {
	s := withPage(t)
	assert.Equal(t, ask(s.Handler(), "GET", "/").Body.String(), "the page")
	assert.Equal(t, ask(s.both(), "GET", "/").Body.String(), "the page")
	assert.Equal(t, ask(s.DebugHandler(), "GET", "/").Code, http.StatusNotFound)
	assert.Equal(t, ask(s.Handler(), "GET", "/nothing").Code, http.StatusNotFound)
	assert.Equal(t, ask(s.Handler(), "GET", "/ws/v1/clusters").Code, http.StatusOK)
	assert.Equal(t, ask(s.Handler(), "GET", "/ws/v1/clusters/").Code, http.StatusMovedPermanently)
}

// TestThePageNeedsNoToken shows the page to all clients, since it asks for the token,
// and data to none without it, however the path is written.
func TestThePageNeedsNoToken(t *testing.T) {
	s := withPage(t)
	server, err := NewServer(ServerConfig{Token: "secret"}, s)
	assert.NilError(t, err)
	guarded := server.guarded(offer{handler: s.both()})
	assert.Equal(t, ask(guarded, "GET", "/").Body.String(), "the page")
	for _, path := range []string{
		"/ws/v1/clusters", "/WS/V1/Clusters", "//ws/v1/clusters", "/ws/v1/clusters/", "/x/../ws/v1/clusters",
		"/ws/v1/partition/default/nodes", "/debug/fullstatedump", "/debug/pprof/", "/debug/pprof/heap",
	} {
		assert.Equal(t, ask(guarded, "GET", path).Code, http.StatusUnauthorized, path)
		assert.Assert(t, ask(guarded, "GET", path, "Authorization", "Bearer secret").Code != http.StatusUnauthorized, path)
	}
}
