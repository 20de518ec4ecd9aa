package archive

import (
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/events"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// TestLoweredMax: of each kind it is known what the max of a queue was before it was lowered last, until it is raised to that again or the
// queue goes. A partition that begins again still knows it.
func TestLoweredMax(t *testing.T) {
	a, err := New(Config{})
	assert.NilError(t, err)
	b := a.Open("p")
	start := time.Date(2026, 1, 31, 14, 0, 0, 0, time.UTC)
	minute := 0
	var before api.QueueConfig
	becomes := func(queues ...api.QueueConfig) {
		minute++
		after := api.QueueConfig{Name: "root", Queues: queues}
		b.Observe(events.Step{Now: start.Add(time.Duration(minute) * time.Minute), Effects: api.Effects{&api.Reconfigured{Before: before, After: after}}})
		before = after
	}
	queue := func(vcore, memory int64) api.QueueConfig {
		return api.QueueConfig{Name: "a", Max: resources.Limits{vcore, memory}}
	}
	says := func(vcore, memory string) {
		t.Helper()
		got := [2]string{}
		for kind, was := range b.LoweredMax("root.a") {
			text := "unlimited"
			if was.From != resources.Unlimited {
				text = time.Duration(was.From).String()
			}
			got[kind] = was.At.UTC().Format("15:04 ") + text
		}
		assert.Equal(t, got, [2]string{vcore, memory})
	}
	becomes(queue(20, resources.Unlimited)) // the first configuration lowers nothing
	says("", "")
	becomes(queue(10, 8))
	says("14:02 20ns", "14:02 unlimited")
	becomes(queue(12, 4)) // vcore is still lower than it was
	says("14:02 20ns", "14:03 8ns")
	a.Close("p", b)
	b = a.Open("p")
	says("14:02 20ns", "14:03 8ns")
	becomes(queue(20, 8))
	says("", "")
	becomes(queue(1, 8))
	says("14:05 20ns", "")
	becomes()
	becomes(queue(1, 8))
	says("", "")
}
