package config_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/config"
	"github.com/narwhal-scheduler/narwhal/pkg/core"
	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// A sample is a configuration of docs/examples/yunikorn in effect, in a partition with one
// node of ten cores.
type sample struct {
	*core.Partition
	t     *testing.T
	kinds *resources.Kinds
	core  resources.Amounts // one core
}

func load(t *testing.T, name string) sample {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("../../docs/examples/yunikorn", name+".yaml"))
	assert.NilError(t, err)
	kinds := new(resources.Kinds)
	document, err := config.Load(string(text), kinds)
	assert.NilError(t, err)
	p := core.NewPartition(api.Options{Kinds: kinds, ReserveDelay: -1}, document.Partitions[0])
	capacity, err := kinds.Amounts(map[string]int64{"vcore": 10_000, "memory": 64 << 30})
	assert.NilError(t, err)
	p.Apply(now, api.AddNode{ID: "n1", Capacity: capacity})
	one, err := kinds.Amounts(map[string]int64{"vcore": 1000})
	assert.NilError(t, err)
	return sample{p, t, kinds, one}
}

var now = time.Unix(1_700_000_000, 0)

// submit has an application come, and is the queue that it goes to, or why it is rejected.
func (s sample) submit(application api.AddApplication) string {
	s.t.Helper()
	for _, e := range s.Apply(now, application) {
		switch e := e.(type) {
		case *api.ApplicationAccepted:
			return string(e.Queue)
		case *api.ApplicationRejected:
			return e.Reason
		}
	}
	s.t.Fatal("no answer")
	return ""
}

// run asks for so many times one core, and is the keys that are placed, in order.
func (s sample) run(application api.ApplicationID, asks ...string) string {
	for i, key := range asks {
		s.Apply(now, api.AddAllocation{Allocation: &api.Allocation{
			Key: api.AllocationKey(key), Application: application, Amounts: s.core, Created: now.Add(time.Duration(i)),
		}})
	}
	return s.schedule()
}

func (s sample) schedule() string {
	var placed []string
	for more := true; more; {
		var fx api.Effects
		fx, more = s.Schedule(now)
		for _, e := range fx {
			if e, is := e.(api.Placed); is {
				placed = append(placed, string(e.Key))
			}
		}
	}
	assert.NilError(s.t, s.Verify())
	return strings.Join(placed, " ")
}

func TestSampleOfQueues(t *testing.T) {
	s := load(t, "queues")
	assert.Equal(t, s.submit(api.AddApplication{ID: "dev", Queue: "root.development", User: "ann"}), "root.development")
	assert.Equal(t, s.submit(api.AddApplication{ID: "web", Queue: "root.production.web", User: "ann"}), "root.production.web")
	assert.Equal(t, s.run("dev", "d1", "d2", "d3"), "d1 d2", "the max of the queue")
	assert.Equal(t, s.run("web", "w1", "w2"), "w1 w2")
	assert.Assert(t, strings.Contains(s.submit(api.AddApplication{ID: "no", Queue: "root.production", User: "ann"}), "is not a leaf"))
}

func TestSampleOfPlacement(t *testing.T) {
	s := load(t, "placement")
	tags := map[string]string{"namespace": "Shop"}
	for _, c := range []struct {
		queue api.QueuePath
		user  string
		tags  map[string]string
		want  string
	}{
		{"root.fixed", "carl", tags, "root.fixed"},
		{"root.none", "ann", tags, "root.shop.ann"},
		{"", "carl", tags, "root.namespaces.shop"},
		{"", "guest1", tags, "root.others"},
		{"", "carl", nil, "root.others"},
		{"", "ann", map[string]string{"namespace": "fixed"}, "root.namespaces.fixed"}, // as root.fixed is a leaf
	} {
		id := api.ApplicationID(c.user + string(c.queue) + c.want)
		assert.Equal(t, s.submit(api.AddApplication{ID: id, Queue: c.queue, User: c.user, Tags: c.tags}), c.want)
	}
	assert.Equal(t, s.run("carlroot.namespaces.shop", "s1", "s2", "s3", "s4"), "s1 s2 s3", "the max of the template")
}

// TestSampleOfLimits: a limit ends what runs before the max of the queue does.
func TestSampleOfLimits(t *testing.T) {
	keys := []string{"1", "2", "3", "4", "5", "6", "7", "8", "9"}
	for _, c := range []struct {
		user   string
		groups []string
		each   map[string]int64 // of which there are nine asks
		want   string
		reason api.Reason
	}{
		{"carl", nil, map[string]int64{"vcore": 1000}, "1 2 3 4 5 6 7 8", api.UserLimit},
		{"nightly", nil, map[string]int64{"vcore": 1000}, "1 2 3 4 5 6", api.UserLimit},
		{"carl", []string{"data"}, map[string]int64{"memory": 2 << 30}, "1 2 3 4", api.GroupLimit},
		{"carl", []string{"others"}, map[string]int64{"memory": 2 << 30}, "1 2 3 4", api.GroupLimit},
		{"carl", nil, map[string]int64{"memory": 2 << 30}, "1 2 3 4", api.GroupLimit}, // one group too
	} {
		s := load(t, "limits")
		assert.Equal(t, s.submit(api.AddApplication{ID: "a", Queue: "root.shared", User: c.user, Groups: c.groups}), "root.shared")
		each, err := s.kinds.Amounts(c.each)
		assert.NilError(t, err)
		s.core = each
		assert.Equal(t, s.run("a", keys...), c.want, "%s %v", c.user, c.groups)
		asks := s.View().Applications[0].Asks
		assert.Equal(t, asks[0].Reason, c.reason, "%s %v", c.user, c.groups)
	}
}

// TestSampleOfGangs: placeholders run, the application starts, and a pod takes the place of one
// of them. A gang that is larger than the max of the queue is rejected.
func TestSampleOfGangs(t *testing.T) {
	s := load(t, "gangs")
	gang := api.AddApplication{ID: "g", User: "ann", Tags: map[string]string{"namespace": "gangs"}, Placeholders: s.core.Plus(s.core)}
	assert.Equal(t, s.submit(gang), "root.gangs")
	member := func(key string, placeholder bool) {
		s.Apply(now, api.AddAllocation{Allocation: &api.Allocation{
			Key: api.AllocationKey(key), Application: "g", TaskGroup: "workers", Placeholder: placeholder, Amounts: s.core, Created: now,
		}})
	}
	member("h1", true)
	member("h2", true)
	assert.Equal(t, s.schedule(), "h1 h2")
	member("worker", false)
	assert.Equal(t, s.schedule(), "", "it waits for its place")
	fx := s.Apply(now, api.ReleaseAllocation{Application: "g", Key: "h1", Termination: si.TerminationType_PLACEHOLDER_REPLACED})
	assert.Assert(t, slices.ContainsFunc(fx, func(e api.Event) bool { placed, is := e.(api.Placed); return is && placed.Key == "worker" }))
	assert.NilError(t, s.Verify())

	gang.ID, gang.Placeholders = "large", resources.Amounts{}
	for range 6 {
		gang.Placeholders.Add(s.core)
	}
	assert.Equal(t, s.submit(gang), "application large: its placeholders want more than the max of queue root.gangs")
}

func TestSampleOfAccess(t *testing.T) {
	s := load(t, "access")
	for i, c := range []struct {
		queue       api.QueuePath
		user, group string
		may         bool
	}{
		{"root.public", "eve", "", true},
		{"root.team.jobs", "ann", "", true},
		{"root.team.jobs", "eve", "developers", true},
		{"root.team.notebooks", "eve", "leads", true},
		{"root.team.jobs", "eve", "guests", false},
		{"root.service", "system:serviceaccount/prod:web", "", true},
		{"root.service", "ann", "", false},
		{"root.closed", "ann", "", false},
		{"root.closed", "root", "", true},
	} {
		got := s.submit(api.AddApplication{ID: api.ApplicationID(rune('a' + i)), Queue: c.queue, User: c.user, Groups: []string{c.group}})
		want := "user " + c.user + " may not submit to queue " + string(c.queue)
		if c.may {
			want = string(c.queue)
		}
		assert.Assert(t, strings.HasSuffix(got, want), got)
	}
}
