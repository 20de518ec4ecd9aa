package core_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"os"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/core"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// strangerFeatures is what a world has from its beginning.
type strangerFeatures struct {
	Refuses     bool // some classes on some nodes, changing with the generation
	Solo        bool // one of some classes on each node
	Constraints bool
	Several     bool // questions about several nodes at once
	Duty        bool // questions are held back nine seconds of ten
	Rate        int  // questions a second; zero is any number
	Reserve     bool
	Budgets     bool
	Batch       int
	Books       bool // compare views and verify after every step
	Kinds       *resources.Kinds
	Config      core.Config
}

// A strangerManager is the resource manager of a world.
type strangerManager struct {
	features strangerFeatures
	now      time.Time
	classOf  map[core.AllocationKey]string
	on       map[core.NodeID]map[string]int
	// generation changes what is refused.
	generation uint64
	held       time.Time // no question before
	second     time.Time // the one in which asked were asked
	asked      int
	questions  int
	refused    map[string]bool // classes that were ever refused anywhere
}

var errStranger = errors.New("refused")

// answer is what holds of a class and a node at this moment.
func (m *strangerManager) answer(class string, node core.NodeID) error {
	if class == "" {
		return nil
	}
	if m.features.Solo && class[0] == 's' && m.on[node][class] > 0 {
		return errStranger
	}
	if m.features.Refuses && class[0] == 'r' {
		h := fnv.New64a()
		fmt.Fprintf(h, "%s/%s/%d", class, node, m.generation)
		if h.Sum64()>>7%4 != 0 {
			return errStranger
		}
	}
	return nil
}

func (m *strangerManager) feasible(key core.AllocationKey, node core.NodeID, _ bool) error {
	if second := m.now.Truncate(time.Second); !second.Equal(m.second) {
		m.second, m.asked = second, 0
	}
	m.asked++
	m.questions++
	class := m.classOf[key]
	err := m.answer(class, node)
	if err != nil {
		m.refused[class] = true
	}
	if os.Getenv("STRANGER_TRACE") != "" {
		fmt.Println("    asked", m.now.Sub(time.Unix(1000, 0)), key, class, node, err)
	}
	return err
}

func (m *strangerManager) pace(q core.Question) (wait time.Duration) {
	if os.Getenv("STRANGER_TRACE") != "" {
		defer func() { fmt.Println("    paced", m.now.Sub(time.Unix(1000, 0)), q, wait) }()
	}
	wait = m.held.Sub(m.now)
	if q == core.FirstQuestion {
		return wait
	}
	second := m.now.Truncate(time.Second)
	if m.features.Duty && second.Unix()%10 != 0 {
		wait = max(wait, time.Unix(second.Unix()/10*10+10, 0).Sub(m.now))
	}
	if m.features.Rate > 0 && second.Equal(m.second) && m.asked >= m.features.Rate {
		wait = max(wait, second.Add(time.Second).Sub(m.now))
	}
	return wait
}

func (m *strangerManager) options() core.Options {
	o := core.Options{Partition: "[rm]default", Kinds: m.features.Kinds, BatchMax: m.features.Batch, ReserveDelay: -1}
	if m.features.Reserve {
		o.ReserveDelay = 0
	}
	if m.features.Refuses || m.features.Solo {
		o.Feasible = m.feasible
		if m.features.Several {
			o.FeasibleOn = func(key core.AllocationKey, nodes []core.NodeID, allocate bool) []error {
				answers := make([]error, len(nodes))
				for i, n := range nodes {
					answers[i] = m.feasible(key, n, allocate)
				}
				return answers
			}
		}
		if m.features.Constraints {
			o.Constraints = func(key core.AllocationKey) string { return m.classOf[key] }
		}
		o.Pace = m.pace
	}
	if m.features.Budgets {
		o.Budgets = func(keys []core.AllocationKey) []core.DisruptionBudget {
			return []core.DisruptionBudget{{Name: "all", Allowed: 2, Allocations: keys}}
		}
	}
	return o
}

// A strangerOp is one thing done to a world.
type strangerOp struct {
	Verb    string // apply, schedule, advance, settle, flip, hold, restore
	Command core.Command
	For     time.Duration
}

func (o strangerOp) String() string {
	if o.Command == nil {
		return fmt.Sprint(o.Verb, " ", o.For)
	}
	c, _ := json.Marshal(o.Command)
	return fmt.Sprintf("%s %T %s", o.Verb, o.Command, c)
}

// A strangerWorld is a partition, what is known of it from events, and its manager.
type strangerWorld struct {
	features strangerFeatures
	manager  *strangerManager
	p        *core.Partition
	books    *strangerBooks
	config   core.Config
	limits   map[core.QueuePath]resources.Limits
	now      time.Time
	changed  time.Time // when a command or an effect was last
	flipped  time.Time
	failed   map[core.AllocationKey]bool // could not be bound once
	promised map[core.AllocationKey]bool // had a node in view once
	printed  func([]byte)                // takes all effects, to compare worlds
	settled  int
	checked  int
}

func newStrangerWorld(f strangerFeatures) *strangerWorld {
	w := &strangerWorld{
		features: f, books: newStrangerBooks(), config: f.Config, now: time.Unix(1000, 0),
		manager: &strangerManager{
			features: f, now: time.Unix(1000, 0), classOf: map[core.AllocationKey]string{},
			on: map[core.NodeID]map[string]int{}, refused: map[string]bool{},
		},
		failed: map[core.AllocationKey]bool{}, promised: map[core.AllocationKey]bool{},
	}
	w.p = core.NewPartition(w.manager.options(), f.Config)
	w.learnLimits()
	return w
}

// learnLimits reads what queues may use from a view, as draining queues keep theirs.
func (w *strangerWorld) learnLimits() {
	w.limits = map[core.QueuePath]resources.Limits{}
	var walk func(q *core.QueueView)
	walk = func(q *core.QueueView) {
		w.limits[q.Path] = q.Max
		for _, c := range q.Queues {
			walk(c)
		}
	}
	walk(w.p.View().Root)
	var compare func(path core.QueuePath, q core.QueueConfig)
	compare = func(path core.QueuePath, q core.QueueConfig) {
		strangerMust(w.limits[path].Equal(q.Max), "queue %s has max %v, configured is %v", path, w.limits[path], q.Max)
		for _, c := range q.Queues {
			compare(path+"."+core.QueuePath(c.Name), c)
		}
	}
	compare("root", w.config.Root)
}

// do plays one op.
func (w *strangerWorld) do(o strangerOp) {
	switch o.Verb {
	case "apply":
		w.apply(o.Command)
	case "schedule":
		w.schedule()
	case "advance":
		w.advance(w.now.Add(o.For))
	case "settle":
		w.settle()
	case "flip":
		w.manager.generation++
		w.flipped = w.now
	case "hold":
		if until := w.now.Add(o.For); until.After(w.manager.held) {
			w.manager.held = until
		}
	case "restore":
		w.p = core.Restore(w.manager.options(), w.now, w.p.View())
		w.check()
		w.changed = w.now
	}
}

func (w *strangerWorld) apply(c core.Command) {
	switch c := c.(type) {
	case core.AddAllocation:
		if class := c.Allocation.Tags["class"]; class != "" {
			w.manager.classOf[c.Allocation.Key] = class
		}
	case core.ReleaseAllocation:
		if c.Termination == core.SchedulingFailed {
			w.failed[c.Key] = true
		}
	}
	w.take(w.p.Apply(w.now, c), false)
	if c, ok := c.(core.Reconfigure); ok {
		w.config = c.Config
		w.learnLimits()
	}
	w.changed = w.now
	w.check()
}

func (w *strangerWorld) schedule() {
	idle := 0
	for range 200_000 {
		fx, more := w.p.Schedule(w.now)
		w.take(fx, true)
		if len(fx) > 0 {
			w.changed = w.now
			w.check()
		}
		if !more {
			due, ok := w.p.Due()
			if ok && due.Equal(w.now.Add(time.Nanosecond)) {
				w.clock(due) // it is the turn of other asks whose questions were held back
				continue
			}
			if ok && !due.After(w.now) {
				idle++
				strangerMust(idle < 10, "due %v at %v after nothing more is to be done", due, w.now)
				continue
			}
			w.live(false)
			return
		}
	}
	strangerFail("Schedule says more for ever")
}

// advance goes from due to due.
func (w *strangerWorld) advance(until time.Time) {
	w.schedule()
	for range 50_000 {
		due, ok := w.p.Due()
		if !ok || due.After(until) {
			w.clock(until)
			before := w.changed
			w.schedule()
			strangerMust(w.changed.Equal(before) || ok && due.Equal(until) || !before.Before(until) || w.changed.After(until),
				"Schedule did something at %v although due %v %v", until, due, ok)
			return
		}
		if due.After(w.now) {
			w.clock(due)
		}
		w.schedule()
	}
	strangerFail("due too often until %v: at %v", until, w.now)
}

func (w *strangerWorld) clock(now time.Time) { w.now, w.manager.now = now, now }

// strangerQuiet is how long nothing happens before everything must have been tried.
const strangerQuiet = 125 * time.Second

// settle waits until nothing happens any more, and then everything that fits must run.
func (w *strangerWorld) settle() {
	w.schedule()
	for range 40 {
		since := w.changed
		if w.flipped.After(since) {
			since = w.flipped
		}
		if w.manager.held.After(since) {
			since = w.manager.held
		}
		if end := since.Add(strangerQuiet); !w.now.Before(end) {
			w.settled++
			w.check()
			w.live(true)
			return
		}
		w.advance(since.Add(strangerQuiet))
	}
}

func (w *strangerWorld) check() {
	if !w.features.Books {
		return
	}
	if err := w.p.Verify(); err != nil {
		strangerFail("Verify: %v", err)
	}
	w.books.agree(w.p.View())
}

func (w *strangerWorld) take(fx core.Effects, scheduling bool) {
	for _, e := range fx {
		if os.Getenv("STRANGER_TRACE") != "" {
			text, _ := json.Marshal(e)
			fmt.Printf("    %v %T %.200s\n", w.now.Sub(time.Unix(1000, 0)), e, text)
		}
		if w.printed != nil {
			text, _ := json.Marshal(e)
			w.printed(fmt.Appendf(nil, "%T %s\n", e, text))
		}
		switch e := e.(type) {
		case core.Placed:
			strangerMust(scheduling, "%s is placed by a command", e.Key)
			w.safe(e.Allocation)
			w.ordered(e.Allocation)
		case *core.Nominated:
			w.promised[e.Key] = true
		case *core.Reserved:
			w.promised[e.Key] = true
		}
		w.books.take(e)
		switch e := e.(type) {
		case core.Placed:
			w.manager.count(e.Allocation, 1)
		case core.Adopted:
			w.manager.count(e.Allocation, 1)
		case *core.Ended:
			w.manager.count(e.Allocation, -1)
		}
	}
}

func (m *strangerManager) count(a *core.Allocation, more int) {
	if m.on[a.Node] == nil {
		m.on[a.Node] = map[string]int{}
	}
	m.on[a.Node][m.classOf[a.Key]] += more
}
