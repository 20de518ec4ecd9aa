package scenario

import (
	"fmt"
	"strings"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/core"
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
	options   core.Options
	partition *core.Partition // made by the first command that needs it
	now       time.Time
	manager   *manager
	sent      map[core.AllocationKey]*core.Allocation // as last sent and not refused
	records   []string                                // not shown yet
	out       strings.Builder
	indent    string
}

// newWorld is the world of a scenario, which says what its resource manager can do.
func newWorld(s script) *world {
	w := &world{
		kinds:   new(resources.Kinds),
		now:     start,
		manager: newManager(),
		sent:    map[core.AllocationKey]*core.Allocation{},
	}
	w.options = core.Options{Partition: "[scenario]default", Kinds: w.kinds, Feasible: w.manager.feasible}
	if s.has("conflict") || s.has("need") || s.has("refuse") {
		w.options.Simulate = w.manager.simulate
	}
	if s.has("budget") {
		w.options.Budgets = w.manager.budgetsOf
	}
	if s.has("choose") {
		w.options.SelectVictims = w.manager.choose
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
		w.partition = core.NewPartition(w.options, cfg)
	}
	return w.partition
}

func (w *world) apply(c core.Command) { w.print(w.here().Apply(w.now, c)) }

func (w *world) schedule() {
	for range stepsMax {
		fx, more := w.here().Schedule(w.now)
		w.print(fx)
		if !more {
			return
		}
	}
	panic(fmt.Sprintf("after %d calls Schedule still has more to do", stepsMax))
}

// advance moves the time, and schedules at each moment at which the partition
// is due. What comes out then stands below the moment.
func (w *world) advance(by time.Duration) {
	until := w.now.Add(by)
	for range stepsMax {
		due, ok := w.here().Due()
		if !ok || due.After(until) {
			w.now = until
			return
		}
		if due.After(w.now) {
			w.now = due
		}
		before := w.out.String()
		w.out.Reset()
		w.indent = "  "
		w.schedule()
		w.indent = ""
		after := w.out.String()
		w.out.Reset()
		w.out.WriteString(before)
		if after != "" {
			w.printf("at %s\n%s", w.offset(w.now), after)
		}
		if err := w.verify(); err != nil {
			panic(fmt.Sprintf("at %s the books are wrong: %v", w.offset(w.now), err))
		}
	}
	panic(fmt.Sprintf("after %d times the partition is still due at %s", stepsMax, w.offset(w.now)))
}

func (w *world) verify() error {
	if w.partition == nil {
		return nil
	}
	return w.partition.Verify()
}

// offset is a time as it is printed.
func (w *world) offset(t time.Time) string { return t.Sub(start).String() }

// printf adds to what comes out of the step.
func (w *world) printf(format string, args ...any) { fmt.Fprintf(&w.out, format, args...) }
