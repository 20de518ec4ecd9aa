package core_test

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/core"
	"github.com/narwhal-scheduler/narwhal/pkg/core/preemptor"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// tortureAmounts are cores, bytes and pods. Pods are a kind that no queue is
// configured for.
type tortureAmounts [3]int

const torturePods = 2 // the kind that no queue is configured for

var (
	tortureNames = [...]string{resources.VCore, resources.Memory, "pods"}
	tortureKinds = func() *resources.Kinds {
		k := new(resources.Kinds)
		for _, name := range tortureNames {
			if _, err := k.Intern(name); err != nil {
				panic(err)
			}
		}
		return k
	}()
	tortureStart = time.Unix(1_000_000, 0).UTC()
)

func (a tortureAmounts) of(kind int) int64 {
	if kind == 0 {
		return int64(a[kind]) * 1000
	}
	return int64(a[kind])
}

func (a tortureAmounts) amounts() (r resources.Amounts) {
	for k := range a {
		r.Set(resources.Kind(k), a.of(k))
	}
	return r
}

func (a tortureAmounts) limits() (l resources.Limits) {
	for k := range a {
		if a[k] > 0 {
			l.Set(resources.Kind(k), a.of(k))
		}
	}
	return l
}

func (a tortureAmounts) plus(b tortureAmounts, factor int) tortureAmounts {
	for k := range a {
		a[k] += factor * b[k]
	}
	return a
}

func (a tortureAmounts) fits(free tortureAmounts) bool {
	for k := range a {
		if a[k] > 0 && a[k] > free[k] {
			return false
		}
	}
	return true
}

// words are the amounts as a scenario has them, such as "vcore=2 pods=1".
func (a tortureAmounts) words() string {
	var list []string
	for k, name := range tortureNames {
		if a[k] > 0 {
			list = append(list, fmt.Sprintf("%s=%d", name, a[k]))
		}
	}
	return strings.Join(list, " ")
}

// yaml are the amounts as a configuration has them.
func (a tortureAmounts) yaml() string {
	return "{" + strings.NewReplacer("=", ": ", " ", ", ").Replace(a.words()) + "}"
}

// A tortureQueue is a queue below another one. Amounts of zero are not configured.
type tortureQueue struct {
	Name       string // the full path below root
	Guaranteed tortureAmounts
	Max        tortureAmounts
	Policy     core.PreemptionPolicy
	Fence      bool // of priorities
	Offset     int
}

type tortureNode struct {
	Name     string
	Capacity tortureAmounts
	Drained  bool
}

// A torturePod is an ask, or with a node an allocation that runs from the beginning.
type torturePod struct {
	Key      string
	Queue    string
	Node     string
	Required bool   // runs on a node that it requires
	Requires string // of an ask: the only node
	Amounts  tortureAmounts
	Priority int
	Age      int  // minutes before the beginning at which it was created
	At       int  // of an ask: seconds after the beginning at which it comes
	Grace    int  // seconds from its eviction until it has ended; less than zero is never
	Ends     int  // seconds after the beginning at which it is released; zero is never
	Owner    bool // originator of its application
	OptedOut bool // asks not to be preempted
	Polite   bool // does not preempt others
	Foreign  core.Origin

	User        string // of its application; empty is ann
	Quorum      string
	Group       string // of tasks
	Placeholder bool
}

// A tortureRule is an answer of the resource manager: "conflict" of two pods on one
// node, "need" of a pod to have another beside it, "refuse" of a node.
type tortureRule struct {
	Verb, Pod, Other string
}

type tortureBudget struct {
	Name    string
	Allowed int
	Members []string
}

// A tortureWorld is everything that is there at the beginning, and the asks that come.
type tortureWorld struct {
	Queues   []tortureQueue // parents before children
	Nodes    []tortureNode
	Pods     []torturePod
	Rules    []tortureRule
	Budgets  []tortureBudget
	Policy   preemptor.BudgetPolicy
	Priority core.PriorityPreemption
	Reserve  bool // ordinary asks reserve nodes
	Recreate bool // what was evicted is asked for again
	tortureWays
	tortureMembers
	Answers      tortureAnswers
	KeepsForeign bool // the resource manager does not end pods of other schedulers
	Lowered      tortureLowered
}

func (w *tortureWorld) queue(name string) *tortureQueue {
	for i := range w.Queues {
		if w.Queues[i].Name == name {
			return &w.Queues[i]
		}
	}
	return nil
}

func (w *tortureWorld) node(name string) *tortureNode {
	for i := range w.Nodes {
		if w.Nodes[i].Name == name {
			return &w.Nodes[i]
		}
	}
	return nil
}

func (w *tortureWorld) pod(key string) *torturePod {
	for i := range w.Pods {
		if w.Pods[i].Key == key {
			return &w.Pods[i]
		}
	}
	return nil
}

func (w *tortureWorld) leaf(name string) bool {
	return !slices.ContainsFunc(w.Queues, func(q tortureQueue) bool { return strings.HasPrefix(q.Name, name+".") })
}

func tortureParent(name string) string {
	if i := strings.LastIndexByte(name, '.'); i >= 0 {
		return name[:i]
	}
	return ""
}

// torturePath are the queues from a queue up to, and without, root.
func torturePath(name string) (list []string) {
	for ; name != ""; name = tortureParent(name) {
		list = append(list, name)
	}
	return list
}

// tortureWithin reports whether a queue is another one or below it. Everything is
// within root, which has the empty name.
func tortureWithin(name, above string) bool {
	return above == "" || name == above || strings.HasPrefix(name, above+".")
}

func (w *tortureWorld) clone() *tortureWorld {
	c := *w
	c.Queues, c.Nodes, c.Pods, c.Rules = slices.Clone(w.Queues), slices.Clone(w.Nodes), slices.Clone(w.Pods), slices.Clone(w.Rules)
	c.Budgets = slices.Clone(w.Budgets)
	c.Limits = slices.Clone(w.Limits)
	for i := range c.Budgets {
		c.Budgets[i].Members = slices.Clone(c.Budgets[i].Members)
	}
	return &c
}

// config is the configuration of the world, with what queues inherit.
func (w *tortureWorld) config() core.Config {
	c := core.Config{Name: "default"}
	c.Preemption.Budgets, c.Preemption.Priority = w.Policy, w.Priority
	properties := core.QueueProperties{PreemptionDelay: 30 * time.Second}
	if w.Lowered.Queue != "" {
		c.Preemption.Quota, properties.QuotaDelay = true, time.Duration(w.Lowered.Delay)*time.Second
	}
	properties.BackoffAfter, properties.BackoffDelay, properties.GangWhole = w.Backoff, backoffDelay, w.Whole
	c.Root = core.QueueConfig{Name: "root", Parent: true, Properties: properties, Below: w.template(properties), Limits: w.limitsOf("")}
	c.Root.Queues = w.configBelow("", properties)
	w.allow(&c)
	if w.Devices {
		c.Nodes.Devices = map[string]int64{tortureNames[torturePods]: 1}
	}
	return c
}

func (w *tortureWorld) configBelow(parent string, above core.QueueProperties) (list []core.QueueConfig) {
	for _, q := range w.Queues {
		if tortureParent(q.Name) != parent || w.isDynamic(&q) {
			continue
		}
		p := above
		p.PriorityFence, p.PriorityOffset = q.Fence, int32(q.Offset)
		p.PreemptionPolicy = q.Policy
		if above.PreemptionPolicy == core.PreemptionDisabled && q.Policy == core.PreemptionDefault {
			p.PreemptionPolicy = core.PreemptionDisabled
		}
		config := core.QueueConfig{
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
func (w *tortureWorld) allocation(p *torturePod) *core.Allocation {
	a := &core.Allocation{
		Key: core.AllocationKey(p.Key), Application: core.ApplicationID(p.application()), Node: core.NodeID(p.Node),
		Amounts: p.Amounts.amounts(), Priority: int32(p.Priority), Originator: p.Owner,
		Created: tortureStart.Add(time.Duration(p.At)*time.Second - time.Duration(p.Age)*time.Minute), Required: core.NodeID(p.Requires), Origin: p.Foreign,
		Tags: map[string]string{}, TaskGroup: p.Group, Placeholder: p.Placeholder,
	}
	if p.Quorum != "" {
		a.Tags = quorumTags(p.Quorum, w.Quorums[p.Quorum])
	}
	if p.Required {
		a.Required = a.Node
	}
	if p.Polite {
		a.Preemptable = core.Preemptable{Stated: true, AllowSelf: true}
	}
	if p.OptedOut {
		a.Tags[core.TagAllowPreemption] = "false"
	}
	return a
}
