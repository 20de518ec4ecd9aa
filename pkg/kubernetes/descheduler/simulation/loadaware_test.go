package simulation

import (
	"context"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/framework"
	ft "github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/frameworktest"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/internal/scores"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/landing"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/feasibility"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/pods"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/profile"
)

const loadAwareProfile = `
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- plugins: {score: {enabled: [{name: LoadAware, weight: 3}]}}
`

// A measuring landing knows the score LoadAware of the scheduler, and what the nodes of a world use.
type measuring struct {
	*landing.Cluster
	factory informers.SharedInformerFactory
	world   *world // the one of which nodes are measured
}

func newMeasuring(t *testing.T) *measuring {
	t.Helper()
	ctx, client := context.Background(), fake.NewClientset()
	m := &measuring{factory: informers.NewSharedInformerFactory(client, 0)}
	checker, err := feasibility.New(ctx, client, m.factory, feasibility.Options{})
	assert.NilError(t, err)
	preferred, err := scores.New(ctx, client, m.factory)
	assert.NilError(t, err)
	of, _, err := profile.Read([]byte(loadAwareProfile), nil)
	assert.NilError(t, err)
	assert.NilError(t, preferred.SetProfile(of))
	m.factory.Start(ctx.Done())
	assert.NilError(t, checker.WaitForSync(t.Context()))
	m.Cluster, err = landing.New(checker, landing.Options{
		Rules: pods.Rules{SchedulerNames: []string{schedulerName}}, Queues: unlimited, Scores: preferred, Measured: m.measured,
	})
	assert.NilError(t, err)
	return m
}

func (m *measuring) measured() (now time.Time, measured []framework.Measurement) {
	now = m.world.clock.Now()
	for _, n := range m.world.objects.Nodes {
		use, _ := m.world.Node(n.Name)
		measured = append(measured, framework.Measurement{Node: n.Name, At: now, Use: use})
	}
	return now, measured
}

// TestLoadAwareAgreesWithLowNodeLoad: where the scheduler goes by measured use too, LowNodeLoad cools every node that one of equal
// requests cannot: within three cycles none is above the threshold, no pod goes to a node that it has left, and then nothing moves.
// By requests alone TestHotNodesCool has half of them.
func TestLoadAwareAgreesWithLowNodeLoad(t *testing.T) {
	m := newMeasuring(t)
	for _, seed := range seeds(t, 10) {
		o := hotNode(seed, schedulerName)
		ft.Controllers(t, m.factory, o.Pods)
		w := newWorld(t, o, unlimited, load(t, coolPolicy))
		m.world = w
		d, err := descheduler.New(t.Context(), w.policy, registry(t), descheduler.Options{
			Client: w.server(), Clock: w.clock, Usage: w, Objects: w.seen,
			Landing: func(s *framework.Snapshot) (framework.Landing, error) {
				m.Sync(s)
				return m.Cluster, nil
			},
		})
		assert.NilError(t, err)
		been, moved := &route{nodes: map[string][]string{}}, 0
		for cycle := range 4 {
			before := w.objects.Pods
			report, _ := w.cycle(d)
			if cycle == 3 {
				assert.Check(t, len(report.Evictions) == 0, "seed %d: %v", seed, movesOf(report))
			}
			moved += len(report.Evictions)
			for _, wrong := range been.follow(report, before) {
				t.Errorf("seed %d: %s", seed, wrong)
			}
			w.settle(report)
			for _, node := range w.loaded() {
				assert.Check(t, node == "n0" && cycle < 2, "seed %d: after cycle %d node %s is above the threshold", seed, cycle, node)
			}
		}
		t.Logf("seed %d: %d pods moved", seed, moved)
		assert.Check(t, moved > 0, "seed %d", seed)
	}
}
