package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"gotest.tools/v3/assert"
	"gotest.tools/v3/golden"

	"github.com/narwhal-scheduler/narwhal/pkg/webservice/client"
)

// fixture is when the answers of the web service in its own tests were made, in nanoseconds.
const fixture = 1795251600000000000

// answers are what the answers to some paths are called there.
var answers = map[string]string{"usage/users": "users", "usage/groups": "groups", "applications/active": "applications", "groups": "startgroups", "/ws/v1/partitions": "partitions"}

var timesOfFixture = regexp.MustCompile(`\b17952\d{14}\b`)

// running is a scheduler that answers with what the web service says in its own tests, as if that was five
// minutes ago. It keeps what it was asked.
func running(t *testing.T) (address string, asked func() []string) {
	t.Helper()
	var urls []string
	shift := time.Now().Add(-5*time.Minute).UnixNano() - fixture
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		urls = append(urls, r.URL.RequestURI())
		name := strings.TrimPrefix(strings.TrimPrefix(r.URL.Path, "/ws/v1/partition/"), "default/")
		if answers[name] != "" {
			name = answers[name]
		}
		if strings.HasSuffix(name, "/explain") {
			name = "explain"
			if !strings.Contains(r.URL.Path, "agent-1") {
				name = "explain-gone"
			}
		}
		text, err := os.ReadFile(filepath.Join("../../pkg/webservice/testdata", strings.ReplaceAll(name, "/", "-")+".json"))
		if err != nil {
			w.WriteHeader(http.StatusNotFound)
			text = []byte(`{"message": "Partition not found"}`)
		}
		switch asked := r.URL.Query(); {
		case asked.Get("user") == "none" || asked.Get("queue") == "root.none" || asked.Get("node") == "none":
			text = []byte("[]")
		case asked.Get("why") == "none":
			w.WriteHeader(http.StatusBadRequest)
			text = []byte(`{"message": "Parameter why is \"none\": one of these is needed"}`)
		}
		if name == "preemptions" {
			w.Header().Set("X-Total-Count", "34")
		}
		if name == "queues" { // shown as they are, with their times
			_, _ = w.Write(text)
			return
		}
		_, _ = w.Write(timesOfFixture.ReplaceAllFunc(text, func(found []byte) []byte {
			at, _ := strconv.ParseInt(string(found), 10, 64)
			return strconv.AppendInt(nil, at+shift, 10)
		}))
	}))
	t.Cleanup(server.Close)
	return server.Listener.Addr().String(), func() []string { return urls }
}

// TestLists shows what a running scheduler says, in a terminal of 100 columns and as data.
func TestLists(t *testing.T) {
	t.Setenv("COLUMNS", "100")
	address, _ := running(t)
	for _, c := range []struct{ name, line string }{
		{"queues", "queues"},
		{"queues-kinds", "queues --kinds cpu"},
		{"nodes", "nodes"},
		{"domains", "domains"},
		{"groups", "groups --group default/*"},
		{"users", "users"},
		{"users-of-groups", "users --groups --limit 1"},
		{"users-none", "users --user none"},
		{"users-group", "users --group web"},
		{"users-group-user", "users --groups --user none"},
		{"apps", "apps --limit 0"},
		{"losses", "losses"},
		{"accounting", "accounting"},
		{"accounting-csv", "accounting --csv"},
		{"accounting-no-day", "accounting --day nonsense --user none"},
		{"accounting-no-user", "accounting --user none"},
		{"accounting-form", "accounting --csv -o json"},
		{"losses-no-user", "losses --user none"},
		{"changes-no-time", "changes --from noon"},
		{"changes-limit", "changes --limit -1"},
		{"changes-no-limit", "changes --limit x"},
		{"top-no-queue", "top --once --queue root.nope"},
		{"top-no-application", "top --once --queue root.sys --application nope"},
		{"doctor-no-partition", "doctor --partition other"},
		{"queues-yaml", "queues -o yaml"},
		{"pending", "pending"},
		{"pending-none", "pending --user none"},
		{"pending-no-queue", "pending --queue root.none --user none"},
		{"pending-no-reason", "pending --why none"},
		{"nodes-no-node", "nodes --node none -o json"},
		{"nodes-no-kind", "nodes --kinds cpu,unicorns"},
		{"queues-no-kind", "queues --kinds vcore,unicorns"},
		{"preemptions", "preemptions --limit 2"},
		{"doctor", "doctor"},
		{"top-queues", "top --once"},
		{"top-apps", "top --once --queue root.sys"},
		{"top-pods", "top --once --queue root.sys --application agents-app"},
		{"top-why", "top --once --queue root.sys --application agents-app --pod agent-1"},
		{"top-half", "top --once --pod agent-1"},
		{"explain-one", "explain agent-1"},
		{"explain-victim", "explain filler-0"},
		{"explain-unknown", "explain x-1"},
		{"queues-unknown", "queues --partition other"},
		{"queues-form", "queues -o xml"},
		{"queues-argument", "queues root"},
		{"queues-interval", "queues --watch --interval 0s"},
	} {
		t.Run(c.name, func(t *testing.T) { playLine(t, "list-"+c.name, c.line+" --server "+address, "") })
	}
	playLine(t, "list-pending-help", "pending --help", "")
	playLine(t, "list-no-scheduler", "queues --server 127.0.0.1:1", "")
	playLine(t, "list-ca", "queues --ca-file testdata/good.yaml", "")
	playLine(t, "list-token-missing", "queues --token-file testdata/missing", "")
	playLine(t, "list-ca-missing", "queues --ca-file testdata/missing", "")
}

// TestCommandsDocument: the tables in the documentation are what the commands print.
func TestCommandsDocument(t *testing.T) {
	document, err := os.ReadFile("../../docs/commands.md")
	assert.NilError(t, err)
	for _, name := range []string{"list-queues", "list-pending", "list-losses", "list-doctor", "whatif-pods"} {
		text, err := os.ReadFile("testdata/" + name + ".golden")
		assert.NilError(t, err)
		_, table, _ := strings.Cut(string(text), "-- out\n")
		table, _, _ = strings.Cut(table, "-- err")
		_, shown, there := strings.Cut(string(document), "```text "+name+"\n")
		shown, _, _ = strings.Cut(shown, "```\n")
		if name == "list-doctor" { // some of the findings are enough there
			for line := range strings.Lines(shown) {
				_, table, there = strings.Cut(table, line)
				assert.Assert(t, there, "the command does not print, or not there: %s", line)
			}
			continue
		}
		assert.Assert(t, there && shown == table, "docs/commands.md lacks\n%s", table)
	}
}

// TestListsAsk passes what picks from a list on to the scheduler.
func TestListsAsk(t *testing.T) {
	address, asked := running(t)
	for _, line := range []string{
		"pending --queue root.a --why quota", "pending -o json --limit 5", "nodes --schedulable true", "preemptions --trigger quota --limit 0", "preemptions --node n*",
		"users --user a*", "users --groups --group web --limit 0", "apps --queue root.low --limit 5", "applications -o json --limit 0",
	} {
		assert.Equal(t, run(append(strings.Fields(line), "--server", "http://"+address+"/"), nil, io.Discard, io.Discard), exitDone)
	}
	assert.DeepEqual(t, asked(), []string{
		"/ws/v1/partition/default/asks?queue=root.a&sort=requestTime&why=quota",
		"/ws/v1/partition/default/asks?limit=5&sort=requestTime",
		"/ws/v1/partition/default/nodes?schedulable=true",
		"/ws/v1/partition/default/preemptions?trigger=quota",
		"/ws/v1/partition/default/preemptions?limit=20&node=n%2A",
		"/ws/v1/partition/default/usage/users?limit=20&sort=-pendingAsks&user=a%2A",
		"/ws/v1/partition/default/usage/groups?group=web&sort=-pendingAsks",
		"/ws/v1/partition/default/applications/active?fields=" + url.QueryEscape(client.ApplicationFields) + "&limit=5&queue=root.low&sort=-pendingAsks",
		"/ws/v1/partition/default/applications/active?sort=-pendingAsks",
	})
}

// TestPendingLimit: of those that wait so many are shown, and of all how many wait for what.
func TestPendingLimit(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		assert.Check(t, !r.URL.Query().Has("limit"))
		fmt.Fprint(w, `[{"allocationKey": "a-1", "why": "no node has room"}, {"allocationKey": "a-2", "why": "queue quota exceeded"}, {"allocationKey": "a-3", "why": "no node has room"}]`)
	}))
	defer server.Close()
	for limit, want := range map[string]string{"2": "\n2 of 3 are shown; --limit shows more.\n", "0": "", "3": ""} {
		var out bytes.Buffer
		assert.Equal(t, run([]string{"pending", "--limit", limit, "--server", server.URL}, nil, &out, io.Discard), exitDone)
		_, below, _ := strings.Cut(out.String(), "3 pods wait: no node has room (2), queue quota exceeded (1)\n")
		assert.Equal(t, below, want)
		assert.Equal(t, strings.Contains(out.String(), "a-3"), limit != "2")
	}
}

// TestJSONIsWhole: programs get every field, also those that no table shows.
func TestJSONIsWhole(t *testing.T) {
	address, _ := running(t)
	var out bytes.Buffer
	assert.Equal(t, run([]string{"nodes", "-o", "json", "--server", address}, nil, &out, io.Discard), exitDone)
	var nodes []map[string]any
	assert.NilError(t, json.Unmarshal(out.Bytes(), &nodes))
	assert.Equal(t, nodes[0]["rackName"], "/rack-1")
}

// TestYAMLKeepsNumbers: none of 64 bits is rounded, and texts that look like something else
// stay texts.
func TestYAMLKeepsNumbers(t *testing.T) {
	var out bytes.Buffer
	assert.NilError(t, writeYAML(&out, []byte(`{"b": 9223372036854775807, "a": "true", "c": ["1", 2.5, null, "a\u003cb"], "d": {}}`)))
	assert.Equal(t, out.String(), "b: 9223372036854775807\na: \"true\"\nc:\n  - \"1\"\n  - 2.5\n  - null\n  - a<b\nd: {}\n")
}

// TestWatch asks again, and does not give up when a scheduler that answered once is away.
func TestWatch(t *testing.T) {
	away := errors.New("away")
	for _, c := range []struct {
		name    string
		form    string
		answers []error
		code    error
	}{
		{"watch-table", "table", []error{nil, away, nil}, nil},
		{"watch-json", "json", []error{nil, nil}, nil},
		{"watch-yaml", "yaml", []error{nil, nil}, nil},
		{"watch-away", "table", []error{away, nil}, away},
	} {
		t.Run(c.name, func(t *testing.T) {
			cmd, n := &cobra.Command{}, 0
			var out, problems bytes.Buffer
			cmd.SetContext(t.Context())
			cmd.SetOut(&out)
			cmd.SetErr(&problems)
			err := (&output{form: c.form}).again(cmd, func(context.Context) (page, error) {
				return page{json.RawMessage(fmt.Sprintf(`{"n": %d}`, n)), func(out io.Writer, _ client.Layout) error {
					_, err := fmt.Fprintf(out, "table %d\n", n)
					return err
				}}, c.answers[n]
			}, func() bool { n++; return n < len(c.answers) })
			assert.Equal(t, err, c.code)
			golden.Assert(t, fmt.Sprintf("-- out\n%s-- err\n%s", out.String(), problems.String()), c.name+".golden")
		})
	}
}

// TestWatchEnds when it is interrupted.
func TestWatchEnds(t *testing.T) {
	cmd := &cobra.Command{}
	ctx, cancel := context.WithCancel(t.Context())
	cmd.SetContext(ctx)
	cmd.SetOut(io.Discard)
	assert.NilError(t, (&output{form: "json", watch: true, interval: time.Hour}).show(cmd, func(context.Context) (page, error) {
		cancel()
		return page{whole: []byte("[]")}, nil
	}))
}

// TestLayoutOf: what is no terminal has no colours and lines of any length.
func TestLayoutOf(t *testing.T) {
	t.Setenv("COLUMNS", "")
	assert.Equal(t, layoutOf(os.Stdin), layoutOf(&bytes.Buffer{}))
	assert.Equal(t, layoutOf(&bytes.Buffer{}), client.Layout{})
	t.Setenv("COLUMNS", " 72 ")
	assert.Equal(t, layoutOf(&bytes.Buffer{}), client.Layout{Width: 72})
	t.Setenv("COLUMNS", "wide")
	assert.Equal(t, layoutOf(&bytes.Buffer{}), client.Layout{})
}

// TestLayoutOfTerminal: a terminal has colours and its width, unless NO_COLOR has a value or it is
// one that knows none.
func TestLayoutOfTerminal(t *testing.T) {
	terminal, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skipf("colours of a terminal were NOT tested: %v", err)
	}
	t.Cleanup(func() { assert.NilError(t, terminal.Close()) })
	for _, c := range []struct {
		noColour, term, columns string
		want                    client.Layout
	}{
		{"", "xterm", "", client.Layout{Colour: true}},
		{"1", "xterm", "", client.Layout{}},
		{"0", "xterm", "", client.Layout{}}, // any value does
		{"", "dumb", "", client.Layout{}},
		{"", "xterm", "99", client.Layout{Colour: true, Width: 99}},
		{"1", "xterm", "99", client.Layout{Width: 99}},
	} {
		t.Setenv("NO_COLOR", c.noColour)
		t.Setenv("TERM", c.term)
		t.Setenv("COLUMNS", c.columns)
		assert.Equal(t, layoutOf(terminal), c.want, "%+v", c)
	}
}

// TestCompletion offers commands, pods that wait, and the values of flags to the shell.
func TestCompletion(t *testing.T) {
	address, _ := running(t)
	for line, want := range map[string]string{
		"que":                               "queues\t",
		"explain --server " + address + " ": "agent-1\troom is being made\n",
		"explain --server " + address + " agents-app ": "agent-1\troom is being made\n",
		"explain --server " + address + " other ":      ":4\n",
		"explain --server 127.0.0.1:1 ":                ":4\n",
		"queues -o ":                                   "table\njson\nyaml\n",
		"pending --server " + address + " --queue ":    "root\nroot.low\nroot.sys\nroot.sys.agents\n",
		"pending --server 127.0.0.1:1 --queue ":        ":4\n",
		"nodes --server " + address + " --node ":       "node-1\nnode-2\n",
		"preemptions --trigger ":                       "required node\npriority\nguarantee\nquota\n",
		"simulate --example ":                          "fairness\n",
		"simulate --output j":                          "json\n",
		"serve --log-level ":                           "debug\n",
		"serve fair":                                   "fairness\n",
		"validate --output ":                           "json\n",
	} {
		args := append([]string{"__complete"}, strings.Split(line, " ")...)
		var out bytes.Buffer
		assert.Equal(t, run(args, nil, &out, io.Discard), exitDone)
		assert.Assert(t, strings.Contains(out.String(), want), "%q: %s", line, out.String())
	}
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		var out bytes.Buffer
		assert.Equal(t, run([]string{"completion", shell}, nil, &out, io.Discard), exitDone)
		assert.Assert(t, out.Len() > 1000)
	}
}

// TestUsersOfWorkThatThereIsNot: a user that is not known is an error, also where nothing was lost at all; one that is known has an
// empty list.
func TestUsersOfWorkThatThereIsNot(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text := "[]"
		if strings.HasSuffix(r.URL.Path, "/usage/users") {
			text = `[{"userName": "anna"}, {"userName": "bob"}]`
		}
		_, _ = io.WriteString(w, text)
	}))
	defer server.Close()
	for _, c := range []struct {
		line, want string
		code       int
	}{
		{"losses --user nobody", `there is no user "nobody"; there are anna, bob`, exitFailed},
		{"losses --user bob", "There are no losses like that.", exitDone},
		{"accounting --user nobody", `there is no user "nobody"; there are anna, bob`, exitFailed},
		{"pending --user nobody", `there is no user "nobody"; there are anna, bob`, exitFailed},
	} {
		var out bytes.Buffer
		code := run(append(strings.Fields(c.line), "--server", server.URL), nil, &out, &out)
		assert.Equal(t, code, c.code, out.String())
		assert.Assert(t, strings.Contains(out.String(), c.want), out.String())
	}
}

// TestAccountingSaysAsOfWhen: the table says as of when work is told, also where there is none; CSV has lines of work alone.
func TestAccountingSaysAsOfWhen(t *testing.T) {
	written := time.Date(2026, 11, 29, 14, 3, 5, 0, time.Local)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Last-Modified", written.UTC().Format(http.TimeFormat))
		_, _ = io.WriteString(w, "[]")
	}))
	defer server.Close()
	for line, want := range map[string]string{
		"accounting":       "There are no accounts.\n\nas of 2026-11-29 14:03:05\n",
		"accounting --csv": "day,queue,user,kind,used,lost,taken\n",
	} {
		var out bytes.Buffer
		assert.Equal(t, run(append(strings.Fields(line), "--server", server.URL), nil, &out, &out), exitDone)
		assert.Equal(t, out.String(), want)
	}
}
