package acceptance

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/webservice/internal/contract"
	"github.com/narwhal-scheduler/narwhal/pkg/webservice/internal/fixture"
)

// The fuzz tests of this file send what no client would. Whatever it is, the answer is
// one that the document has for the path: of the right status, and with a body of
// the right shape. That is more than that nothing panics and nothing is a fault of
// the server, since no operation but those of profiles has a status 500.

// A fuzzer sends requests to one service, which they do not change.
type fuzzer struct {
	asker
	operations []contract.Operation // without profiles, which take their time
}

func newFuzzer(t testing.TB, handler http.Handler) *fuzzer {
	t.Helper()
	f := &fuzzer{asker: asker{agreed(t), handler}}
	for _, op := range f.Operations() {
		if !strings.HasPrefix(op.Path, "/debug/pprof/") && op.Path != "/debug/stack" {
			f.operations = append(f.operations, op)
		}
	}
	return f
}

// send sends a request and checks the answer. It says false of one that does not
// get as far as a handler.
func (f *fuzzer) send(t *testing.T, r *http.Request) (w *httptest.ResponseRecorder, sent bool) {
	t.Helper()
	target := r.URL.RequestURI()
	if u, err := url.ParseRequestURI(target); err != nil || u.Host != "" {
		return nil, false // net/http refuses it
	}
	ctx, cancel := context.WithCancel(r.Context())
	if strings.HasSuffix(strings.ToLower(strings.TrimRight(r.URL.Path, "/")), "/stream") {
		cancel() // it would go on
	}
	defer cancel()
	w = httptest.NewRecorder()
	f.handler.ServeHTTP(w, r.WithContext(ctx))
	f.keeps(t, r.Method, target, w)
	return w, true
}

// request is a request that did not come over a connection.
func request(method string, target *url.URL, body string) *http.Request {
	r := httptest.NewRequest(method, "/", strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	r.URL = target
	r.RequestURI = ""
	return r
}

// A question is the body of a what-if.
type question struct {
	Asks   []newAsk `json:"asks"`
	Config string   `json:"config"`
	Within string   `json:"within"`
}

type newAsk struct {
	AllocationKey  api.AllocationKey `json:"allocationKey"`
	ApplicationID  api.ApplicationID `json:"applicationId"`
	Resource       map[string]int64  `json:"resource"`
	Priority       int32             `json:"priority"`
	RequiredNodeID api.NodeID        `json:"requiredNodeId"`
	Count          int               `json:"count"`
}

// crowded is a service over a real partition: two nodes with fillers, and little
// room.
func crowded(t testing.TB) http.Handler {
	t.Helper()
	return served(t, (&world{fixture.Crowded(t)}).config(t), "")
}

// FuzzPaths puts anything into the places of a path.
func FuzzPaths(f *testing.F) {
	fuzz := newFuzzer(f, served(f, newWorld(f).config(f), ""))
	for i := range fuzz.operations {
		f.Add(uint8(i), "default", "root.low", "filler-1", "")
		f.Add(uint8(i), "[mycluster]default", "root.sys.agents", "agent-1", "subtree&limit=1")
		f.Add(uint8(i), "%5Bmycluster%5Ddefault", "root%252Elow", "..", "fields=nodeID")
		f.Add(uint8(i), "\x00", "ROOT.LOW", "%", "offset=0")
	}
	f.Fuzz(func(t *testing.T, number uint8, first, second, third, query string) {
		op := fuzz.operations[int(number)%len(fuzz.operations)]
		segments := strings.Split(op.Path, "/")
		given := []string{first, second, third}
		for i, segment := range segments {
			if strings.HasPrefix(segment, "{") {
				segments[i] = url.PathEscape(given[0])
				given = append(given[1:], given[0])
			}
		}
		escaped := strings.Join(segments, "/")
		plain, err := url.PathUnescape(escaped)
		assert.NilError(t, err)
		fuzz.send(t, request(op.Method, &url.URL{Path: plain, RawPath: escaped, RawQuery: query}, "{}"))
	})
}

// FuzzParameters gives the parameters of an operation any values.
func FuzzParameters(f *testing.F) {
	fuzz := newFuzzer(f, served(f, newWorld(f).config(f), ""))
	values := []string{"", "1", "0", "-1", "9223372036854775808", "2147483647", "node-1", "*", "a*b*", "true", "x,y", ",", "\x00\xff", "root.low", "running", "%zz"}
	for i, op := range fuzz.operations {
		for j := range fuzz.Parameters(op, "query") {
			f.Add(uint8(i), uint8(len(j)), values[(i+len(j))%len(values)], values[i%len(values)])
		}
		for j, value := range values {
			f.Add(uint8(i), uint8(j), value, values[(i+j)%len(values)])
		}
	}
	f.Fuzz(func(t *testing.T, number, which uint8, one, another string) {
		op := fuzz.operations[int(number)%len(fuzz.operations)]
		names := slices.Sorted(maps.Keys(fuzz.Parameters(op, "query")))
		if len(names) == 0 {
			return
		}
		n := int(which)
		query := url.QueryEscape(names[n%len(names)]) + "=" + url.QueryEscape(one) + "&" + url.QueryEscape(names[n/len(names)%len(names)]) + "=" + url.QueryEscape(another)
		target, err := url.Parse(fuzz.Target(op, nil) + "?" + query)
		assert.NilError(t, err)
		r := request(op.Method, target, "{}")
		r.Header.Set("Accept", "application/json")
		w, _ := fuzz.send(t, r)
		// What is written into the head of an answer can be used for the next request.
		if _, next, found := strings.Cut(w.Header().Get("Link"), "<"); found {
			next, _, _ = strings.Cut(next, ">")
			u, err := url.Parse(next)
			assert.NilError(t, err)
			w, _ = fuzz.send(t, request(op.Method, u, ""))
			assert.Equal(t, w.Code, http.StatusOK, next)
		}
	})
}

// FuzzHeads sends any head with any method to a server that wants a token.
func FuzzHeads(f *testing.F) {
	config := newWorld(f).config(f)
	open, guarded := served(f, config, ""), served(f, config, "secret")
	fuzz := newFuzzer(f, open)
	for i := range fuzz.operations {
		f.Add(uint8(i), "GET", "Bearer secret", "gzip;q=0.5, *;q=0", `W/"1-2"`, "application/json")
		f.Add(uint8(i), "POST", "bearer  secret ", "identity", "*", "text/event-stream, */*")
		f.Add(uint8(i), "HEAD", "", "gzip, gzip;q=2;q=", `"a", W/`, "")
		f.Add(uint8(i), "OPTIONS", "Basic c2VjcmV0", ",;=", "", "application/json;q=0")
		f.Add(uint8(i), "\x00", "Bearer", "", "", "")
	}
	f.Fuzz(func(t *testing.T, number uint8, method, authorization, encoding, tag, accept string) {
		op := fuzz.operations[int(number)%len(fuzz.operations)]
		if method == http.MethodOptions || method == http.MethodConnect {
			return // is answered with a head alone; is for proxies
		}
		target, err := url.Parse(fuzz.Target(op, nil))
		assert.NilError(t, err)
		for _, handler := range []http.Handler{open, guarded} {
			fuzz := &fuzzer{asker: asker{fuzz.agreement, handler}}
			r := request(http.MethodGet, target, "{}")
			r.Method = method
			for name, value := range map[string]string{"Authorization": authorization, "Accept-Encoding": encoding, "If-None-Match": tag, "Accept": accept} {
				r.Header.Set(name, value)
			}
			fuzz.send(t, r)
		}
	})
}

// FuzzBodies sends any body to whatever takes one. Nothing changes what there is.
func FuzzBodies(f *testing.F) {
	fuzz := newFuzzer(f, crowded(f))
	fuzz.operations = slices.DeleteFunc(fuzz.operations, func(op contract.Operation) bool { return op.Method != http.MethodPost })
	assert.Equal(f, len(fuzz.operations), 2)
	for i := range fuzz.operations {
		for _, body := range bodies {
			f.Add(uint8(i), body)
		}
	}
	state := func() string { return ask(fuzz.handler, http.MethodGet, "/debug/fullstatedump").Header().Get("ETag") }
	before := state()
	f.Fuzz(func(t *testing.T, number uint8, body string) {
		op := fuzz.operations[int(number)%len(fuzz.operations)]
		target, err := url.Parse(fuzz.Target(op, nil))
		assert.NilError(t, err)
		fuzz.send(t, request(op.Method, target, body))
		assert.Equal(t, state(), before, "something has changed")
	})
}

// FuzzQuestions asks what would come of asks with any quantities, and of another
// limit, which gets further than text that was changed at random.
func FuzzQuestions(f *testing.F) {
	fuzz := newFuzzer(f, crowded(f))
	target, err := url.Parse(whatIfPath)
	assert.NilError(f, err)
	f.Add("try", "agents-app", "", int64(1000), int64(1<<30), int32(5), int16(2), uint32(40), int64(0))
	f.Add("filler-1", "filler-app", "node-1", int64(0), int64(0), int32(-2147483648), int16(0), uint32(0), int64(2000))
	f.Add("a", "filler-app", "node-2", int64(2000), int64(4<<30), int32(2147483647), int16(1), uint32(3600), int64(1))
	f.Add("a", "agents-app", "", int64(9223372036854775806), int64(1), int32(0), int16(1000), uint32(1), int64(-1))
	f.Add("", "none", "none", int64(-1), int64(9223372036854775807), int32(0), int16(-1), uint32(3601), int64(4000))
	f.Fuzz(func(t *testing.T, key, application, node string, vcore, memory int64, priority int32, count int16, within uint32, limit int64) {
		ask := newAsk{
			AllocationKey: api.AllocationKey(key), ApplicationID: api.ApplicationID(application), RequiredNodeID: api.NodeID(node),
			Resource: map[string]int64{"vcore": vcore, "memory": memory}, Priority: priority, Count: int(count),
		}
		small := ask
		small.AllocationKey, small.Resource, small.Count, small.Priority = "small", map[string]int64{"vcore": vcore / 2}, 1, priority/2
		asked := question{Asks: []newAsk{ask, small}, Within: fmt.Sprintf("%ds", within)}
		if limit != 0 {
			asked.Config = strings.ReplaceAll(fixture.ConfigText, "max: {vcore: 4, memory: 0}", fmt.Sprintf("max: {vcore: %dm}", limit))
		}
		body, err := json.Marshal(asked)
		assert.NilError(t, err)
		w, _ := fuzz.send(t, request(http.MethodPost, target, string(body)))
		again, _ := fuzz.send(t, request(http.MethodPost, target, string(body)))
		assert.Equal(t, again.Body.String(), w.Body.String(), "the first time has changed something")
	})
}

// bodies are questions, configurations, and what is nearly one.
var bodies = []string{
	``, `{}`, `[]`, `null`, `{"asks": null, "config": "", "within": ""}`,
	`{"asks": [{"allocationKey": "try", "applicationId": "agents-app", "resource": {"vcore": 1000}, "priority": 5, "count": 2}], "within": "40s"}`,
	`{"asks": [{"allocationKey": "filler-1", "resource": {"vcore": 9223372036854775806}, "requiredNodeId": "node-9"}]}`,
	`{"asks": [{"allocationKey": "a", "applicationId": "filler-app", "priority": -2147483648, "requiredNodeId": "node-1", "resource": {"vcore": 500, "memory": 1}}], "within": "1h"}`,
	`{"asks": [{"allocationKey": "a", "applicationId": "filler-app"}, {"allocationKey": "a", "applicationId": "filler-app"}]}`,
	`{"asks": [{"allocationKey": "a", "applicationId": "agents-app", "resource": {"pods": 60}, "count": 1000}], "within": "1ns"}`,
	`{"config": "partitions: [{name: default, queues: [{name: root, queues: [{name: low, resources: {max: {vcore: 1}}}]}]}]", "within": "2m"}`,
	`{"config": "partitions: [{name: default, queues: [{name: root, resources: {max: {vcore: 0}}}]}]"}`,
	`{"config": "a: &a [x]\nb: [*a, *a]"}`,
	fixture.ConfigText,
	"partitions: [{name: default, queues: [{name: root, submitacl: '*', properties: {priority.offset: '9'}}], limits: [{limit: x, users: [a], maxresources: {vcore: 1}}]}]",
	"partitions:\n- name: \"\\x00\"\n  queues: !!binary aGVsbG8=\n", "a: &a {b: *a}", "%", "- - - -", "\xff\xfe", "partitions: [{name: default, queues: [{name: root, queues: [{name: a.b}]}]}]",
}
