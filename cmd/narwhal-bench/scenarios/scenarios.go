package scenarios

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/narwhal-scheduler/narwhal/cmd/narwhal-bench/cores"
	"github.com/narwhal-scheduler/narwhal/cmd/narwhal-bench/driver"
)

// A Better says which values of a figure are good.
type Better string

// The values of Better. An Equal figure is told, and has no ratio.
const (
	Higher Better = "higher"
	Lower  Better = "lower"
	Equal  Better = "equal"
)

// A Figure is one thing that was measured.
type Figure struct {
	Name   string
	Unit   string
	Better Better
	Value  float64
}

// A Result is what one run gave. One with faults counts as wrong, however fast it was.
type Result struct {
	Figures []Figure
	Faults  []string `json:",omitempty"`
}

// A Size is how large a case is. What a scenario has no use for is zero.
type Size struct {
	Nodes        int `json:",omitempty"`
	Pods         int `json:",omitempty"`
	Queues       int `json:",omitempty"`
	Applications int `json:",omitempty"`
	Waiting      int `json:",omitempty"` // pods that fit nowhere
	Rounds       int `json:",omitempty"`
	// Watch is how long nothing must be heard of a core, so that it has come to rest, and how
	// long it is watched then.
	Watch time.Duration `json:",omitempty"`
}

// A Case is a scenario at one size.
type Case struct {
	Scenario string
	Of       string `json:",omitempty"` // what grows, in a series
	At       int    `json:",omitempty"` // how large it is in this case
	Size     Size
	NodeList string `json:",omitempty"` // files of a trace
	PodList  string `json:",omitempty"`
}

// Series is the scenario and what grows in it.
func (c Case) Series() string {
	if c.Of == "" {
		return c.Scenario
	}
	return c.Scenario + " of " + c.Of
}

// Name is the series and, if something grows, how large it is.
func (c Case) Name() string {
	if c.Of == "" {
		return c.Scenario
	}
	return fmt.Sprintf("%s, %d", c.Series(), c.At)
}

// A scenario is a load: what it is called, why it is measured, and how it is played.
type scenario struct {
	name, about string
	play        func(*run) error
}

// The names of the scenarios.
const (
	Filling    = "filling"
	ManyQueues = "many queues"
	Full       = "full cluster"
	Trace      = "real trace"
	Daemonsets = "daemonset preemption"
	Guarantee  = "guarantee preemption"
	Sizes      = "guarantee preemption of sizes"
	Foreign    = "foreign churn"
	Churn      = "steady churn"
	Refused    = "refused asks"
	Growth     = "growth"
)

var all = []scenario{
	{Filling, "An empty cluster and two applications, whose pods are asked for at once.", fill},
	{ManyQueues, "The same, with an application in each of many fair queues.", fill},
	{Full, "A full cluster where asks wait: what it costs while nothing happens, and how long it takes until room that comes free is used.", full},
	{Trace, "The nodes of a real cluster, and the first pods of its trace at once. GPUs of some models only, as the trace says, are a matter of predicates.", trace},
	{Daemonsets, "One ask for each node of a full cluster, which requires that node. Every eviction is confirmed at once.", daemonsets},
	{Guarantee, "A queue that is owed half of a cluster, which another queue fills with pods of three sizes.", guarantee},
	{Sizes, "The same, with asks of one, two and three units.", guaranteeOfSizes},
	{Foreign, "Pods of another scheduler are reported, and end. There are no answers to them, so an ask after them shows that they are booked.", foreign},
	{Churn, "A cluster that is nearly full: a part of its pods ends, and as many are asked for, round by round.", churn},
	{Refused, "Asks of one queue that predicates refuse on every node, 20 µs each: how long an ask of another queue waits.", refusedAsks},
	{Growth, "Filling, while one of nodes, pods, queues and applications grows.", fill},
}

// About is a sentence about a scenario.
func About(name string) string {
	i := slices.IndexFunc(all, func(s scenario) bool { return s.name == name })
	if i < 0 {
		return ""
	}
	return all[i].about
}

// Play plays a case once against the core of a name. A core that fails to finish before the
// context ends has that as a fault; an error says that nothing could be measured at all.
func Play(ctx context.Context, name string, c Case) (Result, error) {
	i := slices.IndexFunc(all, func(s scenario) bool { return s.name == c.Scenario })
	if i < 0 {
		return Result{}, fmt.Errorf("there is no scenario %q", c.Scenario)
	}
	core, err := cores.Start(name)
	if err != nil {
		return Result{}, err
	}
	return all[i].playOn(ctx, core, c), nil
}

// playOn plays a case of the scenario, and stops the core.
func (s scenario) playOn(ctx context.Context, core *cores.Core, c Case) Result {
	r := &run{Case: c, ctx: ctx, core: core, driver: driver.New(core.SchedulerAPI)}
	if err := s.play(r); err != nil {
		r.result.Faults = append(r.result.Faults, err.Error())
	}
	core.End()
	return r.result
}
