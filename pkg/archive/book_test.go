package archive

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core"
	"github.com/narwhal-scheduler/narwhal/pkg/core/preemptor"
	"github.com/narwhal-scheduler/narwhal/pkg/events"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// A stage is a book that is shown steps one by one.
type stage struct {
	*Book
	now  time.Time
	size *si.Resource
}

func newStage(t testing.TB, config Config) *stage {
	t.Helper()
	kinds := new(resources.Kinds)
	vcore, err := kinds.Amounts(map[string]int64{"vcore": 10})
	assert.NilError(t, err)
	a, err := New(config)
	assert.NilError(t, err)
	return &stage{Book: a.Open("p", kinds), now: start, size: core.ResourceOf(kinds, vcore)}
}

func (s *stage) do(c core.Command, effects ...any) []*ApplicationRecord {
	return s.Observe(events.Step{Now: s.now, Command: c, Effects: effects})
}

func (s *stage) begin(id string) {
	s.do(core.AddApplication{ID: core.ApplicationID(id), Queue: "root.a"}, &si.AcceptedApplication{ApplicationID: id})
}

func (s *stage) enter(id string, state core.State) []*ApplicationRecord {
	return s.do(nil, &si.UpdatedApplication{ApplicationID: id, State: state.String()})
}

func (s *stage) place(id, key string) {
	s.do(nil, &si.Allocation{ApplicationID: id, AllocationKey: key, NodeID: "n", ResourcePerAlloc: s.size})
}

// plan has an ask of app make victims go.
func (s *stage) plan(ask string, victims ...string) {
	d := &preemptor.Decision{Trigger: preemptor.RequiredNode, Reason: preemptor.Chosen}
	for _, v := range victims {
		d.Victims = append(d.Victims, preemptor.Victim{Candidate: preemptor.Candidate{Key: v}})
	}
	s.do(nil, core.Preemption{Application: "app", Key: core.AllocationKey(ask), Queue: "root.a", Node: "n", Plan: d})
}

func TestConfigNamesEveryProblem(t *testing.T) {
	_, err := New(Config{EndedMax: -1, RejectedMax: -1, PlansMax: -1, Keep: -1})
	for _, name := range []string{"EndedMax", "RejectedMax", "PlansMax", "Keep"} {
		assert.ErrorContains(t, err, name)
	}
}

// TestWhatHasEndedIsForgotten by number and by age.
func TestWhatHasEndedIsForgotten(t *testing.T) {
	s := newStage(t, Config{EndedMax: 3, RejectedMax: 2, Keep: time.Hour})
	for i := range 10 {
		id := fmt.Sprint("app", i)
		s.begin(id)
		ended := s.enter(id, core.Completed)
		assert.Equal(t, len(ended), 1)
		assert.Equal(t, string(ended[0].ID), id)
		s.do(nil, &si.RejectedApplication{ApplicationID: id, Reason: "no"})
		s.now = s.now.Add(10 * time.Minute)
	}
	ids := func(lives []*ApplicationRecord) (out string) {
		for _, l := range lives {
			out += string(l.ID) + " "
		}
		return out
	}
	ended, rejected := s.Finished(s.now)
	assert.Equal(t, ids(ended), "app7 app8 app9 ")
	assert.Equal(t, ids(rejected), "app8 app9 ")
	ended, rejected = s.Finished(s.now.Add(45 * time.Minute)) // app8 ended 65 minutes before
	assert.Equal(t, ids(ended), "app9 ")
	assert.Equal(t, ids(rejected), "app9 ")
	ended, _ = s.Finished(s.now.Add(time.Hour))
	assert.Equal(t, ids(ended), "")

	s.now = s.now.Add(time.Hour)
	s.do(nil, &si.RejectedApplication{ApplicationID: "last"})
	assert.Equal(t, s.ended.len(), 0) // and not only hidden
	assert.Equal(t, s.rejections.len(), 1)
}

// TestWaits keeps few reasons of each ask, and not too much of each.
func TestWaits(t *testing.T) {
	s := newStage(t, Config{})
	s.begin("app")
	say := func(reason string) {
		s.do(nil, &si.UpdateContainerSchedulingStateRequest{ApplicationID: "app", AllocationKey: "k", Reason: reason})
		s.now = s.now.Add(time.Second)
	}
	for i := range reasonsMax {
		say(fmt.Sprint("reason ", i))
	}
	say("reason 0")
	say("one more") // takes the place of reason 1
	say("reason 1") // which begins anew, and takes that of reason 2
	waits := s.PendingReasons("app", "k").Reasons
	assert.Equal(t, len(waits), reasonsMax)
	assert.Equal(t, waits[0].Message, "reason 3")
	assert.DeepEqual(t, waits[reasonsMax-3:], []PendingReason{
		{"reason 0", s.now.Add(-3 * time.Second), 2}, {"one more", s.now.Add(-2 * time.Second), 1}, {"reason 1", s.now.Add(-time.Second), 1},
	})
	say(strings.Repeat("x", 10*wordsMax))
	waits = s.PendingReasons("app", "k").Reasons
	assert.Equal(t, len(waits[reasonsMax-1].Message), wordsMax)

	before := s.PendingReasons("app", "k")
	say("later")
	assert.Equal(t, before.Reasons[reasonsMax-1].Message, waits[reasonsMax-1].Message) // it is a copy
	s.place("app", "k")
	assert.Equal(t, len(s.PendingReasons("app", "k").Reasons), 0)
	say("late") // it runs
	assert.Equal(t, len(s.PendingReasons("app", "k").Reasons), 0)
	assert.Equal(t, len(s.PendingReasons("other", "k").Reasons), 0)
}

// TestStatesAreForgotten: one that goes on for ever has a list that does not.
func TestStatesAreForgotten(t *testing.T) {
	s := newStage(t, Config{})
	s.begin("app")
	early := s.Application("app")
	for range turnsMax {
		s.enter("app", core.Running)
		s.enter("app", core.Completing)
		s.now = s.now.Add(time.Second)
	}
	life := s.Application("app")
	assert.Equal(t, len(life.Changes), turnsMax)
	assert.Equal(t, life.Started, start) // still known
	assert.Equal(t, len(early.Changes), 0)
}

// TestPlansAreForgotten by number, and sooner if they name very many.
func TestPlansAreForgotten(t *testing.T) {
	s := newStage(t, Config{PlansMax: 3})
	s.begin("app")
	for i := range 9 {
		victim := fmt.Sprint("v", i)
		s.place("app", victim)
		s.plan(fmt.Sprint("k", i), victim)
	}
	assert.Equal(t, len(s.Plans()), 3)
	assert.Equal(t, string(s.Plans()[0].Key), "k8") // the newest first
	assert.Equal(t, len(s.plans.open), 3)
	assert.Equal(t, len(s.plans.victims), 3)
	assert.Assert(t, s.PlanOf("app", "v5") == nil)
	assert.Equal(t, string(s.PlanOf("app", "v8").Key), "k8")
	assert.Assert(t, s.PlanOf("other", "v8") == nil)

	long := make([]string, planNamesMax-10)
	for i := range long {
		long[i] = fmt.Sprint("w", i)
	}
	s.plan("k9", long...)
	assert.Equal(t, len(s.Plans()), 3)
	s.plan("k10", long...)
	assert.Equal(t, len(s.Plans()), 1)
	assert.Assert(t, s.plans.names <= planNamesMax)
}

// TestReadPlansDoNotChange: who has a plan has what it was.
func TestReadPlansDoNotChange(t *testing.T) {
	s := newStage(t, Config{})
	s.begin("app")
	s.place("app", "v")
	s.plan("k", "v")
	before := s.Plans()[0]
	s.do(core.ReleaseAllocation{Application: "app", Key: "v", Termination: si.TerminationType_PREEMPTED_BY_SCHEDULER})
	s.place("app", "k")
	assert.Equal(t, before.Outcome, UnderWay)
	assert.Assert(t, before.Victims[0].Ended.IsZero())
	assert.Equal(t, s.Plans()[0].Outcome, Placed)
	assert.Equal(t, s.PlanOf("app", "v").Victims[0].Ended, start)
}

// TestNobodysBook reads as empty.
func TestNobodysBook(t *testing.T) {
	b := (*Archive)(nil).Book("p")
	ended, rejected := b.Finished(start)
	assert.Equal(t, len(ended)+len(rejected)+len(b.Plans())+len(b.PendingReasons("a", "k").Reasons), 0)
	assert.Assert(t, b.Application("a") == nil && b.PlanOf("a", "k") == nil && b.Since().IsZero())
}

// TestCountsOutliveTheirPartition, for a day, and are those of all partitions.
func TestCountsOutliveTheirPartition(t *testing.T) {
	a, err := New(Config{})
	assert.NilError(t, err)
	kinds := new(resources.Kinds)
	run := func(b *Book, at time.Time, id string) {
		s := &stage{Book: b, now: at}
		s.begin(id)
		s.enter(id, core.Running)
		s.place(id, id+"-1")
	}
	first, second := a.Open("p", kinds), a.Open("q", kinds)
	run(first, start, "app")
	run(second, start, "other")
	total := func(at time.Time) (text string) {
		counts := a.Counts(at)
		assert.Assert(t, len(counts) <= minutesMax)
		for _, c := range counts[max(0, len(counts)-3):] {
			text += fmt.Sprint(c.Applications, "/", c.Containers, " ")
		}
		return text
	}
	assert.Equal(t, total(start), "")
	assert.Equal(t, total(start.Add(2*time.Minute)), "2/2 2/2 ")
	(&stage{Book: first, now: start.Add(3 * time.Minute)}).enter("app", core.Completing)
	assert.Equal(t, total(start.Add(4*time.Minute)), "2/2 2/2 1/2 ")
	a.Close("p", second) // is not its book
	assert.Assert(t, a.Book("p") == first)
	a.Close("p", first)
	assert.Assert(t, a.Book("p") == nil)
	assert.Equal(t, total(start.Add(4*time.Minute)), "2/2 2/2 1/1 ")
	assert.Equal(t, total(start.Add(48*time.Hour)), "1/1 1/1 1/1 ")
	again := a.Open("q", kinds)
	assert.Assert(t, a.Book("q") == again)
	run(again, start.Add(48*time.Hour), "new")
	a.Close("q", again)
	assert.Assert(t, len(a.former) <= minutesMax, len(a.former))
}

// TestReadersDisturbNobody: any number of them read what is written, and what they
// have stays as it is. It is for the race detector.
func TestReadersDisturbNobody(t *testing.T) {
	w := newWorld(t, 1, Config{EndedMax: 5, PlansMax: 5})
	w.live(steps)
	a := &Archive{books: map[string]*Book{}, config: Config{}.withDefaults(), former: map[int64]Count{}}
	book := a.Open("p", w.kinds)
	done := make(chan struct{})
	var readers sync.WaitGroup
	for range 4 {
		readers.Go(func() {
			for ; ; runtime.Gosched() {
				select {
				case <-done:
					return
				default:
				}
				ended, rejected := book.Finished(w.now)
				lives, plans := slices.Concat(ended, rejected), book.Plans()
				for i := range 4 {
					if l := book.Application(core.ApplicationID(fmt.Sprint("app", i))); l != nil {
						lives = append(lives, l)
					}
				}
				had := livesText(lives) + plansText(plans)
				for i := range 4 {
					_ = fmt.Sprint(book.PendingReasons(core.ApplicationID(fmt.Sprint("app", i)), "k1"))
				}
				_ = fmt.Sprint(a.Counts(w.now), book.Since(), book.PlanOf("app0", "k1"))
				assert.Check(t, had == livesText(lives)+plansText(plans))
			}
		})
	}
	for range 3 {
		for _, m := range w.moments {
			book.Observe(m.Step)
		}
	}
	close(done)
	readers.Wait()
}
