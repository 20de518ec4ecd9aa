package main

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/fs"
)

// TestValidateAgainst prints what a reload would change.
func TestValidateAgainst(t *testing.T) {
	for _, c := range []struct{ name, line string }{
		{"against-old", "validate testdata/new.yaml --against testdata/old.yaml"},
		{"against-same", "validate testdata/new.yaml --against testdata/new.yaml"},
		{"against-wrong", "validate testdata/new.yaml --against testdata/queues.yaml"},
		{"against-missing", "validate testdata/new.yaml --against testdata/missing.yaml"},
		{"against-of-wrong", "validate testdata/queues.yaml --against testdata/old.yaml"},
	} {
		t.Run(c.name, func(t *testing.T) { playLine(t, c.name, c.line, "") })
	}
}

// TestValidateWithServer asks a scheduler what would come of a configuration.
func TestValidateWithServer(t *testing.T) {
	var asked struct{ Config string }
	answer, status := `{"overUse": [{"queueName": "root.batch", "by": {"vcore": 20000}}], "victims": [{"allocationKey": "k", "applicationId": "a", "message": "by quota", "after": 9000000000}], "delays": 60000000000}`, http.StatusOK
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/ws/v1/partitions" {
			http.NotFound(w, r)
			return
		}
		assert.Check(t, r.URL.Path == "/ws/v1/partition/default/whatif" && r.Header.Get("Authorization") == "Bearer secret")
		assert.Check(t, json.NewDecoder(r.Body).Decode(&asked))
		w.WriteHeader(status)
		_, _ = w.Write([]byte(answer))
	}))
	defer server.Close()
	token := fs.NewFile(t, "token", fs.WithContent("secret\n")).Path()
	ask := func() (int, string, string) {
		var out, problems bytes.Buffer
		code := run([]string{"validate", "testdata/new.yaml", "--server", server.URL, "--token-file", token}, nil, &out, &problems)
		return code, out.String(), problems.String()
	}
	code, out, _ := ask()
	assert.Equal(t, code, exitDone)
	assert.Assert(t, strings.Contains(asked.Config, "vcore: 80"))
	assert.Assert(t, strings.HasSuffix(out, "partition default: 1 queue would be over its max\n"+
		"  root.batch, by cpu=20\n  k of application a would be evicted after 9s: by quota\n"+
		"  a delay that goes on for 60s more was not waited for: something may be evicted then\n"), out)

	answer = `{"overLimits": [{"queueName": "root.batch", "user": "ann", "by": {"vcore": 2000}, "applications": 1}, {"queueName": "root", "group": "dev", "applications": 2}]}`
	code, out, _ = ask()
	assert.Equal(t, code, exitDone)
	assert.Assert(t, strings.HasSuffix(out, "partition default: no queues would be over their max\n"+
		"  user ann would be over its limit in root.batch, by cpu=2 and 1 application\n"+
		"  group dev would be over its limit in root, by 2 applications\n  nothing would be evicted\n"), out)

	answer, status = `{"message": "Partition not found"}`, http.StatusNotFound
	code, out, _ = ask()
	assert.Equal(t, code, exitDone)
	assert.Assert(t, strings.HasSuffix(out, "partition default: is not known to the scheduler\n"), out)

	answer, status = `{"message": "queue root.batch has 1 applications and cannot become a parent"}`, http.StatusBadRequest
	code, _, problems := ask()
	assert.Equal(t, code, exitFailed)
	assert.Equal(t, problems, "narwhal: partition default: queue root.batch has 1 applications and cannot become a parent\n")
}
