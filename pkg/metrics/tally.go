package metrics

import (
	"maps"
	"sync"
	"sync/atomic"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/narwhal-scheduler/narwhal/pkg/core"
)

// A count is one thing that effects are counted as.
type count uint8

// The counts. A group begins with the count of the number zero where its texts
// follow an enumeration.
const (
	allocated count = iota
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
	releasedOwn     = entered + count(len(stateTexts))
	releasedForeign = releasedOwn + count(len(terminations))
	askStated       = releasedForeign + count(len(terminations))
	recorded        = askStated + count(len(askStates))
	counts          = int(recorded) + len(eventTypes)
)

// Label values, by the numbers of core.State and of the interface. What a later
// interface adds counts as the first.
var (
	stateTexts   = [...]string{"new", "accepted", "running", "completing", "completed", "failing", "failed"}
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
		"Allocations, releases and refusals told to the resource manager, and requests refused without an answer.",
		[]string{"partition", "state"},
	},
	{
		"yunikorn_scheduler_application_submission_total",
		"Applications taken into a queue (new), that began to ask (accepted), and refused.",
		[]string{"partition", "result"},
	},
	{"narwhal_nominations_told_total", "Nominations that the resource manager was told of.", []string{"partition", "change"}},
	{"narwhal_node_changes_total", "Nodes that came, were refused, or went.", []string{"partition", "change"}},
	{"narwhal_application_transitions_total", "Times that applications entered a state.", []string{"partition", "state"}},
	{"narwhal_releases_total", "Allocations told to end, by why and by whose they are.", []string{"partition", "termination", "origin"}},
	{"narwhal_ask_states_told_total", "Scheduling states of asks told to the resource manager.", []string{"partition", "state"}},
	{"narwhal_events_total", "Events, by what they are about.", []string{"partition", "type"}},
}

// groups are the counts of each family, one after the other, by label.
var groups = [...]struct {
	family int
	first  count
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
	{family: 7, first: recorded, texts: eventTypes[:]},
}

// tallies are the counters of all partitions. The map is replaced when there is
// one more, so that counting takes no lock.
type tallies struct {
	grow        sync.Mutex
	byPartition atomic.Pointer[map[string]*tally]
	families    [len(counterFamilies)]*prometheus.CounterVec
}

// A tally is the counters of one partition.
type tally [counts]prometheus.Counter

func newTallies(registry *prometheus.Registry) *tallies {
	t := new(tallies)
	for i, f := range counterFamilies {
		t.families[i] = prometheus.NewCounterVec(prometheus.CounterOpts{Name: f.name, Help: f.help}, f.labels)
		registry.MustRegister(t.families[i])
	}
	t.byPartition.Store(&map[string]*tally{})
	return t
}

// of is the tally of a partition, which is made at the first call. From then on
// all its counters are scraped, those that are zero too.
func (t *tallies) of(partition string) *tally {
	if found := (*t.byPartition.Load())[partition]; found != nil {
		return found
	}
	t.grow.Lock()
	defer t.grow.Unlock()
	old := *t.byPartition.Load()
	if found := old[partition]; found != nil {
		return found
	}
	made := t.make(valid(partition))
	next := maps.Clone(old)
	next[partition] = made
	t.byPartition.Store(&next)
	return made
}

func (t *tallies) make(partition string) *tally {
	made := new(tally)
	for _, g := range groups {
		for i, text := range g.texts {
			made[g.first+count(i)] = t.families[g.family].WithLabelValues(append([]string{partition, text}, g.more...)...)
		}
	}
	return made
}

// Count counts the effects of one step of a partition, and reads them only. An
// effect that core does not know is taken for a request that was refused and for
// which the interface has no answer. Once a partition was counted for, no call
// makes garbage. It may be called from any goroutine.
//
// The counters of a partition that is gone stay: one that comes again counts on.
func (m *Metrics) Count(partition string, effects core.Effects) {
	if len(effects) == 0 {
		return
	}
	var n [counts]uint64
	for _, effect := range effects {
		tell(&n, effect)
	}
	counters := m.tallies.of(partition)
	for i, more := range n {
		if more > 0 {
			counters[i].Add(float64(more))
		}
	}
}

// tell counts one effect.
func tell(n *[counts]uint64, effect any) {
	switch e := effect.(type) {
	case *si.Allocation:
		n[allocated]++
	case *si.AllocationRelease:
		n[released]++
		group := releasedOwn
		if e.ApplicationID == "" {
			group = releasedForeign
		}
		n[group+within(int32(e.TerminationType), len(terminations))]++
	case *si.RejectedAllocation:
		n[rejected]++
	case *si.AcceptedApplication:
		n[submitted]++
		n[entered]++
	case *si.RejectedApplication:
		n[refused]++
	case *si.UpdatedApplication:
		enter(n, e.State)
	case *si.AcceptedNode:
		n[nodeAccepted]++
	case *si.RejectedNode:
		n[nodeRejected]++
	case *si.UpdateContainerSchedulingStateRequest:
		n[askStated+within(int32(e.State), len(askStates))]++
	case core.Nomination:
		if e.Node == "" {
			n[cleared]++
		} else {
			n[nominated]++
		}
	case core.Preemption: // those who go are counted
	case *si.EventRecord:
		n[recorded+within(int32(e.Type), len(eventTypes))]++
		if e.EventChangeDetail == si.EventRecord_NODE_DECOMISSION {
			n[nodeRemoved]++
		}
	default:
		n[failed]++
	}
}

// enter counts the state that an application enters.
func enter(n *[counts]uint64, text string) {
	for s := range stateTexts {
		if core.State(s).String() != text {
			continue
		}
		n[entered+count(s)]++
		if core.State(s) == core.Accepted {
			n[accepted]++
		}
		return
	}
}

// within is a number of the interface as an index, zero if it has none.
func within(number int32, length int) count {
	if number < 0 || int(number) >= length {
		return 0
	}
	return count(number)
}
