package archive

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/core/preemptor"
	"github.com/narwhal-scheduler/narwhal/pkg/events"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// A stage is a book that is shown events one by one.
type stage struct {
	*Book
	now  time.Time
	size resources.Amounts
}

func newStage(t testing.TB, config Config) *stage {
	t.Helper()
	a, err := New(config)
	assert.NilError(t, err)
	return &stage{Book: a.Open("p"), now: start, size: resources.Amounts{10}}
}

func (s *stage) do(effects ...api.Event) []*ApplicationRecord {
	return s.Observe(events.Step{Now: s.now, Effects: effects})
}

func (s *stage) begin(id api.ApplicationID) {
	s.do(&api.ApplicationAccepted{ID: id, Queue: "root.a"})
}

func (s *stage) enter(id api.ApplicationID, from, state api.State) {
	s.do(&api.ApplicationChanged{ID: id, From: from, State: state})
}

func (s *stage) complete(id api.ApplicationID) []*ApplicationRecord {
	s.enter(id, api.Completing, api.Completed)
	return s.do(&api.ApplicationGone{ID: id, State: api.Completed})
}

func (s *stage) allocation(id api.ApplicationID, key api.AllocationKey) *api.Allocation {
	return &api.Allocation{Application: id, Key: key, Node: "n", Amounts: s.size, Placed: s.now}
}

func (s *stage) place(id api.ApplicationID, key api.AllocationKey) {
	s.do(api.Placed{Allocation: s.allocation(id, key)})
}

// plan has victims of app evicted for an ask of it.
func (s *stage) plan(ask api.AllocationKey, victims ...string) {
	d := &preemptor.Decision{Trigger: preemptor.RequiredNode, Reason: preemptor.Chosen}
	effects := api.Effects{&api.PreemptionPlanned{Application: "app", Key: ask, Queue: "root.a", Node: "n", Plan: d}}
	for _, v := range victims {
		d.Victims = append(d.Victims, preemptor.Victim{Candidate: preemptor.Candidate{Key: v}})
		effects = append(effects, &api.EvictionRequested{Allocation: s.allocation("app", api.AllocationKey(v)), For: ask})
	}
	s.do(effects...)
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
		id := api.ApplicationID(fmt.Sprint("app", i))
		s.begin(id)
		ended := s.complete(id)
		assert.Equal(t, len(ended), 1)
		assert.Equal(t, ended[0].ID, id)
		s.do(&api.ApplicationRejected{ID: id, Reason: "no"})
		s.now = s.now.Add(10 * time.Minute)
	}
	ids := func(records []*ApplicationRecord) (out string) {
		for _, r := range records {
			out += string(r.ID) + " "
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
	s.do(&api.ApplicationRejected{ID: "last"})
	assert.Equal(t, s.ended.len(), 0) // and not only hidden
	assert.Equal(t, s.rejected.len(), 1)
}

// TestReasons keeps few reasons of each ask, and not too much of each.
func TestReasons(t *testing.T) {
	s := newStage(t, Config{})
	s.begin("app")
	say := func(reason string) {
		s.do(&api.AskReport{Allocation: &api.Allocation{Application: "app", Key: "k"}, Message: reason})
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
	say(strings.Repeat("x", 10*reasonBytesMax))
	waits = s.PendingReasons("app", "k").Reasons
	assert.Equal(t, len(waits[reasonsMax-1].Message), reasonBytesMax)

	before := s.PendingReasons("app", "k")
	say("later")
	assert.Equal(t, before.Reasons[reasonsMax-1].Message, waits[reasonsMax-1].Message) // it is a copy
	s.place("app", "k")
	assert.Equal(t, len(s.PendingReasons("app", "k").Reasons), 0)
	s.do(&api.Ended{Allocation: s.allocation("app", "k"), Cause: api.CauseBindFailed, Message: "no port"})
	assert.Equal(t, s.PendingReasons("app", "k").Reasons[0].Message, "binding failed: no port")
	s.do(&api.AskEnded{Allocation: s.allocation("app", "k")})
	assert.Equal(t, len(s.PendingReasons("app", "k").Reasons), 0)
	assert.Equal(t, len(s.PendingReasons("other", "k").Reasons), 0)
}

// TestUsageOfResized has an allocation use its old amounts until it is resized, and
// the new ones from then on; nothing of it is kept after its end.
func TestUsageOfResized(t *testing.T) {
	s := newStage(t, Config{})
	s.begin("app")
	s.do(&api.NodeAdded{ID: "n", Attributes: map[string]string{attributeInstance: "big"}})
	first := s.allocation("app", "k")
	s.do(api.Placed{Allocation: first})
	s.now = s.now.Add(10 * time.Second)
	second := *first
	second.Amounts = resources.Amounts{3}
	s.do(&api.Resized{Allocation: &second, Before: first.Amounts})
	assert.Equal(t, len(s.resized), 1)
	s.now = s.now.Add(7 * time.Second)
	third := second
	third.Amounts = resources.Amounts{40}
	s.do(&api.Resized{Allocation: &third, Before: second.Amounts})
	s.now = s.now.Add(time.Second)
	s.do(&api.Ended{Allocation: &third})
	record := s.Application("app")
	assert.DeepEqual(t, record.Used, []ResourceUsage{{"big", resources.Amounts{10*10 + 3*7 + 40*1}}})
	assert.DeepEqual(t, record.MaxUsed, resources.Amounts{40})
	assert.Equal(t, len(s.resized), 0)

	again := s.allocation("app", "k")
	s.do(api.Placed{Allocation: again})
	s.now = s.now.Add(time.Second)
	s.do(&api.Ended{Allocation: again})
	assert.DeepEqual(t, s.Application("app").Used[0].Amounts, resources.Amounts{161 + 10})
}

// TestForeignVictim ends a victim of another scheduler when it leaves its node, but
// not when it has other amounts there.
func TestForeignVictim(t *testing.T) {
	s := newStage(t, Config{})
	s.begin("app")
	foreign := &api.Allocation{Key: "f", Node: "n", Amounts: s.size, Origin: api.Foreign}
	d := &preemptor.Decision{Reason: preemptor.Chosen, Victims: []preemptor.Victim{{Candidate: preemptor.Candidate{Key: "f"}}}}
	s.do(&api.PreemptionPlanned{Application: "app", Key: "k", Node: "n", Plan: d}, &api.EvictionRequested{Allocation: foreign, For: "k"})
	ended := func() bool { return !s.PlanOf("", "f").Victims[0].Ended.IsZero() }
	s.do(api.ForeignRemoved{Allocation: foreign}, api.ForeignAdded{Allocation: foreign})
	assert.Assert(t, !ended())
	elsewhere := *foreign
	elsewhere.Node = "m"
	s.do(api.ForeignRemoved{Allocation: foreign}, api.ForeignAdded{Allocation: &elsewhere})
	assert.Assert(t, ended())
}

// TestStatesAreForgotten has an application go on for ever, whose list does not.
func TestStatesAreForgotten(t *testing.T) {
	s := newStage(t, Config{})
	s.begin("app")
	early := s.Application("app")
	for range changesMax {
		s.enter("app", api.Completing, api.Running)
		s.enter("app", api.Running, api.Completing)
		s.now = s.now.Add(time.Second)
	}
	record := s.Application("app")
	assert.Equal(t, len(record.Changes), changesMax)
	assert.Equal(t, record.Started, start) // still known
	assert.Equal(t, len(early.Changes), 0)
}

// TestPlansAreForgotten by number, and sooner if they name very many.
func TestPlansAreForgotten(t *testing.T) {
	if testing.Short() {
		t.Skip("large, and played without the race detector")
	}
	s := newStage(t, Config{PlansMax: 3})
	s.begin("app")
	for i := range 9 {
		victim := fmt.Sprint("v", i)
		s.place("app", api.AllocationKey(victim))
		s.plan(api.AllocationKey(fmt.Sprint("k", i)), victim)
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

// TestReadPlansDoNotChange has a reader keep a plan while it changes.
func TestReadPlansDoNotChange(t *testing.T) {
	s := newStage(t, Config{})
	s.begin("app")
	s.place("app", "v")
	s.plan("k", "v")
	before := s.Plans()[0]
	s.do(&api.Ended{Allocation: s.allocation("app", "v"), Cause: api.CausePreempted, Evicted: true})
	s.place("app", "k")
	assert.Equal(t, before.Outcome, UnderWay)
	assert.Assert(t, before.Victims[0].Ended.IsZero())
	assert.Equal(t, s.Plans()[0].Outcome, Placed)
	assert.Equal(t, s.PlanOf("app", "v").Victims[0].Ended, start)
}

// TestNoBook reads as empty.
func TestNoBook(t *testing.T) {
	b := (*Archive)(nil).Book("p")
	ended, rejected := b.Finished(start)
	assert.Equal(t, len(ended)+len(rejected)+len(b.Plans())+len(b.PendingReasons("a", "k").Reasons), 0)
	assert.Assert(t, b.Application("a") == nil && b.PlanOf("a", "k") == nil && b.Since().IsZero())
}

// TestCountsOutliveTheirPartition, for a day, and are those of all partitions.
func TestCountsOutliveTheirPartition(t *testing.T) {
	a, err := New(Config{})
	assert.NilError(t, err)
	run := func(b *Book, at time.Time, id api.ApplicationID) {
		s := &stage{Book: b, now: at}
		s.begin(id)
		s.enter(id, api.Accepted, api.Running)
		s.place(id, api.AllocationKey(id+"-1"))
	}
	first, second := a.Open("p"), a.Open("q")
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
	(&stage{Book: first, now: start.Add(3 * time.Minute)}).enter("app", api.Running, api.Completing)
	assert.Equal(t, total(start.Add(4*time.Minute)), "2/2 2/2 1/2 ")
	a.Close("p", second) // is not its book
	assert.Assert(t, a.Book("p") == first)
	a.Close("p", first)
	assert.Assert(t, a.Book("p") == nil)
	assert.Equal(t, total(start.Add(4*time.Minute)), "2/2 2/2 1/1 ")
	assert.Equal(t, total(start.Add(48*time.Hour)), "1/1 1/1 1/1 ")
	again := a.Open("q")
	assert.Assert(t, a.Book("q") == again)
	run(again, start.Add(48*time.Hour), "new")
	a.Close("q", again)
	assert.Assert(t, len(a.former) <= minutesMax, len(a.former))
}

// TestManyReaders has any number of them read what is written. What they have stays
// as it is. It is for the race detector.
func TestManyReaders(t *testing.T) {
	w := newWorld(t, 1, Config{EndedMax: 5, PlansMax: 5})
	w.live(steps)
	a := &Archive{books: map[string]*Book{}, config: Config{}.withDefaults(), former: map[int64]Count{}, logs: map[string]*changeLog{}, leftOver: map[string][]Account{}}
	book := a.Open("p")
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
				records, plans := slices.Concat(ended, rejected), book.Plans()
				for i := range 4 {
					if l := book.Application(api.ApplicationID(fmt.Sprint("app", i))); l != nil {
						records = append(records, l)
					}
				}
				had := recordsText(records) + plansText(plans)
				for i := range 4 {
					_ = fmt.Sprint(book.PendingReasons(api.ApplicationID(fmt.Sprint("app", i)), "k1"))
				}
				_ = fmt.Sprint(a.Counts(w.now), book.Since(), book.PlanOf("app0", "k1"))
				assert.Check(t, had == recordsText(records)+plansText(plans))
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
