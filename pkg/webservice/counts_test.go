package webservice

import (
	"encoding/json"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
)

// countsOf is what the head of an answer counts.
func countsOf(t *testing.T, h http.Handler, target string) (counts map[string]int) {
	t.Helper()
	w := ask(h, http.MethodGet, "/ws/v1/partition/default/"+target)
	assert.Equal(t, w.Code, http.StatusOK, w.Body)
	assert.NilError(t, json.Unmarshal([]byte(w.Header().Get("X-Counts")), &counts))
	return counts
}

// TestCountsOfAsks: the counts by reason are those that one counts in the whole list, with
// each filter, whatever the page is and whatever reason is chosen.
func TestCountsOfAsks(t *testing.T) {
	h := waiting(t, 9, 7, rand.New(rand.NewPCG(5, 1))).service(t).Handler()
	for _, filters := range []string{"", "&queue=root.q1", "&user=user-2", "&node=node-1", "&priority=3", "&class=opted+out&user=user-1", "&application=nobody"} {
		want := map[string]int{}
		all, _ := readAsks(t, h, filters)
		for _, one := range all {
			want[one.Why]++
		}
		for _, chosen := range []string{"", "&limit=1", "&offset=5&limit=2&sort=-requestTime", "&why=queue+quota*"} {
			assert.DeepEqual(t, countsOf(t, h, "asks?count=why"+chosen+filters), want)
		}
	}
	assert.Equal(t, ask(h, http.MethodGet, "/ws/v1/partition/default/asks").Header().Get("X-Counts"), "")
}

// TestCountsOfPreemptions: so are those of plans by trigger.
func TestCountsOfPreemptions(t *testing.T) {
	h := newWorld(t).service(t).Handler()
	var plans []struct{ Trigger string }
	for _, filters := range []string{"", "&user=root", "&user=nobody", "&class=regular", "&node=node-1"} {
		w := ask(h, http.MethodGet, "/ws/v1/partition/default/preemptions?fields=trigger"+filters)
		assert.NilError(t, json.Unmarshal(w.Body.Bytes(), &plans))
		want := map[string]int{}
		for _, one := range plans {
			want[one.Trigger]++
		}
		assert.Assert(t, len(want) > 0 || filters == "&user=nobody" || filters == "&user=root", filters)
		for _, chosen := range []string{"", "&limit=1&offset=1", "&trigger=quota"} {
			assert.DeepEqual(t, countsOf(t, h, "preemptions?count=trigger"+chosen+filters), want)
		}
	}
}

// TestCountsChangeTheTag: a page that stays as it is has another tag when the counts change, as
// a client that has the page does not read the head of what it has already.
func TestCountsChangeTheTag(t *testing.T) {
	tag := func(asks int, query string) string {
		w := waiting(t, 2, 4, rand.New(rand.NewPCG(5, 1)))
		last := w.Views["default"].Applications[1]
		last.Asks = last.Asks[:asks]
		return ask(w.service(t).Handler(), http.MethodGet, "/ws/v1/partition/default/asks?application=app*&limit=1"+query).Header().Get("ETag")
	}
	assert.Equal(t, tag(4, ""), tag(3, ""))
	assert.Equal(t, tag(4, "&count=why"), tag(4, "&count=why"))
	assert.Assert(t, tag(4, "&count=why") != tag(3, "&count=why"))
}

// TestCountsOfOtherWords: only what has few words is counted.
func TestCountsOfOtherWords(t *testing.T) {
	h := newWorld(t).service(t).Handler()
	for target, message := range map[string]string{
		"asks?count=user":             `Parameter count is "user": one of why is needed`,
		"asks?count=":                 `Parameter count is empty`,
		"preemptions?count=why":       `Parameter count is "why": one of trigger is needed`,
		"preemptions?count=a&count=b": `Parameter count is given 2 times`,
	} {
		var said struct{ Message string }
		w := ask(h, http.MethodGet, "/ws/v1/partition/default/"+target)
		assert.Equal(t, w.Code, http.StatusBadRequest)
		assert.NilError(t, json.Unmarshal(w.Body.Bytes(), &said))
		assert.Equal(t, said.Message, message)
	}
}

// TestWordsThatDoNotExist: a word that no element of a list can have is an error, which names
// those that there are.
func TestWordsThatDoNotExist(t *testing.T) {
	h := newWorld(t).service(t).Handler()
	for target, words := range map[string]string{
		"preemptions?trigger=quotas": "one of required node, priority, guarantee, quota is needed",
		"victims?trigger=quotas":     "one of required node, priority, guarantee, quota is needed",
		"groups?state=sleeps":        "one of waits, runs, is below its minimum is needed",
		"asks?why=bad+luck":          "queue quota exceeded, no node has room",
	} {
		w := ask(h, http.MethodGet, "/ws/v1/partition/default/"+target)
		assert.Equal(t, w.Code, http.StatusBadRequest, target)
		assert.Assert(t, strings.Contains(w.Body.String(), words), "%s: %s", target, w.Body)
	}
}
