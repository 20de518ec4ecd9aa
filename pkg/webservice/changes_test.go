package webservice

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"
)

// TestChanges picks from the changes of the fixture by kind and time. The end of a span is not within, and
// what lasts is found by any moment of it.
func TestChanges(t *testing.T) {
	handler := newWorld(t).service(t).Handler()
	read := func(query string) string {
		var all []struct{ Kind, Summary string }
		w := ask(handler, "GET", "/ws/v1/partition/default/changes?"+query)
		assert.Equal(t, w.Code, http.StatusOK, "%s: %s", query, w.Body)
		assert.NilError(t, json.Unmarshal(w.Body.Bytes(), &all))
		var texts []string
		for _, one := range all {
			texts = append(texts, one.Kind+": "+one.Summary)
		}
		return strings.Join(texts, "\n")
	}
	at := func(after time.Duration) string { return start.Add(after).UTC().Format(time.RFC3339Nano) }
	minute := fmt.Sprintf("from=%s&to=%s", at(time.Minute), at(2*time.Minute))
	assert.Equal(t, read(minute), "nodes: 2 nodes take no new pods: node-2, node-1\nconfiguration: configuration 3F2A0000 -> 91BC0000: 1 field")
	assert.Equal(t, read("kind=configuration&to="+at(time.Minute)), "configuration: configuration 3F2A0000 is in use")
	assert.Equal(t, read(fmt.Sprintf("kind=preemptions&from=%d", start.Add(time.Hour).UnixNano())),
		"preemptions: 1 plan by required node for root.sys.agents: 1 pod told to end")
	assert.Equal(t, len(strings.Split(read("kind=start,configuration"), "\n")), 3)
	w := ask(handler, "GET", "/ws/v1/partition/default/changes?kind=start,none")
	assert.Equal(t, w.Code, http.StatusBadRequest)
	assert.Assert(t, strings.Contains(w.Body.String(), "one of start, configuration, nodes, preemptions is needed"), "%s", w.Body)
}

// TestTimes asks all that is over time for a span of it. Times that are none are told so.
func TestTimes(t *testing.T) {
	handler := newWorld(t).service(t).Handler()
	for _, path := range []string{"/ws/v1/partition/default/changes", "/ws/v1/partition/default/history", "/ws/v1/partition/default/preemptions", "/ws/v1/events/batch"} {
		for query, want := range map[string]string{
			"from=14:03": `Parameter from is \"14:03\": nanoseconds since 1970 are needed, or a time such as 2026-01-31T14:03:00Z`,
			"to=-1":      `Parameter to is \"-1\"`,
			"from=2026-11-21T09:00:00Z&to=2026-11-21T08:00:00Z": "Parameter to is 2026-11-21T08:00:00Z, which is not after from, 2026-11-21T09:00:00Z",
			"from=": "Parameter from is empty",
		} {
			w := ask(handler, "GET", path+"?"+query)
			assert.Equal(t, w.Code, http.StatusBadRequest, path+query)
			assert.Assert(t, strings.Contains(w.Body.String(), want), "%s", w.Body)
		}
	}
}

// TestEventsOfATime: of four records that became three events, those that were said within a span, from
// the one with the ID on that is asked for.
func TestEventsOfATime(t *testing.T) {
	handler := newWorld(t).service(t).Handler()
	objects := func(query string) (out []string) {
		var page struct {
			EventRecords []struct{ ObjectID string }
		}
		w := ask(handler, "GET", "/ws/v1/events/batch?"+query)
		assert.Equal(t, w.Code, http.StatusOK, "%s", w.Body)
		assert.NilError(t, json.Unmarshal(w.Body.Bytes(), &page))
		for _, one := range page.EventRecords {
			out = append(out, one.ObjectID)
		}
		return out
	}
	n := start.UnixNano()
	assert.DeepEqual(t, objects(fmt.Sprintf("from=%d", n+1)), []string{"filler-app", "agent-1"})
	assert.DeepEqual(t, objects(fmt.Sprintf("from=%d", n+3)), []string{"agent-1"}) // it was said again then
	assert.DeepEqual(t, objects(fmt.Sprintf("to=%d", n+2)), []string{"node-1", "filler-app"})
	assert.DeepEqual(t, objects(fmt.Sprintf("to=%d&start=1&count=1", n+2)), []string{"filler-app"})
	assert.Equal(t, len(objects(fmt.Sprintf("from=%d", n+4))), 0)
}
