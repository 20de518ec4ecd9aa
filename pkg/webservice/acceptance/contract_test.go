package acceptance

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/resources"
	"github.com/narwhal-scheduler/narwhal/pkg/webservice"
	"github.com/narwhal-scheduler/narwhal/pkg/webservice/internal/contract"
	"github.com/narwhal-scheduler/narwhal/pkg/webservice/internal/fixture"
)

// An agreement is the OpenAPI document, to be held against answers. It refuses what
// the document does not say: statuses, types of content, fields.
type agreement struct {
	*contract.Document
	mu       sync.Mutex
	compiler *jsonschema.Compiler
	schemas  map[string]*jsonschema.Schema // by pointer into the document
}

// jsonObject is an object of JSON.
type jsonObject = contract.Object

// theAgreement is the document, read once for all tests.
var theAgreement = sync.OnceValues(func() (*agreement, error) {
	service, err := webservice.New(webservice.Config{Views: new(fixture.World), Kinds: new(resources.Kinds)})
	if err != nil {
		return nil, err
	}
	w := httptest.NewRecorder()
	service.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/ws/v1/openapi.json", nil))
	document, err := contract.Parse(w.Body.Bytes())
	if err != nil {
		return nil, err
	}
	contract.CloseObjects(document.Root)
	a := &agreement{Document: document, compiler: jsonschema.NewCompiler(), schemas: map[string]*jsonschema.Schema{}}
	document.Validate = func(pointer string, value any) error { return a.schema(pointer).Validate(value) }
	return a, a.compiler.AddResource("openapi.json", document.Root)
})

func agreed(t testing.TB) *agreement {
	t.Helper()
	a, err := theAgreement()
	assert.NilError(t, err)
	return a
}

// schema is a part of the document as a schema.
func (c *agreement) schema(pointer string) *jsonschema.Schema {
	c.mu.Lock()
	defer c.mu.Unlock()
	if known := c.schemas[pointer]; known != nil {
		return known
	}
	out, err := c.compiler.Compile("openapi.json#" + pointer)
	if err != nil {
		panic(fmt.Errorf("%s: %w", pointer, err))
	}
	c.schemas[pointer] = out
	return out
}

// keeps fails the test if the answer breaks the contract.
func (c *agreement) keeps(t testing.TB, method, target string, w *httptest.ResponseRecorder) {
	t.Helper()
	u, err := url.ParseRequestURI(target)
	assert.NilError(t, err)
	content := ""
	if method != http.MethodHead {
		content = contract.Unpacked(t, w)
	}
	err = c.Check(method, u, w, content)
	assert.Assert(t, err == nil, "%s %s: %d: %v\n%.2000s", method, target, w.Code, err, content)
}

// A request target and the types of answers.
const (
	whatIfPath = "/ws/v1/partition/default/whatif"
	typeJSON   = "application/json; charset=UTF-8"
	typeYAML   = "application/x-yaml; charset=UTF-8"
	typeSSE    = "text/event-stream"
)

// start is when everything in the fixture begins.
var start = fixture.Start

// world is what a service of the tests is made of.
type world struct{ *fixture.World }

func newWorld(t testing.TB) *world {
	t.Helper()
	return &world{fixture.New(t)}
}

// config is a service over the world, with everything it can be given.
func (w *world) config(t testing.TB) webservice.Config {
	t.Helper()
	return webservice.Config{
		Views: w, Kinds: w.Kinds, Configuration: w.Configuration(t), Archive: w.Past(t), Events: fixture.Happened(t),
		Started: start, Now: func() time.Time { return start.Add(3 * time.Hour) },
		Build:    func(string) map[string]string { return map[string]string{"buildVersion": "v1"} },
		LogLevel: func() string { return "INFO" }, Accounting: fixture.Accounts,
		Metrics: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("up 1\n")) }),
	}
}

// served is the handler of a service with everything at one address; with a token, if
// it is not empty.
func served(t testing.TB, config webservice.Config, token string) http.Handler {
	t.Helper()
	service, err := webservice.New(config)
	assert.NilError(t, err)
	server, err := webservice.NewServer(webservice.ServerConfig{DebugAddress: webservice.DefaultAddress, Token: token, AllowedHosts: []string{"example.com"}}, service)
	assert.NilError(t, err)
	return server.Handler()
}

// ask sends a request.
func ask(h http.Handler, method, target string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(method, target, nil))
	return w
}
