package acceptance

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/archive"
	"github.com/narwhal-scheduler/narwhal/pkg/config"
	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/events"
	"github.com/narwhal-scheduler/narwhal/pkg/metrics"
	"github.com/narwhal-scheduler/narwhal/pkg/scheduler"
	"github.com/narwhal-scheduler/narwhal/pkg/simulator"
	"github.com/narwhal-scheduler/narwhal/pkg/simulator/live"
	"github.com/narwhal-scheduler/narwhal/pkg/webservice"
	"github.com/narwhal-scheduler/narwhal/pkg/webservice/internal/contract"
	"github.com/narwhal-scheduler/narwhal/pkg/webservice/internal/fixture"
)

// TestLiveAnswersKeepTheContract has a visitor read everything of clusters in which
// room is made for every reason, nodes fail and applications end.
func TestLiveAnswersKeepTheContract(t *testing.T) {
	seen := map[string]int{}
	for _, c := range []struct {
		name   string
		every  time.Duration // between visits, in the time of the cluster
		visits int
		big    bool // whole lists take long
	}{
		{"small", 20 * time.Second, 12, false},
		{"daemonsets", 2 * time.Minute, 6, false},
		{"fairness", 20 * time.Minute, 5, false},
		{"teams", 15 * time.Minute, 1, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const speed = 60
				v, end := newVisitor(t, c.name, speed)
				defer end()
				v.seen = seen
				for range c.visits {
					time.Sleep(c.every / speed)
					synctest.Wait()
					v.visit(c.big)
				}
			})
		})
	}
	for _, op := range agreed(t).Operations() {
		id := fmt.Sprint(op.Said["operationId"])
		assert.Assert(t, seen[id+" 200"] > 0 || notVisited[op.Path] || strings.HasPrefix(op.Path, "/debug/pprof/"), "%s: %v", id, seen)
	}
}

// notVisited are paths that have nothing for a visitor.
var notVisited = map[string]bool{
	"/ws/v1/stack": true, "/ws/v1/fullstatedump": true, "/debug/stack": true, "/ws/v1/partition/{partition}/accounting": true, "/ws/v1/partition/{partition}/usage/group/{group}": true,
}

// A visitor asks a service for what there is, at random.
type visitor struct {
	asker
	t      *testing.T
	views  webservice.Views
	random *rand.Rand
	known  map[string][]string // names that parameters may have
	seen   map[string]int      // answers, by operation and status
}

// newVisitor starts the cluster of an example with a service before it.
func newVisitor(t *testing.T, name string, speed float64) (v *visitor, end func()) {
	text, err := simulator.ExampleText(name)
	assert.NilError(t, err)
	scenario, err := simulator.Parse(text)
	assert.NilError(t, err)
	cluster, err := live.New(scenario, live.Options{Speed: speed})
	assert.NilError(t, err)
	history, err := events.NewHistory("live", events.Config{})
	assert.NilError(t, err)
	kept, err := archive.New(archive.Config{})
	assert.NilError(t, err)
	counts := metrics.New()
	running, err := scheduler.New(scheduler.Config{
		Events: history, Archive: kept, Metrics: counts, SkipPredicates: !cluster.Constrained(),
		CompletingDelay: cluster.Real(30 * time.Second), RetryDelay: cluster.Real(time.Second), ReserveDelay: cluster.Real(2 * time.Second),
		SettleDelay: cluster.Real(5 * time.Second),
	})
	assert.NilError(t, err)
	document, err := config.Load(fixture.ConfigText, nil)
	assert.NilError(t, err)
	s := served(t, webservice.Config{
		Views: running, Kinds: running.Kinds(), Configuration: fixture.Written{Is: document}, Archive: kept, Events: history,
		Metrics: counts.Handler(), Started: time.Now(), Diagnostics: func(string) (string, error) { return `{"pods": [1]}`, nil },
	}, "")
	ctx, cancel := context.WithCancel(t.Context())
	finished := make(chan error, 1)
	go func() { finished <- cluster.Run(ctx, running) }()
	v = &visitor{
		asker: asker{agreed(t), s}, t: t, views: running,
		random: rand.New(rand.NewPCG(1, uint64(len(name)))),
	}
	return v, func() {
		cancel()
		assert.NilError(t, <-finished)
		running.Stop()
		history.Close()
	}
}

// visit asks every operation once plainly, unless that takes long, and a few times
// for something else.
func (v *visitor) visit(brief bool) {
	full := v.views.Partitions()[0]
	view, err := v.views.View(v.t.Context(), full)
	assert.NilError(v.t, err)
	v.known = map[string][]string{
		"partition": {"default", url.PathEscape(full)}, "profile": {"heap"}, "group": {"staff"},
		"trigger": {"quota", "priority", "guarantee", "required node"}, "why": {api.NoNodeFits.String(), api.RoomIsMade.String()},
		"start": {"0", "1", "100"}, "count": {"1", "100"}, "limit": {"1", "7"}, "offset": {"0", "3"}, "subtree": {""},
		"schedulable": {"true", "false"}, "reserved": {"true", "false"}, "evicting": {"true", "false"}, "since": {"0", fmt.Sprint(time.Now().UnixNano())},
	}
	for _, node := range view.Nodes {
		v.known["node"] = append(v.known["node"], string(node.ID))
	}
	v.queues(view.Root)
	for _, op := range v.Operations() {
		if strings.HasPrefix(op.Path, "/debug/pprof/") || op.Path == "/debug/stack" { // not of the cluster
			continue
		}
		rounds := 2
		if op.Path == "/debug/fullstatedump" {
			rounds = 1
		}
		for i := range rounds {
			v.ask(op, view, i > 0 || brief || op.Path == "/ws/v1/events/batch")
		}
	}
}

func (v *visitor) queues(q *api.QueueView) {
	v.known["queue"] = append(v.known["queue"], string(q.Path))
	for _, child := range q.Queues {
		v.queues(child)
	}
}

// ask sends a request for something that there is, or was a moment ago.
func (v *visitor) ask(op contract.Operation, view *api.View, picky bool) {
	parts := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(v.known)) {
		parts[name] = v.one(v.known[name])
	}
	if said := v.Parameters(op, "path")["state"]; said != nil {
		parts["state"] = v.one(contract.Words(said))
	}
	if len(view.Applications) > 0 {
		app := view.Applications[v.random.IntN(len(view.Applications))]
		keys := []string{"none"}
		for _, ask := range app.Asks {
			keys = append(keys, string(ask.Key))
		}
		for _, allocation := range app.Allocations {
			keys = append(keys, string(allocation.Key))
		}
		parts["application"], parts["allocation"] = url.PathEscape(string(app.ID)), url.PathEscape(keys[len(keys)-1-v.random.IntN(len(keys))])
		if strings.Contains(op.Path, "/queue/{queue}/application") {
			parts["queue"] = string(app.Queue)
		}
		v.known["application"], v.known["user"] = []string{string(app.ID)}, []string{app.User}
		parts["user"] = url.PathEscape(app.User)
	}
	target := v.Target(op, parts)
	if picky {
		target += "?" + v.query(op)
	}
	r := httptest.NewRequest(op.Method, target, strings.NewReader(v.question(op, view)))
	r.Header.Set("Content-Type", "application/json")
	if v.random.IntN(2) == 0 {
		r.Header.Set("Accept", v.one([]string{"application/json", "text/event-stream"}))
	}
	if v.random.IntN(2) == 0 {
		r.Header.Set("Accept-Encoding", "gzip")
	}
	ctx, cancel := context.WithCancel(context.Background())
	if strings.HasSuffix(op.Path, "/stream") {
		cancel() // it would go on
	}
	defer cancel()
	w := httptest.NewRecorder()
	v.handler.ServeHTTP(w, r.WithContext(ctx))
	v.keeps(v.t, op.Method, target, w)
	v.seen[fmt.Sprintf("%s %d", op.Said["operationId"], w.Code)]++
}

func (v *visitor) one(of []string) string {
	if len(of) == 0 {
		return "none"
	}
	return of[v.random.IntN(len(of))]
}

// query is some of the parameters of an operation.
func (v *visitor) query(op contract.Operation) string {
	query := url.Values{}
	parameters := v.Parameters(op, "query")
	for _, name := range slices.Sorted(maps.Keys(parameters)) {
		said := parameters[name]
		if v.random.IntN(3) > 0 {
			continue
		}
		good, _ := v.valuesOf(said)
		switch value := v.one(append(v.known[name], good...)); {
		case name == "fields":
			fields := v.Fields(op)
			slices.Sort(fields)
			v.random.Shuffle(len(fields), func(i, j int) { fields[i], fields[j] = fields[j], fields[i] })
			query.Set(name, strings.Join(fields[:1+v.random.IntN(len(fields))], ","))
		case len(value) > 3 && v.random.IntN(3) == 0 && said["schema"].(jsonObject)["type"] == "string":
			query.Set(name, value[:len(value)-2]+"*")
		default:
			query.Set(name, value)
		}
	}
	return query.Encode()
}

// question is a body for the operations that need one.
func (v *visitor) question(op contract.Operation, view *api.View) string {
	if strings.HasSuffix(op.Path, "/validate-conf") {
		return v.one([]string{fixture.ConfigText, "partitions: []", ":"})
	}
	if op.Method != http.MethodPost || v.random.IntN(8) == 0 {
		return "{}"
	}
	var asked question
	for i := range 1 + v.random.IntN(3) {
		ask := newAsk{
			AllocationKey: api.AllocationKey(fmt.Sprintf("try-%d", i)), ApplicationID: api.ApplicationID(v.one(v.known["application"])),
			Resource: map[string]int64{"vcore": v.random.Int64N(20_000), "memory": v.random.Int64N(100 << 30)},
			Priority: int32(v.random.IntN(2000) - 1000), Count: v.random.IntN(5),
		}
		if v.random.IntN(4) == 0 {
			ask.RequiredNodeID = api.NodeID(v.one(v.known["node"]))
		}
		asked.Asks = append(asked.Asks, ask)
	}
	asked.Within = v.one([]string{"", "1s", "5m"})
	body, err := json.Marshal(asked)
	assert.NilError(v.t, err)
	return string(body)
}
