package webservice

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/webservice/encoder"
	"github.com/narwhal-scheduler/narwhal/pkg/webservice/internal/contract"
)

func TestHead(t *testing.T) {
	h := newWorld(t).service(t).Handler()
	w := ask(h, http.MethodGet, "/ws/v1/partition/default/nodes")
	for name, want := range map[string]string{
		"Content-Type":                 "application/json; charset=UTF-8",
		"Access-Control-Allow-Origin":  "",
		"Cross-Origin-Resource-Policy": "same-origin",
		"Vary":                         "Accept-Encoding",
		"X-Total-Count":                "2",
		"X-Content-Type-Options":       "nosniff",
		"Content-Encoding":             "",
		"Link":                         "",
	} {
		assert.Equal(t, w.Header().Get(name), want, name)
	}
	assert.Equal(t, w.Header().Get("Content-Length"), fmt.Sprint(w.Body.Len()))

	w = ask(h, http.MethodHead, "/ws/v1/partition/default/nodes")
	assert.Equal(t, w.Code, http.StatusOK)
	assert.Equal(t, w.Body.Len(), 0)
}

func TestLinkLeadsThroughTheList(t *testing.T) {
	h := newWorld(t).service(t).Handler()
	w := ask(h, http.MethodGet, "/ws/v1/partition/default/nodes?limit=1&fields=nodeID")
	assert.Equal(t, w.Header().Get("Link"), `</ws/v1/partition/default/nodes?fields=nodeID&limit=1&offset=1>; rel="next"`)
	assert.Equal(t, w.Body.String(), `[{"nodeID":"node-1"}]`)
	w = ask(h, http.MethodGet, "/ws/v1/partition/default/nodes?fields=nodeID&limit=1&offset=1")
	assert.Equal(t, w.Header().Get("Link"), "")
	assert.Equal(t, w.Header().Get("X-Total-Count"), "2")
	assert.Equal(t, w.Body.String(), `[{"nodeID":"node-2"}]`)
}

func TestEntityTag(t *testing.T) {
	world := newWorld(t)
	h := world.service(t).Handler()
	const path = "/ws/v1/partition/default/nodes"
	tag := ask(h, http.MethodGet, path).Header().Get("ETag")
	assert.Assert(t, strings.HasPrefix(tag, `W/"`), tag)
	assert.Equal(t, ask(h, http.MethodGet, path, "Accept-Encoding", "gzip").Header().Get("ETag"), tag)
	for _, known := range []string{tag, `"other", ` + tag, "*", strings.TrimPrefix(tag, "W/")} {
		w := ask(h, http.MethodGet, path, "If-None-Match", known)
		assert.Equal(t, w.Code, http.StatusNotModified, known)
		assert.Equal(t, w.Body.Len(), 0)
		assert.Equal(t, w.Header().Get("ETag"), tag)
	}
	assert.Equal(t, ask(h, http.MethodGet, path, "If-None-Match", `"other"`).Code, http.StatusOK)

	changed := *world.Views[world.Names[0]]
	changed.Nodes = changed.Nodes[:1]
	world.Views[world.Names[0]] = &changed
	assert.Equal(t, ask(h, http.MethodGet, path, "If-None-Match", tag).Code, http.StatusOK)
	assert.Equal(t, ask(h, http.MethodGet, "/ws/v1/partition/none/nodes", "If-None-Match", "*").Code, http.StatusNotFound)
}

func TestCompression(t *testing.T) {
	h := newWorld(t).service(t).Handler()
	const long, short = "/ws/v1/partition/default/nodes", "/ws/v1/clusters"
	plain := ask(h, http.MethodGet, long).Body.String()
	assert.Assert(t, len(plain) > compressFrom)
	for accept, compressed := range map[string]bool{
		"":                           false,
		"gzip":                       true,
		"x-gzip":                     false, // is not known any more
		"GZIP":                       true,
		"deflate, gzip;q=0.5":        true,
		"gzip;q=0":                   false,
		"gzip; q=0.0, *":             false,
		"gzip;q=0.001":               true,
		"gzip;q=nonsense":            false,
		"gzip;q=7":                   true,  // taken for 1
		"*":                          false, // does not ask for it
		"*;q=0":                      false,
		"br, *;q=0.1":                false,
		"identity":                   false,
		"identity, gzip;q=0.5":       true,
		"identity;q=0.5, gzip;q=0.5": true,
		"identity;q=0, gzip;q=0.1":   true,
		"deflate":                    false,
	} {
		w := ask(h, http.MethodGet, long, "Accept-Encoding", accept)
		assert.Equal(t, w.Header().Get("Content-Encoding") == "gzip", compressed, accept)
		assert.Equal(t, w.Header().Get("Vary"), "Accept-Encoding")
		assert.Equal(t, w.Header().Get("Content-Length"), fmt.Sprint(w.Body.Len()))
		assert.Equal(t, contract.Unpacked(t, w), plain)
	}
	w := ask(h, http.MethodGet, short, "Accept-Encoding", "gzip")
	assert.Assert(t, w.Body.Len() < compressFrom)
	assert.Equal(t, w.Header().Get("Content-Encoding"), "")
	w = ask(h, http.MethodGet, "/ws/v1/metrics", "Accept-Encoding", "gzip")
	assert.Equal(t, w.Body.String(), "up 1\n") // what compresses by itself is left alone
}

// TestCompressedFrom pins the size from which a body is compressed.
func TestCompressedFrom(t *testing.T) {
	s := newWorld(t).service(t)
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	r.Header.Set("Accept-Encoding", "gzip")
	for size, compressed := range map[int]bool{compressFrom - 1: false, compressFrom: true, 0: false} {
		made := s.write(r, &text{typeText, bytes.Repeat([]byte("x"), size)}, http.StatusOK)
		assert.Equal(t, made.head.Get("Content-Encoding") == "gzip", compressed, size)
		assert.Equal(t, made.head.Get("Content-Length"), fmt.Sprint(made.length))
	}
}

// TestLargeBody compares a body of many chunks with what went in, and its tag with
// that of the same body in one piece.
func TestLargeBody(t *testing.T) {
	if testing.Short() {
		t.Skip("long, so make test-long plays it")
	}
	s := newWorld(t).service(t)
	numbers := make([]int, 40_000)
	for i := range numbers {
		numbers[i] = i
	}
	list := encoder.Each(numbers, func(i int, into *failureJSON) { into.StatusCode, into.Message = i, strings.Repeat("x", i%99) })
	plain := s.write(httptest.NewRequest(http.MethodGet, "/", nil), list, http.StatusOK)
	content := bytes.Join(plain.chunks, nil)
	assert.Assert(t, len(plain.chunks) > 10)
	assert.Equal(t, len(content), plain.length)
	var back []failureJSON
	assert.NilError(t, json.Unmarshal(content, &back))
	assert.Equal(t, len(back), 40_000)
	assert.Equal(t, back[39_999].StatusCode, 39_999)

	r := httptest.NewRequest(http.MethodGet, "/", nil)
	r.Header.Set("Accept-Encoding", "gzip")
	packed := s.write(r, &text{typeJSON, content}, http.StatusOK)
	assert.Equal(t, packed.head.Get("ETag"), plain.head.Get("ETag"))
	assert.Assert(t, packed.length < plain.length/4)
	again, err := gzip.NewReader(bytes.NewReader(bytes.Join(packed.chunks, nil)))
	assert.NilError(t, err)
	unpacked, err := io.ReadAll(again)
	assert.NilError(t, err)
	assert.Assert(t, bytes.Equal(unpacked, content))
}
