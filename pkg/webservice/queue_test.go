package webservice

import (
	"encoding/json"
	"net/http"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/core/preemptor"
)

// TestQuotaPreemptionOfAQueue: it begins when the delay is over and runs as long as a
// victim has not ended; without a quota preemption there is no start.
func TestQuotaPreemptionOfAQueue(t *testing.T) {
	victims := func(key string) *preemptor.Decision {
		return &preemptor.Decision{Trigger: preemptor.Quota, Reason: preemptor.Chosen, Victims: []preemptor.Victim{{Candidate: preemptor.Candidate{Key: key}}}}
	}
	began := start.Add(time.Hour + time.Minute).UnixNano()
	for _, c := range []struct {
		name    string
		change  func(v *api.View, q *api.QueueView)
		running bool
		start   int64
	}{
		{"victims have not ended", func(*api.View, *api.QueueView) {}, true, began},
		{"victims have ended", func(_ *api.View, q *api.QueueView) { q.QuotaPlan = victims("gone") }, false, began},
		{"the delay runs", func(_ *api.View, q *api.QueueView) { q.QuotaPlan = nil }, false, began},
		{"there is no delay", func(_ *api.View, q *api.QueueView) { q.Properties.QuotaDelay = 0 }, true, 0},
		{"it is within its max", func(_ *api.View, q *api.QueueView) { q.OverMaxSince, q.QuotaPlan = time.Time{}, nil }, false, 0},
		{"it is off", func(v *api.View, _ *api.QueueView) { v.Config.Preemption.Quota = false }, true, 0},
		{"all preemption is off", func(v *api.View, _ *api.QueueView) { v.Config.Preemption.Disabled = true }, true, 0},
	} {
		w := newWorld(t)
		view := *w.Views[w.Names[0]]
		view.Config.Preemption.Quota, view.Config.Preemption.Disabled = true, false
		q := &api.QueueView{Path: "root.low", Leaf: true, OverMaxSince: start.Add(time.Hour), QuotaPlan: victims("filler-2")}
		q.Properties.QuotaDelay = time.Minute
		q.Properties.Texts = map[string]string{"application.unschedasks.backoff": "7", "application.unschedasks.backoff.delay": "20s"}
		c.change(&view, q)
		root := *view.Root
		root.Queues = []*api.QueueView{q}
		view.Root = &root
		w.Views[w.Names[0]] = &view
		var got struct {
			IsQuotaPreemptionRunning bool
			QuotaPreemptionStartTime int64
			UnschedAskBackoff        int
			AskBackoffDelay          string
		}
		answer := ask(w.service(t).Handler(), http.MethodGet, "/ws/v1/partition/default/queue/root.low")
		assert.NilError(t, json.Unmarshal(answer.Body.Bytes(), &got))
		assert.Equal(t, got.IsQuotaPreemptionRunning, c.running, c.name)
		assert.Equal(t, got.QuotaPreemptionStartTime, c.start, c.name)
		assert.Equal(t, got.UnschedAskBackoff, 7)
		assert.Equal(t, got.AskBackoffDelay, "20s")
	}
}
