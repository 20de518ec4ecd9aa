package webservice

import (
	"encoding/json"
	"fmt"
	"net/http"
	"testing"
	"time"

	"gotest.tools/v3/assert"
)

// TestUseHistory reads the points of the fixture: one a minute after the start, and two that
// are in the same minute.
func TestUseHistory(t *testing.T) {
	type point struct {
		Capacity, PendingBy     map[string]int64
		Placements, Preemptions int64
	}
	handler := newWorld(t).service(t).Handler()
	read := func(query string) (out []point) {
		w := ask(handler, "GET", "/ws/v1/partition/default/history"+query)
		assert.Equal(t, w.Code, http.StatusOK, query)
		assert.NilError(t, json.Unmarshal(w.Body.Bytes(), &out))
		return out
	}
	all := read("")
	assert.Equal(t, len(all), 3)
	assert.Assert(t, len(all[0].Capacity) > 0 && len(all[0].PendingBy) > 0)
	assert.Equal(t, all[0].Placements+all[1].Placements, int64(1))
	merged := read("?step=60000000000")
	assert.Equal(t, len(merged), 2)
	assert.Equal(t, merged[1].Placements, all[1].Placements+all[2].Placements)
	assert.Equal(t, merged[1].Preemptions, int64(1))
	since := read(fmt.Sprint("?since=", start.Add(3*time.Minute).UnixNano()))
	assert.Equal(t, len(since), 2)
	of := read("?queue=ROOT.sys")
	assert.Equal(t, len(of), 3)
	assert.Equal(t, len(of[0].Capacity), 0)
	assert.Equal(t, len(read("?queue=root.none")), 0)
	for _, query := range []string{"?step=0", "?step=1s", "?since=-1", "?queue=", "?fields=none"} {
		assert.Equal(t, ask(handler, "GET", "/ws/v1/partition/default/history"+query).Code, http.StatusBadRequest, query)
	}
	assert.Equal(t, ask(handler, "GET", "/ws/v1/partition/none/history").Code, http.StatusNotFound)
}
