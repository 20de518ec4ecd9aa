package webservice

import (
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
)

// lists are the endpoints that answer with a list.
var lists = []string{
	"/ws/v1/clusters",
	"/ws/v1/partitions",
	"/ws/v1/history/apps",
	"/ws/v1/history/containers",
	"/ws/v1/scheduler/node-utilizations",
	"/ws/v1/partition/default/placementrules",
	"/ws/v1/partition/default/nodes",
	"/ws/v1/partition/default/applications/active",
	"/ws/v1/partition/default/applications/completed",
	"/ws/v1/partition/default/applications/rejected",
	"/ws/v1/partition/default/queue/root.low/applications",
	"/ws/v1/partition/default/queue/root.low/applications/active",
	"/ws/v1/partition/default/asks",
	"/ws/v1/partition/default/groups",
	"/ws/v1/partition/default/domains",
	"/ws/v1/partition/default/preemptions",
	"/ws/v1/partition/default/victims",
	"/ws/v1/partition/default/losses",
	"/ws/v1/partition/default/usage/users",
	"/ws/v1/partition/default/usage/groups",
}

// TestBadParameters: what cannot be meant is refused, in words, and what is
// beyond the end is nothing.
func TestBadParameters(t *testing.T) {
	h := newWorld(t).service(t).Handler()
	for _, path := range lists {
		for query, text := range map[string]string{
			"limit=-1":                       "Parameter limit is \"-1\": a whole number from 1 to 2147483647 is needed",
			"limit=0":                        "Parameter limit is \"0\": a whole number from 1 to 2147483647 is needed",
			"limit=9223372036854775808":      "Parameter limit is \"9223372036854775808\": a whole number from 1 to 2147483647 is needed",
			"limit=18446744073709551616":     "Parameter limit is \"18446744073709551616\": a whole number from 1 to 2147483647 is needed",
			"limit=1e3":                      "Parameter limit is \"1e3\": a whole number from 1 to 2147483647 is needed",
			"limit=":                         "Parameter limit is empty",
			"limit=1&limit=2":                "Parameter limit is given 2 times",
			"offset=-1":                      "Parameter offset is \"-1\": a whole number from 0 to 2147483647 is needed",
			"offset=9223372036854775808":     "Parameter offset is \"9223372036854775808\": a whole number from 0 to 2147483647 is needed",
			"fields=":                        "Parameter fields is empty",
			"sort=":                          "Parameter sort is empty",
			"sort=a&sort=b":                  "Parameter sort is given 2 times",
			"sort=" + url.QueryEscape("-<"):  "",
			"limit=%zz":                      "Query cannot be read: invalid URL escape \"%zz\"",
			"limit=1;offset=2":               "Query cannot be read: invalid semicolon separator in query",
			"fields=" + url.QueryEscape("<"): "",
		} {
			w := ask(h, http.MethodGet, path+"?"+query)
			assert.Equal(t, w.Code, http.StatusBadRequest, path+"?"+query)
			var answer failureJSON
			assert.NilError(t, json.Unmarshal(w.Body.Bytes(), &answer))
			if text == "" {
				name, _, _ := strings.Cut(query, "=")
				assert.Assert(t, strings.HasPrefix(answer.Message, "Parameter "+name+" names \"<\", which is no field; there are: "), answer.Message)
				continue
			}
			assert.Equal(t, answer.Message, text)
			assert.Equal(t, answer.Description, text)
			assert.Equal(t, answer.StatusCode, http.StatusBadRequest)
		}
		for _, query := range []string{"offset=2147483647", "offset=5&limit=2147483647", "unknown=1&_=2", "limit=2147483647"} {
			w := ask(h, http.MethodGet, path+"?"+query)
			assert.Equal(t, w.Code, http.StatusOK, path+"?"+query)
			assert.Equal(t, w.Body.String()[:1], "[")
		}
	}
}

// TestFilters says which elements a query picks.
func TestFilters(t *testing.T) {
	h := newWorld(t).service(t).Handler()
	const nodes, applications = "/ws/v1/partition/default/nodes", "/ws/v1/partition/default/applications/active"
	for _, c := range []struct{ path, query, ids string }{
		{nodes, "node=node-2", "node-2"},
		{nodes, "node=node-*", "node-1 node-2"},
		{nodes, "node=none", ""},
		{nodes, "schedulable=true", "node-1"},
		{nodes, "schedulable=false", "node-2"},
		{nodes, "reserved=true", "node-1"},
		{nodes, "evicting=false&node=*", "node-2"},
		{nodes, "schedulable=yes", "400 Parameter schedulable is \"yes\": true or false is needed"},
		{nodes, "node=", "400 Parameter node is empty"},
		{applications, "status=", "agents-app filler-app"},
		{applications, "status=RUNNING", "filler-app"},
		{applications, "status=resuming", ""},
		{applications, "user=anna", "filler-app"},
		{applications, "user=a*", "filler-app"},
		{applications, "group=web", "filler-app"},
		{applications, "group=we", ""},
		{applications, "queue=root.sys", "agents-app"},
		{applications, "queue=Root", "agents-app filler-app"},
		{applications, "queue=root.lo", ""},
		{applications, "node=node-2", "filler-app"},
		{applications, "application=agents-*&user=root", "agents-app"},
		{applications, "user=anna&queue=root.sys", ""},
		{applications, "limit=1&offset=1", "filler-app"},
		{"/ws/v1/partition/default/queue/root.sys.agents/applications", "", "agents-app"},
		{"/ws/v1/partition/default/queue/root.sys.agents/applications/active", "status=running", ""},
		{"/ws/v1/partition/default/queue/root.sys/applications", "", ""},
	} {
		w := ask(h, http.MethodGet, c.path+"?"+c.query)
		var got []struct{ NodeID, ApplicationID string }
		if status, text, wrong := strings.Cut(c.ids, "400 "); wrong {
			assert.Equal(t, status, "")
			assert.Equal(t, w.Code, http.StatusBadRequest)
			assert.Assert(t, strings.Contains(w.Body.String(), strings.ReplaceAll(text, `"`, `\"`)), w.Body)
			continue
		}
		assert.NilError(t, json.Unmarshal(w.Body.Bytes(), &got), w.Body)
		var ids []string
		for _, one := range got {
			ids = append(ids, one.NodeID+one.ApplicationID)
		}
		assert.Equal(t, strings.Join(ids, " "), c.ids, c.query)
		if !strings.Contains(c.query, "limit") {
			assert.Equal(t, len(got) == 0, w.Header().Get("X-Total-Count") == "0")
		}
	}
}

// TestFields leaves out what was not asked for, of lists and of single objects.
func TestFields(t *testing.T) {
	h := newWorld(t).service(t).Handler()
	for path, want := range map[string]string{
		"/ws/v1/clusters?fields=partition":                                        `[{"partition":"default"}]`,
		"/ws/v1/partition/default/node/node-2?fields=schedulable,nodeID,hostName": `{"nodeID":"node-2","schedulable":false}`,
		"/ws/v1/partition/default/queue/root.low?fields=status":                   `{"status":"Draining"}`,
		"/ws/v1/partition/default/application/filler-app?fields=user,groups":      `{"user":"anna","groups":["staff","web"]}`,
		"/ws/v1/partition/default/usage/user/anna?fields=userName":                `{"userName":"anna"}`,
	} {
		w := ask(h, http.MethodGet, path)
		assert.Equal(t, w.Body.String(), want, path)
	}
	w := ask(h, http.MethodGet, "/ws/v1/partition/default/node/node-2?fields=NodeID")
	assert.Equal(t, w.Code, http.StatusBadRequest)
}

// TestSubtree shows the queues below only if asked, whatever the value.
func TestSubtree(t *testing.T) {
	h := newWorld(t).service(t).Handler()
	for query, below := range map[string]bool{"": false, "?subtree": true, "?subtree=": true, "?subtree=false": true, "?x=1": false} {
		w := ask(h, http.MethodGet, "/ws/v1/partition/default/queue/root.sys"+query)
		var got queueShown
		assert.NilError(t, json.Unmarshal(w.Body.Bytes(), &got))
		assert.Equal(t, len(got.Children) > 0, below, query)
		assert.DeepEqual(t, got.ChildNames, []string{"root.sys.agents"})
	}
}

// queueShown is a part of a queue as a client reads it.
type queueShown struct {
	QueueName, Partition string
	Headroom             map[string]int64
	Children             []queueShown
	ChildNames           []string
}

// TestQueueAloneIsAsInTheTree compares each queue of the tree with the answer about
// it alone.
func TestQueueAloneIsAsInTheTree(t *testing.T) {
	h := newWorld(t).service(t).Handler()
	var root queueShown
	assert.NilError(t, json.Unmarshal(ask(h, http.MethodGet, "/ws/v1/partition/default/queues").Body.Bytes(), &root))
	seen := 0
	var walk func(queueShown)
	walk = func(inTree queueShown) {
		seen++
		var alone queueShown
		w := ask(h, http.MethodGet, "/ws/v1/partition/default/queue/"+inTree.QueueName+"?subtree")
		assert.NilError(t, json.Unmarshal(w.Body.Bytes(), &alone))
		assert.DeepEqual(t, alone, inTree)
		assert.Equal(t, alone.Partition, "default")
		slices.Values(inTree.Children)(func(child queueShown) bool { walk(child); return true })
	}
	walk(root)
	assert.Equal(t, seen, 4)
}
