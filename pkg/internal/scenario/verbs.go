package scenario

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"

	"github.com/narwhal-scheduler/narwhal/pkg/core"
)

// A verb is one of two: line reads the arguments of one name and returns what
// to do; text is given what is indented below the verb.
type verb struct {
	line func(*world, *arguments) (do func(), err error)
	text func(*world, *arguments, string) error
}

var verbs = map[string]verb{
	"config":             {text: (*world).config},
	"reconfigure":        {text: (*world).reconfigure},
	"node":               {line: (*world).node},
	"update node":        {line: (*world).updateNode},
	"drain":              {line: named(func(n string) core.Command { return core.DrainNode{ID: core.NodeID(n)} })},
	"undrain":            {line: named(func(n string) core.Command { return core.UndrainNode{ID: core.NodeID(n)} })},
	"remove node":        {line: named(func(n string) core.Command { return core.RemoveNode{ID: core.NodeID(n)} })},
	"application":        {line: (*world).application},
	"remove application": {line: named(func(n string) core.Command { return core.RemoveApplication{ID: core.ApplicationID(n)} })},
	"ask":                {line: (*world).ask},
	"foreign":            {line: (*world).foreign},
	"resize":             {line: (*world).resize},
	"release":            {line: (*world).release},
	"confirm":            {line: (*world).confirm},
	"schedule":           {line: func(w *world, _ *arguments) (func(), error) { return w.schedule, nil }},
	"advance":            {line: (*world).advanceBy},
	"refuse":             {line: answered((*manager).refuse)},
	"allow":              {line: answered((*manager).allow)},
	"conflict":           {line: answered((*manager).conflict)},
	"need":               {line: answered((*manager).need)},
	"budget":             {text: func(w *world, a *arguments, text string) error { return w.manager.budget(a, text) }},
	"choose":             {line: answered((*manager).choose)},
	"show":               {line: func(w *world, a *arguments) (func(), error) { return w.display().show(a) }},
}

// find is the verb a line begins with, of two words if there is one, and the
// words after it.
func find(words []string) (verb, []string, error) {
	if len(words) > 1 {
		if v, ok := verbs[words[0]+" "+words[1]]; ok {
			return v, words[2:], nil
		}
	}
	if v, ok := verbs[words[0]]; ok {
		return v, words[1:], nil
	}
	return verb{}, nil, fmt.Errorf("no verb %q", words[0])
}

func (w *world) config(a *arguments, text string) error {
	if w.partition != nil {
		return errors.New("the partition is there already; use reconfigure, or put config first")
	}
	w.options.BatchMax = int(a.number("batch"))
	w.options.SettleDelay = a.duration("settle")
	w.options.UnusedDelay = a.duration("unused")
	cfg, err := w.load(text)
	if err != nil {
		return err
	}
	w.begin(cfg)
	return nil
}

func (w *world) reconfigure(_ *arguments, text string) error {
	cfg, err := w.load(text)
	if err != nil {
		return err
	}
	w.apply(core.Reconfigure{Config: cfg})
	return nil
}

// named is a verb that needs a name and nothing else.
func named(command func(string) core.Command) func(*world, *arguments) (func(), error) {
	return func(w *world, a *arguments) (func(), error) {
		c := command(a.need("the name"))
		return func() { w.apply(c) }, nil
	}
}

// answered is a verb about what the resource manager answers.
func answered(set func(*manager, *arguments) (func(), error)) func(*world, *arguments) (func(), error) {
	return func(w *world, a *arguments) (func(), error) { return set(w.manager, a) }
}

// display is for one look at the partition.
func (w *world) display() *display {
	p := w.here()
	return &display{output: &w.output, partition: p, manager: w.manager, outcomes: &w.outcomes, next: w.reports.Due}
}

func (w *world) node(a *arguments) (func(), error) {
	c := core.AddNode{
		Drained:    a.flag("drained"),
		ID:         core.NodeID(a.name()),
		Capacity:   a.amounts(),
		Attributes: a.pairs("attributes"),
	}
	return func() { w.apply(c) }, nil
}

func (w *world) updateNode(a *arguments) (func(), error) {
	c := core.UpdateNode{
		ID:         core.NodeID(a.need("the node")),
		Capacity:   a.amounts(),
		Attributes: a.pairs("attributes"),
	}
	return func() { w.apply(c) }, nil
}

func (w *world) application(a *arguments) (func(), error) {
	c := core.AddApplication{
		Forced: a.flag("forced"),
		ID:     core.ApplicationID(a.name()),
		Queue:  core.QueuePath(a.text("queue")),
		User:   a.text("user"),
		Groups: a.list("groups"),
		Tags:   a.pairs("tags"),

		Placeholders: a.amounts(),
		GangTimeout:  a.duration("timeout"),
	}
	if a.flag("hard") {
		c.Style = core.Hard
	}
	if a.has("created") {
		c.Created = start.Add(a.duration("created"))
	}
	c.Quota = a.quota()
	return func() { w.apply(c) }, nil
}

func (w *world) ask(a *arguments) (func(), error) {
	allocation := &core.Allocation{
		Placeholder: a.flag("placeholder"),
		Originator:  a.flag("originator"),
		Tags:        a.tags(),
		Preemptable: a.preemptable(),
		Key:         core.AllocationKey(a.name()),
		Application: core.ApplicationID(a.text("application")),
		Node:        core.NodeID(a.text("node")),
		Amounts:     a.amounts(),
		Priority:    int32(a.number("priority")),
		Created:     w.created(a),
		TaskGroup:   a.text("group"),
		Required:    core.NodeID(a.text("required")),
	}
	a.addUnknown(allocation)
	return w.send(allocation), nil
}

func (w *world) foreign(a *arguments) (func(), error) {
	allocation := &core.Allocation{
		Origin: core.Foreign,
	}
	if a.flag("static") {
		allocation.Origin = core.Static
	}
	allocation.Tags = a.tags()
	allocation.Key = core.AllocationKey(a.name())
	allocation.Node = core.NodeID(a.text("node"))
	allocation.Amounts = a.amounts()
	allocation.Priority = int32(a.number("priority"))
	allocation.Created = w.created(a)
	allocation.Required = core.NodeID(a.text("required"))
	return w.send(allocation), nil
}

// created is now unless an offset from the start of the scenario is given.
func (w *world) created(a *arguments) time.Time {
	if !a.has("created") {
		return w.now
	}
	return start.Add(a.duration("created"))
}

// resize sends an allocation again as it was last accepted, with other amounts.
func (w *world) resize(a *arguments) (func(), error) {
	key := core.AllocationKey(a.need("the allocation"))
	last, err := w.manager.accepted(key)
	if err != nil {
		return nil, err
	}
	again := *last
	again.Amounts = a.amounts()
	a.addUnknown(&again)
	return w.send(&again), nil
}

func (w *world) send(allocation *core.Allocation) func() {
	return func() {
		kept := *allocation
		kept.Amounts = allocation.Amounts.Clone()
		fx := w.here().Apply(w.now, core.AddAllocation{Allocation: allocation})
		if !refused(fx) {
			w.manager.sent[allocation.Key] = &kept
		}
		w.hearApplied(fx)
	}
}

func refused(fx core.Effects) bool {
	return slices.ContainsFunc(fx, func(event core.Event) bool {
		_, is := event.(*core.AllocationRejected)
		return is
	})
}

// release names an allocation by its key; the application is the one it was
// sent with unless another is given.
func (w *world) release(a *arguments) (func(), error) {
	c := core.ReleaseAllocation{
		Key:         core.AllocationKey(a.name()),
		Application: core.ApplicationID(a.text("application")),
		Message:     a.text("message"),
		Termination: si.TerminationType_STOPPED_BY_RM,
	}
	if last, ok := w.manager.sent[c.Key]; ok && !a.has("application") {
		c.Application = last.Application
	}
	if a.has("type") {
		name := a.text("type")
		termination, err := terminationOf(name)
		if err != nil {
			return nil, err
		}
		c.Termination = termination
	}
	return func() { w.apply(c) }, nil
}

// confirm says that an evicted allocation has ended.
func (w *world) confirm(a *arguments) (func(), error) {
	key := core.AllocationKey(a.need("the allocation"))
	last, err := w.manager.accepted(key)
	if err != nil {
		return nil, err
	}
	c := core.ReleaseAllocation{Key: key, Application: last.Application, Termination: w.manager.toldToEnd(key)}
	return func() { w.apply(c) }, nil
}

// schedulingFailed is how the termination type is written that the interface
// module has no name for.
const schedulingFailed = "SCHEDULING_FAILED"

func terminationOf(name string) (si.TerminationType, error) {
	if name == schedulingFailed {
		return core.SchedulingFailed, nil
	}
	number, ok := si.TerminationType_value[strings.ToUpper(name)]
	if !ok {
		return 0, fmt.Errorf("no termination type %q", name)
	}
	return si.TerminationType(number), nil
}

func (w *world) advanceBy(a *arguments) (func(), error) {
	text := a.need("the duration")
	by, err := time.ParseDuration(text)
	if err != nil || by < 0 {
		return nil, fmt.Errorf("advance %s: not a duration", text)
	}
	return func() { w.advance(by) }, nil
}
