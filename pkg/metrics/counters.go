package metrics

import (
	"maps"
	"math/bits"
	"sync"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/core/preemptor"
	"github.com/narwhal-scheduler/narwhal/pkg/outcomes"
)

// A counter is one thing that is counted, as a place in the counters of a
// partition.
type counter uint8

// The counters. A group begins with the counter of the number zero where its texts
// follow an enumeration.
const (
	allocated counter = iota
	released
	rejected
	failed
	submitted
	accepted
	refused
	nominated
	cleared
	nodeAccepted
	nodeRejected
	nodeRemoved
	entered
	releasedOwn     = entered + counter(len(stateTexts))
	releasedForeign = releasedOwn + counter(len(terminations))
	askStated       = releasedForeign + counter(len(terminations))
	recorded        = askStated + counter(len(askStates))
	countersMax     = int(recorded) + len(eventTypes)
)

// A set of counters has a bit for each.
var _ [64 - countersMax]struct{}

// Label values, by the numbers of api.State and of the interface.
var (
	stateTexts   = [...]string{"new", "accepted", "resuming", "running", "completing", "failing", "completed", "failed"}
	terminations = [...]string{"unknown", "stopped", "timeout", "preempted", "placeholder_replaced"}
	askStates    = [...]string{"unknown", "skipped", "scheduled", "reserved", "failed"}
	eventTypes   = [...]string{"unknown", "request", "app", "node", "queue", "user_group"}
)

// counterFamilies are the families of counters. Their first label is partition.
var counterFamilies = [...]struct {
	name, help string
	labels     []string
}{
	{
		"yunikorn_scheduler_container_allocation_attempt_total",
		"Allocations, releases and rejections sent to the resource manager, and requests rejected without an answer.",
		[]string{"partition", "state"},
	},
	{
		"yunikorn_scheduler_application_submission_total",
		"Applications registered in a queue (new), with their first ask (accepted), and rejected.",
		[]string{"partition", "result"},
	},
	{"narwhal_nominations_told_total", "Nominations sent to the resource manager, and those that were cleared.", []string{"partition", "change"}},
	{"narwhal_node_changes_total", "Nodes that were accepted, rejected or removed.", []string{"partition", "change"}},
	{"narwhal_application_transitions_total", "Times that applications entered a state.", []string{"partition", "state"}},
	{"narwhal_releases_total", "Releases sent to the resource manager, by termination type and by the origin of the allocation.", []string{"partition", "termination", "origin"}},
	{"narwhal_ask_states_told_total", "Scheduling states of asks sent to the resource manager.", []string{"partition", "state"}},
	{
		"narwhal_preemption_wasted_total", "Victims that ended for an ask which does not run in their room, by cause.",
		[]string{"partition", "trigger", "cause"},
	},
	{"narwhal_events_total", "Events of the partition, by what they are about.", []string{"partition", "type"}},
}

// wastedFamily is the family of victims that are wasted, which are counted apart.
const wastedFamily = 7

// groups are the counts of each family, one after the other, by label.
var groups = [...]struct {
	family int
	first  counter
	texts  []string
	more   []string // further labels
}{
	{family: 0, first: allocated, texts: []string{"allocated", "released", "rejected", "error"}},
	{family: 1, first: submitted, texts: []string{"new", "accepted", "rejected"}},
	{family: 2, first: nominated, texts: []string{"made", "cleared"}},
	{family: 3, first: nodeAccepted, texts: []string{"accepted", "rejected", "removed"}},
	{family: 4, first: entered, texts: stateTexts[:]},
	{family: 5, first: releasedOwn, texts: terminations[:], more: []string{"own"}},
	{family: 5, first: releasedForeign, texts: terminations[:], more: []string{"foreign"}},
	{family: 6, first: askStated, texts: askStates[:]},
	{family: wastedFamily + 1, first: recorded, texts: eventTypes[:]},
}

// A counterSet is the counters of all partitions. The map is replaced when there is
// one more, so that counting takes no lock.
type counterSet struct {
	grow        sync.Mutex
	byPartition atomic.Pointer[map[string]*counters]
	families    [len(counterFamilies)]*prometheus.CounterVec
}

// counters are those of one partition.
type counters struct {
	of     [countersMax]prometheus.Counter
	wasted [preemptor.Quota][outcomes.Causes]prometheus.Counter // by trigger; Quota comes last, and wastes none
}

func newCounterSet(registry *prometheus.Registry) *counterSet {
	s := new(counterSet)
	for i, f := range counterFamilies {
		s.families[i] = prometheus.NewCounterVec(prometheus.CounterOpts{Name: f.name, Help: f.help}, f.labels)
		registry.MustRegister(s.families[i])
	}
	s.byPartition.Store(&map[string]*counters{})
	return s
}

// of is the counters of a partition, which are made at the first call. From then on
// all of them are scraped, those that are zero too.
func (s *counterSet) of(partition string) *counters {
	if found := (*s.byPartition.Load())[partition]; found != nil {
		return found
	}
	s.grow.Lock()
	defer s.grow.Unlock()
	old := *s.byPartition.Load()
	if found := old[partition]; found != nil {
		return found
	}
	made := s.make(valid(partition))
	next := maps.Clone(old)
	next[partition] = made
	s.byPartition.Store(&next)
	return made
}

func (s *counterSet) make(partition string) *counters {
	made := new(counters)
	for _, g := range groups {
		for i, text := range g.texts {
			made.of[g.first+counter(i)] = s.families[g.family].WithLabelValues(append([]string{partition, text}, g.more...)...)
		}
	}
	for trigger := range made.wasted {
		for cause := range made.wasted[trigger] {
			made.wasted[trigger][cause] = s.families[wastedFamily].WithLabelValues(
				partition, snake(preemptor.Trigger(trigger).String()), snake(outcomes.Cause(cause).String()))
		}
	}
	return made
}

// Count counts the events of one step of a partition. Once a partition was counted
// for, no call makes garbage. It may be called from any goroutine.
//
// The counters of a partition that is gone stay: one that comes again counts on.
func (m *Metrics) Count(partition string, effects api.Effects) {
	if len(effects) == 0 {
		return
	}
	var n counts
	counters := m.counters.of(partition)
	for _, event := range effects {
		n.add(recorded + counter(n.event(event)))
		if e, ok := event.(*outcomes.VictimsWasted); ok {
			counters.wasted[e.Trigger][e.Cause].Add(float64(len(e.Victims)))
		}
	}
	for left := n.touched; left != 0; left &= left - 1 {
		i := bits.TrailingZeros64(left)
		counters.of[i].Add(float64(n.of[i]))
	}
}

// callbackNames are what a resource manager may be called with.
var callbackNames = [...]string{
	"UpdateAllocation", "UpdateApplication", "UpdateNode", "UpdateContainerSchedulingState", "SendEvent", "Nominate", "ClearNomination", "AskWaits",
	"Predicates", "PredicatesOnNodes", "PredicateClass", "PredicatesWith", "PreemptionPredicates", "SelectVictims", "DisruptionBudgets",
	"EndsForeignPods", "GetStateDump", "LeastUse",
}

// newPanics is the counter of panics, with all callbacks.
func newPanics(registry *prometheus.Registry) *prometheus.CounterVec {
	panics := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "narwhal_callback_panics_total",
		Help: "Panics of the resource manager in callbacks and questions.",
	}, []string{"callback"})
	registry.MustRegister(panics)
	for _, name := range callbackNames {
		panics.WithLabelValues(name)
	}
	return panics
}

// CountPanic counts a panic of a resource manager in a callback.
func (m *Metrics) CountPanic(callback string) { m.panics.WithLabelValues(callback).Inc() }

// CountUnanswered counts a request to a partition that was rejected and for which
// the interface has no answer.
func (m *Metrics) CountUnanswered(partition string) { m.counters.of(partition).of[failed].Inc() }
