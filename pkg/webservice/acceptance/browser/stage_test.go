package browser

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	siapi "github.com/apache/yunikorn-scheduler-interface/lib/go/api"
	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/archive"
	"github.com/narwhal-scheduler/narwhal/pkg/config"
	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/events"
	"github.com/narwhal-scheduler/narwhal/pkg/metrics"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
	"github.com/narwhal-scheduler/narwhal/pkg/scheduler"
	"github.com/narwhal-scheduler/narwhal/pkg/simulator"
	"github.com/narwhal-scheduler/narwhal/pkg/simulator/live"
	"github.com/narwhal-scheduler/narwhal/pkg/webservice"
)

// began is when every stage does: the start of the scheduler.
var began = time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC)

// partition is the one that there is on every stage.
const partition = "[" + live.ID + "]default"

// A stage is a cluster at one moment, which is what a service needs to show it. It
// does not move, but for what a test does to it.
type stage struct {
	now      time.Time
	kinds    *resources.Kinds
	document *config.Document
	history  *events.History
	archive  *archive.Archive
	metrics  *metrics.Metrics
	view     atomic.Pointer[api.View]
	other    *api.View     // of a second partition, if there is one
	age      time.Duration // of the view, as if the partition were busy
	feasible feasible      // what the resource manager says of pods and nodes; nil if it is not asked
}

// A feasible is how the resource manager is asked.
type feasible func(ctx context.Context, partition string, ask api.AllocationKey, node api.NodeID) (refused, err error)

// clock is the moment of the stage, always.
func (s *stage) clock() time.Time { return s.now }

func (s *stage) Partitions() []string {
	if s.other != nil {
		return []string{partition, s.other.Partition}
	}
	return []string{partition}
}

func (s *stage) View(_ context.Context, name string) (*api.View, error) {
	if s.other != nil && s.other.Partition == name {
		return s.other, nil
	}
	return s.view.Load(), nil
}

func (s *stage) Snapshot(ctx context.Context, name string) (webservice.Snapshot, error) {
	view, err := s.View(ctx, name)
	return webservice.Snapshot{View: view, Age: s.age}, err
}

func (s *stage) Unanswered(string) time.Duration { return 0 }

func (s *stage) Document() *config.Document { return s.document }

func (s *stage) Extra() map[string]string { return nil }

func (s *stage) Validate(text string) error {
	_, err := config.Load(text, nil)
	return err
}

// apart is the same stage again, for a test that changes it.
func (s *stage) apart() *stage {
	out := &stage{now: s.now, kinds: s.kinds, document: s.document, history: s.history, archive: s.archive, metrics: s.metrics, feasible: s.feasible}
	out.view.Store(s.view.Load())
	return out
}

// change makes a node of the stage another, from the next view on.
func (s *stage) change(t *testing.T, id api.NodeID, how func(*api.NodeView)) {
	t.Helper()
	after := *s.view.Load()
	after.Nodes = slices.Clone(after.Nodes)
	i := slices.IndexFunc(after.Nodes, func(n *api.NodeView) bool { return n.ID == id })
	assert.Assert(t, i >= 0, "%s is there", id)
	node := *after.Nodes[i]
	how(&node)
	after.Nodes[i] = &node
	s.view.Store(&after)
}

// A play is an example and the moment at which it is stopped: the first second
// after a time of which something can be said.
type play struct {
	example string // of the simulator, or a file of testdata
	after   time.Duration
	drained []string // by the operator, just before
	until   func(*api.View) bool
	asked   bool // what the resource manager says of all pods that wait then is kept

	once  sync.Once
	stage *stage // nil if the play failed

	served sync.Once
	shared *site
}

// drainedNode is one of the nodes of k8s.
const drainedNode = "ip-10-0-112-34.eu-central-1.compute.internal-03"

// The stages that are played, each when it is needed first.
var (
	teams = &play{
		example: "teams", after: 53 * time.Minute,
		drained: []string{"general-017", "general-018", "a100-03"},
		until:   func(v *api.View) bool { return evictions(v) >= 8 && nominated(v) >= 8 },
	}
	fairness = &play{
		example: "fairness", after: 83 * time.Minute,
		until: func(v *api.View) bool { return evictions(v) >= 4 },
	}
	// k8s has the kinds that a Kubernetes shim reports, and long names of nodes.
	k8s = &play{
		example: "k8s.yaml", after: 10 * time.Minute, drained: []string{drainedNode},
		until: func(v *api.View) bool { return true },
	}
	// k8sEvicting is the same while room is being made.
	k8sEvicting = &play{
		example: "k8s.yaml", after: 50 * time.Second,
		until: func(v *api.View) bool { return evictions(v) > 0 && nominated(v) > 0 },
	}
	// big has 60 teams with guarantees on queues that are no leaves.
	big = &play{
		example: "big.yaml", after: 5 * time.Minute,
		until: func(v *api.View) bool { return true },
	}
	// limits has users and groups with limits.
	limits = &play{
		example: "limits.yaml", after: 5 * time.Minute,
		until: func(v *api.View) bool { return true },
	}
)

// on is the stage.
func (p *play) on(t *testing.T) *stage {
	t.Helper()
	theBrowser(t) // without one it is not looked at
	p.once.Do(func() { synctest.Test(t, p.perform) })
	assert.Assert(t, p.stage != nil, "%s was not played", p.example)
	return p.stage
}

// site is the stage behind a web server that stays until the tests end, for those that change
// neither of them.
func (p *play) site(t *testing.T) *site {
	t.Helper()
	s := p.on(t)
	p.served.Do(func() { p.shared, _ = s.start(t) })
	return p.shared
}

// text is the scenario of the play.
func (p *play) text() (string, error) {
	if strings.HasSuffix(p.example, ".yaml") {
		text, err := os.ReadFile(filepath.Join("testdata", p.example))
		return string(text), err
	}
	return simulator.ExampleText(p.example)
}

// perform plays the example in the bubble of a test, where time passes at once. What
// is left after it are values that do not change any more.
func (p *play) perform(t *testing.T) {
	time.Sleep(time.Until(began))
	text, err := p.text()
	assert.NilError(t, err)
	scenario, err := simulator.Parse(text)
	assert.NilError(t, err)
	cluster, err := live.New(scenario, live.Options{Speed: 1, Breach: func(err error) { t.Error(err) }})
	assert.NilError(t, err)
	history, err := events.NewHistory(p.example, events.Config{})
	assert.NilError(t, err)
	past, err := archive.New(archive.Config{})
	assert.NilError(t, err)
	counts := metrics.New()
	core, err := scheduler.New(scheduler.Config{Events: history, Archive: past, Metrics: counts, SkipPredicates: !cluster.Constrained(), SettleDelay: -1})
	assert.NilError(t, err)
	k := &keeper{Scheduler: core}
	ctx, cancel := context.WithCancel(t.Context())
	finished := make(chan error, 1)
	go func() { finished <- cluster.Run(ctx, k) }()
	charts := make(chan struct{})
	go func() {
		defer close(charts)
		scheduler.KeepHistory(ctx, core)
	}()

	time.Sleep(p.after)
	p.drain(t, k)
	view := p.wait(t, k)
	now, answers := time.Now(), p.answers(t, core, view)
	cancel()
	assert.NilError(t, <-finished)
	<-charts
	core.Stop()

	stage := &stage{now: now, kinds: core.Kinds(), history: history, archive: past, metrics: counts, feasible: answers}
	stage.document, err = config.Load(k.text, stage.kinds)
	assert.NilError(t, err)
	stage.view.Store(view)
	counts.Watch(stage, stage.kinds)
	p.stage = stage
}

// answers are those of the resource manager about all pods that wait.
func (p *play) answers(t *testing.T, core *scheduler.Scheduler, view *api.View) feasible {
	if !p.asked {
		return nil
	}
	type question struct {
		ask  api.AllocationKey
		node api.NodeID
	}
	said, unsupported := map[question]error{}, error(nil)
	for _, app := range view.Applications {
		for _, ask := range app.Asks {
			for _, node := range view.Nodes {
				refused, err := (&scheduler.Configured{Scheduler: core}).Feasible(t.Context(), partition, ask.Key, node.ID)
				said[question{ask.Key, node.ID}], unsupported = refused, err
			}
		}
	}
	return func(_ context.Context, _ string, ask api.AllocationKey, node api.NodeID) (refused, err error) {
		return said[question{ask, node}], unsupported
	}
}

// drain has nodes drained that the scenario leaves alone.
func (p *play) drain(t *testing.T, to siapi.SchedulerAPI) {
	request := &si.NodeRequest{RmID: live.ID}
	for _, id := range p.drained {
		request.Nodes = append(request.Nodes, &si.NodeInfo{NodeID: id, Action: si.NodeInfo_DRAIN_NODE})
	}
	assert.NilError(t, to.UpdateNode(request))
}

// wait lets seconds pass until there is to be seen what the play is about.
func (p *play) wait(t *testing.T, k *keeper) *api.View {
	for range 3600 {
		time.Sleep(time.Second)
		synctest.Wait()
		if view, err := k.View(t.Context(), partition); err != nil || p.until(view) {
			assert.NilError(t, err)
			return view
		}
	}
	t.Fatalf("%s: what is waited for does not come within an hour", p.example)
	return nil
}

func evictions(v *api.View) (n int) {
	for _, node := range v.Nodes {
		n += len(node.Evictions)
	}
	return n
}

func nominated(v *api.View) (n int) {
	for _, node := range v.Nodes {
		n += len(node.Nominated)
	}
	return n
}

// A keeper is a scheduler that remembers how it was configured.
type keeper struct {
	*scheduler.Scheduler
	text string
}

var _ siapi.SchedulerAPI = (*keeper)(nil)

func (k *keeper) RegisterResourceManager(request *si.RegisterResourceManagerRequest, callback siapi.ResourceManagerCallback) (*si.RegisterResourceManagerResponse, error) {
	k.text = request.Config
	return k.Scheduler.RegisterResourceManager(request, callback)
}

func (k *keeper) UpdateConfiguration(request *si.UpdateConfigurationRequest) error {
	k.text = request.Config
	return k.Scheduler.UpdateConfiguration(request)
}
