package webservice

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/golden"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/core/preemptor"
)

func post(h http.Handler, path, body string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	r := httptest.NewRequest(http.MethodPost, path, strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json; charset=utf-8")
	h.ServeHTTP(w, r)
	return w
}

const whatIfPath = "/ws/v1/partition/default/whatif"

// TestWhatIf rehearses asks: the first fits, room is made for the second, and the
// last is more than any node has.
func TestWhatIf(t *testing.T) {
	s := crowded(t)
	body := `{"asks": [
		{"allocationKey": "try", "applicationId": "agents-app", "resource": {"vcore": 1000}, "priority": 5, "count": 2},
		{"allocationKey": "large", "applicationId": "agents-app", "resource": {"vcore": 9000}}
	]}`
	w := post(s.Handler(), whatIfPath, body)
	assert.Equal(t, w.Code, http.StatusOK, w.Body)
	var shown bytes.Buffer
	assert.NilError(t, json.Indent(&shown, w.Body.Bytes(), "", "  "))
	golden.Assert(t, shown.String()+"\n", "whatif.json")
	assert.Equal(t, post(s.Handler(), whatIfPath, body).Body.String(), w.Body.String(), "nothing was changed")
}

// TestWhatIfConfiguration says which queues would use too much.
func TestWhatIfConfiguration(t *testing.T) {
	s := crowded(t)
	lowered, err := json.Marshal(strings.ReplaceAll(configText, "max: {vcore: 4, memory: 0}", "max: {vcore: 2}"))
	assert.NilError(t, err)
	w := post(s.Handler(), whatIfPath, fmt.Sprintf(`{"config": %s}`, lowered))
	assert.Equal(t, w.Body.String(), `{"asks":[],"victims":[],"others":[],"overUse":[{"queueName":"root.low","by":{"vcore":1000}}],"budgets":"not asked","predicates":"not asked"}`)

	limited, err := json.Marshal(strings.ReplaceAll(configText, "max: {vcore: 4, memory: 0}}", `max: {vcore: 4, memory: 0}}
            limits: [{users: ["*"], maxresources: {vcore: 2}}]`))
	assert.NilError(t, err)
	w = post(s.Handler(), whatIfPath, fmt.Sprintf(`{"config": %s}`, limited))
	assert.Equal(t, w.Body.String(), `{"asks":[],"victims":[],"others":[],"overUse":[],"overLimits":[{"queueName":"root.low","user":"anna","by":{"vcore":1000}}],"budgets":"not asked","predicates":"not asked"}`)
}

// TestWhatIfWaitsForDelays: a question that does not say how long to wait says what comes after the delays that run then.
func TestWhatIfWaitsForDelays(t *testing.T) {
	s := crowded(t)
	lowered, err := json.Marshal(`partitions: [{name: default, preemption: {quotapreemptionenabled: true}, queues: [{name: root, queues: [
		{name: low, properties: {quota.preemption.delay: 9s}, resources: {max: {vcore: 2}}}, {name: sys, queues: [{name: agents}]}, {name: db}]}]}]`)
	assert.NilError(t, err)
	for within, want := range map[string]string{
		``: `"after":9000000000}`, `, "within": "9s"`: `"after":9000000000}`, `, "within": "8s"`: `"simulated":8000000000,"delays":1000000000}`,
	} {
		w := post(s.Handler(), whatIfPath, fmt.Sprintf(`{"config": %s%s}`, lowered, within))
		assert.Assert(t, strings.Contains(w.Body.String(), want), w.Body)
	}
}

// TestBadQuestions are answered with what is wrong and where.
func TestBadQuestions(t *testing.T) {
	s := crowded(t)
	for _, c := range []struct{ body, want string }{
		{``, "Body is no question: EOF"},
		{`{"ask": []}`, `Body is no question: json: unknown field "ask"`},
		{`{} {}`, "Body is more than one question"},
		{`{"applications": [{"applicationId": "a"}, {"queueName": "root.low"}]}`, "applications[1]: applicationId is missing"},
		{`{"applications": [` + strings.Repeat(`{"applicationId": "a"},`, 10_000) + `{}]}`, "applications: there are 10001, and a question has at most 1000"},
		{`{"asks": [{"allocationKey": "k", "preemptionPolicy": {"self": true}}]}`, `Body is no question: json: unknown field "self"`},
		{`{"within": "2h"}`, `within: "2h" is not a duration from 0s to 1h0m0s`},
		{`{"asks": [{"applicationId": "a"}]}`, "asks[0]: allocationKey is missing"},
		{`{"asks": [{"allocationKey": "k", "count": 1001}]}`, "asks[0]: count is 1001, and a question has from 1 to 1000 asks"},
		{`{"asks": [{"allocationKey": "k", "count": -1}]}`, "asks[0]: count is -1, and a question has from 1 to 1000 asks"},
		{`{"asks": [{"allocationKey": "k", "resource": {"tpu": 1}}]}`, `asks[0]: no node or queue has any "tpu"`},
		{`{"asks": [{"allocationKey": "k", "resource": {"vcore": -1}}]}`, "asks[0]: vcore is -1, which is no amount"},
		{`{"nodes": {"remove": ["node-1", "node-9"]}}`, "node node-9 is not registered"},
		{`{"nodes": {"remove": ["node-1"], "drain": ["node-1"]}}`, "node node-1 is drained or removed twice"},
		{`{"nodes": {"add": [{"nodeId": "node-1"}]}}`, "node node-1 is registered already"},
		{`{"nodes": {"add": [{"count": 2}]}}`, "nodes.add[0]: nodeId is missing"},
		{`{"nodes": {"add": [{"nodeId": "n", "count": 600}, {"nodeId": "m", "count": 10000}]}}`, "nodes.add[1]: count is 10000, and a question has from 1 to 1000 new nodes"},
		{`{"nodes": {"add": [{"nodeId": "n", "capacity": {"(unknown)": 1}}]}}`, `nodes.add[0]: no node or queue has any "(unknown)"`},
		{`{"nodes": {"add": [{"nodeId": "n", "capacity": {` + manyKinds() + `}}]}}`, `nodes.add[0]: no node or queue has any "k-064", and a question makes at most 64 kinds known`},
		{`{"nodes": {"drain": [` + strings.Repeat(`"node-1",`, 9_999) + `"node-1"]}}`, "nodes.drain and remove have 10000 nodes, and a question has at most 1000"},
		{`{"config": "partitions: [{name: other, queues: [{name: root}]}]"}`, `config: there is no partition "default" in it`},
	} {
		w := post(s.Handler(), whatIfPath, c.body)
		assert.Equal(t, w.Code, http.StatusBadRequest, c.body)
		var failed failureJSON
		assert.NilError(t, json.Unmarshal(w.Body.Bytes(), &failed))
		assert.Equal(t, failed.Message, c.want)
	}
	assert.Equal(t, post(s.Handler(), "/ws/v1/partition/none/whatif", `{}`).Code, http.StatusNotFound)
	assert.Equal(t, ask(s.Handler(), http.MethodGet, whatIfPath).Code, http.StatusMethodNotAllowed)
}

// manyKinds is one kind more than a question makes known.
func manyKinds() string {
	var kinds []string
	for i := range 65 {
		kinds = append(kinds, fmt.Sprintf(`"k-%03d": 1`, i))
	}
	return strings.Join(kinds, ", ")
}

// TestWhatIfIsOver: when the time for it has passed, the answer is what came of it by
// then, and says so.
func TestWhatIfIsOver(t *testing.T) {
	s := crowded(t)
	s.config.WhatIfMax = 1
	body := `{"asks": [{"allocationKey": "try", "applicationId": "agents-app", "resource": {"vcore": 1000}}], "within": "1h"}`
	w := post(s.Handler(), whatIfPath, body)
	assert.Equal(t, w.Code, http.StatusOK)
	var over struct {
		Asks      []struct{ NodeID string }
		Partial   bool
		Simulated time.Duration
	}
	assert.NilError(t, json.Unmarshal(w.Body.Bytes(), &over))
	assert.Assert(t, over.Partial)
	assert.Assert(t, over.Simulated < time.Hour)
	assert.Equal(t, over.Asks[0].NodeID, "")

	s.config.WhatIfMax = time.Hour
	assert.Assert(t, !strings.Contains(post(s.Handler(), whatIfPath, body).Body.String(), "partial"))
}

// TestWhatIfTakesJSON, and nothing that a page can send to another origin without
// being asked.
func TestWhatIfTakesJSON(t *testing.T) {
	h := crowded(t).Handler()
	for media, want := range map[string]int{
		"": 415, "text/plain": 415, "application/x-www-form-urlencoded": 415, "application/jsonp": 415, "multipart/form-data; boundary=x": 415,
		"application/json": 200, "Application/JSON;charset=utf-8": 200,
	} {
		r := httptest.NewRequest(http.MethodPost, whatIfPath, strings.NewReader("{}"))
		r.Header.Set("Content-Type", media)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		assert.Equal(t, w.Code, want, media)
	}
}

// TestManyWhatIfs: those that wait hold up nothing else, more than a few are told to
// come again, and there is room when clients have gone. A hundred come where eight
// may.
func TestManyWhatIfs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, free := crowded(t), make(chan struct{})
		now := s.config.Now
		s.config.Now = func() time.Time { <-free; return now() }
		dial, stop := piped(t, ServerConfig{}, s)
		defer stop()
		request := "POST " + whatIfPath + " HTTP/1.1\nHost: localhost\nContent-Type: application/json\nContent-Length: 2\n\n{}"
		var waiting []net.Conn
		for range whatIfsOpen {
			c := dial()
			say(t, c, request)
			waiting = append(waiting, c)
		}
		for range 100 - whatIfsOpen {
			c := dial()
			say(t, c, request)
			response, text := hear(t, c)
			assert.Equal(t, response.StatusCode, http.StatusTooManyRequests)
			assert.Equal(t, response.Header.Get("Retry-After"), "5")
			assert.Assert(t, strings.Contains(text, `"message":"Too many what-ifs are asked at the same time"`))
		}
		other := dial()
		say(t, other, "GET /ws/v1/partition/default/queues HTTP/1.1\nHost: localhost\n\n")
		response, _ := hear(t, other)
		assert.Equal(t, response.StatusCode, http.StatusOK)

		for _, c := range waiting[1:] { // the first is being played
			assert.NilError(t, c.Close())
		}
		synctest.Wait()
		assert.Equal(t, s.asked.Load(), int32(1))
		last := dial()
		say(t, last, request)
		close(free)
		synctest.Wait()
		for _, c := range []net.Conn{waiting[0], last} {
			response, _ = hear(t, c)
			assert.Equal(t, response.StatusCode, http.StatusOK)
		}
	})
}

// TestWhatIfOfAClientThatGoes is not played on.
func TestWhatIfOfAClientThatGoes(t *testing.T) {
	s := crowded(t)
	ctx, leave := context.WithCancel(t.Context())
	now, looks := s.config.Now, 0
	s.config.Now = func() time.Time {
		leave() // after the question was taken up
		<-ctx.Done()
		looks++
		return now()
	}
	r := httptest.NewRequestWithContext(ctx, http.MethodPost, whatIfPath, nil)
	at, err := s.look(requestView{partition: "[mycluster]default", view: s.config.Views.(*world).Views["[mycluster]default"]})
	assert.NilError(t, err)
	r.Body = io.NopCloser(strings.NewReader(`{"asks": [{"allocationKey": "try", "applicationId": "agents-app", "resource": {"vcore": 1000}}]}`))
	_, err = s.whatIf(at, r)
	assert.ErrorIs(t, err, context.Canceled)
	assert.Assert(t, looks > 0)
}

// TestWhatIfOfANewApplication: would my new job run, and what would have to end for it?
func TestWhatIfOfANewApplication(t *testing.T) {
	s := crowded(t)
	for _, c := range []struct{ app, ask, want string }{
		{`"queueName": "root.sys.agents", "user": "anna", "groups": ["ops"], "tags": {"a": "b"}`, `"resource": {"vcore": 1000}`, `"nodeId":"node-`},
		{`"queueName": "root.sys.agents"`, `"resource": {"vcore": 2000}, "priority": 5`, `"victims":[{"allocationKey":"filler-`},
		{`"queueName": "root.sys.agents"`, `"resource": {"vcore": 2000}, "priority": 5, "preemptionPolicy": {"allowPreemptSelf": true}`, `"why":"no node has room"`},
		{`"queueName": "root.sys"`, `"resource": {"vcore": 1000}`, `"rejected":[{"applicationId":"new","message":`},
	} {
		w := post(s.Handler(), whatIfPath, fmt.Sprintf(
			`{"applications": [{"applicationId": "new", %s}], "asks": [{"allocationKey": "k", "applicationId": "new", "tags": {"x": "y"}, %s}]}`, c.app, c.ask))
		assert.Equal(t, w.Code, http.StatusOK, w.Body)
		assert.Assert(t, strings.Contains(w.Body.String(), c.want), "%s: %s", c.want, w.Body)
	}
	assert.Equal(t, ask(s.Handler(), http.MethodGet, "/ws/v1/partition/default/application/new").Code, http.StatusNotFound)
}

// TestWhatIfAsksBudgets once for each view, and says whether it had an answer.
func TestWhatIfAsksBudgets(t *testing.T) {
	s, calls := crowded(t), 0
	var err error
	s.config.Budgets = func(ctx context.Context, partition string, keys []api.AllocationKey) ([]api.DisruptionBudget, error) {
		calls++
		_, ok := ctx.Deadline()
		assert.Assert(t, ok)
		assert.Equal(t, partition, "[mycluster]default")
		assert.Equal(t, fmt.Sprint(keys), "[filler-1 filler-2 filler-3]")
		return []api.DisruptionBudget{{Name: "all", Allocations: keys}}, err
	}
	world := s.config.Views.(*world)
	view := *world.Views["[mycluster]default"]
	view.Config.Preemption.Budgets = preemptor.HardBudgets
	body := `{"asks": [{"allocationKey": "k", "applicationId": "agents-app", "resource": {"vcore": 2000}, "priority": 5}]}`
	for _, c := range []struct {
		err    error
		told   string
		victim bool
		calls  int // of two questions
	}{
		{nil, "asked", false, 1},
		{fmt.Errorf("no: %w", errors.ErrUnsupported), "none", true, 1},
		{errors.New("partition does not answer"), "not asked", true, 2},
	} {
		err, calls = c.err, 0
		own := view
		world.Views["[mycluster]default"] = &own
		for range 2 {
			text := post(s.Handler(), whatIfPath, body).Body.String()
			assert.Assert(t, strings.Contains(text, `"budgets":"`+c.told+`"`), text)
			assert.Equal(t, strings.Contains(text, `"victims":[{`), c.victim, c.told)
		}
		assert.Equal(t, calls, c.calls, c.told)
	}
}

// FuzzWhatIf sends questions: nothing panics, and nothing is the fault of the
// server.
func FuzzWhatIf(f *testing.F) {
	s := crowded(f)
	f.Add(`{"asks": [{"allocationKey": "try", "applicationId": "agents-app", "resource": {"vcore": 1000}, "priority": 5, "count": 2}], "within": "40s"}`)
	f.Add(`{"asks": [{"allocationKey": "filler-1", "applicationId": "", "resource": {"vcore": 9223372036854775806}, "requiredNodeId": "node-9"}]}`)
	f.Add(`{"applications": [{"applicationId": "new", "queueName": "root.low"}], "asks": [{"allocationKey": "k", "applicationId": "new", "preemptionPolicy": {"allowPreemptOther": true}}]}`)
	f.Add(`{"config": "partitions: [{name: default, queues: [{name: root, queues: [{name: low}]}]}]"}`)
	f.Fuzz(func(t *testing.T, body string) {
		w := post(s.Handler(), whatIfPath, body)
		assert.Assert(t, w.Code == http.StatusOK || w.Code == http.StatusBadRequest, "%d: %s", w.Code, w.Body)
		assert.Assert(t, json.Valid(w.Body.Bytes()))
	})
}

// TestWhatIfTriesAFew: of ten times as many asks that wait as it is tried what makes them run, it says of how many it was not.
func TestWhatIfTriesAFew(t *testing.T) {
	w := post(crowded(t).Handler(), whatIfPath, `{"asks": [{"allocationKey": "try", "applicationId": "agents-app", "resource": {"vcore": 9000}, "count": 100}]}`)
	assert.Equal(t, w.Code, http.StatusOK)
	var out struct {
		Asks    []struct{ Waits struct{ Lines []string } }
		Untried int
	}
	assert.NilError(t, json.Unmarshal(w.Body.Bytes(), &out))
	tried := 0
	for _, ask := range out.Asks {
		if strings.Contains(strings.Join(ask.Waits.Lines, "\n"), "it runs if") {
			tried++
		}
	}
	assert.Equal(t, tried, 10)
	assert.Equal(t, out.Untried, 90)
}
