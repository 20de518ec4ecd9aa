package webservice

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/golden"

	"github.com/narwhal-scheduler/narwhal/pkg/config"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// goldens are one request for each endpoint.
var goldens = []struct{ file, path string }{
	{"clusters", "/ws/v1/clusters"},
	{"partitions", "/ws/v1/partitions"},
	{"history-apps", "/ws/v1/history/apps?limit=3"},
	{"history-containers", "/ws/v1/history/containers?limit=3"},
	{"node-utilizations", "/ws/v1/scheduler/node-utilizations"},
	{"healthcheck", "/ws/v1/scheduler/healthcheck"},
	{"placementrules", "/ws/v1/partition/default/placementrules"},
	{"queues", "/ws/v1/partition/default/queues"},
	{"queue", "/ws/v1/partition/default/queue/root.sys"},
	{"queue-subtree", "/ws/v1/partition/default/queue/root.sys?subtree"},
	{"nodes", "/ws/v1/partition/default/nodes"},
	{"node", "/ws/v1/partition/default/node/node-2"},
	{"applications", "/ws/v1/partition/default/applications/active"},
	{"applications-completed", "/ws/v1/partition/default/applications/completed"},
	{"applications-rejected", "/ws/v1/partition/default/applications/rejected"},
	{"queue-applications", "/ws/v1/partition/default/queue/root.low/applications"},
	{"application", "/ws/v1/partition/default/application/agents-app"},
	{"asks", "/ws/v1/partition/default/asks"},
	{"preemptions", "/ws/v1/partition/default/preemptions"},
	{"events", "/ws/v1/events/batch?start=1"},
	{"explain", "/ws/v1/partition/default/application/agents-app/allocation/agent-1/explain"},
	{"explain-victim", "/ws/v1/partition/default/application/filler-app/allocation/filler-2/explain"},
	{"explain-gone", "/ws/v1/partition/default/application/filler-app/allocation/filler-0/explain"},
	{"users", "/ws/v1/partition/default/usage/users"},
	{"user", "/ws/v1/partition/default/usage/user/anna"},
	{"groups", "/ws/v1/partition/default/usage/groups"},
	{"nodes-paged", "/ws/v1/partition/default/nodes?limit=1&offset=1&fields=nodeID,available"},
	{"error", "/ws/v1/partition/none/nodes"},
}

// TestGolden shows every answer, one member a line.
func TestGolden(t *testing.T) {
	s := newWorld(t).service(t)
	for _, g := range goldens {
		t.Run(g.file, func(t *testing.T) {
			w := ask(s.Handler(), http.MethodGet, g.path)
			assert.Equal(t, w.Header().Get("Content-Type"), typeJSON)
			var shown bytes.Buffer
			assert.NilError(t, json.Indent(&shown, w.Body.Bytes(), "", "  "), w.Body)
			shown.WriteString("\n")
			golden.Assert(t, shown.String(), g.file+".json")
		})
	}
}

func TestGoldenConfiguration(t *testing.T) {
	s := newWorld(t).service(t)
	w := ask(s.Handler(), http.MethodGet, "/ws/v1/config")
	assert.Equal(t, w.Header().Get("Content-Type"), typeYAML)
	golden.Assert(t, w.Body.String(), "config.yaml")

	// What is shown configures the same, but for what is no part of the file.
	text, _, _ := strings.Cut(w.Body.String(), "extra:")
	again, err := config.Load(text, new(resources.Kinds))
	assert.NilError(t, err, text)
	first := configurationOf(s.document(), nil)
	second := configurationOf(again, nil)
	second.Checksum = first.Checksum
	assert.DeepEqual(t, first, second)

	w = ask(s.Handler(), http.MethodGet, "/ws/v1/config", "Accept", "application/json")
	var shown bytes.Buffer
	assert.NilError(t, json.Indent(&shown, w.Body.Bytes(), "", "  "))
	golden.Assert(t, shown.String()+"\n", "config.json")
}

// TestGoldenDump is the state dump as it is sent.
func TestGoldenDump(t *testing.T) {
	s := newWorld(t).service(t)
	s.config.History = counted{{At: start, Applications: 1, Containers: 12}, {At: start.Add(time.Minute), Applications: 3}} // not 180 of them
	w := ask(s.DebugHandler(), http.MethodGet, "/debug/fullstatedump")
	assert.Equal(t, w.Code, http.StatusOK)
	assert.Assert(t, json.Valid(w.Body.Bytes()))
	golden.Assert(t, w.Body.String(), "fullstatedump.json")
}

// TestEveryRouteIsShown fails for an endpoint without a golden file.
func TestEveryRouteIsShown(t *testing.T) {
	s := newWorld(t).service(t)
	elsewhere := map[string]bool{ // in tests of their own
		"/ws/v1/config": true, "/ws/v1/metrics": true, "/ws/v1/stack": true, "/ws/v1/fullstatedump": true,
		"/ws/v1/openapi.json": true, "/ws/v1/openapi.yaml": true,
		"/ws/v1/validate-conf": true, "/ws/v1/partition/{partition}/whatif": true, "/ws/v1/events/stream": true, "/ws/v1/partition/{partition}/usage/group/{group}": true,
		"/ws/v1/partition/{partition}/queue/{queue}/applications/{state}":      true,
		"/ws/v1/partition/{partition}/queue/{queue}/application/{application}": true,
	}
	for _, route := range s.routes() {
		found := elsewhere[route.path]
		for _, g := range goldens {
			path, _, _ := strings.Cut(g.path, "?")
			if _, ok := fit(route.path, path); ok {
				found = true
			}
		}
		assert.Assert(t, found, route.path)
	}
}
