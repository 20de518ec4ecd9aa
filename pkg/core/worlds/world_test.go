package worlds

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/core/preemptor"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// amounts are cores, bytes and pods. Pods are a kind that no queue is
// configured for.
type amounts [3]int

const podsKind = 2 // the kind that no queue is configured for

var (
	kindNames = [...]string{resources.VCore, resources.Memory, "pods"}
	kindTable = func() *resources.Kinds {
		k := new(resources.Kinds)
		for _, name := range kindNames {
			if _, err := k.Intern(name); err != nil {
				panic(err)
			}
		}
		return k
	}()
	start = time.Unix(1_000_000, 0).UTC()
)

func (a amounts) of(kind int) int64 {
	if kind == 0 {
		return int64(a[kind]) * 1000
	}
	return int64(a[kind])
}

func (a amounts) amounts() (r resources.Amounts) {
	for k := range a {
		r.Set(resources.Kind(k), a.of(k))
	}
	return r
}

func (a amounts) limits() (l resources.Limits) {
	for k := range a {
		if a[k] > 0 {
			l.Set(resources.Kind(k), a.of(k))
		}
	}
	return l
}

func (a amounts) plus(b amounts, factor int) amounts {
	for k := range a {
		a[k] += factor * b[k]
	}
	return a
}

func (a amounts) fits(free amounts) bool {
	for k := range a {
		if a[k] > 0 && a[k] > free[k] {
			return false
		}
	}
	return true
}

// words are the amounts as a scenario has them, such as "vcore=2 pods=1".
func (a amounts) words() string {
	var list []string
	for k, name := range kindNames {
		if a[k] > 0 {
			list = append(list, fmt.Sprintf("%s=%d", name, a[k]))
		}
	}
	return strings.Join(list, " ")
}

// yaml are the amounts as a configuration has them.
func (a amounts) yaml() string {
	return "{" + strings.NewReplacer("=", ": ", " ", ", ").Replace(a.words()) + "}"
}

// A queue is a queue below another one. Amounts of zero are not configured.
type queue struct {
	Name       string // the full path below root
	Guaranteed amounts
	Max        amounts
	Policy     api.PreemptionPolicy
	Fence      bool // of priorities
	Offset     int
}

type node struct {
	Name     string
	Capacity amounts
	Drained  bool
	Gone     bool   // it is not there
	Rack     string // it has this label; empty is none
}

// attributes are what a node has.
func (n *node) attributes() map[string]string {
	if n.Rack == "" {
		return map[string]string{}
	}
	return map[string]string{"rack": n.Rack}
}

// A pod is an ask, or with a node an allocation that runs from the beginning.
type pod struct {
	Key      string
	Queue    string
	Node     string
	Required bool   // runs on a node that it requires
	Requires string // of an ask: the only node
	Amounts  amounts
	Priority int
	Own      int  // priority that it asks with, where its quorum says one
	Age      int  // minutes before the beginning at which it was created
	At       int  // of an ask: seconds after the beginning at which it comes
	Grace    int  // seconds from its eviction until it has ended; less than zero is never
	Ends     int  // seconds after the beginning at which it is released; zero is never
	Runs     int  // seconds that it runs until it ends; zero is for ever
	Succeeds bool // when it ends, and counts in its quorum then
	Again    bool // when it ends, or was evicted, an equal one comes, until the world ends
	Owner    bool // originator of its application
	OptedOut bool // asks not to be preempted
	Polite   bool // does not preempt others
	Foreign  api.Origin
	Needs    string // the racks of nodes that its selector names, such as r1|r2; it decides not where it may run

	User        string // of its application; empty is ann
	Quorum      string
	Part        string
	Inner       string // part of its part
	Group       string // of tasks
	Placeholder bool
}

// A rule is an answer of the resource manager: "conflict" of two pods on one
// node, "need" of a pod to have another beside it, "refuse" of a node.
type rule struct {
	Verb, Pod, Other string
}

type budget struct {
	Name    string
	Allowed int
	Members []string
}

// A world is everything that is there at the beginning, and the asks that come.
type world struct {
	Queues   []queue // parents before children
	Nodes    []node
	Pods     []pod
	Rules    []rule
	Budgets  []budget
	Policy   preemptor.BudgetPolicy
	Priority api.PriorityPreemption
	Reserve  bool // ordinary asks reserve nodes
	Recreate bool // what was evicted is asked for again
	ways
	groups
	Answers      answers
	KeepsForeign bool // the resource manager does not end pods of other schedulers
	Lowered      loweredMax
	Changes      []change
	ReserveMax   int  // seconds that a claim without evictions lasts; zero is the default, an hour
	End          int  // seconds after which nothing comes again
	Classes      bool // the resource manager says which asks it answers alike
	Several      bool // it is asked about several nodes at once
	Paced        bool // it holds questions back at times
	Batch        int  // the most placements of one call; zero is the default
}

func (w *world) queue(name string) *queue {
	for i := range w.Queues {
		if w.Queues[i].Name == name {
			return &w.Queues[i]
		}
	}
	return nil
}

func (w *world) node(name string) *node {
	for i := range w.Nodes {
		if w.Nodes[i].Name == name {
			return &w.Nodes[i]
		}
	}
	return nil
}

func (w *world) pod(key string) *pod {
	for i := range w.Pods {
		if w.Pods[i].Key == key {
			return &w.Pods[i]
		}
	}
	return nil
}

func (w *world) leaf(name string) bool {
	return !slices.ContainsFunc(w.Queues, func(q queue) bool { return strings.HasPrefix(q.Name, name+".") })
}

func parentOf(name string) string {
	if i := strings.LastIndexByte(name, '.'); i >= 0 {
		return name[:i]
	}
	return ""
}

// pathOf are the queues from a queue up to, and without, root.
func pathOf(name string) (list []string) {
	for ; name != ""; name = parentOf(name) {
		list = append(list, name)
	}
	return list
}

// within reports whether a queue is another one or below it. Everything is
// within root, which has the empty name.
func within(name, above string) bool {
	return above == "" || name == above || strings.HasPrefix(name, above+".")
}

func (w *world) clone() *world {
	c := *w
	c.Queues, c.Nodes, c.Pods, c.Rules = slices.Clone(w.Queues), slices.Clone(w.Nodes), slices.Clone(w.Pods), slices.Clone(w.Rules)
	c.Budgets = slices.Clone(w.Budgets)
	c.Limits, c.Changes = slices.Clone(w.Limits), slices.Clone(w.Changes)
	for i := range c.Budgets {
		c.Budgets[i].Members = slices.Clone(c.Budgets[i].Members)
	}
	return &c
}

// config is the configuration of the world, with what queues inherit.
func (w *world) config() api.Config {
	c := api.Config{Name: "default"}
	c.Preemption.Budgets, c.Preemption.Priority = w.Policy, w.Priority
	if w.Levels {
		c.Levels = [][]string{{"rack"}}
	}
	properties := api.QueueProperties{PreemptionDelay: 30 * time.Second}
	if w.Lowered.Queue != "" {
		c.Preemption.Quota, properties.QuotaDelay = true, time.Duration(w.Lowered.Delay)*time.Second
	}
	properties.BackoffAfter, properties.BackoffDelay, properties.GangWhole = w.Backoff, backoffDelay, w.Whole
	c.Root = api.QueueConfig{Name: "root", Parent: true, Properties: properties, Below: w.template(properties), Limits: w.limitsOf("")}
	c.Root.Queues = w.configBelow("", properties)
	w.allow(&c)
	if w.Devices {
		c.Nodes.Devices = map[string]int64{kindNames[podsKind]: 1}
	}
	c.Nodes.Scarcity = w.Scarcity
	return c
}

func (w *world) configBelow(parent string, above api.QueueProperties) (list []api.QueueConfig) {
	for _, q := range w.Queues {
		if parentOf(q.Name) != parent || w.isDynamic(&q) {
			continue
		}
		p := above
		p.PriorityFence, p.PriorityOffset = q.Fence, int32(q.Offset)
		p.PreemptionPolicy = q.Policy
		if above.PreemptionPolicy == api.PreemptionDisabled && q.Policy == api.PreemptionDefault {
			p.PreemptionPolicy = api.PreemptionDisabled
		}
		config := api.QueueConfig{
			Name: q.Name[strings.LastIndexByte(q.Name, '.')+1:], Parent: !w.leaf(q.Name), Properties: p,
			Guaranteed: q.Guaranteed.amounts(), Max: q.Max.limits(), Limits: w.limitsOf(q.Name),
		}
		if config.Queues = w.configBelow(q.Name, p); config.Parent {
			config.Below = w.template(p)
		}
		list = append(list, config)
	}
	return list
}

// allocation is a pod as the resource manager sends it.
func (w *world) allocation(p *pod) *api.Allocation {
	a := &api.Allocation{
		Key: api.AllocationKey(p.Key), Application: api.ApplicationID(p.application()), Node: api.NodeID(p.Node),
		Amounts: p.Amounts.amounts(), Priority: int32(p.Priority), Originator: p.Owner,
		Created: start.Add(time.Duration(p.At)*time.Second - time.Duration(p.Age)*time.Minute), Required: api.NodeID(p.Requires), Origin: p.Foreign,
		Tags: map[string]string{}, TaskGroup: p.Group, Placeholder: p.Placeholder,
	}
	if p.Quorum != "" {
		a.Tags = map[string]string{api.TagQuorum: p.Quorum, api.TagQuorumLeast: fmt.Sprint(w.Quorums[p.Quorum])}
	}
	if p.Quorum != "" && w.Racks {
		a.Tags[api.TagQuorumRequire] = "rack"
	}
	if p.Quorum != "" && w.Prefers {
		a.Tags[api.TagQuorumPrefer] = "rack"
	}
	if p.Quorum != "" && w.Parts {
		a.Tags[api.TagQuorumEach], a.Tags[api.TagQuorumSubgroup] = "rack", p.Part
	}
	if p.Quorum != "" && w.EndBelow > 0 {
		a.Tags[api.TagQuorumEndBelow] = fmt.Sprint(w.EndBelow)
	}
	if p.Quorum != "" && w.Loose {
		delete(a.Tags, api.TagQuorumEach)
	}
	if p.Quorum != "" && w.PartLeast != nil {
		a.Tags[api.TagQuorumSubgroupLeast] = fmt.Sprint(w.PartLeast[p.Part])
	}
	if p.Inner != "" {
		a.Tags[api.TagQuorumSubgroup] = p.Part + "/" + p.Inner
		a.Tags[api.TagQuorumSubgroupLeast] = fmt.Sprintf("%d/%d", w.PartLeast[p.Part], w.Inner[p.Inner])
	}
	if p.Quorum != "" && w.Ranked {
		a.Priority, a.Tags[api.TagQuorumPriority] = int32(p.Own), fmt.Sprint(p.Priority)
	}
	if p.Needs != "" {
		a.Tags[api.TagNodeSelector] = "rack=" + p.Needs
	}
	if p.Required {
		a.Required = a.Node
	}
	if p.Polite {
		a.Preemptable = api.Preemptable{Stated: true, AllowSelf: true}
	}
	if p.OptedOut {
		a.Tags[api.TagAllowPreemption] = "false"
	}
	return a
}
