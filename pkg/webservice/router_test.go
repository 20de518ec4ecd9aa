package webservice

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
	"github.com/narwhal-scheduler/narwhal/pkg/webservice/internal/fixture"
)

func TestPaths(t *testing.T) {
	s := newWorld(t).service(t)
	both := s.both()
	for _, c := range []struct {
		method, path string
		status       int
		header, want string
	}{
		{"GET", "/ws/v1/clusters", 200, "", ""},
		{"GET", "/ws/v1/clusters/", 301, "Location", "/ws/v1/clusters"},
		{"GET", "/WS/v1/Clusters?a=b", 301, "Location", "/ws/v1/clusters?a=b"},
		{"GET", "//ws/v1/./x/../clusters", 301, "Location", "/ws/v1/clusters"},
		{"GET", "/ws/v1/Partition/default/NODE/node-1", 301, "Location", "/ws/v1/partition/default/node/node-1"},
		{"GET", "/ws/v1/partition/default/node/NODE-1", 404, "Content-Type", typeJSON},
		{"GET", "/ws/v1/stack", 301, "Location", "/debug/stack"},
		{"GET", "/ws/v1/fullstatedump?x=1", 301, "Location", "/debug/fullstatedump?x=1"},
		{"GET", "/debug/pprof", 301, "Location", "/debug/pprof/"},
		{"GET", "/debug/pprof/", 200, "", ""},
		{"GET", "/debug/pprof/cmdline", 200, "", ""},
		{"GET", "/debug/stack", 200, "Content-Type", typeText},
		{"GET", "/", 404, "Content-Type", typeText},
		{"GET", "/ws/v1", 404, "Content-Type", typeText},
		{"GET", "/ws/v1/clusters/more", 404, "Content-Type", typeText},
		{"GET", "//evil.example/ws/v1/clusters", 404, "Content-Type", typeText},
		{"GET", "/ws/v1/partition//nodes", 404, "Content-Type", typeText},
		{"POST", "/ws/v1/clusters", 405, "Allow", "GET, HEAD, OPTIONS"},
		{"DELETE", "/ws/v1/validate-conf", 405, "Allow", "OPTIONS, POST"},
		{"GET", "/ws/v1/validate-conf", 405, "Allow", "OPTIONS, POST"},
		{"OPTIONS", "/ws/v1/clusters", 200, "Allow", "GET, HEAD, OPTIONS"},
		{"OPTIONS", "/ws/v1/clusters", 200, "Access-Control-Allow-Origin", ""},
		{"OPTIONS", "/ws/v1/nothing", 404, "", ""},
	} {
		w := ask(both, c.method, c.path)
		assert.Equal(t, w.Code, c.status, c.path)
		if c.header != "" {
			assert.Equal(t, w.Header().Get(c.header), c.want, c.path)
		}
		if c.status == 404 && c.want == typeText {
			assert.Equal(t, w.Body.String(), "404 page not found\n")
		}
	}
}

// TestDebugIsElsewhere keeps the service and what is for debugging apart.
func TestDebugIsElsewhere(t *testing.T) {
	s := newWorld(t).service(t)
	assert.Equal(t, ask(s.Handler(), "GET", "/debug/pprof/").Code, 404)
	assert.Equal(t, ask(s.Handler(), "GET", "/debug/fullstatedump").Code, 404)
	assert.Equal(t, ask(s.DebugHandler(), "GET", "/ws/v1/clusters").Code, 404)
}

func TestErrors(t *testing.T) {
	h := newWorld(t).service(t).Handler()
	const p = "/ws/v1/partition/default"
	for _, c := range []struct {
		path   string
		status int
		text   string
	}{
		{"/ws/v1/partition/none/queues", 404, "Partition not found"},
		{p + "/queue/root.none", 404, "Queue not found"},
		{p + "/queue/low", 404, "Queue not found"},
		{p + "/queue/root.%25zz", 400, "Invalid queue name"},
		{p + "/node/none", 404, "Node not found"},
		{p + "/application/none", 404, "Application not found"},
		{p + "/application/done-app", 404, "Application not found"},
		{p + "/queue/root.sys/application/filler-app", 404, "Application not found"},
		{p + "/queue/root.none/application/filler-app", 404, "Queue not found"},
		{p + "/applications/sleeping", 400, "Only following application states are allowed: active, rejected, completed"},
		{p + "/queue/root.low/applications/completed", 400, "Only following application states are allowed: active"},
		{p + "/applications/active?status=sleeping", 400, "Only following active statuses are allowed: new, accepted, running, completing, failing, resuming"},
		{p + "/usage/user/nobody", 404, "User not found"},
		{p + "/usage/user/%25zz", 400, "Invalid user name"},
		{p + "/usage/group/staff", 404, "Group not found"},
		{p + "/usage/group/*", 400, "Invalid group name"},
	} {
		w := ask(h, "GET", c.path)
		assert.Equal(t, w.Code, c.status, c.path)
		var got failureJSON
		assert.NilError(t, json.Unmarshal(w.Body.Bytes(), &got), c.path)
		assert.Equal(t, got, failureJSON{c.status, c.text, c.text}, c.path)
		assert.Equal(t, w.Header().Get("Content-Type"), typeJSON)
	}
}

// TestNamesInPaths finds names however often they were escaped.
func TestNamesInPaths(t *testing.T) {
	world := newWorld(t)
	world.Names = []string{"[a]default", "[mycluster]default", "bare"}
	world.Views["[a]default"] = &api.View{Root: &api.QueueView{Path: "root"}}
	world.Views["bare"] = &api.View{Root: &api.QueueView{Path: "root", Queues: []*api.QueueView{{Path: "root.a/b@c%"}}}}
	h := world.service(t).Handler()
	for path, status := range map[string]int{
		"/ws/v1/partition/%5Bmycluster%5Ddefault/node/node-1": 200,
		"/ws/v1/partition/default/node/node-1":                404, // that of [a] comes first
		"/ws/v1/partition/bare/queue/root.a%2Fb@c%2525":       200,
		"/ws/v1/partition/bare/queue/root.a%252Fb%2540c%2525": 200,
		"/ws/v1/partition/bare/queue/ROOT.A%2Fb@c%2525":       200,
		"/ws/v1/partition/bare/queue/root.a%2Fb@c%25":         400,
	} {
		assert.Equal(t, ask(h, "GET", path).Code, status, path)
	}
}

// TestViewsThatFail is a scheduler that is stopped, and a partition that went
// between its name and its view.
func TestViewsThatFail(t *testing.T) {
	world := newWorld(t)
	world.Names = append(world.Names, "[mycluster]other")
	h := world.service(t).Handler()
	assert.Equal(t, ask(h, "GET", "/ws/v1/partition/other/nodes").Code, 503)
	world.Fail = errors.New("scheduler is stopped")
	for _, path := range []string{"/ws/v1/clusters", "/ws/v1/partitions", "/ws/v1/scheduler/healthcheck", "/ws/v1/partition/default/nodes"} {
		w := ask(h, "GET", path)
		assert.Equal(t, w.Code, 503, path)
		assert.Assert(t, strings.Contains(w.Body.String(), "scheduler is stopped"), w.Body)
	}
}

// TestEmptyCluster answers every endpoint where there is nothing at all.
func TestEmptyCluster(t *testing.T) {
	bare, err := New(Config{Views: &world{new(fixture.World)}, Kinds: new(resources.Kinds)})
	assert.NilError(t, err)
	empty := &world{&fixture.World{Names: []string{"default"}, Views: map[string]*api.View{"default": {Root: &api.QueueView{Path: "root"}}}}}
	young, err := New(Config{Views: empty, Kinds: new(resources.Kinds)})
	assert.NilError(t, err)
	for _, g := range fixture.Answers {
		w := ask(bare.Handler(), "GET", g.Path)
		if strings.Contains(g.Path, "/partition/") || strings.Contains(g.Path, "/events/") {
			assert.Equal(t, w.Code, 404, g.Path)
		} else {
			assert.Equal(t, w.Code, 200, g.Path)
		}
		w = ask(young.Handler(), "GET", g.Path)
		assert.Assert(t, w.Code == 200 || w.Code == 404, "%s %s", g.Path, w.Body)
		if w.Code == 200 && w.Header().Get("X-Total-Count") != "" {
			assert.Equal(t, w.Body.String()[:1], "[")
		}
	}
	assert.Equal(t, ask(bare.Handler(), "GET", "/ws/v1/config").Code, 404)
	assert.Equal(t, ask(bare.Handler(), "POST", "/ws/v1/validate-conf").Code, 404)
	assert.Equal(t, ask(bare.Handler(), "GET", "/ws/v1/metrics").Code, 404)
	assert.Equal(t, ask(young.DebugHandler(), "GET", "/debug/fullstatedump").Code, 200)
	_, err = New(Config{})
	assert.ErrorContains(t, err, "Views is missing\nwebservice config: Kinds is missing")
}
