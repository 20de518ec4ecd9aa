package webservice

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/core/preemptor"
	"github.com/narwhal-scheduler/narwhal/pkg/events"
)

// answered is the answer to a request, as JSON.
func answered(t *testing.T, h http.Handler, path string) (out any) {
	t.Helper()
	w := ask(h, http.MethodGet, path)
	assert.Equal(t, w.Code, http.StatusOK, w.Body)
	assert.NilError(t, json.Unmarshal(w.Body.Bytes(), &out))
	return out
}

// TestNothingIsKnownOfThePast: without an archive answers are what the view says.
func TestNothingIsKnownOfThePast(t *testing.T) {
	s := newWorld(t).service(t)
	s.config.Archive = nil
	app := answered(t, s.Handler(), "/ws/v1/partition/default/application/filler-app").(jsonObject)
	assert.Equal(t, app["startTime"], float64(start.Add(time.Minute).UnixMilli()))
	assert.Equal(t, len(app["stateLog"].([]any)), 1)
	app = answered(t, s.Handler(), "/ws/v1/partition/default/application/agents-app").(jsonObject)
	assert.Equal(t, app["startTime"], float64(-62135596800000))
	for _, path := range []string{"/applications/completed", "/applications/rejected", "/preemptions"} {
		assert.Equal(t, len(answered(t, s.Handler(), "/ws/v1/partition/default"+path).([]any)), 0)
	}
	partition := answered(t, s.Handler(), "/ws/v1/partitions").([]any)[0].(jsonObject)
	assert.Equal(t, partition["lastStateTransitionTime"], float64(start.UnixNano()))
	assert.Equal(t, len(answered(t, s.Handler(), "/ws/v1/history/apps").([]any)), 0)
	w := ask(s.Handler(), http.MethodGet, "/ws/v1/partition/default/application/filler-app/allocation/filler-0/explain")
	assert.Equal(t, w.Code, http.StatusNotFound)
}

// TestArchiveAndViewAreOfTwoMoments: no application goes on and has ended.
func TestArchiveAndViewAreOfTwoMoments(t *testing.T) {
	w := newWorld(t)
	s := w.service(t)
	apps := w.Views[w.Names[0]].Applications
	i := slices.IndexFunc(apps, func(a *api.ApplicationView) bool { return a.ID == "done-app" })
	apps[i].State = api.Completing // the archive knows that it has completed
	partition := answered(t, s.Handler(), "/ws/v1/partitions?fields=applications").([]any)[0].(jsonObject)
	assert.DeepEqual(t, partition["applications"], jsonObject{
		"Accepted": 1.0, "Completing": 1.0, "Running": 1.0, "Rejected": 1.0, "total": 4.0,
	})
	assert.Equal(t, len(answered(t, s.Handler(), "/ws/v1/partition/default/applications/completed").([]any)), 0)
	apps[i].Submitted = start.Add(time.Hour) // another one of that ID
	assert.Equal(t, len(answered(t, s.Handler(), "/ws/v1/partition/default/applications/completed").([]any)), 1)
}

// TestThePastIsPicked: filters and pages are those of all lists.
func TestThePastIsPicked(t *testing.T) {
	s := newWorld(t).service(t)
	const lists = "/ws/v1/partition/default/applications/"
	for query, want := range map[string]int{
		"rejected?user=bob": 1, "rejected?user=anna": 0, "rejected?group=staff": 1, "rejected?queue=root": 1, "rejected?queue=root.low": 0,
		"rejected?application=lost*": 1, "rejected?node=*": 0, "completed?user=anna": 1, "completed?queue=root.sys": 1, "completed?offset=1": 0,
	} {
		assert.Equal(t, len(answered(t, s.Handler(), lists+query).([]any)), want, query)
	}
}

// TestDumpTellsOfOthers: what the resource manager says, and which clients read events.
func TestDumpTellsOfOthers(t *testing.T) {
	w := newWorld(t)
	s := w.service(t)
	diagnostics := func() any { return answered(t, s.DebugHandler(), "/debug/fullstatedump").(jsonObject)["rmDiagnostics"] }
	assert.DeepEqual(t, diagnostics(), jsonObject{"empty": "Resource Manager did not register callback"})

	said, failure := `{"cache":{"nodes":[1,2.5,"x",true,null]}}`, error(nil)
	s.config.Diagnostics = func(string) (string, error) { return said, failure }
	assert.DeepEqual(t, diagnostics(), jsonObject{"cache": jsonObject{"nodes": []any{1.0, 2.5, "x", true, nil}}})
	said = "[]"
	assert.Assert(t, diagnostics().(jsonObject)["Error"] != nil)
	failure = errors.New("no state")
	assert.DeepEqual(t, diagnostics(), jsonObject{"Error": "no state"})
	failure = errors.ErrUnsupported
	assert.DeepEqual(t, diagnostics(), jsonObject{"empty": "Resource Manager did not register callback"})

	w.Names = append(w.Names, "[other]default")
	w.Views["[other]default"] = w.Views[w.Names[0]]
	said, failure = `{"a":1}`, nil
	assert.DeepEqual(t, diagnostics(), jsonObject{"mycluster": jsonObject{"a": 1.0}, "other": jsonObject{"a": 1.0}})

	history, err := events.NewHistory("instance", events.Config{})
	assert.NilError(t, err)
	s.config.Events = history
	stream, err := history.Subscribe(start, "host-1", 0)
	assert.NilError(t, err)
	defer stream.Close()
	streams := answered(t, s.DebugHandler(), "/debug/fullstatedump").(jsonObject)["eventStreams"]
	assert.DeepEqual(t, streams, []any{jsonObject{"Name": "host-1", "CreatedAt": float64(start.UnixNano())}})
}

// TestForeignAllocationsOfUnknownNodes are counted in the partition, and the dump
// lists them by key.
func TestForeignAllocationsOfUnknownNodes(t *testing.T) {
	w := newWorld(t)
	w.Views[w.Names[0]].ForeignUnknownNode = []*api.Allocation{
		{Key: "proxy-9", Node: "node-9", Origin: api.Foreign}, {Key: "kubelet-9", Node: "node-9", Origin: api.Static},
	}
	s := w.service(t)
	partition := answered(t, s.Handler(), "/ws/v1/partitions").([]any)[0].(jsonObject)
	assert.Equal(t, partition["foreignUnknownNode"], 2.0)
	nodes := answered(t, s.DebugHandler(), "/debug/fullstatedump").(jsonObject)["nodes"].([]any)[0].(jsonObject)
	assert.DeepEqual(t, nodes["foreignUnknownNode"], []any{
		jsonObject{"allocationKey": "kubelet-9", "nodeId": "node-9", "priority": "0"},
		jsonObject{"allocationKey": "proxy-9", "nodeId": "node-9", "priority": "0", "preemptable": true},
	})
}

// TestLossesOfTwoDays: victims are added up by the day on which they were chosen, by queue and by
// user, the last day first.
func TestLossesOfTwoDays(t *testing.T) {
	w := newWorld(t)
	s := w.service(t)
	evictedTomorrow(t, w, s)
	for query, want := range map[string][]string{
		"":                {"2026-11-22 root.low anna 1", "2026-11-21 root.low anna 2"},
		"?day=2026-11-22": {"2026-11-22 root.low anna 1"},
		"?queue=ROOT.low": {"2026-11-22 root.low anna 1", "2026-11-21 root.low anna 2"},
		"?queue=root.sys": nil,
		"?user=bob":       nil,
		"?sort=-victims":  {"2026-11-21 root.low anna 2", "2026-11-22 root.low anna 1"},
	} {
		var got []string
		for _, one := range answered(t, s.Handler(), "/ws/v1/partition/default/losses"+query).([]any) {
			loss := one.(jsonObject)
			got = append(got, fmt.Sprint(loss["day"], " ", loss["queueName"], " ", loss["user"], " ", loss["victims"]))
		}
		assert.DeepEqual(t, got, want)
	}
}

// TestBothPrioritiesOfAVictim: what decided is told beside what the victim has of its own.
func TestBothPrioritiesOfAVictim(t *testing.T) {
	w := newWorld(t)
	s := w.service(t)
	evictedTomorrow(t, w, s)
	plan := answered(t, s.Handler(), "/ws/v1/partition/default/preemptions?limit=1").([]any)[0].(jsonObject)
	victim := plan["victims"].([]any)[0].(jsonObject)
	assert.Equal(t, victim["priority"], "-10")
	assert.Equal(t, victim["ownPriority"], "0")
	assert.Equal(t, victim["runTime"], float64(time.Hour))
	lines := fmt.Sprint(answered(t, s.Handler(), "/ws/v1/partition/default/application/filler-app/allocation/later/explain").(jsonObject)["lines"])
	assert.Assert(t, strings.Contains(lines, "it ran at priority 0, which is -10 as the queue of the ask sees it"), lines)
	assert.Assert(t, strings.Contains(lines, "had run   for 1h0m0s when it was told to end, from 2026-11-22T07:00:00Z"), lines)
}

// evictedTomorrow has an allocation evicted, a day after the fixture began, that began an hour
// before.
func evictedTomorrow(t *testing.T, w *world, s *Service) {
	t.Helper()
	now := start.Add(24 * time.Hour)
	s.config.Archive.Book(w.Names[0]).Observe(events.Step{Now: now, Effects: api.Effects{
		&api.PreemptionPlanned{Application: "agents-app", Key: "agent-9", Queue: "root.sys.agents", Node: "node-1", Plan: w.Plan(t, "agent-9", "later")},
		&api.EvictionRequested{
			Allocation: &api.Allocation{Key: "later", Application: "filler-app", Node: "node-1", Amounts: w.Amounts(t, 1000, 1<<30, 1), Placed: now.Add(-time.Hour)},
			For:        "agent-9", Trigger: preemptor.RequiredNode,
		},
	}})
}
