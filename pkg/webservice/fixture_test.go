package webservice

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/config"
	"github.com/narwhal-scheduler/narwhal/pkg/core"
	"github.com/narwhal-scheduler/narwhal/pkg/core/preemptor"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// start is when everything in the fixture begins.
var start = time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC)

const configText = `
partitions:
  - name: default
    nodesortpolicy: {type: fair, resourceweights: {memory: 1, vcore: 0.25}}
    preemption: {preemption_start_delay: 10s, preemption_priority: equal}
    placementrules:
      - name: provided
        create: true
      - name: tag
        value: namespace
        filter: {type: deny, users: [anna, bob]}
        parent: {name: fixed, value: root.sys}
    limits:
      - {limit: all, users: ["*"], maxresources: {vcore: 1500m}}
    queues:
      - name: root
        queues:
          - name: low
            properties: {preemption.delay: 5s}
            resources: {guaranteed: {vcore: 1}, max: {vcore: 4, memory: 0}}
          - name: sys
            parent: true
            childtemplate: {maxapplications: 3, resources: {max: {vcore: 500m}}}
            queues:
              - name: agents
                maxapplications: 7
`

// world is what a service of the tests is made of.
type world struct {
	kinds *resources.Kinds
	views map[string]*core.View
	names []string
	fail  error
	age   time.Duration // of snapshots
	hangs string        // the partition that does not answer
}

func (w *world) Partitions() []string { return w.names }

func (w *world) View(ctx context.Context, name string) (*core.View, error) {
	if name == w.hangs {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	if v := w.views[name]; v != nil && w.fail == nil {
		return v, nil
	}
	return nil, errors.Join(w.fail, errors.New("no such partition"))
}

func (w *world) Snapshot(ctx context.Context, name string) (Snapshot, error) {
	if name == w.hangs && w.views[name] == nil {
		<-ctx.Done()
		return Snapshot{}, ctx.Err()
	}
	if name == w.hangs {
		return Snapshot{View: w.views[name], Age: w.age}, nil
	}
	view, err := w.View(ctx, name)
	return Snapshot{View: view, Age: w.age}, err
}

func (w *world) Unanswered(name string) time.Duration {
	if name == w.hangs {
		return w.age
	}
	return 0
}

// jsonObject is an object of JSON.
type jsonObject = map[string]any

// written is a configuration that is there.
type written struct{ document *config.Document }

func (c written) Document() *config.Document { return c.document }
func (c written) Extra() map[string]string   { return map[string]string{"log.level": "INFO"} }

func (c written) Validate(text string) error {
	_, err := config.Load(text, new(resources.Kinds))
	return err
}

// amounts are vcore, memory, pods.
func (w *world) amounts(t testing.TB, vcore, memory, pods int64) resources.Amounts {
	t.Helper()
	a, err := w.kinds.Amounts(map[string]int64{"vcore": vcore, "memory": memory, "pods": pods})
	assert.NilError(t, err)
	return a
}

// newWorld is the partition that the golden files show: two nodes, of which one
// is full, and an agent that waits there until a filler has gone.
func newWorld(t testing.TB) *world {
	t.Helper()
	w := &world{kinds: new(resources.Kinds), names: []string{"[mycluster]default"}, views: map[string]*core.View{}}
	_ = w.amounts(t, 1, 1, 1)
	filler := func(key string, node core.NodeID, after time.Duration) *core.Allocation {
		return &core.Allocation{
			Key: core.AllocationKey(key), Application: "filler-app", Node: node, Amounts: w.amounts(t, 1000, 1<<30, 1), Priority: -10,
			Created: start.Add(time.Minute), Placed: start.Add(time.Minute + after), Originator: key == "filler-1",
			Tags: map[string]string{"kubernetes.io/meta/namespace": "default", "kubernetes.io/meta/podName": key},
		}
	}
	fillers := []*core.Allocation{filler("filler-1", "node-1", 1500*time.Millisecond), filler("filler-2", "node-1", 0), filler("filler-3", "node-2", time.Second)}
	fillers[2].Required = "node-2"
	proxy := &core.Allocation{
		Key: "proxy", Node: "node-1", Amounts: w.amounts(t, 500, 512<<20, 1), Created: start, Placed: start.Add(time.Second),
		Origin: core.Foreign, Tags: map[string]string{"foreign": "default"},
	}
	kubelet := &core.Allocation{Key: "kubelet", Node: "node-1", Amounts: w.amounts(t, 0, 256<<20, 1), Created: start, Origin: core.Static}
	view := &core.View{
		Name: "default", Partition: "[mycluster]default",
		Capacity: w.amounts(t, 6500, 8<<30, 220), Used: w.amounts(t, 3000, 3<<30, 3), Occupied: w.amounts(t, 500, 768<<20, 2),
		Root: w.root(t),
		Nodes: []*core.NodeView{
			{
				ID: "node-1", Attributes: map[string]string{"si.io/hostname": "host-1", "si.io/rackname": "/rack-1", "zone": `a"<b>`}, Schedulable: true,
				Capacity: w.amounts(t, 2500, 4<<30, 110), Allocated: w.amounts(t, 2000, 2<<30, 2),
				Occupied: w.amounts(t, 500, 768<<20, 2), Available: w.amounts(t, 0, 1280<<20, 106),
				Allocations: fillers[:2], ForeignAllocations: []*core.Allocation{kubelet, proxy},
				Reservations: []core.Reservation{{Node: "node-1", Key: "agent-1", At: start, Required: true}},
				Evictions:    []core.Eviction{{Key: "filler-2", For: "agent-1", Since: start.Add(time.Hour), Trigger: preemptor.RequiredNode}},
				Nominated:    []core.AllocationKey{"agent-1"}, NominatedAmounts: w.amounts(t, 500, 1<<29, 1),
			},
			{
				ID: "node-2", Capacity: w.amounts(t, 4000, 4<<30, 110), Allocated: w.amounts(t, 1000, 1<<30, 1),
				Available: w.amounts(t, 3000, 3<<30, 109), Allocations: fillers[2:],
			},
		},
		Applications: w.applications(t, fillers),
		Preempted:    core.Preempted{Plans: 2, Victims: core.VictimCount{{1}}},
	}
	w.views[w.names[0]] = view
	return w
}

func (w *world) root(t testing.TB) *core.QueueView {
	limits, err := w.kinds.Limits(map[string]int64{"vcore": 4000, "memory": 0})
	assert.NilError(t, err)
	properties := core.QueueProperties{PreemptionDelay: 30 * time.Second}
	low := properties
	low.PreemptionDelay, low.PriorityOffset, low.Texts = 5*time.Second, 3, map[string]string{"preemption.delay": "5s"}
	return &core.QueueView{
		Path: "root", Used: w.amounts(t, 3000, 3<<30, 3), Pending: w.amounts(t, 500, 1<<29, 1), Priority: 100, Properties: properties,
		Queues: []*core.QueueView{
			{
				Path: "root.low", Leaf: true, Draining: true, Max: limits, Guaranteed: w.amounts(t, 1000, 0, 0),
				Used: w.amounts(t, 3000, 3<<30, 3), Releasing: w.amounts(t, 1000, 1<<30, 1), Priority: core.PriorityNone,
				OverMaxSince: start.Add(time.Hour), Properties: low, Applications: 1,
			},
			{
				Path: "root.sys", Pending: w.amounts(t, 500, 1<<29, 1), Priority: 100, Properties: properties,
				Queues: []*core.QueueView{{
					Path: "root.sys.agents", Leaf: true, Pending: w.amounts(t, 500, 1<<29, 1), Nominated: w.amounts(t, 500, 1<<29, 1),
					Priority: 100, Properties: properties, Applications: 2,
				}},
			},
		},
	}
}

func (w *world) applications(t testing.TB, fillers []*core.Allocation) []*core.ApplicationView {
	agent := &core.Allocation{
		Key: "agent-1", Application: "agents-app", Amounts: w.amounts(t, 500, 1<<29, 1), Priority: 100, Required: "node-1",
		Created: start.Add(time.Hour), Tags: map[string]string{"kubernetes.io/meta/podName": "agent-1"},
	}
	plan := w.plan(t, "agent-1", "filler-2")
	return []*core.ApplicationView{
		{
			ID: "agents-app", Queue: "root.sys.agents", User: "root", State: core.Accepted, Since: start.Add(time.Hour), Submitted: start,
			Pending: agent.Amounts,
			Asks: []core.AskView{{
				Allocation: agent,
				Waiting: &core.Waiting{
					Reason: core.RoomIsMade, Detail: "node-1", Reserved: "node-1", Nominated: "node-1", Plan: plan, Planned: start.Add(time.Hour),
					Attempts: []core.PreemptionAttempt{{At: start.Add(time.Hour), Trigger: preemptor.Priority, Nodes: 2, Closed: 1, TooSmall: 1}},
				},
			}},
		},
		{
			ID: "done-app", Queue: "root.sys.agents", User: "anna", State: core.Completed, Since: start.Add(time.Hour), Submitted: start,
		},
		{
			ID: "filler-app", Queue: "root.low", User: "anna", Groups: []string{"staff", "web"}, Tags: map[string]string{"namespace": "default"},
			State: core.Running, Since: start.Add(time.Minute), Submitted: start, Used: w.amounts(t, 3000, 3<<30, 3), Allocations: fillers,
		},
	}
}

// plan has an allocation go for an agent.
func (w *world) plan(t testing.TB, agent, victim string) *preemptor.Decision {
	d := preemptor.Plan(start.Add(2*time.Hour), preemptor.DefaultConfig(),
		preemptor.Ask{Key: agent, Amounts: w.amounts(t, 500, 1<<29, 1), Priority: 100, Reserved: start.Add(time.Hour)},
		preemptor.Node{Kinds: w.kinds, Free: w.amounts(t, 0, 1280<<20, 106), On: []preemptor.Candidate{
			{Key: victim, Amounts: w.amounts(t, 1000, 1<<30, 1), Priority: -10, Created: start},
		}})
	return &d
}

// service is a service over a world, with everything it can be given.
func (w *world) service(t testing.TB) *Service {
	t.Helper()
	document, err := config.Load(configText, w.kinds)
	assert.NilError(t, err)
	s, err := New(Config{
		Views: w, Kinds: w.kinds, Configuration: written{document}, Archive: w.past(t), Events: happened(t),
		Started: start, Now: func() time.Time { return start.Add(3 * time.Hour) },
		Build:    func(string) map[string]string { return map[string]string{"buildVersion": "v1"} },
		LogLevel: func() string { return "INFO" },
		Metrics:  http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.Write([]byte("up 1\n")) }),
	})
	assert.NilError(t, err)
	return s
}

// ask sends a request; headers come in pairs.
func ask(h http.Handler, method, target string, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, target, nil)
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}
