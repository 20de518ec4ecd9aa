package webservice

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/webservice/failure"
)

// tenants is a server whose clients may read a few paths each, by token. What it is asked is noted.
func tenants(t *testing.T, may map[string][]string, asked *[]string) http.Handler {
	t.Helper()
	sees := func(token, path string) bool { return slices.Contains(may[token], path) }
	s, err := NewServer(ServerConfig{
		Address: "127.0.0.1:0",
		Admit: func(r *http.Request, token string) error {
			if !sees(token, r.URL.Path) {
				return failure.New(failure.ErrForbidden, "Not for %s", token)
			}
			return nil
		},
		Sees: func(_ *http.Request, token, path string) (bool, error) {
			*asked = append(*asked, path)
			if token == "broken" {
				return false, failure.New(failure.ErrUnavailable, "It cannot be told")
			}
			return sees(token, path), nil
		},
	}, newWorld(t).service(t))
	assert.NilError(t, err)
	return s.Handler()
}

const partitionPath = "/ws/v1/partition/default/"

// TestTenants: a client that may read about one queue gets lists with what is of that queue, and nothing of any other one.
// What is no list of queues, applications or asks is not answered.
func TestTenants(t *testing.T) {
	var asked []string
	agents := partitionPath + "queue/root.sys.agents"
	h := tenants(t, map[string][]string{
		"agents": {agents, agents + "/applications"},
		"low":    {partitionPath + "queue/root.low", partitionPath + "queue/root.low/applications"},
		"looks":  {agents},
		"all":    {partitionPath + "queues", partitionPath + "asks"},
	}, &asked)
	read := func(token, path string) *httptest.ResponseRecorder {
		return ask(h, "GET", partitionPath+path, "Authorization", "Bearer "+token)
	}
	for _, c := range []struct {
		token, path string
		status      int
		has, lacks  string
	}{
		{"agents", "queues", 200, `"queuename":"root.sys.agents"`, "root.low"},
		{"agents", "queues", 200, `"maxRunningApps":7`, "150000"}, // a limit of root
		{"low", "queues", 200, `"allocatedResource":{"memory":3221225472`, "agents"},
		{"agents", "asks", 200, "agent-1", "filler"},
		{"low", "asks", 200, "[]", "agent"},
		{"agents", "applications/active", 200, "agents-app", "filler-app"},
		{"low", "applications/active", 200, "filler-app", "agents-app"},
		{"agents", "applications/completed", 200, "done-app", "filler"},
		{"low", "applications/completed", 200, "[]", "done-app"},
		{"low", "applications/rejected", 200, "[]", "lost-app"},
		{"agents", "application/agents-app", 200, "agents-app", "filler"},
		{"low", "application/agents-app", 404, "", "agent-1"},
		{"looks", "queues", 200, "root.sys.agents", "root.low"},
		{"looks", "asks", 403, "Not for looks", "agent-1"},
		{"looks", "applications/active", 403, "", "agents-app"},
		{"none", "queues", 403, "Not for none", "root"},
		{"broken", "queues", 503, "It cannot be told", "root"},
		{"all", "queues", 200, "root.low", "Not for"},
		{"all", "asks", 200, "agent-1", "Not for"},
		{"agents", "nodes", 403, "", "node-1"},
		{"agents", "summary", 403, "", "vcore"},
		{"agents", "preemptions", 403, "", "filler"},
		{"agents", "usage/users", 403, "", "anna"},
		{"agents", "application/agents-app/allocation/agent-1/explain", 403, "", "node-1"},
	} {
		answer := read(c.token, c.path)
		body := answer.Body.String()
		assert.Equal(t, answer.Code, c.status, "%s %s: %s", c.token, c.path, body)
		assert.Assert(t, strings.Contains(body, c.has), "%s %s: %s", c.token, c.path, body)
		assert.Assert(t, !strings.Contains(body, c.lacks), "%s %s: %s", c.token, c.path, body)
	}
	assert.Equal(t, ask(h, "GET", "/ws/v1/partition/none/queues", "Authorization", "Bearer agents").Code, 403)
	assert.Equal(t, ask(h, "HEAD", partitionPath+"queues", "Authorization", "Bearer agents").Code, 403)
}

// TestTenantsShareNoReply: the same request of two clients that see different queues is about two things.
func TestTenantsShareNoReply(t *testing.T) {
	view, subjects := &api.View{Root: wideTree(1)}, map[subject]bool{}
	for _, within := range [][]api.QueuePath{nil, {"root.a"}, {"root.b"}, {"root.a", "root.b"}} {
		r := httptest.NewRequest(http.MethodGet, partitionPath+"asks", nil)
		views := requestViews{{partition: "default", view: view, within: within}}
		subjects[subjectOf(r.WithContext(context.WithValue(r.Context(), viewsKey{}, views)))] = true
	}
	assert.Equal(t, len(subjects), 4)
}

// TestFewQueuesAreAskedAbout: not about those below one that may be seen, and where the query names one, not about others.
func TestFewQueuesAreAskedAbout(t *testing.T) {
	var asked []string
	h := tenants(t, map[string][]string{"ann": {partitionPath + "queue/root.sys", partitionPath + "queue/root.low/applications"}}, &asked)
	assert.Equal(t, ask(h, "GET", partitionPath+"queues", "Authorization", "Bearer ann").Code, 200)
	assert.DeepEqual(t, asked, []string{partitionPath + "queue/root", partitionPath + "queue/root.low", partitionPath + "queue/root.sys"})
	asked = nil
	assert.Equal(t, ask(h, "GET", partitionPath+"asks?queue=root.low", "Authorization", "Bearer ann").Code, 200)
	assert.DeepEqual(t, asked, []string{partitionPath + "queue/root/applications", partitionPath + "queue/root.low/applications"})
}

// wideTree is a root with so many leaves.
func wideTree(leaves int) *api.QueueView {
	root := &api.QueueView{Path: "root"}
	for i := range leaves {
		root.Queues = append(root.Queues, &api.QueueView{Path: api.QueuePath(fmt.Sprint("root.q-", i)), Leaf: true})
	}
	return root
}

// TestTooManyQueues: a client that sees none of very many is told to name one, and no more is asked.
func TestTooManyQueues(t *testing.T) {
	root := wideTree(scopeMax + 10)
	count := 0
	of := &scope{within: ofApplications, refusal: errors.New("no"), sees: func(string) (bool, error) {
		count++
		return false, nil
	}}
	r := httptest.NewRequest(http.MethodGet, partitionPath+"asks", nil)
	_, err := of.visible(root, r)
	assert.ErrorIs(t, err, failure.ErrForbidden)
	assert.Equal(t, count, scopeMax)
	r = httptest.NewRequest(http.MethodGet, partitionPath+"asks?queue=root.q-205", nil)
	tops, err := of.visible(root, r)
	assert.NilError(t, err)
	assert.Equal(t, len(tops), 0)
}
