package webservice

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core"
	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
	"github.com/narwhal-scheduler/narwhal/pkg/webservice/internal/fixture"
)

// TestGangsAreShown: an allocation says whether it keeps a place or took one, and its
// application how many placeholders there were and what became of them, and what it holds with them and without.
func TestGangsAreShown(t *testing.T) {
	kinds, now := new(resources.Kinds), start
	vcore, err := kinds.Amounts(map[string]int64{"vcore": 1000})
	assert.NilError(t, err)
	p := core.NewPartition(api.Options{Kinds: kinds}, api.Config{Name: "default", Root: api.QueueConfig{
		Name: "root", Parent: true, Queues: []api.QueueConfig{{Name: "a"}},
	}})
	add := func(key api.AllocationKey, group string, placeholder bool) {
		p.Apply(now, api.AddAllocation{Allocation: &api.Allocation{
			Key: key, Application: "gang", Amounts: vcore.Clone(), TaskGroup: group, Placeholder: placeholder, Created: now,
		}})
		p.Schedule(now)
	}
	p.Apply(now, api.AddNode{ID: "node", Capacity: resources.Amounts{4000}})
	p.Apply(now, api.AddApplication{ID: "gang", Queue: "root.a", Placeholders: resources.Amounts{2000}})
	for _, key := range []api.AllocationKey{"holder-1", "holder-2"} {
		add(key, "workers", true)
	}
	add("worker", "workers", false)
	add("driver", "", false)
	p.Apply(now, api.ReleaseAllocation{Application: "gang", Key: "holder-1", Termination: si.TerminationType_PLACEHOLDER_REPLACED})

	s, err := New(Config{Views: &fixture.World{Kinds: kinds, Names: []string{"default"}, Views: map[string]*api.View{"default": p.View()}}, Kinds: kinds})
	assert.NilError(t, err)
	w := ask(s.Handler(), http.MethodGet, "/ws/v1/partition/default/application/gang")
	assert.Equal(t, w.Code, http.StatusOK, w.Body)
	var shown struct {
		UsedResource, HeldResource map[string]int64
		Allocations                []struct {
			AllocationKey, TaskGroupName string
			Placeholder, PlaceholderUsed bool
		}
		PlaceholderData []struct {
			TaskGroupName             string
			Count, Replaced, TimedOut int
		}
	}
	assert.NilError(t, json.Unmarshal(w.Body.Bytes(), &shown))
	got := map[string][2]bool{}
	for _, a := range shown.Allocations {
		got[a.AllocationKey] = [2]bool{a.Placeholder, a.PlaceholderUsed}
	}
	assert.DeepEqual(t, got, map[string][2]bool{"holder-2": {true, false}, "worker": {false, true}, "driver": {false, false}})
	assert.DeepEqual(t, []int64{shown.UsedResource["vcore"], shown.HeldResource["vcore"]}, []int64{2000, 3000})
	assert.Equal(t, len(shown.PlaceholderData), 1)
	group := shown.PlaceholderData[0]
	assert.Equal(t, group.TaskGroupName, "workers")
	assert.DeepEqual(t, []int{group.Count, group.Replaced, group.TimedOut}, []int{2, 1, 0})
}
