package moment_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/recording"
	"github.com/narwhal-scheduler/narwhal/pkg/recording/moment"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

var began = time.Date(2026, 1, 2, 14, 0, 0, 0, time.UTC)

// recorded is two segments: in each a node comes, and a pod each second, which is placed.
func recorded(t *testing.T) *recording.Directory {
	t.Helper()
	directory := t.TempDir()
	r, err := recording.New(recording.Config{Directory: directory})
	assert.NilError(t, err)
	kinds := new(resources.Kinds)
	large, _ := kinds.Amounts(map[string]int64{"vcore": 4000})
	small, _ := kinds.Amounts(map[string]int64{"vcore": 1000})
	_, steps := r.Begin(began, api.Options{Partition: "[rm]default", Kinds: kinds}, api.Config{Root: api.QueueConfig{Name: "root", Queues: []api.QueueConfig{{Name: "default"}}}})
	steps.Apply(began, api.AddApplication{ID: "app", Queue: "root.default"})
	second := 0
	for _, node := range []string{"node-1", "node-2"} {
		steps.Apply(began.Add(time.Duration(second)*time.Second), api.AddNode{ID: api.NodeID(node), Capacity: large})
		for range 3 {
			second++
			at := began.Add(time.Duration(second) * time.Second)
			steps.Apply(at, api.AddAllocation{Allocation: &api.Allocation{Key: api.AllocationKey("pod-" + string(rune('0'+second))), Application: "app", Amounts: small, Created: at}})
			steps.Schedule(at)
		}
		steps.(interface{ Renew() }).Renew()
	}
	steps.End()
	r.Close()
	d, err := recording.Read(directory)
	assert.NilError(t, err)
	return d
}

// A reader asks for paths.
type reader struct {
	t  *testing.T
	of http.Handler
}

func (r reader) ask(method, path, body string, head ...string) *httptest.ResponseRecorder {
	request := httptest.NewRequest(method, "http://127.0.0.1"+path, strings.NewReader(body))
	request.RemoteAddr = "127.0.0.1:1234"
	for i := 0; i < len(head); i += 2 {
		request.Header.Set(head[i], head[i+1])
	}
	w := httptest.NewRecorder()
	r.of.ServeHTTP(w, request)
	return w
}

// moves sends a move, and returns where that leads and how many pods run there.
func (r reader) moves(to string) (at string, step, pods int) {
	r.t.Helper()
	w := r.ask(http.MethodPost, "/replay", to)
	assert.Equal(r.t, w.Code, http.StatusOK, w.Body.String())
	var p moment.Position
	assert.NilError(r.t, json.Unmarshal(w.Body.Bytes(), &p))
	assert.Equal(r.t, p.Partition, "[rm]default")
	assert.Assert(r.t, p.From.Equal(began) && p.To.Equal(began.Add(6*time.Second)), "%+v", p)
	w = r.ask(http.MethodGet, "/ws/v1/partition/default/nodes", "")
	assert.Equal(r.t, w.Code, http.StatusOK, w.Body.String())
	assert.Equal(r.t, w.Header().Get("Date"), p.At.Format(http.TimeFormat))
	return p.At.Format(time.TimeOnly), p.Step, strings.Count(w.Body.String(), `"allocationKey"`)
}

// The moment moves to a time and by steps, forwards and back, from one segment into another, and ends with the recording.
func TestMoves(t *testing.T) {
	d := recorded(t)
	assert.Equal(t, len(d.Segments["[rm]default"]), 2)
	m, err := moment.New(d, "[rm]default", "127.0.0.1:0")
	assert.NilError(t, err)
	assert.NilError(t, m.First(recording.Wanted{Pod: "pod-2", Outcome: recording.Placed}))
	r := reader{t, m}
	for _, c := range []struct {
		to, at     string
		step, pods int
	}{
		{`{"at": "2026-01-02T14:00:02.5Z"}`, "14:00:02", 6, 2},
		{`{"steps": 1}`, "14:00:03", 7, 2},
		{`{"steps": 1}`, "14:00:03", 8, 3},
		{`{"steps": -1}`, "14:00:03", 7, 2},
		{`{"steps": 3}`, "14:00:04", 2, 3}, // one in this segment, two in the next one
		{`{"steps": -2}`, "14:00:03", 0, 3},
		{`{"steps": -1}`, "14:00:03", 7, 2},
		{`{"at": "2026-01-02T14:00:04Z"}`, "14:00:04", 3, 4},
		{`{"steps": 1000}`, "14:00:06", 7, 6},
		{`{"steps": -1000}`, "14:00:00", 0, 0},
		{`{"at": "2026-01-02T16:00:00Z"}`, "16:00:00", 7, 6},
	} {
		at, step, pods := r.moves(c.to)
		assert.Equal(t, [3]any{at, step, pods}, [3]any{c.at, c.step, c.pods}, c.to)
	}
}

// What is no move, or comes from elsewhere, is refused and moves nothing.
func TestWhatIsNoMove(t *testing.T) {
	d := recorded(t)
	m, err := moment.New(d, "[rm]default", "127.0.0.1:0")
	assert.NilError(t, err)
	at := began.Add(2 * time.Second)
	assert.NilError(t, m.Go(moment.Move{At: &at}))
	r, before := reader{t, m}, m.Position()
	for _, c := range []struct {
		method, body, want string
		status             int
		head               []string
	}{
		{"POST", ``, "it would be", 400, nil},
		{"POST", `{}`, "it would be", 400, nil},
		{"POST", `{"steps": 1` + strings.Repeat(" ", 10<<10) + `}`, "too large", 400, nil},
		{"POST", `{"at": "14:03"}`, "it would be", 400, nil},
		{"POST", `{"at": "2026-01-02T14:00:02Z", "steps": 1}`, "it would be", 400, nil},
		{"POST", `{"at": "2026-01-02T13:00:00Z"}`, "it begins at 2026-01-02 14:00:00", 400, nil},
		{"POST", `{"steps": 1}`, "another origin", 403, []string{"Sec-Fetch-Site", "cross-site"}},
		{"DELETE", ``, "Method Not Allowed", 405, nil},
	} {
		w := r.ask(c.method, "/replay", c.body, c.head...)
		assert.Equal(t, w.Code, c.status, "%s: %s", c.body, w.Body)
		assert.Assert(t, strings.Contains(w.Body.String(), c.want), "%s: %s", c.body, w.Body)
		assert.DeepEqual(t, m.Position(), before)
	}
	for name, status := range map[string]int{"127.0.0.1": http.StatusForbidden, "elsewhere.example": http.StatusMisdirectedRequest} {
		request := httptest.NewRequest(http.MethodPost, "http://"+name+"/replay", strings.NewReader(`{"steps": 1}`))
		request.RemoteAddr = "192.0.2.1:1"
		w := httptest.NewRecorder()
		m.ServeHTTP(w, request)
		assert.Equal(t, w.Code, status)
		assert.DeepEqual(t, m.Position(), before)
	}

	assert.NilError(t, os.Remove(d.Segments["[rm]default"][1].Path))
	assert.Equal(t, r.ask("POST", "/replay", `{"at": "2026-01-02T14:00:05Z"}`).Code, http.StatusBadRequest)
	assert.DeepEqual(t, m.Position(), before)
	_, step, _ := r.moves(`{"steps": 1}`)
	assert.Equal(t, step, before.Step+1)
}

// Readers and those that move the moment do not wait for each other to end, and each answer is of one moment: a pod more with each second.
func TestReadersWhileItMoves(t *testing.T) {
	d := recorded(t)
	m, err := moment.New(d, "[rm]default", "127.0.0.1:0")
	assert.NilError(t, err)
	at := began
	assert.NilError(t, m.Go(moment.Move{At: &at}))
	r := reader{t, m}
	var all sync.WaitGroup
	for mover := range 2 {
		all.Go(func() {
			for i := range 20 {
				body := fmt.Sprintf(`{"at": "2026-01-02T14:00:0%dZ"}`, (3*i+mover)%7)
				if w := r.ask(http.MethodPost, "/replay", body); w.Code != http.StatusOK {
					t.Error(w.Body)
				}
			}
		})
		all.Go(func() {
			for range 50 {
				w := r.ask(http.MethodGet, "/ws/v1/partition/default/nodes", "")
				date, err := time.Parse(http.TimeFormat, w.Header().Get("Date"))
				if pods := strings.Count(w.Body.String(), `"allocationKey"`); err != nil || time.Duration(pods)*time.Second != date.Sub(began) {
					t.Errorf("%d pods at %s: %v", pods, date, err)
				}
			}
		})
	}
	all.Wait()
}

// A pod is explained, and a question answered, as of the moment: before the second node there is no room for two pods more.
func TestAnswersAsOfThen(t *testing.T) {
	m, err := moment.New(recorded(t), "[rm]default", "127.0.0.1:0")
	assert.NilError(t, err)
	at := began
	assert.NilError(t, m.Go(moment.Move{At: &at}))
	r := reader{t, m}
	const (
		why      = "/ws/v1/partition/default/application/app/allocation/pod-3/explain"
		question = `{"asks": [{"allocationKey": "one", "applicationId": "app", "resource": {"vcore": 1000}}, {"allocationKey": "two", "applicationId": "app", "resource": {"vcore": 1000}}]}`
	)
	for _, c := range []struct {
		to     string
		status int
		placed int
	}{
		{`{"at": "2026-01-02T14:00:03Z"}`, http.StatusOK, 2},
		{`{"steps": -1}`, http.StatusOK, 1},
		{`{"at": "2026-01-02T14:00:02Z"}`, http.StatusNotFound, 2},
		{`{"at": "2026-01-02T14:00:06Z"}`, http.StatusOK, 2},
		{`{"at": "2026-01-02T14:00:00Z"}`, http.StatusNotFound, 2},
	} {
		r.moves(c.to)
		w := r.ask(http.MethodGet, why, "")
		assert.Equal(t, w.Code, c.status, "%s: %s", c.to, w.Body)
		w = r.ask(http.MethodPost, "/ws/v1/partition/default/whatif", question, "Content-Type", "application/json")
		assert.Equal(t, w.Code, http.StatusOK, w.Body.String())
		assert.Equal(t, strings.Count(w.Body.String(), `"nodeId"`), c.placed, "%s: %s", c.to, w.Body)
	}
}
