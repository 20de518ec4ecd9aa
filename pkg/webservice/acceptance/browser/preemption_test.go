package browser

import (
	"fmt"
	"testing"

	"github.com/chromedp/chromedp/kb"
	"gotest.tools/v3/assert"
)

// What tests read of a plan.
type plan struct {
	Time                         int64
	Trigger, Outcome, Summary    string
	AllocationKey, ApplicationID string
	QueueName, NodeID            string
	Victims                      []struct {
		AllocationKey, NodeID, State, Priority string
		Resource                               map[string]int64
	}
}

// of is what the plan was made for.
func (p plan) of() string {
	if p.AllocationKey != "" {
		return p.AllocationKey
	}
	return p.QueueName
}

// TestPreemption: the log is what REST says, and so are the counts.
func TestPreemption(t *testing.T) {
	t.Parallel()
	for _, played := range []*play{teams, fairness} {
		t.Run(played.example, func(t *testing.T) {
			t.Parallel()
			s := played.site(t)
			var plans []plan
			total := s.read(t, "partition/default/preemptions?limit=50", &plans)
			assert.Assert(t, total > 20)
			p := s.page(t, "#/preemption")
			p.arrives("preemption")
			p.sees("main .pager", count(total)+" plans")
			when, trigger, who := p.column("Plans", "When"), p.column("Plans", "Trigger"), p.column("Plans", "For")
			for i, one := range plans {
				assert.Equal(t, when[i], at(one.Time))
				assert.Equal(t, trigger[i], capital(one.Trigger))
				assert.Equal(t, who[i], one.of())
			}
			var partitions []struct {
				Preempted struct{ Plans, Victims, Nominations, Cleared, Wasted, Overdue, Loops int }
			}
			s.read(t, "partitions", &partitions)
			counts := partitions[0].Preempted
			for name, n := range map[string]int{
				"Plans": counts.Plans, "Preempted": counts.Victims, "Nominations": counts.Nominations,
				"Cleared": counts.Cleared, "Wasted": counts.Wasted, "Overdue": counts.Overdue, "Loops": counts.Loops,
			} {
				assert.Equal(t, p.pair(name), count(n), name)
			}
			for _, name := range []string{"required node", "priority", "guarantee", "quota"} {
				n := s.read(t, "partition/default/preemptions?limit=1&trigger="+escaped(name), &[]plan{})
				p.sees("main .reason", fmt.Sprintf("%sby %s", count(n), name))
			}
		})
	}
}

// TestPlan: a plan is explained beside the log, with its victims, and has an address.
func TestPlan(t *testing.T) {
	t.Parallel()
	s := fairness.site(t)
	p := s.page(t, "#/preemption")
	p.arrives("preemption")
	p.click("main .reason", "by guarantee")
	var plans []plan
	s.read(t, "partition/default/preemptions?limit=50&trigger=guarantee", &plans)
	p.until(`t.all("main tbody tr").every((row) => row.cells[2].textContent === "Guarantee")`)
	i := 0
	for len(plans[i].Victims) == 0 {
		i++
	}
	chosen := plans[i]
	p.click(fmt.Sprintf("main tbody tr:nth-child(%d) td:first-child a", i+1), "")
	p.sees("main .details", chosen.of())
	p.sees("main tr[aria-current=true]", chosen.of())
	for _, victim := range chosen.Victims {
		p.sees("main .details", victim.AllocationKey)
		p.sees("main .details", amounts(victim.Resource))
	}
	p.sees("main .details a", chosen.NodeID)
	hash := evaluate[string](p, `return location.hash`)
	p.press(kb.Escape)
	p.until(`!t.one("main .details") && location.hash === "#/preemption?trigger=guarantee"`)

	other := s.page(t, hash)
	other.arrives("preemption")
	other.sees("main .details", chosen.Victims[0].AllocationKey)
	other.click("main .details a", chosen.Victims[0].AllocationKey)
	other.arrives("applications")
	other.sees("main h1", chosen.Victims[0].AllocationKey)
	other.sees("main .badge", "evicted, and ended")
	other.sees("main .lead", "to make room for "+chosen.AllocationKey)
	other.sees("main .plan", "")
	other.click("main .pairs a", "Placed") // what came of the plan leads back to it
	other.arrives("preemption")
	other.sees("main .details", chosen.of())
}

// TestQuotaPlan: a queue over its max is named, with all victims.
func TestQuotaPlan(t *testing.T) {
	t.Parallel()
	s := fairness.site(t)
	var plans []plan
	s.read(t, "partition/default/preemptions?limit=1&trigger=quota", &plans)
	p := s.page(t, "#/preemption?trigger=quota")
	p.arrives("preemption")
	p.click("main tbody td:first-child a", "")
	p.sees("main .details", plans[0].QueueName)
	p.sees("main .details", plans[0].Victims[0].AllocationKey)
}

// TestLostWork: what was lost is read when it is looked at, and is what REST says; a plan says how
// long its victims ran.
func TestLostWork(t *testing.T) {
	t.Parallel()
	s := fairness.site(t)
	var losses []struct {
		Day, QueueName, User string
		Victims              int
	}
	total := s.read(t, "partition/default/losses?limit=50", &losses)
	assert.Assert(t, total > 1 && losses[0].Victims > 0)
	p := s.page(t, "#/preemption")
	p.arrives("preemption")
	p.click("main summary", "Lost work, by day, queue and user")
	p.until(`t.all("main table").some((table) => table.textContent.includes("` + losses[0].Day + `"))`)
	queues, victims := p.column("Lost work", "Queue"), p.column("Lost work", "Victims")
	assert.Equal(t, len(queues), len(losses))
	for i, one := range losses {
		assert.Equal(t, queues[i], one.QueueName)
		assert.Equal(t, victims[i], count(one.Victims))
	}
	var plans []plan
	s.read(t, "partition/default/preemptions?limit=1", &plans)
	p.click("main .split tbody a", at(plans[0].Time))
	p.sees("main .details", "Lost work")
}
