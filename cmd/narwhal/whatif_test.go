package main

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
)

// TestWhatIf shows what a scheduler says would come, and what is wrong with a command.
func TestWhatIf(t *testing.T) {
	t.Setenv("COLUMNS", "100")
	address, _ := running(t)
	for _, c := range []struct{ name, line, in string }{
		{"pods", "whatif --application web --resources cpu=2 --server " + address, ""},
		{"nothing", "whatif", ""},
		{"no-resources", "whatif --application web", ""},
		{"no-application", "whatif --resources cpu=2", ""},
		{"amounts", "whatif --application web --resources cpu=2,memory", ""},
		{"quantity", "whatif --application web --resources memory=4GB", ""},
		{"quantity-cpu", "whatif --application web --resources cpu=four", ""},
		{"node", "whatif --add-node gpu", ""},
		{"node-count", "whatif --add-node gpu:many:cpu=1", ""},
		{"node-attributes", "whatif --add-node gpu:cpu=1:zone", ""},
		{"node-twice", "whatif --add-node gpu:cpu=1:zone=a,zone=b", ""},
		{"node-amounts", "whatif --add-node name=n1,cpu=8,zone=a", ""},
		{"file", "whatif -f missing.yaml", ""},
		{"unknown", "whatif -f -", "asks: []\nnodes: {delete: [a]}\n"},
		{"argument", "whatif web", ""},
		{"help", "whatif --help", ""},
	} {
		t.Run(c.name, func(t *testing.T) { playLine(t, "whatif-"+c.name, c.line, c.in) })
	}
}

// TestWhatIfAsks sends what the flags and the file say together.
func TestWhatIfAsks(t *testing.T) {
	var sent string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body bytes.Buffer
		_, err := body.ReadFrom(r.Body)
		assert.Check(t, err)
		sent = body.String()
		_, _ = io.WriteString(w, `{"asks": [], "victims": [], "budgets": "none", "predicates": "in part"}`)
	}))
	defer server.Close()
	for _, c := range []struct{ line, in, want string }{
		{
			"--application new --queue root.ml --user ada --resources cpu=500m,memory=4Gi,nvidia.com/gpu=2,gpu=1 --count 3 --priority 5 --within 5m", "",
			`{"applications": [{"applicationId": "new", "queueName": "root.ml", "user": "ada"}],
			  "asks": [{"allocationKey": "pod", "applicationId": "new", "resource": {"gpu": 1000, "memory": 4294967296, "nvidia.com/gpu": 2, "vcore": 500},
			    "priority": 5, "count": 3, "preemptionPolicy": {"allowPreemptSelf": true, "allowPreemptOther": true}}], "within": "5m0s"}`,
		},
		{
			"--application web --name x --resources cpu=1 --preempts=false", "",
			`{"asks": [{"allocationKey": "x", "applicationId": "web", "resource": {"vcore": 1000}, "count": 1,
			    "preemptionPolicy": {"allowPreemptSelf": true, "allowPreemptOther": false}}]}`,
		},
		{
			"--add-node a:cpu=1 --add-node b:2:memory=1Ki:zone=a,rack=r:1 --add-node z:cpu=1:zone=a --drain-node c,d --remove-node e", "",
			`{"nodes": {"add": [{"nodeId": "a", "capacity": {"vcore": 1000}}, {"nodeId": "b", "capacity": {"memory": 1024}, "count": 2, "attributes": {"zone": "a", "rack": "r:1"}},
			    {"nodeId": "z", "capacity": {"vcore": 1000}, "attributes": {"zone": "a"}}], "drain": ["c", "d"], "remove": ["e"]}}`,
		},
		{"--config testdata/new.yaml -f - --remove-node b", "nodes:\n  remove: [a]\nwithin: 1s\n", ""},
	} {
		var out bytes.Buffer
		args := append([]string{"whatif", "--server", server.URL}, strings.Fields(c.line)...)
		assert.Equal(t, run(args, strings.NewReader(c.in), &out, io.Discard), exitDone, c.line)
		assert.Equal(t, out.String(), "nothing would be evicted\n"+
			"of new pods and new nodes only amounts were looked at: affinity, taints and ports may keep pods away\n")
		if c.want == "" {
			assert.Assert(t, strings.Contains(sent, `"remove":["a","b"]`) && strings.Contains(sent, "partitions:") && strings.Contains(sent, `"within":"1s"`), sent)
			continue
		}
		var is, want any
		assert.NilError(t, json.Unmarshal([]byte(sent), &is))
		assert.NilError(t, json.Unmarshal([]byte(c.want), &want))
		assert.DeepEqual(t, is, want)
	}
}

// TestWhatIfThatIsRefused: what would not be taken in is shown, and the exit code says no. What only waits is an answer like others.
func TestWhatIfThatIsRefused(t *testing.T) {
	answer := ""
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, answer) }))
	defer server.Close()
	for _, c := range []struct {
		answer, want string
		code         int
	}{
		{`{"asks": [{"allocationKey": "a", "refused": "application x is not registered"}]}`, "refused", exitFailed},
		{`{"asks": [], "rejected": [{"applicationId": "x", "message": "no such queue"}]}`, "application x would be rejected: no such queue", exitFailed},
		{`{"asks": [{"allocationKey": "a", "waits": {"why": "no node has room"}}]}`, "no node has room", exitDone},
	} {
		answer = c.answer
		var out bytes.Buffer
		code := run([]string{"whatif", "--server", server.URL, "--application", "x", "--resources", "cpu=1"}, nil, &out, io.Discard)
		assert.Equal(t, code, c.code, answer)
		assert.Assert(t, strings.Contains(out.String(), c.want), out.String())
	}
}
