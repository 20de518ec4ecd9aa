package simulator

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/core"
)

// epoch is the moment at which virtual time begins. Its value is of no
// importance, as all outputs count from it.
var epoch = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// A cluster is the virtual resource manager with its nodes and pods. It knows
// the core by its events only: send puts commands into the inbox of the
// partition, deliver takes in what the partition answers.
type cluster struct {
	scenario *Scenario
	seed     uint64
	events   eventQueue
	now      time.Duration
	inbox    []core.Command
	books    *books
	tally    tally

	nodes  map[core.NodeID]*node
	groups map[string][]*node // in the order of the scenario
	order  []*node
	pods   map[core.AllocationKey]*pod
	apps   map[core.ApplicationID]*application
	// foreignPods are those that were reported and not released.
	foreignPods map[core.AllocationKey]*foreignPod
	daemonSets  []*daemonSet
	serial      int64 // of the last pod that arrived

	delays *rand.Rand // start, stop, restart
	faults *rand.Rand
	// explain asks the core why a pod still waits.
	explain func(*pod) pendingReason
	budgets []*budget
	// step is what the core did about preemption in the step under way.
	step step
	// broken is the first thing the core did that it must not do.
	broken error
}

// tally counts what the summary shows for no single queue.
type tally struct {
	nodesJoined, nodesReturned, nodesFailed, nodesDrained, nodesUndrained int
	placements, bindFailures, restarts                                    int
	releasesLate, releasesTwice, releasesNever, reportsTwice              int
	foreignReported, foreignStatic, foreignResized, foreignEnded          int
	foreignLost, foreignEarly, foreignPreempted                           int
	rejections                                                            map[string]int
	gaveUp                                                                map[pendingReason]*pendingPods
	incidents                                                             []IncidentRecord
	daemonWaits                                                           []time.Duration
	preemption                                                            planTally
}

// An application as the resource manager knows it.
type application struct {
	id        core.ApplicationID
	requested core.QueuePath
	user      string
	queue     *queueBook
	known     bool   // the core has it
	rejected  string // and why
}

func newCluster(s *Scenario, seed uint64) *cluster {
	return &cluster{
		scenario:    s,
		seed:        seed,
		books:       newBooks(s.Config, s.Kinds),
		tally:       tally{rejections: map[string]int{}, gaveUp: map[pendingReason]*pendingPods{}, preemption: newPlanTally()},
		nodes:       make(map[core.NodeID]*node, len(s.Nodes)),
		groups:      map[string][]*node{},
		pods:        map[core.AllocationKey]*pod{},
		apps:        map[core.ApplicationID]*application{},
		foreignPods: map[core.AllocationKey]*foreignPod{},
		step:        step{chosen: map[core.AllocationKey]bool{}, from: map[string]*queueBook{}},
		delays:      stream(seed, "delays"),
		faults:      stream(seed, "faults"),
	}
}

func (c *cluster) send(command core.Command) { c.inbox = append(c.inbox, command) }

// report sends an allocation, by a fault twice.
func (c *cluster) report(a *core.Allocation) {
	c.send(core.AddAllocation{Allocation: a})
	if c.scenario.Faults.ReportTwice.happens(c.faults) {
		c.tally.reportsTwice++
		again := *a
		c.send(core.AddAllocation{Allocation: &again})
	}
}

// after plans something for later; no delay is still after the partition has
// scheduled once more.
func (c *cluster) after(delay time.Duration, do func()) { c.events.plan(c.now+delay, do) }

// pause draws a delay that ends.
func (c *cluster) pause(s Span) time.Duration {
	d, _ := s.draw(c.delays)
	return d
}

// breach keeps the first thing that was wrong.
func (c *cluster) breach(format string, args ...any) {
	if c.broken == nil {
		c.broken = fmt.Errorf("at %s: %w", c.now, fmt.Errorf(format, args...))
	}
}

// deliver takes in the effects of one step of the partition.
func (c *cluster) deliver(effects core.Effects) {
	for _, event := range effects {
		c.observe(event)
	}
	c.checkChosen()
}

// observe takes in an event. Those that say what the cluster has said itself, or
// what is of no use to it, are left alone; those that no scenario can bring about
// are breaches.
func (c *cluster) observe(event core.Event) {
	switch e := event.(type) {
	case core.Placed:
		c.placed(e.Allocation)
	case *core.Ended:
		c.released(e)
	case *core.EvictionRequested:
		c.evictionRequested(e)
	case *core.AllocationRejected:
		c.rejected(e)
	case *core.Nominated:
		c.nominated(e)
	case *core.NominationEnded:
		c.nominationEnded(e)
	case *core.AskReport:
		c.reported(e)
	case *core.QueueReport:
		if !slices.Contains(c.step.overMax, e.Queue) {
			c.step.overMax = append(c.step.overMax, e.Queue)
		}
	case *core.ApplicationRejected:
		c.apps[e.ID].refuse(e.Reason)
	case *core.ApplicationChanged:
		c.updated(e)
	case *core.NodeRejected:
		c.breach("node %s was rejected: %s", e.ID, e.Reason)
	case core.AskAdded, *core.AskEnded, core.ForeignAdded, core.ForeignRemoved, *core.Reserved, *core.Unreserved,
		*core.PreemptionPlanned, *core.Unschedulable, *core.ApplicationReport, *core.ApplicationAccepted, *core.ApplicationGone,
		*core.NodeAdded, *core.NodeSchedulable, *core.NodeRemoved, *core.Reconfigured:
	default:
		c.breach("the core answered with a %T", event)
	}
}

func (a *application) refuse(reason string) {
	if a != nil {
		a.known, a.rejected = false, reason
	}
}

// updated follows the state of an application: one that is over is registered
// anew when it gets another pod.
func (c *cluster) updated(e *core.ApplicationChanged) {
	app := c.apps[e.ID]
	if app == nil {
		c.breach("application %s changed its state to %s and is not known", e.ID, e.State)
		return
	}
	if e.State == core.Completed {
		app.known = false
	}
}

// application makes sure that the core knows an application.
func (c *cluster) application(id core.ApplicationID, requested core.QueuePath, user string) *application {
	app := c.apps[id]
	if app == nil {
		app = &application{id: id, requested: requested, user: user, queue: c.books.queues[requested.Full()]}
		c.apps[id] = app
	}
	if !app.known && app.rejected == "" {
		app.known = true
		c.send(core.AddApplication{ID: id, Queue: requested, User: user, Groups: []string{user}})
	}
	return app
}

// agree compares the books of the resource manager with a view of the core.
func (c *cluster) agree(view *core.View) error {
	format := c.scenario.Kinds.Format
	compare := func(what string, mine, theirs core.QueueView) error {
		if mine.Used.Equal(theirs.Used) {
			return nil
		}
		return fmt.Errorf("%s: the resource manager counts %s, the core %s", what, format(mine.Used), format(theirs.Used))
	}
	var errs []error
	var walk func(q *core.QueueView)
	walk = func(q *core.QueueView) {
		if book := c.books.queues[q.Path]; book != nil {
			errs = append(errs, compare("queue "+string(q.Path), core.QueueView{Used: values(book.used)}, *q))
		}
		for _, child := range q.Queues {
			walk(child)
		}
	}
	walk(view.Root)
	errs = append(errs,
		compare("nodes", core.QueueView{Used: values(c.books.capacity)}, core.QueueView{Used: view.Capacity}),
		compare("foreign pods", core.QueueView{Used: values(c.books.occupied)}, core.QueueView{Used: view.Occupied}))
	return errors.Join(errs...)
}

// sortedPods lists pods by key, for loops whose order matters.
func sortedPods(pods map[core.AllocationKey]*pod) []*pod {
	list := slices.Collect(maps.Values(pods))
	slices.SortFunc(list, func(a, b *pod) int { return int(a.serial - b.serial) })
	return list
}
