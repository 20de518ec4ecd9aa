package main

import (
	"bytes"
	"io"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"
)

var clock = regexp.MustCompile(`\d\d-\d\d \d\d:\d\d:\d\d`)

// TestChanges shows a configuration with each field that it changed. Times are those of the place.
func TestChanges(t *testing.T) {
	address, asked := running(t)
	var out bytes.Buffer
	assert.Equal(t, run([]string{"changes", "--from", "2h", "--kind", "nodes", "--server", address}, nil, &out, io.Discard), exitDone)
	assert.Equal(t, clock.ReplaceAllString(out.String(), "MM-DD hh:mm:ss"), strings.TrimPrefix(`
TIME             WHAT            CHANGE
MM-DD hh:mm:ss   preemptions     1 plan by required node for root.sys.agents: 1 pod told to end
MM-DD hh:mm:ss   preemptions     1 plan by required node for root.sys.agents: 1 pod told to end
MM-DD hh:mm:ss   nodes           1 node takes pods again: node-1
MM-DD hh:mm:ss   nodes           2 nodes take no new pods: node-2, node-1
MM-DD hh:mm:ss   configuration   configuration 3F2A0000 -> 91BC0000: 1 field
                                   root.low: resources.max.vcore: 3 -> 4
MM-DD hh:mm:ss   nodes           1 node came: node-1
MM-DD hh:mm:ss   configuration   configuration 3F2A0000 is in use
MM-DD hh:mm:ss   start           the scheduler began with this partition
`, "\n"))
	assert.Equal(t, asked()[0], "/ws/v1/partitions") // for the clock
	assert.Assert(t, strings.HasPrefix(asked()[1], "/ws/v1/partition/default/changes?from=1"), asked())
	assert.Assert(t, strings.HasSuffix(asked()[1], "&kind=nodes&limit=50"), asked())
	where := url.Values{}
	assert.NilError(t, between(where, "14:03", "1h", time.Date(2026, 1, 31, 15, 30, 0, 0, time.UTC)))
	assert.Equal(t, where.Encode(), "from=1769868180000000000&to=1769869800000000000")
}
