package oracle

import (
	"fmt"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler"
)

// A finding is a difference between the program and the model.
type finding struct{ class, text string }

// A history is what the model remembers over the cycles of a run.
type history struct {
	evicted  map[string][]time.Time // when, by workload
	inFlight []*v1.Pod              // evicted and not ended
	coolDown map[string]time.Time   // until when, by workload and node

	// What the model does not know well enough to expect an eviction:
	failed    map[types.UID]bool // the API server had an error for this pod
	mayCool   map[string]bool    // by workload and node: there may be a cool-down
	keptPlace bool               // a place may be kept for a replacement that is not there yet
}

func newHistory() *history {
	return &history{
		evicted: map[string][]time.Time{}, coolDown: map[string]time.Time{},
		failed: map[types.UID]bool{}, mayCool: map[string]bool{},
	}
}

// at is the key of a workload on a node.
func at(workload, node string) string { return workload + " " + node }

// A checker compares the report of one cycle with the model. Its model has the evictions so far
// of the cycle, and at last all of them.
type checker struct {
	w      *world // as it was before the cycle
	m      *model
	h      *history
	now    time.Time
	r      *descheduler.Report
	d      *descheduler.Descheduler
	before int // evictions in flight when the cycle began
	count  map[string]int
	wasLow map[string]bool // profiles for which a node had little in use at some time of the cycle
	found  []finding
}

// A move is an eviction with what it is about.
type move struct {
	descheduler.Eviction
	profile profile
	plugin  plugin
	pod     *v1.Pod
}

// cycleOf is what there is to check of a cycle.
type cycleOf struct {
	report  *descheduler.Report
	d       *descheduler.Descheduler
	history *history
	now     time.Time
}

// check compares a cycle in a world, as it was before, with the model.
func check(w *world, of cycleOf) *checker {
	c := &checker{
		h: of.history, now: of.now, r: of.report, d: of.d, before: len(of.history.inFlight),
		count: map[string]int{}, wasLow: map[string]bool{},
	}
	before := w.copy()
	c.w = &before
	c.m = c.first()
	ready := 0
	for _, n := range w.o.Nodes {
		if c.m.processed(profile{}, n) {
			ready++
		}
	}
	if (ready < 2) != (c.r.Skipped != "") {
		c.bad("skipped", "%d nodes, skipped %q", ready, c.r.Skipped)
	}
	if c.r.Skipped == "" && c.r.Nodes != ready {
		c.bad("nodes", "%d nodes reported, %d", c.r.Nodes, ready)
	}
	c.seeLow()
	for _, e := range c.r.Evictions {
		c.eviction(e)
		c.seeLow()
	}
	c.remaining()
	c.answers()
	c.table()
	return c
}

// first is the model as it was when the cycle began.
func (c *checker) first() *model { return newModel(c.w, c.h.inFlight[:c.before]...) }

func (c *checker) bad(class, format string, a ...any) {
	c.found = append(c.found, finding{class, fmt.Sprintf(format, a...)})
}

// seeLow notes for which profiles a node has little in use.
func (c *checker) seeLow() {
	for _, pr := range c.w.s.Profiles {
		pl, ok := pr.find(low)
		if !ok || c.wasLow[pr.Name] {
			continue
		}
		c.wasLow[pr.Name] = slices.ContainsFunc(c.w.o.Nodes, func(n *v1.Node) bool {
			_, none := c.m.above(n.Name, pl.Args.Thresholds)
			return none && c.m.processed(pr, n) && !n.Spec.Unschedulable
		})
	}
}

// eviction checks one eviction, and has it happen in the model.
func (c *checker) eviction(e descheduler.Eviction) {
	v := move{Eviction: e, pod: c.m.pods[e.UID]}
	if v.pod == nil {
		c.bad("unknown pod", "%s", line(e))
		return
	}
	if c.m.standIns[e.UID] {
		c.bad("replacement evicted", "%s", line(e))
	}
	i := slices.IndexFunc(c.w.s.Profiles, func(p profile) bool { return p.Name == e.Profile })
	if i < 0 {
		c.bad("profile", "%s", line(e))
		return
	}
	v.profile = c.w.s.Profiles[i]
	var ok bool
	if v.plugin, ok = v.profile.find(e.Plugin); !ok {
		c.bad("plugin", "%s", line(e))
		return
	}
	c.fields(v)
	if !c.m.processed(v.profile, c.m.nodes[v.From]) {
		c.bad("node not selected", "%s", line(e))
	}
	if o, why := c.m.protection(v.profile, v.pod, c.now); o == yes {
		c.bad("protected: "+why, "%s", line(e))
	}
	c.target(v)
	c.rule(v)
	c.reason(v)
	c.limits(v)
	c.budget(v)
	c.m.move(v.pod, v.To)
}

// fields checks what a report says beside the decision.
func (c *checker) fields(v move) {
	if id(v.pod) != v.Pod || v.pod.Spec.NodeName != v.From || !v.At.Equal(c.now) || v.Reason == "" ||
		v.Controller || v.Nowhere != "" || v.Cycle != c.r.Cycle {
		c.bad("report fields", "%s %+v", line(v.Eviction), v.Eviction)
	}
	checkedBy := ""
	if returns(v.pod) {
		checkedBy = "NodeFit"
		if c.w.core {
			checkedBy = "core"
		}
	}
	if v.CheckedBy != checkedBy {
		c.bad("checkedBy", "%s: %q", line(v.Eviction), v.CheckedBy)
	}
}

// target checks the node of the replacement. Pods that wait may have been placed before it, so
// that affinity to pods holds where the model says that it does not.
func (c *checker) target(v move) {
	if (v.To != "") != returns(v.pod) {
		c.bad("to", "%s: a replacement: %v", line(v.Eviction), returns(v.pod))
	}
	if v.To == "" {
		return
	}
	why := c.m.fits(v.pod, v.To)
	if why == "" || c.m.waits() && (why == "spread" || why == "affinity to pods") {
		return
	}
	c.bad("target: "+strings.Fields(why)[0], "%s: %s", line(v.Eviction), why)
}

// rule checks that of the plugin.
func (c *checker) rule(v move) {
	switch v.plugin.Name {
	case duplicates:
		c.ruleOfDuplicates(v)
	case low:
		c.ruleOfLow(v)
	case high:
		c.ruleOfHigh(v)
	case spread:
		c.ruleOfSpread(v)
	default:
		if c.m.wants(v.plugin, v.pod, c.now) == no {
			c.broken(v, "it does not hold")
		}
		if v.To != "" && !c.m.accepts(v.plugin, v.pod, v.To) {
			c.broken(v, "the target is no better")
		}
	}
}

// broken says that a rule of a plugin does not hold.
func (c *checker) broken(v move, format string, a ...any) {
	c.bad("rule "+v.plugin.Name, "%s: %s", line(v.Eviction), fmt.Sprintf(format, a...))
}
