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

	"github.com/narwhal-scheduler/narwhal/pkg/webservice/internal/fixture"

	"github.com/narwhal-scheduler/narwhal/pkg/config"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
	"github.com/narwhal-scheduler/narwhal/pkg/webservice/configuration"
	"github.com/narwhal-scheduler/narwhal/pkg/webservice/object"
)

// TestGolden shows every answer, one member a line.
func TestGolden(t *testing.T) {
	s := newWorld(t).service(t)
	for _, g := range fixture.Answers {
		t.Run(g.File, func(t *testing.T) {
			w := ask(s.Handler(), http.MethodGet, g.Path)
			assert.Equal(t, w.Header().Get("Content-Type"), typeJSON)
			var shown bytes.Buffer
			assert.NilError(t, json.Indent(&shown, w.Body.Bytes(), "", "  "), w.Body)
			shown.WriteString("\n")
			golden.Assert(t, shown.String(), g.File+".json")
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
	first := configuration.Of(s.config.sources().Document(), nil)
	second := configuration.Of(again, nil)
	second.Checksum = first.Checksum
	assert.DeepEqual(t, first, second)

	w = ask(s.Handler(), http.MethodGet, "/ws/v1/config", "Accept", "application/json")
	var shown bytes.Buffer
	assert.NilError(t, json.Indent(&shown, w.Body.Bytes(), "", "  "))
	golden.Assert(t, shown.String()+"\n", "config.json")
}

// fewCounts are the counts of two moments, and not the 180 of the fixture.
type fewCounts struct{}

func (fewCounts) Applications() []object.Count {
	return []object.Count{{At: start, Total: 1}, {At: start.Add(time.Minute), Total: 3}}
}

func (fewCounts) Containers() []object.Count {
	return []object.Count{{At: start, Total: 12}, {At: start.Add(time.Minute), Total: 0}}
}

// TestGoldenDump is the state dump as it is sent.
func TestGoldenDump(t *testing.T) {
	s := newWorld(t).service(t)
	s.config.History = fewCounts{}
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
		"/ws/v1/validate-conf": true, "/ws/v1/partition/{partition}/whatif": true, "/ws/v1/events/stream": true,
		"/ws/v1/partition/{partition}/queue/{queue}/applications/{state}":      true,
		"/ws/v1/partition/{partition}/queue/{queue}/application/{application}": true,
	}
	for _, route := range s.routes() {
		found := elsewhere[route.path]
		for _, g := range fixture.Answers {
			path, _, _ := strings.Cut(g.Path, "?")
			if _, ok := fit(route.path, path); ok {
				found = true
			}
		}
		assert.Assert(t, found, route.path)
	}
}
