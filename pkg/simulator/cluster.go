package simulator

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"

	"github.com/narwhal-scheduler/narwhal/pkg/core"
)

// epoch is the moment at which virtual time begins. Its value is of no
// importance, as all outputs count from it.
var epoch = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// A cluster is the virtual resource manager with its nodes and pods. It knows
// the core by messages only: send puts commands into the inbox of the
// partition, deliver takes in what the partition answers.
type cluster struct {
	scenario *Scenario
	seed     uint64
	agenda   agenda
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
	// why asks the core why a pod still waits.
	why     func(*pod) pendingReason
	budgets []*budget
	// step is what the core said of preemption in the step under way.
	step step
	// broken is the first thing the core did that it must not do.
	broken error
}

// tally counts what the summary shows of no queue.
type tally struct {
	nodesJoined, nodesReturned, nodesFailed, nodesDrained, nodesUndrained int
	placements, bindFailures, restarts                                    int
	releasesLate, releasesTwice, releasesNever, reportsTwice              int
	foreignReported, foreignStatic, foreignResized, foreignEnded          int
	foreignLost, foreignEarly, foreignPreempted                           int
	rejections                                                            map[string]int
	gaveUp                                                                map[pendingReason]*pendingPods
	incidents                                                             []Happening
	daemonWaits                                                           []time.Duration
	preemption                                                            planTally
}

// An application as the resource manager knows it.
type application struct {
	id       core.ApplicationID
	wish     core.QueuePath
	user     string
	queue    *queueBook
	known    bool   // the core has it
	rejected string // and why
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
func (c *cluster) after(delay time.Duration, do func()) { c.agenda.plan(c.now+delay, do) }

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

// deliver takes in what the partition said.
func (c *cluster) deliver(effects core.Effects) {
	for _, effect := range effects {
		switch e := effect.(type) {
		case *si.Allocation:
			c.placed(e)
		case *si.AllocationRelease:
			c.released(e)
		case *si.RejectedAllocation:
			c.rejected(e)
		case *si.AcceptedApplication, *si.AcceptedNode:
		case *si.RejectedApplication:
			c.apps[core.ApplicationID(e.ApplicationID)].refuse(e.Reason)
		case *si.UpdatedApplication:
			c.updated(e)
		case *si.RejectedNode:
			c.breach("node %s was rejected: %s", e.NodeID, e.Reason)
		case *si.EventRecord:
			c.recorded(e)
		case core.Nomination:
			c.nominated(e)
		case *si.UpdateContainerSchedulingStateRequest, core.Preemption:
		default:
			c.breach("the core answered with a %T", effect)
		}
	}
	c.allTold()
}

func (a *application) refuse(reason string) {
	if a != nil {
		a.known, a.rejected = false, reason
	}
}

// updated follows the state of an application: one that is over is registered
// anew when it gets another pod.
func (c *cluster) updated(e *si.UpdatedApplication) {
	app := c.apps[core.ApplicationID(e.ApplicationID)]
	if app == nil {
		c.breach("application %s changed its state to %s and is not known", e.ApplicationID, e.State)
		return
	}
	if e.State == core.Completed.String() || e.State == core.Failed.String() {
		app.known = false
	}
}

// application makes sure that the core knows an application.
func (c *cluster) application(id core.ApplicationID, wish core.QueuePath, user string) *application {
	app := c.apps[id]
	if app == nil {
		app = &application{id: id, wish: wish, user: user, queue: c.books.queues[wish.Full()]}
		c.apps[id] = app
	}
	if !app.known && app.rejected == "" {
		app.known = true
		c.send(core.AddApplication{ID: id, Queue: wish, User: user, Groups: []string{user}})
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

// sortedPods lists pods by key, for the loops whose order is seen.
func sortedPods(pods map[core.AllocationKey]*pod) []*pod {
	list := slices.Collect(maps.Values(pods))
	slices.SortFunc(list, func(a, b *pod) int { return int(a.serial - b.serial) })
	return list
}
