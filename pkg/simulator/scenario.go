package simulator

import (
	"fmt"
	"strings"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/config"
	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// The most a scenario may ask for. They bound memory and time.
const (
	nodesMax   = 200_000
	podsMax    = 5_000_000
	listMax    = 10_000
	devicesMax = 64
)

// A Scenario is everything that happens from outside to a simulated cluster.
// All times count from its beginning. It is read only during a run, so that
// several runs may share one.
type Scenario struct {
	Name        string
	Description string
	Seed        uint64        // used when the options of a run give none
	Until       time.Duration // when to stop; zero is when nothing happens any more
	Ends        time.Duration // when all pods of workloads have ended at the latest; zero is for no such law
	Kinds       *resources.Kinds
	Config      api.Config
	Warnings    Problems // what the queue configuration says without effect
	Nodes       []Node
	Namespaces  []Namespace
	Workloads   []Workload
	Trace       []TracePod // sorted by Arrive
	DaemonSets  []DaemonSet
	Foreign     []Foreign
	Incidents   []Incident
	Changes     []Change // sorted by At
	Budgets     []Budget
	Delays      Delays
	Faults      Faults

	queues  string             // the text of Config
	changed []*config.Document // the configurations after each change
}

// A Node is a machine of the simulated cluster.
type Node struct {
	ID         api.NodeID
	Group      string // nodes that were described together
	Capacity   resources.Amounts
	Attributes map[string]string
	Devices    Devices
	Join       time.Duration
}

// Devices are the GPUs of a node.
type Devices struct {
	Count int
	Model string
}

// Demand is what a pod needs of the GPUs of one node: Count different devices
// with Milli thousandths each, of one of the models; no model means any.
type Demand struct {
	Count  int
	Milli  int64
	Models []string
}

// A Workload is applications of equal pods that arrive over time.
type Workload struct {
	Name         string
	Queue        api.QueuePath
	Users        []string // of the applications, turn about; at least one
	UserGroups   []string // of each user; none is one with the name of the user
	Namespaces   []string // of the applications, turn about; may be none
	Tags         map[string]string
	Applications int
	Pods         Count // of each application
	Arrival      Arrival
	Amounts      resources.Amounts
	Demand       Demand
	Selector     map[string]string // node attributes that must match
	Priority     int32
	Runs         Span
	Once         bool          // a pod that is lost, evicted or preempted does not come again
	Driver       bool          // the first pod of each application is its driver
	OptOut       bool          // the pods ask not to be preempted
	SparesOthers bool          // no pod is to be preempted for these pods
	Stubborn     bool          // the pods do not end when the core evicts them
	Grace        time.Duration // that a pod takes to end when the core evicts it, and says so
	QoS          string        // class of service; empty leaves it to the core
	Gang         *Gang         // nil if the pods come without placeholders
	Group        *Group        // nil if each pod starts by itself, or with its placeholders
}

// A Gang is how the pods of an application come together: one placeholder for each of them is
// asked for first. They come some time after all placeholders run, and take their places.
type Gang struct {
	Timeout time.Duration // of placeholders
	Style   api.GangStyle
	After   time.Duration
}

// A Namespace is the quota that the queue of a namespace gets when a rule of placement makes
// it.
type Namespace struct {
	Name  string
	Quota api.QueueQuota
}

// tagNamespace is the tag of an application that rules of placement read.
const tagNamespace = "namespace"

// quotaOf is the quota of a namespace; nil if it has none.
func (s *Scenario) quotaOf(namespace string) *api.QueueQuota {
	for i := range s.Namespaces {
		if s.Namespaces[i].Name == namespace {
			return &s.Namespaces[i].Quota
		}
	}
	return nil
}

// Arrival says when the applications of a workload, or the pods one by one,
// come: all at From, or one after the other with Gap or, on average, with Mean
// between them.
type Arrival struct {
	From time.Duration
	Gap  time.Duration
	Mean time.Duration // of a Poisson process; zero means Gap applies
	Pods bool          // the pods come one by one, turn about for each application
}

// A TracePod is one pod of a recorded trace, with times of its own.
type TracePod struct {
	Key      api.AllocationKey
	Queue    api.QueuePath
	Class    string // of service, the name of its application
	Priority int32
	Amounts  resources.Amounts
	Demand   Demand
	Arrive   time.Duration
	Leave    time.Duration // whether placed or not; below zero is never
}

// A DaemonSet is one pod on every node, also on those that join later.
type DaemonSet struct {
	Name     string
	Queue    api.QueuePath
	User     string
	Groups   []string // of nodes; none means all
	Amounts  resources.Amounts
	Priority int32
	At       time.Duration // of the roll-out; nodes that join later get their pod then
}

// Foreign is pods that another scheduler placed.
type Foreign struct {
	Name    string
	Groups  []string // of nodes; none means all
	Count   int      // on random nodes; zero is one on every node
	Static  bool     // managed by the node itself
	Amounts resources.Amounts
	At      time.Duration
	Runs    Span
	Resizes []Resize
}

// Resize is new amounts, some time after the pod was reported.
type Resize struct {
	After   time.Duration
	Amounts resources.Amounts
}

// Incident is something that happens to nodes, or to the scheduler.
type Incident struct {
	At     time.Duration
	Kind   IncidentKind
	Nodes  []api.NodeID // by name, or else
	Group  string       // random ones of this group
	Count  int
	For    time.Duration // until it is over; zero is never
	Evicts bool          // a drain ends the pods too
	By     time.Duration // how far the clock jumps
	Back   time.Duration // how much earlier the clock stands after a restart
}

// IncidentKind says what happens.
type IncidentKind uint8

// The incidents: the node vanishes; the node takes no more work; the resource manager refuses
// all pods there, and does not say so; the scheduler begins anew; its clock jumps ahead.
const (
	Fails IncidentKind = iota
	Drains
	Refuses
	Restarts
	Jumps
)

// incidentNames are the incidents as a scenario and a summary name them.
var incidentNames = [...]string{Fails: "fail", Drains: "drain", Refuses: "refuse", Restarts: "restart", Jumps: "clock"}

func (k IncidentKind) String() string { return incidentNames[k] }

// OnNodes reports whether it happens to nodes. Otherwise it happens to the scheduler.
func (k IncidentKind) OnNodes() bool { return k < Restarts }

// A Budget is how many pods of some workloads may be down at once. A pod is down
// from the moment it ends too early until its successor runs.
type Budget struct {
	Name      string
	Workloads []string
	Allowed   int
}

// Delays are how long the virtual resource manager takes.
type Delays struct {
	Start   Span // from a placement until the pod runs
	Stop    Span // from the end of a pod, or its eviction, until its release is reported
	Restart Span // from the loss of a pod until its successor is asked for
}

// Faults are how often the virtual resource manager misbehaves.
type Faults struct {
	BindFails    Probability // a placement cannot be bound
	ReleaseLate  Probability // a release or confirmation is reported with Late more delay
	ReleaseTwice Probability // ... again, after Late
	ReleaseNever Probability // ... not at all
	ReportTwice  Probability // an ask or foreign pod is reported twice
	ForeignEarly Probability // the foreign pods of a node are reported before the node
	Cross        Probability // the core schedules before all messages have come, and these in another order
	Late         Span
	Until        time.Duration // when the last of them happens; zero is never
}

// leaves lists the paths of all leaf queues of a configuration, in its order.
func leaves(config api.Config) []api.QueuePath {
	var paths []api.QueuePath
	walkQueues(config, func(path api.QueuePath, q *api.QueueConfig) {
		if isLeaf(q) {
			paths = append(paths, path)
		}
	})
	return paths
}

func isLeaf(q *api.QueueConfig) bool { return !q.Parent && len(q.Queues) == 0 }

// walkQueues visits every queue, parents first.
func walkQueues(config api.Config, visit func(api.QueuePath, *api.QueueConfig)) {
	var walk func(path api.QueuePath, q *api.QueueConfig)
	walk = func(path api.QueuePath, q *api.QueueConfig) {
		visit(path, q)
		for i := range q.Queues {
			child := &q.Queues[i]
			walk(path+"."+api.QueuePath(child.Name), child)
		}
	}
	walk("root", &config.Root)
}

// CheckQueues reports every workload and daemonset whose queue is no leaf of
// the configuration, as Problems without lines. With rules of placement any name will do.
func (s *Scenario) CheckQueues() error {
	if len(s.Config.Rules) > 0 {
		return nil
	}
	known := map[api.QueuePath]bool{}
	for _, path := range leaves(s.Config) {
		known[path] = true
	}
	var problems Problems
	check := func(what, name string, requested api.QueuePath) {
		if path := requested.Full(); !known[path] {
			problems = append(problems, Problem{
				Key:  what + " " + name,
				Text: fmt.Sprintf("queue %s is no leaf queue of the configuration; these are: %s", path, list(leaves(s.Config))),
			})
		}
	}
	for _, w := range s.Workloads {
		check("workload", w.Name, w.Queue)
	}
	for _, d := range s.DaemonSets {
		check("daemonset", d.Name, d.Queue)
	}
	traced := map[api.QueuePath]bool{}
	for _, p := range s.Trace {
		if !traced[p.Queue] {
			traced[p.Queue] = true
			check("trace class", p.Class, p.Queue)
		}
	}
	return problems.orNil()
}

// list names at most twenty of the paths.
func list(paths []api.QueuePath) string {
	var b strings.Builder
	for i, path := range paths {
		if i == 20 {
			fmt.Fprintf(&b, " and %d more", len(paths)-i)
			break
		}
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(string(path))
	}
	return b.String()
}
