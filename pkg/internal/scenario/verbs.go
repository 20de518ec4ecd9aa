package scenario

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
)

// A verb is one of two: line reads the arguments of one name and returns what
// to do; text is given what is indented below the verb.
type verb struct {
	line func(*world, *arguments) (do func(), err error)
	text func(*world, *arguments, string) error
}

var verbs = map[string]verb{
	"kinds":              {line: (*world).kindsAre},
	"config":             {text: (*world).config},
	"reconfigure":        {text: (*world).reconfigure},
	"node":               {line: (*world).node},
	"update node":        {line: (*world).updateNode},
	"drain":              {line: named(func(n string) api.Command { return api.DrainNode{ID: api.NodeID(n)} })},
	"undrain":            {line: named(func(n string) api.Command { return api.UndrainNode{ID: api.NodeID(n)} })},
	"remove node":        {line: named(func(n string) api.Command { return api.RemoveNode{ID: api.NodeID(n)} })},
	"application":        {line: (*world).application},
	"update application": {line: (*world).updateApplication},
	"remove application": {line: named(func(n string) api.Command { return api.RemoveApplication{ID: api.ApplicationID(n)} })},
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
	"alike":              {line: answered((*manager).alike)},
	"tied":               {line: answered((*manager).tied)},
	"best":               {line: answered((*manager).best)},
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
	w.settings(a)
	cfg, err := w.load(text)
	if err != nil {
		return err
	}
	w.begin(cfg)
	return nil
}

// settings are those with which the partition is made.
func (w *world) settings(a *arguments) {
	o := &w.options
	o.BatchMax = int(a.number("batch"))
	o.SettleDelay, o.UnusedDelay = a.duration("settle"), a.duration("unused")
	o.ReserveDelay, o.ReserveMax, o.EndingMax = a.duration("reserve"), a.duration("reserve-max"), a.duration("ending-max")
	o.RetryDelay, o.RetryMax, o.CompletingDelay = a.duration("retry"), a.duration("retry-max"), a.duration("completing")
	o.KeepsForeign = a.flag("keeps-foreign")
	o.Least = a.quantities("least")
}

// kindsAre makes resource kinds known, so that arguments can name them that have no slash.
func (w *world) kindsAre(a *arguments) (func(), error) {
	for name := a.need("the kind"); name != ""; name = a.name() {
		if _, err := w.kinds.Intern(name); err != nil {
			return nil, err
		}
	}
	return func() {}, nil
}

func (w *world) reconfigure(_ *arguments, text string) error {
	cfg, err := w.load(text)
	if err != nil {
		return err
	}
	w.apply(api.Reconfigure{Config: cfg})
	return nil
}

// named is a verb that needs a name and nothing else.
func named(command func(string) api.Command) func(*world, *arguments) (func(), error) {
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
	c := api.AddNode{
		Drained:    a.flag("drained"),
		ID:         api.NodeID(a.name()),
		Capacity:   a.amounts(),
		Attributes: a.all("attributes", "attribute."),
	}
	return func() { w.apply(c) }, nil
}

func (w *world) updateNode(a *arguments) (func(), error) {
	c := api.UpdateNode{
		ID:         api.NodeID(a.need("the node")),
		Capacity:   a.amounts(),
		Attributes: a.all("attributes", "attribute."),
	}
	return func() { w.apply(c) }, nil
}

func (w *world) updateApplication(a *arguments) (func(), error) {
	c := api.UpdateApplication{ID: api.ApplicationID(a.need("the application")), Tags: a.all("tags", tagged), Quota: a.quota()}
	return func() { w.apply(c) }, nil
}

func (w *world) application(a *arguments) (func(), error) {
	c := api.AddApplication{
		Forced: a.flag("forced"),
		ID:     api.ApplicationID(a.name()),
		Queue:  api.QueuePath(a.text("queue")),
		User:   a.text("user"),
		Groups: a.list("groups"),
		Tags:   a.all("tags", tagged),

		Placeholders: a.amounts(),
		GangTimeout:  a.duration("timeout"),
	}
	if a.flag("hard") {
		c.Style = api.Hard
	}
	if a.has("created") {
		c.Created = start.Add(a.duration("created"))
	}
	c.Quota = a.quota()
	return func() { w.apply(c) }, nil
}

func (w *world) ask(a *arguments) (func(), error) {
	allocation := &api.Allocation{
		Placeholder: a.flag("placeholder"),
		Originator:  a.flag("originator"),
		Tags:        a.tags(),
		Preemptable: a.preemptable(),
		Key:         api.AllocationKey(a.name()),
		Application: api.ApplicationID(a.text("application")),
		Node:        api.NodeID(a.text("node")),
		Amounts:     a.amounts(),
		Priority:    int32(a.number("priority")),
		Created:     w.created(a),
		TaskGroup:   a.text("group"),
		Required:    api.NodeID(a.text("required")),
	}
	a.addUnknown(allocation)
	return w.send(allocation), nil
}

func (w *world) foreign(a *arguments) (func(), error) {
	allocation := &api.Allocation{
		Origin: api.Foreign,
	}
	if a.flag("static") {
		allocation.Origin = api.Static
	}
	allocation.Tags = a.tags()
	allocation.Key = api.AllocationKey(a.name())
	allocation.Node = api.NodeID(a.text("node"))
	allocation.Amounts = a.amounts()
	allocation.Priority = int32(a.number("priority"))
	allocation.Created = w.created(a)
	allocation.Required = api.NodeID(a.text("required"))
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
	key := api.AllocationKey(a.need("the allocation"))
	last, err := w.manager.accepted(key)
	if err != nil {
		return nil, err
	}
	again := *last
	again.Amounts = a.amounts()
	a.addUnknown(&again)
	return w.send(&again), nil
}

func (w *world) send(allocation *api.Allocation) func() {
	return func() {
		kept := *allocation
		kept.Amounts = allocation.Amounts.Clone()
		fx := w.here().Apply(w.now, api.AddAllocation{Allocation: allocation})
		if !refused(fx) {
			w.manager.sent[allocation.Key] = &kept
		}
		w.hearApplied(fx)
	}
}

func refused(fx api.Effects) bool {
	return slices.ContainsFunc(fx, func(event api.Event) bool {
		_, is := event.(*api.AllocationRejected)
		return is
	})
}

// release names an allocation by its key; the application is the one it was
// sent with unless another is given.
func (w *world) release(a *arguments) (func(), error) {
	c := api.ReleaseAllocation{
		Key:         api.AllocationKey(a.name()),
		Application: api.ApplicationID(a.text("application")),
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
	key := api.AllocationKey(a.need("the allocation"))
	last, err := w.manager.accepted(key)
	if err != nil {
		return nil, err
	}
	c := api.ReleaseAllocation{Key: key, Application: last.Application, Termination: w.manager.toldToEnd(key)}
	return func() { w.apply(c) }, nil
}

// schedulingFailed is how the termination type is written that the interface
// module has no name for.
const schedulingFailed = "SCHEDULING_FAILED"

func terminationOf(name string) (si.TerminationType, error) {
	if name == schedulingFailed {
		return api.SchedulingFailed, nil
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
