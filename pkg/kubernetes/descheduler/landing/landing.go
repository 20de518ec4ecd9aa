package landing

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/narwhal-scheduler/narwhal/pkg/config"
	"github.com/narwhal-scheduler/narwhal/pkg/core"
	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/framework"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/internal/scores"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/feasibility"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/pods"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// The time of the core moves only so that it asks again: after retryDelay about nodes that were
// freed, after retryMax about all nodes. Both are so short that nothing else comes due.
const (
	retryDelay = time.Nanosecond
	retryMax   = time.Microsecond
)

// Options is what may be chosen. The zero value knows no queues, and all pods are those
// of other schedulers.
type Options struct {
	// Rules say which pods the scheduler places, and in which queue.
	Rules pods.Rules
	// Queues is the queue configuration of the scheduler, as YAML; empty is the default
	// one. Its first partition counts.
	Queues string
	// Defaults are of what Queues leave out, as the scheduler has them.
	Defaults config.Defaults
	// Scores say which nodes kube-scheduler prefers, for pods of other schedulers, and beside the order of the core for those
	// of this project; they must be the Cluster's own. Nil: pods of other schedulers go to the first node in the order of
	// the core that will do, and that order decides alone about the others.
	Scores *scores.Cluster
	// OrderAlone places the pods of this project by the order of the core alone, as their scheduler does with
	// --preferred-places=false.
	OrderAlone bool
	// Measured is what nodes are measured to use, and the time, where that counts for the pods of this project. It is asked in
	// each Sync. Nil: it does not count.
	Measured func() (now time.Time, measured []framework.Measurement)
}

// A Cluster is where pods run in one cycle, and where those land that are evicted. It is
// safe for concurrent use; one question is answered after the other.
type Cluster struct {
	checker *feasibility.Checker
	rules   pods.Rules
	queues  string
	unsaid  config.Defaults // of queues
	order   framework.NodeOrder
	scoring scoring

	mu        sync.Mutex
	partition *core.Partition
	packs     bool // it prefers full nodes
	labelled  bool // labels of nodes say which are scarce, or their domains
	kinds     *resources.Kinds
	now       time.Time
	snapshot  *framework.Snapshot
	nodes     map[string]*v1.Node
	entries   map[api.AllocationKey]*entry // pods of the snapshot, and replacements
	counted   map[types.UID]*v1.Pod        // by the checker
	classes   uint64                       // the version of the classes of entries
	usage     map[api.QueuePath]*queueUse
	queueOf   map[api.ApplicationID]api.QueuePath // of those that are accepted
	resolves  bool                                // the scheduler looks groups of users up
	lasting   map[classOnNode]error               // refusals that do not change in a cycle
	waiting   []*waitingClass
	tied      []*waitingClass // those of waiting that look at other pods
	ending    []*entry        // that were evicted, and hold their room until a replacement needs it
	moved     []*v1.Pod       // that came or went since the last time that the core was let to ask
	trial     *trial          // what the last question has changed; nil: nothing
	bookings  []framework.Booking
	ties      []tie  // of bookings
	lates     []late // of these
}

var (
	_ framework.Landing       = (*Cluster)(nil)
	_ framework.BookingLister = (*Cluster)(nil)
	_ framework.Expecter      = (*Cluster)(nil)
	_ framework.Queues        = (*Cluster)(nil)
	_ framework.NamedLanding  = (*Cluster)(nil)

	_ framework.OrderedLanding = (*Cluster)(nil)
	_ framework.Opener         = (*Cluster)(nil)
)

// An entry is a pod and what the core knows of it.
type entry struct {
	pod        *v1.Pod
	allocation *api.Allocation
	takes      *si.Resource // on its node
	turn       int          // among the pods that wait
	class      string       // of equal pods, worked out when it is first asked
	classed    bool
	replaces   bool // a pod that was evicted
	leaves     bool // its eviction began before the snapshot
}

// New makes a Cluster over a Checker, which must be its own: what is counted there is
// replaced in each cycle. The error says what is wrong with the queues.
func New(checker *feasibility.Checker, o Options) (*Cluster, error) {
	c := &Cluster{checker: checker, rules: o.Rules, unsaid: o.Defaults, counted: map[types.UID]*v1.Pod{}, scoring: scoring{scores: o.Scores, others: o.OrderAlone, use: o.Measured}}
	if err := c.SetQueues(o.Queues); err != nil {
		return nil, err
	}
	c.reset(framework.NewSnapshot(framework.Objects{}, time.Time{}))
	return c, nil
}

// CheckedBy implements framework.NamedLanding.
func (c *Cluster) CheckedBy() string { return "core" }

// SetQueues replaces the queue configuration, from the next cycle on. Where it is wrong
// the one before stays.
func (c *Cluster) SetQueues(text string) error {
	if _, err := c.unsaid.Load(text, nil); err != nil {
		return fmt.Errorf("queues of the scheduler: %w", err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.queues = text
	return nil
}

// SetOrder replaces the order of nodes, from the next cycle on. Empty: that of the queue configuration.
func (c *Cluster) SetOrder(order framework.NodeOrder) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.order = order
}

// PackOthers says whether other schedulers prefer full nodes where SetOrder does not say it, from the next cycle on.
func (c *Cluster) PackOthers(packs bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.scoring.packs = packs
}

// NodeOrder implements framework.OrderedLanding.
func (c *Cluster) NodeOrder() framework.NodeOrder {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.packs {
		return framework.MostAllocated
	}
	return framework.LeastAllocated
}

// Sync begins a cycle with a snapshot. What was booked before is forgotten. Pods that wait
// are placed first, where there is room for them. It takes time linear in the number of
// nodes and pods.
func (c *Cluster) Sync(s *framework.Snapshot) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.takeBack()
	before := c.entries
	c.count(s)
	c.scoring.measure()
	c.reset(s)
	c.bookAll(before)
	c.settle()
	c.readQueues()
}

// count brings the Checker in step with a snapshot: what is counted there already, and is
// the same object, stays.
func (c *Cluster) count(s *framework.Snapshot) {
	for name := range c.nodes {
		if s.Node(name) == nil {
			c.checker.RemoveNode(name)
			c.scoring.removeNode(name)
		}
	}
	for _, n := range s.Nodes() {
		if c.nodes[n.Name] != n {
			c.checker.SetNode(n)
			c.scoring.setNode(n)
		}
	}
	running := 0
	for _, p := range s.Standing() {
		if !counts(p) {
			continue
		}
		running++
		if c.counted[p.UID] != p {
			c.set(p)
		}
	}
	if running != len(c.counted) { // otherwise no pod that was counted is gone
		c.forget(s)
	}
}

// counts says whether a pod takes room on a node.
func counts(pod *v1.Pod) bool { return pods.IsBound(pod) && !pods.IsTerminal(pod) }

// forget counts pods no more that do not run in a snapshot.
func (c *Cluster) forget(s *framework.Snapshot) {
	runs := make(map[types.UID]bool, len(c.counted))
	for _, p := range s.Standing() {
		if counts(p) {
			runs[p.UID] = true
		}
	}
	for uid, p := range c.counted {
		if !runs[uid] {
			c.unset(p)
		}
	}
}

// set counts a pod on its node, and unset counts it no more.
func (c *Cluster) set(pod *v1.Pod) {
	c.counted[pod.UID] = pod
	c.checker.SetPod(pod)
	c.scoring.setPod(pod)
}

func (c *Cluster) unset(pod *v1.Pod) {
	delete(c.counted, pod.UID)
	c.checker.RemovePod(pod)
	c.scoring.removePod(pod)
}

// Place implements framework.Landing. A pod goes where its scheduler prefers to have it, unless a place is
// reserved: that of this project as its core says, and others by the scores of kube-scheduler.
func (c *Cluster) Place(pod *v1.Pod, choice framework.Choice) (framework.Place, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	ours := c.rules.IsOurs(pod)
	switch {
	case choice.Reserved || !ours && c.scoring.scores == nil:
		node, err := c.try(pod, choice.Accept)
		return framework.Place{Node: node, Open: !choice.Reserved}, err
	case !ours:
		return c.placeByScores(pod, choice)
	}
	node, err := c.try(pod, nil)
	if err != nil {
		return framework.Place{}, err
	}
	if err := choice.Accepts(node); err != nil {
		return framework.Place{}, framework.UnsuitedOn(pod, framework.Place{Node: node}, err)
	}
	return framework.Place{Node: node}, nil
}

// Book implements framework.Landing.
func (c *Cluster) Book(pod *v1.Pod, node string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if node == "" {
		c.takeBack()
		e := c.entries[api.AllocationKey(pods.Key(pod))]
		if !e.runs() {
			return framework.ErrUnknownPod
		}
		c.set(c.endingOf(pod))
		c.takeOff(e.allocation)
		c.leave(e)
		return nil
	}
	if t := c.trial; t == nil || t.asked != pod || t.node() != node {
		_, err := c.try(pod, func(other string) error {
			if other != node {
				return errOther
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	if c.trial.gone == nil {
		return framework.ErrUnknownPod
	}
	c.takeOff(c.trial.gone.allocation)
	c.bookings = append(c.bookings, framework.Booking{Pod: pod, Node: node})
	if len(c.trial.equals) > 0 {
		c.ties = append(c.ties, tie{c.trial.next.pod.UID, pod, c.trial.equals})
	}
	c.lateOf(pod)
	if !c.trial.self {
		c.leave(c.trial.gone)
	}
	c.trial = nil
	return nil
}

// leave notes that a pod was evicted, and has not ended.
func (c *Cluster) leave(e *entry) {
	e.leaves = true
	c.ending = append(c.ending, e)
}

// Expect implements framework.Expecter. What queues use is counted without it, as without all
// replacements.
func (c *Cluster) Expect(replacement *v1.Pod) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.entries[api.AllocationKey(pods.Key(replacement))] != nil && c.trial == nil {
		return
	}
	c.takeBack()
	if c.entries[api.AllocationKey(pods.Key(replacement))] == nil {
		c.set(replacement)
		c.enter(replacement, 0, nil)
	}
}

// Bookings are the replacements that stand somewhere in this cycle, in the order in which they
// were booked.
func (c *Cluster) Bookings() []framework.Booking {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.bookings)
}
