package simulation

import (
	"testing"

	"gotest.tools/v3/assert"
	v1 "k8s.io/api/core/v1"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/framework"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/landing"
)

// A countedLanding counts what it is asked.
type countedLanding struct {
	*landing.Cluster
	places int
}

func (c *countedLanding) Place(pod *v1.Pod, choice framework.Choice) (framework.Place, error) {
	c.places++
	return c.Cluster.Place(pod, choice)
}

// questions runs one cycle of all plugins and returns how many there were, and the evictions.
func (l large) questions(t *testing.T) (asked, evictions int) {
	w := l.world(t)
	counted := &countedLanding{Cluster: newLanding(t, w.queues, w.objects.Pods)}
	d, err := descheduler.New(t.Context(), w.policy, registry(t), descheduler.Options{
		Client: w.server(), Clock: w.clock, DryRun: true, Usage: w, Objects: w.seen,
		Landing: func(s *framework.Snapshot) (framework.Landing, error) {
			counted.Sync(s)
			return counted, nil
		},
	})
	assert.NilError(t, err)
	report, _ := w.cycle(d)
	return counted.places, len(report.Evictions)
}

// TestQuestionsGrowWithWhatMoves: a question to the landing is the dearest step of a cycle. There
// are few more than evictions, and in four times the cluster not more for each eviction.
func TestQuestionsGrowWithWhatMoves(t *testing.T) {
	for _, skewed := range []bool{false, true} {
		few, some := large{nodes: 100, skewed: skewed}.questions(t)
		many, more := large{nodes: 400, skewed: skewed}.questions(t)
		t.Logf("skewed %v: %d questions for %d evictions, and %d for %d", skewed, few, some, many, more)
		assert.Assert(t, more > 2*some && more < 6*some, "%d evictions, and %d", some, more)
		assert.Assert(t, 4*many*some <= 5*few*more, "%d questions for %d evictions, and %d for %d in four times the cluster", few, some, many, more)
		assert.Assert(t, 2*many <= 5*more, "%d questions for %d evictions", many, more)
	}
}
