package core_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
)

// Refusals that name the node each, and are long, are kept as the most frequent few and a
// count: an ask on 1,000 nodes holds little memory.
// A reason that comes after many others is found too.
func TestRefusalTextsAreBounded(t *testing.T) {
	const asks, nodes = 200, 1000
	c := newManyAsks(t, api.Options{}, func(key api.AllocationKey, node api.NodeID, _ bool) error {
		if strings.HasSuffix(string(node), "7") && node > "n1" {
			return fmt.Errorf("a taint of the zone")
		}
		return fmt.Errorf("node %s has a taint: %s", node, strings.Repeat("t", 700))
	})
	for i := range nodes {
		c.node(api.NodeID(fmt.Sprintf("n%03d", i)), 1000)
	}
	before := heapInUse()
	for i := range asks {
		c.ask(api.AllocationKey(fmt.Sprint("a", i)), 100)
	}
	for range 3 * asks {
		_, more := c.Schedule(c.now)
		if at, ok := c.Due(); !more && ok {
			c.now = at
		}
		if c.questions >= asks*nodes {
			break
		}
	}
	c.settle(time.Second)
	perAsk := (heapInUse() - before) / asks
	t.Logf("%d bytes for each ask", perAsk)
	assert.Assert(t, perAsk < 4<<10, "%d bytes", perAsk)
	why := c.View().Applications[0].Asks[0].Detail
	assert.Assert(t, len(why) < 1<<10, "%d bytes", len(why))
	assert.Assert(t, strings.HasPrefix(why, "a taint of the zone (90 nodes); "), why)
	assert.Assert(t, strings.HasSuffix(why, "other reasons (908 nodes)"), why)
	runtime.KeepAlive(c)
}

func heapInUse() int64 {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}
