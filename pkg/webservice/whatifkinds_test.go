package webservice

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core"
	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
	"github.com/narwhal-scheduler/narwhal/pkg/webservice/internal/fixture"
)

// TestWhatIfOfNewKinds: an ask waits for a kind that no node has. The doctor calls it by its name, and the node that is said to help can
// be asked about. So can queues with such a kind. Nothing of that becomes known to the scheduler.
func TestWhatIfOfNewKinds(t *testing.T) {
	w := &world{fixture.Crowded(t)}
	partition := core.Restore(api.Options{Kinds: w.Kinds, Partition: "[mycluster]default"}, start, w.Views["[mycluster]default"])
	unknown, err := w.Kinds.Intern(resources.UnknownKind)
	assert.NilError(t, err)
	wants := &api.Allocation{Key: "devices", Application: "agents-app", Unknown: map[string]int64{"tpu": 2}, Created: start}
	wants.Amounts.Set(unknown, 2)
	partition.Apply(start, api.AddAllocation{Allocation: wants})
	partition.Schedule(start)
	w.Views["[mycluster]default"] = partition.View()
	s := w.service(t)

	said := ask(s.Handler(), http.MethodGet, "/ws/v1/partition/default/doctor").Body.String()
	assert.Assert(t, strings.Contains(said, "a node is added with tpu=2 free") && !strings.Contains(said, "(unknown)"), said)
	said = ask(s.Handler(), http.MethodGet, "/ws/v1/partition/default/application/agents-app/allocation/devices/explain").Body.String()
	assert.Assert(t, strings.Contains(said, "a node is added with tpu=2 free") && !strings.Contains(said, "(unknown)"), said)

	said = post(s.Handler(), whatIfPath, `{"nodes": {"add": [{"nodeId": "g", "capacity": {"tpu": 2}}]}}`).Body.String()
	assert.Assert(t, strings.Contains(said, `{"allocationKey":"devices","nodeId":"g"`), said)
	said = post(s.Handler(), whatIfPath, `{"config": "partitions: [{name: default, queues: [{name: root, queues: [{name: low, resources: {max: {npu: 1}}}]}]}]"}`).Body.String()
	assert.Assert(t, strings.Contains(said, `"victims"`), said)
	for _, name := range []string{"tpu", "npu"} {
		_, known := w.Kinds.Lookup(name)
		assert.Assert(t, !known, name)
	}
}

// A question makes no more kinds known than 64, by its nodes and by its configuration each, so that it is no way to fill the memory.
func TestWhatIfOfManyNewKinds(t *testing.T) {
	s := newWorld(t).service(t)
	for count, status := range map[int]int{64: http.StatusOK, 65: http.StatusBadRequest, 200: http.StatusBadRequest} {
		var kinds []string
		for i := range count {
			kinds = append(kinds, fmt.Sprintf("made-up-%d", i))
		}
		node := `{"nodes": {"add": [{"nodeId": "g", "capacity": {"` + strings.Join(kinds, `": 1, "`) + `": 1}}]}}`
		config := `{"config": "partitions: [{name: default, queues: [{name: root, queues: [{name: low, resources: {max: {` +
			strings.Join(kinds, ": 1, ") + `: 1}}}]}]}]"}`
		for _, question := range []string{node, config} {
			reply := post(s.Handler(), whatIfPath, question)
			assert.Equal(t, reply.Code, status, "%d: %s", count, reply.Body)
			assert.Equal(t, strings.Contains(reply.Body.String(), "a question makes at most 64 kinds known"), status != http.StatusOK, reply.Body.String())
		}
	}
}
