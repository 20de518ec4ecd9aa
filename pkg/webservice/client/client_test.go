package client_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/golden"

	"github.com/narwhal-scheduler/narwhal/pkg/webservice/client"
)

// answers are what the web service says in its own tests.
var answers = map[string]string{
	"/ws/v1/partition/default/queues":                                             "queues",
	"/ws/v1/partition/default/nodes":                                              "nodes",
	"/ws/v1/partition/default/asks":                                               "asks",
	"/ws/v1/partition/default/groups":                                             "startgroups",
	"/ws/v1/partition/default/domains":                                            "domains",
	"/ws/v1/partition/default/preemptions":                                        "preemptions",
	"/ws/v1/partition/default/application/filler-app":                             "application",
	"/ws/v1/partition/default/whatif":                                             "whatif",
	"/ws/v1/partition/default/application/agents-app/allocation/agent-1/explain":  "explain",
	"/ws/v1/partition/%5Brm%5Ddefault/application/a%2Fb/allocation/c%20d/explain": "explain",
}

// server answers with what the web service says.
func server(t *testing.T, seen func(*http.Request)) *client.Client {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if seen != nil {
			seen(r)
		}
		name, ok := answers[r.URL.EscapedPath()]
		if !ok {
			w.WriteHeader(http.StatusNotFound)
			_, _ = io.WriteString(w, `{"status_code": 404, "message": "Application not found", "description": "Application not found"}`)
			return
		}
		text, err := os.ReadFile(filepath.Join("..", "testdata", name+".json"))
		assert.Check(t, err)
		_, _ = w.Write(text)
	}))
	t.Cleanup(s.Close)
	return &client.Client{Server: s.URL + "/"}
}

// now is a minute after the newest plan.
var now = time.Unix(1795251660, 0)

func name(key string) string {
	if key == "agent-1" {
		return "dev/agent-1"
	}
	return key
}

func TestTables(t *testing.T) {
	c, ctx := server(t, nil), context.Background()
	queues, err := c.Queues(ctx)
	assert.NilError(t, err)
	nodes, err := c.Nodes(ctx)
	assert.NilError(t, err)
	asks, err := c.Asks(ctx)
	assert.NilError(t, err)
	plans, err := c.Preemptions(ctx)
	assert.NilError(t, err)
	groups, err := c.Groups(ctx)
	assert.NilError(t, err)
	domains, err := c.Domains(ctx)
	assert.NilError(t, err)
	for file, table := range map[string]*client.Table{
		"domains": client.DomainsTable(domains.Value),
		"groups":  client.GroupsTable(groups.Value, now),
		"queues":  client.QueuesTable(queues.Value), "nodes": client.NodesTable(nodes.Value),
		"asks": client.AsksTable(asks.Value, name, now), "preemptions": client.PreemptionsTable(plans.Value, name, now),
	} {
		var out bytes.Buffer
		assert.NilError(t, table.Write(&out))
		golden.Assert(t, out.String(), file+".golden")
	}
}

func TestWhatIf(t *testing.T) {
	var sent client.Question
	c := server(t, func(r *http.Request) {
		assert.Check(t, r.Header.Get("Content-Type") == "application/json")
		assert.Check(t, json.NewDecoder(r.Body).Decode(&sent))
	})
	asked := &client.Question{
		Applications: []client.NewApplication{{Application: "new", Queue: "root.low"}},
		Asks:         []client.NewAsk{{Key: "k", Application: "new", Resource: client.Amounts{"vcore": 1}, Count: 2, Policy: &client.Policy{Other: true}}},
	}
	outcome, err := c.WhatIf(context.Background(), asked)
	assert.NilError(t, err)
	assert.DeepEqual(t, sent, *asked)
	var out bytes.Buffer
	assert.NilError(t, client.WriteOutcome(&out, outcome.Value, name))
	golden.Assert(t, out.String(), "whatif.golden")
}

func TestWriteOutcomeSaysWhatIsNotKnown(t *testing.T) {
	var o client.Outcome
	assert.NilError(t, json.Unmarshal([]byte(`{"asks": [{"allocationKey": "a", "refused": "a key twice"}, {"allocationKey": "b", "nominatedNode": "n"}, {"allocationKey": "c", "nodeId": "n"}, {"allocationKey": "d", "nodeId": "m", "unasked": true}],
		"others": [{"allocationKey": "e", "nodeId": "n"}, {"allocationKey": "f", "nodeId": "n", "unasked": true}, {"allocationKey": "g", "nominatedNode": "n"}],
		"waited": 5, "waiting": [{"why": "no node has room", "asks": 2, "allocationKey": "h"}], "staying": [{"nodeId": "o", "allocations": 3}],
		"victims": [{"allocationKey": "c", "applicationId": "x", "message": "by priority for b"}],
		"rejected": [{"applicationId": "x", "message": "no such queue"}],
		"overLimits": [{"queueName": "root.ml", "user": "ann", "by": {"vcore": 1500}}, {"queueName": "root", "group": "research", "by": {"vcore": 500}, "applications": 2}], "partial": true}`), &o))
	var out bytes.Buffer
	assert.NilError(t, client.WriteOutcome(&out, &o, name))
	golden.Assert(t, out.String(), "whatif-partial.golden")
}

func TestExplain(t *testing.T) {
	c := server(t, func(r *http.Request) { assert.Check(t, r.Header.Get("Authorization") == "Bearer secret") })
	c.Token = "secret"
	answer, err := c.Explain(context.Background(), "agents-app", "agent-1")
	assert.NilError(t, err)
	assert.Equal(t, answer.Value.Lines[0], "agent-1 of application agents-app waits in queue root.sys.agents: room is being made: node-1")
	proxied := server(t, func(r *http.Request) {
		assert.Check(t, r.Header.Get(client.TokenHeader) == "Bearer secret" && r.Header.Get("Authorization") == "")
	})
	proxied.Token, proxied.Proxied = "secret", true
	_, err = proxied.Explain(context.Background(), "agents-app", "agent-1")
	assert.NilError(t, err)
	var all map[string]any
	assert.NilError(t, json.Unmarshal(answer.JSON, &all))
	assert.Assert(t, all["wouldFit"] == nil && all["plan"] != nil, "the JSON is the whole answer")

	for application, want := range map[string]bool{"filler-app": true, "unknown": false} {
		known, err := c.Knows(context.Background(), application)
		assert.NilError(t, err)
		assert.Equal(t, known, want)
	}

	c.Partition = "[rm]default"
	_, err = c.Explain(context.Background(), "a/b", "c d")
	assert.NilError(t, err, "names are escaped")
}

func TestErrors(t *testing.T) {
	c := server(t, nil)
	_, err := c.Explain(context.Background(), "unknown", "x")
	assert.Assert(t, errors.Is(err, client.ErrNotFound))
	assert.Error(t, err, "Application not found")

	for body, want := range map[string]string{
		`{"message": "Too many what-ifs are asked at the same time"}`: "Too many what-ifs are asked at the same time",
		"<html>":                  "answers 429 Too Many Requests",
		`{"message": ["a list"]}`: "answers 429 Too Many Requests",
	} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusTooManyRequests)
			_, _ = io.WriteString(w, body)
		}))
		_, err := (&client.Client{Server: s.URL}).Queues(context.Background())
		assert.ErrorContains(t, err, want)
		s.Close()
		_, err = (&client.Client{Server: s.URL}).Queues(context.Background())
		assert.ErrorContains(t, err, "connection refused")
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "[") }))
	defer s.Close()
	_, err = (&client.Client{Server: s.URL}).Queues(context.Background())
	assert.ErrorContains(t, err, "answers no JSON that is expected")
	_, err = (&client.Client{Server: "http://[::1"}).Queues(context.Background())
	assert.ErrorContains(t, err, `server "http://[::1"`)
}

func TestAmounts(t *testing.T) {
	for want, amounts := range map[string]client.Amounts{
		"-": {"pods": 0},
		"cpu=2.5 memory=3Gi nvidia.com/gpu=1 pods=4":              {"pods": 4, "vcore": 2500, "memory": 3 << 30, "nvidia.com/gpu": 1},
		"cpu=0.001 memory=1.5Ki":                                  {"vcore": 1, "memory": 1536},
		"memory=-1.5Gi":                                           {"memory": -3 << 29},
		"memory=1023 ephemeral-storage=100Gi hugepages-2Mi=512Mi": {"memory": 1023, "ephemeral-storage": 100 << 30, "hugepages-2Mi": 512 << 20},
		"memory=8Ei": {"memory": 1<<63 - 1},
	} {
		assert.Equal(t, amounts.String(), want)
	}
}

func TestAge(t *testing.T) {
	for want, d := range map[string]time.Duration{
		"0s": -time.Second, "119s": 119 * time.Second, "2m": 2 * time.Minute, "119m": 119 * time.Minute, "2h": 2 * time.Hour, "47h": 47 * time.Hour, "2d": 48 * time.Hour,
	} {
		assert.Equal(t, client.Age(d), want)
	}
}

// TestAddress: a host is enough, and what has a protocol is left as it is.
func TestAddress(t *testing.T) {
	for server, want := range map[string]string{
		"localhost":              "http://localhost:9080",
		"localhost:8080":         "http://localhost:8080",
		"localhost/below/":       "http://localhost:9080/below",
		"127.0.0.1":              "http://127.0.0.1:9080",
		"127.0.0.1:8080/":        "http://127.0.0.1:8080",
		"::1":                    "http://[::1]:9080",
		"[::1]":                  "http://[::1]:9080",
		"[::1]:8080":             "http://[::1]:8080",
		"http://scheduler":       "http://scheduler",
		"https://scheduler:9443": "https://scheduler:9443",
	} {
		assert.Equal(t, client.Address(server), want, server)
	}
}

// TestWriteOutcomeSaysWhen: what comes after a delay is told with it, and what was not waited for.
func TestWriteOutcomeSaysWhen(t *testing.T) {
	var o client.Outcome
	assert.NilError(t, json.Unmarshal([]byte(`{"simulated": 9000000000, "delays": 299000000001, "asks": [{"allocationKey": "new", "nodeId": "n", "after": 8000000001}]}`), &o))
	var out bytes.Buffer
	assert.NilError(t, client.WriteOutcome(&out, &o, func(key string) string { return key }))
	assert.Equal(t, out.String(), `NAME   RESULT          NODE   WHY
new    runs after 9s   n      -

nothing would be evicted within 9s
a delay that goes on for 5m more was not waited for: something may be evicted then
`)
}
