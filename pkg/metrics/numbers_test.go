package metrics

import (
	"strings"
	"testing"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	dto "github.com/prometheus/client_model/go"
	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/internal/everyevent"
)

// known is how many numbers from zero on have a text; for the next, String
// panics.
func known[T interface {
	~uint8
	String() string
}]() (n int) {
	defer func() { _ = recover() }()
	for {
		_ = T(n).String()
		n++
	}
}

// TestEveryNumberHasAText finds the enumerations that were made longer elsewhere.
// A view with a number that has no text here would spoil every scrape.
func TestEveryNumberHasAText(t *testing.T) {
	assert.Equal(t, len(reasonTexts), known[api.Reason](), "reasonTexts")
	assert.Equal(t, len(stateTexts), known[api.State](), "stateTexts")
	assert.Equal(t, len(terminations), len(si.TerminationType_name), "terminations")
	assert.Equal(t, len(askStates), len(si.UpdateContainerSchedulingStateRequest_SchedulingState_name), "askStates")
	assert.Equal(t, len(eventTypes), len(si.EventRecord_Type_name), "eventTypes")
}

// TestTextsFollowTheNumbers finds those that were put in another order.
func TestTextsFollowTheNumbers(t *testing.T) {
	for i, text := range stateTexts {
		assert.Equal(t, text, strings.ToLower(api.State(i).String()))
	}
	for i, text := range askStates {
		assert.Assert(t, strings.HasPrefix(si.UpdateContainerSchedulingStateRequest_SchedulingState_name[int32(i)], strings.ToUpper(text)))
	}
	for i, text := range terminations {
		assert.Assert(t, strings.HasPrefix(si.TerminationType_name[int32(i)], strings.ToUpper(text)))
	}
	for i, text := range eventTypes {
		assert.Assert(t, strings.HasPrefix(si.EventRecord_Type_name[int32(i)], strings.ToUpper(strings.ReplaceAll(text, "_", ""))))
	}
}

// TestEveryCountHasACounter finds groups that leave a gap between them.
func TestEveryCountHasACounter(t *testing.T) {
	m := New()
	for i, counter := range m.counters.of("p").of {
		assert.Assert(t, counter != nil, "count %d", i)
	}
}

// TestEveryEventIsKnown counts an event of each type. None is about the unknown.
func TestEveryEventIsKnown(t *testing.T) {
	for _, event := range everyevent.Events() {
		var n counts
		assert.Assert(t, n.event(event) != aboutUnknown, "%T", event)
	}
	var n counts
	assert.Equal(t, n.event(nil), aboutUnknown)
}

// TestNumbersOfTheInterface compares the indexes that are written as numbers.
func TestNumbersOfTheInterface(t *testing.T) {
	assert.Equal(t, si.TerminationType(stopped), si.TerminationType_STOPPED_BY_RM)
	assert.Equal(t, si.TerminationType(preempted), si.TerminationType_PREEMPTED_BY_SCHEDULER)
	assert.Equal(t, si.UpdateContainerSchedulingStateRequest_SchedulingState(askFailed), si.UpdateContainerSchedulingStateRequest_FAILED)
	for number, about := range map[si.EventRecord_Type]subject{
		si.EventRecord_REQUEST: aboutRequest, si.EventRecord_APP: aboutApplication,
		si.EventRecord_NODE: aboutNode, si.EventRecord_QUEUE: aboutQueue,
	} {
		assert.Equal(t, int32(about), int32(number))
	}
}

// TestCountsAreNotLost counts more of one event than a byte holds, and each event beside it.
func TestCountsAreNotLost(t *testing.T) {
	m := New()
	var effects api.Effects
	for range 1000 {
		effects = append(effects, api.Placed{})
	}
	m.Count("p", effects)
	m.Count("p", append(api.Effects{&api.Reconfigured{}}, effects...))
	for counter, want := range map[counter]float64{
		allocated: 2000, recorded + counter(aboutRequest): 2000, recorded + counter(aboutQueue): 1, released: 0, recorded + counter(aboutNode): 0,
	} {
		var got dto.Metric
		assert.NilError(t, m.counters.of("p").of[counter].Write(&got))
		assert.Equal(t, got.GetCounter().GetValue(), want, "counter %d", counter)
	}
}
