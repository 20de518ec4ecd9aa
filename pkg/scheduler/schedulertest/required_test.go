package schedulertest_test

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/scheduler/schedulertest"
)

// howManyRun counts the placed ones of numbered pods.
func howManyRun(m *schedulertest.MockScheduler, prefix string, count int) (run int) {
	for i := range count {
		if _, ok := m.Placed(fmt.Sprintf("%s%04d", prefix, i)); ok {
			run++
		}
	}
	return run
}

// reserved is how many nodes are closed for an ask.
func reserved(m *schedulertest.MockScheduler) (count int) {
	for _, n := range m.Look().Nodes {
		count += len(n.Reservations)
	}
	return count
}

// A daemonset rolls out over full nodes, and its queue has quota for a tenth of its pods:
// as many victims end as pods of it run, and no node is closed.
func TestRollOutBeyondTheQuota(t *testing.T) {
	const nodes, most = 300, 50
	synctest.Test(t, func(t *testing.T) {
		m := schedulertest.New(t, schedulertest.Options{Config: fmt.Sprintf(`partitions:
- name: default
  queues:
  - name: root
    queues:
    - name: default
    - name: agents
      resources: {max: {vcore: %d}}
`, most)})
		m.AddApplication("web", "root.default")
		m.AddApplication("agents", "root.agents")
		for i := range nodes {
			m.AddNode(fmt.Sprintf("node-%04d", i), "vcore=4")
			m.Place("web", fmt.Sprintf("web-%04d", i), fmt.Sprintf("node-%04d", i), "vcore=4")
		}
		for i := range nodes {
			m.AskOn(fmt.Sprintf("node-%04d", i), "agents", fmt.Sprintf("agent-%04d", i), "vcore=1")
		}
		m.Advance(time.Hour)
		told, _ := released(m)
		assert.Equal(t, len(told), most)
		assert.Equal(t, howManyRun(m, "agent-", nodes), most)
		assert.Equal(t, reserved(m), 0)
		for i := range most { // what was evicted comes back, a little smaller
			m.Ask("web", fmt.Sprintf("back-%04d", i), "vcore=3")
		}
		m.Advance(time.Second)
		assert.Equal(t, howManyRun(m, "back-", most), most)
	})
}

// A daemonset asks for more than can ever be had. It closes no node.
func TestRollOutThatNeverFits(t *testing.T) {
	const nodes, pods = 100, 1000
	synctest.Test(t, func(t *testing.T) {
		m := schedulertest.New(t, schedulertest.Options{})
		m.AddApplication("web", "root.default")
		m.AddApplication("agents", "root.default")
		for i := range nodes {
			node := fmt.Sprintf("node-%04d", i)
			m.AddNode(node, "vcore=16 memory=64Gi")
			m.Static(fmt.Sprintf("kubelet-%04d", i), node, "vcore=1 memory=1Gi")
			m.AskOn(node, "agents", fmt.Sprintf("agent-%04d", i), "vcore=500m memory=64600Mi")
		}
		for i := range pods {
			m.Ask("web", fmt.Sprintf("web-%04d", i), "vcore=1 memory=1Gi")
		}
		m.Advance(time.Minute)
		assert.Equal(t, howManyRun(m, "web-", pods), pods)
		assert.Equal(t, len(preempted(m)), 0)
	})
}

// endlessly brings back every pod that is evicted for a day, and returns how many were.
func endlessly(m *schedulertest.MockScheduler, each time.Duration, also func()) (told int) {
	for begin := time.Now(); time.Since(begin) < 24*time.Hour; {
		m.Advance(each)
		releases, _ := released(m)
		for ; told < len(releases); told++ {
			m.Ask("web", fmt.Sprintf("web-%d", told+1), "vcore=4")
		}
		also()
	}
	return told
}

// oneAgent is a full node and an agent that needs it.
func oneAgent(m *schedulertest.MockScheduler) {
	m.AddNode("node-1", "vcore=4")
	m.AddApplication("web", "root.default")
	m.AddApplication("agents", "root.default")
	m.Place("web", "web-0", "node-1", "vcore=4")
	m.AskOn("node-1", "agents", "agent", "vcore=1")
}

// An agent is refused only when it is placed, and each pod that was evicted for it comes
// back: the pauses double, so it is a dozen in a day.
func TestRefusedOnlyWhenPlaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := schedulertest.New(t, schedulertest.Options{Predicates: func(a *si.PredicatesArgs) error {
			if a.AllocationKey == "agent" && a.Allocate {
				return errors.New("no volume in this zone")
			}
			return nil
		}})
		oneAgent(m)
		told := endlessly(m, 10*time.Second, func() {})
		assert.Assert(t, told > 5 && told <= 12, "%d were evicted", told)
		assert.Equal(t, m.Look().Preempted.Loops, uint64(told))
	})
}

// An agent can never be bound, and each pod that was evicted for it comes back.
func TestNeverBound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := schedulertest.New(t, schedulertest.Options{})
		oneAgent(m)
		told := endlessly(m, 10*time.Second, func() {
			if _, ok := m.Placed("agent"); ok {
				m.FailBinding("agents", "agent")
			}
		})
		assert.Assert(t, told > 5 && told <= 12, "%d were evicted", told)
	})
}
