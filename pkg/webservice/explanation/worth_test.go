package explanation

import (
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/archive"
	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/webservice/internal/fixture"
)

// TestWorth: whether a kill was worth it, by what came of its plan.
func TestWorth(t *testing.T) {
	w := fixture.New(t)
	began := fixture.Start
	priority := int32(100)
	plan := archive.Plan{At: began.Add(time.Hour), Key: "db", Application: "dbs", Queue: "root.db", Priority: &priority}
	v := archive.Victim{Started: began, Chosen: plan.At, Ended: plan.At.Add(30 * time.Second), Priority: -10, Amounts: w.Amounts(t, 1000, 0, 1)}
	for _, c := range []struct {
		change func(p *archive.Plan, v *archive.Victim)
		want   string
	}{
		{
			func(p *archive.Plan, _ *archive.Victim) {
				p.Outcome, p.On, p.Until = archive.Placed, "n1", p.At.Add(time.Minute)
			},
			"yes: db of priority 100 started on node n1 at " + plan.At.Add(time.Minute).UTC().Format(time.RFC3339) + ", 1m0s after",
		},
		{func(*archive.Plan, *archive.Victim) {}, "not yet: db of priority 100 has not started"},
		{
			func(p *archive.Plan, _ *archive.Victim) { p.Outcome, p.Reason = archive.Cleared, "a quota" },
			"no: db of priority 100 did not start in its room: cleared: a quota",
		},
		{func(_ *archive.Plan, v *archive.Victim) { v.Wasted = "ask removed" }, "no: db of priority 100 does not run in its room: ask removed"},
		{func(p *archive.Plan, _ *archive.Victim) { p.Key = "" }, "queue root.db was over its max, and uses so much less"},
	} {
		p, one := plan, v
		c.change(&p, &one)
		lines := worth(&api.View{}, w.Kinds, &p, &one)
		assert.Equal(t, lines[0], "  worth it  "+c.want)
		assert.Assert(t, strings.HasPrefix(lines[1], "            it ran at priority 0, which is -10 as the queue of the ask sees it; 1h0m30s of "), lines[1])
	}
}

// TestRan: one number, rounded down as that of its life is, and of a victim that still runs the time until it was told to end.
func TestRan(t *testing.T) {
	w := fixture.New(t)
	began := fixture.Start
	v := archive.Victim{Started: began, Chosen: began.Add(1400 * time.Millisecond), Amounts: w.Amounts(t, 1000, 0, 1)}
	from := ", from " + began.UTC().Format(time.RFC3339)
	assert.DeepEqual(t, timeOf(&v), []string{"  had run   for 1s when it was told to end" + from})
	assert.Equal(t, lostOf(w.Kinds, &v), "; it still runs, and nothing is lost yet")
	v.Ended = began.Add(1900 * time.Millisecond)
	assert.DeepEqual(t, timeOf(&v), []string{"  ran       for 1s" + from})
	assert.Assert(t, strings.HasPrefix(lostOf(w.Kinds, &v), "; 1s of "), lostOf(w.Kinds, &v))
	life := archive.Life{Asked: began, Placed: v.Started, Ended: v.Ended}
	assert.Assert(t, strings.HasSuffix(lived(&life, v.Ended), "; ran for 1s"))
	assert.Equal(t, len(timeOf(&archive.Victim{Ended: began})), 0)
}
