package command

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/internal/replica"
)

// TestQuestionsThatMakeNoSense have an answer that is no fault of the server and no text that a page
// would run.
func TestQuestionsThatMakeNoSense(t *testing.T) {
	p := &page{state: new(replica.Readiness)}
	p.answers(fakeAnswers{})
	server := httptest.NewServer(p.handler())
	t.Cleanup(server.Close)
	for path, want := range map[string]int{
		"/why/a/b": 200, "/why/a": 404, "/why/a/": 404, "/why//b": 404, "/why/a/b/c": 404, "/why/../../etc/passwd": 404,
		"/why/a/%00": 200, "/why/a/%2e%2e%2f": 200, "/why/%ff/%fe": 200, "/why/a/%zz": 400, "/why/<script>/b": 200,
		"/why/a/" + strings.Repeat("x", 100_000): 200, "/why/a/" + strings.Repeat("x", 2<<20): 431, "/report?format=%00": 404, "/": 404,
	} {
		conn, err := net.Dial("tcp", server.Listener.Addr().String())
		assert.NilError(t, err)
		go func() { _, _ = fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", path) }()
		text, _ := io.ReadAll(conn) // what is too long ends with a reset
		assert.NilError(t, conn.Close())
		var proto, status string
		_, err = fmt.Sscan(string(text), &proto, &status)
		assert.NilError(t, err)
		if status == "301" || status == "307" { // a clean path is asked for
			continue
		}
		assert.Equal(t, status, fmt.Sprint(want), "%.40s: %.200s", path, text)
		assert.Assert(t, !strings.Contains(string(text), "<script>"))
	}
	answer, err := http.Post(server.URL+"/why/a/b", "", nil)
	assert.NilError(t, err)
	assert.NilError(t, answer.Body.Close())
	assert.Equal(t, answer.StatusCode, http.StatusMethodNotAllowed)
}
