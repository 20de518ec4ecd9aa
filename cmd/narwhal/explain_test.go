package main

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/fs"
)

// TestExplain prints the lines of the answer, or its message about what is wrong.
func TestExplain(t *testing.T) {
	var asked *http.Request
	answers := map[string]string{
		"/ws/v1/partition/default/application/web/allocation/web-7/explain": `{"lines": ["web-7 waits", "  nodes  5 have too little free"]}`,
		"/ws/v1/partition/other/application/a%2Fb/allocation/k%20/explain":  `{"lines": ["odd names"]}`,
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = r
		body, ok := answers[r.URL.EscapedPath()]
		if !ok {
			w.WriteHeader(http.StatusNotFound)
			body = `{"status_code": 404, "message": "Allocation not found"}`
		}
		_, _ = w.Write([]byte(body))
	}))
	defer server.Close()
	file := fs.NewFile(t, "token", fs.WithContent("secret\n")).Path()
	for _, c := range []struct {
		args          []string
		out, problems string
		code          int
	}{
		{[]string{"web", "web-7", "--token", "secret"}, "web-7 waits\n  nodes  5 have too little free\n", "", exitDone},
		{[]string{"a/b", "k ", "--partition", "other"}, "odd names\n", "", exitDone},
		{[]string{"web", "web-7", "--token-file", file}, "web-7 waits\n  nodes  5 have too little free\n", "", exitDone},
		{[]string{"web", "none"}, "", "narwhal: none of application web in partition default: Allocation not found\n", exitFailed},
	} {
		var out, problems bytes.Buffer
		code := run(append([]string{"explain", "--server", server.URL + "/"}, c.args...), nil, &out, &problems)
		assert.Equal(t, out.String(), c.out)
		assert.Equal(t, problems.String(), c.problems)
		assert.Equal(t, code, c.code)
		if len(c.args) == 4 && strings.HasPrefix(c.args[2], "--token") {
			assert.Equal(t, asked.Header.Get("Authorization"), "Bearer secret")
		}
	}
	for line, want := range map[string]int{
		"--token-file none": exitUsage, "--token-file " + os.DevNull: exitUsage, "--token secret --token-file " + file: exitUsage,
	} {
		var out, problems bytes.Buffer
		assert.Equal(t, run(append([]string{"explain", "web", "web-7"}, strings.Fields(line)...), nil, &out, &problems), want, line)
		assert.Assert(t, strings.Contains(problems.String(), "token"), problems.String())
	}
	var problems bytes.Buffer
	assert.Equal(t, run([]string{"explain", "a", "b", "c"}, nil, &bytes.Buffer{}, &problems), exitUsage)
	assert.Equal(t, run([]string{"explain", "a", "b", "--server", "http://127.0.0.1:1"}, nil, &bytes.Buffer{}, &problems), exitFailed)
}
