package webservice

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/golden"
)

func post(h http.Handler, path, body string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodPost, path, strings.NewReader(body)))
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
	assert.Equal(t, w.Body.String(), `{"asks":[],"victims":[],"others":[],"overUse":[{"queueName":"root.low","by":{"vcore":1000}}]}`)
}

// TestBadQuestions are answered with what is wrong and where.
func TestBadQuestions(t *testing.T) {
	s := crowded(t)
	for _, c := range []struct{ body, want string }{
		{``, "Body is no question: EOF"},
		{`{"ask": []}`, `Body is no question: json: unknown field "ask"`},
		{`{} {}`, "Body is more than one question"},
		{`{"within": "2h"}`, `within: "2h" is not a duration from 0s to 1h0m0s`},
		{`{"asks": [{"applicationId": "a"}]}`, "asks[0]: allocationKey is missing"},
		{`{"asks": [{"allocationKey": "k", "count": 1001}]}`, "asks[0]: count is 1001, and a question has from 1 to 1000 asks"},
		{`{"asks": [{"allocationKey": "k", "count": -1}]}`, "asks[0]: count is -1, and a question has from 1 to 1000 asks"},
		{`{"asks": [{"allocationKey": "k", "resource": {"tpu": 1}}]}`, `asks[0]: no node or queue has any "tpu"`},
		{`{"asks": [{"allocationKey": "k", "resource": {"vcore": -1}}]}`, "asks[0]: vcore is -1, which is no amount"},
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

// FuzzWhatIf sends questions: nothing panics, and nothing is the fault of the
// server.
func FuzzWhatIf(f *testing.F) {
	s := crowded(f)
	f.Add(`{"asks": [{"allocationKey": "try", "applicationId": "agents-app", "resource": {"vcore": 1000}, "priority": 5, "count": 2}], "within": "40s"}`)
	f.Add(`{"asks": [{"allocationKey": "filler-1", "applicationId": "", "resource": {"vcore": 9223372036854775806}, "requiredNodeId": "node-9"}]}`)
	f.Add(`{"config": "partitions: [{name: default, queues: [{name: root, queues: [{name: low}]}]}]"}`)
	f.Fuzz(func(t *testing.T, body string) {
		w := post(s.Handler(), whatIfPath, body)
		assert.Assert(t, w.Code == http.StatusOK || w.Code == http.StatusBadRequest, "%d: %s", w.Code, w.Body)
		assert.Assert(t, json.Valid(w.Body.Bytes()))
	})
}
