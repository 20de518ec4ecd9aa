package browser

import (
	"testing"

	"gotest.tools/v3/assert"
)

// TestPreemptedMost: the table of pods that were preempted most often is what REST counts.
func TestPreemptedMost(t *testing.T) {
	t.Parallel()
	s := fairness.site(t)
	var pods []struct {
		PodName string
		Times   int
	}
	s.read(t, "partition/default/victims?limit=8", &pods)
	assert.Assert(t, len(pods) > 1)
	p := s.page(t, "#/preemption")
	p.arrives("preemption")
	p.click("main summary", "Preempted most often")
	const label = "Pods that were preempted most often"
	names, times := p.column(label, "Pod"), p.column(label, "Times")
	assert.Equal(t, len(names), len(pods))
	for i, pod := range pods {
		assert.Equal(t, names[i], pod.PodName)
		assert.Equal(t, times[i], count(pod.Times))
	}
}
