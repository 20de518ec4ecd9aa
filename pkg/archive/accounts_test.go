package archive

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/core/preemptor"
	"github.com/narwhal-scheduler/narwhal/pkg/events"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// counting is an archive that counts work, and a partition with an application of ann in root.a, and one of bob in root.b.
type counting struct {
	t    *testing.T
	all  *Archive
	book *Book
	now  time.Time
}

func newCounting(t *testing.T, now time.Time) *counting {
	t.Helper()
	a, err := New(Config{Accounts: true})
	assert.NilError(t, err)
	c := &counting{t, a, a.Open("p"), now}
	c.step(&api.ApplicationAccepted{ID: "a", Queue: "root.a", User: "ann"}, &api.ApplicationAccepted{ID: "b", Queue: "root.b", User: "bob"})
	return c
}

func (c *counting) step(effects ...api.Event) {
	c.book.Observe(events.Step{Now: c.now, Effects: effects})
}

func (c *counting) pod(app api.ApplicationID, amount int64) *api.Allocation {
	return &api.Allocation{Key: api.AllocationKey(app + "-1"), Application: app, Node: "n", Amounts: resources.Amounts{amount}, Placed: c.now}
}

// says compares what is taken with lines of day, queue, user, used, wasted, preempted and the pods of both.
func (c *counting) says(want string) {
	c.t.Helper()
	var lines []string
	for _, a := range c.all.TakeAccounts(c.now)["p"] {
		lines = append(lines, fmt.Sprint(a.Day, " ", a.Queue, " ", a.User, " ", a.Used, a.Wasted, a.Preempted, a.Evicted, a.Evictions))
	}
	assert.Equal(c.t, strings.Join(lines, "\n"), strings.TrimSpace(want))
}

// TestAccounts: what runs is counted until it is taken, and not again after that; midnight parts it.
func TestAccounts(t *testing.T) {
	c := newCounting(t, time.Date(2026, 1, 31, 23, 58, 0, 0, time.UTC))
	c.step(api.Placed{Allocation: c.pod("a", 2)})
	c.now = c.now.Add(time.Minute)
	c.says(`2026-01-31 root.a ann [120] [] [] 0 0`)
	c.says(``)
	c.now = c.now.Add(3 * time.Minute)
	c.says(`
2026-01-31 root.a ann [120] [] [] 0 0
2026-02-01 root.a ann [240] [] [] 0 0`)
	c.step(&api.Ended{Allocation: c.pod("a", 2)})
	c.now = c.now.Add(time.Minute)
	c.says(``)
	assert.Equal(t, len(c.book.accounts.held), 0)
}

// TestAccountsOfVictims: ann lost what a pod had worked, and bob got its room.
func TestAccountsOfVictims(t *testing.T) {
	c := newCounting(t, time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC))
	victim := c.pod("a", 2)
	c.step(api.Placed{Allocation: victim})
	c.now = c.now.Add(5 * time.Minute)
	plan := &preemptor.Decision{Trigger: preemptor.Priority, Reason: preemptor.Chosen, Victims: []preemptor.Victim{{Candidate: preemptor.Candidate{Key: "a-1"}}}}
	c.step(&api.PreemptionPlanned{Application: "b", Key: "b-1", Queue: "root.b", Node: "n", Plan: plan}, &api.EvictionRequested{Allocation: victim, For: "b-1"})
	c.now = c.now.Add(time.Minute)
	c.step(&api.Ended{Allocation: victim, Cause: api.CausePreempted, Evicted: true})
	c.says(`
2026-01-31 root.a ann [720] [720] [] 1 0
2026-01-31 root.b bob [] [] [720] 0 1`)
}

// TestAccountsOfClocks: a clock that goes back counts nothing twice, and one that jumps ahead counts ten minutes.
func TestAccountsOfClocks(t *testing.T) {
	c := newCounting(t, time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC))
	c.step(api.Placed{Allocation: c.pod("a", 1)})
	c.now = c.now.Add(time.Minute)
	c.says(`2026-01-31 root.a ann [60] [] [] 0 0`)
	c.now = c.now.Add(-time.Hour)
	c.says(``)
	c.now = c.now.Add(time.Minute)
	c.says(`2026-01-31 root.a ann [60] [] [] 0 0`)
	c.now = c.now.AddDate(1, 0, 0)
	c.says(`2027-01-31 root.a ann [600] [] [] 0 0`)
}

// TestAccountsOfAPartitionThatBeginsAgain: what it had counted is still taken.
func TestAccountsOfAPartitionThatBeginsAgain(t *testing.T) {
	c := newCounting(t, time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC))
	c.step(api.Placed{Allocation: c.pod("a", 1)})
	c.now = c.now.Add(time.Minute)
	c.step()
	c.all.Close("p", c.book)
	c.book = c.all.Open("p")
	c.now = c.now.Add(time.Minute)
	c.says(`2026-01-31 root.a ann [60] [] [] 0 0`)
}

// TestAccountsAreBounded: further owners count together, and nothing is left of them when they end.
func TestAccountsAreBounded(t *testing.T) {
	c := newCounting(t, time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC))
	for _, end := range []bool{false, true} {
		for i := range ownersMax + 500 {
			app := api.ApplicationID(fmt.Sprint("x", i))
			if end {
				c.step(&api.Ended{Allocation: c.pod(app, 1)})
				continue
			}
			c.step(&api.ApplicationAccepted{ID: app, Queue: "root.x", User: string(app)}, api.Placed{Allocation: c.pod(app, 1)})
		}
		c.now = c.now.Add(time.Second)
		taken := c.all.TakeAccounts(c.now)["p"]
		assert.Assert(t, end == (len(taken) == 0))
		if !end {
			assert.Equal(t, len(taken), ownersMax+1)
			assert.Equal(t, taken[0].User, OthersUser)
			assert.DeepEqual(t, taken[0].Used, []float64{500})
		}
	}
	assert.Equal(t, len(c.book.accounts.held), 0)
}

// TestClocksThatJump: of ten times the time that may pass between two steps so much counts.
func TestClocksThatJump(t *testing.T) {
	c := newCounting(t, time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC))
	c.step(api.Placed{Allocation: c.pod("a", 2)})
	c.now = c.now.Add(10 * gapMax)
	c.says(`2026-01-31 root.a ann [1200] [] [] 0 0`)
}
