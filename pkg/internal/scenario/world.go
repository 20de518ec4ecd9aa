package scenario

import (
	"fmt"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/core"
	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/outcomes"
	"github.com/narwhal-scheduler/narwhal/pkg/reports"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// start is when every scenario begins. It is printed as 0s.
var start = time.Date(2000, time.January, 1, 0, 0, 0, 0, time.UTC)

// stepsMax bounds how often Schedule is called in a row, so that a partition
// that never comes to rest fails a test instead of hanging it.
const stepsMax = 1000

// A world is a partition and what surrounds it in a scenario.
type world struct {
	kinds     *resources.Kinds
	options   api.Options
	partition *core.Partition // made by the first command that needs it
	now       time.Time
	manager   *manager
	outcomes  outcomes.Book
	reports   *reports.Book // of the partition
	output    output
	see       func(api.Event) // of each; nil unless it is a try
}

// newWorld is the world of a scenario, which says what its resource manager can do.
func newWorld(s script) *world {
	kinds := new(resources.Kinds)
	w := &world{
		kinds:   kinds,
		now:     start,
		manager: newManager(),
		output:  output{kinds: kinds},
	}
	w.options = api.Options{Partition: "[scenario]default", Kinds: kinds, Feasible: w.manager.feasible}
	if s.has("conflict") || s.has("need") || s.has("refuse") {
		w.options.Simulate = w.manager.simulate
	}
	if s.has("budget") {
		w.options.Budgets = w.manager.budgetsOf
	}
	if s.has("choose") {
		w.options.SelectVictims = w.manager.selectVictims
	}
	if s.has("alike") {
		w.options.Constraints = w.manager.classOf
	}
	if s.has("tied") {
		w.options.Tied = func(key api.AllocationKey, _ api.NodeID) []string { return w.manager.ties[key] }
	}
	if s.has("best") {
		w.options.Best = w.manager.bestOf
	}
	return w
}

// here is the partition, made with an empty configuration if there was none.
func (w *world) here() *core.Partition {
	if w.partition == nil {
		cfg, err := w.load("")
		if err != nil {
			panic(fmt.Sprintf("the empty configuration: %v", err))
		}
		w.begin(cfg)
	}
	return w.partition
}

// begin makes the partition.
func (w *world) begin(cfg api.Config) {
	w.partition = core.NewPartition(w.options, cfg)
	w.reports = reports.NewBook(w.partition, w.kinds)
}

func (w *world) apply(c api.Command) { w.hearApplied(w.here().Apply(w.now, c)) }

// hearApplied takes in what a command did.
func (w *world) hearApplied(fx api.Effects) { w.hear(w.reports.Observe(w.now, fx)) }

// hear has the resource manager take in effects, and prints them.
func (w *world) hear(fx api.Effects) {
	w.outcomes.Observe(fx)
	for _, event := range fx {
		w.manager.observe(event)
		if w.see != nil {
			w.see(event)
		}
		w.output.event(event)
	}
}

func (w *world) schedule() {
	for range stepsMax {
		fx, more := w.here().Schedule(w.now)
		w.hear(w.reports.Scheduled(w.now, fx))
		if !more {
			w.hear(w.outcomes.Settle())
			return
		}
	}
	panic(fmt.Sprintf("after %d calls Schedule still has more to do", stepsMax))
}

// advance moves the time, and schedules at each moment at which the partition
// is due. What comes out then stands below the moment.
func (w *world) advance(by time.Duration) {
	until := w.now.Add(by)
	w.here()
	for range stepsMax {
		due, ok := w.reports.Due()
		if !ok || due.After(until) {
			w.now = until
			return
		}
		if due.After(w.now) {
			w.now = due
		}
		w.output.at(w.now, w.schedule)
		if w.see != nil {
			continue
		}
		if err := w.verify(); err != nil {
			panic(fmt.Sprintf("at %s the books are wrong: %v", offset(w.now), err))
		}
	}
	panic(fmt.Sprintf("after %d times the partition is still due at %s", stepsMax, offset(w.now)))
}

func (w *world) verify() error {
	if w.partition == nil {
		return nil
	}
	return w.partition.Verify()
}
