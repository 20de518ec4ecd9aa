package landing

import (
	"cmp"
	"errors"
	"iter"
	"math"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/narwhal-scheduler/narwhal/pkg/core"
	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/framework"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/feasibility"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/pods"
	"github.com/narwhal-scheduler/narwhal/pkg/messages"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// othersApp is the application of pods that other schedulers place. Its queue has no limits.
const othersApp api.ApplicationID = "@others"

// never is a time that does not come.
const never = math.MaxInt64 / 4 * time.Nanosecond

// reset begins with an empty partition. It evicts nothing, and nothing there ends by time.
func (c *Cluster) reset(s *framework.Snapshot) {
	c.kinds = new(resources.Kinds)
	c.snapshot, c.now = s, s.Now()
	c.nodes = map[string]*v1.Node{}
	c.entries = make(map[api.AllocationKey]*entry, len(c.counted))
	c.queueOf = map[api.ApplicationID]api.QueuePath{}
	c.lasting = map[classOnNode]error{}
	c.moved, c.bookings, c.ties, c.lates, c.ending = nil, nil, nil, nil, nil
	document, err := c.unsaid.Load(c.queues, c.kinds)
	if err != nil { // SetQueues loaded the same text
		panic(err)
	}
	configured := document.Partitions[0]
	c.resolves = configured.Resolver != ""
	if c.order != "" {
		configured.Nodes.Packing, configured.Nodes.Devices, configured.Nodes.Scarcity = c.order == framework.MostAllocated, nil, false
	}
	c.scoring.pack(c.order == framework.MostAllocated || c.order == "" && c.scoring.packs)
	c.labelled = configured.Nodes.Scarcity || len(configured.Levels) > 0
	c.packs = configured.Nodes.Packing && len(configured.Nodes.Devices) == 0
	configured.Preemption = api.PreemptionConfig{Disabled: true}
	var best api.Best
	if c.scoring.scores != nil && !c.scoring.others {
		best = c.best
	}
	c.partition = core.NewPartition(api.Options{
		Best:            best,
		Kinds:           c.kinds,
		Feasible:        c.feasible,
		FeasibleOn:      c.feasibleOn,
		Constraints:     c.constraints,
		BatchMax:        1, // so that each placement is counted before the next question
		ReserveDelay:    -1,
		CompletingDelay: never,
		RetryDelay:      retryDelay,
		RetryMax:        retryMax,
	}, configured)
}

// A classOnNode is pods of a class on a node.
type classOnNode struct {
	class string
	node  api.NodeID
}

// feasible asks the filter plugins about one node. The core asks about a node that a question
// frees for each class that waits, so what does not change in a cycle is asked once.
func (c *Cluster) feasible(key api.AllocationKey, node api.NodeID, _ bool) error {
	e := c.entries[key]
	if t := c.trial; t != nil && t.next == e {
		if err := t.refuses(string(node)); err != nil {
			return err
		}
	}
	at := classOnNode{c.classOf(e), node}
	if refused := c.lasting[at]; refused != nil {
		return refused
	}
	err := c.checker.Check(e.pod, string(node))
	if refused, ok := errors.AsType[*feasibility.Refusal](err); ok && refused.Lasting() && at.class != "" {
		c.lasting[at] = err
	}
	return err
}

// feasibleOn asks the filter plugins about several nodes, those that will do.
func (c *Cluster) feasibleOn(key api.AllocationKey, nodes []api.NodeID, _ bool) []error {
	e := c.entries[key]
	answers := make([]error, len(nodes))
	var names []string
	var at []int
	for i, n := range nodes {
		if t := c.trial; t != nil && t.next == e {
			if answers[i] = t.refuses(string(n)); answers[i] != nil {
				continue
			}
		}
		names, at = append(names, string(n)), append(at, i)
	}
	for i, err := range c.checker.CheckNodes(e.pod, names) {
		answers[at[i]] = err
	}
	return answers
}

// best chooses among nodes as the scheduler of this project does, with kube-scheduler's scores beside its own order.
func (c *Cluster) best(key api.AllocationKey, nodes iter.Seq2[api.NodeID, int64], most int) []api.NodeID {
	e := c.entries[key]
	if !c.rules.IsOurs(e.pod) {
		return nil
	}
	c.tellScores()
	var best []api.NodeID
	for _, name := range c.scoring.scores.Best(e.pod, func(yield func(string, int64) bool) {
		for id, points := range nodes {
			if !yield(string(id), points) {
				return
			}
		}
	}, most) {
		best = append(best, api.NodeID(name))
	}
	return best
}

// constraints names the class of a pod. A replacement shares nothing with pods that wait: what
// the core remembers of those was asked at different times, and so would be what it says of it. Where
// not all nodes will do it shares nothing with any other.
func (c *Cluster) constraints(key api.AllocationKey) string {
	e := c.entries[key]
	class := c.classOf(e)
	switch {
	case class == "" || !e.replaces:
		return class
	case c.trial != nil && (c.trial.accept != nil || c.trial.scored):
		return ""
	}
	return "replacement " + class
}

// bookAll tells the core of all nodes and pods, those that run before those that wait.
// Before are the entries of the last cycle: of a pod that did not change the same are used.
func (c *Cluster) bookAll(before map[api.AllocationKey]*entry) {
	for _, n := range c.snapshot.Nodes() {
		c.nodes[n.Name] = n
		amounts, err := messages.AmountsOf(c.kinds, pods.NodeResources(n))
		if err != nil {
			continue // a node of absurd amounts takes nothing
		}
		node := api.AddNode{ID: api.NodeID(n.Name), Capacity: amounts, Drained: n.Spec.Unschedulable}
		if c.labelled {
			node.Attributes = pods.Attributes(n)
		}
		c.observe(c.partition.Apply(c.now, node))
	}
	c.reclass(before)
	var waiting []*v1.Pod
	for _, p := range c.snapshot.Standing() {
		switch {
		case pods.IsTerminal(p):
		case pods.IsBound(p):
			c.enter(p, 0, before[api.AllocationKey(pods.Key(p))])
		case !pods.IsGated(p) && p.DeletionTimestamp == nil && !c.snapshot.WasEvicted(p.UID):
			waiting = append(waiting, p)
		}
	}
	for i, p := range waiting {
		c.enter(p, i, before[api.AllocationKey(pods.Key(p))])
	}
	c.watch(waiting)
}

// reclass drops the classes of entries where pods of this cycle may make others of them.
func (c *Cluster) reclass(before map[api.AllocationKey]*entry) {
	for _, p := range c.snapshot.Standing() {
		c.checker.Learn(p)
	}
	version := c.checker.ClassVersion()
	if version == c.classes {
		return
	}
	c.classes = version
	for _, e := range before {
		e.classed = false
	}
}

// enter tells the core of a pod that may be that of an entry of the last cycle. What was worked out
// for it then is used again. The turn is its place among the pods that wait.
func (c *Cluster) enter(pod *v1.Pod, turn int, before *entry) {
	e := &entry{pod: pod, turn: turn, leaves: c.snapshot.WasEvicted(pod.UID)}
	if before != nil && before.pod == pod {
		e.takes, e.class, e.classed = before.takes, before.class, before.classed
	}
	c.tell(e)
}

// replace tells the core of a replacement.
func (c *Cluster) replace(pod *v1.Pod) *entry {
	e := &entry{pod: pod, replaces: true}
	c.tell(e)
	return e
}

// tell tells the core of a pod: of what runs as an allocation, of what waits as an ask.
func (c *Cluster) tell(e *entry) {
	pod := e.pod
	key := api.AllocationKey(pods.Key(pod))
	c.entries[key] = e
	if e.takes == nil {
		e.takes = pods.Resources(pod)
	}
	amounts, unknown, err := messages.WantedOf(c.kinds, e.takes, nil)
	if err != nil {
		c.say(err.Error())
		return
	}
	e.allocation = &api.Allocation{
		Key: key, Node: api.NodeID(pod.Spec.NodeName), Amounts: amounts, Unknown: unknown,
		// The core orders pods of one age by arrival, and one that a question placed arrives
		// again. Ages are whole seconds, so the turn decides only between equal ones.
		Created: pod.CreationTimestamp.Add(time.Duration(e.turn)),
	}
	if pod.Spec.Priority != nil {
		e.allocation.Priority = *pod.Spec.Priority
	}
	if c.rules.IsOurs(pod) || e.allocation.Node == "" {
		e.allocation.Application = c.applicationOf(pod)
		e.allocation.Required = api.NodeID(pods.RequiredNode(pod))
		e.allocation.Tags = c.snapshot.GroupTags(pod)
		if needs := pods.NodeSelector(pod); needs != "" {
			if e.allocation.Tags == nil {
				e.allocation.Tags = map[string]string{}
			}
			e.allocation.Tags[api.TagNodeSelector] = needs
		}
	} else {
		e.allocation.Origin = api.Foreign
	}
	if t := c.trial; t != nil && e.replaces && t.target != "" {
		e.allocation.Required = api.NodeID(t.target)
	}
	told := *e.allocation
	c.observe(c.partition.Apply(c.now, api.AddAllocation{Allocation: &told}))
}

// applicationOf is the application of a pod, which the core is told of first. As with the scheduler one of which no pod runs
// may be rejected. Groups of users that only the scheduler looks up are not known here, so none is then.
func (c *Cluster) applicationOf(pod *v1.Pod) api.ApplicationID {
	if !c.rules.IsOurs(pod) {
		return c.announce(api.AddApplication{ID: othersApp, Queue: api.RecoveryQueue, Forced: true})
	}
	app, _ := c.rules.ApplicationOf(pod, c.snapshot.Namespace(pod.Namespace)) // right without what cannot be read
	said := app.Request(pod.CreationTimestamp.Time, false)
	return c.announce(api.AddApplication{
		ID: api.ApplicationID(app.Qualified()), Queue: api.QueuePath(said.QueueName), User: said.Ugi.User,
		Groups: slices.Clone(app.Groups), Tags: app.Tags, Forced: pods.IsBound(pod) || c.resolves,
	})
}

// announce tells the core of an application, unless it has accepted it.
func (c *Cluster) announce(app api.AddApplication) api.ApplicationID {
	if c.queueOf[app.ID] == "" {
		c.observe(c.partition.Apply(c.now, app))
	}
	return app.ID
}

// release takes an allocation or ask off the books.
func (c *Cluster) release(a *api.Allocation) {
	c.observe(c.partition.Apply(c.now, api.ReleaseAllocation{Application: a.Application, Key: a.Key}))
}

// observe takes note of what the core did.
func (c *Cluster) observe(effects api.Effects) {
	for _, event := range effects {
		switch event := event.(type) {
		case *api.ApplicationAccepted:
			c.queueOf[event.ID] = event.Queue
		case *api.ApplicationRejected:
			c.say(event.Reason)
		case api.Placed:
			c.place(event.Allocation)
		case *api.AllocationRejected:
			if e := c.entries[event.Key]; e != nil {
				e.allocation = nil
				c.say(event.Reason)
			}
		}
	}
}

// say notes why the replacement in question is not taken in. The first reason counts: without its application it has no place.
func (c *Cluster) say(reason string) {
	if c.trial != nil {
		c.trial.refused = cmp.Or(c.trial.refused, reason)
	}
}

// place counts a pod on the node that the core chose.
func (c *Cluster) place(a *api.Allocation) {
	e := c.entries[a.Key]
	placed := *e.allocation
	placed.Node = a.Node
	e.allocation = &placed
	there := e.pod.DeepCopy()
	there.Spec.NodeName = string(a.Node)
	c.set(there)
	c.moved = append(c.moved, there)
	if c.trial != nil && c.trial.next != e {
		c.trial.others = append(c.trial.others, e)
	}
}
